"""Judging: the verdicts of judges and the labels of people, read from columns of one file or from several."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..audits.joining import check_length, matched_rows
from ..audits.judges import (
    LEAST_TESTED,
    Bias,
    Counts,
    Judged,
    biases,
    changes,
    corrections,
    rates_of,
    rows_to_label,
)
from ..audits.judges_result import JudgeAudit
from ..audits.suggestion import Suggestion
from ..audits.worksheet import Worksheet, write_worksheet
from ..classes import is_null, verdict_number
from ..errors import InputError, UsageError
from ..plain import Json, Plain, Strings
from ..results import Estimate, percent
from ..results.values import counted
from ..store import Source, as_source
from ..store.cells import coded_cells, flat_list, plain
from ..store.columns import unknown_column
from ..store.record_table import as_table
from ..store.source import ReaderSource
from .clusters import cluster_column, keys_of
from .opening import renamings_of

# p-values of "agreement by chance or more" below which a column means the opposite, and below which it is named
_OPPOSITE, _DOUBTFUL = 0.001, 0.05
_MOST_LEVELS = 12  # of a text that is looked at as a group
_MOST_GROUPS = 50
# Columns that are no trait of a row but another opinion of it.
_VERDICT = re.compile(
    "pass|judge|human|person|annotat|correct|label|verdict|score|grade|rating|vote", re.IGNORECASE
)
WIDTHS = (0.2, 0.15, 0.1, 0.05, 0.02)  # of the scale
_LONG = 24  # letters of a text, on average, from which on its length is looked at


@dataclass
class Verdicts:
    """One judge's verdicts, or people's labels: a number a row, NaN for none; cells as they are written, by number;
    lowest and highest grade, None where the cells are words, or 0 and 1.
    """

    name: str
    values: Array
    written: dict[float, str]
    scale: tuple[float, float] | None


def opened(data: Any, options: Any, file: str = "predictions") -> Source:
    """A source of any columns, whether or not one of them is a field of a predictions file; ``file``: which it is."""
    if isinstance(data, ReaderSource):
        return data
    source = as_source(
        data,
        mapping=renamings_of(options.mapping, file) or None,
        where=options.where,
        timezone=options.timezone,
        as_far_as_known=True,
    )
    for error in source.unread.values():
        raise error
    if isinstance(source, ReaderSource):
        return source
    # a record has no columns
    return opened(as_table(source.read()), replace(options, where=None), file)


def column_of(source: Source, spec: str, option: str) -> tuple[str, str | None]:
    """The column that is named, and after a sign = the word in it that means yes; `UnknownColumnError` for none."""
    name, _, word = spec.rpartition("=")
    if source.holds(spec) or not name:
        name, word = spec, ""
    if not source.holds(name):
        raise unknown_column(
            name, f"{source.name}: there is no column {name} for --{option}", source.columns
        )
    return name, word or None


def verdicts(
    source: Source, spec: str, option: str, scale: Sequence[float] | None
) -> list[Verdicts]:
    """The verdicts in a column, or of each judge in a column of lists; `InputError` for cells that are none."""
    name, word = column_of(source, spec, option)
    fault = partial(InputError, file=source.path, column=name)
    width, first, values = 1, 0, list[Array]()
    written: dict[float, str] = {}
    for batch in source.raw([name]):
        array = plain(batch.column(0))
        if "list" in str(array.type):
            array, width = flat_list(array, name, None if not values else width)
        codes, distinct = coded_cells(array)
        cells = distinct.to_pylist()
        numbers = [verdict_number(cell, word) for cell in cells]
        if None in numbers:
            code = numbers.index(None)
            row = (first + int(np.argmax(codes == code))) // width + 1
            expected = "a verdict (pass or fail, yes or no, true or false, 1 or 0, A or B or tie) or a grade"
            remedy = f"name the word that means yes, --{option} {shlex.quote(f'{name}=WORD')}, or another column"
            raise fault(expected, got=repr(cells[code])[:60], row=row, remedy=remedy)
        for number, cell in zip(numbers, cells, strict=True):
            text = str(cell).lower() if isinstance(cell, bool) else str(cell)
            written.setdefault(float(number or 0), text)
        values.append(np.array([*numbers, np.nan], dtype=float)[codes])
        first += len(codes)
    all_values = np.concatenate(values)
    grades = _ends_of_grades(all_values)
    if grades is not None and scale is not None:
        off = np.flatnonzero((all_values < scale[0]) | (all_values > scale[1]))
        if len(off):
            expected, got = f"grades from {scale[0]:g} to {scale[1]:g}", f"{all_values[off[0]]:g}"
            ends = f"{grades[0]:g},{grades[1]:g}"
            remedy = f"name the ends of the scale, --scale {ends}, or mend the cell"
            raise fault(expected, got=got, row=int(off[0]) // width + 1, remedy=remedy)
    names = [f"{name}[{j}]" for j in range(width)] if width > 1 else [name]
    return [
        Verdicts(n, scores, written, grades)
        for n, scores in zip(names, all_values.reshape(-1, width).T, strict=True)
    ]


def _ends_of_grades(values: Array) -> tuple[float, float] | None:
    """The lowest and the highest grade; None where all are verdicts: 0, 1 and, for a tie, 0.5."""
    finite = values[np.isfinite(values)]
    if np.isin(finite, (0, 0.5, 1)).all():
        return None
    return float(finite.min()), float(finite.max())


def _cells(source: Source, name: str) -> list[Any]:
    return [
        cell
        for batch in source.raw([name])
        for cell in plain(batch.column(0), coded=False).to_pylist()
    ]


def labels_file(data: Any, target: Source, options: Any, rows: int) -> tuple[Verdicts, Array]:
    """Labels in a file of their own, and the row of the target that each is of."""
    source = opened(data, options, "labels")
    columns = [name for name in source.own_columns if name not in (options.key, "id", "row")]
    named = [name for name in ("correct", "label", "score") if source.holds(name)]
    if not named and len(columns) != 1:
        got = ", ".join(source.columns[:12])
        remedy = (
            "call the column of people's verdicts `correct`, or rename it with --map theirs=correct"
        )
        raise InputError("a column `correct`", got=got, file=source.path, remedy=remedy)
    (labels,) = verdicts(source, (named or columns)[0], "labels", options.scale)
    number = np.array(_cells(source, "row"), dtype=float) if source.holds("row") else None
    row = matched_rows(source, target, rows, number, options.key).row
    if row is None:
        check_length(len(labels.values), rows, f"rows of {target.name}", source.path, labels.name)
        row = np.arange(rows)
    return labels, row


@dataclass
class Read:
    """What was read of a run: source, verdicts and labels from 0 to 1, the source's row of each, the scale of the
    labels, and what to say. ``compared``: names of two models, of whose difference all is, second minus first.
    """

    source: Source
    judged: Judged
    at: Array
    judges: list[Verdicts]
    scale: tuple[float, float] | None
    label: str
    notes: list[str]
    compared: Strings = ()


def read_judged(data: Any, options: Any, earlier: Source | None = None) -> Read:
    """Verdicts on every row of a source and labels on some; `InputError` where they cannot be what they are called.

    ``options`` hold ``judge`` (columns), ``labels`` (columns, files or data), ``scale``, ``key``, ``mapping``,
    ``where`` and ``timezone``.
    """
    source = opened(data, options)
    judges = [
        column
        for spec in options.judge
        for column in verdicts(source, spec, "judge", options.scale)
    ]
    rows = len(judges[0].values)
    if len({column.name for column in judges}) < len(judges):
        raise UsageError("--judge names one column twice; leave one out")
    truth, people = _labels_of(source, judges, options, earlier)
    scale, notes = _scale_of([*judges, *people], options.scale)

    def unit(values: Array, graded: bool) -> Array:
        return (values - scale[0]) / (scale[1] - scale[0]) if graded else values

    graded = any(column.scale is not None for column in people)
    matrix = np.stack([unit(column.values, column.scale is not None) for column in judges])
    truth = unit(truth, graded)
    row = np.flatnonzero(np.isfinite(truth))
    judged = Judged(matrix, row, truth[row], tuple(column.name for column in judges))
    label = next((labels.name for labels in people), "")
    for j, judge in enumerate(judges):
        _check_judge(judged, j, judge, label, source.path)
        notes += _notes_on(judge.name, matrix[j], bool(len(row)))
        notes += _said_of_chance(judged, j, judge, source.name)
    return Read(source, judged, np.arange(rows), judges, scale if graded else None, label, notes)


def _labels_of(
    source: Source, judges: Sequence[Verdicts], options: Any, earlier: Source | None
) -> tuple[Array, list[Verdicts]]:
    """People's labels of the rows, NaN for none, and where they came from; `InputError` where two disagree."""
    rows = len(judges[0].values)
    truth, people = np.full(rows, np.nan), list[Verdicts]()
    for entry in options.labels if isinstance(options.labels, list) else [options.labels]:
        is_name = isinstance(entry, str)
        of_other = is_name and earlier is not None and earlier.holds(entry)
        if entry is None or (of_other and not source.holds(entry)):
            continue  # a column of the earlier run alone
        if is_name and not (os.path.exists(entry) and not source.holds(entry)):
            (labels,), row = verdicts(source, entry, "labels", options.scale), np.arange(rows)
            if labels.name in [judge.name for judge in judges]:
                raise UsageError(
                    f"--judge and --labels both name {labels.name}; name the column of people's labels"
                )
        else:
            labels, row = labels_file(entry, source, options, rows)
        mask = (row >= 0) & np.isfinite(labels.values)
        at, new = row[mask], labels.values[mask]
        if (clash := np.isfinite(truth[at]) & (truth[at] != new)).any():
            raise InputError(
                f"one label for row {int(at[clash][0]) + 1}",
                got="two that disagree",
                file=source.path,
                column=labels.name,
                remedy="drop the wrong one",
            )
        truth[at] = new
        people.append(labels)
    return truth, people


