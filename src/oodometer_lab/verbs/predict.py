"""The verb `predict`: a live model, or the log of an evaluation harness, into a predictions file; it goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.classes import matched
from oodometer.engines import run_tasks, task_engine
from oodometer.errors import InputError, UsageError
from oodometer.options import declared, verb
from oodometer.predictions import Predictions
from oodometer.results.prediction import Prediction
from oodometer.runs import Kept, places_said, running
from oodometer.store import as_source, refuse_clashes, write_predictions
from oodometer.store.harness import LogOptions, log_files, log_kind
from oodometer.store.write import write_part
from oodometer.verbs.named_models import as_names, said_model, twice_named
from oodometer.verbs.read import EXAMPLES, check_out, read
from oodometer.verbs.read_content import known_number
from oodometer.version import __version__

from ..datasets.reading import CONDITION, Batch, Drawing, ExampleColumns, Examples, open_examples
from ..models.artifacts import fingerprint
from ..models.base import Classifier, Request, only_shift
from ..models.ensemble import Ensemble
from ..models.opening import SentModel, forgetting, kept_model, open_classifier, path_of, stamp_of
from ..models.seq2seq import is_sequence_model
from ..models.torch.library import on_gpu
from .options import PredictOptions
from .predict_sequences import predict_sequences

BY_POSITION = (
    "tells the columns of a table by their order alone, and another file may have another: name them in the order that "
    "it wants, with --input a --input b"
)


def sent_models(models: Sequence[Any], options: Mapping[str, Any]) -> list[SentModel]:
    """The models as they travel to workers; `UsageError` for one that has no path."""
    return [SentModel(path, stamp_of(path), options) for path in map(path_of, models)]


def is_log(model: Any, data: Any, log: LogOptions) -> bool:
    """Whether a log, not a live model, is meant; `UsageError` for what does not go together."""
    if data is None:
        paths = model if isinstance(model, Sequence) and not isinstance(model, str) else [model]
        if len(paths) and all(_is_path(path) and os.path.exists(path) for path in paths):
            return bool(log_files(model))
        name = model if _is_path(model) else type(model).__name__
        raise UsageError(
            f"{name} is no log that is there, and a live model needs DATA: oodometer predict MODEL DATA --out FILE"
        )
    if log_kind(model) is not None or _is_folder_of_logs(model):
        raise UsageError(
            f"{model} holds the answers already: leave {data if isinstance(data, str) else 'DATA'} out; "
            "several logs go in as a folder"
        )
    if log.metric is not None or log.filter is not None:
        raise UsageError(
            "--metric and --filter are of logs; the accuracy of a live model comes from its labels"
        )
    return False


def _is_path(model: Any) -> bool:
    return isinstance(model, (str, os.PathLike))


def _is_folder_of_logs(model: Any) -> bool:
    """Whether a folder holds logs, and no model."""
    names = os.listdir(model) if _is_path(model) and os.path.isdir(model) else []
    if any(name.endswith("config.json") for name in names):
        return False
    return any(
        name.endswith(".eval") or (name.startswith("samples_") and ".jsonl" in name)
        for name in names
    )


_MOST = 64  # stretches of batches that are tasks: each reads text formats from their beginning


class Asked(PredictOptions):
    """The options of `predict`, which go together, and what the data and the model are asked by them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average and not self.members:
            raise UsageError("average is of several models: name the others with --member")
        if self.augmentation != "shift" and not self.views:
            raise UsageError("augmentation is of views: say with --views how many")
        if self.unlabelled and self.label is not None:
            raise UsageError(
                "--label names the truth and --unlabelled leaves it out; give one of them"
            )
        if self.batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, got {self.batch_rows}")
        if self.max_length is not None and self.max_length < 2:
            raise UsageError(f"expected max_length of at least 2 tokens, got {self.max_length}")
        if self.candidates < 2:
            raise UsageError(f"expected at least 2 candidates, got {self.candidates}")

    @property
    def where_it_stands(self) -> ExampleColumns:
        """Where inputs, labels and ids stand."""
        return ExampleColumns(as_names(self.inputs), self.label, self.id, as_names(self.keep))

    @property
    def extra(self) -> tuple[str, ...]:
        """Further columns of the predictions."""
        return ("id", *self.where_it_stands.keep, "time", "group", "variance", *CONDITION)

    def examples(self, reads: Sequence[Any]) -> Examples:
        """The data as models of these kinds read them; `UsageError` for replies where they read no dialogues."""
        if self.replies is not None and "dialogue" not in reads:
            raise UsageError(
                "replies are of rankers, and this model reads no dialogues; leave them out"
            )
        return open_examples(
            self.data,
            reads,
            self.where_it_stands,
            Drawing(self.candidates, self.seed, self.replies),
        )

    def batches(self, examples: Examples, first: int = 0) -> Iterator[tuple[int, Batch]]:
        """Batches from the ``first`` on with their places; without images that do not decode, where so asked."""
        batches = examples.batches(self.batch_rows, skip=self.on_error == "skip", first=first)
        return enumerate(batches, first)

    def settings(self) -> dict[str, Any]:
        """What the predictions depend on, ready for JSON."""
        plain = (
            "features",
            "views",
            "dropout",
            "seed",
            "augmentation",
            "average",
            "gives",
            "max_length",
            "label",
        )
        more = ("id", "keep_input", "unlabelled", "on_error", "batch_rows", "candidates")
        return {name: getattr(self, name) for name in (*plain, *more)} | {
            "inputs": list(as_names(self.inputs)),
            "keep": list(as_names(self.keep)),
            "members": [str(member) for member in self.members],
            "classes": None if self.classes is None else list(self.classes),
            "replies": None if self.replies is None else str(self.replies),
        }

    def opened(self) -> Classifier:
        """The model, or the ensemble of it and the members; `UsageError` for a model that is named twice."""
        models = [self.model, *self.members]
        twice = twice_named(models)
        if twice is not None:  # it agrees with itself, whatever it says
            raise UsageError(
                f"{twice} is named twice: a model agrees with itself; give each --member another model"
            )
        classifiers = [open_classifier(source, **self.of_models) for source in models]
        if len(classifiers) == 1:
            return classifiers[0]
        paths = map(_is_path, models)
        last = [
            Path(str(m)).name if path else type(m).__name__
            for m, path in zip(models, paths, strict=True)
        ]
        names = [name if last.count(name) == 1 else f"{name}_{i}" for i, name in enumerate(last)]
        return Ensemble(classifiers, names=names, average=self.average)


