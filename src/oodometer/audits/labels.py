"""Labels: the few labels that a person has given, matched with the rows of the target and the draw they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import said_of_classes
from ..errors import InputError
from ..predictions import Predictions
from ..results import percent
from ..store import Source, as_source
from .joining import by_position, check_new_classes, matched_rows, numbers_of_column, unneeded
from .sampling import SampledRows

_EXTRA = ("row", "draw", "probability", "share")
_TOLERANCE = 0.02  # of a chance that was written down against the one worked out again


@dataclass(frozen=True)
class LabelledRows:
    """What one file says: target rows and whether the model was right there (-1 unknown), in the order of drawing.

    ``share`` and ``probability`` come from a suggestion, NaN where the rows were drawn evenly; ``label`` is the
    position of the label among the classes, None where the file gives `correct`. ``said`` tells how many labels were of
    rows that the target does not hold, and that they were joined by their places.
    """

    name: str
    row: Array
    correct: Array
    share: Array
    probability: Array
    label: Array | None = None
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.row)


def open_labels(data: Any, open_source: Callable[..., Source]) -> Source:
    """A source of labels, with the columns that a suggestion wrote; ``open_source`` knows about renamed columns."""
    source = open_source(data)
    extra = [name for name in _EXTRA if source.holds(name)]
    return open_source(data, extra_columns=extra) if extra else source


def read_labels(data: Any, target: Source, predicted: Array | None, rows: int, key: str | None = None) -> LabelledRows:
    """Labels from a file, a frame, a mapping or `open_labels`: one row for each target row (null where unknown), or a
    column `row`.

    Rows are told by ``key`` or `id` where both hold it (`matched_rows`); `row` counts target rows from 0. `correct` is
    taken as it is; `label` is held against ``predicted``, positions in the target's classes, shape (sample,). Columns
    `draw`, `probability` and `share` are those that a suggestion wrote.
    Raises `InputError` for rows that are not in the target, for numbers of rows that differ, for unknown classes.

    >>> from oodometer.store import as_source
    >>> goal = as_source({"prediction": [0, 1, 1]})
    >>> found = read_labels({"row": [2], "label": [0]}, goal, np.array([0, 1, 1]), 3)
    >>> found.row.tolist(), found.correct.tolist()
    ([2], [0])
    """
    source = data if isinstance(data, Source) else open_labels(data, partial(as_source, axes=target.axes))
    if not {"label", "correct"} & set(source.fields):
        raise InputError(
            "a column `label` or `correct`",
            got=", ".join(source.columns),
            file=source.path,
            remedy="give the truth of each row that you labelled",
        )
    record = source.read(["label", "correct"])
    check_new_classes(record, source.path)
    noted = said_of_classes(record.noted, source.name)
    number = {name: numbers_of_column(record, name, source.path) for name in _EXTRA if name in record.columns}
    row = matched_rows(source, target, rows, number.get("row"), key)
    if row is None:
        if len(record) != rows:
            raise InputError(
                f"as many labels as target rows ({rows}), or a column `id` or `row`",
                got=str(len(record)),
                remedy="join them by a column with --key, or give null where unknown",
                file=source.path,
                column="label",
            )
        row, warning = np.arange(rows), by_position(source, target, key)
    else:
        warning = unneeded(source, row, key)
        held = np.flatnonzero(row >= 0)
        if len(held) < len(row):
            record, row = record.take(held), row[held]
            number = {name: values[held] for name, values in number.items()}
    correct = _verdicts(record, row, predicted, source.path)
    order = np.argsort(number["draw"], kind="stable") if "draw" in number else np.arange(len(row))
    absent = np.full(len(row), np.nan)
    share, chance = number.get("share", absent), number.get("probability", absent)
    label = None if record.label is None or record.correct is not None else record.label[order]
    said = tuple(noted) if warning is None else (warning, *noted)
    return LabelledRows(source.name, row[order], correct[order], share[order], chance[order], label, said)


def _verdicts(record: Predictions, row: Array, predicted: Array | None, file: str | None) -> Array:
    """1, 0 or -1 for each labelled row, int8."""
    if record.correct is not None:
        return record.correct
    assert record.label is not None
    if predicted is None:
        raise InputError(
            "a column `correct`",
            got="`label`",
            file=file,
            column="label",
            remedy="the target holds no predicted classes to hold labels against",
        )
    verdicts: Array = np.where(record.label == -1, -1, record.label == predicted[row]).astype(np.int8)
    return verdicts


def collect(parts: Sequence[LabelledRows], score: Array, seed: int = 0) -> SampledRows:
    """All labels as one sequence of draws, files in the order given; a row that is given twice counts once.

    Rows without a chance written down were drawn evenly and are put into a random order. Suggested rows that were
    passed over (later ones of the same draw have labels) are gaps. Raises `InputError` where two labels of a row
    disagree, where nothing is labelled, and where chances are not those of this target and reference.
    """
    seen: dict[int, int] = {}
    labels: dict[int, int] = {}
    made: list[SampledRows] = []
    for part in parts:
        known = np.flatnonzero(part.correct >= 0)
        _no_conflict(seen, part.row[known], part.correct[known], part.name)
        if part.label is not None:
            _no_conflict(labels, part.row[known], part.label[known], part.name)
        made.append(_draws(part, np.concatenate([d.row for d in made]) if made else np.zeros(0), seed))
    if not seen:
        raise InputError(
            "at least one known label",
            got=f"{sum(map(len, parts))} rows, all unknown",
            file=parts[0].name if parts else None,
            remedy="fill in `label` (or `correct`)",
        )
    drawn = SampledRows(*(np.concatenate([getattr(d, f) for d in made]) for f in SampledRows.__dataclass_fields__))
    drawn = SampledRows(drawn.row, drawn.correct, drawn.share, drawn.probability, np.setdiff1d(drawn.gaps, drawn.row))
    written = np.isfinite(drawn.probability)
    if written.any() and not len(drawn.gaps):  # with gaps the chances are worked out without them
        off = np.abs(drawn.chances(score) / drawn.probability - 1)[written]
        if off.max() > _TOLERANCE:
            raise InputError(
                "chances that this reference and target give",
                got=f"others, {percent(off.max(), 0)} off",
                column="probability",
                file=parts[-1].name,
                remedy="give the files in the order in which they were labelled, with the reference and "
                "target that --suggest was given",
            )
    return drawn


def _no_conflict(seen: dict[int, int], rows: Array, truths: Array, file: str) -> None:
    """Take down the truth of each row; `InputError` where another one stands there already."""
    for row, truth in zip(rows.tolist(), truths.tolist(), strict=True):
        if seen.setdefault(row, truth) != truth:
            raise InputError(
                f"one truth for target row {row}",
                got="two that disagree",
                file=file,
                column="row",
                remedy="drop the wrong one",
            )


def _draws(part: LabelledRows, before: Array, seed: int) -> SampledRows:
    """The draws of one file, without rows that an earlier one gave and without repetitions."""
    _, first = np.unique(part.row[part.correct >= 0], return_index=True)
    position = np.flatnonzero(part.correct >= 0)[np.sort(first)]
    position = position[~np.isin(part.row[position], before)]
    suggested = np.isfinite(part.share)
    even = SampledRows.evenly(
        part.row[position[~suggested[position]]], part.correct[position[~suggested[position]]], seed
    )
    chosen = position[suggested[position]]
    last = int(chosen.max()) if len(chosen) else -1
    passed = np.flatnonzero(suggested & (part.correct < 0) & (np.arange(len(part)) < last))
    gaps = np.setdiff1d(part.row[passed], before).astype(np.int64)
    return SampledRows(
        np.concatenate([even.row, part.row[chosen]]).astype(np.int64),
        np.concatenate([even.correct, part.correct[chosen]]),
        np.concatenate([even.share, part.share[chosen]]),
        np.concatenate([even.probability, part.probability[chosen]]),
        gaps,
    )
