"""PAPE: CBPE whose calibration map is refitted on the reference under the density ratio of the target."""

from __future__ import annotations

import copy
from typing import Self, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..inference.domain_classifier import check_overlap, compare_samples, domain_sample, why_no_domains
from ..inference.row_sample import RowSample
from ..intervals import wilson_from_variance
from ..kernels import LOG_ODDS_BINS, log_odds_bin, pool_adjacent
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from ..scores import Score, natural_confidence
from .base import Estimator, Sums
from .confidence import confidence_bins
from .expected_classes import Expectation, LabelledRows, drawn_by_rates, expected_by_rates, rates_of_rows, rows_like

_FOLDS = 5


@final
@register("estimator")
class PAPE(Estimator):
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
    family = "covariate shift"
    order = 250
    cost = "slow"
    stable = "P(y | x)"
    needs = ("probabilities|confidence",)
    also_reads = ("features",)
    assumes = "P(y | x) is unchanged, and the reference overlaps the target (covariate shift with overlap)"
    citation = "bialek2024"
    heavy = True
    gives_metrics = True
    _labelled: LabelledRows

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        sample: RowSample | None = getattr(self, "_sample", None)
        return super().why_not(record) or (None if sample is None else why_no_domains(sample, record))

    def _fit(self, reference: Predictions) -> None:
        self._score: Score = natural_confidence(reference)
        names = ["predicted", "verdicts"] if reference.has("probabilities") else ["verdicts"]
        self._sample = domain_sample(reference, *names, seed=self.seed)

    def summarize(self, batch: Predictions) -> Sums:
        """Rows in each bin of confidence, their summed confidence, and a bounded sample of the rows."""
        counts = np.bincount(confidence_bins(batch, self._score, 1), minlength=LOG_ODDS_BINS)
        total = float(self._score(batch).sum(dtype=np.float64))
        return Sums(rows=len(batch), counts=counts, confidence=total, sample=domain_sample(batch, seed=self.seed))

    def with_metrics(self, reference: Predictions, own: Predictions) -> Self:
        """A copy that keeps the classes of the sampled reference rows."""
        if not own.has("probabilities"):
            raise NotApplicable("needs `probabilities` for other metrics than the accuracy")
        told = copy.copy(self)
        told._labelled = rows_like(self._sample, own.known())
        return told

    def expect(self, state: Sums, counts: Sums, draws: int) -> Expectation:
        """The target's counts at the rates of the re-weighted reference."""
        found = compare_samples(self._sample, state["sample"])
        warnings = check_overlap(found.effective_rows, found.auc, found.covered)
        rates = rates_of_rows(self._labelled, found.weights)
        expected = expected_by_rates(counts, rates)
        drawn = drawn_by_rates(counts, rates, draws, np.random.default_rng([self.seed, 0x9A9E]))
        return Expectation(expected, drawn, warnings=warnings)

    def finish(self, state: Sums) -> Estimate:
        """Mean of the refitted map over the target."""
        found = compare_samples(self._sample, state["sample"])
        warnings = check_overlap(found.effective_rows, found.auc, found.covered)
        rows, w, right = state["rows"], found.weights, self._sample["verdicts"]
        confidence = self._reference_confidence()
        bins = log_odds_bin(confidence)
        scores = weighted_brier(bins, confidence, right, w)
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
            smooth = (hits * effective + 0.5) / (effective + 1)  # a block without errors is not a certain one
            variance = float(np.sum(np.square(shares) * smooth * (1 - smooth) / effective))
        variance += max(value * (1 - value), 0.0) / rows
        trials = min(found.effective_rows, rows)
        lower, upper = wilson_from_variance(value, variance, trials, self.level)
        details = {
            "calibration": form,
            "cross_validated_brier": scores,
            "effective_rows": found.effective_rows,
            "covered": found.covered,
            "auc": found.auc,
            "p_value": found.p_value,
            "learner": found.learner,
        }
        return self._estimate(state, value, lower, upper, score=self._score.name, details=details, warnings=warnings)

    def _reference_confidence(self) -> Array:
        """Confidence of the sampled reference rows, in the order of the weights; float64."""
        if "predicted" not in self._sample.arrays:
            return self._sample["confidence"].astype(np.float64)
        own = np.take_along_axis(self._sample["probabilities"], self._sample["predicted"][:, None], axis=1)
        return own[:, 0].astype(np.float64)


def weighted_isotonic(bins: Array, verdicts: Array, weights: Array) -> tuple[Array, Array]:
    """Isotonic regression of weighted correctness on the bin of confidence: rate and block number of every bin.

    A bin without reference rows takes the rate between its neighbours' and the block of the one before. Shapes: bins,
    verdicts and weights (sample,); both results (bin,).

    >>> rate, block = weighted_isotonic(np.array([10, 10, 20]), np.array([0, 1, 1]), np.array([3.0, 1.0, 1.0]))
    >>> rate[[0, 10, 15, 20]].tolist(), block[[10, 20]].tolist()
    ([0.25, 0.25, 0.625, 1.0], [0, 1])
    """
    mass = np.bincount(bins, weights=weights, minlength=LOG_ODDS_BINS)
    hits = np.bincount(bins, weights=weights * verdicts, minlength=LOG_ODDS_BINS)
    full, every = np.flatnonzero(mass > 0), np.arange(LOG_ODDS_BINS)
    first, weight, right = pool_adjacent(mass[full], hits[full])
    owner = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(full))))
    block = owner[np.maximum(np.searchsorted(full, every, "right") - 1, 0)]
    return np.interp(every, full, (right / weight)[owner]), block


def weighted_brier(bins: Array, confidence: Array, verdicts: Array, weights: Array) -> dict[str, float]:
    """Weighted five-fold mean of (c - correct)^2: of the confidence ("raw") and of its isotonic map ("pooled")."""
    fold = np.arange(len(bins)) % _FOLDS
    made = np.empty(len(bins))
    for f in range(_FOLDS):
        train = fold != f
        made[~train] = weighted_isotonic(bins[train], verdicts[train], weights[train])[0][bins[~train]]
    total = float(weights.sum())
    return {
        name: float(weights @ np.square(c - verdicts)) / total for name, c in (("raw", confidence), ("pooled", made))
    }
