"""Uncertainty: a trained model asked so that its probabilities say how sure it is: temperature, Monte Carlo dropout."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.calibrators.temperature import fit_temperature
from oodometer.errors import UsageError

from ..datasets import Dataset
from .artifacts import load_artifact
from .base import Answers, Classifier, Progress, Request, class_codes
from .response_ranking import positions_of

_MODEL = "model"


class OfOneModel(Classifier):
    """A classifier that asks another one, its ``model``, in a way of its own."""

    def __init__(self, model: Classifier) -> None:
        if not isinstance(model, Classifier):
            raise UsageError(
                f"expected a classifier, got {type(model).__name__}; open_classifier makes one of many"
            )
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

    def _fit(
        self, data: Dataset, truth: Array, dev: Any, checkpoint: Any, progress: Progress | None
    ) -> None:
        raise UsageError(f"train the model before it is given to {self.kind}")

    def _checked(self, inputs: Any) -> Any:
        return self.model._checked(inputs)

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.save(folder / _MODEL)
        return {}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        return cls(load_artifact(folder / _MODEL, Classifier, "a classifier"), **about["options"])


@final
class TemperatureScaling(OfOneModel):
    """p(y | x) = softmax(z / T); T maximises the likelihood of the labels of validation data.

    The predicted class stays, and so does the accuracy. A ranker is scaled over the candidates of each sample.

    model : a trained model that gives logits.
    temperature : T, where it is known already; else `fit` finds it.

    Raises `UsageError` for a temperature that is not positive, for a model that gives probabilities alone, and where it
    is asked before `fit`. Source: Guo et al. (2017).

    >>> TemperatureScaling(None)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a classifier, got NoneType; open_classifier makes one of many
    """

    kind, arguments = "temperature-scaling", ("temperature",)

    def __init__(self, model: Classifier, *, temperature: float | None = None) -> None:
        super().__init__(model)
        if temperature is not None and not 0 < temperature < np.inf:
            raise UsageError(f"expected a temperature above 0, got {temperature}")
        self.temperature = temperature

    def fit(
        self,
        data: Dataset | Sequence[Any],
        targets: Any = None,
        *,
        dev: Any = None,
        classes: Sequence[int | str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find T on labelled validation data, which the model was not trained on; ``dev`` and what follows is not read.

        Raises `InputError` for targets that are no classes of the model, or no positions among the candidates.
        """
        dataset = self._data(data, targets)
        answers = self.model.ask(dataset, progress=progress)
        logits = answers.logits_of(self.model.kind).astype(np.float64)
        if answers.candidates is None:
            truth = class_codes(dataset.targets, len(dataset), self.classes)[0]
        else:
            truth = positions_of(dataset)
            # Far below every other score, but finite: 0 x inf has no value.
            lowest = np.min(logits, where=np.isfinite(logits), initial=0.0)
            logits = np.where(np.isfinite(logits), logits, lowest - 1e4)
        if truth.ndim != 1:
            raise UsageError("expected one class a sample, got distributions; give the labels")
        self.temperature = fit_temperature(logits, truth)
        return self

    def _fitted(self) -> bool:
        return self.temperature is not None

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """The model's answers with logits divided by T. `UsageError` before `fit`, and for passes with dropout."""
        self._must_be_fitted()
        if request is not None and request.dropout:
            raise UsageError("temperature scaling and dropout are two methods; ask for one of them")
        assert self.temperature is not None
        answers = self.model.ask(inputs, request, progress=progress)
        logits = answers.logits_of(self.model.kind)
        return replace(answers, logits=logits / logits.dtype.type(self.temperature))


@final
class MonteCarloDropout(OfOneModel):
    """p(y | x) = mean over N passes of p(y | x, dropout mask n); the variance over the passes tells the uncertainty.

    model : a trained network with dropout layers; other layers, such as batch normalisation, stay as they are.
    passes : N; two or more have a variance above 0.
    seed : of the masks: the same seed, inputs and batches give the same answers.

    Raises `UsageError` for fewer than two passes, and for a model without dropout. Source: Gal and Ghahramani (2016).

    >>> MonteCarloDropout(None)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a classifier, got NoneType; open_classifier makes one of many
    """

    kind, arguments = "monte-carlo-dropout", ("passes", "seed")

    def __init__(self, model: Classifier, *, passes: int = 5, seed: int = 0) -> None:
        super().__init__(model)
        if passes < 2:
            raise UsageError(f"expected at least 2 passes, got {passes}; one has no variance")
        self.passes, self.seed = passes, seed

    def ask(
        self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None
    ) -> Answers:
        """Mean and variance of the passes; with views, which cannot be asked beside dropout, those of the model."""
        request = request or Request()
        if not request.views:
            seed = self.seed + request.seed
            request = replace(request, dropout=request.dropout or self.passes, seed=seed)
        return self.model.ask(inputs, request, progress=progress)