def _scale_of(
    columns: Sequence[Verdicts], named: Sequence[float] | None
) -> tuple[tuple[float, float], list[str]]:
    """Lowest and highest grade: as ``named``, else of all columns, 0 and 1 where these hold them; and what to say."""
    if named is not None:
        low, high = named
        return _not_empty(low, high), []
    grades = [column.scale for column in columns if column.scale is not None]
    low = min((lowest for lowest, _ in grades), default=0.0)
    high = max((highest for _, highest in grades), default=1.0)
    if 0 <= low <= high <= 1:
        return (0.0, 1.0), []
    text = f"grades lie from {low:g} to {high:g}, which is taken for the whole scale"
    note = f"{text}; where more is possible, name it: --scale LOW,HIGH"
    return _not_empty(low, high), [note]


def _not_empty(low: float, high: float) -> tuple[float, float]:
    return float(low), float(high if high > low else low + 1)


def _check_judge(
    judged: Judged, number: int, judge: Verdicts, label: str, file: str | None
) -> None:
    """Raise `InputError` for a judge with hardly any verdicts, or with verdicts that mean the opposite."""
    rows, labelled = judged.rows, len(judged.row)
    filled = int(np.isfinite(judged.verdicts[number]).sum())
    if not filled or (label and filled < labelled == rows):
        remedy = "name another column with --judge"
        if filled:
            remedy = f"if they are swapped, --judge '{label}' --labels '{judge.name}'"
        raise InputError(
            "a verdict in every row",
            got=f"{filled} of {rows}",
            file=file,
            column=judge.name,
            remedy=remedy,
        )
    if labelled and judged.below_chance(number) < _OPPOSITE:
        remedy = "if its best grade is the lowest, turn the column round"
        if judged.binary:
            passes = shlex.quote(f"{judge.name}={judge.written.get(0.0, 'WORD')}")
            remedy = f"if it means the opposite, name the word that passes: --judge {passes}"
        agrees = percent(float((judged.scores[number][judged.row] == judged.truth).mean()), 0)
        raise InputError(
            f"verdicts that agree with {label or 'the labels'} more often than chance",
            got=f"agreement in {agrees} of {counted(labelled, 'labelled row')}, less than chance",
            file=file,
            column=judge.name,
            remedy=remedy,
        )


