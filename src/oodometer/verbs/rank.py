"""The verb `rank`: several models, a pool and a few labels, or none; which model, how sure, what to label next."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ..arrays import Array
from ..datasets import Dataset
from ..datasets.reading import Batch, Columns, open_examples
from ..engines import task_engine
from ..errors import InputError, UsageError
from ..inference.clusters import EPOCH, EPOCH_OF_ID, named_repeats
from ..models.artifacts import DESCRIPTION
from ..models.base import Classifier, matched
from ..models.opening import open_classifier
from ..models.outside import OutsideClassifier
from ..options import verb
from ..passes.run_folder import run_folder as in_run_folder
from ..persistence import ENDING
from ..predictions import Predictions
from ..rankings.answered import CHOSEN, Answered, clusters_of, shown, was_chosen
from ..rankings.explaining import AT_ONCE, Means, ask_all, explain_suite
from ..rankings.outcome import outcome_of
from ..registry import find
from ..results.ranking import FewShotRanking
from ..runs import places_of_run, places_said
from ..store import Axes, Source, write_result
from ..store.cells import key_array, key_cells
from ..store.memory import decided
from ..store.source import RawTable, open_table
from .model_options import RankOptions
from .opening import Opener, decided_class, positive_column, renamings
from .predict import BY_POSITION, as_names, named_models, said_model, sent_models, twice_named

ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
_ANSWERS = ("probabilities", "logits", "candidate_scores", "prediction")
_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


class Asked(RankOptions):
    """The options of `rank`, which go together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level <= 0.5:
            raise UsageError(f"expected a level above 0.5 such as 0.95, got {self.level}")
        for name in self.factors:
            find("factor", name)
        if self.attribution is not None:
            find("attribution", self.attribution)
        twice = next((name for name, times in Counter(self.factors).items() if times > 1), None)
        if twice is not None:
            raise UsageError(f"the factor {twice} is named twice; name it once")
        if self.explained and self.examples is None and self.unlabelled is not None:
            raise UsageError(
                "attributions are of labelled texts, and there are none; give some with --examples FILE"
            )
        for what, given in (
            ("samples are of an attribution", self.samples is not None),
            ("a normalization is of attributions", self.normalize != "none"),
            (
                "engine and workers are for attributions",
                self.engine is not None or self.workers is not None,
            ),
        ):
            if given and not self.explained:
                raise UsageError(
                    f"{what}, and none was asked for; name one with --attribution or --factor"
                )
        if self.device is not None and not _DEVICE.fullmatch(self.device):
            raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {self.device!r}")
        for name, least in (("samples", 2), ("explain", 1), ("suggest", 0), ("max_length", 2)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"expected {name} to be a number from {least} on, got {value!r}")

    @property
    def columns(self) -> Columns:
        """Where inputs, labels and ids stand."""
        return Columns(as_names(self.inputs), self.label, self.id)

    @property
    def explained(self) -> bool:
        """Whether attributions are asked for."""
        return self.attribution is not None or bool(self.factors)

    @property
    def method(self) -> str:
        """The attribution method that is used."""
        return self.attribution or "lime"


def are_files(models: Sequence[tuple[str, Any]]) -> bool:
    """Whether the models are given by their predictions; `UsageError` where some are and others are not."""
    files = []
    for _, model in models:
        if isinstance(model, (str, os.PathLike)):
            path = Path(str(model))  # of fitted files the reader speaks
            files.append(path.suffix.lower() in (*ENDINGS, ENDING) and not path.is_dir())
        else:
            frame = not callable(model) and hasattr(model, "columns") and not hasattr(model, "ask")
            files.append(isinstance(model, (Predictions, Source, Mapping)) or frame)
    if any(files) and not all(files):
        live, file = models[files.index(False)][0], models[files.index(True)][0]
        remedy = "`oodometer predict` writes the file of a live model"
        raise UsageError(
            f"{file} is a predictions file and {live} a live model: give all models in one form; {remedy}"
        )
    return bool(files) and files[0]


def no_clusters(column: str, columns: Sequence[str], remedy: str, file: str) -> InputError:
    """The error for a column of clusters that is not there."""
    expected = f"a column {column} that tells which rows depend on each other"
    return InputError(
        expected, got=shown(tuple(columns), 12) or "no columns", remedy=remedy, file=file
    )


def check_filled(ids: Sequence[Any], file: str, column: str | None) -> None:
    """Raise `InputError` for a row without an id beside others that have one."""
    empty = next(
        (row for row, cell in enumerate(ids, 1) if cell is None or cell == "" or cell != cell), None
    )
    if empty is not None:
        raise InputError(
            "an id",
            got="an empty cell",
            remedy="name each row",
            file=file,
            row=empty,
            column=column,
        )


