"""Rows for judges: what plain files say of inputs, outputs, gold outputs and correctness, read as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError, MissingColumnsError, near_names
from ...predictions import Predictions
from ...store import RecordSource, Source, as_source
from ...store.columns import Layout
from ..opening import Opener


def squeezed(text: str) -> str:
    """The text with one space in the place of each run of white space, none at the ends.

    >>> squeezed("  a   b ")
    'a b'
    """
    return " ".join(text.split())


@dataclass(frozen=True, eq=False)
class TextRows:
    """One file's rows.

    name : of the file. record : the fields and further columns that were asked for. inputs : texts. outputs, golds :
    texts, None where a cell is empty or null; None as a whole where there is no such column. correct : int8, shape
    (sample,), 1, 0, or -1 where unknown. columns : all that the file has, by its own names. theirs : our name of a
    column -> the file's, where it was renamed.
    """

    name: str
    record: Predictions
    inputs: list[str]
    outputs: list[str | None] | None
    golds: list[str | None] | None
    correct: Array
    columns: tuple[str, ...] = ()
    theirs: Mapping[str, str] = field(default_factory=dict)

    def error(self, row: int, expected: str, got: str, remedy: str, column: str) -> InputError:
        """An error that names this file and a row, counted here from 0."""
        named = f"{self.theirs[column]} ({column})" if column in self.theirs else column
        return InputError(expected, got=got, remedy=remedy, file=self.record.source, row=row + 1, column=named)

    def lacks(self, expected: str, *columns: str, why: str = "") -> InputError:
        """An error that says which columns are missing, which there are, and how to rename them."""
        return _lacks(expected, self.columns, columns, self.record.source, why)

    @property
    def short_name(self) -> str:
        """The name of the file without its folder."""
        return Path(self.name).name

    @property
    def equal(self) -> Array:
        """Whether output and gold are the same, int8, shape (sample,): 1, 0, or -1 where there is no gold.

        Runs of white space count as one space. An output that is absent is not the gold one.
        """
        if self.golds is None:
            return np.full(len(self.inputs), -1, dtype=np.int8)
        outputs: Sequence[str | None] = self.outputs or [None] * len(self.inputs)
        found = [
            -1 if gold is None else int(output is not None and squeezed(output) == squeezed(gold))
            for output, gold in zip(outputs, self.golds, strict=True)
        ]
        return np.array(found, dtype=np.int8)


def read_texts(
    data: Any,
    opener: Opener,
    mapping: Mapping[str, str] | None,
    *,
    everything: bool = False,
    needs: Sequence[str] = ("input", "output"),
) -> TextRows:
    """Read the rows of a file, frame, mapping of arrays or record.

    ``everything`` also reads all other fields and columns, to be written again. The opener holds the same renamings as
    ``mapping``; ``needs`` are columns that the work needs, named where the file has none of them. Raises `InputError`
    for a file without the column ``input``, for an empty cell in it or in ``gold``, and for a cell that is no text.
    """
    try:
        source = opener.open(data)
    except MissingColumnsError as error:  # it speaks of labels and probabilities, which nobody needs here
        raise _lacks(f"columns {_listed(needs)}", (error.got or "").split(", "), needs, error.file) from None
    renamed = {theirs: ours for theirs, ours in (mapping or {}).items() if theirs in source.columns}
    if "input" not in source.fields:
        opener.check()  # a mistyped renaming says more
        raise _lacks("a column input", source.columns, ("input",), source.path)
    golds = _gold(data, source, renamed)
    if everything:
        if not isinstance(source, RecordSource):
            source = opener.open(data, extra_columns=_others(source, renamed))
        record = source.read(source.fields)
    else:
        record = source.read([f for f in ("input", "output", "correct") if f in source.fields])
    if golds is not None:
        columns = {c: v for c, v in record.columns.items() if renamed.get(c, c) != "gold"}
        record = replace(record, columns={**columns, "gold": _objects(golds)}, _cache={})
    assert record.input is not None
    theirs = {ours: name for name, ours in renamed.items() if name != ours}
    rows = TextRows(source.name, record, [], None, golds, np.zeros(0, dtype=np.int8), tuple(source.columns), theirs)
    inputs = record.input.tolist()
    _check_texts(rows, inputs, "input", filled=True)
    outputs = None if record.output is None else record.output.tolist()
    for column, texts in (("output", outputs), ("gold", golds)):
        if texts is not None:
            _check_texts(rows, texts, column)
    for row, gold in enumerate(golds or ()):  # null is unknown; no output is like an empty one, which would be wrong
        if gold is not None and not gold.strip():
            raise rows.error(row, "a gold output", "an empty one", "drop the row or give the gold output", "gold")
    correct = record.correct
    if correct is None:
        correct = _by_label(record)
    unknown = np.full(len(record), -1, dtype=np.int8)
    return replace(rows, inputs=inputs, outputs=outputs, correct=unknown if correct is None else correct)


def _by_label(record: Predictions) -> Array | None:
    """Correctness from `label` and a predicted class, where there are both."""
    return record.verdicts if record.label is not None and record.has_prediction else None


def _lacks(expected: str, given: Sequence[str], wanted: Sequence[str], file: str | None, why: str = "") -> InputError:
    """The error for columns that a file does not have; those that look like them are proposed.

    >>> print(_lacks("a column input", ("Input", "output"), ("input",), "a.jsonl"))
    a.jsonl: expected a column input, got Input, output; name it with --map Input=input
    """
    meant = {ours: near_names(ours, given) for ours in wanted}
    named = " ".join(f"--map {(meant[ours] or ['theirs'])[0]}={ours}" for ours in wanted)
    remedy = f"{why}name {'it' if len(wanted) == 1 else 'them'} with {named}"
    return InputError(expected, got=", ".join(given), remedy=remedy, file=file)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _named(columns: Sequence[str], renamed: Mapping[str, str], ours: str) -> str | None:
    """The file's own name of a column."""
    return next((c for c in columns if renamed.get(c, c.strip()) == ours), None)


def _gold(data: Any, source: Source, renamed: Mapping[str, str]) -> list[str | None] | None:
    """The gold outputs, read as `output` is, as text: a date or 007 must not become a number on the way."""
    if isinstance(source, RecordSource):
        held = source.record.columns.get("gold")
        return None if held is None else held.tolist()
    theirs = _named(source.columns, renamed, "gold")
    if theirs is None:
        return None
    away = {**renamed, theirs: "output"}
    other = _named(source.columns, renamed, "output")
    if other is not None:
        away[other] = "output of the model"
    texts = as_source(data, mapping=away).read(("output",)).output
    assert texts is not None
    found: list[str | None] = texts.tolist()
    return found


def _others(source: Source, renamed: Mapping[str, str]) -> list[str]:
    """Columns that feed no field."""
    layout = Layout.parse(source.columns, renamed)
    used = layout.kinds(layout.feeds.values(), extra=False)
    return [column for column in source.columns if column not in used]


def _check_texts(rows: TextRows, texts: Sequence[Any], column: str, filled: bool = False) -> None:
    for row, text in enumerate(texts):
        if not (isinstance(text, str) or (text is None and not filled)):
            raise rows.error(row, "a text", repr(text)[:60], "drop the row or give the text", column)
        if filled and not str(text).strip():
            raise rows.error(row, "a text", "an empty one", "drop the row or give the text", column)


def _objects(texts: Sequence[Any]) -> Array:
    out = np.empty(len(texts), dtype=object)
    out[:] = texts
    return out
