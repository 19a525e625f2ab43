"""What the page draws of the reference: its reliability diagram and its histogram of confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...calibrators.binned_map import count_verdicts
from ...intervals import clopper_pearson
from ...passes.plan import CONFIDENCE_BINS, EstimationPlan, bins_of_confidence
from ...predictions import Predictions

_HISTOGRAM_BINS = 20
_RELIABILITY_BINS = 15


@dataclass(frozen=True)
class ReferenceFigures:
    """The reliability diagram (15 bins of calibrated confidence, exact intervals) and shares of rows in 20 bins."""

    reliability: Mapping[str, Any]
    shares: Array
    score: str

    def confidence(self, target_counts: Array) -> dict[str, Any]:
        """The histogram of confidence on both sides; the target's counts are those of 60 cells."""
        return {
            "edges": np.linspace(0, 1, _HISTOGRAM_BINS + 1),
            "reference": self.shares,
            "target": _shares(target_counts),
            "score": self.score,
        }


def reference_figures(plan: EstimationPlan, record: Predictions, level: float) -> ReferenceFigures | None:
    """The figures of a reference; None where there is no confidence."""
    if plan.confidence is None:
        return None
    calibrated = plan.choice.apply(record)
    values, cell = bins_of_confidence(plan.confidence, calibrated)
    counts, correct = count_verdicts(cell, calibrated.verdicts, CONFIDENCE_BINS)
    total = np.bincount(cell, weights=values, minlength=CONFIDENCE_BINS)
    rows, hits, sums = (c.reshape(_RELIABILITY_BINS, -1).sum(axis=1) for c in (counts, correct, total))
    full = np.flatnonzero(rows)
    ends = np.array([clopper_pearson(int(hits[b]), int(rows[b]), level) for b in full])
    reliability = {
        "confidence": sums[full] / rows[full],
        "accuracy": hits[full] / rows[full],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
        "rows": rows[full],
    }
    return ReferenceFigures(reliability, _shares(counts), plan.confidence.name)


def _shares(counts: Array) -> Array:
    wide = counts.reshape(_HISTOGRAM_BINS, -1).sum(axis=1)
    return np.asarray(wide / wide.sum())
