"""Deep ensemble: one network trained with several seeds; finished models are kept, the one in training goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...datasets import Dataset
from ...engines import Engine, task_engine
from ...errors import UsageError
from ..artifacts import fingerprint
from ..base import Classifier, Progress
from ..ensemble import Ensemble
from ..members import STEPS, Member, member_folder, train_member, train_members, uses_gpu
from ..registry import load_model
from ..torch.classifier import TorchClassifier


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
        models = [
            _trained(model, seed, home, about, fit, _telling(progress, place, len(seeds)))
            for place, (seed, model) in enumerate(zip(seeds, untrained, strict=True))
        ]
        return _ensemble(models, seeds)
    apart = list(untrained)
    runner = task_engine(engine, workers, gpu=any(uses_gpu(one) for one in apart))
    assert runner is not None
    with member_folder(home) as folder:
        members = [_member(model, seed, folder, about) for seed, model in zip(seeds, apart, strict=True)]
        train_members(members, fit, runner, progress=progress)
        models = [_kept(one) for one in members]
    return _ensemble(models, seeds)


def _ensemble(models: Sequence[Classifier], seeds: Sequence[int]) -> Ensemble:
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


def _telling(progress: Progress | None, place: int, many: int) -> Progress:
    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(place * STEPS + STEPS * done // max(total, 1), STEPS * many)

    return tell


def _fit(
    data: Dataset, dev: Dataset | None, model: Classifier, *, checkpoint: Path | None, progress: Progress | None
) -> Classifier:
    return model.fit(data, dev=dev, checkpoint=checkpoint, progress=progress)


def _member(model: Classifier, seed: int, home: Path, about: str) -> Member:
    training = repr(getattr(model, "training", None))
    own = fingerprint({"kind": model.kind, "seed": seed, "options": model.options(), "training": training})
    return Member(model, own + about, home / f"seed-{seed}", home / f"training-{seed}")


def _trained(
    model: Classifier, seed: int, home: Path | None, about: str, fit: Callable[..., Classifier], tell: Progress
) -> Classifier:
    """A model that is trained here: the kept one where there is one of this very training."""
    if home is None:
        return fit(model, checkpoint=None, progress=tell)
    member = _member(model, seed, home, about)
    if member.is_finished:
        tell(1, 1)
        return _kept(member)
    train_member(member, fit, tell)
    return model


def _kept(member: Member) -> Classifier:
    """The finished model of a member, asked in the batches and on the device of the one that was made here."""
    found = load_model(member.kept)
    for name in ("training", "device"):
        if hasattr(member.model, name):
            setattr(found, name, getattr(member.model, name))
    return found
