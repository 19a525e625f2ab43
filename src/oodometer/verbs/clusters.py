"""Clusters in estimates and audits: intervals widened by what dependent rows take from the chance in both samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY
from ..diagnoses import ShiftStatistics
from ..errors import UsageError
from ..inference.betting import SampledRows
from ..inference.clusters import (
    Clusters,
    cells_effect,
    cluster_keys,
    clustered_error,
    clustered_share,
)
from ..intervals import normal_quantile
from ..passes.evaluating import widened
from ..plain import Plain, Strings
from ..predictions import Predictions
from ..results import Estimate, Interval
from ..results.estimation import Headline
from ..store import Source
from ..store.columns import unknown_column

_MOST_ROWS = 200_000  # whose ids are looked at where nobody asked
_FIELDS = (
    "label",
    "correct",
    "prediction",
    "probabilities",
    "logits",
    "confidence",
    "token_logprobs",
    "candidate_scores",
    "votes",
)
Numbered = TypeVar("Numbered", Interval, Estimate)


def cluster_column(
    source: Source, column: str | None, rows: int, fitted: str | None = None
) -> str | None:
    """The column of dependent rows: as asked (`UnknownColumnError` where there is none), else `id` of few rows."""
    if column is not None and not source.holds(column):
        remedy = "name another one with --cluster, or leave it out"
        if fitted is not None:
            remedy = f"rename it with --map theirs={column}, or fit the reference again without --cluster"
        message = f"{source.name}: there is no column {column} of rows that depend on each other"
        raise unknown_column(column, message, source.columns, f"; {remedy}")
    return column or (KEY if rows <= _MOST_ROWS and source.holds(KEY) else None)


def _all_differ(sources: Sequence[Source], column: str) -> bool:
    """Whether every row has a cell of its own, none of which is a numbered repeat; said without reading texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pa.chunked_array([source.keys(column) for source in sources])
    if cells.null_count or pc.count_distinct(cells).as_py() < len(cells):
        return False
    return not pc.any(pc.match_substring(cells, "_epoch_")).as_py()


def keys_of(source: Source, column: str) -> Array:
    """The key of each row's cluster, shape (sample,)."""
    # as a list: for an array of texts pyarrow would import pandas
    return cluster_keys(np.array(source.keys(column).to_pylist(), dtype=object))


@dataclass(frozen=True)
class Side:
    """A reference or a target in clusters (count 0: none), with design effects of the mean, the outputs, and equal
    rows.
    """

    columns: Strings = ()
    column: str = ""
    count: int = 0
    effect: float = 1.0
    outputs: float = 1.0
    sizes: float = 1.0


@dataclass(frozen=True)
class Design:
    """Clusters of a reference and a target, and the accuracy and rows of the reference; ``Design()``: all rows are
    independent, and every number stays as it is.
    """

    reference: Side = field(default_factory=Side)
    target: Side = field(default_factory=Side)
    accuracy: float = 0.0
    rows: int = 1

    @property
    def effects(self) -> tuple[float, float]:
        """Design effects of correctness on the reference, and at the target's own sizes of clusters."""
        reference_side, target_side = self.reference, self.target
        if reference_side.count and target_side.count:
            alike = min((reference_side.effect - 1) / max(reference_side.sizes - 1, 1e-9), 1.0)
            return reference_side.effect, 1 + alike * (target_side.sizes - 1)
        return reference_side.effect, target_side.effect

    def wide(self, number: Numbered, rows: int) -> Numbered:
        """The interval of an estimate for so many target rows, each arm longer by what clusters add."""
        error = clustered_error(self.effects, (self.accuracy, self.rows), (number.value, rows))
        more, value = normal_quantile(number.level) * error, number.value
        lower, upper = (math.hypot(value - end, more) for end in (number.lower, number.upper))
        return (
            replace(number, lower=max(value - lower, 0.0), upper=min(value + upper, 1.0))
            if error
            else number
        )

    def headline(self, headline: Headline, rows: int) -> Headline:
        """The headline with its bands."""
        bands = {name: self.wide(band, rows) for name, band in headline.bands.items()}
        return replace(headline, interval=self.wide(headline.interval, rows), bands=bands)

    def about(self, reference: Plain) -> Plain:
        """What is said of the reference, its accuracy with the interval of clusters."""
        if self.reference.effect <= 1:
            return reference
        numbers = (reference[name] for name in ("accuracy", "lower", "upper", "level", "kind"))
        wide = widened(Interval(*numbers), self.reference.effect)
        return {**reference, "lower": wide.lower, "upper": wide.upper, "kind": wide.kind}

    def said(self) -> list[str]:
        """What is to be said, if anything."""
        both = ((self.reference, "reference"), (self.target, "target"))
        sides = [(side, which) for side, which in both if side.count]
        counts = " and ".join(f"{side.count:,} clusters in the {which}" for side, which in sides)
        columns = " or ".join(sorted({side.column for side, _ in sides}))
        effects = f"design effects {self.effects[0]:.1f} and {self.effects[1]:.1f}"
        text = f"rows of one {columns} depend on each other: intervals are widened for {counts} ({effects})"
        return (
            [f"{text}; the tests behind the kind of shift take rows as independent"]
            if counts
            else []
        )