@final
class Parts:
    """The finished batches of a job: records in files, or in memory, and a note of each; ``extra``: more columns."""

    def __init__(self, kept: Kept, extra: tuple[str, ...]) -> None:
        self.kept, self.extra = kept, extra
        self._records: list[Predictions] = []
        self.notes: list[dict[str, Any]] = []  # of the batches that are finished, from the first on
        self.look()

    def look(self) -> None:
        """See what else is finished, by tasks elsewhere."""
        while (note := self.note(len(self.notes))) is not None:
            self.notes.append(note)

    def add(self, record: Predictions | None, note: dict[str, Any], number: int) -> None:
        """Keep the batch at a place, None where nothing of it could be read, and what is to be known of it."""
        if record is not None and self.kept.folder is None:
            self._records.append(record)
        elif record is not None:
            write_part(record, self._file(number))
        self.kept.keep(f"part-{number:06d}", {**note, "empty": record is None})
        self.look()

    def records(self) -> Iterator[Predictions]:
        """All batches in their order."""
        yield from self._records
        for number, note in enumerate(self.notes if self.kept.folder is not None else ()):
            if not note["empty"]:
                yield read_all(self._file(number), self.extra)

    def note(self, number: int) -> dict[str, Any] | None:
        """What is noted of the batch at a place; None where it is not finished, though others may be."""
        note: dict[str, Any] | None = self.kept.get(f"part-{number:06d}")
        is_finished = note is not None and (
            note["empty"] or self.kept.folder is None or self._file(number).is_file()
        )
        return note if is_finished else None

    def _file(self, number: int) -> Path:
        return self.kept.path / f"part-{number:06d}.parquet"


def read_all(path: Path, extra: tuple[str, ...]) -> Predictions:
    """A predictions file with every field, texts too, and such further columns as there are."""
    columns = as_source(path).columns
    source = as_source(path, extra_columns=tuple(name for name in extra if name in columns))
    return source.read(source.fields)


def ask_batch(
    classifier: Classifier,
    examples: Examples,
    batch: Batch,
    options: Asked,
    parts: Parts,
    number: int,
    tell: Callable[[int, int], None],
) -> None:
    """Ask about a batch and keep the answers as the part at its place."""
    data, record, first = batch.data, None, batch.first_row
    if len(data):
        request = Request(
            features=options.features,
            views=options.views,
            dropout=options.dropout,
            seed=options.seed,
            augmentation=options.augmentation,
            first_row=first,
        )
        try:
            answers = classifier.ask(data, request, progress=tell)
        except InputError as error:
            raise error.at(file=examples.file, row_offset=first) from None
        beside = _beside(examples, batch, options, answers.classes)
        try:
            record = answers.record(**beside)
        except InputError as error:
            raise error.at(file=str(options.label or data.source), row_offset=first) from None
    truncated = 0 if record is None else classifier.truncated
    parts.add(
        record, {"truncated": truncated, "skipped": list(batch.skipped), "read": batch.read}, number
    )


