"""Ensemble: several classifiers of one task, asked together or trained with one seed each; finished ones are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..datasets import Dataset
from ..engines import Engine, run_tasks, task_engine
from ..errors import InputError, UsageError, WorkError
from .artifacts import fingerprint, keep, load_artifact, trained_as
from .base import Answers, Classifier, Progress, Request, load_model, part_of
from .torch.classifier import TorchClassifier
from .torch.library import on_gpu, one_torch_thread


@final
class Ensemble(Classifier):
    """Several trained classifiers of the same classes, or several rankers.

    Either the first one is judged and the others stand beside it, for the methods that look at agreement; or, with
    ``average``, the mean of all their probabilities is judged: p(y | x) = mean_m p_m(y | x).

    Parameters
    ----------
    models : classifiers, the judged one first; their classes may have different orders, and are matched by name.
    names : a name for each.
    average : whether the mean is judged; the answers then have the variance over the models, too.

    Raises `UsageError` for no model, `InputError` where the classes of two differ.

    Source: Lakshminarayanan et al. (2017) for the mean.
    """

    kind = "ensemble"

    def __init__(self, models: Sequence[Classifier], *, names: Sequence[str] = (), average: bool = False) -> None:
        if not models:
            raise UsageError("expected at least one model, got none")
        self.models, self.average = tuple(models), average
        self.names = tuple(names) or tuple(f"{one.kind}_{i}" for i, one in enumerate(models))
        if len(set(self.names)) < len(models) or len(self.names) != len(models):
            raise UsageError(f"expected a name for each of {len(models)} models, got {', '.join(self.names)}")
        first = self.models[0]
        self.classes, self.reads = first.classes, first.reads
        self.by_position = any(one.by_position for one in models)
        self._orders = []  # where each class of the first model stands among those of another
        for other, name in zip(models, self.names, strict=True):
            if set(first.classes) != set(other.classes):
                odd = sorted(map(str, set(first.classes) ^ set(other.classes)))[:3]
                expected = f"the classes of the first model, {', '.join(map(str, first.classes[:6]))}"
                remedy = "ensembles share their classes; train it on the same, or leave it out"
                got = f"others: {', '.join(odd)} is known to one alone"
                raise InputError(expected, got=got, remedy=remedy, file=name)
            self._orders.append(np.array([other.classes.index(one) for one in first.classes]))

    def options(self) -> dict[str, Any]:
        """How many there are, and what is judged."""
        return {"models": len(self.models), "names": list(self.names), "average": self.average}

    def _fit(self, data: Dataset, truth: Array, dev: Any, checkpoint: Any, progress: Progress | None) -> None:
        raise UsageError("train the models of an ensemble one by one, each with a seed of its own")

    def ask(self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None) -> Answers:
        """The answers of the judged model, or the mean, with the probabilities of every member."""
        request = request or Request()
        alone = replace(request, features=False, views=0)
        found: list[Answers] = []
        for place, model in enumerate(self.models):

            def tell(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * total + done, len(self.models) * total)

            found.append(model.ask(inputs, alone if place else request, progress=tell))
        ranked = found[0].candidates is not None  # positions among candidates are the same to all
        pairs = zip(found, self._orders, strict=True)
        members = np.stack([one.distribution if ranked else one.distribution[:, order] for one, order in pairs])
        first = replace(found[0], members=members, names=self.names)
        if not self.average:
            return first
        return replace(first, logits=None, probabilities=members.mean(0), variance=members.var(0))

    def _checked(self, inputs: Any) -> Any:
        return self.models[0]._checked(inputs)

    @property
    def parameters(self) -> int:
        """Of all models."""
        return sum(one.parameters for one in self.models)

    def _write(self, folder: Path) -> dict[str, Any]:
        for name, model in zip(self.names, self.models, strict=True):
            model.save(folder / name)
        return {"classes": list(self.classes)}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        names = list(about["options"]["names"])
        models = [load_artifact(folder / name, Classifier, "a classifier") for name in names]
        return cls(models, names=names, average=bool(about["options"]["average"]))


STEPS = 1000
"""Progress of a member is told in thousandths."""


@dataclass(frozen=True)
class Member:
    """A training that may be done elsewhere: what is trained and where it goes, seen by every machine.

    model : untrained, so that little travels. training : the name of the training. kept : folder of the finished model.
    state : folder of the checkpoint until then.
    """

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
            train_member(member, self.fit, None)


def train_member(member: Member, fit: Callable[..., Any], progress: Progress | None) -> None:
    """Train a member with ``fit(model, checkpoint=, progress=)``, or go on, and keep it; nothing where it is kept."""
    if member.is_finished:
        return
    fit(member.model, checkpoint=member.state, progress=progress)
    keep(member.kept, member.training, member.model.save)
    shutil.rmtree(member.state, ignore_errors=True)


def train_members(
    members: Sequence[Member], fit: Callable[..., Any], engine: Engine, *, progress: Progress | None = None
) -> None:
    """Train the members that are not finished, each a task of an engine; ``progress`` in thousandths of a member.

    What ``fit`` holds (the data) is sent once to a cluster, and with every task to a process. Raises `WorkError` where
    a member was trained on a machine whose folders are not seen from here.
    """
    rest = [one for one in members if not one.is_finished]
    done = len(members) - len(rest)

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            if more:  # as a training that is not kept: told of before its end
                progress(STEPS * done - 1, STEPS * len(members))
            progress(STEPS * done, STEPS * len(members))

    tell(0)
    gpu = any(_device(one.model) != "cpu" for one in rest)
    run_tasks(engine, _Training(fit, gpu), rest, on_done=lambda _: tell(1))
    lost = next((one for one in rest if not one.is_finished), None)
    if lost is not None:
        raise WorkError(
            f"a model was trained, and {lost.kept} does not hold it: the workers write to folders of other machines; "
            "name a checkpoint folder that all of them see, such as one of a shared disk"
        )


def uses_gpu(model: Any) -> bool:
    """Whether an untrained model will be trained on a GPU of this machine."""
    device = _device(model)
    return device != "cpu" and on_gpu(device)


def _device(model: Any) -> str | None:
    """What a model, or the one that a judge asks, is told of its device; None leaves it to the machine."""
    found: str | None = getattr(model, "device", getattr(getattr(model, "model", None), "device", "cpu"))
    return found


@contextmanager
def member_folder(checkpoint: Path | None) -> Iterator[Path]:
    """The folder of finished members: the one given, or one of this machine for as long as they are trained."""
    if checkpoint is not None:
        yield checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="oodometer-") as home:
        yield Path(home)


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

    Parameters
    ----------
    make :
        Gives the untrained model of a seed, which belongs into its `TrainingConfig`: it settles the first weights and
        the order of the data.
    data, dev :
        As for `Classifier.fit`.
    seeds :
        Different integers, at least two.
    checkpoint :
        Folder in which finished models are kept and the one in training keeps its state: an interrupted call goes on
        there, to the same ensemble.
    engine, workers :
        Each training as a task, as in `oodometer.engines.run_tasks`: "processes", "ray", "spark", an engine; how many
        at a time, one on a GPU if nothing is said. A task has one thread, so that the weights do not depend on either.
        By default one training after another, in this process and with its threads. Machines of a cluster must all
        see ``checkpoint``; the data travel.
    progress :
        Called with (done, all), in thousandths of a model.

    Returns an `Ensemble` with ``average``: mean and variance over the models. Raises `UsageError` for equal seeds and
    for two models that start from the same seed, `WorkError` where a worker died; the finished models stay.

    Source: Lakshminarayanan et al. (2017).

    >>> train_deep_ensemble(lambda seed: None, Dataset("none", ("a",), ("b",)), seeds=(1, 1))
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected at least two different seeds, got [1, 1]; equal ones train equal models
    """
    seeds = [int(one) for one in seeds]
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise UsageError(f"expected at least two different seeds, got {seeds}; equal ones train equal models")
    home = None if checkpoint is None else Path(checkpoint)
    about = fingerprint({"data": data.fingerprint, "dev": None if dev is None else dev.fingerprint})
    untrained = _different(make, seeds)
    fit = partial(_fit, data, dev)
    if engine is None and workers is None:
        models = []
        for place, (seed, model) in enumerate(zip(seeds, untrained, strict=True)):
            tell = part_of(progress, place, len(seeds), STEPS)
            member = None if home is None else _member(model, seed, home, about)
            if member is None:
                model = fit(model, checkpoint=None, progress=tell)
            elif member.is_finished:
                tell(1, 1)
                model = _kept(member)
            else:
                train_member(member, fit, tell)
            models.append(model)
    else:
        apart = list(untrained)
        runner = task_engine(engine, workers, gpu=any(uses_gpu(one) for one in apart))
        assert runner is not None
        with member_folder(home) as folder:
            members = [_member(model, seed, folder, about) for seed, model in zip(seeds, apart, strict=True)]
            train_members(members, fit, runner, progress=progress)
            models = [_kept(one) for one in members]
    return Ensemble(models, names=[f"seed_{seed}" for seed in seeds], average=True)


