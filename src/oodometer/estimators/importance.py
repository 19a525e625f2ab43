"""Covariate shift: importance weighting, PAPE and Mandoline, which weigh the reference to look like the target."""

from __future__ import annotations

from typing import Self

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable
from ..inference.domain_classifier import (
    DomainComparison,
    check_overlap,
    compare_samples,
    domain_sample,
    effective_rows,
    weighted_accuracy,
    why_no_domains,
)
from ..inference.row_sample import RowSample, content_sample
from ..kernels import LOG_ODDS_BINS, log_odds_bin, pool_adjacent
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent
from ..scores import Score, natural_confidence
from .base import Estimator, Sums, Traits
from .expected_classes import (
    Expectation,
    LabelledRows,
    drawn_by_rates,
    expected_by_rates,
    rates_of_rows,
    reweighted,
    rows_like,
)
from .mean_confidence import confidence_bins

_MOST_VALUES, _RIDGE, _MOST_UNSEEN = 20, 1e-4, 0.5
_MOST_ROWS = 20_000
_FEW_SLICES = 60  # up to so many the exact curvature is cheap
_LARGEST_MISMATCH = 0.02


@register("estimator")
class Mandoline(Estimator):
    """``mandoline``: sum_i w_i correct_i / sum_i w_i, w = exp(theta . g(x)), g = one-hot slices of `group` and of every
    extra column with at most 20 values.

    theta maximises mean_T theta . g - log mean_S exp(theta . g) - 1e-4 |theta|^2 / 2 (KLIEP, log-linear): then every
    slice is as frequent on the weighted reference as on the target. For a single column this is post-stratification.
    A value that the reference never had is left out of its column's frequencies; its share is given and
    warned about. Variance: sum w^2 (c - v)^2 / (sum w)^2 + v(1-v)/n_T. `NotApplicable` without slices, below 30
    effective rows, or when more than half of the target has an unseen value. Source: Chen et al. (2021).

    >>> reference = Predictions.from_arrays(correct=[1] * 60 + [0, 1] * 20, group=["day"] * 60 + ["night"] * 40)
    >>> target = Predictions.from_arrays(confidence=[0.9] * 100, group=["day"] * 20 + ["night"] * 80)
    >>> round(Mandoline().fit(reference).estimate(target).value, 3)  # 0.2 * 1 + 0.8 * 0.5
    0.6
    """

    name = "mandoline"
    traits = Traits("covariate shift", 260, cost="slow", stable="P(y | x)", also_reads=("group",))
    needs = ()
    assumes = "within every combination of the given slices the accuracy is unchanged"
    citation = "chen2021"

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        values: dict[str, Array] | None = getattr(self, "_values", None)
        if values is None:
            needed = "needs a column of 2 to 20 values to slice by, `group` in a file (--map theirs=group)"
            return None if _slices(record) else needed
        lost = sorted(set(values) - set(_columns(record)))
        return (
            f"needs the columns {', '.join(lost)} to slice by, as in the reference"
            if lost
            else None
        )

    def _fit(self, reference: Predictions) -> None:
        if len(reference) > _MOST_ROWS:
            reference = reference.take(content_sample(reference, _MOST_ROWS, self.seed))
        slices = _slices(reference)
        self._values = {name: np.unique(values) for name, values in slices.items()}
        codes = np.stack([np.searchsorted(self._values[k], v) for k, v in slices.items()])
        cells, cell = np.unique(codes, axis=1, return_inverse=True)
        one_hot = [
            row[:, None] == np.arange(len(v))
            for row, v in zip(cells, self._values.values(), strict=True)
        ]
        self._cells: Array = np.hstack(one_hot).astype(np.float64)
        self._cell_rows: Array = np.bincount(cell.ravel())
        self._cell_hits: Array = np.bincount(cell.ravel(), weights=reference.verdicts)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows of each value of each column, the last one of a column for values that the reference never had."""
        counts = []
        for name, values in self._values.items():
            seen = present(_names(_columns(batch)[name]))
            at = np.minimum(np.searchsorted(values, seen), len(values) - 1)
            code = np.where(values[at] == seen, at, len(values))
            counts.append(np.bincount(code, minlength=len(values) + 1))
        return Sums(rows=len(batch), counts=np.concatenate(counts))

    def finish(self, state: Sums) -> Estimate:
        """Weighted accuracy of the reference."""
        rows, warnings, means, start = state["rows"], [], [], 0
        unseen: dict[str, float] = {}
        for name, values in self._values.items():
            counts = state["counts"][start : start + len(values) + 1]
            start += len(counts)
            unseen[name] = float(counts[-1]) / rows
            never = f"of the target has a {name} that the reference never had"
            if unseen[name] > _MOST_UNSEEN:
                raise NotApplicable(f"{percent(unseen[name], 0)} {never}")
            if unseen[name]:
                warnings.append(f"{percent(unseen[name])} {never}")
            means.append(counts[:-1] / counts[:-1].sum())
        goal = np.concatenate(means)
        log_weight = log_linear_tilt(self._cells, self._cell_rows, goal)
        weight = np.exp(log_weight - log_weight.max())
        mass = weight * self._cell_rows
        mismatch = float(np.abs(mass @ self._cells / mass.sum() - goal).max())
        if mismatch > _LARGEST_MISMATCH:
            off = f"one is off by {percent(mismatch)} of the rows"
            warnings.append(f"no weights of the reference give the target's slices: {off}")
        hits = self._cell_hits.astype(np.intp)
        misses = (self._cell_rows - self._cell_hits).astype(np.intp)
        weights = np.concatenate([np.repeat(weight, hits), np.repeat(weight, misses)])
        verdicts = np.repeat([1, 0], [hits.sum(), misses.sum()])
        effective = effective_rows(weights)
        warnings += check_overlap(effective)
        ends = weighted_accuracy(weights, verdicts, rows, self.level)
        details = {
            "effective_rows": effective,
            "slices": list(self._values),
            "share_unseen": unseen,
        }
        details["mismatch"] = mismatch
        return self._estimate(state, *ends, details=details, warnings=tuple(warnings))


def log_linear_tilt(cells: Array, rows: Array, means: Array) -> Array:
    """theta . g of each cell; theta maximises theta . means - log sum_c rows_c/n exp(theta . g_c) - ridge |theta|^2."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    base = np.log(rows / rows.sum())

    def loss(theta: Array) -> tuple[float, Array]:
        z = base + cells @ theta
        top = float(logsumexp(z))
        value = top - means @ theta + _RIDGE / 2 * theta @ theta
        return float(value), np.exp(z - top) @ cells - means + _RIDGE * theta

    def curvature(theta: Array) -> Array:
        z = base + cells @ theta
        share = np.exp(z - logsumexp(z))
        mean = share @ cells
        return np.asarray(
            (cells.T * share) @ cells - np.outer(mean, mean) + _RIDGE * np.eye(len(mean))
        )

    start = np.zeros(cells.shape[1])
    if cells.shape[1] <= _FEW_SLICES:
        solution = minimize(
            loss, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-8}
        )
    else:
        solution = minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 500}
        )
    return cells @ solution.x


