"""Asking: the model, with its members, and what it says of one batch as a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, final

import numpy as np

from ...datasets.reading import Batch, Columns, Drawing, Examples, open_examples
from ...engines import Engine, run_tasks
from ...errors import InputError, UsageError
from ...models.base import Classifier, Request
from ...models.ensemble import Ensemble
from ...models.labels import matched
from ...models.opening import open_classifier
from ...models.sent import forgetting, kept_model
from ...options import declared
from ...predictions import Predictions
from ...runs import Manifest, cleared
from ...store import as_source
from ...store.artifact_cache import read_artifact, write_artifact
from ...store.write import write_part
from ..model_options import PredictOptions


class Asked(PredictOptions):
    """The options of `predict`, which go together, and what the data and the model are asked by them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average and not self.members:
            raise UsageError("average is of several models: name the others with --member")
        if self.augmentation != "shift" and not self.views:
            raise UsageError("augmentation is of views: say with --views how many")
        if self.unlabelled and self.label is not None:
            raise UsageError("--label names the truth and --unlabelled leaves it out; give one of them")
        if self.batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, got {self.batch_rows}")
        if self.max_length is not None and self.max_length < 2:
            raise UsageError(f"expected max_length of at least 2 tokens, got {self.max_length}")
        if self.candidates < 2:
            raise UsageError(f"expected at least 2 candidates, got {self.candidates}")

    @property
    def columns(self) -> Columns:
        """Where inputs, labels and ids stand."""
        return Columns(as_names(self.inputs), self.label, self.id, as_names(self.keep))

    @property
    def request(self) -> Request:
        """What is asked of the model besides probabilities."""
        return Request(self.features, self.views, self.dropout, self.seed, augmentation=self.augmentation)

    @property
    def drawing(self) -> Drawing:
        """How responses get other candidates."""
        return Drawing(self.candidates, self.seed, self.replies)

    @property
    def skip(self) -> bool:
        """Whether images that do not decode are left out."""
        return self.on_error == "skip"

    def named(self, *but: str) -> list[str]:
        """The options that are not what they are by default, these aside."""
        return [name for name, one, _ in declared(Asked) if name not in but and getattr(self, name) != one.default]

    def settings(self) -> dict[str, Any]:
        """What the predictions depend on, ready for JSON."""
        plain = ("features", "views", "dropout", "seed", "augmentation", "average", "gives", "max_length")
        more = ("label", "id", "keep_input", "unlabelled", "skip", "batch_rows", "candidates")
        return {name: getattr(self, name) for name in (*plain, *more)} | {
            "inputs": list(as_names(self.inputs)),
            "keep": list(as_names(self.keep)),
            "members": [str(one) for one in self.members],
            "classes": None if self.classes is None else list(self.classes),
            "replies": None if self.replies is None else str(self.replies),
        }


