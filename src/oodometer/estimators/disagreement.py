"""Disagreement: how often independently trained models agree, read as accuracy (GDE) or along a line (ALine)."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable
from ..inference.row_sample import RowSample
from ..intervals import wilson_from_variance
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import ModelAgreement
from ..scores.agreement import copies_of_base
from .base import Estimator, ReferenceGap, Sums, Traits, mean_and_variance
from .expected_classes import MOST_CLASSES, Expectation, expected_of_pairs

_CHUNK_VALUES = 1 << 19


def stack_models(predicted: Array, members: Array, models: Array) -> Array:
    """Classes predicted by the judged model and by the kept members, judged model first, shape (model, sample)."""
    return np.concatenate([predicted[None], members[models]])


def agreement_counts(codes: Array) -> Array:
    """Samples on which each pair of models agrees: codes have axes (model, sample); int64, shape (model, model)."""
    models, rows = codes.shape
    out = np.zeros((models, models), dtype=np.int64)
    step = max(_CHUNK_VALUES // models, 1)
    for start in range(0, rows, step):
        part = np.ascontiguousarray(codes[:, start : start + step])
        for i in range(models):
            out[i, i:] += np.count_nonzero(part[i:] == part[i], axis=1)
    return np.maximum(out, out.T)


def weigh_pairs(codes: Array, weights: Array) -> Array:
    """sum_{i<j} weights_ij [h_i = h_j], shape (sample,), of codes (model, sample) and weights (model, model)."""
    out = np.zeros(codes.shape[1])
    for i in range(len(codes) - 1):
        out += weights[i, i + 1 :] @ (codes[i + 1 :] == codes[i])
    return out


def probit(counts: Array, rows: int) -> Array:
    """Phi^-1(counts / rows), with counts of 0 and of all rows moved half a count inwards."""
    from scipy.special import ndtri

    return ndtri(np.clip(counts, 0.5, rows - 0.5) / rows)


class Line(NamedTuple):
    """A least-squares line: slope, intercept, share of variance explained, and the residual variance."""

    slope: float
    intercept: float
    r_squared: float
    variance: float


def fit_line(x: Array, y: Array) -> Line | None:
    """y = slope x + intercept by least squares over pairs; None where all x are equal. Shapes (pair,)."""
    dx, dy = x - x.mean(), y - y.mean()
    spread, total = float(dx @ dx), float(dy @ dy)
    if spread <= 1e-12 * len(x):
        return None
    slope = float(dx @ dy) / spread
    residual_sum = float(np.square(dy - slope * dx).sum())
    explained = 1 - residual_sum / total if total > 1e-12 * len(x) else 0.0
    return Line(
        slope, float(y.mean() - slope * x.mean()), explained, residual_sum / max(len(x) - 2, 1)
    )


def solve_pairs(values: Array) -> Array:
    """The w of least squares in (w_i + w_j)/2 = values_ij, i < j, of 3 models or more; (model, model) to (model,)."""
    models = len(values)
    rows = values.sum(axis=1) - np.diagonal(values)
    return np.asarray((2 * rows - rows.sum() / (models - 1)) / (models - 2))


_FEWEST_MODELS, _GOOD_FIT = 3, 0.95
_VARIANCE_ROWS = (
    2_000  # rows from which the sampling error is worked out; the counts are of all rows
)


class _AgreementLine(Estimator):
    """What both forms share: counts of agreement, the line through them, and the interval."""

    needs = ("members",)
    citation = "baek2022"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        why = super().why_not(record)
        if why is None and record.members is not None:
            used = getattr(self, "_used", None)
            other_models = np.count_nonzero(~copies_of_base(record))
            if used is None and other_models < _FEWEST_MODELS - 1:
                return f"needs `members` of at least {_FEWEST_MODELS} models in all; there are {other_models + 1}"
            if used is not None and len(used) != len(record.members):
                return f"needs the {len(used)} members of the reference; there are {len(record.members)}"
        return why

    def _fit(self, reference: Predictions) -> None:
        self._used: Array = ~copies_of_base(reference)
        codes = stack_models(reference.predicted, present(reference.members), self._used)
        if len(codes) < _FEWEST_MODELS:
            raise NotApplicable(
                f"needs at least {_FEWEST_MODELS} models that differ on the reference"
            )
        self._rows = len(reference)
        self._agreement: Array = agreement_counts(codes)
        self._x: Array = probit(self._agreement, self._rows)
        self._pairs = np.triu_indices(len(codes), 1)
        if fit_line(self._x[self._pairs], self._x[self._pairs]) is None:
            raise NotApplicable(
                "all pairs of models agree equally often on the reference, so that no line is defined"
            )
        right = [reference.verdicts.sum()]
        if reference.label is not None and reference.correct is None:
            right = np.count_nonzero(codes == reference.label, axis=1)
        self._right: Array = np.asarray(right)
        self._u: Array = probit(self._right, self._rows)
        model_names = reference.names.get("model", ())
        names = (
            model_names
            if len(model_names) == len(self._used)
            else [f"member_{i}" for i in range(len(self._used))]
        )
        self._names = (
            "judged",
            *(n for n, is_used in zip(names, self._used, strict=True) if is_used),
        )
        self._sample = RowSample.of(
            reference, ["predicted", "members", "verdicts"], _VARIANCE_ROWS, self.seed
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, counts of agreement, and a few rows for the sampling error."""
        codes = stack_models(batch.predicted, present(batch.members), self._used)
        sample = RowSample.of(batch, ["predicted", "members"], _VARIANCE_ROWS, self.seed)
        return Sums(rows=len(batch), agreement=agreement_counts(codes), sample=sample)

    @abstractmethod
    def _read(self, line: Line, y: Array) -> tuple[Array, Array, float]:
        """Probits of the accuracies, their derivative by y - slope x of each pair, and the model variance."""

    def finish(self, state: Sums) -> Estimate:
        """Accuracy read off the line, with the sampling error of both samples and the scatter about the line."""
        from scipy.special import ndtr

        rows = int(state["rows"])
        y = probit(state["agreement"], rows)
        line = present(
            fit_line(self._x[self._pairs], y[self._pairs])
        )  # the spread of x was looked at in the fit
        probits, pull, scatter = self._read(line, y)
        value = float(ndtr(probits[0]))
        slope_of_share = float(np.exp(-(probits[0] ** 2) / 2) / np.sqrt(2 * np.pi))
        variance = slope_of_share**2 * (self._sampling_variance(line, y, pull, state) + scatter)
        lower, upper = wilson_from_variance(value, variance, min(rows, self._rows), self.level)
        details: dict[str, Any] = {
            "slope": line.slope,
            "intercept": line.intercept,
            "r_squared": line.r_squared,
            "models": len(self._x),
        }
        if len(self._u) == len(self._names):
            details["accuracies"] = dict(zip(self._names, ndtr(probits).tolist(), strict=True))
        figures = f"R^2 = {line.r_squared:.2f} over {len(self._pairs[0])} pairs, more than {_GOOD_FIT} is wanted"
        doubt = f"agreement does not lie on a line ({figures}): accuracy need not either"
        warnings = () if line.r_squared > _GOOD_FIT else (doubt,)
        return self._estimate(state, value, lower, upper, details=details, warnings=warnings)

    def _gradients(self, line: Line, y: Array, pull: Array) -> tuple[Array, Array]:
        """Derivatives of the judged model's probit by each y and by each x; the upper triangle is meant."""
        x = self._x
        dx, dy = x - x[self._pairs].mean(), y - y[self._pairs].mean()
        by_slope = float(self._u[0] - (pull * x)[self._pairs].sum())
        spread = float(np.square(dx[self._pairs]).sum())
        return pull + by_slope * dx / spread, -line.slope * pull + by_slope * (
            dy - 2 * line.slope * dx
        ) / spread

    def _sampling_variance(self, line: Line, y: Array, pull: Array, state: Sums) -> float:
        """Variance of the judged model's probit by redrawing both samples: delta method, row by row."""
        by_y, by_x = self._gradients(line, y, pull)
        seen = stack_models(state["sample"]["predicted"], state["sample"]["members"].T, self._used)
        target = weigh_pairs(seen, by_y / _density(y))
        reference_codes = stack_models(
            self._sample["predicted"], self._sample["members"].T, self._used
        )
        reference = weigh_pairs(reference_codes, by_x / _density(self._x))
        reference += line.slope * self._sample["verdicts"] / _density(self._u[:1])
        return float(target.var() / state["rows"] + reference.var() / self._rows)