def _columns(record: Predictions) -> dict[str, Array]:
    fields = {} if record.group is None else {"group": record.group}
    return fields | {k: v for k, v in sorted(record.columns.items()) if v.ndim == 1}


def _names(values: Array, limit: int | None = None) -> Array | None:
    """Values as text, so that 1, 1.0 and "1" are one value however they were stored; None for more than ``limit``."""
    plain = values.astype(str) if values.dtype.kind == "O" else values
    distinct, code = np.unique(plain, return_inverse=True)
    if limit is not None and len(distinct) > limit:
        return None
    text = np.array([str(v).removesuffix(".0") for v in distinct.tolist()], dtype=np.str_)
    return text[code.ravel()]


def _slices(record: Predictions) -> dict[str, Array]:
    """Columns of 2 to 20 values, as text."""
    named = {name: _names(values, _MOST_VALUES) for name, values in _columns(record).items()}
    return {name: v for name, v in named.items() if v is not None and len(np.unique(v)) > 1}


_FOLDS = 5


class _DensityRatio(Estimator):
    """What both share that weigh reference rows by the density ratio of a domain classifier."""

    assumes = "P(y | x) is unchanged, and the reference overlaps the target (covariate shift with overlap)"
    _labelled: LabelledRows
    _sample: RowSample

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        sample: RowSample | None = getattr(self, "_sample", None)
        return super().why_not(record) or (
            None if sample is None else why_no_domains(sample, record)
        )

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of the sampled reference rows."""
        return self._with(_labelled=rows_like(self._sample, own.known()))

    def _compared(self, state: Sums) -> tuple[DomainComparison, Strings, Json]:
        """Reference and target rows told apart, what is to be said of their overlap, and details."""
        comparison = compare_samples(self._sample, state["sample"])
        fields = ("effective_rows", "covered", "auc", "p_value", "learner")
        details = {name: getattr(comparison, name) for name in fields}
        return (
            comparison,
            check_overlap(comparison.effective_rows, comparison.auc, comparison.covered),
            details,
        )


@register("estimator")
class PAPE(_DensityRatio):
    """``pape``: mean_T c(confidence), c = isotonic regression of correctness on confidence over reference rows of
    weight w = p_T(x) / p_S(x).

    w comes from a cross-fitted classifier of target against reference rows (`compare_domains`; `features` make it much
    better). Both sides are read on 960 bins of log-odds. The confidence itself is used where its weighted
    five-fold Brier score is lower. Variance: sum over isotonic blocks of (share of T)^2 r(1-r)/n_eff(block), or that
    of the weighted gap for the confidence itself, plus v(1-v)/n_T. `NotApplicable` without confidences, below 30
    rows on either side or 30 effective ones. Source: Białek et al. (2024).

    >>> rng = np.random.default_rng(0)
    >>> x, p = rng.integers(2, size=2000), rng.uniform(0.5, 1, 2000)  # where x = 1 half of the confidence is a lie
    >>> right = rng.random(2000) < np.where(x == 1, 0.5, p)
    >>> reference = Predictions.from_arrays(features=x[:, None], confidence=p, correct=right)
    >>> target = Predictions.from_arrays(features=(rng.random((2000, 1)) < 0.9), confidence=rng.uniform(0.5, 1, 2000))
    >>> 0.48 < PAPE().fit(reference).estimate(target).value < 0.57  # 0.1 * 0.75 + 0.9 * 0.5
    True
    """

    name = "pape"
    traits = Traits(
        "covariate shift", 250, cost="slow", stable="P(y | x)", heavy=True, also_reads=("features",)
    )
    needs = ("probabilities|confidence",)
    citation = "bialek2024"

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference)
        names = ["predicted", "verdicts"] if reference.has("probabilities") else ["verdicts"]
        self._sample = domain_sample(reference, *names, seed=self.seed)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each bin of confidence, their summed confidence, and a bounded sample of the rows."""
        counts = np.bincount(confidence_bins(batch, self._score), minlength=LOG_ODDS_BINS)
        total = float(self._score(batch).sum(dtype=np.float64))
        return Sums(
            rows=len(batch),
            counts=counts,
            confidence=total,
            sample=domain_sample(batch, seed=self.seed),
        )

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of the sampled reference rows."""
        if not own.has("probabilities"):
            raise NotApplicable("needs `probabilities` for other metrics than the accuracy")
        return super().with_metrics(reference, own)

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The target's counts at the rates of the re-weighted reference."""
        comparison, warnings, _ = self._compared(state)
        rates = rates_of_rows(self._labelled, comparison.weights)
        expected = expected_by_rates(counts, rates)
        redrawn = drawn_by_rates(counts, rates, draws, np.random.default_rng([self.seed, 0x9A9E]))
        return Expectation(expected, redrawn, warnings=warnings)

    def finish(self, state: Sums) -> Estimate:
        """Mean of the refitted map over the target."""
        comparison, warnings, details = self._compared(state)
        rows, w, right = state["rows"], comparison.weights, self._sample["verdicts"]
        confidence = self._sample[
            "confidence" if "predicted" not in self._sample.arrays else "probabilities"
        ]
        if (
            "predicted" in self._sample.arrays
        ):  # that of the predicted class, in the order of the weights
            confidence = np.take_along_axis(confidence, self._sample["predicted"][:, None], axis=1)[
                :, 0
            ]
        confidence = confidence.astype(np.float64)
        bins = log_odds_bin(confidence)
        # weighted five-fold mean of (c - correct)^2 of the confidence itself, and of its isotonic map
        fold, mapped = np.arange(len(bins)) % _FOLDS, np.empty(len(bins))
        for f in range(_FOLDS):
            train = fold != f
            mapped[~train] = weighted_isotonic(bins[train], right[train], w[train])[0][bins[~train]]
        total = float(w.sum())
        both = (("raw", confidence), ("pooled", mapped))
        scores = {name: float(w @ np.square(c - right)) / total for name, c in both}
        form = min(scores, key=lambda name: scores[name])
        if form == "raw":
            value = state["confidence"] / rows
            gap = right - confidence
            shift = float(w @ gap) / float(w.sum())
            variance = float(np.square(w * (gap - shift)).sum()) / float(w.sum()) ** 2 + shift**2
        else:
            rate, block = weighted_isotonic(bins, right, w)
            value = float(state["counts"] @ rate) / rows
            shares = np.bincount(block, weights=state["counts"] / rows)
            size = np.bincount(block[bins], weights=w, minlength=len(shares))
            squares = np.bincount(block[bins], weights=w * w, minlength=len(shares))
            effective = np.square(size) / squares
            hits = np.bincount(block[bins], weights=w * right, minlength=len(shares)) / size
            smooth = (hits * effective + 0.5) / (
                effective + 1
            )  # a block without errors is not a certain one
            variance = float(np.sum(np.square(shares) * smooth * (1 - smooth) / effective))
        details = {"calibration": form, "cross_validated_brier": scores, **details}
        return self._from_variance(
            state,
            value,
            variance,
            comparison.effective_rows,
            score=self._score.name,
            details=details,
            warnings=warnings,
        )


