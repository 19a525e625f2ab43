"""What the trained discriminators share: checks, log odds to probabilities, calibration on the dev set, saving."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...arrays import Array
from ...errors import InputError, UsageError
from ...store import write_atomic
from ..base import Progress
from ..torch.training import Plan
from .base import Dev, Discriminator, check_pairs, check_verdicts
from .odds import fit_temperature, probability

__all__ = ["CLASSES", "DESCRIPTION", "TrainedDiscriminator", "read_description"]

DESCRIPTION = "oodometer_discriminator.json"
CLASSES = ("Incorrect", "Correct")
MODEL = "model"  # the folder of the network in a saved discriminator's


class TrainedDiscriminator(Discriminator):
    """A discriminator whose network gives the log odds of Correct; a kind says how to train and ask the network."""

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

    @abstractmethod
    def _margins(self, inputs: list[str], outputs: list[str], progress: Progress | None) -> tuple[Array, int]:
        """Log odds of Correct, shape (sample,), and the number of pairs that were cut."""

    @abstractmethod
    def _save_network(self, folder: Path) -> None:
        """Write the network."""

    @classmethod
    @abstractmethod
    def _rebuilt(cls, options: dict[str, Any], folder: Path) -> Self:
        """The discriminator that `options` describe, with the network that `_save_network` wrote."""

    @property
    @abstractmethod
    def longest(self) -> int:
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
            margins, _ = self._margins(held[0], held[1], None)
            self.temperature = fit_temperature(margins, held[2], trained=self.trained_share)
        self._count_truncated(cut, len(given), self.longest)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair; see `Discriminator.probabilities`. `UsageError` before training."""
        self._must_be_trained()
        given, found = check_pairs(inputs, outputs)
        margins, cut = self._margins(given, found, progress)
        self._count_truncated(cut, len(given), self.longest)
        return probability(
            margins, trained=self.trained_share, share=self.share, temperature=self.temperature
        )

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the network and what its log odds mean; see `Discriminator.save`."""
        self._must_be_trained()
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        self._save_network(home / MODEL)
        about = {
            "kind": self.kind,
            "options": self.options(),
            "trained_share": self.trained_share,
            "temperature": self.temperature,
        }
        write_atomic(home / DESCRIPTION, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        return home

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a saved discriminator; see `Discriminator.load`."""
        home = Path(folder)
        about = read_description(home, cls.kind)
        options = dict(about["options"])
        if options.get("plan") is not None:
            options["plan"] = Plan(**options["plan"])
        judge = cls._rebuilt(options, home / MODEL)
        judge.trained_share = float(about["trained_share"])
        judge.temperature = float(about["temperature"])
        return judge

    def _must_be_trained(self) -> None:
        if not self.trained_share:
            raise UsageError(
                f"the {self.kind} discriminator has not been trained; call fit first or load a saved one"
            )


def read_description(folder: Path, kind: str | None = None) -> dict[str, Any]:
    """What a saved folder says about its discriminator; `InputError` where it is none, or none of the ``kind``.

    >>> read_description(Path("no-such-folder"))
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder...: expected a discriminator saved by oodometer, got no such file; ...
    """
    path = folder / DESCRIPTION
    got = "another content"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        got = "no such file"
    except ValueError:
        got = "no JSON"
    else:
        if isinstance(about, dict) and {"kind", "options"} <= set(about):
            if kind is None or about["kind"] == kind:
                return about
            got = f"one of the kind {about['kind']!r}"
    wanted = "a discriminator saved by oodometer" if kind is None else f"a saved {kind} discriminator"
    raise InputError(wanted, got=got, remedy="name the folder that save wrote", file=str(path))


def class_log_odds(logits: Array, incorrect: int, correct: int) -> Array:
    """Log odds of one class of two, z_correct - z_incorrect, shape (sample,)."""
    out: Array = logits[:, correct].astype(np.float64) - logits[:, incorrect].astype(np.float64)
    return out