def _notes_on(name: str, verdict: Array, labelled: bool) -> list[str]:
    """What to say of a judge without a verdict in some rows, or with the same in all."""
    notes, filled = [], verdict[np.isfinite(verdict)]
    if missing := len(verdict) - len(filled):
        notes.append(
            f"{name} holds no verdict in {counted(missing, 'row')}, which are looked at apart"
        )
    if labelled and (filled == filled[0]).all():
        says = "yes to" if filled[0] == 1 else "no to" if filled[0] == 0 else "the same of"
        notes.append(
            f"{name} says {says} every row: it corrects nothing, and the labels speak alone"
        )
    return notes


def _said_of_chance(judged: Judged, number: int, judge: Verdicts, file: str) -> list[str]:
    """A warning of a judge that agrees with people less often than chance would, though it may be by luck."""
    p = judged.below_chance(number)
    if p >= _DOUBTFUL:
        return []
    text = f"{file}: {judge.name} agrees with people less often than chance would (p = {p:.2g})"
    return [
        f"{text}: it is worse than no judge, or means the opposite; look at rows that people labelled"
    ]


def columns_beside(read: Read, options: Any) -> dict[str, Array]:
    """What the judges may be biased by, of the labelled rows: numbers, groups of up to 12 values, lengths of texts."""
    source, out = read.source, dict[str, Array]()
    taken = {read.label, options.key, options.cluster, "id", "row", *judges_columns(read.judged)}
    fields = [name for name in ("input", "output", "group") if source.holds(name)]
    for name in dict.fromkeys((*source.own_columns, *fields)):
        if name in taken or _VERDICT.search(name):
            continue
        cells = _cells(source, name)
        trait = _trait([cells[row] for row in read.at[read.judged.row]])
        if trait is not None:
            what, values = trait
            out[f"{what}{name}"] = values
    return out