def weighted_isotonic(bins: Array, verdicts: Array, weights: Array) -> tuple[Array, Array]:
    """Isotonic regression of weighted correctness on the bin of confidence: rate and block of every bin, (bin,)."""
    mass = np.bincount(bins, weights=weights, minlength=LOG_ODDS_BINS)
    hits = np.bincount(bins, weights=weights * verdicts, minlength=LOG_ODDS_BINS)
    full, every = np.flatnonzero(mass > 0), np.arange(LOG_ODDS_BINS)
    first, weight, right = pool_adjacent(mass[full], hits[full])
    owner = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(full))))
    block = owner[np.maximum(np.searchsorted(full, every, "right") - 1, 0)]
    return np.interp(every, full, (right / weight)[owner]), block


@register("estimator")
class ImportanceWeighting(_DensityRatio):
    """``importance``: sum_i w_i correct_i / sum_i w_i over reference rows, w = p_T(x) / p_S(x).

    The ratio comes from a cross-fitted classifier of target against reference rows (`compare_domains`), which sees
    `features` and the log-odds of `probabilities`, or `confidence`; of either sample at most 20,000 rows. Variance:
    sum w^2 (c - v)^2 / (sum w)^2 + v(1-v)/n_T. ``details``: effective sample size (sum w)^2 / sum w^2, the share of the
    target that the reference covers, the classifier's AUC with its error and p-value, the learner. `NotApplicable`
    below 30 rows on either side, 30 effective ones or a tenth covered; warns below 100 effective ones, half
    covered, and above an AUC of 0.99. Source: Shimodaira (2000); Bickel et al. (2009).

    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.normal(0, 1, 2000), rng.normal(1, 1, 2000)  # right wherever x > 0: 84 % of the target
    >>> reference = Predictions.from_arrays(features=here[:, None], correct=here > 0)
    >>> estimate = ImportanceWeighting().fit(reference).estimate(Predictions.from_arrays(features=there[:, None]))
    >>> 0.80 < estimate.value < 0.88
    True
    """

    name = "importance"
    traits = Traits("covariate shift", 240, cost="slow", stable="P(y | x)", heavy=True)
    needs = ("features|probabilities|confidence",)
    citation = "shimodaira2000"

    def _fit(self, reference: Predictions) -> None:
        self._sample = domain_sample(reference, "verdicts", seed=self.seed)

    def summarize(self, batch: Predictions) -> Sums:
        """A bounded sample of the rows."""
        return Sums(rows=len(batch), sample=domain_sample(batch, seed=self.seed))

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The reference's rows under the density ratio."""
        comparison, warnings, _ = self._compared(state)
        expectation = reweighted(
            self._labelled, comparison.weights, state["rows"], draws, [self.seed, 0x1A9]
        )
        return expectation._replace(warnings=warnings)

    def finish(self, state: Sums) -> Estimate:
        """Weighted accuracy of the reference."""
        comparison, warnings, details = self._compared(state)
        ends = weighted_accuracy(
            comparison.weights, self._sample["verdicts"], state["rows"], self.level
        )
        details["auc_error"] = comparison.auc_error
        return self._estimate(state, *ends, details=details, warnings=warnings)
