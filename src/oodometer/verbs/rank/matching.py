"""Matching: predictions files of several models, their rows matched by id, never by position."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError, UsageError
from ...predictions import Predictions
from ...rankings.answered import CHOSEN, Answered, shown, was_chosen
from ...rankings.options import RankOptions
from ...store import Axes, Source
from ...store.keys import key_array, key_cells
from ...store.tables import open_table
from ..model_names import said_model
from ..opening import Opener
from ..predict.labels import matched

__all__ = ["are_files", "match_files"]

ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
_NEEDED = ("probabilities", "prediction", "label")


def are_files(models: Sequence[tuple[str, Any]]) -> bool:
    """Whether the models are given by their predictions; `UsageError` where some are and others are not.

    >>> are_files([("a", "a.parquet"), ("b", {"prediction": [0], "id": [7]})]), are_files([("a", "models/a")])
    (True, False)
    """
    files = [_is_file(model) for _, model in models]
    if any(files) and not all(files):
        live, told = models[files.index(False)][0], models[files.index(True)][0]
        raise UsageError(
            f"{told} is a predictions file and {live} a live model: give all models in one form; `oodometer predict` "
            "writes the file of a live model"
        )
    return bool(files) and files[0]


def _is_file(model: Any) -> bool:
    if isinstance(model, (str, os.PathLike)):
        path = Path(str(model))
        return path.suffix.lower() in ENDINGS and not path.is_dir()
    if isinstance(model, (Predictions, Source, Mapping)):
        return True
    return not callable(model) and hasattr(model, "columns") and not hasattr(model, "ask")  # a frame


def match_files(models: Sequence[tuple[str, Any]], examples: Any, references: Any, options: RankOptions) -> Answered:
    """Read the files, bring rows and classes into the order of the first, and find the labels.

    Labels come from ``examples``, by id, else from the files' own. Rows without a label are the pool. Which rows were
    chosen is said by a column of ``examples``, else of the files, where one that says so is enough. ``references`` are
    labelled predictions on known ground, one for each model. Raises `InputError` for ids that are absent, double,
    or not the same in all files.
    """
    key = options.columns.id or "id"
    mapping = dict(options.mapping or {})
    if examples is None and options.columns.label not in (None, "label"):
        mapping[str(options.columns.label)] = "label"
    records = _read(models, key, mapping, options)
    names = [said_model(model) for _, model in models]
    ids = [_ids(one, key, name) for one, name in zip(records, names, strict=True)]
    order = _orders(ids, names)
    records = [one.take(rows) for one, rows in zip(records, order, strict=True)]
    mine, classes = ids[0], records[0].classes or ()
    chosen = _own_chosen(records, key)
    if examples is None:
        codes = _own_labels(records, names, mine)
    else:
        codes, told = _given(examples, classes, mine, key, options)
        chosen = chosen if told is None else told
    known = np.flatnonzero(codes >= 0)
    rows = np.concatenate([known, np.flatnonzero(codes < 0)])
    if not len(known):
        raise InputError(
            "labelled rows",
            got="none: no row has a label",
            remedy="give labels with --examples FILE, by id, or in a column label",
            file=names[0],
        )
    return Answered(
        names=tuple(name for name, _ in models),
        sources=tuple(names),
        records=tuple(one.take(rows).without_labels() for one in records),
        labels=codes[known].astype(np.int64),
        ids=tuple(mine[row] for row in rows),
        modality="predictions",
        chosen=chosen[known] if chosen[known].any() else None,
        references=_references(references, records[0], options),
    )


def _references(references: Any, like: Predictions, options: RankOptions) -> tuple[Predictions, ...]:
    """Labelled rows of known ground, their classes in the order of the models'; their rows need not be matched."""
    out = []
    opener = Opener(options.mapping)
    for one in references or ():
        source = opener.open(one, None, axes=Axes(like.classes))
        record = source.read(_fields(source)).known()
        if not len(record):
            raise InputError(
                "labelled rows of known ground",
                got="none",
                remedy="give a file with a column label",
                file=said_model(one),
            )
        out.append(record)
    return tuple(out)


