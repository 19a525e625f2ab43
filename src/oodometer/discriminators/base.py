"""What every discriminator is: it reads (input, output) and says with which probability the output is correct."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..arrays import Array, as_numpy
from ..errors import InputError, UsageError
from ..models.artifacts import Artifact
from ..models.base import Progress
from ..results import percent

Dev = tuple[Sequence[str], Sequence[str], Sequence[Any]]
"""A dev set: inputs, outputs and their correctness."""


class Discriminator(Artifact):
    """A judge of pairs (input, output): P(Correct), and the verdict Correct where P >= 0.5.

    Some are trained (`fit`), others exist already: a rule, a judge, a classifier from the hub. A tie at 0.5 is a vote
    for Correct. ``truncated`` is the number of pairs of the last call that were too long and were judged with their
    longer side cut; the share is warned about once. Source: Yao and Koller (2024).
    """

    truncated: int = 0
    """Pairs that were cut in the last call of `fit` or `probabilities`."""

    _told: bool = False  # a warning about long pairs was given

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
        """Train on pairs and whether each output is correct; returns the discriminator itself.

        With ``dev`` the weights of the smallest loss on it are kept. A training that is given a ``checkpoint`` folder
        goes on from there after an interruption, to the weights it would have had. Raises `InputError` where all pairs
        are correct, or none is.

        A judge that exists already, such as a rule, is as it is: nothing is done.
        """
        return self

    @abstractmethod
    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """P(Correct) of each pair, float32, shape (sample,), in the order of the pairs."""

    def judge(self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None) -> Array:
        """The verdicts P(Correct) >= 0.5, bool, shape (sample,)."""
        verdicts: Array = self.probabilities(inputs, outputs, progress=progress) >= 0.5
        return verdicts

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Number of parameters; 0 for a rule."""

    def _fitted(self) -> bool:
        return True

    def _write(self, folder: Path) -> dict[str, Any]:
        raise UsageError(f"the discriminator {self.kind} has no way to be saved; save its votes")

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        raise UsageError(f"the discriminator {cls.kind} has no way to be loaded; make it again")

    def _count_truncated(self, count: int, rows: int, max_length: int) -> None:
        """Note how many pairs were cut, and warn about it the first time."""
        self.truncated = count
        if count and not self._told:
            self._told = True
            warnings.warn(
                f"{count} of {rows} pairs ({percent(count / rows)}) are longer than {max_length} tokens: the end of "
                "their longer side was cut, and an error there is not seen; raise `max_length`",
                stacklevel=4,
            )


def check_pairs(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Inputs and outputs as lists; `InputError` names the first row that is no text, or how the lengths differ.

    >>> check_pairs(["a", "b"], ["A", None])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column output: expected a text, got None; leave the row out or give the text
    """
    given: dict[str, list[Any]] = {"input": list(inputs), "output": list(outputs)}
    if isinstance(inputs, str) or isinstance(outputs, str):
        raise InputError("lists of texts", got="one text", remedy="put it in a list", column="input")
    if len(given["input"]) != len(given["output"]) or not given["input"]:
        raise InputError(
            "as many outputs as inputs, at least one",
            got=f"{len(given['input'])} inputs and {len(given['output'])} outputs",
            remedy="give one output an input",
            column="output",
        )
    for column, texts in given.items():
        bad = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if bad is not None:
            raise InputError(
                "a text",
                got=repr(texts[bad])[:60],
                remedy="leave the row out or give the text",
                row=bad + 1,
                column=column,
            )
    return [str(one) for one in given["input"]], [str(one) for one in given["output"]]


def check_verdicts(correct: Sequence[Any], rows: int, *, one_class: bool = False) -> Array:
    """Correctness as bool, shape (sample,); `InputError` for another length, another value, or one class only.

    >>> check_verdicts([1, True, 1.0], 3)
    Traceback (most recent call last):
    oodometer.errors.InputError: column correct: expected correct and incorrect outputs, got 3 of 3 correct; add ...
    """
    array = as_numpy(correct)
    if array.shape != (rows,):
        raise InputError(
            f"{rows} verdicts, one a pair",
            got=f"shape {array.shape}",
            remedy="give one a pair",
            column="correct",
        )
    known = np.array([not isinstance(one, str) and one in (0, 1) for one in array.tolist()], dtype=bool)
    if not known.all():
        row = int(np.argmin(known))
        raise InputError(
            "true or false (1 or 0)",
            got=repr(array.tolist()[row])[:60],
            remedy="give the verdict or drop the row",
            row=row + 1,
            column="correct",
        )
    verdicts = array.astype(bool)
    right = int(verdicts.sum())
    if not one_class and right in (0, rows):
        remedy = (
            "add wrong outputs: those of earlier checkpoints (a smaller K) or of a weaker model"
            if right
            else "add right outputs: the gold ones of the training set"
        )
        raise InputError(
            "correct and incorrect outputs", got=f"{right} of {rows} correct", remedy=remedy, column="correct"
        )
    return verdicts
