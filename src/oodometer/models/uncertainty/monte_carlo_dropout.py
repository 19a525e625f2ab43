"""Monte Carlo dropout: the mean and the variance of several passes with the dropout layers on, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, final

from ...errors import UsageError
from ..base import Answers, Classifier, Progress, Request
from .base import OfOneModel, read_model


@final
class MonteCarloDropout(OfOneModel):
    """p(y | x) = mean over N passes of p(y | x, dropout mask n); the variance over the passes tells the uncertainty.

    Parameters
    ----------
    model : a trained network with dropout layers; other layers, such as batch normalisation, stay as they are.
    passes : N; two or more have a variance above 0.
    seed : of the masks: the same seed, inputs and batches give the same answers.

    Raises `UsageError` for fewer than two passes, and when a model without dropout is asked.

    Source: Gal and Ghahramani (2016).

    >>> MonteCarloDropout(None)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a classifier, got NoneType; open_classifier makes one of many
    """

    kind = "monte-carlo-dropout"

    def __init__(self, model: Classifier, *, passes: int = 5, seed: int = 0) -> None:
        super().__init__(model)
        if passes < 2:
            raise UsageError(f"expected at least 2 passes, got {passes}; one has no variance")
        self.passes, self.seed = passes, seed

    def options(self) -> dict[str, Any]:
        """Passes and seed."""
        return {"passes": self.passes, "seed": self.seed}

    def ask(self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None) -> Answers:
        """Mean and variance of the passes; with views, which cannot be asked beside dropout, those of the model."""
        request = request or Request()
        if not request.views:
            seed = self.seed + request.seed
            request = replace(request, dropout=request.dropout or self.passes, seed=seed)
        return self.model.ask(inputs, request, progress=progress)

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        return cls(read_model(folder), **about["options"])