def side_of(
    sources: Sequence[Source],
    cluster: str | None,
    rows: int,
    level: float,
    statistics: ShiftStatistics | None,
    labelled: bool,
) -> Side:
    """The clusters of a sample, of correctness where ``labelled``, else of the confidence."""
    none = Side(tuple(sources[0].columns))
    clustered = _dependent_rows(sources, cluster, rows)
    if clustered is None:
        return none
    column, keys = clustered
    counts = None if statistics is None else statistics.label_counts
    values, cells = [], []
    for batch in (batch for source in sources for batch in source.batches(fields=_FIELDS)):
        values.append(_correctness(batch) if labelled else _confidence(batch))
        if counts is not None and not (counts.why_not(batch) is None and batch.has_prediction):
            counts = None
        cells.append(np.zeros(len(batch)) if counts is None else counts.cells(batch))
    value = np.concatenate(values)
    finite = np.isfinite(value)
    sums = Clusters.of(keys[finite], value[finite])
    if sums.count < 2:
        return none
    effect = sums.effect(level)
    outputs = effect
    if counts is not None:
        outputs = cells_effect(keys[finite], np.concatenate(cells)[finite])
    return replace(
        none,
        column=column,
        count=sums.count,
        effect=effect,
        outputs=outputs,
        sizes=sums.rows / sums.worth,
    )


def _dependent_rows(
    sources: Sequence[Source], cluster: str | None, rows: int
) -> tuple[str, Array] | None:
    """The column of clusters and the key of each row's; None where there is none, or rows are all apart or all one."""
    columns = [cluster_column(source, cluster, rows) for source in sources]
    if None in columns:
        return None
    column = str(columns[0])
    if _all_differ(sources, column):
        return None
    keys = np.concatenate([keys_of(source, column) for source in sources])
    different = len(np.unique(keys))
    if different == 1 < len(keys) and cluster is not None:
        raise UsageError(
            f"{sources[0].name}: column {column} holds one value in all rows; leave --cluster out"
        )
    return (column, keys) if 1 < different < len(keys) else None


def _correctness(batch: Predictions) -> Array:
    return np.where(batch.verdicts >= 0, batch.verdicts, np.nan)


def _confidence(batch: Predictions) -> Array:
    """A number in [0, 1] a row that goes with being right; 0 where there is none, so that rows of a cluster are one."""
    confidence = batch.confidence if batch.probabilities is None else batch.top.first
    if confidence is not None:
        return np.asarray(confidence, dtype=np.float64)
    return (
        np.zeros(len(batch)) if batch.votes is None else np.asarray((batch.votes > 0).mean(axis=0))
    )


def clustered_labels(
    sampled: SampledRows,
    target: Source,
    cluster: str | None,
    level: float,
    fitted: str | None = None,
) -> tuple[SampledRows, Estimate, str] | None:
    """What labels of dependent rows are worth, the accuracy with its interval, what to say; None without."""
    column = cluster_column(target, cluster, int(sampled.row.max(initial=0)), fitted)
    if column is None:
        return None
    sums = Clusters.of(keys_of(target, column)[sampled.row], sampled.correct)
    if sums.count == sums.rows or (cluster is None and sums.count == 1):
        return None
    if sampled.weighted:
        raise UsageError(
            "labels that --suggest-by confidence drew are of single rows; leave --cluster out"
        )
    labels, value = len(sampled), sums.value
    low, high = clustered_share(sums, labels, value, level)
    estimate = Estimate(
        "clusters",
        value,
        low,
        high,
        level,
        "asymptotic",
        "whole clusters were drawn at random from the target",
        "korn1998",
        rows=labels,
    )
    worth = max(round(labels / sums.effect(level)), 1)
    right = np.arange(worth) < round(value * worth)
    text = f"rows of one {column} depend on each other: {labels:,} labels of {sums.count:,} count as {worth:,}"
    return SampledRows.evenly(sampled.row[:worth], right.astype(np.int8)), estimate, text
