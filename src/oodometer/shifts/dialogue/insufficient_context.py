"""Insufficient context: the first turns of a conversation are missing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, final

import numpy as np

from ...errors import UsageError
from ...registry import register
from ..text.base import Dropped, ShiftedText, TextShift


@final
@register("shift")
class InsufficientContext(TextShift):
    """The first floor(ratio * n) of n turns deleted (IC); the last turn always stays.

    The severity is the ratio, from 0 up to less than 1, such as 1/6. With ``turns`` only contexts of at least so many
    turns are used, and of them the last so many, so that every severity has the same contexts, as in the paper (6). A
    context of which no turn would be deleted is dropped, unless the ratio is 0.

    Source: Lee et al. (2021), whose "sentences" are turns.

    >>> InsufficientContext(turns=3).apply(["a", "b", "c", "d"], "1/3").turns
    ('c', 'd')
    """

    name = "insufficient-context"
    about = "the first turns of the conversation are missing"
    citation = "lee2021"
    usual = ("0", "1/6", "2/6", "3/6", "4/6", "5/6")
    for_dialogues = True
    counts = "turns that were deleted"

    def __init__(self, *, turns: int | None = None) -> None:
        if turns is not None and turns < 2:
            raise UsageError(f"expected turns to be a number from 2 on, got {turns!r}")
        self._turns = turns

    def check_severity(self, severity: Any) -> Fraction:
        """The share of turns, from 0 up to less than 1."""
        try:
            found = Fraction(str(severity)) if not isinstance(severity, bool) else Fraction(-1)
        except (ValueError, ZeroDivisionError):
            found = Fraction(-1)
        if not 0 <= found < 1:
            said = f"expected a severity of {self.name} from 0 up to less than 1, such as 1/6"
            raise UsageError(f"{said}, got {severity!r}")
        return found

    def _shifted(self, turns: tuple[str, ...], severity: Fraction, rng: np.random.Generator) -> ShiftedText | Dropped:
        if self._turns is not None:
            if len(turns) < self._turns:
                return Dropped(f"fewer than {self._turns} turns")
            turns = turns[-self._turns :]
        gone = int(severity * len(turns))
        if severity and not gone:
            return Dropped("so few turns that none is to be deleted")
        return ShiftedText(turns[gone:], len(turns), gone)
