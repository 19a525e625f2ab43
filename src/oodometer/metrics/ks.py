"""KS: Kolmogorov-Smirnov calibration error, the largest gap between summed confidence and summed correctness."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..registry import register
from .base import Measure, checked_pair
from .consistency import NULL_REPLICATES, calibrated_labels, population_error
from .ranks import Groups, RankMetric, Ranks
from .spread import generator, poisson_counts

_REPLICATES = 500
_CHUNKS = 256


def ks_calibration_error(confidence: Any, correct: Any) -> float:
    """max over k of |sum of (confidence - correct) over the k least confident samples| / n.

    Ties are taken together, which is their expectation over all orders. Arguments and errors as in
    `expected_calibration_error`. Source: Gupta et al. (2021), equation 5.

    >>> round(ks_calibration_error([0.2, 0.6, 0.9], [1, 0, 1]), 4)  # sums -0.8, -0.2, -0.3
    0.2667
    """
    return _largest_gap(Ranks.of(*checked_pair(confidence, correct)).groups)


def _largest_gap(groups: Groups) -> float:
    gaps = (groups.sizes * groups.confidence - groups.correct)[::-1]
    return float(np.abs(np.cumsum(gaps)).max()) / groups.rows


def _calibrated_errors(counts: Array, sums: Array, rng: np.random.Generator) -> tuple[float, Array]:
    """The error on chunks of ranks, (chunk, verdict), and that of labels drawn as they say, shape (replicate,)."""
    size, total = counts.sum(axis=1), sums.sum(axis=1)
    drawn = calibrated_labels(size, total / np.maximum(size, 1), NULL_REPLICATES, rng)
    observed = float(np.abs(np.cumsum(total - counts[:, 1])).max()) / float(size.sum())
    errors: Array = np.abs(np.cumsum(total - drawn, axis=1)).max(axis=1) / size.sum()
    return observed, errors


@final
@register("metric")
class KolmogorovSmirnovError(RankMetric[Measure]):
    """KS calibration error (Gupta et al. 2021), with an interval for the error of the population.

    A Poisson bootstrap over 256 chunks of neighbouring ranks; the lower end is 0 where a calibrated model might show as
    large an error (`consistency`).

    >>> from oodometer import Predictions
    >>> k = KolmogorovSmirnovError().compute(Predictions.from_confidence([0.2, 0.6, 0.9], correct=[1, 0, 1]))
    >>> round(k.value, 4)
    0.2667
    """

    name = "ks"
    bigger_is_better = False
    citation = "gupta2021"
    selective = False

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Error and interval; ``rounding`` bounds what a histogram of very many rows may have lost."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        value = _largest_gap(groups)
        counts, sums = groups.chunks(_CHUNKS)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0) - np.array([0.0, 1.0])
        rng = generator(seed, self.name)
        draws = poisson_counts(counts[::-1], _REPLICATES, rng)
        gaps = np.cumsum((draws * means[::-1]).sum(axis=2), axis=1)
        replicates: Array = np.abs(gaps).max(axis=1) / np.maximum(draws.sum(axis=(1, 2)), 1)
        observed, null = _calibrated_errors(counts[::-1], sums[::-1], rng)
        extras: dict[str, Any] = {}
        if groups.widths is not None:
            lost = groups.disorder + groups.sizes * groups.widths / 4
            extras["rounding"] = float(lost.max()) / groups.rows
        sizes = (groups.rows, groups.rarer)
        return population_error(value, replicates, observed, null, sizes, level, **extras)
