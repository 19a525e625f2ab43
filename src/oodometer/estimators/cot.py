"""COT and COTT: the cost of carrying the target's probabilities to one-hot classes of the target's prior."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.row_sample import RowSample
from ..inference.transport import transport
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent
from ..scores import natural_confidence
from .base import Sums, root_sum_square
from .confidence import confidence_gap
from .label_counts import LabelCountEstimator
from .prior_choice import PriorFit, check_choice, choose_prior
from .sld import check_width, rows_to_keep
from .threshold import ScoreThreshold, credit, fit_threshold

_DRAWS = 8
_DRAW_VALUES = 200_000
_LARGE_GAP = 0.05


class TransportEstimator(LabelCountEstimator):
    """What COT and COTT share: a sample of target probabilities and an estimated class prior."""

    needs = ("probabilities",)
    assumes = (
        "the target's class prior is the estimated one, and a sample's true class is the one to which its "
        "probabilities are carried at the least total cost"
    )
    heavy = True
    argmax_only = True

    def __init__(self, *, prior: str = "mle", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._choice = check_choice(prior)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each cell, for the prior, and a bounded sample of probabilities."""
        state = super().summarize(batch)
        fields, limit = ["probabilities", "predicted"], rows_to_keep(self._label_counts.classes)
        return Sums({**state, "sample": RowSample.of(batch, fields, limit, self.seed)})

    def _prior(self, state: Sums) -> tuple[PriorFit, Array]:
        """The fitted prior, and the probabilities to carry."""
        probabilities: Array = state["sample"]["probabilities"]
        check_width(probabilities, self._label_counts.classes)
        return choose_prior(self._choice, self._label_counts, state, seed=self.seed), probabilities

    def _notes(self, fit: PriorFit, gap: float) -> tuple[str, ...]:
        notes = [*fit.notes]
        if self._choice == "source":
            notes.append("the source prior was used; where the class shares moved the answer is badly wrong")
        if gap > _LARGE_GAP:
            notes.append(f"{percent(gap, 0)} of the samples would have to be split to meet the class prior exactly")
        return tuple(notes)


@final
@register("estimator")
class COT(TransportEstimator):
    """accuracy = 1 - W_1({p_i}, q on one-hots); to carry p_i to class y costs 0.5 ||p_i - e_y||_1 = 1 - p_iy.

    The prior q of the target is estimated from the cells (`label-shift`). The published method takes the source's: a
    shift of the class prior then counts as cost, one for one, and the answer is wrong by as much. At most 20,000 target
    rows are kept (fewer with many classes), a seeded sample. The probabilities should be calibrated by temperature
    first.

    Parameters
    ----------
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
    family = "transport"
    order = 220
    cost = "slow"
    citation = "lu2023confidence"

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        calibrated = reference.calibrated is not None and reference.probabilities is not None
        self._reference_variance = confidence_gap(reference, natural_confidence(reference))[1] if calibrated else 0.0

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, solve the transport."""
        rows = state["rows"]
        fit, probabilities = self._prior(state)
        plan = transport(probabilities, fit.prior)
        value, used = 1 - plan.cost, len(probabilities)
        spread = (float(np.square(plan.surplus - plan.cost).sum()) + 1) / (used + 1)
        by_rows = np.sqrt(spread / used)
        by_prior = (fit.priors @ plan.potentials).std(ddof=1)  # correlated with the rows in an unknown way
        variance = float(by_rows + by_prior) ** 2 + max(value * (1 - value), 0.0) / rows
        variance += self._reference_variance
        lower, upper = wilson_from_variance(value, variance, min(used, self._label_counts.total), self.level)
        details = {
            "prior": fit.prior,
            "prior_by": self._choice,
            "reference_prior": self._label_counts.prior,
            "transport_gap": plan.gap,
            "rows_used": used,
            **fit.details,
        }
        return self._estimate(state, value, lower, upper, details=details, warnings=self._notes(fit, plan.gap))


