"""Options of `stress`: which shifts at which severities, how models are asked, what the numbers come with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ...intervals import check_level
from ...shifts import DIALOGUE_SHIFTS, TEXT_SHIFTS, TextShift, find_text_shift
from ..shift.inputs import ShiftInputs

Wanted = tuple[type[TextShift], tuple[str, ...]]
"""A kind of shift and its severities, as they were typed."""


@dataclass(frozen=True)
class StressOptions:
    """All that settles what `stress` finds beside data and models; as in `stress`."""

    kind: Sequence[str]
    severity: Sequence[Any]
    inputs: ShiftInputs
    column: str | None
    where: Mapping[str, str]
    label: str | None
    rows: int | None
    candidates: int
    repeats: int
    dropout: int
    level: float
    seed: int

    def __post_init__(self) -> None:
        check_level(self.level)
        for name, value, least in (
            ("rows", self.rows, 2),
            ("candidates", self.candidates, 2),
            ("repeats", self.repeats, 1),
            ("dropout", self.dropout, 0),
        ):
            if value is not None and value < least:
                raise UsageError(f"expected {name} to be a number from {least} on, got {value!r}")

    def wanted(self, dialogues: bool) -> list[Wanted]:
        """The kinds with their severities: their own (``kind=0.1,0.3``), those for all kinds, or those of the paper.

        Raises `UsageError` for a kind or a severity that there is not, and for what a kind needs and does not get.
        """
        every = tuple(dict.fromkeys(map(str, self.severity)))
        found: dict[str, Wanted] = {}
        for asked in self.kind or self._usual(dialogues):
            name, equals, own = asked.partition("=")
            cls = find_text_shift(name, dialogues=dialogues)
            levels = tuple(dict.fromkeys(own.split(","))) if equals else every or cls.usual
            for level in levels:
                cls().check_severity(level)
            before = found.get(name, (cls, ()))[1]
            found[name] = (cls, tuple(dict.fromkeys((*before, *levels))))
        self.inputs.check([cls for cls, _ in found.values()])
        return list(found.values())

    def _usual(self, dialogues: bool) -> tuple[str, ...]:
        """Kinds where none is named: synonyms where training texts tell what is known, else what needs nothing more."""
        if self.inputs.training is not None:
            return TEXT_SHIFTS[:2]
        return DIALOGUE_SHIFTS if dialogues else ("typing-errors", "casing")
