"""Likelihood: another sequence model as a judge; P(Correct) is how probable it finds the output."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..models.base import Progress
from ..models.seq2seq import EncoderDecoder
from .base import MODEL, Dev, Discriminator, check_pairs, check_verdicts

NOTHING = "."  # scored in the place of an empty output, which is no sequence


@final
class LikelihoodDiscriminator(Discriminator):
    """P(Correct) = p(output | input) of a sequence model that is not the judged one, such as one of half the data.

    It needs no wrong outputs to learn from: `fit` trains the model on the pairs that are correct. From 0.5 on it
    accepts what this model would say itself. Long outputs have small P, right ones too; so set its threshold on
    labelled outputs (`fit_thresholds`), as ATC does with confidence. Where the judged model and this one lack the same
    knowledge, they are wrong together, and this judge does not see it.

    Parameters
    ----------
    model : an `EncoderDecoder`, trained or not.

    Source: Garg et al. (2022) for the threshold; disagreement of two trainings as a sign of error: Jiang et al. (2022).

    >>> LikelihoodDiscriminator(EncoderDecoder(config={})).judge(["a b"], ["A B"])
    Traceback (most recent call last):
    oodometer.errors.UsageError: the likelihood model has not been trained; call fit first or load a saved one
    """

    kind = "likelihood"

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model

    def options(self) -> dict[str, Any]:
        """Arguments of the model's constructor."""
        return {**self.model.options(), "training": asdict(self.model.training)}

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
        """Train the model on the correct pairs alone; all may be correct. See `Discriminator.fit`."""
        learnt = _right(inputs, outputs, correct)
        held = None if dev is None else _right(*dev)
        if held is not None and not held[0]:
            held = None
        self.model.fit(*learnt, dev=held, checkpoint=checkpoint, progress=progress)
        return self

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """p(output | input), float32, shape (sample,); 0 for what the model cannot spell, and for an empty output."""
        self._must_be_fitted()
        given, found = check_pairs(inputs, outputs)
        written = [one if one.strip() else NOTHING for one in found]
        totals = np.asarray(self.model.logprobs(given, written, progress=progress).sums(), dtype=np.float64)
        self._count_truncated(self.model.truncated, len(given), self.model.max_length)
        empty = np.array([not one.strip() for one in found])
        return np.asarray(np.where(empty, 0.0, np.exp(np.minimum(totals, 0.0))).astype(np.float32))

    @property
    def parameters(self) -> int:
        """Number of parameters of the model."""
        return self.model.parameters

    def _fitted(self) -> bool:
        return self.model.net is not None

    def _write(self, folder: Path) -> dict[str, Any]:
        self.model.save(folder / MODEL)
        return {}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        return cls(EncoderDecoder.load(folder / MODEL))


def _right(inputs: Sequence[str], outputs: Sequence[str], correct: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The correct pairs."""
    given, found = check_pairs(inputs, outputs)
    rows = np.flatnonzero(check_verdicts(correct, len(given), one_class=True))
    return [given[row] for row in rows], [found[row] for row in rows]