def _read(
    models: Sequence[tuple[str, Any]], key: str, mapping: Mapping[str, str], options: RankOptions
) -> list[Predictions]:
    opener = Opener(mapping or None)
    named = [said_model(model) for _, model in models]
    sources = []
    for (_, model), name in zip(models, named, strict=True):
        source = opener.open(model, options.classes)
        if not source.holds(key):
            raise InputError(
                f"a column {key} that names the rows: those of several files are matched by it, never by position",
                got=f"the columns {shown(source.columns, 12)}",
                remedy="name it with --id; `oodometer predict` keeps it",
                file=name,
            )
        if "candidate_scores" in source.fields or not {"probabilities", "logits", "prediction"} & set(source.fields):
            raise InputError(
                "probabilities, logits or predicted classes",
                got=f"{shown(source.fields, 12) or 'none of them'}",
                remedy="write them with `oodometer predict`, or rename columns with --map theirs=ours",
                file=name,
            )
        extra = (key, CHOSEN) if source.holds(CHOSEN) and key != CHOSEN else (key,)
        sources.append(opener.open(model, options.classes, extra_columns=extra))
    opener.check()
    sources = _one_order(sources, named, options)
    return [one.read(_fields(one)) for one in sources]


def _fields(source: Source) -> list[str]:
    wanted = [name for name in _NEEDED if name in source.fields]
    if "logits" in source.fields:
        wanted.append("logits")
    return wanted


def _one_order(sources: list[Source], named: Sequence[str], options: RankOptions) -> list[Source]:
    """The sources with their classes in the order of the first; `InputError` where they are not the same."""
    if options.classes is not None:
        return sources
    found = [one.classes or () for one in sources]
    if all("probabilities" not in one.fields and "logits" not in one.fields for one in sources):
        every = tuple(dict.fromkeys(name for some in found for name in some))  # what is seen need not be all there is
        return [one.aligned(Axes.given(every)) for one in sources]
    for classes, name in zip(found[1:], named[1:], strict=True):
        if {str(one) for one in classes} != {str(one) for one in found[0]}:
            raise InputError(
                f"the classes of {named[0]}, {shown(found[0])}",
                got=shown(classes),
                remedy="only models of the same classes can be ranked; --classes a,b names them in the order of the "
                "probabilities",
                file=name,
            )
    return [sources[0], *(one.aligned(Axes(found[0])) for one in sources[1:])]


def _ids(record: Predictions, key: str, file: str) -> list[str]:
    """The ids of a file as strings; `InputError` where one is absent or names two rows."""
    cells = key_array(record.columns[key], key, file).to_pylist()
    empty = next((row for row, one in enumerate(cells, 1) if one in (None, "")), None)
    if empty is not None:
        raise InputError("an id", got="an empty cell", remedy="name each row", file=file, row=empty, column=key)
    if len(set(cells)) < len(cells):
        counted = Counter(cells)
        row = next(row for row, one in enumerate(cells) if counted[one] > 1)
        raise InputError(
            "ids that name one row each",
            got=f"{cells[row]!r} {counted[cells[row]]} times",
            remedy="mend them, or name another column with --id",
            file=file,
            row=row + 1,
            column=key,
        )
    return [str(one) for one in cells]


def _orders(ids: Sequence[list[str]], names: Sequence[str]) -> list[Array]:
    """For each file the places of the first file's ids; `InputError` where the files have other ids."""
    first = ids[0]
    out = [np.arange(len(first))]
    for own, name in zip(ids[1:], names[1:], strict=True):
        where = {one: row for row, one in enumerate(own)}
        absent = [one for one in first if one not in where]
        more = len(own) - (len(first) - len(absent))
        if absent or more:
            said = [f"{len(absent):,} of its ids are absent, such as {absent[0]!r}"] * bool(absent)
            said += [f"{more:,} ids more"] * bool(more)
            raise InputError(
                f"the ids of {names[0]}",
                got=" and ".join(said),
                remedy="ask all models about the same rows",
                file=name,
            )
        out.append(np.array([where[one] for one in first], dtype=np.int64))
    return out


