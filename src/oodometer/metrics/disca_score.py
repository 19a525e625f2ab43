"""The metric `disca`: the score with its interval, its terms, and its value at other tolerances and on other grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..errors import NotApplicable
from ..registry import register
from ..results import plain
from .base import Measure, measure
from .disca import (
    GRIDS,
    LEAST,
    STEPS,
    TOLERANCES,
    WEIGHTS,
    Disca,
    check_defined,
    check_options,
    disca_terms,
    parts_of,
)
from .groups import Groups
from .ranks import RankMetric, Ranks
from .resampling import MOST_BINS, REPLICATES, RankBins, interval_of, rank_bins, resampled
from .spread import FEW_ROWS

_SHOWN = (1.0, *TOLERANCES, 0.5)
_WORK = 4_000_000  # cells times replicates where every sample is a point of the grid


def _beyond(ends: tuple[float, float], groups: Groups, share: float) -> tuple[float, float]:
    """The ends moved out where the lowest confidence stands for a or b with the weight ``share``."""
    if not share:
        return ends
    found = rank_bins(groups).at_ranks(np.array([[max(groups.rows - 4, 1), groups.rows]])).confidence[0]
    higher, lowest = float(found[0]), float(found[1])
    apart = share * (higher / lowest - 1)
    return ends[0] - apart / higher, ends[1] + apart / lowest


def _row(parts: Disca) -> dict[str, Any]:
    return {
        "tolerance": parts.tolerance,
        "value": parts.value,
        "b": parts.b,
        "coverage": parts.b_coverage,
        "accuracy": parts.b_accuracy,
        "never_below": parts.never_below,
    }


def _capped(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends of a confidence: never above 1."""
    return ends[0], min(ends[1], 1.0)


@final
@register("metric")
class DiscaScore(RankMetric[Measure]):
    """DiSCA (see `disca`) with its parts as extras, at tolerances 1.00, 0.95, ..., 0.50 and on the other grids.

    The interval comes from a seeded bootstrap and is empirical: the score jumps where a single error moves a or b,
    so no theorem stands behind it. It speaks of samples of the same size, since a first error is met sooner in a
    larger sample. Larger is better, but only among models on one scale of confidence: 1 / a and 1 / b grow as
    confidences shrink, so that a bad model which is never sure may beat a good one which always is.

    Source: Mishra, Arunkumar and Baral (2022).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7, 0.6], correct=[1, 0, 1, 0])
    >>> round(DiscaScore(tolerance=0.6).compute(r).value, 4)
    0.2778
    """

    name = "disca"
    bigger_is_better = True
    citation = "mishra2022"
    bounds = (-np.inf, np.inf)

    def __init__(
        self,
        tolerance: float = 0.95,
        weights: Sequence[float] = WEIGHTS,
        grid: str = "coverage",
        steps: int = STEPS,
    ) -> None:
        self.weights = check_options((tolerance,), weights, grid, steps)
        self.tolerance, self.grid, self.steps = tolerance, grid, steps

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Measure:
        """Score, interval and parts."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        tolerances, (x, y, z) = (self.tolerance, *_SHOWN), self.weights
        bins = rank_bins(groups)
        terms = disca_terms(bins, self.grid, self.steps, tolerances)
        check_defined(terms, groups)
        again = disca_terms(self._replicates(groups, seed), self.grid, self.steps, tolerances)
        values, draws = terms.values(self.weights)[0], again.values(self.weights)
        ends = [interval_of(float(v), d, level) for v, d in zip(values, draws.T, strict=True)]
        ends = [
            _beyond(ends[i], groups, x * terms.never_wrong[0] + y * terms.never_below[0, i])
            for i in range(len(tolerances))
        ]
        if groups.rows < FEW_ROWS:
            ends = [self._few_rows(one, groups) for one in ends]
        parts = parts_of(terms, 0, self.tolerance, self.weights)
        return measure(
            parts.value,
            ends[0],
            level,
            "empirical",
            **{k: v for k, v in vars(parts).items() if k != "value"},
            grid=self.grid,
            steps=self.steps,
            terms={"first": x / parts.a, "second": y / parts.b, "third": -z * parts.penalty},
            intervals={
                "a": _capped(interval_of(parts.a, again.a, level)),
                "b": _capped(interval_of(parts.b, again.b[:, 0], level)),
                "fluctuations": interval_of(parts.fluctuations, again.fluctuations, level),
                "penalty": interval_of(parts.penalty, again.penalty, level),
            },
            by_tolerance=[
                {**_row(parts_of(terms, i, t, self.weights)), "lower": ends[i][0], "upper": ends[i][1]}
                for i, t in enumerate(_SHOWN, 1)
            ],
            by_grid=self._on_other_grids(bins, parts.value),
        )

    def _few_rows(self, ends: tuple[float, float], groups: Groups) -> tuple[float, float]:
        """Ends for so few rows that resampling shows little.

        Downwards a = b = 1 and only the surest row is wrong; upwards nothing is wrong and the lowest confidence is
        half of the one seen.
        """
        x, y, z = self.weights
        surest = RankBins(
            groups.answered[None], np.ones((1, len(groups.answered))), groups.highest, groups.lowest, False
        )
        lowest = float(groups.lowest[groups.lowest > 0][-1])
        cost = z * float(disca_terms(surest, self.grid, self.steps, (1.0,)).penalty[0])
        return min(ends[0], x + y - cost), max(ends[1], 2 * (x + y) / max(lowest, LEAST))

    def _replicates(self, groups: Groups, seed: int) -> RankBins:
        """Replicates that the grid can be laid over: where every sample is a point, no samples are joined."""
        if self.grid != "samples":
            return resampled(groups, seed)
        most = len(groups.answered)
        return resampled(groups, seed, max(most, MOST_BINS), int(np.clip(_WORK // most, 20, REPLICATES)))

    def _on_other_grids(self, bins: RankBins, value: float) -> dict[str, float | None]:
        out: dict[str, float | None] = {}
        for grid in GRIDS:
            if grid == self.grid:
                out[grid] = value
                continue
            terms = disca_terms(bins, grid, self.steps, (self.tolerance,))
            out[grid] = plain(float(terms.values(self.weights)[0, 0]))
        return out
