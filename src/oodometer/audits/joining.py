"""Joining: which row of the target each row of a file of labels speaks of, by an id, by its number, by its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, UnknownColumnError, near_names
from ..predictions import Predictions
from ..store import Source
from ..store.spreadsheets import same_cell

__all__ = ["KEY", "by_position", "joined_truth", "matched_rows"]

KEY = "id"


def matched_rows(
    labels: Source, target: Source, rows: int | None, number: Array | None = None, key: str | None = None
) -> Array | None:
    """The target row, from 0, of each row of labels; None where their places alone tell.

    With ``key``, or where both hold `id`, rows are joined by it, and `row` has to agree. Else ``number``, the column
    `row`, tells. Raises `InputError` for an id that is missing, twice, or not in the target, for a number that is no
    target row, and where the labels have ids that the target lacks; `UsageError` for a key that a file lacks.

    >>> from oodometer.store import as_source
    >>> labels = as_source({"id": ["c", "a"], "label": [1, 0]})
    >>> matched_rows(labels, as_source({"id": ["a", "b", "c"], "prediction": [0, 1, 1]}), 3).tolist()
    [2, 0]
    """
    name = KEY if key is None else key
    for source in (labels, target):
        if key is not None and not source.holds(key):
            near = near_names(key, source.columns)
            meant = f"did you mean {near[0]}? " if near else ""
            raise UnknownColumnError(
                key,
                f"{source.name}: there is no column {key} to join labels by; {meant}its columns are "
                f"{', '.join(source.columns[:12])}",
                near[0] if near else None,
            )
    if labels.holds(name) and target.holds(name):
        if number is not None and (sure := _confirmed(labels, target, name, number)) is not None:
            return sure
        found = _joined(labels, target, name)
        if number is not None and not np.array_equal(number, found):
            at = int(np.argmax(number != found))
            expected = f"{found[at]}, the row of this {name}"
            raise _fault(expected, f"{number[at]:g}", at, "row", labels, f"drop row or {name}")
        return found
    if number is not None:
        return None if rows is None else _row_numbers(number, rows, labels)
    if labels.holds(name):
        raise InputError(
            f"a target with the column {name}, by which these labels are told apart",
            file=labels.path,
            got=f"none in {target.name}",
            column=name,
            remedy=f"write {name} beside the predictions, or drop it here if the rows are in the target's order",
        )
    return None


def by_position(labels: Source, target: Source, key: str | None = None) -> str | None:
    """A line for labels that were joined by their places although the target could tell better; None otherwise."""
    named = target.holds(KEY) and not labels.holds(KEY) and not labels.holds("row") and key is None
    return (
        f"{labels.name}: labels were joined by position; with a column {KEY} they are joined by it" if named else None
    )


def joined_truth(labels: Source, target: Source, key: str | None = None) -> Predictions:
    """`label` and `correct` of every target row, unknown where the labels do not speak of it.

    Labels without a key and without row numbers stay as they are, one for each target row in its order.

    >>> from oodometer.store import as_source
    >>> goal = as_source({"prediction": [0, 1, 1]})
    >>> labels = as_source({"row": [2], "label": [1]}, extra_columns=["row"], axes=goal.axes)
    >>> joined_truth(labels, goal).label.tolist()
    [-1, -1, 1]
    """
    record = labels.read(["label", "correct"])
    number = numbers_of_column(record, "row", labels.path) if "row" in record.columns else None
    by_key = target.holds(name := KEY if key is None else key) and labels.holds(name)
    rows = None if number is None and not by_key else _count(target)
    found = matched_rows(labels, target, rows, number, key)
    if found is None or rows is None:
        return record
    if len(np.unique(found)) < len(found):
        at = _repeated(found)
        raise _fault("each target row once", f"{found[at]} twice", at, "row", labels, "drop one of them")

    def spread(values: Any) -> Any:
        if values is None:
            return None
        out = np.full(rows, -1, dtype=values.dtype)
        out[found] = values
        return out

    return replace(record, rows=rows, label=spread(record.label), correct=spread(record.correct), columns={}, _cache={})


def numbers_of_column(record: Predictions, name: str, file: str | None) -> Array:
    """A further column as float64, NaN where it is null."""
    cells = record.columns[name]
    if cells.dtype.kind == "O":
        cells = np.array([np.nan if c is None or c == "" else _pointed(c) for c in cells.tolist()], dtype=object)
    try:
        out: Array = cells.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "numbers", got="something else", remedy="write plain numbers", file=file, column=name
        ) from None
    return out


def _pointed(cell: Any) -> Any:
    """A number that was written with a decimal comma, as some spreadsheets do."""
    return cell.replace(",", ".") if isinstance(cell, str) else cell


def _fault(expected: str, got: str, at: int, column: str, source: Source, remedy: str) -> InputError:
    """The error about one cell, its row counted from 0."""
    return InputError(expected, got=got, file=source.path, row=at + 1, column=column, remedy=remedy)


def _count(target: Source) -> int:
    """Rows of the target, by a pass over one field where nothing else tells."""
    if target.rows is not None:
        return target.rows
    return sum(map(len, target.batches(target.fields[:1])))


def _row_numbers(number: Array, rows: int, labels: Source) -> Array:
    bad = ~(np.isfinite(number) & (number >= 0) & (number < rows) & (number == np.floor(number)))
    if bad.any():
        at = int(np.argmax(bad))
        expected, remedy = (
            f"the number of a target row from 0 to {rows - 1}",
            "count the target's rows from 0",
        )
        raise _fault(expected, f"{number[at]:g}", at, "row", labels, remedy)
    return number.astype(np.int64)


def _repeated(values: Array) -> int:
    """Position of the first value that has come before."""
    _, first = np.unique(values, return_index=True)
    return int(np.setdiff1d(np.arange(len(values)), first)[0])


def _confirmed(labels: Source, target: Source, key: str, number: Array) -> Array | None:
    """Rows by their numbers, where each id is the one there, as a spreadsheet may have changed it; None where one is
    that of another row, `InputError` where one is unknown.

    A sheet turns 007 into 7 and rounds long numbers: ids alone would then be lost, or be those of other rows.
    """
    given, known = labels.keys(key), target.keys(key)
    if not np.isin(number, np.arange(len(known))).all():
        return None
    rows = number.astype(np.int64)
    pairs = zip(known.take(rows).to_pylist(), given.to_pylist(), strict=True)
    other = next((at for at, pair in enumerate(pairs) if not same_cell(*pair)), None)
    if other is None:
        return rows
    if given[other].as_py() in known.to_pylist():
        return None
    expected = f"{known[rows[other]].as_py()!r}, the {key} of target row {rows[other]}"
    remedy = f"write it so, or drop the column {key}: `row` tells which row is meant"
    raise _fault(expected, repr(given[other].as_py()), other, key, labels, remedy)


def _joined(labels: Source, target: Source, key: str) -> Array:
    import pyarrow.compute as pc

    given, known = labels.keys(key), target.keys(key)
    for source, ids in ((labels, given), (target, known)):
        if ids.null_count:
            at = int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
            remedy = "give every row one, or drop the column"
            raise _fault(f"an {key} in every row", "null", at, key, source, remedy)
        first = pc.index_in(ids, value_set=ids).to_numpy()
        again = first != np.arange(len(ids))
        if again.any():
            at = int(np.argmax(again))
            raise InputError(
                f"each {key} once",
                got=f"{ids[at].as_py()!r} in rows {first[at] + 1} and {at + 1}",
                file=source.path,
                column=key,
                remedy="drop one of the rows, or join by another column with --key",
            )
    found = pc.index_in(given, value_set=known)
    if found.null_count:
        at = int(np.argmax(found.is_null().to_numpy(zero_copy_only=False)))
        remedy = "drop what the target does not hold, or write ids alike"
        raise _fault(f"an {key} of the target", repr(given[at].as_py()), at, key, labels, remedy)
    out: Array = found.to_numpy().astype(np.int64)
    return out
