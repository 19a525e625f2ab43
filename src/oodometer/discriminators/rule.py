"""Rule: any function of (input, output) as a discriminator, be it a check by program or a judge that is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..models.base import Progress
from .base import Discriminator, check_pairs


@final
class RuleDiscriminator(Discriminator):
    """P(Correct) = function(input, output), a number in [0, 1] or a verdict; nothing is trained.

    The function is asked pair by pair, in order. A rule is code, so it cannot be saved: write its votes into a
    predictions file instead (`Panel.vote`), where they are as good as any judge's.

    Parameters
    ----------
    function : gives True, False or a probability; a judge that answers "no opinion" says 0.5.
    name : how the rule is called in messages.

    Raises `InputError` naming the row where the function gives anything else.

    >>> same_length = RuleDiscriminator(lambda given, found: len(given.split()) == len(found.split()))
    >>> same_length.judge(["a b", "a b"], ["A B", "A"]).tolist()
    [True, False]
    """

    kind = "rule"

    def __init__(self, function: Callable[[str, str], Any], *, name: str | None = None) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", "rule"))

    def options(self) -> dict[str, Any]:
        """The name of the rule."""
        return {"name": self.name}

    def probabilities(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Array:
        """What the function says of each pair, float32, shape (sample,)."""
        inputs, outputs = check_pairs(inputs, outputs)
        found = np.empty(len(inputs), dtype=np.float32)
        for row, (given, output) in enumerate(zip(inputs, outputs, strict=True)):
            answer = self.function(given, output)
            try:
                value = float("nan") if isinstance(answer, str) else float(answer)
            except (TypeError, ValueError):
                value = float("nan")
            if not 0 <= value <= 1:
                raise InputError(
                    f"true, false or a probability from {self.name}",
                    got=repr(answer)[:60],
                    remedy="let the rule answer every pair",
                    row=row + 1,
                )
            found[row] = value
            if progress is not None:
                progress(row + 1, len(inputs))
        return found

    @property
    def parameters(self) -> int:
        """None: 0."""
        return 0

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Raise `UsageError`: code is not saved."""
        raise UsageError(f"the rule {self.name} is code and cannot be saved; save its votes in a predictions file")

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Raise `UsageError`: code is not read from a folder."""
        raise UsageError("a rule cannot be loaded; make it again from its function")
