"""Mean confidence on the target, read as its accuracy (AC), as a fall of it (DoC), or bin by bin (IM, CBPE)."""

from __future__ import annotations

import copy
import math
import sys
from typing import Any, Self

import numpy as np

from ..arrays import Array, present
from ..calibrators.binned_map import (
    BLOCK,
    BinnedMap,
    bins_for,
    centres,
    count_bins,
    count_verdicts,
    fit_map,
)
from ..errors import NotApplicable, UsageError
from ..inference.method import Method
from ..intervals import check_level, quantiles
from ..kernels import LOG_ODDS_BINS, equal_bin, log_odds_bin, tally
from ..predictions import Predictions
from ..registry import create, register
from ..results import Curve, Estimate, percent
from ..results.values import answers_for
from ..scores import Score, natural_confidence
from .base import Ends, Estimator, Pieces, ReferenceGap, Sums, Traits
from .expected_classes import (
    ClassRates,
    ConfusionCounts,
    Expectation,
    class_order,
    class_rates,
    confusion_of,
    count_classes,
    count_off_diagonal,
    counts_of_truth,
    drawn_by_rates,
    expected_by_rates,
    expected_metrics,
    fit_class_rates,
)

_ROWS_AT_A_TIME = 1 << 14  # small enough for the cache


def confidence_bins(record: Predictions, score: Score, width: int = LOG_ODDS_BINS) -> Array:
    """Log-odds bin of each sample's confidence, among ``width`` of them (`bins_for`); intp, shape (sample,)."""
    bins: Array = record.derived(f"bins:{score.name}", lambda: log_odds_bin(score(record)))
    return bins if width == LOG_ODDS_BINS else bins // (LOG_ODDS_BINS // width)


def counts_by_class_and_bin(record: Predictions, score: Score, classes: int) -> Array:
    """Samples by predicted class and log-odds bin of confidence, int64, (class, bin); read-only, made once."""

    def make() -> Array:
        width = bins_for(classes)
        out = tally(
            confidence_bins(record, score, width), width, kinds=record.predicted, of=classes
        )[:, :, 0]
        out.flags.writeable = False
        return out

    return record.derived(f"class bins:{score.name}:{classes}", make)


def total_confidence(record: Predictions, score: Score) -> float:
    """Sum of the score over the samples, in double precision."""
    return record.derived(f"total:{score.name}", lambda: float(score(record).sum(dtype=np.float64)))


