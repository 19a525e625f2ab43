"""Matching: predictions files of several models, their rows matched by id, never by position."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError, UsageError
from ...inference.clusters import EPOCH_OF_ID, named_repeats
from ...models.labels import matched
from ...persistence import ENDING
from ...predictions import Predictions
from ...rankings.answered import CHOSEN, Answered, RankOptions, clusters_of, shown, was_chosen
from ...store import Axes, Source
from ...store.cells import key_array, key_cells
from ...store.source import RawTable, open_table
from ..model_names import said_model
from ..opening import Opener

ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
EPOCH = "epoch"  # as `predict` names it where a log holds several
_ANSWERS = ("probabilities", "logits", "candidate_scores", "prediction")


def are_files(models: Sequence[tuple[str, Any]]) -> bool:
    """Whether the models are given by their predictions; `UsageError` where some are and others are not.

    >>> are_files([("a", "a.parquet"), ("b", {"prediction": [0], "id": [7]})]), are_files([("a", "models/a")])
    (True, False)
    """
    files = []
    for _, model in models:
        if isinstance(model, (str, os.PathLike)):
            path = Path(str(model))  # of fitted files the reader speaks
            files.append(path.suffix.lower() in (*ENDINGS, ENDING) and not path.is_dir())
        else:
            frame = not callable(model) and hasattr(model, "columns") and not hasattr(model, "ask")
            files.append(isinstance(model, (Predictions, Source, Mapping)) or frame)
    if any(files) and not all(files):
        live, told = models[files.index(False)][0], models[files.index(True)][0]
        raise UsageError(
            f"{told} is a predictions file and {live} a live model: give all models in one form; `oodometer predict` "
            "writes the file of a live model"
        )
    return bool(files) and files[0]


def no_clusters(column: str, columns: Sequence[str], remedy: str, file: str) -> InputError:
    """The error for a column of clusters that is not there."""
    expected = f"a column {column} that tells which rows depend on each other"
    return InputError(expected, got=shown(tuple(columns), 12) or "no columns", remedy=remedy, file=file)


def check_filled(ids: Sequence[Any], file: str, column: str | None) -> None:
    """Raise `InputError` for a row without an id beside others that have one."""
    empty = next((row for row, one in enumerate(ids, 1) if one is None or one == "" or one != one), None)
    if empty is not None:
        raise InputError("an id", got="an empty cell", remedy="name each row", file=file, row=empty, column=column)


def check_classes(classes: Sequence[Sequence[int | str]], sources: Sequence[str], remedy: str) -> None:
    """Raise `InputError` where the models have not the same classes."""
    for one, source in zip(classes[1:], sources[1:], strict=True):
        if {str(name) for name in one} != {str(name) for name in classes[0]}:
            expected = f"the classes of {sources[0]}, {shown(classes[0])}"
            raise InputError(expected, got=shown(one), remedy=remedy, file=source)


def match_files(models: Sequence[tuple[str, Any]], examples: Any, references: Any, options: RankOptions) -> Answered:
    """Read the files, bring rows and classes into the order of the first, and find the labels.

    Labels come from ``examples``, by id, else from the files' own. Rows without a label are the pool. Which rows were
    chosen is said by a column of ``examples``, else of the files, where one that says so is enough. ``references`` are
    labelled predictions on known ground, one for each model. Ids that repeat, such as epochs of a question, are joined
    by their column `epoch`, else in their order. Raises `InputError` for ids that are absent, or not the same, and as
    often, in all files.
    """
    key = options.columns.id or "id"
    mapping = dict(options.mapping or {})
    if examples is None and options.columns.label not in (None, "label"):
        mapping[str(options.columns.label)] = "label"
    table = (
        None if examples is None else open_table(examples, [key, options.columns.label or "label", CHOSEN, *mapping])
    )
    opener = Opener(mapping or None, options.threshold, options.positive)
    records = _read(models, key, opener, options, () if table is None else table.columns)
    names = [said_model(model) for _, model in models]
    ids = _ids(records, key, names)
    order = _orders(ids, names)
    records = [one.take(rows) for one, rows in zip(records, order, strict=True)]
    mine = ids[0]
    chosen = np.zeros(len(mine), dtype=bool)
    for record in records:  # any of the files may say so
        if CHOSEN in record.columns and key != CHOSEN:
            chosen |= [was_chosen(one) for one in record.columns[CHOSEN]]
    if table is None:
        codes = _own_labels(records, names, mine)
    else:
        codes, told = _given(table, records[0], mine, key, options)
        chosen = chosen if told is None else told
    known = np.flatnonzero(codes >= 0)
    rows = np.concatenate([known, np.flatnonzero(codes < 0)])
    cells: Sequence[Any] = mine
    if options.cluster not in (None, key):
        cells = np.asarray(records[0].columns[str(options.cluster)]).tolist()
    if not len(known):
        raise InputError(
            "labelled rows",
            got="none: no row has a label",
            remedy="give labels with --examples FILE, by id, or in a column label",
            file=names[0],
        )
    known_ground = []
    for one in references or ():  # its rows need not be matched
        source = opener.open(one, None, axes=Axes(records[0].classes))
        known_ground.append(source.read(_fields(source)).known())
        if not len(known_ground[-1]):
            expected, remedy = "labelled rows of known ground", "give a file with a column label"
            raise InputError(expected, got="none", remedy=remedy, file=said_model(one))
    return Answered(
        names=tuple(name for name, _ in models),
        sources=tuple(names),
        records=tuple(one.take(rows).without_labels() for one in records),
        labels=codes[known].astype(np.int64),
        ids=tuple(mine[row] for row in rows),
        modality="predictions",
        id_column=key,
        numbered=records[0].columns[key].dtype.kind in "iu" and not any("_" in one for one in mine),
        label_column="label" if table is None else options.columns.label or "label",
        chosen=chosen[known] if chosen[known].any() else None,
        references=tuple(known_ground),
        clusters=clusters_of([cells[row] for row in known.tolist()], options.cluster is not None),
        cluster_column=options.cluster or key,
    )


def _read(
    models: Sequence[tuple[str, Any]],
    key: str,
    opener: Opener,
    options: RankOptions,
    elsewhere: Sequence[str],
) -> list[Predictions]:
    named = [said_model(model) for _, model in models]
    sources = []
    for (_, model), name in zip(models, named, strict=True):
        source = opener.open(model, options.classes)
        if not source.holds(key):
            raise InputError(
                f"a column {key} that names the rows: those of several files are matched by it, never by position",
                got=f"the columns {shown(source.columns, 12)}",
                remedy=f"name it with --id, or with --map theirs={key} where other files call it {key}; "
                "`oodometer predict` keeps it",
                file=name,
            )
        if not {*_ANSWERS, "correct"} & set(source.fields):
            raise InputError(
                "probabilities, logits, scores of candidates, predicted classes or correctness",
                got=f"{shown(source.fields, 12) or 'none of them'}",
                remedy="write them with `oodometer predict`, or rename columns with --map theirs=ours",
                file=name,
            )
        if options.cluster is not None and not source.holds(options.cluster):
            there = [f"the columns {shown(source.columns, 12)}"]
            remedy = "name a column of the files with --cluster, or leave it out"
            raise no_clusters(options.cluster, there, remedy, name)
        also = (one for one in (CHOSEN, EPOCH, options.cluster) if one and source.holds(one))
        extra = tuple(dict.fromkeys((key, *also)))
        sources.append(opener.open(model, options.classes, extra_columns=extra))
    opener.check(elsewhere)
    for fields in (("candidate_scores", "prediction", "label"), ("correct",)):
        if all(fields[0] in one.fields for one in sources) and (
            fields[0] == "candidate_scores" or not all(set(_ANSWERS) & set(one.fields) for one in sources)
        ):
            read = [one.read([name for name in fields if name in one.fields]) for one in sources]
            return _of_candidates(read) if fields[0] == "candidate_scores" else _of_correctness(read, named)
    sources = _one_order(sources, named, options)
    return [one.read(_fields(one)) for one in sources]


def _of_candidates(records: Sequence[Predictions]) -> list[Predictions]:
    """Positions among candidates as classes; there are as many as the longest row has."""
    most = max(int(code.max()) for one in records for code in (one.predicted, one.label) if code is not None)
    classes = tuple(range(max(most + 1, 2)))
    return [
        replace(one, classes=classes, prediction=one.predicted, candidate_scores=None, confidence=None, _cache={})
        for one in records
    ]


def _of_correctness(records: Sequence[Predictions], names: Sequence[str]) -> list[Predictions]:
    """Where only correctness is known: the classes are wrong and right, and the truth is right."""
    out = []
    for record, name in zip(records, names, strict=True):
        known = np.asarray(record.correct, dtype=np.float64)
        absent = np.flatnonzero(~np.isfinite(known) | (known < 0))
        if len(absent):
            raise InputError(
                "whether the answer is right, as there are no classes",
                got="an empty cell",
                remedy="leave the row out of all files, or give predictions in a column prediction",
                file=name,
                row=int(absent[0]) + 1,
                column="correct",
            )
        right = known.astype(np.int32)
        out.append(replace(record, classes=("wrong", "right"), prediction=right, label=np.ones_like(right), _cache={}))
    return out


def _fields(source: Source) -> list[str]:
    return [name for name in ("probabilities", "prediction", "label", "logits") if name in source.fields]


def _one_order(sources: list[Source], named: Sequence[str], options: RankOptions) -> list[Source]:
    """The sources with their classes in the order of the first; `InputError` where they are not the same."""
    if options.classes is not None:
        return sources
    found = [one.classes or () for one in sources]
    if all("probabilities" not in one.fields and "logits" not in one.fields for one in sources):
        _check_vocabularies(found, named)
        every = tuple(dict.fromkeys(name for some in found for name in some))  # what is seen need not be all there is
        return [one.aligned(Axes.given(every)) for one in sources]
    remedy = "only models of the same classes can be ranked; --classes a,b names them in the order of the probabilities"
    check_classes(found, named, remedy)
    return [sources[0], *(one.aligned(Axes(found[0])) for one in sources[1:])]


def _check_vocabularies(found: Sequence[Sequence[int | str]], named: Sequence[str]) -> None:
    """Raise `InputError` where predicted classes can be of no one set: none in common, or numbers beside words."""
    first = {str(one) for one in found[0]}
    for classes, name in zip(found, named, strict=True):
        own = {str(one) for one in classes}
        numbers = {one.lstrip("-").isdigit() for one in own | first}
        if not own & first or len(numbers) > 1:
            raise InputError(
                f"classes of the same names, such as those of {named[0]}, {shown(found[0])}",
                got=shown(classes),
                remedy="write them in the same words in all files; if they are right as they are, name all classes "
                "with --classes a,b",
                file=name,
            )


def _ids(records: Sequence[Predictions], key: str, files: Sequence[str]) -> list[list[str]]:
    """The ids of each file, one a row; `InputError` where one is absent, or where repeats cannot be told apart."""
    ids = [key_array(one.columns[key], key, file).to_pylist() for one, file in zip(records, files, strict=True)]
    for cells, file in zip(ids, files, strict=True):
        check_filled(cells, file, key)
    epochs = [one.columns[EPOCH].tolist() for one in records if EPOCH in one.columns and key != EPOCH]
    told = len(epochs) == len(ids) and all(
        len({*zip(cells, some, strict=True)}) == len(cells) for cells, some in zip(ids, epochs, strict=True)
    )
    out = [named_repeats(cells, epochs[i] if told else None) for i, cells in enumerate(ids)]
    for names, file in zip(out, files, strict=True):
        if len(set(names)) < len(names):
            name, times = Counter(names).most_common(1)[0]
            raise InputError(
                "ids that name one row each",
                got=f"{name!r} {times} times, beside ids that repeat",
                remedy="mend them, or name another column with --id",
                file=file,
                row=names.index(name) + 1,
                column=key,
            )
    return out


def _orders(ids: Sequence[list[str]], names: Sequence[str]) -> list[Array]:
    """For each file the places of the first file's ids; `InputError` where the files have other ids."""
    first = ids[0]
    out = [np.arange(len(first))]
    for own, name in zip(ids[1:], names[1:], strict=True):
        where = {one: row for row, one in enumerate(own)}
        absent = [one for one in first if one not in where]
        more = len(own) - (len(first) - len(absent))
        if absent or more:
            said = [f"{len(absent):,} of its ids are absent, such as {absent[0]!r}"] if absent else []
            said += [f"{more:,} ids more"] if more else []
            raise InputError(
                f"the ids of {names[0]}",
                got=" and ".join(said),
                remedy="ask all models about the same rows, each as often, or name rows by another column with --id",
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
                remedy="give the labels with --examples FILE; where rows of one id are several questions, name "
                "another column with --id",
                file=name,
                column="label",
            )
        codes = np.where(own >= 0, own, codes)
    return codes


