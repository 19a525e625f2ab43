"""Clustering: intervals of an evaluation whose rows depend on each other, from states of groups of whole clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from .. import plugins
from ..errors import NotApplicable
from ..inference.clusters import Clusters, clustered_share, effective_rows, student_quantile
from ..intervals import clopper_pearson
from ..metrics import Metric
from ..results import Interval
from .guarding import merged, unless_failed

_TABLES = ("confusion", "per_class")  # others prove things that hold of independent rows alone
N = TypeVar("N", bound=Interval)


def clusters_said(clusters: Clusters, column: str, asked: bool) -> str:
    """Which rows are taken to depend on each other, in a sentence."""
    many = f"{'more than ' if clusters.bits else ''}{clusters.count:,}"
    if asked:
        return f"rows of one {column} depend on each other: intervals are those of {many} clusters"
    return (
        f"ids repeat, as with epochs of a question: intervals are those of {many} ids, not of independent rows; "
        "--cluster COLUMN names another column of rows that depend on each other"
    )


def widened(made: N, effect: float, bounds: tuple[float, float] = (0.0, 1.0)) -> N:
    """An interval with arms that are sqrt(effect) times as long, inside its bounds; at 0 and 1 as of rows / effect.

    >>> widened(Interval(0.5, 0.4, 0.6, 0.95, "exact"), 4.0).upper
    0.7
    >>> round(widened(Interval(1.0, 0.9, 1.0, 0.95, "exact"), 2.0).lower, 2)
    0.81
    """
    effect = max(effect, 1.0)
    low, high = (made.value + (end - made.value) * math.sqrt(effect) for end in (made.lower, made.upper))
    if made.kind == "exact" and bounds == (0.0, 1.0):
        low = made.lower**effect if made.value == 1 else low
        high = 1 - (1 - made.upper) ** effect if made.value == 0 else high
    return replace(
        made,
        lower=min(max(low, bounds[0]), made.value),
        upper=max(min(high, bounds[1]), made.value),
        kind="asymptotic" if made.kind == "exact" else made.kind,
    )


@dataclass
class GroupedClusters:
    """What chance among clusters of rows does to the numbers of an evaluation.

    clusters : correctness by cluster. groups : states of the metrics on groups of whole clusters, with their ``rows``.
    makers : name of a state -> the metric that merges it. rows : all that are labelled.
    """

    clusters: Clusters
    groups: Sequence[Mapping[str, Any]]
    makers: Mapping[str, Metric[Any, Any]]
    rows: int
    level: float
    seed: int
    _effects: dict[str, float] = field(default_factory=dict)

    @cached_property
    def effect(self) -> float:
        """Design effect of the accuracy."""
        return self.clusters.effect(self.level)

    @cached_property
    def worth(self) -> float:
        """Kish's number of groups."""
        sizes = np.array([group["rows"] for group in self.groups], dtype=np.float64)
        return float(sizes.sum() ** 2 / np.square(sizes).sum())

    @cached_property
    def _without(self) -> dict[str, list[Any]]:
        """Name of a state -> the states of all rows but those of each group."""
        out = {}
        for name, maker in self.makers.items():
            join = partial(merged, maker.name, maker, maker.merge)
            each = [group[name] for group in self.groups]
            ahead, behind = list(accumulate(each[:-1], join)), list(accumulate(each[:0:-1], join))[::-1]
            out[name] = [behind[0], *(join(a, b) for a, b in zip(ahead, behind[1:], strict=False)), ahead[-1]]
        return out

    def _variance(self, metric: Metric[Any, Any], value: float) -> float:
        """The jackknife's, (G - 1) / G sum_g (value without group g - value)^2; NaN where a group is all there is."""
        if len(self.groups) < 2 or metric.state_key not in self.makers:
            return math.nan
        try:
            states = self._without[metric.state_key]
            left = [metric.finish(unless_failed(one), self.level, self.seed).value for one in states]
        except plugins.FAILURES:
            return math.nan
        return float((len(left) - 1) / len(left) * np.square(np.array(left) - value).sum())

    def of_clusters(self, metric: Metric[Any, Any], made: Any) -> Any:
        """The number with the interval of clusters, or the curve or table with ends that are as much wider as the
        accuracy's; `NotApplicable` for a table that proves what holds of independent rows alone.
        """
        if metric.gives == "curve":
            ends = ((end - made.y) * math.sqrt(self.effect) + made.y for end in (made.lower, made.upper))
            lower, upper = (np.clip(end, 0, 1) for end in ends)
            return replace(made, lower=lower, upper=upper, kind="asymptotic")
        if metric.gives == "table":
            if metric.name not in _TABLES:
                raise NotApplicable("its proofs and intervals hold of independent rows alone, not of clusters")
            return _each(made, lambda one: widened(one, self.effect))
        out = self._of_number(metric, made)
        self._effects[metric.name] = (out.width / made.width) ** 2 if made.width else 1.0
        return out

    def _of_number(self, metric: Metric[Any, Any], made: N) -> N:
        value = made.value
        if metric.name == "accuracy":
            ends = clustered_share(self.clusters, self.rows, value, self.level)
            return replace(made, lower=ends[0], upper=ends[1], kind="asymptotic")
        variance = self._variance(metric, value)
        if math.isnan(variance):
            return widened(made, self.effect, metric.bounds)
        clusters = min(self.worth, self.clusters.worth)
        if made.kind == "exact" and metric.bounds == (0.0, 1.0):
            rows = effective_rows(self.rows, clusters, value * (1 - value), variance, self.level)
            low, high = clopper_pearson(value * rows, rows, self.level)
            return replace(made, lower=min(low, made.lower), upper=max(high, made.upper), kind="asymptotic")
        half = student_quantile(self.level, clusters - 1) * math.sqrt(variance)
        effect = (2 * half / made.width) ** 2 if variance and made.width else self.rows / clusters
        return widened(made, effect, metric.bounds)

    def of_slice(self, metric: Metric[Any, Any], made: N) -> N:
        """The number of a slice, its interval as much wider as that of all rows is."""
        return widened(made, self._effects.get(metric.name, self.effect), metric.bounds)


def _each(told: Any, change: Any) -> Any:
    """Plain data with every interval in it changed."""
    if isinstance(told, Interval):
        return change(told)
    if isinstance(told, Mapping):
        return {name: _each(one, change) for name, one in told.items()}
    return [_each(one, change) for one in told] if isinstance(told, (list, tuple)) else told
