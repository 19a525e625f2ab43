"""Ensemble: several classifiers of one task, asked together or trained with one seed each; finished ones are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.engines import Engine, run_tasks, task_engine
from oodometer.errors import InputError, UsageError, WorkError

from ..datasets import Dataset
from .artifacts import fingerprint, keep, load_artifact, trained_as
from .base import Answers, Classifier, Progress, Request, load_model, part_of
from .torch.classifier import TorchClassifier
from .torch.library import on_gpu, one_torch_thread

STEPS = 1000  # of the progress of one model


def _order(first: Sequence[int | str], classes: Sequence[int | str], name: str) -> Array:
    """Where each class of the first model stands among those of another; `InputError` where they differ."""
    if set(first) != set(classes):
        odd = sorted(map(str, set(first) ^ set(classes)))[:3]
        raise InputError(
            f"the classes of the first model, {', '.join(map(str, first[:6]))}",
            got=f"others: {', '.join(odd)} is known to one alone",
            remedy="ensembles share their classes; train it on the same, or leave it out",
            file=name,
        )
    return np.array([list(classes).index(label) for label in first])


@final
class Ensemble(Classifier):
    """Several trained classifiers of the same classes, or several rankers.

    Either the first one is judged and the others stand beside it, for the methods that look at agreement; or, with
    ``average``, the mean of all their probabilities is judged: p(y | x) = mean_m p_m(y | x).

    models : classifiers, the judged one first; their classes may have different orders, and are matched by name.
    names : a name for each.
    average : whether the mean is judged; the answers then have the variance over the models, too.

    `UsageError` for no model, `InputError` where classes differ. Source: Lakshminarayanan et al. (2017) for the mean.
    """

    kind = "ensemble"

    def __init__(
        self, models: Sequence[Classifier], *, names: Sequence[str] = (), average: bool = False
    ) -> None:
        if not models:
            raise UsageError("expected at least one model, got none")
        self.models, self.average = tuple(models), average
        self.names = tuple(names) or tuple(f"{model.kind}_{i}" for i, model in enumerate(models))
        if len(set(self.names)) < len(models) or len(self.names) != len(models):
            raise UsageError(
                f"expected a name for each of {len(models)} models, got {', '.join(self.names)}"
            )
        first = self.models[0]
        self.classes, self.reads = first.classes, first.reads
        self.by_position = any(model.by_position for model in models)
        for member, name in zip(models, self.names, strict=True):
            if first.classes and member.classes:  # a function tells them when it is asked
                _order(first.classes, member.classes, name)

    def options(self) -> dict[str, Any]:
        """How many there are, and what is judged."""
        return {"models": len(self.models), "names": list(self.names), "average": self.average}

    def _fit(
        self, data: Dataset, truth: Array, dev: Any, checkpoint: Any, progress: Progress | None
    ) -> None:
        raise UsageError("train the models of an ensemble one by one, each with a seed of its own")

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """The answers of the judged model, or the mean, with the probabilities of every member."""
        request = request or Request()
        alone = replace(request, features=False, views=0)
        answers: list[Answers] = []
        for index, model in enumerate(self.models):

            def tell(done: int, total: int, index: int = index) -> None:
                if progress is not None:
                    progress(index * total + done, len(self.models) * total)

            answers.append(model.ask(inputs, alone if index else request, progress=tell))
        ranked = answers[0].candidates is not None  # positions among candidates are the same to all
        members = np.stack(
            [
                answer.distribution
                if ranked
                else answer.distribution[:, _order(answers[0].classes, answer.classes, name)]
                for answer, name in zip(answers, self.names, strict=True)
            ]
        )
        first = replace(answers[0], members=members, names=self.names)
        if not self.average:
            return first
        return replace(first, logits=None, probabilities=members.mean(0), variance=members.var(0))

    def _checked(self, inputs: Any) -> Any:
        return self.models[0]._checked(inputs)

    @property
    def parameters(self) -> int:
        """Of all models."""
        return sum(model.parameters for model in self.models)

    def _write(self, folder: Path) -> dict[str, Any]:
        for name, model in zip(self.names, self.models, strict=True):
            model.save(folder / name)
        return {"classes": list(self.classes)}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        names = list(about["options"]["names"])
        models = [load_artifact(folder / name, Classifier, "a classifier") for name in names]
        return cls(models, names=names, average=bool(about["options"]["average"]))


@dataclass(frozen=True)
class Member:
    """A training that may be done elsewhere: untrained model, the training's name, folders of result and state."""

    model: Any
    training: str
    kept: Path
    state: Path

    @property
    def is_finished(self) -> bool:
        """Whether the model of this very training is there."""
        return trained_as(self.kept) == self.training


@dataclass(frozen=True)
class _Training:
    """The task: one thread trains a member and writes it to its folder."""

    fit: Callable[..., Any]
    gpu: bool

    def __call__(self, member: Member) -> None:
        with one_torch_thread():
            _train(member, self.fit, None)


def _train(member: Member, fit: Callable[..., Any], progress: Progress | None) -> None:
    if not member.is_finished:
        fit(member.model, checkpoint=member.state, progress=progress)
        keep(member.kept, member.training, member.model.save)
        shutil.rmtree(member.state, ignore_errors=True)


def _device(model: Any) -> str | None:
    return getattr(model, "device", getattr(getattr(model, "model", None), "device", "cpu"))