def _beside(
    examples: Examples, batch: Batch, options: Asked, classes: Sequence[int | str]
) -> dict[str, Any]:
    """What a record holds beside the answers to a batch: labels, ids, further columns and texts."""
    data, columns = batch.data, dict[str, Any]()
    fields: dict[str, Any] = {"columns": columns}
    if len(data.targets) and not options.unlabelled:
        fields["label"] = list(data.targets)  # of dialogues positions among candidates
        if data.modality != "dialogue":
            folder = examples.file if examples.labels_are_folders else None
            fields["label"] = matched(
                data.targets,
                classes,
                file=data.source,
                first_row=batch.first_row,
                column=options.label or "label",
                images=() if folder is None else [f"{folder}/{image}" for image in data.ids],
            )
    if data.ids:
        columns["id"] = np.array(data.ids, dtype=object)
    for name, values in batch.columns.items():
        (fields if name in ("time", "group") else columns)[name] = values
    if options.keep_input and data.modality in ("text", "pair"):
        texts = [text if isinstance(text, str) else "\t".join(text) for text in data.inputs]
        fields["input"] = np.array(texts, dtype=object)
    return fields


@final
@dataclass(frozen=True)
class _Task:
    """Asks about a stretch of batches: the places from ``start`` on and before ``stop``, None for the end."""

    options: Asked
    kept: Kept
    stamp: str
    gpu: bool

    def __call__(self, stretch: tuple[int, int | None]) -> None:
        start, stop = stretch
        options, parts = self.options, Parts(self.kept, self.options.extra)
        with kept_model(f"predict {self.kept.question}", options.opened) as classifier:
            examples = options.examples(classifier.reads)
            if repr(examples.stamp) != self.stamp:
                raise UsageError(
                    f"{options.data} is another one to a worker: all must see the same file, and it may not "
                    "change while it is read"
                )
            batches = options.batches(examples, start)
            for number, batch in takewhile(lambda pair: stop is None or pair[0] < stop, batches):
                if number >= len(parts.notes) and parts.note(number) is None:
                    ask_batch(
                        classifier, examples, batch, options, parts, number, lambda done, of: None
                    )