def _different(make: Callable[[int], Classifier], seeds: Sequence[int]) -> Iterator[Classifier]:
    """The untrained model of each seed; `UsageError` for two that start from the same one."""
    starts: set[Any] = set()
    for seed in seeds:
        model = make(seed)
        start = model.training.seed if isinstance(model, TorchClassifier) else seed
        if start in starts:
            raise UsageError(f"two models start from the seed {start}; put the seed into their TrainingConfig")
        starts.add(start)
        yield model


def _fit(
    data: Dataset, dev: Dataset | None, model: Classifier, *, checkpoint: Path | None, progress: Progress | None
) -> Classifier:
    return model.fit(data, dev=dev, checkpoint=checkpoint, progress=progress)


def _member(model: Classifier, seed: int, home: Path, about: str) -> Member:
    training = repr(getattr(model, "training", None))
    own = fingerprint({"kind": model.kind, "seed": seed, "options": model.options(), "training": training})
    return Member(model, own + about, home / f"seed-{seed}", home / f"training-{seed}")


def _kept(member: Member) -> Classifier:
    """The finished model of a member, asked in the batches and on the device of the one that was made here."""
    found = load_model(member.kept)
    for name in ("training", "device"):
        if hasattr(member.model, name):
            setattr(found, name, getattr(member.model, name))
    return found
