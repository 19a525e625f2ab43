"""Asking: the runs of each model, and their predictions as files of a folder; what is finished is not asked again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...datasets import Dataset
from ...errors import InputError, UsageError
from ...models.base import Classifier
from ...models.opening import open_classifier
from ...models.sent import SentModel
from ...predictions import Predictions
from ...runs import Manifest
from ...store.artifact_cache import checksum, read_artifact, write_artifact
from ...store.write import write_part
from ...version import __version__
from ..model_names import named_models, said_model
from ..predict import predict
from ..predict.asking import read_all
from ..predict.run import stamp_of

KEY = "source_row"
PREDICTIONS = "predictions"


@final
@dataclass(frozen=True)
class ModelRun:
    """One trained model: the ``name`` of its curves, which several runs may share, and where its predictions lie.

    ``sent`` is what travels to a worker, None for a model in memory; there the ``classifier`` is opened anew.
    """

    name: str
    source: str
    folder: str
    classifier: Classifier | Any
    stamp: Any
    sent: SentModel | None = None


def open_models(models: Any, **options: Any) -> tuple[list[ModelRun], bool]:
    """The runs of all models, those of one name one after another, and whether they read dialogues.

    ``models``: one, a list, or name -> one or a list of runs; texts may be ``name=model``. Raises `UsageError` for none
    and for one that is named twice, `InputError` for models that read neither texts nor dialogues, or not the same.
    """
    found: dict[str, list[Any]] = {}
    for name, one in named_models(models):
        found.setdefault(name, []).append(one)
    if not found:
        raise UsageError("expected at least one model; name it with --model")
    runs: list[ModelRun] = []
    for name, sources in found.items():
        for at, one in enumerate(sources):
            path = isinstance(one, (str, os.PathLike))
            classifier = open_classifier(one, **options)
            folder = _free(name if at == 0 else f"{name}-{at + 1}", runs)
            stamp = stamp_of(one) if path else None
            sent = SentModel(os.fspath(one), stamp, options) if path else None
            runs.append(ModelRun(name, said_model(one), folder, classifier, stamp, sent))
    said = [one.source for one in runs if one.stamp is not None]
    twice = next((one for one in said if said.count(one) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice; give each --model another model")
    return runs, _reads_dialogues(runs)


def check_sent(runs: Sequence[ModelRun]) -> bool:
    """Whether a model would use a GPU of this machine; `UsageError` for one that has no path by which it travels."""
    other = next((one for one in runs if one.sent is None), None)
    if other is not None:
        raise UsageError(
            f"workers open models by their paths, and {other.source} is in memory; save it and give its folder, or "
            "leave engine and workers out"
        )
    return any(one.sent.on_gpu_here for one in runs if one.sent is not None)


def _free(name: str, runs: Sequence[ModelRun]) -> str:
    """A name for a folder that no other run has."""
    safe = re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
    taken = {one.folder for one in runs}
    return next(one for at in range(1, len(runs) + 2) if (one := safe if at == 1 else f"{safe}-{at}") not in taken)


def _reads_dialogues(runs: Sequence[ModelRun]) -> bool:
    kinds = {}
    for one in runs:
        reads = one.classifier.reads
        if "text" not in reads and "dialogue" not in reads:
            raise InputError(
                "a model of texts or dialogues",
                got=f"one that reads {' or '.join(reads)}",
                remedy="name another model; images are shifted by `shift image`",
                file=one.source,
            )
        kinds["text" not in reads] = one.source
    if len(kinds) > 1:
        raise InputError(
            "models that read the same",
            got=f"{kinds[True]} reads dialogues",
            remedy="stress classifiers and rankers apart",
            file=kinds[False],
        )
    return True in kinds


@final
@dataclass(frozen=True)
class Answered:
    """Predictions of a run, the file that they are in, and how many inputs were cut."""

    record: Predictions
    path: str
    truncated: int


@final
class Asker:
    """Asks runs about data sets; each answer is a file in ``out``, kept where it is of the same inputs and model.

    settings : what else the answers depend on. total : inputs in all, for ``progress``.
    """

    def __init__(
        self, out: Path, settings: Mapping[str, Any], progress: Callable[[int, int], None] | None, total: int
    ) -> None:
        self.out, self.settings = out, dict(settings)
        self.run: Manifest | None = None
        self._elsewhere = 0
        self.answers, self._answered = 0, 0  # data sets to ask about in all, and of them so far
        self._progress, self._total, self._done = progress, total, 0

    @property
    def sent(self) -> Asker:
        """The asker as it travels to a worker."""
        return Asker(self.out, self.settings, None, 0)

    def begin(self, answered: int, rows: int) -> None:
        """Say that so many data sets, with so many inputs, were answered before."""
        self._elsewhere, self._done = answered, rows
        self._tell(0)

    def told(self, rows: int) -> None:
        """Say that so many inputs of a data set were answered elsewhere."""
        self._done += rows
        self._tell(0)
        self._elsewhere += 1
        if self.run is not None:
            self.run.tell(self._elsewhere, self.answers, 1)

    def be_quiet(self) -> None:
        """Say no more of how far the work is: all is answered."""
        self._progress = self.run = None

    def has(self, run: ModelRun, stem: str, data: Dataset, numbers: Sequence[int]) -> bool:
        """Whether the answers of a run to a data set are there."""
        place, note = self._places(run, stem)
        asked = self._asked(run, data, numbers)
        return asked is not None and self._note(place, note, asked) is not None

    def _places(self, run: ModelRun, stem: str) -> tuple[Path, Path]:
        home = self.out / PREDICTIONS / run.folder
        return home / f"{stem}.parquet", home / f"{stem}.json"

    def _asked(self, run: ModelRun, data: Dataset, numbers: Sequence[int]) -> str | None:
        """What tells these answers from others; None for a model in memory."""
        if run.stamp is None:
            return None
        about = repr((run.stamp, sorted(self.settings.items()), __version__, list(numbers), data.ids, data.targets))
        return checksum(about, repr(data.inputs))

    def ask(self, run: ModelRun, stem: str, data: Dataset, numbers: Sequence[int]) -> Answered:
        """The answers of a run to a data set, whose rows have these numbers."""
        place, note = self._places(run, stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        asked = self._asked(run, data, numbers)
        found = self._kept(place, note, asked)
        kept = found is not None
        if found is None:
            found = self._answer(run, data, numbers, place, note, asked)
        self._answered += 1
        if self.run is not None:
            self.run.tell(self._answered, self.answers, int(not kept))
        self._done += len(data)
        self._tell(0)
        return found

    def _answer(
        self, run: ModelRun, data: Dataset, numbers: Sequence[int], place: Path, note: Path, asked: str | None
    ) -> Answered:
        note.unlink(missing_ok=True)  # of an older file, which is about to be replaced
        made = predict(
            run.classifier,
            data,
            dropout=self.settings["dropout"],
            seed=self.settings["seed"],
            progress=lambda done, total: self._tell(done),
        )
        rows = {KEY: np.asarray(numbers, dtype=np.int64)}
        record: Predictions = replace(made.record, columns={**made.record.columns, **rows})
        write_part(record, place)
        if asked is not None:
            write_artifact(note, PREDICTIONS, {"asked": asked, "truncated": made.truncated})
        return Answered(record, str(place), made.truncated)

    def _kept(self, place: Path, note: Path, asked: str | None) -> Answered | None:
        """What an earlier run of the same job, or a task, has finished."""
        told = None if asked is None else self._note(place, note, asked)
        if told is None:
            return None
        return Answered(read_all(place, ("id", KEY)), str(place), int(told["truncated"]))

    def _note(self, place: Path, note: Path, asked: str) -> dict[str, Any] | None:
        """The note beside answers, which is written last; None where there are none, or others."""
        if not place.is_file() or not note.is_file():
            return None
        told: dict[str, Any] | None = read_artifact(note, PREDICTIONS)
        return told if told is not None and told["asked"] == asked else None

    def _tell(self, more: int) -> None:
        if self._progress is not None:
            self._progress(min(self._done + more, self._total), self._total)
