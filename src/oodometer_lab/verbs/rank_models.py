"""Live models that `rank` asks: which rows there are, what is asked of whom, and the answers as one suite."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from oodometer.arrays import Array
from oodometer.classes import matched
from oodometer.engines import task_engine
from oodometer.errors import InputError, UsageError
from oodometer.passes.run_folder import run_folder as in_run_folder
from oodometer.predictions import Predictions
from oodometer.rankings.answered import CHOSEN, Answered, clusters_of, was_chosen
from oodometer.rankings.explained import Explained
from oodometer.runs import places_of_run, places_said
from oodometer.store.memory import decided
from oodometer.verbs.named_models import as_names, said_model
from oodometer.verbs.opening import decided_class, positive_column
from oodometer.verbs.rank_options import Asked, check_classes, check_filled, no_clusters

from ..datasets import Dataset
from ..datasets.reading import Batch, ExampleColumns, Examples, open_examples
from ..models.artifacts import DESCRIPTION
from ..models.base import Classifier, Progress
from ..models.opening import open_classifier
from ..models.outside import OutsideClassifier
from ..rankings.explaining import AT_ONCE, Means, ask_all, explain_suite
from .predict import BY_POSITION, sent_models

_TEXTS = frozenset(("text", "pair"))
_BATCH = 4096  # rows of images or of a table that are asked at once; texts go in one call


@final
class Live(NamedTuple):
    """Models that were opened: their names, where they came from, and themselves."""

    names: tuple[str, ...]
    sources: tuple[str, ...]
    classifiers: tuple[Classifier, ...]


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

    @cached_property
    def texts(self) -> tuple[Any, ...]:
        """The inputs where they are texts or pairs, else none."""
        if self.modality not in _TEXTS:
            return ()
        return tuple(text for part in self.parts for text in part.inputs)

    def picked(self, at: Sequence[int]) -> Iterator[Dataset]:
        """The inputs of rows at these places, part by part, without labels and ids."""
        start = 0
        for part in self.parts:
            within = [position - start for position in at if start <= position < start + len(part)]
            start += len(part)
            if within:
                yield Dataset(
                    part.name, part.inputs, source=part.source, modality=part.modality
                ).take(within)


@final
class Picked(NamedTuple):
    """Some rows of a file, by their places in it."""

    rows: Rows
    at: list[int]


@final
@dataclass(frozen=True)
class Questions:
    """What all models are asked about: the labelled rows, those without a label, and labelled rows of known ground.

    given : the rows of the file that was read first. labelled : its rows with a label -> their class. suite : the rows
    to rank by, the labelled ones first. twice : rows of the pool that are among the examples, which are left out.
    known_ground, truth : rows of the reference, and the classes of those with a label.
    """

    given: Rows
    classes: tuple[int | str, ...]
    labelled: dict[int, int | str]
    suite: tuple[Picked, ...]
    twice: int = 0
    known_ground: Rows | None = None
    truth: dict[int, int | str] = field(default_factory=dict)

    @property
    def parts(self) -> list[Dataset]:
        """What is asked at once, in the order of the rows; texts of all files together."""
        ground = self.known_ground
        blocks = [*self.suite, *([] if ground is None else [Picked(ground, list(self.truth))])]
        parts = [part for rows, at in blocks for part in rows.picked(at)]
        first = parts[0]
        if first.modality not in _TEXTS:
            return parts
        texts = tuple(text for part in parts for text in part.inputs)
        return [
            Dataset(
                first.name,
                texts[start : start + AT_ONCE],
                source=first.source,
                modality=first.modality,
            )
            for start in range(0, len(texts), AT_ONCE)
        ]

    @property
    def order(self) -> list[tuple[Rows, int]]:
        """The rows to rank by, each with its place in its file."""
        return [(rows, at) for rows, places in self.suite for at in places]

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the rows to rank by; numbers of rows with their file, where there are several."""
        order = self.order
        one_file = len({id(rows) for rows, _ in order}) == 1
        return tuple(
            rows.ids[at] if one_file or rows.named else f"{rows.file}: row {rows.ids[at]}"
            for rows, at in order
        )

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Texts or pairs of the rows to rank by, none of other modalities."""
        return tuple(rows.texts[at] for rows, at in self.order if rows.texts)

    @property
    def chosen(self) -> Array | None:
        """Which labelled rows were chosen, None where none was; without a label a row decides nothing."""
        chosen = np.array([self.given.chosen[row] for row in self.labelled if self.given.chosen])
        return chosen if chosen.any() else None

    def clusters(self, column: str | None) -> Array | None:
        """Keys of the clusters of labelled rows, by the column that was named, else by ids that repeat."""
        cells: Sequence[Any] = self.given.ids if self.given.named else ()
        if column:
            cells = self.given.clusters
        return (
            clusters_of([cells[row] for row in self.labelled], column is not None)
            if cells
            else None
        )

    def codes(self, truth: dict[int, int | str]) -> list[int]:
        """Classes of rows as positions among the classes."""
        code_of = {name: code for code, name in enumerate(self.classes)}
        return [code_of[name] for name in truth.values()]


_ASKING, _WHOLE = 100, 1000  # of the progress, where attributions are made
_DATA = ("examples", "unlabelled", "reference")


def ask_models(
    models: Sequence[tuple[str, Any]], options: Asked
) -> tuple[Answered, Explained | None, str]:
    """What live models answer, and where ``options`` ask for it what explains them, or why nothing does.

    Rows of `examples` without a label join the pool; rows of the pool that are among the examples are left out. What
    the run folder has is not asked again. Raises `InputError` for data or models that cannot be used.
    """
    sources = [model for _, model in models]
    about = {} if options.run_folder is None else _about_run(sources, options)
    means = _means(sources, options)
    progress = options.progress
    with in_run_folder(options.run_folder, about) as folder:
        means = replace(means, folder=folder)
        asking = _part(progress, 0, _ASKING) if options.explained else progress
        suite, classifiers = _asked(models, options, means, asking)
        suite.check()
        if not options.explained:
            return suite, None, ""
        explaining = _part(progress, _ASKING, _WHOLE)
        return suite, *explain_suite(suite, classifiers, options, explaining, means)


def _about_run(models: Sequence[Any], options: Asked) -> dict[str, str]:
    """What a run folder is of."""
    about = {"verb": "rank", **places_of_run(models=models)}
    for name in _DATA:
        value = getattr(options, name)
        if value is not None:
            about |= places_of_run(**{name: value})
    return about | places_said(models=models)  # a model may be a name of a hub or of a module


def _means(models: Sequence[Any], options: Asked) -> Means:
    """How live models are asked; an engine knows whether one of them runs on a GPU."""
    engine = task_engine(options.engine, options.workers)
    if engine is None and options.run_folder is None:
        return Means()
    sent = sent_models(models, options.of_models)
    if engine is not None and any(model.on_gpu_here for model in sent):
        engine = task_engine(options.engine, options.workers, gpu=True)
    return Means(sent, engine)


def _part(progress: Progress | None, start: int, stop: int) -> Progress | None:
    """Progress of a part as one of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(start + (stop - start) * done // max(total, 1), _WHOLE)


def _asked(
    models: Sequence[tuple[str, Any]], options: Asked, means: Means, progress: Progress | None
) -> tuple[Answered, tuple[Classifier, ...]]:
    """Open the models, read the data and ask."""
    _check_data(options)
    live = _open_models(models, options)
    questions = _read_questions(live, options)
    records, truncated = ask_all(
        live.classifiers,
        live.names,
        questions.parts,
        questions.classes,
        means.sent,
        means.folder,
        progress,
    )
    if options.threshold is not None:
        records = _decided(records, options.threshold, options.positive)
    return _answered(live, questions, records, truncated, options), live.classifiers


def _check_data(options: Asked) -> None:
    """Raise `UsageError` for options that are of predictions files, and where there are no data."""
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


def _columns(options: Asked) -> ExampleColumns:
    """Where inputs, labels and ids stand in the data."""
    return ExampleColumns(as_names(options.inputs), options.label, options.id)


def _open_models(models: Sequence[tuple[str, Any]], options: Asked) -> Live:
    """The models; `UsageError` for one that ranks replies, and for options that no model takes."""
    live = Live(
        tuple(name for name, _ in models),
        tuple(said_model(model) for _, model in models),
        tuple(open_classifier(model, **options.of_models) for _, model in models),
    )
    for source, model in zip(live.sources, live.classifiers, strict=True):
        if "dialogue" in model.reads and not _TEXTS & set(model.reads):
            remedy = "`compare` judges rankers by their predictions files"
            raise UsageError(f"{source} ranks replies and has no classes; {remedy}")
    outside = [isinstance(model, OutsideClassifier) for model in live.classifiers]
    callables = (
        model.kind != "estimator"
        for model in live.classifiers
        if isinstance(model, OutsideClassifier)
    )
    if options.gives is not None and not any(callables):
        raise UsageError(
            "--gives is of functions, modules and ONNX files, and no model is one; leave it out"
        )
    hugging_face = (
        isinstance(model, (str, os.PathLike))
        and not out
        and not (Path(model) / DESCRIPTION).is_file()
        for (_, model), out in zip(models, outside, strict=True)
    )
    if options.max_length is not None and not any(hugging_face):
        raise UsageError(
            "--max-length is of models in the form of Hugging Face, and no model is one; leave it out"
        )
    return live


def _read_questions(live: Live, options: Asked) -> Questions:
    """The rows of all files, each read in the form of the first; `InputError` where there is no label to be found."""
    columns = _columns(options)
    if options.examples is None:  # without examples the pool decides alone
        rows = _read_rows(
            options.unlabelled,
            live,
            replace(columns, label=None),
            label=False,
            cluster=options.cluster,
        )
    else:
        rows = _read_rows(options.examples, live, columns, label=True, cluster=options.cluster)
    classes = _common_classes(live, rows)
    further = replace(columns, inputs=rows.inputs or columns.inputs)
    pool = known_ground = None
    if options.examples is not None and options.unlabelled is not None:
        pool = _read_alike(
            options.unlabelled, live, rows, replace(further, label=None), label=False
        )
    if options.reference is not None:
        known_ground = _read_alike(options.reference, live, rows, further, label=True)
    labelled = {} if options.examples is None else _labels(rows, classes, columns.label)
    rest = [row for row in range(len(rows.ids)) if row not in labelled]
    suite, twice = [Picked(rows, list(labelled)), Picked(rows, rest)], 0
    if pool is not None:
        fresh = _not_among(pool, rows)
        suite.append(Picked(pool, fresh))
        twice = len(pool.ids) - len(fresh)
    truth = {} if known_ground is None else _labels(known_ground, classes, columns.label)
    return Questions(rows, classes, labelled, tuple(suite), twice, known_ground, truth)


def _common_classes(live: Live, rows: Rows) -> tuple[int | str, ...]:
    """The classes of the first model, which all have; a model that does not know its own is asked about a row."""
    row = rows.parts[0].take([0])
    question = Dataset(row.name, row.inputs, modality=row.modality)
    classes = [model.classes or model.ask(question).classes for model in live.classifiers]
    remedy = "only models of the same classes can be ranked; if only the names differ, and the outputs of all stand in "
    check_classes(classes, live.sources, f"{remedy}one order, name them in it with --classes a,b")
    return tuple(classes[0])


def _read_alike(
    data: Any, live: Live, first: Rows, columns: ExampleColumns, *, label: bool
) -> Rows:
    """Further rows of the form of the ``first`` ones; `InputError` where they are of another one."""
    rows = _read_rows(data, live, columns, label=label)
    if rows.modality != first.modality:
        raise InputError(
            f"rows like those of {first.file}, {first.modality}",
            got=rows.modality,
            remedy="give rows of the same form",
            file=rows.file,
        )
    return rows


def _not_among(pool: Rows, first: Rows) -> list[int]:
    """Rows of the pool that are not among the ``first`` ones: by id, else by the text itself, else all."""
    by_id = pool.named and first.named
    keys: Sequence[Any] = pool.ids if by_id else pool.texts if first.texts else ()
    existing = set(first.ids if by_id else first.texts)
    if not keys:
        return list(range(len(pool.ids)))
    return [row for row, key in enumerate(keys) if key not in existing]


def _read_rows(
    data: Any, live: Live, columns: ExampleColumns, *, label: bool, cluster: str | None = None
) -> Rows:
    """All rows of a file, in batches for images and tables, in one part for texts."""
    examples, key, file = _open(data, live, columns, label, cluster)
    _check_readable(examples, live, columns)
    batches: list[Batch] = list(examples.batches(_BATCH))
    parts = [batch.data for batch in batches]
    if examples.modality in _TEXTS:
        parts = _in_one_part(examples.name, parts)

    def cells(column: str | None) -> list[Any]:
        return [value for batch in batches for value in batch.columns.get(column or "", ())]

    ids, names = tuple(name for part in batches for name in part.data.ids), cells(key)
    check_filled(names, file, key)
    _check_single(ids, file, key)
    targets: tuple[Any, ...] = ()
    if label:
        targets = tuple(target for batch in batches for target in batch.data.targets)
    return Rows(
        parts=tuple(parts),
        targets=targets,
        ids=ids or tuple(map(str, range(1, sum(map(len, parts)) + 1))),
        named=bool(ids),
        file=file,
        modality=examples.modality,
        inputs=() if examples.modality == "image" else tuple(getattr(examples, "inputs", ())),
        chosen=tuple(map(was_chosen, cells(CHOSEN))),
        clusters=ids if cluster == key and key else tuple(cells(cluster)),
        numbered=_are_numbers(names),
    )


def _open(
    data: Any, live: Live, columns: ExampleColumns, label: bool, cluster: str | None
) -> tuple[Examples, str | None, str]:
    """The examples of a file with the columns to carry along, the column of their ids, and what the file is called."""
    reads = live.classifiers[0].reads
    examples = open_examples(data, reads, columns)
    available = getattr(getattr(examples, "table", None), "columns", ())
    key = getattr(examples, "id", None) if available else None
    file = examples.file or examples.name
    keep = _kept_columns(available, columns, key, label, cluster, file)
    if keep:
        examples = open_examples(data, reads, replace(columns, keep=keep))
    return examples, key, file


def _in_one_part(name: str, parts: list[Dataset]) -> list[Dataset]:
    """Texts that were read in batches as one data set."""
    if len(parts) < 2:
        return parts
    texts = tuple(text for part in parts for text in part.inputs)
    return [Dataset(name, texts, modality=parts[0].modality)]


def _are_numbers(names: Sequence[Any]) -> bool:
    return bool(names) and all(isinstance(name, int | np.integer) for name in names)


def _kept_columns(
    available: Sequence[str],
    columns: ExampleColumns,
    key: str | None,
    label: bool,
    cluster: str | None,
    file: str,
) -> tuple[str, ...]:
    """Columns of a file to carry along: what was chosen, clusters, ids; `InputError` for clusters that are absent."""
    named = (*columns.inputs, columns.label, columns.id)
    keep = [CHOSEN] if label and CHOSEN not in named and CHOSEN in available else []
    if cluster is not None:
        if cluster not in available:
            remedy = "name one of the examples with --cluster, or leave it out"
            raise no_clusters(cluster, available, remedy, file)
        if cluster not in (*keep, *named, key):
            keep.append(cluster)
    return (*keep, key) if key else tuple(keep)


def _check_readable(examples: Examples, live: Live, columns: ExampleColumns) -> None:
    """Raise `InputError` for a model that does not read these data, `UsageError` where columns must be named."""
    for model, source in zip(live.classifiers, live.sources, strict=True):
        if examples.modality not in model.reads:
            raise InputError(
                f"models that read {examples.modality}, as {live.sources[0]} does",
                got=f"one that reads {' or '.join(model.reads)}",
                remedy="name models of the same kind of input",
                file=source,
            )
        if model.by_position and examples.modality == "table" and not columns.inputs:
            raise UsageError(f"{source} {BY_POSITION}")


def _check_single(ids: Sequence[str], file: str, column: str | None) -> None:
    """Raise `InputError` for an id that two rows have."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    row = next(row for row, name in enumerate(ids, 1) if first.setdefault(name, row) < row)
    raise InputError(
        "ids that name one row each",
        got=f"{ids[row - 1]!r} twice, first in row {first[ids[row - 1]]}",
        remedy="mend them",
        file=file,
        row=row,
        column=column,
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


def _decided(
    records: Sequence[Predictions], threshold: float, positive: str | None
) -> list[Predictions]:
    """Records decided by a threshold, for the class named or the second by name."""
    classes = [decided_class(record.classes, positive) for record in records]
    return [decided(record, threshold, name) for record, name in zip(records, classes, strict=True)]


def _answered(
    live: Live,
    questions: Questions,
    records: Sequence[Predictions],
    truncated: dict[str, int],
    options: Asked,
) -> Answered:
    """The answers as a suite; those on known ground come last in the records."""
    rows, columns, ids = questions.given, _columns(options), questions.ids
    right = np.array(questions.codes(questions.truth), dtype=np.int32)
    known_ground = [record.slice(len(ids), len(record)) for record in records if len(right)]
    left_out = {"rows of the pool that are among the examples": questions.twice}
    return Answered(
        names=live.names,
        sources=live.sources,
        records=tuple(record.slice(0, len(ids)) for record in records),
        labels=np.array(questions.codes(questions.labelled), dtype=np.int64),
        ids=ids,
        modality=rows.modality,
        inputs=questions.inputs,
        columns=rows.inputs,
        chosen=questions.chosen,
        id_column=(columns.id or "id") if rows.named else None,
        numbered=rows.numbered,
        label_column=columns.label or "label",
        clusters=questions.clusters(options.cluster),
        cluster_column=options.cluster or columns.id or "id",
        truncated=truncated,
        left_out=left_out if questions.twice else {},
        references=tuple(replace(record, label=right, first_row=0) for record in known_ground),
    )
