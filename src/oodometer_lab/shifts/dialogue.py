"""Dialogue shifts: turns that are missing; words are exchanged by the shifts of texts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from oodometer.errors import UsageError
from oodometer.registry import register

from .text.base import Dropped, ShiftedText, TextShift, parsed


@register("shift")
class InsufficientContext(TextShift):
    """The first floor(ratio * n) of n turns deleted (IC); the last turn always stays.

    The severity is the ratio, from 0 up to less than 1, such as 1/6. With ``turns`` only contexts of at least so many
    turns are used, and of them the last so many, so that every severity has the same contexts, as in the paper (6). A
    context of which no turn would be deleted is dropped, unless the ratio is 0. Source: Lee et al. (2021).

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
        expected = f"a severity of {self.name} from 0 up to less than 1, such as 1/6"
        return parsed(Fraction, severity, expected, lambda share: 0 <= share < 1)

    def _shifted(
        self, turns: tuple[str, ...], severity: Fraction, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        if self._turns is not None:
            if len(turns) < self._turns:
                return Dropped(f"fewer than {self._turns} turns")
            turns = turns[-self._turns :]
        gone = int(severity * len(turns))
        if severity and not gone:
            return Dropped("too few turns to delete one")
        return ShiftedText(turns[gone:], len(turns), gone)


@register("shift")
class ShortContext(TextShift):
    """Only contexts of exactly so many turns, unchanged (SR); the severity is the number of turns. Source: Lee et al.
    (2021): the control of `InsufficientContext`.

    >>> shift = ShortContext()
    >>> shift.apply(["a", "b"], 2).turns, shift.apply(["a"], 2).why
    (('a', 'b'), 'not 2 turns')
    """

    name = "short-context"
    about = "only conversations that really have so few turns"
    citation = "lee2021"
    usual = ("6", "5", "4", "3", "2", "1")
    for_dialogues = True
    counts = "turns that were deleted"

    def check_severity(self, severity: Any) -> int:
        """The number of turns, from 1 on."""
        expected = f"a severity of {self.name} from 1 on, the number of turns"
        return parsed(int, severity, expected, lambda turns: turns >= 1)

    def _shifted(
        self, turns: tuple[str, ...], severity: int, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        if len(turns) != severity:
            return Dropped(f"not {severity} turns")
        return ShiftedText(turns, len(turns), 0)


KINDS: tuple[type[TextShift], ...] = (InsufficientContext, ShortContext)
