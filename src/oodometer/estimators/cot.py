"""COT and COTT: the cost of carrying the target's probabilities to one-hot classes of the target's prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable
from ..inference.row_sample import RowSample
from ..intervals import wilson_from_variance
from ..kernels import Top, one_thread, top_into
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent
from ..scores import natural_confidence
from .base import Sums, Traits, root_sum_square
from .label_shift import PriorEstimator, check_width, rows_to_keep
from .mean_confidence import confidence_gap
from .target_prior import PriorFit
from .threshold import credit, fit_threshold

_WIDTHS = (0.1, 0.03, 0.01, 0.003, 0.001)  # of the soft maximum, in units of cost
_NEWTON_STEPS, _SOFT_ROWS, _FEW_CLASSES = 4, 2_000, 64
_EXACT_VALUES = 300


@dataclass(frozen=True, eq=False)
class Transport:
    """The solution of `transport`: ``cost`` W_1; ``potentials``, worth of each class (class,), its derivative by the
    prior; ``surplus``, least of (cost - potential) over the classes, and the class ``assigned`` to each sample
    (sample,); ``gap``, the share of samples that would have to be split to meet the prior exactly.
    """

    cost: float
    potentials: Array
    surplus: Array
    assigned: Array
    gap: float


def transport(probabilities: Array, prior: Array, start: Array | None = None) -> Transport:
    """W_1 between {p_i} and a class prior q on one-hots at the cost 0.5 ||p_i - e_y||_1 = 1 - p_iy (Lu et al. 2023).

    Semi-discrete: the dual (Peyre and Cuturi 2019, chapter 5) is a concave problem in one potential a class,

        max_f  sum_y q_y f_y + mean_i min_y (1 - p_iy - f_y),

    solved by L-BFGS from a soft minimum on at most 2,000 rows; at most 300 numbers as a linear programme, exactly.
    """
    from scipy.optimize import minimize

    open_classes = np.flatnonzero(prior > 0)
    share = prior[open_classes] / prior[open_classes].sum()
    worth = probabilities[:, open_classes].astype(np.float64)  # 1 - cost
    classes, samples = len(open_classes), len(worth)
    few = 1 < classes <= _FEW_CLASSES
    every = np.arange(samples)
    top = Top(np.empty(samples, dtype=np.int32), np.empty(samples), np.empty(samples))
    sweep = top_into(top)  # one compiled pass

    def choice(potential: Array) -> tuple[Array, Array, Array]:
        """The dearest class of each sample, what it is worth there, and the share of samples in each class."""
        lifted = worth + potential
        if few:
            sweep(lifted)
            chosen, chosen_worth = top.best, top.first
        else:
            chosen = lifted.argmax(axis=1)
            chosen_worth = lifted[every, chosen]
        return chosen, chosen_worth, np.bincount(chosen, minlength=classes) / samples

    def negative_dual(potential: Array) -> tuple[float, Array]:
        _, chosen_worth, load = choice(potential)
        slope: Array = load - share
        return float(chosen_worth.mean() - share @ potential), slope

    carried: Array | None = None
    potential = np.zeros(classes)
    if classes > 1 and worth.size <= _EXACT_VALUES:
        potential, carried = _by_programme(worth, share)
    elif classes > 1:
        with one_thread():  # for matrices of 20 rows threads cost ten times what they bring
            if start is not None:
                potential = start[open_classes].astype(np.float64)
            else:
                soften = _by_newton if classes <= _FEW_CLASSES else _by_gradient
                potential = soften(worth[:: -(-samples // _SOFT_ROWS)], share)
            options: Any = {"maxiter": 200, "ftol": 1e-10, "gtol": 1e-9, "maxcor": 20}
            solution = minimize(
                negative_dual, potential, jac=True, method="L-BFGS-B", options=options
            )
        potential = min((potential, solution.x), key=lambda f: negative_dual(f)[0])
    potential = potential - share @ potential
    assigned, chosen_worth, load = choice(potential)
    if (
        carried is not None
    ):  # where classes are equally dear to a sample, the plan says which one it is carried to
        assigned, load = carried, np.bincount(carried, minlength=classes) / samples
    surplus = 1 - chosen_worth
    potentials = np.empty(len(prior))
    potentials[open_classes] = potential
    closed = np.flatnonzero(~(prior > 0))
    potentials[closed] = np.min(1 - probabilities[:, closed] - surplus[:, None], axis=0)
    gap = float(np.abs(load - share).sum() / 2)
    return Transport(float(surplus.mean()), potentials, surplus, open_classes[assigned], gap)


def _by_programme(worth: Array, share: Array) -> tuple[Array, Array | None]:
    """Potentials, the multipliers of the linear programme, and the class to which most of each sample is carried."""
    from scipy.optimize import linprog

    samples, classes = worth.shape
    rows = np.kron(np.eye(samples), np.ones(classes))
    columns = np.kron(np.ones(samples), np.eye(classes))
    full = np.concatenate([np.full(samples, 1 / samples), share])
    # one of the constraints follows from the others
    solution = linprog(
        1 - worth.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=full[:-1], method="highs"
    )
    if solution.x is None:  # it was not solved: the soft minimum comes near, too
        return _by_newton(worth, share), None
    return np.append(solution.eqlin.marginals[samples:], 0.0), solution.x.reshape(
        samples, classes
    ).argmax(axis=1)


def _soft_choice(lifted: Array, width: float) -> tuple[Array, Array]:
    """The soft maximum over the last axis, less the maximum, and the share of each class in it."""
    lifted = lifted - lifted.max(axis=1, keepdims=True)
    soft = np.exp(lifted / width)
    total = soft.sum(axis=1, keepdims=True)
    return width * np.log(total[:, 0]), soft / total


def _by_newton(worth: Array, share: Array) -> Array:
    """Potentials of the problem with a soft maximum, by Newton steps while its width shrinks; for few classes."""
    samples, classes = worth.shape
    potential = np.zeros(classes)
    for width in _WIDTHS:
        for _ in range(_NEWTON_STEPS):
            _, soft = _soft_choice(worth + potential, width)
            load = soft.mean(axis=0)
            if np.abs(load - share).sum() < 1e-4:
                break
            together = np.einsum(
                "ia,ib->ab", soft, soft
            )  # no BLAS: its threads cost more than they bring here
            hessian = (np.diag(load) - together / samples) / width + 1e-9 * np.eye(classes)
            # a constant may be added to all potentials, so the Hessian is singular
            step = np.linalg.lstsq(hessian, share - load, rcond=1e-12)[0]
            longest = float(np.abs(step).max())
            potential = potential + step * min(1.0, 4 * width / max(longest, 1e-12))
    return potential


def _by_gradient(worth: Array, share: Array) -> Array:
    """The same by L-BFGS, whose steps do not grow with the square of the classes."""
    from scipy.optimize import minimize

    def negative_dual(potential: Array, width: float) -> tuple[float, Array]:
        lifted = worth + potential
        extra, soft = _soft_choice(lifted, width)
        return float((lifted.max(axis=1) + extra).mean() - share @ potential), soft.mean(
            axis=0
        ) - share

    potential = np.zeros(worth.shape[1])
    for width in _WIDTHS[:4]:
        options: Any = {"maxiter": 30, "ftol": 1e-10, "gtol": 1e-7, "maxcor": 20}
        potential = minimize(
            negative_dual, potential, args=(width,), jac=True, method="L-BFGS-B", options=options
        ).x
    return potential


_DRAWS, _DRAW_VALUES, _LARGE_GAP = 8, 200_000, 0.05


class TransportEstimator(PriorEstimator):
    """What COT and COTT share: a sample of target probabilities and an estimated class prior."""

    needs = ("probabilities",)
    assumes = (
        "the target's class prior is the estimated one, and a sample's true class is the one to which its "
        "probabilities are carried at the least total cost"
    )

    samples = True

    def _carried(self, state: Sums) -> tuple[PriorFit, Array, Transport, dict[str, Any]]:
        """The fitted prior, the target's probabilities, how they are carried; details of both, and warnings."""
        probabilities: Array = state["sample"]["probabilities"]
        check_width(probabilities, self._label_counts.classes)
        fit, details = self._prior(state)
        plan = transport(probabilities, fit.prior)
        notes = [*fit.notes]
        if self._choice == "source":
            notes.append(
                "the source prior was used; where the class shares moved the answer is badly wrong"
            )
        if plan.gap > _LARGE_GAP:
            share = percent(plan.gap, 0)
            notes.append(
                f"{share} of the samples would have to be split to meet the class prior exactly"
            )
        details |= {"transport_gap": plan.gap, "rows_used": len(probabilities)}
        return fit, probabilities, plan, {"details": details, "warnings": tuple(notes)}