def _density(probits: Array) -> Array:
    """Standard normal density: the slope of Phi."""
    return np.asarray(np.exp(-np.square(probits) / 2) / np.sqrt(2 * np.pi))


@register("estimator")
class ALineS(_AgreementLine):
    """``aline-s``: acc_T = Phi(a Phi^-1(acc_S) + b), with Phi^-1(agr_T) = a Phi^-1(agr_S) + b fitted over model pairs.

    Needs `members`: with the judged model at least three models, better ten or more of different quality. Shares of 0
    and 1 are moved half a count inwards. Variance: sampling error of both samples by the delta method, row by row, plus
    the scatter of single models about the line. Where R^2 of the line is not above 0.95 a warning says so.
    ``details`` hold the line and, where the reference has `label`, the accuracy of every model. `NotApplicable` with
    fewer than three models that differ, or when all pairs agree equally often. Source: Baek et al. (2022).

    >>> members = [[0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1], [0, 1, 0, 1, 1, 1]]
    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0, 1, 1], members=members, label=[0, 1, 1, 1, 1, 1])
    >>> same = ALineS().fit(p).estimate(p)  # no shift: the line is the diagonal
    >>> round(same.value, 3), same.details["models"], round(same.details["r_squared"], 3)
    (0.833, 4, 1.0)
    """

    name = "aline-s"
    traits = Traits("agreement on the line", 280, cost="slow", reads="models")
    assumes = (
        "accuracy and agreement of the models follow one and the same line on the probit scale"
    )

    def _read(self, line: Line, y: Array) -> tuple[Array, Array, float]:
        models = len(y)
        pull = np.full_like(y, 1 / len(self._pairs[0]))
        off = solve_pairs(y - line.slope * self._x - line.intercept)
        return line.slope * self._u + line.intercept, pull, float(off @ off) / (models - 2)


