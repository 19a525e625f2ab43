"""What the methods share that are made of one trained model: they read what it reads, and are saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...arrays import Array
from ...datasets import Dataset
from ...errors import UsageError
from ..artifacts import load_artifact
from ..base import Classifier, Progress

_MODEL = "model"


class OfOneModel(Classifier):
    """A classifier that asks another one, its ``model``, in a way of its own."""

    def __init__(self, model: Classifier) -> None:
        if not isinstance(model, Classifier):
            raise UsageError(f"expected a classifier, got {type(model).__name__}; open_classifier makes one of many")
        model._must_be_fitted()
        self.model = model
        self.reads, self.classes, self.by_position = model.reads, model.classes, model.by_position

    @property
    def truncated(self) -> int:  # type: ignore[override]
        """Inputs of the last call that were too long and were cut."""
        return self.model.truncated

    @property
    def parameters(self) -> int:
        """Of the model."""
        return self.model.parameters

    def _fit(self, data: Dataset, truth: Array, dev: Any, checkpoint: Any, progress: Progress | None) -> None:
        raise UsageError(f"train the model before it is given to {self.kind}")

    def _fitted(self) -> bool:
        return True

    def _checked(self, inputs: Any) -> Any:
        return self.model._checked(inputs)

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.save(folder / _MODEL)
        return {}


def read_model(folder: Path) -> Classifier:
    """The model that a method was saved with."""
    found: Classifier = load_artifact(folder / _MODEL, Classifier, "a classifier")
    return found