def _given(
    table: RawTable, record: Predictions, ids: Sequence[str], key: str, options: RankOptions
) -> tuple[Array, Array | None]:
    """Labels of ``examples`` in the order of ``ids``, -1 where there is none; and which rows were chosen, if told."""
    file, classes = table.file or table.name, record.classes or ()
    label = options.columns.label or "label"
    key = _column(table, key, options, f"rename that of this file with --map theirs={key}")
    label = _column(table, label, options, "name it with --label")
    remedy = "write the labels in the words of the columns, or rename the columns with --map theirs=ours"
    if record.probabilities is None:
        remedy = "write the labels in the words of the predictions, or name all classes with --classes a,b,c"
    codes, chosen = np.full(len(ids), -1, dtype=np.int64), np.zeros(len(ids), dtype=bool)
    tells = CHOSEN in table.columns and CHOSEN not in (key, label)
    kinds: dict[str, Any] = {key: "key", label: "any", **({CHOSEN: "any"} if tells else {})}
    place = {one: code for code, one in enumerate(classes)}
    exact, of_base = {one: [row] for row, one in enumerate(ids)}, defaultdict(list)
    for row, one in enumerate(ids):
        of_base[EPOCH_OF_ID.sub("", one)].append(row)
    names: list[str] = []
    truth: list[Any] = []
    picked: list[bool] = []
    for batch in table.batches(kinds, 4096):
        try:
            names += key_cells(batch.column(key), key).to_pylist()
        except InputError as error:
            raise error.at(file=file) from None
        cells = batch.column(label).to_pylist()
        truth += matched(cells, classes, file=file, first_row=len(truth), column=label, remedy=remedy)
        picked += [was_chosen(one) for one in batch.column(CHOSEN).to_pylist()] if tells else [False] * len(cells)
    if not names:
        raise InputError("labelled rows", got="an empty file", remedy="check what wrote it", file=file)
    times, own = Counter(names), np.full(len(ids), -1) if record.label is None else np.asarray(record.label)
    for row, (name, single) in enumerate(zip(names, named_repeats(names), strict=True)):
        as_often = times[name] == len(of_base.get(name, ()))
        at = (exact.get(single) if as_often else None) or exact.get(name) or of_base.get(name)
        code = -1 if truth[row] is None else place[truth[row]]
        fault = None if at else ("the id of a row of the predictions", repr(name))
        if at and code >= 0 and len({code, *codes[at], -1}) > 2:
            fault = "ids that name one row each", f"{name!r} again, with another label"
        if at and code >= 0 and len({*own[at], -1}) > 2:
            fault = "a label for each row of this id, as the predictions hold several", "one for all"
        if fault is not None or at is None:
            expected, got = fault or ("", "")
            mend = "mend them, or name another column with --id"
            mend = mend if at else "ask the models about these rows too, or leave the row out"
            raise InputError(expected, got=got, remedy=mend, file=file, row=row + 1, column=key)
        codes[at] = np.where(code < 0, codes[at], code)
        chosen[at] |= picked[row]
    return codes, chosen if tells else None


def _column(table: RawTable, name: str, options: RankOptions, remedy: str) -> str:
    """What the examples call a column: its own name, or one that is renamed to it."""
    if name in table.columns:
        return name
    theirs = next((one for one, ours in (options.mapping or {}).items() if ours == name and one in table.columns), None)
    if theirs is None:
        raise InputError(
            f"a column {name}: examples are matched to predictions by id",
            got=f"the columns {shown(table.columns, 12)}",
            remedy=remedy,
            file=table.file or table.name,
        )
    return theirs
