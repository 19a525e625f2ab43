"""Asking: live models about the labelled rows and the pool, each of them once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...datasets import Dataset
from ...datasets.reading import Batch, Columns, open_examples
from ...errors import InputError, UsageError
from ...models.artifacts import DESCRIPTION
from ...models.base import Classifier
from ...models.labels import matched
from ...models.opening import open_classifier
from ...models.outside import OutsideClassifier
from ...rankings.answered import CHOSEN, Answered, RankOptions, clusters_of, was_chosen
from ...rankings.explaining import AT_ONCE, Means, ask_all
from ...store.memory import decided
from ..model_names import said_model
from ..opening import decided_class
from .matching import check_classes, check_filled, no_clusters

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


def _read_rows(
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
    file = examples.file or examples.name
    more = (CHOSEN,) if label and CHOSEN not in named and CHOSEN in held else ()
    if cluster is not None:
        if cluster not in held:
            raise no_clusters(cluster, held, "name one of the examples with --cluster, or leave it out", file)
        more = (*more, *(() if cluster in (*more, *named, key) else (cluster,)))
    if more or key:
        examples = open_examples(data, opened[0].reads, replace(columns, keep=(*more, *((key,) if key else ()))))
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
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [one.data for one in batches]
    if examples.modality in ("text", "pair") and len(parts) > 1:
        texts = tuple(one for part in parts for one in part.inputs)
        parts = [Dataset(examples.name, texts, modality=parts[0].modality)]

    def cells(column: str | None) -> list[Any]:
        return [one for batch in batches for one in batch.columns.get(column or "", ())]

    ids, names = tuple(one for batch in batches for one in batch.data.ids), cells(key)
    check_filled(names, file, key)
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        row = next(row for row, one in enumerate(ids, 1) if first.setdefault(one, row) < row)
        got = f"{ids[row - 1]!r} twice, first in row {first[ids[row - 1]]}"
        where: dict[str, Any] = {"file": file, "row": row, "column": key}
        raise InputError("ids that name one row each", got=got, remedy="mend them", **where)
    return Rows(
        parts=tuple(parts),
        targets=tuple(one for batch in batches for one in batch.data.targets) if label else (),
        ids=ids or tuple(map(str, range(1, sum(map(len, parts)) + 1))),
        named=bool(ids),
        file=file,
        modality=examples.modality,
        inputs=tuple(getattr(examples, "inputs", ())) if examples.modality != "image" else (),
        chosen=tuple(map(was_chosen, cells(CHOSEN))),
        clusters=ids if cluster == key and key else tuple(cells(cluster)),
        numbered=bool(names) and all(isinstance(one, int | np.integer) for one in names),
    )


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
    opened, columns = [open_classifier(model, **options.of_models()) for _, model in models], options.columns
    sources = [said_model(model) for _, model in models]
    _check_used(models, opened, options)
    given = _read_rows(data["examples"], opened, sources, columns, label=True, cluster=options.cluster)
    row = given.parts[0].take([0])
    of_each = [one.classes or one.ask(Dataset(row.name, row.inputs, modality=row.modality)).classes for one in opened]
    check_classes(
        of_each,
        sources,
        "only models of the same classes can be ranked; if only the names differ, and the outputs of all stand in one "
        "order, name them in it with --classes a,b",
    )
    classes = of_each[0]

    def like(one: Any, label: bool) -> Rows | None:
        """Further rows of the form of the examples; `InputError` where they are of another one."""
        if one is None:
            return None
        wanted = Columns(given.inputs or columns.inputs, columns.label if label else None, columns.id)
        rows = _read_rows(one, opened, sources, wanted, label=label)
        if rows.modality != given.modality:
            expected, remedy = f"rows like those of {given.file}, {given.modality}", "give rows of the same form"
            raise InputError(expected, got=rows.modality, remedy=remedy, file=rows.file)
        return rows

    pool, known_ground = like(data["unlabelled"], False), like(data["reference"], True)
    known = _labels(given, classes, columns.label)
    rest = [row for row in range(len(given.ids)) if row not in known]
    picked, twice = [(given, list(known)), (given, rest)], 0
    if pool is not None:  # its rows that are not among the examples: by id, else by the text itself
        mine: Sequence[Any] = pool.ids if pool.named and given.named else pool.texts if given.texts else ()
        there = set(given.ids if pool.named and given.named else given.texts)
        fresh = [row for row, one in enumerate(mine) if one not in there] if mine else list(range(len(pool.ids)))
        picked, twice = [*picked, (pool, fresh)], len(pool.ids) - len(fresh)
    order = [(rows, at) for rows, some in picked for at in some]
    asked, truth = picked, {}
    if known_ground is not None:
        truth = _labels(known_ground, classes, columns.label)
        asked = [*picked, (known_ground, list(truth))]
    names = [name for name, _ in models]
    records, truncated = ask_all(opened, names, _parts(asked), classes, means.sent, means.folder, progress)
    if options.threshold is not None:  # for the class named or the second by name
        records = [decided(one, options.threshold, decided_class(one.classes, options.positive)) for one in records]
    one_file = len({id(rows) for rows, _ in order}) == 1
    place = {name: code for code, name in enumerate(classes)}
    chosen = [given.chosen[row] for row in known] if given.chosen else []  # those that nobody labelled decide nothing
    cells = given.clusters if options.cluster else given.ids if given.named else ()
    texts = {id(rows): rows.texts for rows, _ in picked}
    right = np.array([place[one] for one in truth.values()], dtype=np.int32)
    return Answered(
        names=tuple(names),
        sources=tuple(sources),
        records=tuple(one.slice(0, len(order)) for one in records),
        labels=np.array([place[one] for one in known.values()], dtype=np.int64),
        ids=tuple(rows.ids[at] if one_file or rows.named else f"{rows.file}: row {rows.ids[at]}" for rows, at in order),
        modality=given.modality,
        inputs=tuple(texts[id(rows)][at] for rows, at in order) if texts[id(given)] else (),
        columns=given.inputs,
        chosen=np.array(chosen) if any(chosen) else None,
        id_column=(columns.id or "id") if given.named else None,
        numbered=given.numbered,
        label_column=columns.label or "label",
        clusters=clusters_of([cells[row] for row in known], options.cluster is not None) if cells else None,
        cluster_column=options.cluster or columns.id or "id",
        classifiers=tuple(opened),
        truncated=truncated,
        left_out={"rows of the pool that are among the examples": twice} if twice else {},
        references=tuple(
            replace(one.slice(len(order), len(one)), label=right, first_row=0) for one in records if len(right)
        ),
    )


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


def _check_used(models: Sequence[tuple[str, Any]], opened: Sequence[Classifier], options: RankOptions) -> None:
    """Raise `UsageError` for a model that has no classes, and for an option that none of the models takes."""
    for (_, model), one in zip(models, opened, strict=True):
        if "dialogue" in one.reads and not {"text", "pair"} & set(one.reads):
            raise UsageError(
                f"{said_model(model)} ranks replies and has no classes; `compare` judges rankers by their predictions "
                "files"
            )
    outside = [isinstance(one, OutsideClassifier) for one in opened]
    if options.gives is not None and not any(
        out and one.kind != "estimator" for out, one in zip(outside, opened, strict=True)
    ):
        raise UsageError("--gives is of functions, modules and ONNX files, and no model is one; leave it out")
    named = [isinstance(model, (str, os.PathLike)) and not (Path(model) / DESCRIPTION).is_file() for _, model in models]
    if options.max_length is not None and not any(hub and not out for hub, out in zip(named, outside, strict=True)):
        raise UsageError("--max-length is of models in the form of Hugging Face, and no model is one; leave it out")


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