def _own_labels(records: Sequence[Predictions], names: Sequence[str], ids: Sequence[str]) -> Array:
    """Labels that the files hold, positions of classes, -1 where unknown; `InputError` where two files differ."""
    codes = np.full(len(ids), -1, dtype=np.int64)
    for record, name in zip(records, names, strict=True):
        if record.label is None:
            continue
        own = np.asarray(record.label, dtype=np.int64)
        apart = np.flatnonzero((own >= 0) & (codes >= 0) & (own != codes))
        if len(apart):
            classes = record.classes or ()
            raise InputError(
                f"the same labels in all files, {classes[codes[apart[0]]]!r} for id {ids[apart[0]]!r}",
                got=f"{classes[own[apart[0]]]!r}",
                remedy="give the labels with --examples FILE",
                file=name,
                column="label",
            )
        codes = np.where(own >= 0, own, codes)
    return codes


def _own_chosen(records: Sequence[Predictions], key: str) -> Array:
    """Which rows were chosen, as any of the files says."""
    chosen = np.zeros(records[0].rows, dtype=bool)
    for record in records:
        if CHOSEN in record.columns and key != CHOSEN:
            chosen |= [was_chosen(one) for one in record.columns[CHOSEN]]
    return chosen


def _given(
    examples: Any, classes: Sequence[int | str], ids: Sequence[str], key: str, options: RankOptions
) -> tuple[Array, Array | None]:
    """Labels of ``examples`` in the order of ``ids``, -1 where there is none; and which rows were chosen, if told."""
    label = options.columns.label or "label"
    table = open_table(examples, [key, label, CHOSEN])
    file = table.file or table.name
    for name, option in ((key, "--id"), (label, "--label")):
        if name not in table.columns:
            raise InputError(
                f"a column {name}: examples are matched to predictions by id",
                got=f"the columns {shown(table.columns, 12)}",
                remedy=f"name it with {option}",
                file=file,
            )
    codes, chosen = np.full(len(ids), -1, dtype=np.int64), np.zeros(len(ids), dtype=bool)
    tells = CHOSEN in table.columns and CHOSEN not in (key, label)
    kinds: dict[str, Any] = {key: "key", label: "any", **({CHOSEN: "any"} if tells else {})}
    where = {one: row for row, one in enumerate(ids)}
    place = {one: code for code, one in enumerate(classes)}
    seen: set[str] = set()
    done = 0
    for batch in table.batches(kinds, 4096):
        names = _keys(batch.column(key), key, file)
        truth = matched(batch.column(label).to_pylist(), classes, file=file, first_row=done, column=label)
        for row, (name, known) in enumerate(zip(names, truth, strict=True), done + 1):
            if name in seen or name not in where:
                raise InputError(
                    "ids that name one row each" if name in seen else "the id of a row of the predictions",
                    got=f"{name!r} again" if name in seen else repr(name),
                    remedy="mend them" if name in seen else "ask the models about these rows too, or leave the row out",
                    file=file,
                    row=row,
                    column=key,
                )
            seen.add(name)
            codes[where[name]] = -1 if known is None else place[known]
        if tells:
            chosen[[where[name] for name in names]] = [was_chosen(one) for one in batch.column(CHOSEN).to_pylist()]
        done += batch.num_rows
    if not done:
        raise InputError("labelled rows", got="an empty file", remedy="check what wrote it", file=file)
    return codes, chosen if tells else None


def _keys(column: Any, key: str, file: str) -> list[str]:
    try:
        cells: list[str] = key_cells(column, key).to_pylist()
    except InputError as error:
        raise error.at(file=file) from None
    return cells