def check_classes(
    classes: Sequence[Sequence[int | str]], sources: Sequence[str], remedy: str
) -> None:
    """Raise `InputError` where the models have not the same classes."""
    for names, source in zip(classes[1:], sources[1:], strict=True):
        if {str(cls) for cls in names} != {str(cls) for cls in classes[0]}:
            expected = f"the classes of {sources[0]}, {shown(classes[0])}"
            raise InputError(expected, got=shown(names), remedy=remedy, file=source)


def match_files(models: Sequence[tuple[str, Any]], options: Asked) -> Answered:
    """Read the files, bring rows and classes into the order of the first, and find the labels.

    Labels come from ``examples``, by id, else from the files' own; rows without one are the pool. Ids that repeat, such
    as epochs of a question, are joined by their column `epoch`, else in their order.
    """
    if options.unlabelled is not None:
        raise UsageError(
            "the pool of predictions files is their rows without a label; leave --unlabelled out"
        )
    of_live: dict[str, Any] = {"--input": options.columns.inputs or None, "--gives": options.gives}
    of_live |= {"--max-length": options.max_length, "--device": options.device}
    for what, value in of_live.items():
        if value is not None:
            raise UsageError(
                f"{what} is of live models, and these are predictions files; leave it out"
            )
    examples, known = options.examples, options.reference
    references = () if known is None else known if isinstance(known, (list, tuple)) else [known]
    if references and len(references) != len(models):
        text = f"expected a --reference for each of {len(models)} predictions files"
        raise UsageError(f"{text}, in their order, got {len(references)}")
    key = options.columns.id or "id"
    mapping = dict(renamings(options.mapping, options.positive) or {})
    if examples is None and options.columns.label not in (None, "label"):
        mapping[str(options.columns.label)] = "label"
    wanted = [key, options.columns.label or "label", CHOSEN, *mapping]
    table = None if examples is None else open_table(examples, wanted)
    opener = Opener(mapping or None, options.threshold, options.positive)
    records = _read(models, key, opener, options, () if table is None else table.columns)
    names = [said_model(model) for _, model in models]
    ids = _ids(records, key, names)
    mine = ids[0]
    for i, (own, name) in enumerate(zip(ids, names, strict=True)):  # into the order of the first
        row_of = {row_id: row for row, row_id in enumerate(own)}
        absent = [row_id for row_id in mine if row_id not in row_of]
        more = len(own) - (len(mine) - len(absent))
        if absent or more:
            faults = (
                [f"{len(absent):,} of its ids are absent, such as {absent[0]!r}"] if absent else []
            )
            got = " and ".join([*faults, *([f"{more:,} ids more"] if more else [])])
            remedy = "ask all models about the same rows, each as often, or name rows by another column with --id"
            raise InputError(f"the ids of {names[0]}", got=got, remedy=remedy, file=name)
        records[i] = records[i].take(np.array([row_of[row_id] for row_id in mine], dtype=np.int64))
    chosen = np.zeros(len(mine), dtype=bool)
    for record in records:  # any of the files may say so
        if CHOSEN in record.columns and key != CHOSEN:
            chosen |= [was_chosen(cell) for cell in record.columns[CHOSEN]]
    if table is not None:
        codes, also_chosen = _given(table, records[0], mine, key, options)
        chosen = chosen if also_chosen is None else also_chosen
    else:  # labels that the files hold, which are to agree
        codes = np.full(len(mine), -1, dtype=np.int64)
        for record, name in zip(records, names, strict=True):
            if record.label is None:
                continue
            labels = np.asarray(record.label, dtype=np.int64)
            apart = np.flatnonzero((labels >= 0) & (codes >= 0) & (labels != codes))
            if len(apart):
                classes = record.classes or ()
                first = apart[0]
                expected = f"the same labels in all files, {classes[codes[first]]!r} for id {mine[first]!r}"
                remedy = "where rows of one id are several questions, name another column with --id"
                remedy, got = (
                    f"give the labels with --examples FILE; {remedy}",
                    f"{classes[labels[first]]!r}",
                )
                raise InputError(expected, got=got, remedy=remedy, file=name, column="label")
            codes = np.where(labels >= 0, labels, codes)
    labelled = np.flatnonzero(codes >= 0)
    rows = np.concatenate([labelled, np.flatnonzero(codes < 0)])
    cells: Sequence[Any] = mine
    if options.cluster not in (None, key):
        cells = np.asarray(records[0].columns[str(options.cluster)]).tolist()
    clusters = clusters_of([cells[row] for row in labelled.tolist()], options.cluster is not None)
    if not len(labelled) and clusters_of(cells, options.cluster is not None) is not None:
        clusters = np.zeros(
            0, dtype=np.uint64
        )  # no label depends on another, but rows of the pool do
    if not len(labelled) and table is not None:
        file, remedy = (
            table.file or table.name,
            "fill in a few, or leave --examples out to rank without any label",
        )
        raise InputError("labelled rows", got="none: no row has a label", remedy=remedy, file=file)
    known_ground = []
    for reference in references:  # its rows need not be matched
        source = opener.open(reference, None, axes=Axes(records[0].classes))
        known_ground.append(source.read(_fields(source)).known())
        if not len(known_ground[-1]):
            expected, remedy = "labelled rows of known ground", "give a file with a column label"
            raise InputError(expected, got="none", remedy=remedy, file=said_model(reference))
    return Answered(
        names=tuple(name for name, _ in models),
        sources=tuple(names),
        records=tuple(record.take(rows).without_labels() for record in records),
        labels=codes[labelled].astype(np.int64),
        ids=tuple(mine[row] for row in rows),
        modality="predictions",
        id_column=key,
        numbered=records[0].columns[key].dtype.kind in "iu"
        and not any("_" in name for name in mine),
        label_column="label" if table is None else options.columns.label or "label",
        chosen=chosen[labelled] if chosen[labelled].any() else None,
        references=tuple(known_ground),
        clusters=clusters,
        cluster_column=options.cluster or key,
    )