def as_names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name or several as a tuple.

    >>> as_names("text"), as_names(["a", "b"]), as_names(None)
    (('text',), ('a', 'b'), ())
    """
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


@final
class Parts:
    """The finished batches of one job.

    Parameters
    ----------
    home : the folder that they lie in; None keeps them in memory.
    job : fingerprint of model, data and options; what another job left in the folder is removed.
    extra : further columns that the parts carry.
    run : where it is noted how far the job is, in the same folder.
    """

    def __init__(self, home: Path | None, job: str, extra: tuple[str, ...], run: Manifest | None = None) -> None:
        self.home, self.job, self.extra, self._run = home, job, extra, run
        self._held: list[Predictions] = []
        self.notes: list[dict[str, Any]] = []
        if home is None:
            return
        found = read_artifact(home / "job.json", "predictions") if home.is_dir() else None
        if found != job:
            home.mkdir(parents=True, exist_ok=True)
            cleared(home)
            write_artifact(home / "job.json", "predictions", job)
        self.look()

    @property
    def done(self) -> int:
        """Number of batches that are finished, from the first on."""
        return len(self.notes)

    def look(self) -> None:
        """See what else is finished, by tasks elsewhere."""
        while self.home is not None and (note := self._note(len(self.notes))) is not None:
            self.notes.append(note)

    def has(self, place: int) -> bool:
        """Whether the batch at a place is finished, though others before it may not be."""
        return place < self.done or (self.home is not None and self._note(place) is not None)

    def add(self, record: Predictions | None, note: dict[str, Any], place: int) -> None:
        """Keep the batch at a place, None where nothing of it could be read, and what is to be known of it."""
        if self.home is None:
            self._held += [] if record is None else [record]
        else:
            name = self._name(place)
            if record is not None:
                write_part(record, self.home / f"{name}.parquet")
            write_artifact(self.home / f"{name}.json", "note", {**note, "empty": record is None})
        if place == self.done:
            self.notes.append(note)

    def tell(self, many: int, worked: int = 0) -> None:
        """Note how far the job is: ``many`` batches in all, as far as that is known."""
        if self._run is not None:
            self._run.tell(self.done, many, worked)

    def records(self) -> Iterator[Predictions]:
        """All batches in their order."""
        if self.home is None:
            yield from self._held
            return
        for place, note in enumerate(self.notes):
            if not note.get("empty"):
                yield read_all(self.home / f"{self._name(place)}.parquet", self.extra)

    def _note(self, place: int) -> dict[str, Any] | None:
        assert self.home is not None
        name = self.home / self._name(place)
        path = name.with_suffix(".json")
        if not path.is_file():
            return None
        found: dict[str, Any] | None = read_artifact(path, "note")
        if found is None or (not found["empty"] and not name.with_suffix(".parquet").is_file()):
            return None
        return found

    @staticmethod
    def _name(place: int) -> str:
        return f"part-{place:06d}"


def read_all(path: Path, extra: tuple[str, ...]) -> Predictions:
    """A predictions file with every field, texts too, and such further columns as there are."""
    columns = as_source(path).columns
    source = as_source(path, extra_columns=tuple(name for name in extra if name in columns))
    return source.read(source.fields)


def opened(model: Any, options: Asked) -> Classifier:
    """The model, or the ensemble of it and the members."""
    more: dict[str, Any] = {
        "gives": options.gives,
        "classes": None if options.classes is None else tuple(options.classes),
        "max_length": options.max_length,
        "device": options.device,
    }
    _check_members(model, options.members)
    first = open_classifier(model, **more)
    if not options.members:
        return first
    others = [open_classifier(one, **more) for one in options.members]
    return Ensemble([first, *others], names=_names([model, *options.members]), average=options.average)


def _check_members(model: Any, members: Sequence[Any]) -> None:
    """`UsageError` for a model that is named twice: it agrees with itself, whatever it says."""
    seen: set[Any] = set()
    for one in (model, *members):
        key: Any = id(one)
        if isinstance(one, (str, os.PathLike)):
            key = os.path.realpath(one) if os.path.exists(one) else str(one)
        if key in seen:
            raise UsageError(f"{one} is named twice: a model agrees with itself; give each --member another model")
        seen.add(key)


def _names(models: Sequence[Any]) -> list[str]:
    """A name for each model: the last part of its path, with a number where two are the same."""
    plain = [Path(str(one)).name if isinstance(one, (str, os.PathLike)) else type(one).__name__ for one in models]
    return [one if plain.count(one) == 1 else f"{one}_{i}" for i, one in enumerate(plain)]


def ask_batch(
    asked: Classifier,
    examples: Examples,
    batch: Batch,
    options: Asked,
    parts: Parts,
    place: int,
    tell: Callable[[int, int], None],
) -> None:
    """Ask about a batch and keep the answers as the part at its place."""
    record = _record(asked, examples, batch, options, tell) if len(batch.data) else None
    truncated = asked.truncated if record is not None else 0
    parts.add(record, {"truncated": truncated, "skipped": list(batch.skipped), "read": batch.read}, place)


def _record(
    asked: Classifier, examples: Examples, batch: Batch, options: Asked, tell: Callable[[int, int], None]
) -> Predictions:
    data, request = batch.data, replace(options.request, first_row=batch.first_row)
    try:
        answers = asked.ask(data, request, progress=tell)
    except InputError as error:
        raise error.at(file=examples.file, row_offset=batch.first_row) from None
    fields: dict[str, Any] = {"columns": {}}
    if data.modality == "dialogue" and len(data.targets) and not options.unlabelled:
        fields["label"] = list(data.targets)  # positions among candidates
    elif len(data.targets) and not options.unlabelled:
        fields["label"] = matched(
            data.targets,
            answers.classes,
            file=data.source,
            first_row=batch.first_row,
            column=options.columns.label or "label",
            images=[f"{examples.file}/{one}" for one in data.ids] if examples.labels_are_folders else (),
        )
    if data.ids:
        fields["columns"]["id"] = np.array(data.ids, dtype=object)
    for name, values in batch.columns.items():
        (fields if name in ("time", "group") else fields["columns"])[name] = values
    if options.keep_input and data.modality in ("text", "pair"):
        fields["input"] = np.array([_joined(one) for one in data.inputs], dtype=object)
    try:
        return answers.record(**fields)
    except InputError as error:
        raise error.at(file=str(options.columns.label or data.source), row_offset=batch.first_row) from None


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else "\t".join(text)


_MOST = 64  # stretches: each reads text formats from their beginning
_PER_TASK = 1  # batches of a task, where there are few


@final
@dataclass(frozen=True)
class _Task:
    """Asks about a stretch of batches: the places from ``start`` on and before ``stop``, None for the end."""

    model: str
    data: str
    options: Asked
    parts: tuple[Path, str, tuple[str, ...]]
    stamp: str
    gpu: bool

    def __call__(self, stretch: tuple[int, int | None]) -> None:
        start, stop = stretch
        options = self.options
        parts = Parts(*self.parts)
        with kept_model(f"predict {self.parts[1]}", partial(opened, self.model, options)) as asked:
            examples = open_examples(self.data, asked.reads, options.columns, options.drawing)
            if repr(examples.stamp) != self.stamp:
                raise UsageError(
                    f"{self.data} is another one to a worker: all must see the same file, and it may not "
                    "change while it is read"
                )
            found = enumerate(examples.batches(options.batch_rows, skip=options.skip, first=start), start)
            for place, batch in takewhile(lambda one: stop is None or one[0] < stop, found):
                if not parts.has(place):
                    ask_batch(asked, examples, batch, options, parts, place, lambda done, of: None)


def ask_elsewhere(
    engine: Engine | None,
    model: Any,
    data: Any,
    examples: Examples,
    options: Asked,
    parts: Parts,
) -> int:
    """Ask about all batches that are not finished; the number of rows that were read.

    Raises `UsageError` where model, data or predictions are in memory.
    """
    assert engine is not None
    if parts.home is None or not isinstance(data, (str, os.PathLike)):
        raise UsageError(
            "workers open model and data by their paths and write files: name both by paths and give out=, or leave "
            "engine and workers out"
        )
    home = Path(os.path.abspath(parts.home))
    task = _Task(
        os.fspath(model),
        os.fspath(data),
        replace(options, model=None, data=None, progress=None),
        (home, parts.job, parts.extra),
        repr(examples.stamp),
        options.device != "cpu",
    )
    many = _batches(examples, options)
    each = max(_PER_TASK, -(-many // _MOST))
    # The last one has no end: batches of a file may be smaller than asked for, and so more than counted.
    parts.tell(many)
    starts = list(range(0, many, each))
    stretches = [(start, start + each if start + each < many else None) for start in starts]

    def tell(stretch: tuple[int, int | None]) -> None:
        before = parts.done
        parts.look()
        parts.tell(many, worked=parts.done - before)
        if options.progress is not None:
            rows = examples.rows or many * options.batch_rows
            options.progress(min(rows, (stretch[1] or many) * options.batch_rows), examples.rows or 0)

    with forgetting():
        run_tasks(engine, task, stretches, on_done=tell)
    parts.look()
    return sum(int(note.get("read", 0)) for note in parts.notes)


def _batches(examples: Examples, options: Asked) -> int:
    """About how many batches there are; read through where the source does not tell its rows."""
    if examples.rows is not None:
        return max(1, -(-examples.rows // options.batch_rows))
    return max(1, sum(1 for _ in examples.batches(options.batch_rows, skip=True)))
