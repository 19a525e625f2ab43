"""Risk-coverage curve: accuracy of what is answered, over how much is answered, with the threshold that does it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..registry import register
from ..results import Curve
from .ranks import RankMetric, Ranks
from .spread import clopper_pearson_many

_POINTS = 200


def _largest(
    prefix: str, values: Array, target: float, coverage: Array, threshold: Array
) -> Iterator[tuple[str, float | None]]:
    """The largest coverage whose value is at least the target, and its threshold."""
    enough = np.flatnonzero(values >= target)
    yield f"{prefix}coverage", float(coverage[enough[-1]]) if len(enough) else None
    yield f"{prefix}threshold", float(threshold[enough[-1]]) if len(enough) else None


@final
@register("metric")
class RiskCoverageCurve(RankMetric[Curve]):
    """Selective accuracy over coverage: answer a sample if its confidence is at least the threshold.

    x = coverage (share answered), y = accuracy of the answered (risk is 1 - y), at up to ``points`` (200)
    coverages that a threshold can reach: samples of equal confidence are answered together. ``extra`` holds
    ``thresholds``, and ``answers``: for each of the ``target_accuracies`` (0.95) the largest coverage that reaches
    it and its threshold, and the same for the lower end of the band (``safe_coverage``, ``safe_threshold``), None
    where none does. The band is Clopper-Pearson's, exact for each threshold on its own. Source: Geifman and
    El-Yaniv (2017).

    >>> from oodometer import Predictions
    >>> c = RiskCoverageCurve().compute(Predictions.from_confidence([0.9, 0.8, 0.8, 0.1], correct=[1, 1, 0, 0]))
    >>> c.x.tolist(), c.y.round(3).tolist(), c.extra["thresholds"].tolist()
    ([0.25, 0.75, 1.0], [1.0, 0.667, 0.5], [0.9, 0.8, 0.1])
    """

    name = "risk_coverage"
    bigger_is_better = None
    citation = "geifman2017"
    gives = "curve"

    def __init__(self, points: int = _POINTS, target_accuracies: Sequence[float] = (0.95,)) -> None:
        if points < 2:
            raise UsageError(f"expected at least 2 points, got {points}; 200 is usual")
        self.points = points
        self.target_accuracies = tuple(target_accuracies)

    def finish(self, state: Ranks, level: float = 0.95, seed: int = 0) -> Curve:
        """The curve."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        groups = state.groups
        answered = groups.answered
        even = np.linspace(answered[0], groups.rows, self.points)
        at = np.unique(np.minimum(np.searchsorted(answered, even), len(answered) - 1))
        trials = answered[at]
        hits = groups.right[at]
        share = hits / trials
        lower, upper = clopper_pearson_many(hits, trials, level)
        threshold = groups.lowest[at].astype(np.float64)
        ends = {"": share, "safe_": lower}
        answers = [
            {
                "accuracy": target,
                **{
                    key: found
                    for prefix, values in ends.items()
                    for key, found in _largest(prefix, values, target, trials / groups.rows, threshold)
                },
            }
            for target in self.target_accuracies
        ]
        return Curve(
            name=self.name,
            x=trials / groups.rows,
            y=share,
            lower=np.minimum(lower, share),
            upper=np.maximum(upper, share),
            x_name="coverage",
            y_name="accuracy of the answered",
            level=level,
            kind="exact",
            assumes="each threshold on its own",
            extra={"thresholds": threshold, "answers": answers},
        )