@register("estimator")
class ALineD(_AgreementLine):
    """``aline-d``: acc_T,i = Phi(w_i), (w_i + w_j)/2 = y_ij + a ((u_i + u_j)/2 - x_ij) over all pairs i < j.

    x = Phi^-1(agr_S), y = Phi^-1(agr_T), u = Phi^-1(acc_S), a the slope of ``aline-s``; the system is solved by least
    squares, in closed form, so that each model's own distance from the line counts. Needs, clipping, warning and
    details as for ``aline-s``. Variance: sampling error of both samples by the delta method, row by row, plus the
    residual variance of a pair about the line. `NotApplicable` with fewer than three models that differ, or when all
    pairs agree equally often. Source: Baek et al. (2022).

    >>> members = [[0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1], [0, 1, 0, 1, 1, 1]]
    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0, 1, 1], members=members, label=[0, 1, 1, 1, 1, 1])
    >>> {name: round(value, 2) for name, value in ALineD().fit(p).estimate(p).details["accuracies"].items()}
    {'judged': 0.83, 'member_0': 0.83, 'member_1': 0.67, 'member_2': 0.83}
    """

    name = "aline-d"
    traits = Traits("agreement on the line", 290, cost="slow", reads="models")
    assumes = "each model's accuracy is as far from the line of agreements as its agreement is"

    def _read(self, line: Line, y: Array) -> tuple[Array, Array, float]:
        models = len(y)
        pull = np.full_like(y, -2 / (models - 1) / (models - 2))
        pull[0] += 2 / (models - 2)
        return solve_pairs(y - line.slope * self._x) + line.slope * self._u, pull, line.variance


def agreement_pairs(record: Predictions, score: ModelAgreement) -> Array:
    """How often another model says j where the judged one says k, mean over the others; shape (class, class)."""
    other_codes, classes = score.others(record), record.num_classes
    code = other_codes.astype(np.int64) * classes + record.predicted
    both = (other_codes >= 0) & (record.predicted >= 0)
    pairs = np.bincount(code[both], minlength=classes * classes).reshape(classes, classes)
    return pairs / len(other_codes)