def train_each(
    models: Sequence[Any],
    member_of: Callable[[Any, int, Path], Member | None],
    fit: Callable[..., Any],
    load: Callable[[Member], Any],
    *,
    kept_in: Path | None,
    engine: tuple[str | Engine | None, int | None],
    progress: Progress | None,
) -> list[Any]:
    """Train models with ``fit(model, checkpoint=, progress=)``, one after the other, or as tasks of an engine (and its
    workers).
    ``member_of(model, place, folder)`` says where a finished one is kept, None where there is nothing to keep; those in
    ``kept_in`` are loaded. ``progress`` counts thousandths of a model.
    """
    if engine == (None, None):
        return [
            _trained(
                model,
                None if kept_in is None else member_of(model, index, kept_in),
                fit,
                load,
                part_of(progress, index, len(models), STEPS),
            )
            for index, model in enumerate(models)
        ]
    devices = {_device(model) for model in models}
    runner = task_engine(*engine, gpu=any(device != "cpu" and on_gpu(device) for device in devices))
    assert runner is not None
    with (
        nullcontext(kept_in)
        if kept_in is not None
        else TemporaryDirectory(prefix="oodometer-") as folder
    ):
        members = [member_of(model, index, Path(folder)) for index, model in enumerate(models)]
        _train_on(runner, [member for member in members if member is not None], fit, progress)
        return [
            model if member is None else load(member)
            for model, member in zip(models, members, strict=True)
        ]


def _trained(
    model: Any,
    member: Member | None,
    fit: Callable[..., Any],
    load: Callable[[Member], Any],
    progress: Progress,
) -> Any:
    """A model trained here, or loaded where it is kept and finished."""
    if member is None:
        fit(model, checkpoint=None, progress=progress)
        return model
    if member.is_finished:
        model = load(member)
        progress(1, 1)
        return model
    _train(member, fit, progress)
    return model


def _train_on(
    engine: Engine, members: Sequence[Member], fit: Callable[..., Any], progress: Progress | None
) -> None:
    """Train those members that are not finished as tasks of an engine; `WorkError` where one does not arrive here."""
    pending = [member for member in members if not member.is_finished]
    done = len(members) - len(pending)

    def tell_done(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            if more:  # as a training that is not kept: told of before its end
                progress(STEPS * done - 1, STEPS * len(members))
            progress(STEPS * done, STEPS * len(members))

    tell_done(0)
    gpu = any(_device(member.model) != "cpu" for member in pending)
    run_tasks(engine, _Training(fit, gpu), pending, on_done=lambda _: tell_done(1))
    lost = next((member for member in pending if not member.is_finished), None)
    if lost is not None:
        raise WorkError(
            f"a model was trained, and {lost.kept} does not hold it: the workers write to folders of other "
            "machines; name a checkpoint folder that all of them see, such as one of a shared disk"
        )


def train_deep_ensemble(
    make: Callable[[int], Classifier],
    data: Dataset,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    dev: Dataset | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Ensemble:
    """Train one model for each seed on the same data, and ask for the mean of all.

    make : Gives the untrained model of a seed, which belongs into its `TrainingConfig`: it settles the first weights
        and the order of the data.
    data, dev : As for `Classifier.fit`.
    seeds : Different integers, at least two.
    checkpoint : Folder in which finished models are kept and the one in training keeps its state: an interrupted call
        goes on there, to the same ensemble.
    engine, workers : Each training as a task, as in `oodometer.engines.run_tasks`: "processes", "ray", "spark", an
        engine; how many at a time, one on a GPU if nothing is said. A task has one thread, so that the weights do not
        depend on either. By default one training after another, in this process and with its threads. Machines of a
        cluster must all see ``checkpoint``; the data travel.
    progress : Called with (done, all), in thousandths of a model.

    Returns an `Ensemble` with ``average``: mean and variance over the models. Raises `UsageError` for equal seeds and
    for two models that start from the same seed, `WorkError` where a worker died; the finished models stay. Source:
    Lakshminarayanan et al. (2017).

    >>> train_deep_ensemble(lambda seed: None, Dataset("none", ("a",), ("b",)), seeds=(1, 1))
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected at least two different seeds, got [1, 1]; equal ones train equal models
    """
    seeds = [int(seed) for seed in seeds]
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise UsageError(
            f"expected at least two different seeds, got {seeds}; equal ones train equal models"
        )
    models = [make(seed) for seed in seeds]
    pairs = zip(seeds, models, strict=True)
    starts = [
        model.training.seed if isinstance(model, TorchClassifier) else seed for seed, model in pairs
    ]
    twice = next((start for start in starts if starts.count(start) > 1), None)
    if twice is not None:
        raise UsageError(
            f"two models start from the seed {twice}; put the seed into their TrainingConfig"
        )
    about = fingerprint({"data": data.fingerprint, "dev": None if dev is None else dev.fingerprint})

    def member(model: Classifier, index: int, folder: Path) -> Member:
        seed, training = seeds[index], repr(getattr(model, "training", None))
        mark = fingerprint(
            {"kind": model.kind, "seed": seed, "options": model.options(), "training": training}
        )
        return Member(model, mark + about, folder / f"seed-{seed}", folder / f"training-{seed}")

    def load(member: Member) -> Classifier:
        model = load_model(member.kept)
        # asked in the batches and on the device of the one that was made here
        for name in ("training", "device"):
            if hasattr(member.model, name):
                setattr(model, name, getattr(member.model, name))
        return model

    fit, path = partial(fit_on, (data,), dev), None if checkpoint is None else Path(checkpoint)
    trained = train_each(
        models, member, fit, load, kept_in=path, engine=(engine, workers), progress=progress
    )
    return Ensemble(trained, names=[f"seed_{seed}" for seed in seeds], average=True)


def fit_on(
    pairs: tuple[Any, ...],
    dev: Any,
    model: Any,
    *,
    checkpoint: Path | None,
    progress: Progress | None,
) -> Any:
    """``model.fit(*pairs, ...)``, as a function that can be sent with its data."""
    return model.fit(*pairs, dev=dev, checkpoint=checkpoint, progress=progress)