@final
@register("estimator")
class COTT(TransportEstimator):
    """accuracy = share of the target whose own transport cost is low: mean_T[1 - cost >= t].

    Each sample is carried to one class as in `COT`; its score is the probability of that class, 1 - cost. t is fitted
    on the reference, carried to its own class shares, so that mean_S[score >= t] = acc_S (ties and references without
    errors as in `threshold`).

    Parameters
    ----------
    prior : as in `COT`.

    Interval: that of `threshold`, joined with the spread over redrawn priors. `NotApplicable` without probabilities or
    true classes. Source: Lu et al. (2023), Characterizing Out-of-Distribution Error via Optimal Transport.

    >>> p = [[0.9, 0.1]] * 40 + [[0.6, 0.4]] * 10 + [[0.1, 0.9]] * 50
    >>> reference = Predictions.from_probabilities(p, label=[0] * 40 + [1] * 10 + [1] * 50)
    >>> round(COTT().fit(reference).estimate(reference).value, 2)
    0.9
    """

    name = "cott"
    family = "transport"
    order = 230
    cost = "slow"
    in_panel = True
    citation = "lu2023"

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        assert reference.label is not None
        known = reference if (reference.label >= 0).all() else reference.take(reference.label >= 0)
        limit = rows_to_keep(self._label_counts.classes)
        sample = RowSample.of(known, ["probabilities", "label", "verdicts"], limit, self.seed)
        probabilities, label = sample["probabilities"], sample["label"]
        if probabilities.shape[1] != self._label_counts.classes:
            raise NotApplicable("needs `probabilities` of every class on the reference")
        share = np.bincount(label, minlength=self._label_counts.classes) / len(label)
        plan = transport(probabilities, share)
        self._start: Array = plan.potentials
        scores = _score(probabilities, plan.assigned)
        self._thresholds, self._mismatch = fit_threshold(scores, sample["verdicts"], self.level)

    def finish(self, state: Sums) -> Estimate:
        """Estimate the prior, solve the transport, count the samples above the threshold."""
        fit, probabilities = self._prior(state)
        plan = transport(probabilities, fit.prior)
        scores, used = _score(probabilities, plan.assigned), len(probabilities)
        value, low, high = (float(credit(scores, threshold).mean()) for threshold in self._thresholds)
        variance = max(value * (1 - value), self._mismatch) / used
        lower, upper = wilson_from_variance(value, variance, min(used, self._label_counts.total), self.level)
        z = (upper - lower) / 2 / max(np.sqrt(variance), 1e-12)
        by_prior = z * self._spread(probabilities, fit.priors[:_DRAWS], plan.potentials)
        down = root_sum_square(value - lower, value - min(low, value), by_prior)
        up = root_sum_square(upper - value, max(high, value) - value, by_prior)
        details = {
            "threshold": self._thresholds[0].threshold,
            "share_of_ties": self._thresholds[0].share_of_ties,
            "prior": fit.prior,
            "prior_by": self._choice,
            "reference_prior": self._label_counts.prior,
            "transport_gap": plan.gap,
            "rows_used": used,
            **fit.details,
        }
        notes = self._notes(fit, plan.gap)
        return self._estimate(state, value, value - down, value + up, details=details, warnings=notes)

    def _spread(self, probabilities: Array, priors: Array, start: Array) -> float:
        """Standard deviation of the answer over priors, on the first rows (which come in the order of a hash)."""
        threshold: ScoreThreshold = self._thresholds[0]
        probabilities = probabilities[: max(_DRAW_VALUES // self._label_counts.classes, 200)]
        plans = [transport(probabilities, prior, start) for prior in priors]
        made = [credit(_score(probabilities, plan.assigned), threshold).mean() for plan in plans]
        return float(np.std(made, ddof=1))


def _score(probabilities: Array, assigned: Array) -> Array:
    """1 - cost of each sample: the probability of the class it is carried to."""
    out: Array = probabilities[np.arange(len(assigned)), assigned].astype(np.float64)
    return out
