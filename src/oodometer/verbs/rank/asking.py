"""Asking: live models about the labelled rows and the pool, each of them once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...datasets.reading import Batch, Columns, Examples, open_examples
from ...errors import InputError, UsageError
from ...models.artifacts import DESCRIPTION
from ...models.base import Classifier
from ...models.labels import matched
from ...models.opening import open_classifier
from ...models.outside import OutsideClassifier
from ...predictions import Predictions
from ...rankings.answered import CHOSEN, Answered, clusters_of, shown, was_chosen
from ...rankings.asking import AT_ONCE, ask_all
from ...rankings.explaining import Means
from ...rankings.options import RankOptions
from ...store.memory import decided
from ..model_names import said_model
from ..opening import decided_class

_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
@dataclass(frozen=True)
class Rows:
    """Rows of a file as they were read.

    parts : inputs, texts in one part. targets : of all rows, empty without labels. ids : of all rows, their numbers
    where they are not ``named``. inputs : columns that were read. chosen : whether a row was chosen to be labelled,
    empty where nothing says so. clusters : cells of the column of clusters that was asked for. numbered : whether the
    file writes ids as whole numbers.
    """

    parts: tuple[Dataset, ...]
    targets: tuple[Any, ...]
    ids: tuple[str, ...]
    named: bool
    file: str
    modality: str
    inputs: tuple[str, ...]
    chosen: tuple[bool, ...] = ()
    clusters: tuple[Any, ...] = ()
    numbered: bool = False

    @property
    def texts(self) -> tuple[Any, ...]:
        """The inputs where they are texts or pairs, else none."""
        return tuple(one for part in self.parts for one in part.inputs) if self.modality in ("text", "pair") else ()


def read_rows(
    data: Any,
    opened: Sequence[Classifier],
    sources: Sequence[str],
    columns: Columns,
    *,
    label: bool,
    cluster: str | None = None,
) -> Rows:
    """All rows of a file, in batches for images and tables, in one part for texts."""
    examples = open_examples(data, opened[0].reads, columns)
    named = (*columns.inputs, columns.label, columns.id)
    held = getattr(getattr(examples, "table", None), "columns", ())
    key = getattr(examples, "id", None) if held else None
    more = (CHOSEN,) if label and CHOSEN not in named and CHOSEN in held else ()
    if cluster is not None:
        if cluster not in held:
            raise InputError(
                f"a column {cluster} that tells which rows depend on each other",
                got=shown(tuple(held), 12) or "no columns",
                remedy="name one of the examples with --cluster, or leave it out",
                file=examples.file or examples.name,
            )
        more = (*more, *(() if cluster in (*more, *named, key) else (cluster,)))
    if more or key:
        examples = open_examples(data, opened[0].reads, replace(columns, keep=(*more, *((key,) if key else ()))))
    _check_reads(examples, opened, sources, columns)
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [one.data for one in batches]
    texts = examples.modality in ("text", "pair")
    if texts and len(parts) > 1:
        parts = [
            Dataset(examples.name, tuple(one for part in parts for one in part.inputs), modality=parts[0].modality)
        ]
    targets = tuple(one for batch in batches for one in batch.data.targets) if label else ()
    ids = tuple(one for batch in batches for one in batch.data.ids)
    file = examples.file or examples.name
    cells = [one for batch in batches for one in batch.columns.get(key, ())] if key else []
    _check_ids(ids, cells, file, key)
    rows = sum(len(part) for part in parts)
    return Rows(
        tuple(parts),
        targets,
        ids or tuple(map(str, range(1, rows + 1))),
        bool(ids),
        file,
        examples.modality,
        tuple(getattr(examples, "inputs", ())) if examples.modality != "image" else (),
        tuple(was_chosen(one) for batch in batches for one in batch.columns.get(CHOSEN, ())),
        ids
        if cluster == key and key
        else tuple(one for batch in batches for one in batch.columns.get(cluster or "", ())),
        bool(cells) and all(isinstance(one, int | np.integer) for one in cells),
    )


def _check_ids(ids: Sequence[str], cells: Sequence[Any], file: str, column: str | None) -> None:
    """Raise `InputError` for a row without an id beside others that have one, and for an id of two rows."""
    empty = next((row for row, one in enumerate(cells, 1) if one is None or one == "" or one != one), None)
    if empty is not None:
        raise InputError("an id", got="an empty cell", remedy="name each row", file=file, row=empty, column=column)
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        row = next(row for row, one in enumerate(ids, 1) if first.setdefault(one, row) < row)
        raise InputError(
            "ids that name one row each",
            got=f"{ids[row - 1]!r} twice, first in row {first[ids[row - 1]]}",
            remedy="mend them",
            file=file,
            row=row,
            column=column,
        )


def _check_reads(examples: Examples, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns) -> None:
    for one, source in zip(opened, sources, strict=True):
        if examples.modality not in one.reads:
            raise InputError(
                f"models that read {examples.modality}, as {sources[0]} does",
                got=f"one that reads {' or '.join(one.reads)}",
                remedy="name models of the same kind of input",
                file=source,
            )
        if one.by_position and examples.modality == "table" and not columns.inputs:
            raise UsageError(
                f"{source} tells the columns of a table by their order alone, and another file may have another: name "
                "them in the order that it wants, with --input a --input b"
            )


def new_rows(pool: Rows, given: Rows) -> tuple[list[int], int]:
    """Places of the pool's rows that are not among the examples, and how many are: by id, else by the text itself."""
    if pool.named and given.named:
        mine, theirs = pool.ids, set(given.ids)
    elif pool.texts and given.texts:
        mine, theirs = pool.texts, set(given.texts)
    else:
        return list(range(len(pool.ids))), 0
    kept = [row for row, one in enumerate(mine) if one not in theirs]
    return kept, len(mine) - len(kept)