def confidence_gap(record: Predictions, score: Score) -> tuple[float, float]:
    """Mean over the samples of (correct - confidence), and the variance of that mean (`mean_and_variance`)."""

    def make() -> tuple[float, float]:
        verdicts, values = record.verdicts, score(record)
        sums = squares = 0.0
        for start in range(0, record.rows, _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            gap = np.subtract(verdicts[part], values[part], dtype=np.float64)
            sums += float(gap.sum())
            squares += float(np.einsum("n,n->", gap, gap))
        mean = sums / record.rows
        spread = (
            max(squares - sums * mean, 0.0) + 1
        )  # one squared unit more, as in `mean_and_variance`
        return mean, spread / (record.rows + 1) / record.rows

    return record.derived(f"gap:{score.name}", make)


@register("estimator")
class HistogramImportance(Estimator):
    """sum_b w_b acc_{S,b}, w_b = share of the target in bin b of 10 equal bins of confidence over [0, 1].

    This is the density-ratio mean of correctness with the ratio p_T(b)/p_S(b). A bin that the target fills and the
    reference leaves empty takes the accuracy of its neighbours (linear between them); the share of such rows
    is given and warned about. Variance: sum_b w_b^2 acc_b(1-acc_b)/n_{S,b} + v(1-v)/n_T.

    bins : number of bins.

    `NotApplicable` without confidences. Source: Chen et al. (2021), as the baseline "IM" of Garg et al. (2022).

    >>> reference = Predictions.from_confidence([0.95, 0.95, 0.55, 0.55], correct=[1, 1, 1, 0])
    >>> target = Predictions.from_confidence([0.95, 0.55, 0.55, 0.55])
    >>> HistogramImportance().fit(reference).estimate(target).value
    0.625
    """

    name = "im"
    traits = Traits(
        "calibrated confidence",
        90,
        reads="confidence",
        stable="P(y | x)",
        voice=2,
        in_panel=True,
        in_middle=True,
    )
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = (
        "accuracy at a given confidence is the same on the target (covariate shift in confidence)"
    )
    citation = "chen2021"

    def __init__(self, *, bins: int = 10, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._bins = bins

    def _bin(self, record: Predictions) -> Array:
        return equal_bin(self._score(record), self._bins)

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)
        self._rows = reference.rows
        rows, hits = count_verdicts(self._bin(reference), reference.verdicts, self._bins)
        full = rows > 0
        centres = np.arange(self._bins)
        self._accuracy: Array = np.interp(centres, centres[full], hits[full] / rows[full])
        self._empty: Array = ~full
        # add-half smoothing: a bin without errors has a variance all the same; an empty bin that of one sample
        smooth = (hits + 0.5) / (rows + 1)
        self._variance: Array = np.where(full, smooth * (1 - smooth) / np.maximum(rows, 1), 0.25)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each bin."""
        return Sums(rows=batch.rows, counts=tally(self._bin(batch), self._bins)[0, :, 0])

    def finish(self, state: Sums) -> Estimate:
        """Reference accuracy of the bins, weighted by the target."""
        weights = state["counts"] / state["rows"]
        (value,), (variance,) = self._weighted(weights[None])
        outside = float(weights[self._empty].sum())
        notes = (
            f"{percent(outside)} of the target lies in confidence bins that the reference leaves empty",
        )
        return self._from_variance(
            state,
            value,
            variance,
            self._rows,
            score=self._score.name,
            details={"share_outside_reference": outside},
            warnings=notes if outside > 0.01 else (),
        )

    def ends_of(self, pieces: Pieces) -> Ends:
        """Reference accuracy of the bins, weighted by each piece."""
        bins, piece_count, rows = self._bin(pieces.batch), len(pieces.rows), pieces.rows
        counts = tally(bins, self._bins, kinds=pieces.number, of=piece_count)[:, :, 0]
        return self._ends_from_variance(
            rows, *self._weighted(counts / rows[:, None]), trials=self._rows
        )

    def _weighted(self, weights: Array) -> tuple[Array, Array]:
        """Value and variance by weights of the bins, shape (piece, bin)."""
        # piece by piece: a product of matrices would round in another way
        value = [float(row @ self._accuracy) for row in weights]
        return np.array(value), np.array([float(np.square(w) @ self._variance) for w in weights])


@register("estimator")
class DifferenceOfConfidence(Estimator):
    """acc_S + mean_T s - mean_S s, s = max probability (or the record's natural confidence).

    Variance: Var_S(correct - s)/n_S + max(m(1-m), Var_S(correct - s))/n_T with m = mean_T s, wide enough for the
    population and for these very rows. The value is cut to [0, 1], with a warning. `NotApplicable` without confidences.
    Confidence that does not move with the errors breaks it. Source: Guillory et al. (2021).

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.7, 0.3]], label=[0, 1])
    >>> target = Predictions.from_probabilities([[0.7, 0.3], [0.5, 0.5]])
    >>> round(DifferenceOfConfidence().fit(reference).estimate(target).value, 3)
    0.3
    """

    name = "doc"
    traits = Traits(
        "difference of confidence", 30, reads="confidence", voice=1, in_panel=True, in_middle=True
    )
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "accuracy falls by as much as mean confidence"
    citation = "guillory2021"

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference).fit(reference)
        self._gap, self._gap_variance = confidence_gap(reference, self._score)
        self._rows = reference.rows

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and the sum of confidence."""
        return Sums(rows=batch.rows, total=total_confidence(batch, self._score))

    def finish(self, state: Sums) -> Estimate:
        """Mean confidence of the target plus the reference's gap."""
        gap = ReferenceGap(self._gap, self._gap_variance, self._rows)
        return self._from_gap(state, gap, self._score.name)

    def ends_of(self, pieces: Pieces) -> Ends:
        """Mean confidence of each piece plus the reference's gap."""
        rows, mean = pieces.rows, pieces.sums(self._score(pieces.batch)) / pieces.rows
        return self._ends_from_variance(
            rows, mean + self._gap, self._gap_variance, self._rows, self._own(mean)
        )

    def _own(self, mean: Any) -> Any:
        """Variance of a target row's chance: of the population, or of these very rows."""
        return np.maximum(mean * (1 - mean), self._gap_variance * self._rows)


