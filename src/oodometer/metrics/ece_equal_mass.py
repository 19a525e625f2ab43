"""Equal-mass ECE: expected calibration error over bins that hold the same number of samples."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..registry import register
from .base import Measure, checked_pair
from .calibration_bins import BINS
from .consistency import NULL_REPLICATES, calibrated_labels, population_error
from .ranks import Groups, RankMetric, Ranks
from .spread import generator, poisson_counts

_REPLICATES = 1000
_CHUNKS = 512  # of neighbouring ranks, within which confidences are taken to be alike


def equal_mass_calibration_error(confidence: Any, correct: Any, bins: int = BINS) -> float:
    """Sum over bins of n_b / n |accuracy_b - confidence_b|, the samples cut by rank into bins of near equal size.

    Bin b holds the ranks from floor(b n / bins) to floor((b + 1) n / bins); with fewer samples than bins, one
    sample each. Equal confidences that a cut falls among are shared out in expectation, so the order of rows
    does not matter. Arguments and errors as in `expected_calibration_error`. Source: Nguyen and O'Connor
    (2015).

    >>> round(equal_mass_calibration_error([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 0], bins=2), 3)  # (|.6 - 1| + |1.4 - 1|) / 4
    0.2
    """
    sizes, gaps, _ = _bins(Ranks.of(*checked_pair(confidence, correct)).groups, bins)
    return float(np.abs(gaps).sum() / sizes.sum())


def _bins(groups: Groups, bins: int) -> tuple[Array, Array, Array]:
    """Samples, sum of (confidence - correctness) and correct samples of each bin, least confident first."""
    n = groups.rows
    used = min(bins, n)
    edges = np.floor(np.arange(used + 1) * (n / used) + 1e-9)
    edges[-1] = n
    sizes, correct = groups.sizes[::-1], groups.correct[::-1]
    at = np.concatenate([[0.0], np.cumsum(sizes)])
    # Between the ends of a group of ties the expected sums are straight lines.
    forecasts = np.interp(edges, at, np.concatenate([[0.0], np.cumsum(sizes * groups.confidence[::-1])]))
    hits = np.interp(edges, at, np.concatenate([[0.0], np.cumsum(correct)]))
    return np.diff(edges), np.diff(forecasts) - np.diff(hits), np.diff(hits)


def _calibrated_errors(groups: Groups, bins: int, rng: np.random.Generator) -> tuple[float, Array]:
    """The error on groups of ranks, and that of labels drawn as their confidences say, shape (replicate,)."""
    sizes, gaps, hits = _bins(groups, bins)
    edges = np.concatenate([[0.0], np.cumsum(sizes)])
    own, confidence = groups.sizes[::-1], groups.confidence[::-1]
    drawn = calibrated_labels(own, confidence, NULL_REPLICATES, rng)
    at = np.concatenate([[0.0], np.cumsum(own)])
    sums = np.concatenate([np.zeros((len(drawn), 1)), np.cumsum(drawn, axis=1)], axis=1)
    # straight lines between the ends of groups, as `_bins` draws them
    last = np.clip(np.searchsorted(at, edges), 1, len(own))
    part = (edges - at[last - 1]) / own[last - 1]
    hits_at = sums[:, last - 1] + part * (sums[:, last] - sums[:, last - 1])
    errors: Array = np.abs(gaps + hits - np.diff(hits_at, axis=1)).sum(axis=1) / groups.rows
    return float(np.abs(gaps).sum()) / groups.rows, errors


@final
@register("metric")
class EqualMassCalibrationError(RankMetric[Measure]):
    """ECE over ``bins`` (15) bins of equal mass, with an interval for the error of the population, as that of `ece`.

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.2, 0.4, 0.6, 0.8], correct=[0, 1, 1, 0])
    >>> round(EqualMassCalibrationError(bins=2).compute(r).value, 3)
    0.2
    """

    name = "ece_equal_mass"
    bigger_is_better = False
    citation = "nguyen2015"
    selective = False

    def __init__(self, bins: int = BINS) -> None:
        if bins < 1:
            raise UsageError(f"expected at least one bin, got {bins}; 15 is usual")
        self.bins = bins

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        sizes, gaps, hits = _bins(groups, self.bins)
        value = float(np.abs(gaps).sum()) / groups.rows
        confidence = (gaps + hits) / sizes
        counts = np.maximum(np.stack([sizes - hits, hits], axis=1), 0)
        rng = generator(seed, self.name)
        draws = poisson_counts(counts, _REPLICATES, rng)
        replicated = draws[:, :, 0] * confidence + draws[:, :, 1] * (confidence - 1)
        rows = np.maximum(draws.sum(axis=(1, 2)), 1)
        extras: dict[str, Any] = {"bins": len(sizes)}
        if not state.exact:
            # Only the groups that a cut goes through can be shared out wrongly, between two bins each.
            cuts = groups.rows - np.cumsum(sizes)[:-1]
            at = np.searchsorted(groups.before, cuts, side="right") - 1
            lost = groups.disorder + groups.sizes * (0.0 if groups.widths is None else groups.widths) / 4
            extras["rounding"] = 2 * float(lost[at].sum()) / groups.rows
        observed, null = _calibrated_errors(groups.joined(_CHUNKS), self.bins, rng)
        replicates = np.abs(replicated).sum(axis=1) / rows
        counts = (groups.rows, groups.rarer)
        return population_error(value, replicates, observed, null, counts, level, **extras)
