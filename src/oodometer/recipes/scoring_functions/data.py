"""Data and work of a run: images as they are, compromised and shifted; networks trained, and asked about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...datasets.image_sets import CIFAR10_CLASSES, cifar10, cifar10_1, find_cifar10_1, find_stl10, mnist, stl10
from ...models import Classifier, ResNet, load_model
from ...models.base import Request
from ...models.image.network import randaugment
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...shifts import IMAGE_SHIFTS, find_image_shift
from ...shifts.training import dominoes, flip_labels, measurement_noise, under_sample
from ..base import Workspace
from ..kit.sources import Place, passing, store_answers


@final
@dataclass(frozen=True)
class DominoesConfig:
    """How large the part with the dominoes is.

    correlations : of the simple half with the class, in training. members : models for each. epochs, train_rows : of a
    training. severity : of the corruptions that stand in for STL10. draws : samples of ``labels`` labelled rows.
    """

    correlations: tuple[float, ...] = (0.95, 0.99, 1.0)
    members: int = 4
    epochs: int = 3
    train_rows: int | None = 20_000
    severity: int = 3
    labels: int = 10
    draws: int = 50


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is.

    Parameters
    ----------
    network : arguments of `ResNet`.
    training : how a model is trained on clean data; ``compromised_epochs`` on compromised data.
    members : models of an ensemble; ``clean_members`` of the plain one on clean data (Figure 2).
    bases : models whose smoothness (LMS) is measured, each over ``views`` augmented copies of every image.
    train_rows, validation_rows, rows : images for training, for the threshold, and of each shifted set; None for all.
    overlap : whether the shifted sets show the very images that the threshold was fitted on, as in the paper.
    kinds, severities : of the corruptions.
    flipped : share of the labels that each member of the more diverse ensemble (MA_0.02) learns wrong.
    grid : steps of the grid on which the threshold is looked for, as the published code does; the exact one stands
        beside it.
    subsets : draws of other members for each size of an ensemble. dominoes : the part on simplicity bias.
    seed : of every draw; member i trains with seed + i.
    """

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    compromised_epochs: int = 3
    members: int = 4
    clean_members: int = 8
    bases: int = 3
    views: int = 10
    train_rows: int | None = None
    validation_rows: int | None = None
    rows: int | None = 1_000
    overlap: bool = False
    kinds: tuple[str, ...] | None = None
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    flipped: float = 0.02
    grid: int = 100
    subsets: int = 10
    dominoes: DominoesConfig = field(default_factory=DominoesConfig)
    seed: int = 0


_SGD = TrainingConfig(
    batch_size=128,
    learning_rate=0.05,
    weight_decay=5e-4,
    warmup=0.1,
    clip=None,
    optimizer="sgd",
    schedule="cosine",
    precision="bfloat16",
)
# float32: without instructions for bfloat16 a processor computes in it seven times more slowly.
RUN_CONFIGS = {
    "small": RunConfig(
        network={"depth": 8, "width": 16, "stem_stride": 2},
        training=replace(_SGD, epochs=3, learning_rate=0.2, precision="float32"),
        dominoes=DominoesConfig(epochs=2),
    ),
    "paper": RunConfig(
        network={"depth": 18, "stages": 4, "width": 64},
        training=replace(_SGD, epochs=200, warmup=0.0),
        compromised_epochs=250,
        members=10,
        clean_members=10,
        rows=None,
        bases=10,
        dominoes=DominoesConfig(members=3, epochs=20, train_rows=None),
    ),
}


NATURAL = ("cifar10.1", "stl10")
_LABEL_NOISE = 0.05
_DROPPED = tuple(CIFAR10_CLASSES.index(one) for one in ("automobile", "bird"))

Target = tuple[str, Array, Array]
"""Name, images, labels."""