def _trait(cells: Sequence[Any]) -> tuple[str, Array] | None:
    """A column of labelled rows as a trait, and what of it that is; None where it is none."""
    texts = [None if is_null(cell) or cell == "" else str(cell) for cell in cells]
    different = {*texts} - {None}
    if not different or any(isinstance(cell, (list, dict, bytes)) for cell in cells):
        return None
    numbers = _as_numbers(cells)
    if numbers is not None and len(np.unique(numbers[np.isfinite(numbers)])) > 2:
        return "", numbers
    if len(different) <= _MOST_LEVELS:
        return "", np.array(texts, dtype=object)
    lengths = np.array([np.nan if is_null(cell) else float(len(str(cell))) for cell in cells])
    if numbers is None and lengths[lengths > 0].mean() >= _LONG:
        return "length of ", lengths
    return None


def _as_numbers(cells: Sequence[Any]) -> Array | None:
    """Cells as numbers, NaN for an empty one; None where one is something else."""
    try:
        return np.array([np.nan if is_null(cell) or cell == "" else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return None


def audit_judges(options: Any) -> JudgeAudit:
    """The audit of one file by its judges; beside an earlier one, whether they changed. ``options`` as `audit` has."""
    earlier = None if options.target is None else opened(options.reference, options, "reference")
    last = (
        (options.reference, "reference") if options.target is None else (options.target, "target")
    )
    data = opened(last[0], options, last[1])
    read = read_judged(data, options, earlier)
    judged, labels = read.judged, len(read.judged.row)
    if not labels and not options.suggest:
        remedy = f"draw rows to label with --suggest {min(50, judged.rows)} --out 'rows.html'"
        if options.target is not None:
            remedy = f"carry the judges' error rates over with `oodometer estimate` and the same words, or {remedy}"
        why = "no row has people's verdict; name their column with --labels COLUMN, or"
        raise UsageError(f"{read.source.name}: {why} {remedy}")
    changed: tuple[Bias, ...] = ()
    before = None
    if earlier is not None:
        before = read_judged(earlier, options)
        if not (before.judged.binary and judged.binary and len(before.judged.row) and labels):
            why = "changes of a judge show on labels of yes or no in both files"
            raise UsageError(f"{before.source.name}: {why}; name them with --labels")
        changed = changes(before.judged, judged)
    suggestion = _suggest(read, options) if options.suggest else None
    result = replace(audited(read, options, options.by), changed=changed, suggestion=suggestion)
    return result if before is None else replace(result, reference={"name": before.source.name})


def _suggest(read: Read, options: Any) -> Suggestion:
    """Rows to label next, written to ``out`` without what the judges say."""
    judged, count = read.judged, options.suggest
    free = judged.rows - len(judged.row)
    if not 0 < count <= free:
        raise UsageError(
            f"expected from 1 to {free} rows to suggest (unlabelled ones), got {count}"
        )
    row = rows_to_label(judged, count, options.seed)
    suggestion = Suggestion(row, row * 0, np.full(count, 1 / free), np.ones(count), 1.0)
    if options.out is not None:
        sheet = Worksheet.of(suggestion, read.source, predicted=None, key=options.key)
        table, secret = sheet.picked.table, {read.label, *judges_columns(judged)}
        blinded = table.drop_columns([name for name in table.column_names if name in secret])
        sheet = replace(sheet, picked=replace(sheet.picked, table=blinded))
        question = options.question or "Is the answer right?"
        write_worksheet(sheet, options.out, title=Path(read.source.name).name, question=question)
    return suggestion


@dataclass(frozen=True)
class _Corrected:
    """The rate that people would find, by all methods, and what is known of it; nothing without labels."""

    counts: Counts
    intervals: tuple[Estimate, ...] = ()
    not_given: Strings = ()
    effective_labels: float | None = None
    widths: tuple[Plain, ...] = ()
    warnings: Strings = ()

    @property
    def estimate(self) -> Estimate | None:
        """The interval to believe."""
        return self.intervals[0] if self.intervals else None

    @property
    def label_only(self) -> Estimate | None:
        """The interval of labels alone."""
        return next(
            (interval for interval in self.intervals if interval.method == "labels-alone"), None
        )


def _corrected(read: Read, options: Any) -> _Corrected:
    """The rate of labelled rows."""
    level, judged = options.level, read.judged
    labels, rows = len(judged.row), judged.rows
    low, high = read.scale or (0.0, 1.0)
    column = cluster_column(read.source, options.cluster, rows)
    keys = None if column is None else keys_of(read.source, column)[read.at[judged.row]]
    clusters = labels if keys is None else len(np.unique(keys))
    counts = Counts.of(judged, judged.cells, level, keys)
    alone = Counts.of(judged, np.zeros(rows, dtype=np.int64), level, keys)
    intervals, not_given = corrections(
        judged, counts, alone, level, options.seed, clusters < labels
    )
    warnings = []
    if judged.selected is not None:
        warnings.append(_said_of_selected(judged, counts))
    if labels < min(LEAST_TESTED, rows):
        warnings.append(f"only {counted(labels, 'label')}: the interval is wide")
    if clusters < labels:
        warnings.append(
            f"rows of one {column} depend on each other: {labels:,} labels are of {clusters:,} of them"
        )
    worth = alone.labels_for(intervals[0].upper - intervals[0].lower, level) or rows
    unit = (high - low) / (2 if read.compared else 1)
    plans = [(width * unit, width * unit / (high - low)) for width in WIDTHS if labels < rows]
    return _Corrected(
        counts,
        intervals=tuple(
            replace(
                interval,
                value=low + (high - low) * interval.value,
                lower=low + (high - low) * interval.lower,
                upper=low + (high - low) * interval.upper,
            )
            for interval in intervals
        ),
        not_given=tuple(not_given),
        effective_labels=float(worth if len(counts.sizes) > 1 else labels),
        widths=tuple(
            {
                "width": width,
                "labels": counts.labels_for(share, level),
                "alone": alone.labels_for(share, level),
            }
            for width, share in plans
        ),
        warnings=tuple(warnings),
    )


def _said_of_selected(judged: Judged, counts: Counts) -> str:
    """The warning that labelled rows are no random sample."""
    text = f"the labelled rows are no random sample: {judged.selected}"
    empty = float(counts.sizes[counts.labels == 0].sum()) / judged.rows
    if empty:
        text += f"; {percent(empty)} of the rows are of a verdict without any label"
    count = max(20, len(judged.row) // 2)
    return f"{text}; draw some of the others with --suggest {count} --out 'rows.html'"


def audited(read: Read, options: Any, by: str | None) -> JudgeAudit:
    """The audit of what was read; ``by`` names a column whose groups are looked at apart."""
    level, seed, judged = options.level, options.seed, read.judged
    labels = len(judged.row)
    if labels:
        corrected = _corrected(read, options)
    else:
        corrected = _Corrected(Counts.of(judged, judged.cells, level))
    bias = biases(judged, columns_beside(read, options)) if labels >= 2 * LEAST_TESTED else ()
    verdicts_only = labels and np.isin(judged.truth, (0, 1)).all()
    groups = _groups(read, by, level, read.scale or (0.0, 1.0)) if labels and by is not None else ()
    rates = rates_of(judged, corrected.counts, judged.cells, level, seed)
    words = [judge.written.get(1.0, "") for judge in read.judges]
    return JudgeAudit(
        labels=labels,
        rows=judged.rows,
        headline=None,  # type: ignore[arg-type]
        estimate=corrected.estimate,
        label_only=corrected.label_only,
        intervals=corrected.intervals,
        effective_labels=corrected.effective_labels,
        p_value=None,
        level=level,
        seed=seed,
        warnings=(*read.notes, *corrected.warnings),
        target={"name": read.source.name},
        correct=int(judged.truth.sum()) if verdicts_only else None,
        not_random=judged.selected if labels else None,
        judges=tuple(replace(rate, yes=word) for rate, word in zip(rates, words, strict=True)),
        bias=bias,
        groups=tuple(groups),
        labels_for_width=corrected.widths,
        scale=read.scale,
        label=read.label or "people's labels",
        compared=read.compared,
        not_given=corrected.not_given,
    )


def judges_columns(judged: Judged) -> list[str]:
    """Columns with verdicts, which who labels must not see."""
    return [name.partition("[")[0] for name in judged.names]


def _groups(read: Read, by: str, level: float, scale: tuple[float, float]) -> Iterator[Json]:
    """The corrected rate of each value of a column, largest first."""
    name, _ = column_of(read.source, by, "by")
    cells = np.array(list(map(str, _cells(read.source, name))))
    values, at, times = np.unique(cells[read.at], return_inverse=True, return_counts=True)
    for i in np.argsort(-times, kind="stable")[:_MOST_GROUPS]:
        part = read.judged.part(at == i)
        out: Json = {
            "group": str(values[i]),
            "rows": int(times[i]),
            "labels": len(part.row),
        }
        if len(part.row):
            ends = Counts.of(part, part.cells, level).interval(level)
            value, lower, upper = (scale[0] + (scale[1] - scale[0]) * end for end in ends)
            out |= {
                "value": value,
                "lower": lower,
                "upper": upper,
                "level": level,
                "kind": "asymptotic",
            }
        yield out
