"""What the trained discriminators share: checks, log odds to probabilities, calibration on the dev set, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..models.base import Answers, Progress
from ..models.torch.training import TrainingConfig
from .base import Dev, Discriminator, check_pairs, check_verdicts
from .odds import fit_temperature, probability

CLASSES = ("Incorrect", "Correct")
MODEL = "model"  # the folder of the network in a saved discriminator's


class TrainedDiscriminator(Discriminator):
    """A discriminator whose network gives the log odds of Correct; a kind says how to train and ask the network."""

    model: Any

    def __init__(self, *, share: float | None = 0.5) -> None:
        if share is not None and not 0 < share < 1:
            raise UsageError(f"expected a share between 0 and 1, got {share}; 0.5 favours neither verdict")
        self.share = share
        self.trained_share = 0.0  # share of correct pairs in training; 0 before it
        self.temperature = 1.0

    # ---------------------------------------------------------------- what a kind defines

    @abstractmethod
    def _train(
        self,
        inputs: list[str],
        outputs: list[str],
        correct: Array,
        dev: tuple[list[str], list[str], Array] | None,
        checkpoint: Path | None,
        progress: Progress | None,
    ) -> int:
        """Train the network on checked pairs; returns how many of them were cut."""

    @property
    @abstractmethod
    def _ask(self) -> Callable[..., Answers]:
        """What asks the network: pairs and ``progress=`` -> answers with the logits of `CLASSES`."""

    @abstractmethod
    def _cut(self) -> int:
        """Pairs that were cut in the last call of it."""

    @abstractmethod
    def _save_network(self, folder: Path) -> None:
        """Write the network."""

    @classmethod
    @abstractmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        """The discriminator that `options` describe, with the network that `_save_network` wrote."""

    @property
    @abstractmethod
    def max_length(self) -> int:
        """Tokens of a pair that are read."""

    # ---------------------------------------------------------------- the contract

    def fit(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        correct: Sequence[Any],
        *,
        dev: Dev | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train, then calibrate by one temperature on ``dev`` where given; see `Discriminator.fit`."""
        given, found = check_pairs(inputs, outputs)
        verdicts = check_verdicts(correct, len(given))
        held = None
        if dev is not None:
            dev_inputs, dev_outputs = check_pairs(dev[0], dev[1])
            held = dev_inputs, dev_outputs, check_verdicts(dev[2], len(dev_inputs), one_class=True)
        folder = None if checkpoint is None else Path(checkpoint)
        cut = self._train(given, found, verdicts, held, folder, progress)
        self.trained_share, self.temperature = float(verdicts.mean()), 1.0
        if held is not None:
            answers = self._ask(list(zip(held[0], held[1], strict=True)))
            self.temperature = fit_temperature(self._margins(answers), held[2], trained=self.trained_share)
        self._count_truncated(cut, len(given), self.max_length)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair; see `Discriminator.probabilities`. `UsageError` before training."""
        self._must_be_fitted()
        given, found = check_pairs(inputs, outputs)
        answers = self._ask(list(zip(given, found, strict=True)), progress=progress)
        margins = self._margins(answers)
        self._count_truncated(self._cut(), len(given), self.max_length)
        return probability(margins, trained=self.trained_share, share=self.share, temperature=self.temperature)

    def _margins(self, answers: Answers) -> Array:
        """Log odds of Correct, shape (sample,)."""
        return class_log_odds(answers.logits_of(self.model.kind), 0, 1)

    def _fitted(self) -> bool:
        return bool(self.trained_share)

    def _write(self, folder: Path) -> dict[str, Any]:
        """The network, and what its log odds mean."""
        self._save_network(folder / MODEL)
        return {"trained_share": self.trained_share, "temperature": self.temperature}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        options = dict(about["options"])
        if options["training"] is not None:
            options["training"] = TrainingConfig(**options["training"])
        judge = cls._rebuilt(options, folder / MODEL)
        judge.trained_share = float(about["trained_share"])
        judge.temperature = float(about["temperature"])
        return judge


def class_log_odds(logits: Array, incorrect: int, correct: int) -> Array:
    """Log odds of one class of two, z_correct - z_incorrect, shape (sample,)."""
    out: Array = logits[:, correct].astype(np.float64) - logits[:, incorrect].astype(np.float64)
    return out