@final
class RunData:
    """The images of a run, read once and when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.train = cache(lambda: cifar10("train").sample(config.train_rows, config.seed))
        self._halves = cache(self._split)

    def _split(self) -> tuple[Dataset, Dataset]:
        """The images of the threshold, and those that are shifted."""
        test, config = cifar10("test"), self.config
        first, second = (test, test) if config.overlap else test.halves(config.seed)
        rows = config.validation_rows if config.validation_rows is not None else len(first)
        return first.sample(rows, config.seed), second.sample(config.rows, config.seed + 1)

    @property
    def validation(self) -> Dataset:
        """The labelled images on which thresholds are fitted."""
        return self._halves()[0]

    @property
    def held(self) -> Dataset:
        """The images that are shifted."""
        return self._halves()[1]

    def compromised(self, condition: str, flipped: float, member: int) -> Dataset:
        """The training set under a condition; then each member's own share of flipped labels."""
        data, seed = self.train(), self.config.seed
        if condition == "measurement-noise":
            data = measurement_noise(data, seed=seed)
        elif condition == "under-sampling":
            data = under_sample(data, _DROPPED, seed=seed)
        elif condition == "label-noise":
            data = flip_labels(data, _LABEL_NOISE, seed).data
        return flip_labels(data, flipped, seed + 1_000 + member).data if flipped else data

    @property
    def kinds(self) -> tuple[str, ...]:
        """Corruptions, in the order of CIFAR-10-C."""
        return tuple(IMAGE_SHIFTS) if self.config.kinds is None else self.config.kinds

    def corrupted(self, severity: int) -> Iterator[Target]:
        """The held images under every corruption of a severity."""
        labels, held = np.asarray(self.held.targets), self.held.inputs
        for kind in self.kinds:
            yield f"{kind}-{severity}", find_image_shift(kind).apply(held, severity, seed=self.config.seed), labels

    def natural(self) -> Iterator[Target]:
        """CIFAR-10.1 and STL10, where they are."""
        if find_cifar10_1() is not None:
            yield "cifar10.1", *_both(cifar10_1())
        if find_stl10() is not None:
            yield "stl10", *_both(stl10())

    @staticmethod
    def present() -> tuple[str, ...]:
        """Which of the two natural shifts are at hand."""
        found = {"cifar10.1": find_cifar10_1(), "stl10": find_stl10()}
        return tuple(name for name in NATURAL if found[name] is not None)

    def dominoes(self, part: str, correlation: float, *, randomized: bool = False) -> Dataset:
        """MNIST above CIFAR-10: ``train``, ``validation``, or ``target``, whose lower half is shifted."""
        config, seed = self.config.dominoes, self.config.seed
        if part == "train":
            return dominoes(mnist("train"), self.train().sample(config.train_rows, seed), correlation, seed)
        digits = mnist("test").halves(seed)[part == "target"]
        below = self._far() if part == "target" else self.validation
        return dominoes(digits, below, correlation, seed + 1, randomized=randomized)

    def _far(self) -> Dataset:
        """STL10 where it is, else the held images, each under one of the corruptions in turn."""
        if find_stl10() is not None:
            return stl10()
        held = self.held
        images = held.inputs.copy()
        for place, kind in enumerate(self.kinds):
            rows = slice(place, None, len(self.kinds))
            shift = find_image_shift(kind)
            images[rows] = shift.apply(images[rows], self.config.dominoes.severity, seed=self.config.seed)
        return Dataset("cifar10-corrupted", images, held.targets, source=held.source, modality="image")

    def fingerprints(self) -> dict[str, Any]:
        """Rows and fingerprint of each part."""
        parts = {"train": self.train(), "validation": self.validation, "held": self.held}
        return {name: {"rows": len(one), "fingerprint": one.fingerprint} for name, one in parts.items()}


def _both(data: Dataset) -> tuple[Array, Array]:
    return data.inputs, np.asarray(data.targets)


MODEL_FILES = ("oodometer_model.json", "pixels.json", "weights.safetensors")

Answers = Mapping[str, Array]
"""``probabilities`` (model, sample, class), ``label`` (sample,), ``views`` (base, view, sample), ``features``."""


def train_member(data: Dataset, config: RunConfig, epochs: int, member: int, place: Place, **network: Any) -> None:
    """Train one network and save it; interrupted, it goes on from its checkpoint."""
    use_threads()
    training = replace(config.training, epochs=epochs, seed=config.seed + member)
    model = ResNet(**{**config.network, **network}, training=training)
    with passing(place.workspace, place.folder) as checkpoint:
        classes = tuple(range(10))
        model.fit(data.inputs, data.targets, classes=classes, checkpoint=checkpoint, progress=place.progress)
        model.save(place.workspace / place.folder)


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
