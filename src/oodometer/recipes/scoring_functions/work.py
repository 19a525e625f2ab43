"""Work: train a member of an ensemble, and ask all of them about sets of images."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...models import Classifier, ResNet, load_model
from ...models.base import Request
from ...models.image.network import randaugment
from ...models.torch.library import use_threads
from ..base import Workspace
from ..kit.sources import Place, load_answers, store_answers
from .data import RunConfig, Target

__all__ = ["MODEL_FILES", "Answers", "Place", "ask_all", "load_answers", "load_members", "train_member"]

MODEL_FILES = ("oodometer_model.json", "pixels.json", "weights.safetensors")

Answers = Mapping[str, Array]
"""``probabilities`` (model, sample, class), ``label`` (sample,), ``views`` (base, view, sample), ``features``."""


def train_member(data: Dataset, config: RunConfig, epochs: int, member: int, place: Place, **network: Any) -> None:
    """Train one network and save it; interrupted, it goes on from its checkpoint."""
    use_threads()
    training = replace(config.training, epochs=epochs, seed=config.seed + member)
    model = ResNet(**{**config.network, **network}, training=training)
    checkpoint = place.workspace / f"checkpoints/{place.folder}"
    classes = tuple(range(10))
    model.fit(data.inputs, data.targets, classes=classes, checkpoint=checkpoint, progress=place.progress)
    model.save(place.workspace / place.folder)
    shutil.rmtree(checkpoint, ignore_errors=True)


def load_members(workspace: Workspace, folders: Sequence[str]) -> list[Classifier]:
    """The trained networks."""
    use_threads()
    return [load_model(workspace.folder / one) for one in folders]


def ask_all(
    models: Sequence[Classifier],
    targets: Iterable[Target],
    place: Place,
    *,
    names: Sequence[str],
    bases: int = 0,
    views: int = 0,
    features: int = 0,
    seed: int = 0,
) -> None:
    """Ask every model about every set; an NPZ file each.

    ``bases``: how many of the models see ``views`` copies of each image too, the same copies for all of them.
    ``features``: of how many of the models what the last layer reads is kept.
    """
    for done, (name, images, label) in enumerate(targets, 1):
        found: dict[str, Any] = {"label": label}
        said = [model.ask(images, Request(features=i < features)) for i, model in enumerate(models)]
        found["probabilities"] = np.stack([one.distribution for one in said]).astype(np.float32)
        if features:
            found["features"] = np.stack([np.asarray(one.features) for one in said[:features]])
        if views:
            found["views"] = _views(models[:bases], images, views, seed)
        store_answers(place, name, found)
        place.progress(done, len(names))


def _views(models: Sequence[Classifier], images: Array, views: int, seed: int) -> Array:
    """The class that each model gives each copy of each image, uint8, shape (model, view, sample)."""
    out = np.empty((len(models), views, len(images)), dtype=np.uint8)
    for view in range(views):
        copies = randaugment(images, (seed, view, 0))
        for place, model in enumerate(models):
            out[place, view] = model.logits(copies).argmax(1)
    return out
