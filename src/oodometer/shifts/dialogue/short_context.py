"""Short context: conversations that really are as short; the control of deleted turns."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...errors import UsageError
from ...registry import register
from ..text.base import Dropped, ShiftedText, TextShift


@final
@register("shift")
class ShortContext(TextShift):
    """Only contexts of exactly so many turns, unchanged (SR); the severity is the number of turns.

    Source: Lee et al. (2021): the control of `InsufficientContext`.

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
        try:
            found = int(str(severity)) if not isinstance(severity, bool) else 0
        except ValueError:
            found = 0
        if found < 1:
            raise UsageError(f"expected a severity of {self.name} from 1 on, the number of turns, got {severity!r}")
        return found

    def _shifted(self, turns: tuple[str, ...], severity: int, rng: np.random.Generator) -> ShiftedText | Dropped:
        if len(turns) != severity:
            return Dropped(f"not {severity} turns")
        return ShiftedText(turns, len(turns), 0)
