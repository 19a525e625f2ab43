"""Clusters in estimates and audits: intervals widened by what dependent rows take from the chance in both samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array
from ..audits.keys import KEY
from ..audits.sampling import SampledRows
from ..errors import UnknownColumnError, UsageError, near_names
from ..inference.clusters import Clusters, cluster_keys, clustered_share
from ..intervals import normal_quantile
from ..passes.clustering import widened
from ..predictions import Predictions
from ..results import Estimate, Interval
from ..results.estimation import Estimation, Headline, Part
from ..store import Source

__all__ = ["Design", "cluster_column", "clustered_labels", "design_of", "in_clusters", "keys_of"]

_MOST_ROWS = 200_000  # whose ids are looked at where nobody asked
_FIELDS = ("label", "correct", "prediction", "probabilities", "logits", "confidence", "token_logprobs",
           "candidate_scores", "votes")  # fmt: skip
Numbered = TypeVar("Numbered", Interval, Estimate)


def cluster_column(source: Source, asked: str | None, rows: int) -> str | None:
    """The column of dependent rows: as asked, else `id` where it is there and few enough rows are to be looked at.

    Raises `UnknownColumnError` for a column that is not there.
    """
    if asked is not None and not source.holds(asked):
        near = near_names(asked, source.columns)
        columns = f"its columns are {', '.join(source.columns[:12])}"
        hint = f"did you mean {near[0]}? {columns}" if near else columns
        message = f"{source.name}: there is no column {asked} of rows that depend on each other; {hint}"
        raise UnknownColumnError(asked, message, near[0] if near else None)
    return asked or (KEY if rows <= _MOST_ROWS and source.holds(KEY) else None)


def keys_of(source: Source, column: str) -> Array:
    """The key of each row's cluster, shape (sample,)."""
    return cluster_keys(source.keys(column).to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class Design:
    """Clusters of a reference and a target: design effects, numbers of clusters (0: none), and their columns."""

    effects: tuple[float, float] = (1.0, 1.0)
    clusters: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()


def design_of(
    references: Sequence[Source], target: Source, rows: tuple[int, int], asked: str | None, level: float
) -> Design:
    """The design effects: how much more uncertain a mean over clusters is than one over as many independent rows.

    On the reference that of correctness; on the target the same correlation at its own sizes of clusters, or, where the
    reference has none, that of the confidence (or of the judges' votes; without either all rows of a cluster count as
    one). ``rows`` are those of either. Raises `UnknownColumnError` or `UsageError` for a column that tells none apart.
    """
    effects, clusters, names, alike = [1.0, 1.0], [0, 0], set(), 0.0
    for place, sources in enumerate((references, (target,))):
        if len(sources) != 1:
            continue
        source, own = sources[0], asked
        if place == 0 and asked is not None and not source.holds(asked):
            own = None  # a fitted file keeps no such column
        column = cluster_column(source, own, rows[place])
        if column is None:
            continue
        keys = keys_of(source, column)
        different = len(np.unique(keys))
        if different == 1 < len(keys) and own is not None:
            raise UsageError(f"{source.name}: column {column} holds one value in all rows; leave --cluster out")
        sums = _sums(source, keys, labelled=place == 0) if 1 < different < len(keys) else None
        if sums is None or sums.count < 2:
            continue
        effects[place], clusters[place] = sums.effect(level), sums.count
        if place == 0:
            alike = (effects[0] - 1) / max(sums.rows / sums.worth - 1, 1e-9)
        elif clusters[0]:
            effects[1] = 1 + min(alike, 1.0) * (sums.rows / sums.worth - 1)
        names.add(column)
    return Design((effects[0], effects[1]), (clusters[0], clusters[1]), tuple(sorted(names)))


def in_clusters(found: Estimation, design: Design) -> Estimation:
    """The result with intervals for rows that depend on each other; itself where none do.

    z^2 times the variance (d_S - 1) a (1 - a) / n + (d_T - 1) v (1 - v) / m, d the design effects, a the accuracy on n
    reference rows, v the estimate for m target rows, is added to the square of each arm.
    """
    if not design.columns:
        return found
    rows, effects = (int(found.reference["rows"]), int(found.target["rows"])), design.effects
    accuracy = float(found.reference["accuracy"])
    home = (effects[0] - 1) * accuracy * (1 - accuracy) / rows[0]

    def wide(one: Numbered, count: int) -> Numbered:
        more = normal_quantile(one.level) * math.sqrt(home + (effects[1] - 1) * one.value * (1 - one.value) / count)
        lower, upper = (math.hypot(one.value - end, more) for end in (one.lower, one.upper))
        return replace(one, lower=max(one.value - lower, 0.0), upper=min(one.value + upper, 1.0))

    def headline(one: Headline, count: int) -> Headline:
        bands = {name: wide(band, count) for name, band in one.bands.items()}
        return replace(one, interval=wide(one.interval, count), bands=bands)

    def part(one: Part) -> Part:
        estimates = tuple(wide(e, one.rows) for e in one.estimates)
        return replace(one, headline=headline(one.headline, one.rows), estimates=estimates)

    ends: dict[str, Any] = {}
    if effects[0] > 1:
        own_interval = Interval(
            accuracy, found.reference["lower"], found.reference["upper"], found.reference["level"], "exact"
        )
        ends = widened(own_interval, effects[0]).to_dict()
        ends.pop("value")
    said = " and ".join(
        f"{count:,} clusters in the {which}"
        for count, which in zip(design.clusters, ("reference", "target"), strict=True)
        if count
    )
    return replace(
        found,
        headline=headline(found.headline, rows[1]),
        estimates=tuple(wide(e, rows[1]) for e in found.estimates),
        slices=tuple(map(part, found.slices)),
        chunks=tuple(map(part, found.chunks)),
        assumptions={
            name: one if one.interval is None else replace(one, interval=wide(one.interval, rows[1]))
            for name, one in found.assumptions.items()
        },
        metrics={name: replace(one, headline=headline(one.headline, rows[1])) for name, one in found.metrics.items()},
        reference={**found.reference, **ends},
        warnings=(
            *found.warnings,
            f"rows of one {' or '.join(design.columns)} depend on each other: intervals are widened for {said} (design "
            f"effects {effects[0]:.1f} and {effects[1]:.1f})",
        ),
    )


def _sums(source: Source, keys: Array, labelled: bool) -> Clusters | None:
    """Correctness of labelled rows, or the confidence of all, by cluster; None without any."""
    value = np.concatenate(
        [
            np.where(b.verdicts >= 0, b.verdicts, np.nan) if labelled else _confidence(b)
            for b in source.batches(fields=_FIELDS)
        ]
    )
    known = np.isfinite(value)
    return Clusters.of(keys[known], value[known]) if known.any() else None


def _confidence(batch: Predictions) -> Array:
    """A number in [0, 1] a row that goes with being right; 0 where there is none, so that rows of a cluster are one."""
    if batch.probabilities is not None:
        return np.asarray(batch.top.first, dtype=np.float64)
    if batch.confidence is not None:
        return np.asarray(batch.confidence, dtype=np.float64)
    return np.zeros(len(batch)) if batch.votes is None else np.asarray((batch.votes > 0).mean(axis=0))


def clustered_labels(
    sampled: SampledRows, target: Source, asked: str | None, level: float
) -> tuple[SampledRows, Estimate, str] | None:
    """What labels of rows that depend on each other are worth; None where no two labelled rows are of one cluster.

    Gives as many labels as they are worth, of the same share of right ones (for tests and beliefs), the audited
    accuracy with the interval of clusters, and what is to be said. Raises `UsageError` for suggested rows, whose
    chances know of no clusters.
    """
    column = cluster_column(target, asked, int(sampled.row.max(initial=0)))
    if column is None:
        return None
    sums = Clusters.of(keys_of(target, column)[sampled.row], sampled.correct)
    if sums.count == sums.rows or (asked is None and sums.count == 1):
        return None
    if sampled.weighted:
        raise UsageError("labels that --suggest-by confidence drew are of single rows; leave --cluster out")
    labels, value = len(sampled), sums.value
    low, high = clustered_share(sums, labels, value, level)
    estimate = Estimate(
        "clusters", value, low, high, level, "asymptotic", "whole clusters were drawn at random from the target",
        "korn1998", rows=labels,
    )  # fmt: skip
    worth = max(round(labels / sums.effect(level)), 1)
    right = np.arange(worth) < round(value * worth)
    said = f"rows of one {column} depend on each other: {labels:,} labels of {sums.count:,} are worth {worth:,}"
    return SampledRows.evenly(sampled.row[:worth], right.astype(np.int8)), estimate, said
