"""Past periods, whose truth is known: in files of their own, in a store of past runs, left out of the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..diagnoses import ShiftStatistics
from ..headline.headline import confidence_middle
from ..headline.label_posterior import LabelEvidence
from ..headline.natural_shifts import NaturalShifts, ShiftSigns
from ..headline.own_history import Kind, PastPeriod, reading_of, truth_by_labels
from ..histories.labelled_parts import LabelledPart
from ..passes.plan import fit_plan
from ..passes.slicing import Chunks, RowChunks, TimeChunks
from ..predictions import Predictions
from ..registry import those
from ..results import Estimate
from ..results.values import counted
from ..store import Source


def known_truth(
    states: Mapping[str, Any], evidence: LabelEvidence | None
) -> tuple[float, float] | None:
    """The accuracy of a period by its labels, with its standard error; None where they tell of themselves alone.

    With some labels it is `truth_by_labels`, which holds for rows picked by their confidence, too, and not for rows
    picked by their outcome.
    """
    if evidence is None or not evidence.labelled or evidence.by_outcome:
        return None
    right = evidence.hits / evidence.labels
    if evidence.complete:
        return right, 0.0
    labelled = states.get("labelled")
    if labelled is not None and labelled["confidence"][:, 1:].any():  # else there is no confidence
        label_counts = labelled["confidence"][0]
        return truth_by_labels(
            label_counts, labelled["confidence"].sum(axis=0), right * float(label_counts.sum())
        )
    if evidence.not_random is not None:
        return None
    rate = (evidence.hits + 1) / (evidence.labels + 2)
    unlabelled_share = 1 - evidence.labelled / evidence.rows
    return right, math.sqrt(rate * (1 - rate) / evidence.labels * unlabelled_share)


def places_in_time(
    chunks: Chunks | None, keys: Sequence[Any], file: int, files: int
) -> list[float]:
    """Where periods of a file of the past lie in time, in periods: chunks of time by the calendar, the others one after
    another and before the target, which begins at 0. ``file``: which of so many ``files``.
    """
    if chunks is not None and not isinstance(chunks, RowChunks):
        return [float(number) for _, number in keys]
    return [float(file - files + (i + 1) / (len(keys) + 1)) for i in range(len(keys))]


def periods_of_store(
    parts: Sequence[LabelledPart],
    chunks: Chunks | None,
    unit: str,
    target: str,
    prior: NaturalShifts,
) -> list[PastPeriod]:
    """The periods that a store knows: chunks of time where the target is cut so, else whole targets, but for this one,
    in the order in which they were first seen.
    """
    timed = isinstance(chunks, TimeChunks)
    kind = "chunk" if timed else "target"
    periods = [part for part in parts if part.kind == kind and (timed or part.name != target)]
    out = []
    for index, part in enumerate(sorted(periods, key=lambda part: part.first)):
        at = float(index)
        if isinstance(chunks, TimeChunks):
            at = float(chunks.at(np.array([_instant(part.begins)]))[0])
        estimates = [
            Estimate(name, value, value, value, 0.9, "empirical", "", "")
            for name, value in part.estimates.items()
        ]
        middle = confidence_middle({estimate.method: estimate for estimate in estimates})
        if middle is None:
            continue
        signs = ShiftSigns(middle, part.source, part.reference_rows, part.rows, moved=part.moved)
        reading = reading_of(signs, estimates, prior)
        out.append(
            PastPeriod(
                part.name,
                at,
                reading,
                part.truth,
                part.error,
                part.rows,
                unit=unit if timed else "",
            )
        )
    return out


def _instant(text: str | None) -> np.datetime64:
    """An instant in ISO 8601, with an offset from UTC or without one."""
    when = datetime.fromisoformat(str(text))
    if when.tzinfo is not None:
        when = when.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(when, "us")


_PERIODS = 10  # that a reference with times is cut into, of equal rows
_LEAST_ROWS = 50  # of a period or group that is left out
_LEAST_GROUPS = 3
_MOST_GROUPS = 30  # the largest ones
_MOST_ROWS = 10_000  # of the reference that are looked at


def periods_left_out(
    record: Predictions,
    prior: NaturalShifts,
    methods: Sequence[str] | None,
    level: float,
    seed: int,
) -> list[PastPeriod]:
    """Each tenth of a reference along its times, as what is learnt from the others sees it; places count up to -1.
    Empty without times, or with too few rows.
    """
    if record.time is None or record.rows < _PERIODS * _LEAST_ROWS:
        return []
    record = _thinned(record)
    time = present(record.time).astype("datetime64[us]").astype(np.int64)
    edges = np.unique(np.quantile(time, np.linspace(0, 1, _PERIODS + 1)[1:-1], method="lower"))
    cell = np.searchsorted(edges, time, side="left")
    pieces = [np.flatnonzero(cell == number) for number in range(len(edges) + 1)]
    pieces = [rows for rows in pieces if len(rows) >= _LEAST_ROWS]
    places = [(f"{i + 1} of {len(pieces)}", float(i - len(pieces))) for i in range(len(pieces))]
    return _left_out(record, pieces, places, "inside the reference", prior, methods, level, seed)


def groups_left_out(
    record: Predictions,
    names: Sequence[str],
    places: Sequence[Array],
    prior: NaturalShifts,
    methods: Sequence[str] | None,
    level: float,
    seed: int,
) -> list[PastPeriod]:
    """Each group of a reference, by its name and the rows of it, as what is learnt from the others sees it; groups of
    few rows are left aside. Empty with fewer than three groups.
    """
    share = min(1.0, _MOST_ROWS / max(record.rows, 1))
    groups = [
        (
            name,
            rows[np.linspace(0, len(rows) - 1, max(round(share * len(rows)), 1)).astype(np.intp)],
        )
        for name, rows in zip(names, places, strict=True)
    ]
    large = [pair for pair in groups if len(pair[1]) >= _LEAST_ROWS]
    large = sorted(large, key=lambda pair: -len(pair[1]))[:_MOST_GROUPS]
    if len(large) < _LEAST_GROUPS:
        return []
    record = record.take(np.concatenate([rows for _, rows in groups]))
    ends = dict(
        zip((name for name, _ in groups), np.cumsum([len(rows) for _, rows in groups]), strict=True)
    )
    pieces = [np.arange(ends[name] - len(rows), ends[name]) for name, rows in large]
    at_once = [(name, 0.0) for name, _ in large]
    return _left_out(
        record, pieces, at_once, "groups of the reference", prior, methods, level, seed
    )


def distance_in_time(record: Predictions, when: np.datetime64 | None) -> tuple[float, float] | None:
    """How far a time lies behind those of a reference, in tenths of its span and in spans of it; None: unknown."""
    if record.time is None or when is None:
        return None
    first, last = record.time.min(), record.time.max()
    span = float((last - first) / np.timedelta64(1, "s"))
    if span <= 0:
        return None
    gap = max(float((when - last) / np.timedelta64(1, "s")), 0.0) / span
    return gap * _PERIODS, gap


def middle_time(target: Source) -> np.datetime64 | None:
    """The middle of the times in the first rows of a target; None without times."""
    if not target.holds("time"):
        return None
    batch = next(target.batches(fields=["time"]), None)
    if batch is None or batch.time is None or not batch.rows:
        return None
    return np.datetime64(np.sort(batch.time)[batch.rows // 2])


def _thinned(record: Predictions) -> Predictions:
    """At most 10,000 rows, evenly from a record that lies in the order of its content."""
    if record.rows <= _MOST_ROWS:
        return record
    return record.take(np.linspace(0, record.rows - 1, _MOST_ROWS).astype(np.intp))


def _left_out(
    record: Predictions,
    pieces: Sequence[Array],
    places: Sequence[tuple[str, float]],
    kind: Kind,
    prior: NaturalShifts,
    names: Sequence[str] | None,
    level: float,
    seed: int,
) -> list[PastPeriod]:
    """What is learnt from all other rows, asked about each piece; of the methods ``names`` (None: all)."""
    methods = [
        name
        for name in those("estimator", lambda cls: cls.traits.in_middle)
        if names is None or name in names
    ]
    if len(pieces) < _LEAST_GROUPS or not methods:
        return []
    out = []
    for (name, at), rows in zip(places, pieces, strict=True):
        mask = np.ones(record.rows, dtype=bool)
        mask[rows] = False
        rest, piece = record.take(np.flatnonzero(mask)), record.take(rows)
        plan, _ = fit_plan(rest, methods, level=level, seed=seed)
        statistics = ShiftStatistics().fit(plan.choice.apply(rest))
        calibrated = plan.choice.apply(piece)
        estimates = [
            method.finish(method.summarize(calibrated)) for method in plan.methods.values()
        ]
        if not estimates:
            return []
        moved = statistics.finish(statistics.summarize(calibrated)).get("moved")
        by_name = {estimate.method: estimate for estimate in estimates}
        signs = ShiftSigns(
            estimate=present(confidence_middle(by_name)),
            source=rest.accuracy,
            reference_rows=rest.rows,
            rows=piece.rows,
            moved=moved,
        )
        reading = reading_of(signs, estimates, prior)
        out.append(PastPeriod(name, at, reading, piece.accuracy, labelled=piece.rows, kind=kind))
    return out


def said_of_past(left_out: Sequence[str]) -> list[str]:
    """What is to be said of periods that were given as history and cannot be used; most often nothing."""
    if not left_out:
        return []
    names = ", ".join(left_out[:4]) + (
        f" and {len(left_out) - 4} more" if len(left_out) > 4 else ""
    )
    whose = f"{counted(len(left_out), 'period')} of the history {'tells' if len(left_out) == 1 else 'tell'} nothing"
    return [f"{whose} ({names}): no labels, or labels picked by their outcome"]