@register("estimator")
class AverageConfidence(Estimator):
    """mean_T s(x), s = max probability (or `confidence`, or any score that reads as a probability).

    score : name of a score with ``is_probability``; by default the record's natural confidence.

    The interval adds the binomial variance v(1-v)/n_T (wide enough for the accuracy of the population and for
    that of these very rows) and, where the probabilities were calibrated on the reference, Var_S(correct -
    s)/n_S. Raises `UsageError` for a score that is no probability, `NotApplicable` without confidences. Over-confidence
    under shift breaks it. Source: Hendrycks and Gimpel (2017); Guo et al. (2017).

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> target = Predictions.from_probabilities([[0.7, 0.3], [0.5, 0.5]])
    >>> round(AverageConfidence().fit(reference).estimate(target).value, 3)
    0.6
    """

    name = "ac"
    traits = Traits("calibrated confidence", 20, reads="confidence", voice=3)
    needs = ("probabilities|confidence|token_logprobs|members|views|votes",)
    assumes = "confidence is calibrated on the target"
    citation = "guo2017"

    def __init__(self, *, score: str | None = None, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._score: Score | None = None if score is None else create("score", score)
        if self._score is not None and not self._score.is_probability:
            raise UsageError(
                f"the score {score!r} does not read as a probability; use threshold:{score} instead"
            )
        if score is not None:
            self.name = f"ac:{score}"  # type: ignore[misc]  # the instance's own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``ac:<score>`` averages that score."""
        return cls(score=argument, **options)

    def _fit(self, reference: Predictions) -> None:
        self._score = (self._score or natural_confidence(reference)).fit(reference)
        self._rows = (
            reference.rows if reference.calibrated else sys.maxsize
        )  # raw scores owe it nothing
        self._reference_variance = (
            confidence_gap(reference, self._score)[1] if reference.calibrated else 0.0
        )

    def summarize(self, batch: Predictions) -> Sums:
        """Rows and the sum of the score."""
        assert self._score is not None
        return Sums(rows=batch.rows, total=total_confidence(batch, self._score))

    def finish(self, state: Sums) -> Estimate:
        """Mean of the score."""
        assert self._score is not None
        value, variance = state["total"] / state["rows"], self._reference_variance
        return self._from_variance(state, value, variance, self._rows, score=self._score.name)

    def ends_of(self, pieces: Pieces) -> Ends:
        """Mean of the score in each piece."""
        assert self._score is not None
        value = pieces.sums(self._score(pieces.batch)) / pieces.rows
        return self._ends_from_variance(pieces.rows, value, self._reference_variance, self._rows)


@register("estimator")
class CBPE(Estimator):
    """accuracy = mean_T P(correct | predicted class, its probability), and any metric of the expected confusion matrix.

    On the reference a map is learnt from counts over log-odds bins: the rate of being correct given the predicted class
    and its probability. It is the probability itself, isotonic for all classes together, or for each class: whichever
    has the lowest five-fold Brier score. The expected confusion matrix has the expected correct samples of each class
    on its diagonal and spreads the expected errors in proportion to the other classes' probabilities; precision,
    recall, F1 and AUC of each class and their macro means follow, in ``details``. `confidence` gives the accuracy.

    extended : the other metrics besides accuracy (False saves most of the time).

    Variance of the accuracy: sum over isotonic blocks of w^2 r(1-r)/n_S, plus v(1-v)/n_T. `NotApplicable` without
    confidences. Source: NannyML (2022); isotonic maps after Zadrozny and Elkan (2002).

    >>> p = [[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 100
    >>> reference = Predictions.from_probabilities(p, label=[0] * 240 + [1] * 60 + [1] * 100)
    >>> estimate = CBPE().fit(reference).estimate(reference)
    >>> round(estimate.value, 2), np.round(estimate.details["confusion"], 1).tolist()
    (0.85, [[240.0, 60.0], [0.0, 100.0]])
    """

    name = "cbpe"
    traits = Traits(
        "calibrated confidence",
        100,
        reads="confidence",
        stable="P(y | x)",
        voice=1,
        in_panel=True,
        in_middle=True,
    )
    _class_rates: ClassRates
    _together: float
    needs = ("probabilities|confidence|token_logprobs",)
    assumes = "P(y | x) is unchanged, so that calibration carries over (covariate shift)"
    citation = "nannyml2022"

    def __init__(self, *, extended: bool = True, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        self._extended = extended

    def lighter(self) -> Self:
        """The accuracy alone, without the other metrics."""
        return self._with(_extended=False)

    def _fit(self, reference: Predictions) -> None:
        has_classes = reference.probabilities is not None and reference.label is not None
        self._classes = reference.num_classes if has_classes else 0
        self._names = reference.classes or ()
        self._score: Score = natural_confidence(reference)
        kinds = max(self._classes, 1)
        self._rows = reference.rows
        width = bins_for(kinds)
        bins = confidence_bins(reference, self._score, width)
        predicted = self._predicted(reference) if kinds > 1 else None
        table = tally(bins, width, kinds=predicted, of=kinds, verdicts=reference.verdicts)
        self._map: BinnedMap = fit_map(table.sum(axis=2), table[:, :, 1], seed=self.seed)
        shift, variance = confidence_gap(reference, self._score)
        self._raw_variance = (
            variance + shift**2
        )  # the gap seen on the reference is part of the doubt
        if predicted is not None and self._extended:
            self._rates = fit_class_rates(
                reference, predicted, table, is_argmax=_keeps_argmax(reference)
            )

    def _predicted(self, record: Predictions) -> Array:
        """Predicted class of each sample; one class for all where there is no class axis."""
        return record.predicted if self._classes else np.zeros(record.rows, dtype=np.intp)

    def summarize(self, batch: Predictions) -> Sums:
        """Counts by (predicted class, bin) of its probability, and what `expected_confusion` needs of the others."""
        kinds, predicted = max(self._classes, 1), self._predicted(batch)
        if self._classes:
            top = counts_by_class_and_bin(batch, self._score, kinds)
        else:
            top = count_bins(predicted, confidence_bins(batch, self._score, bins_for(kinds)), kinds)
        state = Sums(rows=batch.rows, confidence=total_confidence(batch, self._score), top=top)
        if self._classes and self._extended:
            state |= count_off_diagonal(
                present(batch.probabilities), predicted, is_argmax=_keeps_argmax(batch)
            )
        return Sums(state)

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that knows how often each class is true, by the bin of its probability."""
        if own.label is None or not own.has("probabilities"):
            raise NotApplicable(
                "needs `probabilities` and the true class (`label`) of reference rows"
            )
        counts = count_classes(own)
        rates = class_rates(confusion_of(counts, known=True), *counts_of_truth(counts))
        return self._with(_class_rates=rates, _together=class_order(own, self.seed).together)

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The target's counts at the reference's rates."""
        expected, rates = expected_by_rates(counts, self._class_rates), self._class_rates
        redrawn = drawn_by_rates(counts, rates, draws, np.random.default_rng([self.seed, 0xCB9E]))
        # a block of n rows redrawn at its own rate varies by (n - 1) / n of what another sample's block would
        block = math.sqrt(BLOCK / (BLOCK - 1))
        wider = dict.fromkeys(("roc_auc", "average_precision"), block)
        wider |= {f"mean {name}": block * self._together for name in wider}
        return Expectation(expected, redrawn, wider)

    def finish(self, state: Sums) -> Estimate:
        """Expected accuracy and the metrics of the expected confusion matrix."""
        rows = state["rows"]
        if self._map.form == "raw":
            value, variance = state["confidence"] / rows, self._raw_variance
        else:
            value = float(np.sum(state["top"] * self._map.rate)) / rows
            variance = self._map.variance(state["top"] / rows)
        details: dict[str, Any] = {
            "calibration": self._map.form,
            "cross_validated_brier": self._map.scores,
        }
        if "others" in state:
            cells = ConfusionCounts.of(state["top"], state["others"], state["mass"])
            details |= expected_metrics(
                cells, self._rates, self._names, level=self.level, kind=self.kind, seed=self.seed
            )
        return self._from_variance(
            state, value, variance, self._rows, score=self._score.name, details=details
        )

    def ends_of(self, pieces: Pieces) -> Ends:
        """Expected accuracy of each piece."""
        batch, rows, kinds = pieces.batch, pieces.rows, max(self._classes, 1)
        variance: Any
        if self._map.form == "raw":
            value, variance = pieces.sums(self._score(batch)) / rows, self._raw_variance
        else:
            width, piece_count = bins_for(kinds), len(rows)
            cell = pieces.number * kinds + self._predicted(batch)
            counts = tally(
                confidence_bins(batch, self._score, width),
                width,
                kinds=cell,
                of=piece_count * kinds,
            )
            top = counts.reshape(piece_count, kinds, width)
            value = np.array([np.sum(piece_counts * self._map.rate) for piece_counts in top]) / rows
            variance = self._map.variances(top / rows[:, None, None])
        return self._ends_from_variance(rows, value, variance, self._rows)


def _keeps_argmax(record: Predictions) -> bool:
    """Whether no class but the predicted one has a probability above one half."""
    return record.calibrated in (None, "temperature") and record.is_argmax


_REPLICATES, _POINTS = 200, 100


class RiskCoverage(Method[Sums, Curve]):
    """Estimated accuracy among the target's rows of highest confidence, at each coverage, with a band.

    accuracy(c) = mean of r(s) over the share c of the target with the highest s, where r(s) is the rate of being
    correct at confidence s on the reference (isotonic over log-odds bins, or s itself). The band redraws the
    reference's rates and the target's counts 200 times. Ties in a bin are spread evenly.

    level : nominal coverage of the band, point by point.
    target_accuracies : accuracies for which the operating threshold is read off.
    seed : seed of the band.

    `NotApplicable` without confidences or labels on the reference. Source: Geifman and El-Yaniv (2017) for the curve;
    NannyML (2022) for accuracy without labels.

    >>> reference = Predictions.from_confidence([0.9] * 50 + [0.6] * 50, correct=[1] * 50 + [0, 1] * 25)
    >>> curve = RiskCoverage(target_accuracies=(0.9,)).fit(reference).estimate(reference)
    >>> [round(float(curve.y[i]), 2) for i in (0, 49, 99)], curve.extra["answers"][0]["coverage"] > 0.5
    ([1.0, 1.0, 0.75], True)
    """

    name = "risk_coverage"
    assumes = "the rate of being correct at a given confidence carries over to the target"
    citation = "geifman2017"

    def __init__(
        self, *, level: float = 0.95, target_accuracies: tuple[float, ...] = (0.95,), seed: int = 0
    ) -> None:
        self.level = check_level(level)
        self.target_accuracies = target_accuracies
        self.seed = seed

    def fit(self, reference: Predictions) -> Self:
        """A fitted copy."""
        reference = reference.known()
        if not reference.rows:
            raise NotApplicable("needs labelled reference rows")
        fitted = copy.copy(self)
        fitted._score = natural_confidence(reference)
        bins = confidence_bins(reference, fitted._score)
        rows, hits = count_verdicts(bins, reference.verdicts, LOG_ODDS_BINS)
        fitted._map = fit_map(rows[None, :], hits[None, :], seed=fitted.seed)
        return fitted

    _score: Score
    _map: BinnedMap

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each log-odds bin of confidence."""
        counts = tally(confidence_bins(batch, self._score), LOG_ODDS_BINS)[0, :, 0]
        return Sums(rows=batch.rows, counts=counts)

    def estimate(self, target: Predictions) -> Curve:
        """The curve of a target held in memory."""
        return self.finish(self.summarize(target))

    def finish(self, state: Sums) -> Curve:
        """The curve at 100 coverages, the threshold at each, and the answers for the target accuracies."""
        counts = state["counts"].astype(np.float64)
        coverage = np.arange(1, _POINTS + 1) / _POINTS
        accuracy = _along(counts[None, :], self._map.rate[:1], coverage)[0]
        rng = np.random.default_rng([self.seed, 0x41C])
        full = np.flatnonzero(counts)
        again = rng.poisson(counts[full], size=(_REPLICATES, len(full))).astype(np.float64)
        again[~again.any(axis=1)] = counts[full]
        rates = self._map.redraw(rng, _REPLICATES)[:, 0, full]
        draws = _along(again, rates, coverage)
        tail = (1 - self.level) / 2
        low, high = quantiles(draws - draws.mean(axis=0), [tail, 1 - tail])
        lower = np.clip(np.minimum(accuracy + low, accuracy), 0, 1)
        upper = np.clip(np.maximum(accuracy + high, accuracy), 0, 1)
        # the confidence at which each coverage is reached, as the representative of its bin
        below = np.cumsum(counts[::-1])
        index = np.searchsorted(below, coverage * below[-1] - 1e-9)
        thresholds: Array = centres(1)[::-1][np.minimum(index, len(counts) - 1)]
        answers = answers_for(
            self.target_accuracies, {"": accuracy, "safe_": lower}, coverage, thresholds
        )
        extra = {"thresholds": thresholds, "answers": answers, "score": self._score.name}
        extra["calibration"] = self._map.form
        axes = ("coverage", "estimated accuracy")
        return Curve(
            self.name,
            coverage,
            accuracy,
            lower,
            upper,
            *axes,
            self.level,
            "conditional",
            self.assumes,
            extra,
        )


def _along(counts: Array, rate: Array, coverage: Array) -> Array:
    """Mean rate of the most confident share, for each replicate and share; linear within a bin."""
    start = np.zeros((len(counts), 1))
    rows = np.concatenate([start, np.cumsum(counts[:, ::-1], axis=1)], axis=1)
    hits = np.concatenate([start, np.cumsum((counts * rate)[:, ::-1], axis=1)], axis=1)
    goal_rows = coverage * rows[:, -1:]
    # an empty bin repeats a point of the curve, which interpolation passes over
    out = (
        np.stack([np.interp(w, r, h) for w, r, h in zip(goal_rows, rows, hits, strict=True)])
        / goal_rows
    )
    return np.asarray(np.clip(out, 0, 1))
