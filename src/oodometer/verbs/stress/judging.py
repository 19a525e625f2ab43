"""Judging: the metrics of a set of predictions, its estimate without labels, and their spread over several runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ...predictions import Predictions
from ...results import Interval
from ...results.estimation import Estimation, Headline
from ...results.stressing import METRICS, Spread, StressPoint
from ..estimate import estimate
from ..evaluate import evaluate
from .asking import KEY, Answered

__all__ = ["Judge", "Judged", "point"]


@final
@dataclass(frozen=True)
class Judged:
    """What was found of one set of predictions: on all rows, on the common ones, and without labels."""

    metrics: dict[str, Interval]
    common_rows: int
    common: dict[str, Interval]
    headline: Headline
    warnings: tuple[str, ...]


@final
@dataclass(frozen=True)
class Judge:
    """Judges predictions of one run beside its own labelled reference."""

    reference: Predictions
    level: float
    seed: int

    def metrics(self, record: Predictions) -> dict[str, Interval]:
        """Accuracy, Brier and ECE with their intervals, as `evaluate` gives them; empty where no truth is known."""
        if not len(record) or not record.is_labelled or not len(record.known()):
            return {}
        return dict(evaluate(record, metrics=METRICS, level=self.level, seed=self.seed).metrics)

    def estimate(self, record: Predictions) -> Estimation:
        """The estimate from the reference and the predictions alone."""
        return estimate(self.reference, record.without_labels(), level=self.level, seed=self.seed)

    def judged(self, record: Predictions, common: Collection[int]) -> Judged:
        """All of it; rows are matched by their numbers."""
        same = _some(record, common)
        found = self.estimate(record)
        return Judged(self.metrics(record), len(same), self.metrics(same), found.headline, found.warnings)

    def again(self, before: Judged, record: Predictions, common: Collection[int]) -> Judged:
        """The same predictions with other common rows."""
        same = _some(record, common)
        return replace(before, common_rows=len(same), common=self.metrics(same))


def _some(record: Predictions, numbers: Collection[int]) -> Predictions:
    """The rows with these numbers."""
    own = record.columns[KEY].astype(np.int64)
    return record.take(np.isin(own, np.fromiter(numbers, np.int64, len(numbers))))


def point(
    severity: str | None,
    rows: int,
    answered: Sequence[Answered],
    judged: Sequence[Judged],
    *,
    dropped: dict[str, int],
    means: tuple[float | None, float | None] = (None, None),
) -> StressPoint:
    """A point of a curve from the answers of all runs, at least one unless no row could be shifted."""
    if not judged:
        return StressPoint(severity, rows, dropped, *means, (), 0, {}, 0, {})
    first = judged[0]
    return StressPoint(
        severity=severity,
        rows=rows,
        dropped=dropped,
        words=means[0],
        targets=means[1],
        predictions=tuple(one.path for one in answered),
        truncated=answered[0].truncated,
        metrics=first.metrics,
        common_rows=first.common_rows,
        common=first.common,
        spread=_spread(judged, common=False),
        common_spread=_spread(judged, common=True),
        estimate=first.headline,
    )


def _spread(judged: Sequence[Judged], *, common: bool) -> dict[str, Spread]:
    if len(judged) < 2:
        return {}
    found = [one.common if common else one.metrics for one in judged]
    names = [name for name in METRICS if all(name in one for one in found)]
    out = {name: Spread.of([one[name].value for one in found]) for name in names}
    return out if common else out | {"estimate": Spread.of([one.headline.value for one in judged])}