def _ask_elsewhere(examples: Examples, options: Asked, parts: Parts) -> None:
    """Ask about all batches that are not finished; `UsageError` where model, data or predictions are in memory."""
    if parts.kept.folder is None or not _is_path(options.data):
        raise UsageError(
            "workers open model and data by their paths and write files: name both by paths and give out=, or leave "
            "engine and workers out"
        )
    device, progress, size = options.device, options.progress, options.batch_rows
    runner = task_engine(options.engine, options.workers, gpu=device != "cpu" and on_gpu(device))
    assert runner is not None
    task = _Task(
        replace(
            options,
            model=os.fspath(options.model),
            data=os.fspath(options.data),
            progress=None,
        ),
        parts.kept.sent,
        repr(examples.stamp),
        device != "cpu",
    )
    if examples.rows is not None:
        count = max(1, -(-examples.rows // size))
    else:  # read through, as the source does not tell
        count = max(1, sum(1 for _ in examples.batches(size, skip=True)))
    each = -(-count // _MOST)
    parts.kept.tell(len(parts.notes), count)
    # The last one has no end: batches of a file may be smaller than asked for, and so more than counted.
    stretches = [
        (start, start + each if start + each < count else None) for start in range(0, count, each)
    ]

    def tell(stretch: tuple[int, int | None]) -> None:
        before = len(parts.notes)
        parts.look()
        parts.kept.tell(len(parts.notes), count, worked=len(parts.notes) - before)
        if progress is not None:
            rows = examples.rows or count * size
            progress(min(rows, (stretch[1] or count) * size), examples.rows or 0)

    with forgetting():
        run_tasks(runner, task, stretches, on_done=tell)
    parts.look()


@verb(Asked)
def predict(options: Asked) -> Prediction:
    """Ask a live model about data, or read the log in which it has answered, and write a predictions file.

    The same call goes on where an interrupted one ended. Raises `InputError` for data or models that cannot be used.

    >>> import numpy as np
    >>> def loud(texts):
    ...     return np.array([[0.1, 0.9] if text.isupper() else [0.8, 0.2] for text in texts])
    >>> found = predict(loud, {"text": ["AH", "oh"], "label": ["yes", "yes"]}, classes=["no", "yes"])
    >>> found.rows, found.accuracy.value, found.record.probabilities[:, 1].tolist()
    (2, 0.5, [0.9, 0.2])
    """
    model, data, out = options.model, options.data, options.out
    # says what is wrong with it before a model is opened
    task_engine(options.engine, options.workers)
    read_files = [data, *(model if isinstance(model, (list, tuple)) else [model])]
    refuse_clashes({"the file to write": out}, read_files)
    log = LogOptions(options.metric, options.filter, options.keep_input)
    if is_log(model, data, log):
        return _read_log(options)
    if is_sequence_model(model):
        return predict_sequences(options)
    classifier = options.opened()
    examples = options.examples(classifier.reads)
    _check_fit(classifier, examples, options)
    check_out(out)
    with running(_kept(options, examples), passing=True) as kept:
        parts = Parts(kept, options.extra)
        if options.engine is not None or options.workers is not None:
            _ask_elsewhere(examples, options, parts)
        else:
            _ask_here(classifier, examples, options, parts)
        skipped = [(str(name), str(why)) for note in parts.notes for name, why in note["skipped"]]
        read = sum(note["read"] for note in parts.notes)
        if len(skipped) == read:
            raise _nothing_read(examples, read)
        record = Predictions.concat(list(parts.records()))
        if out is not None:
            write_predictions(record, out)
        accuracy, repeated = known_number(record)
        return Prediction(
            version=__version__,
            model=said_model(model),
            data=examples.name,
            out=None if out is None else str(out),
            rows=len(record),
            classes=tuple(record.classes or ()),
            fields=record.fields,
            accuracy=accuracy,
            skipped=len(skipped),
            examples=tuple(skipped[:EXAMPLES]),
            truncated=sum(note["truncated"] for note in parts.notes),
            warnings=repeated,
            record=record if out is None else None,
        )


def _check_fit(classifier: Classifier, examples: Examples, options: Asked) -> None:
    """Raise `UsageError` for columns that a model knows by their order alone, and an augmentation of other data."""
    is_table = examples.modality == "table"
    if classifier.by_position and is_table and not options.where_it_stands.inputs:
        raise UsageError(f"this model {BY_POSITION}")
    if examples.modality != "image":
        only_shift(options.augmentation, "a table" if is_table else "texts")


_OF_LOGS = frozenset(
    ("model", "data", "out", "keep_input", "metric", "filter", "engine", "workers", "progress")
)


def _read_log(options: Asked) -> Prediction:
    """The answers of a log; `UsageError` for options of live models."""
    check_out(options.out)
    if any(
        getattr(options, name) != field.default
        for name, field, _ in declared(Asked)
        if name not in _OF_LOGS
    ):
        raise UsageError(
            "a log holds the answers already: only --metric, --filter and --keep-input go with it"
        )
    result = read(
        options.model,
        out=options.out,
        metric=options.metric,
        filter=options.filter,
        keep_input=options.keep_input,
    )
    line = "a log has a command of its own, `oodometer read LOG`"
    return replace(result, warnings=(*result.warnings, line))


def _kept(options: Asked, examples: Examples) -> Kept:
    """Where finished batches are kept: beside the file to write, where model and data are known by their paths."""
    model, out = options.model, options.out
    folder, job = None, ""
    paths = [path for path in (model, *options.members, options.replies) if path is not None]
    of_paths = all(_is_path(path) for path in paths)
    if out is not None and examples.stamp is not None and of_paths:
        files = [stamp_of(path) for path in paths]
        job = fingerprint(
            {"files": files, "data": examples.stamp, **options.settings(), "version": __version__}
        )
        folder = Path(out).with_name(f".{Path(out).name}.parts")
    places = places_said(model=model, data=options.data, out=out)
    return Kept(folder, {"verb": "predict", **places}, job)


def _ask_here(classifier: Classifier, examples: Examples, options: Asked, parts: Parts) -> None:
    """Ask about all batches that are not finished, one after another."""
    total, done = examples.rows or 0, 0
    progress = options.progress or (lambda done, of: None)
    count = -(-total // options.batch_rows)
    parts.kept.tell(len(parts.notes), count)

    def tell(before: int, rows: int, at: int, every: int) -> None:
        progress(before + rows * at // max(every, 1), total)

    for number, batch in options.batches(examples):
        if number >= len(parts.notes):
            tell_batch = partial(tell, done, batch.read)
            ask_batch(classifier, examples, batch, options, parts, number, tell_batch)
            parts.kept.tell(len(parts.notes), count, worked=1)
        done += batch.read
        progress(done, total)


def _nothing_read(examples: Examples, read: int) -> InputError:
    """The error for data of which nothing could be read."""
    expected, got = "dialogues with a reply", f"{read} rows, none of which holds one"
    if examples.modality == "image":
        expected, got = "images", f"{read} files, of which none decodes"
    return InputError(expected, got=got, remedy="check what wrote them", file=examples.file)
