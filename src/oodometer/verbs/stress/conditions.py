"""Conditions: what each shift at each severity makes of the examples, and which rows all severities of it have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ...errors import InputError
from ...shifts import TextShift
from ...shifts.text import Dropped
from ...shifts.text.synonyms import SynonymShift
from ..shift.inputs import ShiftInputs
from .examples import Examples

_TELL = 500

Wanted = tuple[type[TextShift], tuple[str, ...]]
"""A kind of shift and its severities, as they were typed."""


@final
@dataclass(frozen=True)
class Condition:
    """One kind at one severity: for each draw the rows that could be shifted, number -> turns.

    dropped, words, targets : of the first draw, as in `StressPoint`.
    """

    severity: str
    draws: tuple[Mapping[int, tuple[str, ...]], ...]
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None

    def stem(self, shift: TextShift, draw: int) -> str:
        """The name under which answers to a draw, from 0 on, are kept."""
        name = f"{shift.name}-{self.severity.replace('/', '-of-')}"
        return f"{name}-draw-{draw + 1}" if draw else name

    @property
    def different(self) -> tuple[Mapping[int, tuple[str, ...]], ...]:
        """The draws that differ: a shift without chance has one."""
        out: list[Mapping[int, tuple[str, ...]]] = []
        for one in self.draws:
            if one not in out:
                out.append(one)
        return tuple(out)


@final
@dataclass(frozen=True)
class ShiftedKind:
    """One kind with all its severities; ``common`` are the numbers of the rows that each of them and each draw has.

    A severity that no row could reach is left out of it.
    """

    shift: TextShift
    conditions: tuple[Condition, ...]
    common: frozenset[int]


def shift_examples(
    examples: Examples,
    wanted: Sequence[Wanted],
    inputs: ShiftInputs,
    seeds: Sequence[int],
    progress: Callable[[int, int], None] | None,
) -> list[ShiftedKind]:
    """Shift the examples by each kind at each severity, once for each seed.

    Raises `InputError` where a kind can shift none of them at any severity.
    """
    vocabulary = inputs.vocabulary() if any(issubclass(cls, SynonymShift) for cls, _ in wanted) else None
    total = len(examples) * len(seeds) * sum(len(levels) for _, levels in wanted)
    done = 0

    def tell(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done, total)

    out = []
    for cls, levels in wanted:
        shift = inputs.make(cls, vocabulary)
        conditions = tuple(_condition(examples, shift, level, seeds, tell) for level in levels)
        sets = [frozenset(draw) for one in conditions for draw in one.draws if draw]
        if not sets:
            why = Counter[str]()
            for one in conditions:
                why.update(one.dropped)
            raise InputError(
                f"rows that {cls.name} can shift at {', '.join(levels)}",
                got=f"none ({'; '.join(f'{many:,}: {said}' for said, many in why.items())})",
                remedy="choose other severities, or other data",
                file=examples.file,
            )
        out.append(ShiftedKind(shift, conditions, frozenset.intersection(*sets)))
    return out


def _condition(
    examples: Examples, shift: TextShift, severity: str, seeds: Sequence[int], tell: Callable[[int], Any]
) -> Condition:
    draws: list[dict[int, tuple[str, ...]]] = []
    dropped: Counter[str] = Counter()
    words = targets = 0
    for place, seed in enumerate(seeds):
        kept = {}
        for at, one in enumerate(examples.found, 1):
            found = shift.apply(one.turns, severity, seed=seed, row=one.number)
            if not isinstance(found, Dropped):
                kept[one.number] = found.turns
            if not place:
                dropped.update([found.why] if isinstance(found, Dropped) else ())
                words += 0 if isinstance(found, Dropped) else found.words
                targets += 0 if isinstance(found, Dropped) else found.targets
            if at % _TELL == 0 or at == len(examples):
                tell((at - 1) % _TELL + 1)
        draws.append(kept)
    rows = len(draws[0])
    means = (round(words / rows, 4), round(targets / rows, 4)) if rows else (None, None)
    return Condition(severity, tuple(draws), dict(dropped), *means)