def row_ids(order: Sequence[tuple[Rows, int]]) -> tuple[str, ...]:
    """A name for each row: its id, or the number of its row, with the file where both files are only numbered."""
    files = {id(rows): rows for rows, _ in order}
    if len(files) == 1 or all(rows.named for rows in files.values()):
        return tuple(rows.ids[at] for rows, at in order)
    return tuple(rows.ids[at] if rows.named else f"{rows.file}: row {rows.ids[at]}" for rows, at in order)


def ask_models(
    models: Sequence[tuple[str, Any]],
    data: Mapping[str, Any],
    options: RankOptions,
    means: Means,
    progress: Callable[[int, int], None] | None,
) -> Answered:
    """Open the models, read the ``data`` by name and ask; what the folder of ``means`` has is not asked again.

    Rows of `examples` without a label join the pool; rows of the pool that are among the examples are left out. All
    rows of `reference`, labelled ones of known ground, are asked about in the same call. Raises `InputError` for
    models of other classes, or that read something else, and for data that cannot be used.
    """
    opened = [_opened(model, options) for _, model in models]
    sources = [said_model(model) for _, model in models]
    _check_used(models, opened, options)
    given = read_rows(data["examples"], opened, sources, options.columns, label=True, cluster=options.cluster)
    classes = _classes(opened, sources, given)
    pool, known_ground = (
        None if one is None else _like(given, one, opened, sources, options.columns, label=label)
        for one, label in ((data["unlabelled"], False), (data["reference"], True))
    )
    known = _labels(given, classes, options.columns.label)
    rest = [row for row in range(len(given.ids)) if row not in known]
    kept, twice = new_rows(pool, given) if pool is not None else ([], 0)
    picked = [(given, list(known)), (given, rest), *([] if pool is None else [(pool, kept)])]
    order = [(rows, at) for rows, some in picked for at in some]
    asked, truth = picked, {}
    if known_ground is not None:
        truth = _labels(known_ground, classes, options.columns.label)
        asked = [*picked, (known_ground, list(truth))]
    names = [name for name, _ in models]
    records, truncated = ask_all(opened, names, _parts(asked), classes, means.sent, means.folder, progress)
    records = [_decided(one, options) for one in records]
    chosen = [given.chosen[row] for row in known] if given.chosen else []  # those that nobody labelled decide nothing
    cells = given.clusters if options.cluster else given.ids if given.named else ()
    texts = {id(rows): rows.texts for rows, _ in picked}
    return Answered(
        names=tuple(names),
        sources=tuple(sources),
        records=tuple(one.slice(0, len(order)) for one in records),
        labels=_codes(known, classes),
        ids=row_ids(order),
        modality=given.modality,
        inputs=tuple(texts[id(rows)][at] for rows, at in order) if texts[id(given)] else (),
        columns=given.inputs,
        chosen=np.array(chosen) if any(chosen) else None,
        id_column=(options.columns.id or "id") if given.named else None,
        numbered=given.numbered,
        label_column=options.columns.label or "label",
        clusters=clusters_of([cells[row] for row in known], options.cluster is not None) if cells else None,
        cluster_column=options.cluster or options.columns.id or "id",
        classifiers=tuple(opened),
        truncated=truncated,
        left_out={"rows of the pool that are among the examples": twice} if twice else {},
        references=tuple(
            replace(one.slice(len(order), len(one)), label=_codes(truth, classes).astype(np.int32), first_row=0)
            for one in records
        )
        if truth
        else (),
    )


