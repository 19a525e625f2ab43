"""Where the real outputs are and how they become records: classes of many models, probabilities of one."""

from __future__ import annotations

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
        return Outputs(name, z[f"{name}_test_set_pyx"], z[f"{name}_test_set_labels"].astype(np.intp))