@register("estimator")
class COT(TransportEstimator):
    """accuracy = 1 - W_1({p_i}, q on one-hots); to carry p_i to class y costs 0.5 ||p_i - e_y||_1 = 1 - p_iy.

    The prior q of the target is estimated from the cells (`label-shift`). The published method takes the source's: a
    shift of the class prior then counts as cost, one for one, and the answer is wrong by as much. At most 20,000 target
    rows are kept (fewer with many classes), a seeded sample. Probabilities should be calibrated first.

    prior : ``"mle"`` (default), ``"sld"``, ``"bbse"``, or ``"source"`` (published; only without label shift).

    Variance from the potentials f of the dual, which are derivatives: (sd_T(cost - f)/sqrt(n_T) + sd(f . q*))^2 with
    q* the redrawn priors, plus v(1-v)/n_T, plus Var_S(correct - max p)/n_S where the probabilities were calibrated on
    the reference, as in AC. `NotApplicable` without probabilities or true classes. Source: Lu et al.
    (2023), Predicting Out-of-Distribution Error with Confidence Optimal Transport.

    >>> p = [[0.9, 0.1]] * 50 + [[0.1, 0.9]] * 50
    >>> reference = Predictions.from_probabilities(p, label=[0] * 45 + [1] * 50 + [0] * 5)
    >>> round(COT().fit(reference).estimate(reference).value, 2)
    0.9
    """

    name = "cot"
    traits = Traits("transport", 220, cost="slow", heavy=True, argmax_only=True)
    citation = "lu2023confidence"

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        calibrated = reference.calibrated is not None and reference.probabilities is not None
        self._reference_variance = (
            confidence_gap(reference, natural_confidence(reference))[1] if calibrated else 0.0
        )

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, solve the transport."""
        fit, probabilities, plan, more = self._carried(state)
        used = len(probabilities)
        spread = (float(np.square(plan.surplus - plan.cost).sum()) + 1) / (used + 1)
        by_rows = np.sqrt(spread / used)
        by_prior = (fit.priors @ plan.potentials).std(
            ddof=1
        )  # correlated with the rows in an unknown way
        variance = float(by_rows + by_prior) ** 2 + self._reference_variance
        return self._from_variance(
            state, 1 - plan.cost, variance, min(used, self._label_counts.total), **more
        )


@register("estimator")
class COTT(TransportEstimator):
    """accuracy = share of the target whose own transport cost is low: mean_T[1 - cost >= t].

    Each sample is carried to one class as in `COT`; its score is the probability of that class, 1 - cost. t is fitted
    on the reference, carried to its own class shares, so that mean_S[score >= t] = acc_S (ties as in `threshold`).

    prior : as in `COT`.

    Interval: that of `threshold`, joined with the spread over redrawn priors. `NotApplicable` without probabilities or
    true classes. Source: Lu et al. (2023), Characterizing Out-of-Distribution Error via Optimal Transport.

    >>> p = [[0.9, 0.1]] * 40 + [[0.6, 0.4]] * 10 + [[0.1, 0.9]] * 50
    >>> reference = Predictions.from_probabilities(p, label=[0] * 40 + [1] * 10 + [1] * 50)
    >>> round(COTT().fit(reference).estimate(reference).value, 2)
    0.9
    """

    name = "cott"
    traits = Traits("transport", 230, cost="slow", in_panel=True, heavy=True, argmax_only=True)
    citation = "lu2023"

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        has_label = present(reference.label) >= 0
        labelled = reference if has_label.all() else reference.take(has_label)
        limit = rows_to_keep(self._label_counts.classes)
        sample = RowSample.of(labelled, ["probabilities", "label", "verdicts"], limit, self.seed)
        probabilities, label = sample["probabilities"], sample["label"]
        if probabilities.shape[1] != self._label_counts.classes:
            raise NotApplicable("needs `probabilities` of every class on the reference")
        share = np.bincount(label, minlength=self._label_counts.classes) / len(label)
        scores = _score(probabilities, transport(probabilities, share).assigned)
        self._thresholds, self._mismatch = fit_threshold(scores, sample["verdicts"], self.level)

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, solve the transport, count the samples above the threshold."""
        fit, probabilities, plan, more = self._carried(state)
        scores, used = _score(probabilities, plan.assigned), len(probabilities)
        value, low, high = (
            float(credit(scores, threshold).mean()) for threshold in self._thresholds
        )
        variance = max(value * (1 - value), self._mismatch) / used
        lower, upper = wilson_from_variance(
            value, variance, min(used, self._label_counts.total), self.level
        )
        z = (upper - lower) / 2 / max(np.sqrt(variance), 1e-12)
        # the spread of the answer over priors, on the first rows, which come in the order of a hash
        few = probabilities[: max(_DRAW_VALUES // self._label_counts.classes, 200)]
        plans = [transport(few, prior, plan.potentials) for prior in fit.priors[:_DRAWS]]
        values_by_prior = [
            credit(_score(few, other_plan.assigned), self._thresholds[0]).mean()
            for other_plan in plans
        ]
        by_prior = z * float(np.std(values_by_prior, ddof=1))
        down = root_sum_square(value - lower, value - min(low, value), by_prior)
        up = root_sum_square(upper - value, max(high, value) - value, by_prior)
        at = {
            "threshold": self._thresholds[0].threshold,
            "share_of_ties": self._thresholds[0].share_of_ties,
        }
        more["details"] = at | more["details"]
        return self._estimate(state, value, value - down, value + up, **more)


def _score(probabilities: Array, assigned: Array) -> Array:
    """1 - cost of each sample: the probability of the class it is carried to."""
    return probabilities[np.arange(len(assigned)), assigned].astype(np.float64)