def _like(
    given: Rows, data: Any, opened: Sequence[Classifier], sources: Sequence[str], columns: Columns, *, label: bool
) -> Rows:
    """Further rows of the form of the examples; `InputError` where they are of another one."""
    wanted = Columns(given.inputs or columns.inputs, columns.label if label else None, columns.id)
    found = read_rows(data, opened, sources, wanted, label=label)
    if found.modality != given.modality:
        raise InputError(
            f"rows like those of {given.file}, {given.modality}",
            got=found.modality,
            remedy="give rows of the same form",
            file=found.file,
        )
    return found


def _labels(rows: Rows, classes: Sequence[int | str], column: str | None) -> dict[int, int | str]:
    """Row -> its class, of the rows that have one; `InputError` where none has, or one is no class of the models."""
    column = column or "label"
    truth = matched(rows.targets, classes, file=rows.file, first_row=0, column=column) if rows.targets else []
    known = {row: one for row, one in enumerate(truth) if one is not None}
    if not known:
        raise InputError(
            "labelled rows",
            got=f"no value in a column {column}",
            remedy="name the column of the truth with --label, or label a few rows; ten already help",
            file=rows.file,
        )
    return known


def _codes(known: Mapping[int, int | str], classes: Sequence[int | str]) -> Array:
    place = {name: code for code, name in enumerate(classes)}
    return np.array([place[one] for one in known.values()], dtype=np.int64)


def _opened(model: Any, options: RankOptions) -> Classifier:
    found = open_classifier(model, **options.of_models())
    if "dialogue" in found.reads and not {"text", "pair"} & set(found.reads):
        raise UsageError(
            f"{said_model(model)} ranks replies and has no classes; `compare` judges rankers by their predictions files"
        )
    return found


def _check_used(models: Sequence[tuple[str, Any]], opened: Sequence[Classifier], options: RankOptions) -> None:
    """Raise `UsageError` for an option that none of the models takes."""
    outside = [isinstance(one, OutsideClassifier) for one in opened]
    if options.gives is not None and not any(
        out and one.kind != "estimator" for out, one in zip(outside, opened, strict=True)
    ):
        raise UsageError("--gives is of functions, modules and ONNX files, and no model is one; leave it out")
    named = [isinstance(model, (str, os.PathLike)) and not (Path(model) / DESCRIPTION).is_file() for _, model in models]
    if options.max_length is not None and not any(hub and not out for hub, out in zip(named, outside, strict=True)):
        raise UsageError("--max-length is of models in the form of Hugging Face, and no model is one; leave it out")


def _classes(opened: Sequence[Classifier], sources: Sequence[str], given: Rows) -> tuple[int | str, ...]:
    """The classes of all models in the order of the first; `InputError` where they are not the same."""
    row = given.parts[0].take([0])
    found = [one.classes or one.ask(Dataset(row.name, row.inputs, modality=row.modality)).classes for one in opened]
    first = found[0]
    for one, source in zip(found[1:], sources[1:], strict=True):
        if {str(name) for name in one} != {str(name) for name in first}:
            raise InputError(
                f"the classes of {sources[0]}, {shown(first)}",
                got=shown(one),
                remedy="only models of the same classes can be ranked; if only the names differ, and the outputs of "
                "all stand in one order, name them in it with --classes a,b",
                file=source,
            )
    return first


def _decided(record: Predictions, options: RankOptions) -> Predictions:
    """The record with decisions by the threshold, where one was given, for the class named or the second by name."""
    if options.threshold is None:
        return record
    return decided(record, options.threshold, decided_class(record.classes, options.positive))


def _parts(picked: Sequence[tuple[Rows, list[int]]]) -> list[Dataset]:
    """What is asked at once, in the order of the rows: texts of all files together."""
    out: list[Dataset] = []
    for rows, some in picked:
        start = 0
        for part in rows.parts:
            inside = [at - start for at in some if start <= at < start + len(part)]
            start += len(part)
            if inside:
                bare = Dataset(part.name, part.inputs, source=part.source, modality=part.modality)
                out.append(bare.take(inside))
    if out[0].modality in ("text", "pair"):
        whole = tuple(one for part in out for one in part.inputs)
        cuts = [whole[start : start + AT_ONCE] for start in range(0, len(whole), AT_ONCE)]
        return [Dataset(out[0].name, one, source=out[0].source, modality=out[0].modality) for one in cuts]
    return out