def _read(
    models: Sequence[tuple[str, Any]],
    key: str,
    opener: Opener,
    options: Asked,
    elsewhere: Sequence[str],
) -> list[Predictions]:
    named = [said_model(model) for _, model in models]
    sources = []
    for (_, model), name in zip(models, named, strict=True):
        source = opener.open(model, options.classes)
        if not source.holds(key):
            expected = f"a column {key} that names the rows"
            remedy = (
                f"name it with --id, or with --map theirs={key} where other files call it {key}; "
            )
            remedy, got = (
                f"{remedy}`oodometer predict` keeps it",
                f"the columns {shown(source.columns, 12)}",
            )
            why = "those of several files are matched by it, never by position"
            raise InputError(f"{expected}: {why}", got=got, remedy=remedy, file=name)
        if not {*_ANSWERS, "correct"} & set(source.fields):
            expected = (
                "probabilities, logits, scores of candidates, predicted classes or correctness"
            )
            remedy = "write them with `oodometer predict`, or rename columns with --map theirs=ours"
            remedy = (
                "means of scores are compared by `oodometer compare`"
                if "score" in source.fields
                else remedy
            )
            raise InputError(
                expected,
                got=f"{shown(source.fields, 12) or 'none of them'}",
                remedy=remedy,
                file=name,
            )
        if options.cluster is not None and not source.holds(options.cluster):
            remedy = "name a column of the files with --cluster, or leave it out"
            raise no_clusters(
                options.cluster, [f"the columns {shown(source.columns, 12)}"], remedy, name
            )
        also = (
            column for column in (CHOSEN, EPOCH, options.cluster) if column and source.holds(column)
        )
        extra = tuple(dict.fromkeys((key, *also)))
        sources.append(opener.open(model, options.classes, extra_columns=extra))
    opener.check(elsewhere)
    by_position = ["candidate_scores" in source.fields for source in sources]
    if all(
        by_position
    ):  # positions among candidates as classes; there are as many as the longest row has
        wanted = ("candidate_scores", "prediction", "label")
        records = [
            source.read([name for name in wanted if name in source.fields]) for source in sources
        ]
        codes = [
            code
            for record in records
            for code in (record.predicted, record.label)
            if code is not None
        ]
        most = max(int(code.max()) for code in codes)
        more: dict[str, Any] = {"candidate_scores": None, "confidence": None, "_cache": {}}
        classes = tuple(range(max(most + 1, 2)))
        return [
            replace(record, classes=classes, prediction=record.predicted, **more)
            for record in records
        ]
    if any(by_position) or not all(set(_ANSWERS) & set(source.fields) for source in sources):
        out = []
        for source, name in zip(
            sources, named, strict=True
        ):  # the classes are wrong and right, and the truth is right
            record = source.read(
                [field for field in (*_ANSWERS, "label", "correct") if field in source.fields]
            )
            absent = np.flatnonzero(record.verdicts < 0)
            if len(absent):
                expected = "whether the answer is right, as there are no classes"
                remedy = (
                    "leave the row out of all files, or give predictions in a column prediction"
                )
                where: dict[str, Any] = {
                    "file": name,
                    "row": int(absent[0]) + 1,
                    "column": "correct",
                }
                raise InputError(expected, got="an empty cell", remedy=remedy, **where)
            bare: dict[str, Any] = dict.fromkeys(
                ("probabilities", "logits", "candidate_scores", "correct")
            )
            bare |= {
                "prediction": record.verdicts.astype(np.int32),
                "label": np.ones(len(record), dtype=np.int32),
            }
            out.append(replace(record, classes=("wrong", "right"), **bare, _cache={}))
        return out
    return [source.read(_fields(source)) for source in _one_order(sources, named, options)]


