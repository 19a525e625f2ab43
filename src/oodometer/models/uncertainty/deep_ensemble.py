"""Deep ensemble: one network trained with several seeds; finished models are kept, the one in training goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...datasets import Dataset
from ...errors import UsageError
from ..artifacts import fingerprint, keep, trained_as
from ..base import Classifier, Progress
from ..ensemble import Ensemble
from ..registry import load_model
from ..torch.classifier import TorchClassifier

__all__ = ["train_deep_ensemble"]

_STEPS = 1000  # progress of a member is told in thousandths


def train_deep_ensemble(
    make: Callable[[int], Classifier],
    data: Dataset,
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    dev: Dataset | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Ensemble:
    """Train one model for each seed on the same data, one after the other, and ask for the mean of all.

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
    progress :
        Called with (done, all), in thousandths of a model.

    Returns an `Ensemble` with ``average``: mean and variance over the models. Raises `UsageError` for equal seeds and
    for two models that start from the same seed.

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
    models: list[Classifier] = []
    starts: set[Any] = set()
    for place, seed in enumerate(seeds):
        model = make(seed)
        start = model.training.seed if isinstance(model, TorchClassifier) else seed
        if start in starts:
            raise UsageError(f"two models start from the seed {start}; put the seed into their TrainingConfig")
        starts.add(start)

        def tell(done: int, total: int, place: int = place) -> None:
            if progress is not None:
                progress(place * _STEPS + _STEPS * done // max(total, 1), _STEPS * len(seeds))

        models.append(_member(model, data, dev, home, (seed, about), tell))
    return Ensemble(models, names=[f"seed_{seed}" for seed in seeds], average=True)


def _member(
    model: Classifier, data: Dataset, dev: Dataset | None, home: Path | None, named: tuple[int, str], tell: Progress
) -> Classifier:
    """A trained model: the kept one where there is one of this very training."""
    seed, about = named
    if home is None:
        return model.fit(data, dev=dev, progress=tell)
    training = getattr(model, "training", None)
    name = (
        fingerprint({"kind": model.kind, "seed": seed, "options": model.options(), "training": repr(training)}) + about
    )
    kept, state = home / f"seed-{seed}", home / f"training-{seed}"
    if trained_as(kept) == name:
        tell(1, 1)
        return load_model(kept)
    model.fit(data, dev=dev, checkpoint=state, progress=tell)
    keep(kept, name, model.save)
    shutil.rmtree(state, ignore_errors=True)
    return model