class _Agreement(Estimator):
    """What both share that read the agreement of the judged model with the others."""

    needs = ("members",)
    citation = "jiang2022"

    _score = ModelAgreement()

    def _fit(self, reference: Predictions) -> None:
        self._score = ModelAgreement().fit(reference)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and summed agreement."""
        return Sums(rows=len(batch), total=float(self._score(batch).sum()))


@register("estimator")
class GeneralizationDisagreement(_Agreement):
    """``gde``: mean over the other models i of P_T[h_0 = h_i], read as the accuracy of h_0.

    Needs `members` trained independently on the same data; `NotApplicable` without. The binomial variance v(1-v)/n_T is
    that of one pair, wider than that of a mean over pairs. Bias that the models share breaks it, upwards.
    Source: Jiang et al. (2022).

    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0], members=[[0, 1, 0, 0], [0, 1, 1, 1]], label=[0, 1, 0, 0])
    >>> GeneralizationDisagreement().fit(p).estimate(p).value
    0.75
    """

    name = "gde"
    traits = Traits("disagreement", 110, reads="models", voice=2, favour=0.1)
    assumes = "the ensemble is calibrated as a class aggregate on the target"

    def finish(self, state: Sums) -> Estimate:
        """Mean agreement."""
        return self._from_variance(
            state, state["total"] / state["rows"], 0.0, math.inf, score="model_agreement"
        )


@register("estimator")
class DisagreementDifference(_Agreement):
    """``gde-difference``: acc_S + agr_T - agr_S, so that what the models share on the reference cancels.

    agr = mean over the other models of [h_0 = h_i]. Variance: Var_S(correct - agr)/n_S + max(a(1-a), Var_S(correct -
    agr))/n_T, a = agr_T: wide enough for the population and for these very rows. Needs `members` and labels on the
    reference; `NotApplicable` without. Source: Jiang et al. (2022), with the correction of DoC.

    >>> p = Predictions.from_arrays(prediction=[0, 1, 1, 0], members=[[0, 1, 0, 0], [0, 1, 1, 1]], label=[0, 1, 0, 1])
    >>> DisagreementDifference().fit(p).estimate(p).value
    0.5
    """

    name = "gde-difference"
    traits = Traits("disagreement", 130, reads="models", voice=1, favour=0.5)
    assumes = "accuracy falls by as much as the agreement between models"
    _gap_pairs: Array | None = None

    def _fit(self, reference: Predictions) -> None:
        super()._fit(reference)
        self._gap, self._gap_variance = mean_and_variance(
            reference.verdicts - self._score(reference)
        )
        self._rows = len(reference)

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that counts pairs of predictions, too; other models stand for the truth, less the reference's gap."""
        record = own.known()
        if record.label is None or not record.has_classes or record.num_classes > MOST_CLASSES:
            raise NotApplicable(
                f"needs the true class (`label`) of reference rows, of at most {MOST_CLASSES} classes"
            )
        code = record.label.astype(np.int64) * record.num_classes + record.predicted
        size = record.num_classes**2
        true = np.bincount(code[record.label >= 0], minlength=size).reshape(record.num_classes, -1)
        return self._with(
            _gap_pairs=true / true.sum() - agreement_pairs(record, self._score) / len(record)
        )

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """Pairs of predictions of the target plus the reference's gap between truth and them."""
        gap_pairs = present(self._gap_pairs)
        pairs = np.maximum(state["pairs"] + gap_pairs * state["rows"], 0.0)
        rng = np.random.default_rng([self.seed, 0x6DE])
        redrawn_pairs = (
            rng.poisson(state["pairs"], (draws, *pairs.shape)) + gap_pairs * state["rows"]
        )
        gap = (
            rng.normal(0, (np.abs(gap_pairs) / self._rows) ** 0.5, redrawn_pairs.shape)
            * state["rows"]
        )
        return Expectation(
            expected_of_pairs(pairs), expected_of_pairs(np.maximum(redrawn_pairs + gap, 0.0))
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Rows, summed agreement and, where they are asked for, pairs of predictions."""
        state = super().summarize(batch)
        if self._gap_pairs is not None:
            state["pairs"] = agreement_pairs(batch, self._score)
        return state

    def finish(self, state: Sums) -> Estimate:
        """Agreement of the target plus the reference's gap."""
        gap = ReferenceGap(self._gap, self._gap_variance, self._rows)
        return self._from_gap(state, gap, "model_agreement")


@register("estimator")
class SoftDisagreement(Estimator):
    """``gde-soft``: E_T sum_k pbar_k^2, pbar = mean over models of their class probabilities.

    The chance that two draws from the ensemble's own distribution agree. Needs `member_probabilities` (probabilities of
    every model; logits are never mixed in); `NotApplicable` without. Source: Kirsch and Gal (2022).

    >>> q = [[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]]
    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], member_probabilities=q)
    >>> SoftDisagreement().fit(p).estimate(p).value
    0.75
    """

    name = "gde-soft"
    traits = Traits("disagreement", 120, cost="slow", reads="models", needs_labels=False)
    needs = ("member_probabilities",)
    assumes = "the mean distribution of the ensemble is calibrated on the target"
    citation = "kirsch2022"

    def _fit(self, reference: Predictions) -> None:
        """Nothing is learnt from the reference."""

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and summed squares of the mean probabilities."""
        mean = present(batch.member_probabilities).mean(axis=0)
        return Sums(rows=len(batch), total=float(np.square(mean).sum(dtype=np.float64)))

    def finish(self, state: Sums) -> Estimate:
        """Mean chance of agreement."""
        return self._from_variance(state, state["total"] / state["rows"], 0.0, math.inf)