def _fields(source: Source) -> list[str]:
    return [
        name for name in ("probabilities", "prediction", "label", "logits") if name in source.fields
    ]


def _one_order(sources: list[Source], named: Sequence[str], options: Asked) -> list[Source]:
    """The sources with their classes in the order of the first; `InputError` where they are not the same."""
    if options.classes is not None:
        return sources
    classes = [source.classes or () for source in sources]
    if any("probabilities" in source.fields or "logits" in source.fields for source in sources):
        remedy = "only models of the same classes can be ranked; --classes a,b names them in the order of the "
        check_classes(classes, named, f"{remedy}probabilities")
        return [sources[0], *(source.aligned(Axes(classes[0])) for source in sources[1:])]
    first = {str(name) for name in classes[0]}
    for some, file in zip(
        classes, named, strict=True
    ):  # none in common, or numbers beside words, are of no one set
        own = {str(name) for name in some}
        if not own & first or len({name.lstrip("-").isdigit() for name in own | first}) > 1:
            expected = (
                f"classes of the same names, such as those of {named[0]}, {shown(classes[0])}"
            )
            remedy = "write them in the same words in all files; if they are right as they are, name all classes with "
            raise InputError(expected, got=shown(some), remedy=f"{remedy}--classes a,b", file=file)
    every = tuple(
        dict.fromkeys(name for some in classes for name in some)
    )  # what is seen need not be all there is
    return [source.aligned(Axes.given(every)) for source in sources]


def _ids(records: Sequence[Predictions], key: str, files: Sequence[str]) -> list[list[str]]:
    """The ids of each file, one a row; `InputError` where one is absent, or where repeats cannot be told apart."""
    ids = [
        key_array(record.columns[key], key, file).to_pylist()
        for record, file in zip(records, files, strict=True)
    ]
    for cells, file in zip(ids, files, strict=True):
        check_filled(cells, file, key)
    epochs = [
        record.columns[EPOCH].tolist()
        for record in records
        if EPOCH in record.columns and key != EPOCH
    ]
    named = len(epochs) == len(ids) and all(
        len({*zip(cells, some, strict=True)}) == len(cells)
        for cells, some in zip(ids, epochs, strict=True)
    )
    out = [named_repeats(cells, epochs[i] if named else None) for i, cells in enumerate(ids)]
    for names, file in zip(out, files, strict=True):
        if len(set(names)) < len(names):
            name, times = Counter(names).most_common(1)[0]
            got = f"{name!r} {times} times, beside ids that repeat"
            remedy = "mend them, or name another column with --id"
            raise InputError(
                "ids that name one row each",
                got=got,
                remedy=remedy,
                file=file,
                row=names.index(name) + 1,
                column=key,
            )
    return out


def _given(
    table: RawTable, record: Predictions, ids: Sequence[str], key: str, options: Asked
) -> tuple[Array, Array | None]:
    """Labels of ``examples`` in the order of ``ids``, -1 where there is none; and which rows were chosen, if told."""
    file, classes = table.file or table.name, record.classes or ()
    label = options.columns.label or "label"
    key = _column(table, key, options, f"rename that of this file with --map theirs={key}")
    label = _column(table, label, options, "name it with --label")
    remedy = (
        "write the labels in the words of the columns, or rename the columns with --map theirs=ours"
    )
    if record.probabilities is None:
        remedy = "write the labels in the words of the predictions, or name all classes with --classes a,b,c"
    codes, chosen = np.full(len(ids), -1, dtype=np.int64), np.zeros(len(ids), dtype=bool)
    tells = CHOSEN in table.columns and CHOSEN not in (key, label)
    kinds: dict[str, Any] = {key: "key", label: "any", **({CHOSEN: "any"} if tells else {})}
    code_of = {name: code for code, name in enumerate(classes)}
    exact, of_base = {name: [row] for row, name in enumerate(ids)}, defaultdict(list)
    for row, name in enumerate(ids):
        of_base[EPOCH_OF_ID.sub("", name)].append(row)
    names: list[str] = []
    truth: list[Any] = []
    picked: list[bool] = []
    for batch in table.batches(kinds, 4096):
        try:
            names += key_cells(batch.column(key), key).to_pylist()
        except InputError as error:
            raise error.at(file=file) from None
        cells = batch.column(label).to_pylist()
        truth += matched(
            cells, classes, file=file, first_row=len(truth), column=label, remedy=remedy
        )
        picked += (
            [was_chosen(cell) for cell in batch.column(CHOSEN).to_pylist()]
            if tells
            else [False] * len(cells)
        )
    if not names:
        raise InputError(
            "labelled rows", got="an empty file", remedy="check what wrote it", file=file
        )
    times, own = (
        Counter(names),
        np.full(len(ids), -1) if record.label is None else np.asarray(record.label),
    )
    for row, (name, single) in enumerate(zip(names, named_repeats(names), strict=True)):
        as_often = times[name] == len(of_base.get(name, ()))
        at = (exact.get(single) if as_often else None) or exact.get(name) or of_base.get(name)
        code = -1 if truth[row] is None else code_of[truth[row]]
        fault = None if at else ("the id of a row of the predictions", repr(name))
        if at and code >= 0 and len({code, *codes[at], -1}) > 2:
            fault = "ids that name one row each", f"{name!r} again, with another label"
        if at and code >= 0 and len({*own[at], -1}) > 2:
            fault = (
                "a label for each row of this id, as the predictions hold several",
                "one for all",
            )
        if fault is not None or at is None:
            expected, got = fault or ("", "")
            mend = "mend them, or name another column with --id"
            mend = mend if at else "ask the models about these rows too, or leave the row out"
            raise InputError(expected, got=got, remedy=mend, file=file, row=row + 1, column=key)
        codes[at] = np.where(code < 0, codes[at], code)
        chosen[at] |= picked[row]
    return codes, chosen if tells else None


