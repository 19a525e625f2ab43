"""Where the real outputs are, how they become records, and shifts made by re-drawing their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oodometer import Predictions

OUTPUTS = ("cifar10", "mnist", "imdb", "20news")

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Models:
    """Classes predicted by many models, shape (model, sample), and the truth, on one labelled data set."""

    names: tuple[str, ...]
    predicted: Ints
    label: Ints
    classes: int

    @property
    def accuracy(self) -> Floats:
        """Accuracy of every model, shape (model,)."""
        right: Floats = (self.predicted == self.label).mean(axis=1)
        return right

    def record(self, model: int, *, labelled: bool) -> Predictions:
        """One model as the judged one, all others as its members."""
        return Predictions.from_arrays(
            prediction=self.predicted[model],
            members=np.delete(self.predicted, model, axis=0),
            label=self.label if labelled else None,
            classes=range(self.classes),
        )


@dataclass(frozen=True)
class Outputs:
    """Out-of-sample class probabilities of one model, shape (sample, class), and the truth."""

    name: str
    probabilities: Floats
    label: Ints

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the most probable class is the true one, shape (sample,)."""
        found: NDArray[np.bool_] = self.probabilities.argmax(axis=1) == self.label
        return found

    def record(self, rows: Ints, *, labelled: bool) -> Predictions:
        """The record of these rows."""
        return Predictions.from_arrays(
            probabilities=self.probabilities[rows],
            label=self.label[rows] if labelled else None,
            classes=range(self.probabilities.shape[1]),
        )


def load_cifar(folder: Path) -> tuple[Models, dict[str, Models]]:
    """30 models on the CIFAR-10 test set (reference) and on CIFAR-10.1 v4 and v6 (targets)."""
    with np.load(folder / "outputs" / "cifar10_1_predictions.npz") as z:
        names = tuple(map(str, z["model_names"]))
        reference = Models(names, z["preds_original"], z["labels_original_test"], 10)
        targets = {v: Models(names, z[f"preds_{v}"], z[f"labels_{v}"], 10) for v in ("v4", "v6")}
    return reference, targets


def load_imagenet(folder: Path) -> tuple[Models, dict[str, Models]]:
    """65 models on the ImageNet validation set (reference) and on three ImageNet-V2 sets (targets)."""
    with np.load(folder / "outputs" / "imagenetv2_top1.npz") as z:
        names = tuple(map(str, z["models"]))

        def read(key: str) -> Models:
            return Models(names, z[f"P_{key}"], z[f"y_{key}"], 1000)

        reference = read("imagenet-validation-original")
        targets = {v: read(f"imagenetv2-{v}") for v in ("c-12", "a-44", "b-33")}
    return reference, targets


def load_outputs(folder: Path, name: str) -> Outputs:
    """Probabilities of one of the four cleanlab models, in float64: ranks near 1 matter."""
    with np.load(folder / "outputs" / "cleanlab_pyx.npz") as z:
        return Outputs(
            name, z[f"{name}_test_set_pyx"], z[f"{name}_test_set_labels"].astype(np.intp)
        )


SUBGROUPS = 10
_SMALLEST = 1e-6  # probabilities below it are alike to the clustering: 20news holds exact zeros


@dataclass(frozen=True)
class Shift:
    """How a target is drawn from the half that is no reference; `alpha` of the Dirichlet shares, small = strong."""

    name: str
    by: str = ""  # "label" or "subgroup"; empty for no shift
    alpha: float = 0.0


SHIFTS = (Shift("none"), Shift("label, alpha 1", "label", 1.0), Shift("label, alpha 0.1", "label", 0.1),
    Shift("subgroup, alpha 1", "subgroup", 1.0), Shift("subgroup, alpha 0.1", "subgroup", 0.1))  # fmt: skip


def subgroups(
    probabilities: Floats, *, count: int = SUBGROUPS, seed: int = 0, rounds: int = 50
) -> Ints:
    """k-means clusters of log-probabilities, shape (sample,): Lloyd's rounds from distant seeded starts.

    Written out, because the clusters must not depend on the version of a library.
    """
    points = np.log(np.maximum(probabilities, _SMALLEST))
    rng = np.random.default_rng([seed, 0xC1])
    centres = points[[int(rng.integers(len(points)))]]
    while len(centres) < count:  # k-means++: far points are likely starts
        nearest = _squares(points, centres).min(axis=1)
        pick = int(np.searchsorted(np.cumsum(nearest), rng.random() * nearest.sum()))
        centres = np.vstack([centres, points[min(pick, len(points) - 1)]])
    group = np.full(len(points), -1)
    for _ in range(rounds):
        fresh = _squares(points, centres).argmin(axis=1)
        if (fresh == group).all():
            break
        group = fresh
        for k in np.unique(group):
            centres[k] = points[group == k].mean(axis=0)
    return group


def _squares(points: Floats, centres: Floats) -> Floats:
    return np.stack([np.square(points - c).sum(axis=1) for c in centres], axis=1)


def redraw(group: Ints, alpha: float, rng: np.random.Generator) -> Ints:
    """Rows drawn without replacement so that the groups have Dirichlet(alpha) shares, as many rows as they allow."""
    sizes = np.bincount(group)
    present = np.flatnonzero(sizes)
    shares = rng.dirichlet(np.full(len(present), alpha))
    total = float(np.min(sizes[present] / np.maximum(shares, 1e-12)))
    wanted = np.floor(total * shares + 1e-9).astype(int)
    return np.concatenate(
        [
            rng.choice(np.flatnonzero(group == k), size=n, replace=False)
            for k, n in zip(present, wanted, strict=True)
        ]
    )


@dataclass(frozen=True)
class Draw:
    """A labelled reference, an unlabelled target and the accuracy of the target's rows."""

    reference: Predictions
    target: Predictions
    truth: float


def draws(outputs: Outputs, shift: Shift, seeds: range) -> Iterator[tuple[int, Draw]]:
    """One draw for each seed: a random half is the reference, the target is drawn from the other half."""
    groups = (
        outputs.label
        if shift.by == "label"
        else subgroups(outputs.probabilities)
        if shift.by
        else None
    )
    right = outputs.right
    for seed in seeds:
        rng = np.random.default_rng([seed, 0x5EA])
        rows = rng.permutation(len(right))
        half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        chosen = rest if groups is None else rest[redraw(groups[rest], shift.alpha, rng)]
        yield (seed,
            Draw(outputs.record(half, labelled=True), outputs.record(chosen, labelled=False),
            float(right[chosen].mean())))  # fmt: skip
