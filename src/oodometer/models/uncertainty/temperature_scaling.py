"""Temperature scaling: one number, fitted on validation data, by which the logits of a live model are divided."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...calibrators.temperature import fit_temperature
from ...datasets import Dataset
from ...errors import UsageError
from ..base import Answers, Classifier, Progress, Request, class_codes
from ..response_ranking.pieces import positions_of
from .base import OfOneModel, read_model


@final
class TemperatureScaling(OfOneModel):
    """p(y | x) = softmax(z / T); T maximises the likelihood of the labels of validation data.

    The predicted class stays, and so does the accuracy. A ranker is scaled over the candidates of each sample.

    Parameters
    ----------
    model : a trained model that gives logits.
    temperature : T, where it is known already; else `fit` finds it.

    Raises `UsageError` for a temperature that is not positive, for a model that gives probabilities alone, and where it
    is asked before `fit`.

    Source: Guo et al. (2017).

    >>> TemperatureScaling(None)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a classifier, got NoneType; open_classifier makes one of many
    """

    kind = "temperature-scaling"

    def __init__(self, model: Classifier, *, temperature: float | None = None) -> None:
        super().__init__(model)
        if temperature is not None and not 0 < temperature < np.inf:
            raise UsageError(f"expected a temperature above 0, got {temperature}")
        self.temperature = temperature

    def options(self) -> dict[str, Any]:
        """The temperature."""
        return {"temperature": self.temperature}

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
        given = self._data(data, targets)
        answers = self.model.ask(given, progress=progress)
        logits = answers.logits_of(self.model.kind).astype(np.float64)
        if answers.candidates is None:
            truth = class_codes(given.targets, len(given), self.classes)[0]
        else:
            truth = positions_of(given)
            # Far below every other score, but finite: 0 x inf has no value.
            lowest = np.min(logits, where=np.isfinite(logits), initial=0.0)
            logits = np.where(np.isfinite(logits), logits, lowest - 1e4)
        if truth.ndim != 1:
            raise UsageError("expected one class a sample, got distributions; give the labels")
        self.temperature = fit_temperature(logits, truth)
        return self

    def _fitted(self) -> bool:
        return self.temperature is not None

    def ask(self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None) -> Answers:
        """The model's answers with logits divided by T. `UsageError` before `fit`, and for passes with dropout."""
        self._must_be_fitted()
        if request is not None and request.dropout:
            raise UsageError("temperature scaling and dropout are two methods; ask for one of them")
        assert self.temperature is not None
        found = self.model.ask(inputs, request, progress=progress)
        logits = found.logits_of(self.model.kind)
        return replace(found, logits=logits / logits.dtype.type(self.temperature))

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        return cls(read_model(folder), **about["options"])