def _column(table: RawTable, name: str, options: Asked, remedy: str) -> str:
    """What the examples call a column: its own name, or one that is renamed to it."""
    if name in table.columns:
        return name
    renamed = [
        theirs
        for theirs, ours in (options.mapping or {}).items()
        if ours == name and theirs in table.columns
    ]
    if not renamed:
        expected = f"a column {name}: examples are matched to predictions by id"
        got = f"the columns {shown(table.columns, 12)}"
        raise InputError(expected, got=got, remedy=remedy, file=table.file or table.name)
    return renamed[0]


_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
@dataclass(frozen=True)
class Rows:
    """Rows of a file as they were read: inputs (texts in one part), targets (empty without labels), ids (their numbers
    where they are not ``named``), whether each was chosen to be labelled, and cells of the column of clusters.
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
        return (
            tuple(text for part in self.parts for text in part.inputs)
            if self.modality in ("text", "pair")
            else ()
        )


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
    there = getattr(getattr(examples, "table", None), "columns", ())
    key = getattr(examples, "id", None) if there else None
    file = examples.file or examples.name
    more = (CHOSEN,) if label and CHOSEN not in named and CHOSEN in there else ()
    if cluster is not None:
        if cluster not in there:
            raise no_clusters(
                cluster, there, "name one of the examples with --cluster, or leave it out", file
            )
        more = (*more, *(() if cluster in (*more, *named, key) else (cluster,)))
    if more or key:
        examples = open_examples(
            data, opened[0].reads, replace(columns, keep=(*more, *((key,) if key else ())))
        )
    for model, source in zip(opened, sources, strict=True):
        if examples.modality not in model.reads:
            expected = f"models that read {examples.modality}, as {sources[0]} does"
            got = f"one that reads {' or '.join(model.reads)}"
            raise InputError(
                expected, got=got, remedy="name models of the same kind of input", file=source
            )
        if model.by_position and examples.modality == "table" and not columns.inputs:
            raise UsageError(f"{source} {BY_POSITION}")
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [batch.data for batch in batches]
    if examples.modality in ("text", "pair") and len(parts) > 1:
        texts = tuple(text for part in parts for text in part.inputs)
        parts = [Dataset(examples.name, texts, modality=parts[0].modality)]

    def cells(column: str | None) -> list[Any]:
        return [value for batch in batches for value in batch.columns.get(column or "", ())]

    ids, names = tuple(name for batch in batches for name in batch.data.ids), cells(key)
    check_filled(names, file, key)
    if len(set(ids)) < len(ids):
        first: dict[str, int] = {}
        row = next(row for row, name in enumerate(ids, 1) if first.setdefault(name, row) < row)
        got = f"{ids[row - 1]!r} twice, first in row {first[ids[row - 1]]}"
        where: dict[str, Any] = {"file": file, "row": row, "column": key}
        raise InputError("ids that name one row each", got=got, remedy="mend them", **where)
    return Rows(
        parts=tuple(parts),
        targets=tuple(target for batch in batches for target in batch.data.targets)
        if label
        else (),
        ids=ids or tuple(map(str, range(1, sum(map(len, parts)) + 1))),
        named=bool(ids),
        file=file,
        modality=examples.modality,
        inputs=tuple(getattr(examples, "inputs", ())) if examples.modality != "image" else (),
        chosen=tuple(map(was_chosen, cells(CHOSEN))),
        clusters=ids if cluster == key and key else tuple(cells(cluster)),
        numbered=bool(names) and all(isinstance(name, int | np.integer) for name in names),
    )


def ask_models(
    models: Sequence[tuple[str, Any]],
    options: Asked,
    means: Means,
    progress: Callable[[int, int], None] | None,
) -> Answered:
    """Open the models, read the data and ask; what the folder of ``means`` has is not asked again.

    Rows of `examples` without a label join the pool; rows of the pool that are among the examples are left out.
    """
    if positive_column(options.positive) is not None:
        remedy = "=CLASS alone says for which class live models decide"
        raise UsageError(f"--positive COLUMN is of predictions files; {remedy}")
    if options.mapping:
        raise UsageError(
            "--map renames columns of predictions files; name those of data with --input, --label, --id"
        )
    if options.examples is None and options.unlabelled is None:
        text = "live models are asked about labelled examples, --examples FILE, or rows without labels, --unlabelled"
        raise UsageError(f"{text} FILE: give one of them; ten labels already help")
    if isinstance(options.reference, (list, tuple)):
        raise UsageError(
            "live models have one reference, which all are asked about; give a single file"
        )
    opened, columns = (
        [open_classifier(model, **options.of_models) for _, model in models],
        options.columns,
    )
    sources = [said_model(model) for _, model in models]
    for source, model in zip(sources, opened, strict=True):
        if "dialogue" in model.reads and not {"text", "pair"} & set(model.reads):
            remedy = "`compare` judges rankers by their predictions files"
            raise UsageError(f"{source} ranks replies and has no classes; {remedy}")
    outside = [isinstance(model, OutsideClassifier) for model in opened]
    if options.gives is not None and not any(
        out and model.kind != "estimator" for out, model in zip(outside, opened, strict=True)
    ):
        raise UsageError(
            "--gives is of functions, modules and ONNX files, and no model is one; leave it out"
        )
    if options.max_length is not None and not any(
        isinstance(model, (str, os.PathLike))
        and not (Path(model) / DESCRIPTION).is_file()
        and not out
        for (_, model), out in zip(models, outside, strict=True)
    ):
        raise UsageError(
            "--max-length is of models in the form of Hugging Face, and no model is one; leave it out"
        )
    bare = options.examples is None
    of_both = options.unlabelled if bare else options.examples
    first = replace(columns, label=None) if bare else columns
    given = _read_rows(of_both, opened, sources, first, label=not bare, cluster=options.cluster)
    row = given.parts[0].take([0])
    of_each = [
        m.classes or m.ask(Dataset(row.name, row.inputs, modality=row.modality)).classes
        for m in opened
    ]
    remedy = "only models of the same classes can be ranked; if only the names differ, and the outputs of all stand in "
    check_classes(of_each, sources, f"{remedy}one order, name them in it with --classes a,b")
    classes = of_each[0]

    def like(data: Any, label: bool) -> Rows | None:
        """Further rows of the form of the examples; `InputError` where they are of another one."""
        if data is None:
            return None
        wanted = Columns(
            given.inputs or columns.inputs, columns.label if label else None, columns.id
        )
        rows = _read_rows(data, opened, sources, wanted, label=label)
        if rows.modality != given.modality:
            expected, remedy = (
                f"rows like those of {given.file}, {given.modality}",
                "give rows of the same form",
            )
            raise InputError(expected, got=rows.modality, remedy=remedy, file=rows.file)
        return rows

    pool = None if bare else like(options.unlabelled, False)
    known_ground = like(options.reference, True)
    labelled = {} if bare else _labels(given, classes, columns.label)
    picked = [
        (given, list(labelled)),
        (given, [row for row in range(len(given.ids)) if row not in labelled]),
    ]
    twice = 0
    if pool is not None:  # its rows that are not among the examples: by id, else by the text itself
        mine: Sequence[Any] = (
            pool.ids if pool.named and given.named else pool.texts if given.texts else ()
        )
        there = set(given.ids if pool.named and given.named else given.texts)
        fresh = (
            [row for row, key in enumerate(mine) if key not in there]
            if mine
            else list(range(len(pool.ids)))
        )
        picked, twice = [*picked, (pool, fresh)], len(pool.ids) - len(fresh)
    order = [(rows, at) for rows, some in picked for at in some]
    blocks, truth = picked, {}
    if known_ground is not None:
        truth = _labels(known_ground, classes, columns.label)
        blocks = [*picked, (known_ground, list(truth))]
    names = [name for name, _ in models]
    parts: list[Dataset] = []  # what is asked at once, in the order of the rows
    for rows, some in blocks:
        start = 0
        for part in rows.parts:
            inside = [at - start for at in some if start <= at < start + len(part)]
            start += len(part)
            if inside:
                parts.append(
                    Dataset(
                        part.name, part.inputs, source=part.source, modality=part.modality
                    ).take(inside)
                )
    if parts[0].modality in ("text", "pair"):  # texts of all files together
        whole = tuple(text for part in parts for text in part.inputs)
        cuts = [whole[start : start + AT_ONCE] for start in range(0, len(whole), AT_ONCE)]
        about: dict[str, Any] = {"source": parts[0].source, "modality": parts[0].modality}
        parts = [Dataset(parts[0].name, cut, **about) for cut in cuts]
    records, truncated = ask_all(opened, names, parts, classes, means.sent, means.folder, progress)
    if options.threshold is not None:  # for the class named or the second by name
        positive = [decided_class(record.classes, options.positive) for record in records]
        records = [
            decided(each, options.threshold, cls)
            for each, cls in zip(records, positive, strict=True)
        ]
    one_file = len({id(rows) for rows, _ in order}) == 1
    code_of = {name: code for code, name in enumerate(classes)}
    chosen = (
        [given.chosen[row] for row in labelled] if given.chosen else []
    )  # without a label a row decides nothing
    cells = given.clusters if options.cluster else given.ids if given.named else ()
    texts = {id(rows): rows.texts for rows, _ in picked}
    right = np.array([code_of[name] for name in truth.values()], dtype=np.int32)
    on_known_ground = [each.slice(len(order), len(each)) for each in records if len(right)]
    return Answered(
        names=tuple(names),
        sources=tuple(sources),
        records=tuple(record.slice(0, len(order)) for record in records),
        labels=np.array([code_of[name] for name in labelled.values()], dtype=np.int64),
        ids=tuple(
            rows.ids[at] if one_file or rows.named else f"{rows.file}: row {rows.ids[at]}"
            for rows, at in order
        ),
        modality=given.modality,
        inputs=tuple(texts[id(rows)][at] for rows, at in order) if texts[id(given)] else (),
        columns=given.inputs,
        chosen=np.array(chosen) if any(chosen) else None,
        id_column=(columns.id or "id") if given.named else None,
        numbered=given.numbered,
        label_column=columns.label or "label",
        clusters=clusters_of([cells[row] for row in labelled], options.cluster is not None)
        if cells
        else None,
        cluster_column=options.cluster or columns.id or "id",
        classifiers=tuple(opened),
        truncated=truncated,
        left_out={"rows of the pool that are among the examples": twice} if twice else {},
        references=tuple(replace(each, label=right, first_row=0) for each in on_known_ground),
    )


def _labels(rows: Rows, classes: Sequence[int | str], column: str | None) -> dict[int, int | str]:
    """Row -> its class, of the rows that have one; `InputError` where none has, or one is no class of the models."""
    column = column or "label"
    truth = (
        matched(rows.targets, classes, file=rows.file, first_row=0, column=column)
        if rows.targets
        else []
    )
    labelled = {row: name for row, name in enumerate(truth) if name is not None}
    if not labelled:
        remedy = "name the column of the truth with --label, or label a few rows; ten already help"
        raise InputError(
            "labelled rows", got=f"no value in a column {column}", remedy=remedy, file=rows.file
        )
    return labelled


_SUGGESTED = (".csv", ".jsonl")


def check_out(out: str | os.PathLike[str] | None, suggest: int) -> None:
    """Raise `UsageError` where a file for suggested rows makes no sense, or cannot be written in its form."""
    if out is None:
        return
    if not suggest:
        raise UsageError("an output file is for suggested rows: say how many with --suggest")
    if Path(out).suffix.lower() not in _SUGGESTED:
        raise UsageError(f"cannot write {out}: end the name in {' or '.join(_SUGGESTED)}")


def write_suggested(ranking: FewShotRanking, out: str | os.PathLike[str]) -> None:
    """Write the suggested rows: id, the text in the columns that it came from, and an empty label to fill in.

    Columns are called as in the labelled rows, so that the file can be put behind them; ids are left out where the text
    itself tells rows apart. A column ``chosen`` says that the rows are no random sample.
    """
    check_out(out, len(ranking.suggested) or 1)
    rows = []
    for name, text in ranking.suggested or [("", None)]:  # without any the heads are written
        parts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
        usual = ("text",) if len(parts) == 1 else tuple(f"text_{i + 1}" for i in range(len(parts)))
        columns = ranking.columns if len(ranking.columns) == len(parts) else usual
        key = ranking.id_column or (None if parts else "id")
        named: dict[str, Any] = (
            {} if key is None else {key: int(name) if ranking.numbered and name else name}
        )
        more = {ranking.label_column: "", CHOSEN: "by disagreement"}
        rows.append({**named, **dict(zip(columns, parts, strict=True)), **more})
    heads = list(rows[0])
    rows = rows if ranking.suggested else []
    if Path(out).suffix.lower() == ".jsonl":
        lines = (
            json.dumps({**row, ranking.label_column: None}, ensure_ascii=False) + "\n"
            for row in rows
        )
        write_result(out, "".join(lines))
        return
    file = io.StringIO()
    writer = csv.DictWriter(file, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_result(out, file.getvalue())


_ASKING, _WHOLE = 100, 1000  # of the progress, where attributions are made


@verb(Asked)
def rank(options: Asked) -> FewShotRanking:
    """Rank models by a few labelled rows of the data in question, or none, and a pool of rows without labels.

    P(a beats b) and P(best) are those of `oodometer.rankings.posterior_by_pattern`, of two models and without a pool
    of `posterior`: two models differ in accuracy only where they disagree. P(best) is no larger than what came true of
    such on public suites (`oodometer.rankings.came_true`). Without a label agreement decides, and the reference where
    there is one. The order is by expected accuracy, without a pool by right answers. Raises `InputError` for models or
    data that cannot be used, `UsageError` for a call that makes no sense.
    Source: Singhal et al. (2022) for the task, the baselines and the factors.

    >>> import numpy as np
    >>> loud = lambda texts: np.array([[0.2, 0.8] if text.isupper() else [0.7, 0.3] for text in texts])
    >>> rows = {"text": ["AH", "oh", "NO", "yes"], "label": [1, 0, 1, 0]}
    >>> found = rank({"loud": loud, "deaf": lambda texts: loud(texts)[:, ::-1]}, examples=rows, classes=[0, 1])
    >>> found.models, round(found.pairs[0].p_a_better, 3), found.ranking[0].right
    (('loud', 'deaf'), 0.91, 4)
    """
    engine = task_engine(options.engine, options.workers)
    renamings(
        options.mapping, options.positive
    )  # says what is wrong with them before a model is opened
    named = named_models(options.models)
    if len(named) < 2:
        raise UsageError(
            f"expected at least two models to rank, got {len(named)}; for one there is `audit`"
        )
    models = [model for _, model in named]
    twice = twice_named(models)
    if twice is not None:
        of_path = isinstance(twice, (str, os.PathLike))
        called = str(twice) if of_path else next(n for n, model in named if model is twice)
        raise UsageError(
            f"{called} is named twice: a model is neither better nor worse than itself; name another one"
        )
    alike = next(
        (name for name, times in Counter(name for name, _ in named).items() if times > 1), None
    )
    if alike is not None:
        raise UsageError(f"two models have the name {alike}; give each its own, NAME=MODEL")
    data = {name: getattr(options, name) for name in ("examples", "unlabelled", "reference")}
    live, run_folder = not are_files(named), options.run_folder
    if run_folder is not None and not live:
        text = "a run folder keeps what live models answer, and these are predictions files: no model is asked"
        raise UsageError(f"{text}; leave --run-folder out")
    about: dict[str, str] = {}
    if run_folder is not None:  # a model may be a name of a hub or of a module
        given_data = {name: value for name, value in data.items() if value is not None}
        about = {
            "verb": "rank",
            **places_of_run(models=models, **given_data),
            **places_said(models=models),
        }
    means = Means()
    if live and (engine is not None or run_folder is not None):
        means = Means(sent_models(models, options.of_models), engine)
    if engine is not None and any(model.on_gpu_here for model in means.sent or ()):
        means = replace(means, engine=task_engine(options.engine, options.workers, gpu=True))

    def part(start: int, stop: int) -> Callable[[int, int], None] | None:
        """Progress of a part as one of the whole."""
        progress = options.progress
        if progress is None:
            return None
        return lambda done, total: progress(start + (stop - start) * done // max(total, 1), _WHOLE)

    asking = part(0, _ASKING) if options.explained else options.progress
    with in_run_folder(run_folder, about) as folder:
        means = replace(means, folder=folder)
        suite = ask_models(named, options, means, asking) if live else match_files(named, options)
        suite.check()
        explained, why = None, ""
        if options.explained:
            explained, why = explain_suite(suite, options, part(_ASKING, _WHOLE), means)
        about_data: dict[str, str | None] = {}
        for name, value in data.items():
            several = isinstance(value, (list, tuple))
            path = (
                str(value)
                if isinstance(value, (str, os.PathLike))
                else f"in memory ({type(value).__name__})"
            )
            about_data[name] = (
                None
                if value is None
                else shown([said_model(x) for x in value])
                if several
                else path
            )
        return outcome_of(suite, explained, why, options, about_data, options.argv)
