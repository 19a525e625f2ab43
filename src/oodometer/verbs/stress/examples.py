"""Examples: the texts, or contexts with candidate replies, of a file, each with its number, which shifts keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...datasets import Dataset, Dialogue
from ...datasets.dialogues import Replies, exchange
from ...errors import InputError
from ...models.labels import matched
from ...shifts import TextShift
from ...shifts.text import Dropped
from ..shift.text import ShiftInputs
from ..shift.texts import Rows, Texts

Turns = Mapping[int, tuple[str, ...]]
"""Number of an example -> its turns."""


@final
@dataclass(frozen=True)
class Example:
    """A text (one turn) or a context; ``number`` is its place among those that were read, from 1 on.

    row : of the file. group : what is never torn apart: a conversation. label : class, or position of the right
    candidate; None where it is not known.
    """

    number: int
    row: int
    id: str
    group: int
    turns: tuple[str, ...]
    label: Any
    candidates: tuple[str, ...] | None = None


@final
@dataclass(frozen=True)
class Examples:
    """What was read of a file; ``refused``: reason -> rows that hold none; ``label``: the column of the truth."""

    file: str
    dialogues: bool
    found: tuple[Example, ...]
    refused: Mapping[str, int]
    label: str

    def __len__(self) -> int:
        return len(self.found)

    def __add__(self, other: Self) -> Self:
        return self.of(sorted((*self.found, *other.found), key=lambda one: one.number))

    @property
    def labelled(self) -> bool:
        """Whether the truth of any of them is known."""
        return any(one.label is not None for one in self.found)

    def of(self, found: Iterable[Example]) -> Self:
        """The same with some of the examples."""
        return replace(self, found=tuple(found))

    def drawn(self, rows: int | None, seed: int) -> Self:
        """So many of them, drawn by the seed; all where there are no more."""
        if rows is None or rows >= len(self):
            return self
        places = np.random.default_rng([seed, rows]).choice(len(self), size=rows, replace=False)
        return self.of(self.found[i] for i in sorted(places))

    def halves(self, seed: int) -> tuple[Self, Self]:
        """Two halves by the seed, conversations whole.

        Raises `InputError` where one is empty.
        """
        groups = sorted({one.group for one in self.found})
        order = np.random.default_rng([seed, len(groups)]).permutation(groups).tolist()
        sizes = Counter(one.group for one in self.found)
        first, rows = set(), 0
        for group in order:
            if rows + sizes[group] / 2 >= len(self) / 2:
                break
            first.add(group)
            rows += sizes[group]
        halves = [self.of(one for one in self.found if (one.group in first) is wanted) for wanted in (True, False)]
        if not all(map(len, halves)):
            raise InputError(
                "enough rows for two halves, a labelled reference and what is shifted",
                got=f"{len(self)} in {len(groups)} group{'' if len(groups) == 1 else 's'}",
                remedy="give more rows, or a labelled reference of its own (--reference)",
                file=self.file,
            )
        return halves[0], halves[1]

    def check_classes(self, classes: Sequence[int | str]) -> None:
        """Raise `InputError`, naming the row, for a label that is none of a model's classes."""
        for one in self.found:
            if one.label is not None:
                matched([one.label], classes, file=self.file, first_row=one.row - 1, column=self.label)

    def dataset(self, kept: Turns | None = None) -> tuple[Dataset, list[int]]:
        """A data set of the examples, or of those that were kept with what became of their turns; and their numbers."""
        found = [one for one in self.found if kept is None or one.number in kept]
        turns = [tuple(one.turns if kept is None else kept[one.number]) for one in found]
        inputs: tuple[Any, ...] = tuple(one[0] for one in turns)
        if self.dialogues:
            inputs = tuple(Dialogue(said, one.candidates or ()) for said, one in zip(turns, found, strict=True))
        known = any(one.label is not None for one in found)
        data = Dataset(
            self.file,
            inputs,
            tuple(one.label for one in found) if known else (),
            ids=tuple(one.id for one in found),
            source=self.file,
            modality="dialogue" if self.dialogues else "text",
        )
        return data, [one.number for one in found]


def read_examples(
    path: Path,
    *,
    dialogues: bool,
    column: str | None,
    where: Mapping[str, str],
    label: str | None,
    label_needed: bool,
    candidates: int,
    seed: int,
) -> Examples:
    """Read a file as `shift text` or `shift dialogue` does.

    A response without candidates gets others, drawn by the seed and its id from all responses of the file. Raises
    `InputError` for what cannot be read, and where the column ``label`` is named, needed and absent.
    """
    refused: Counter[str] = Counter()
    rows = Rows(path)
    read = list(enumerate(Texts(rows, column, where, dialogues).read(refused), 1))
    if not read:
        got = "; ".join(f"{many:,}: {why}" for why, many in refused.items()) or "none"
        raise rows.wrong("dialogues with a reply" if dialogues else "texts", got, "give dialogues of two turns or more")
    lacking = next((again for _, (_, again) in read if label is not None and label not in again.row), None)
    if lacking is not None and label_needed:
        there = f"the columns {', '.join(map(str, lacking.row))}"
        raise rows.wrong(f"a column {label} with the truth", there, "name one of them with --label", lacking.number)
    out = []
    if dialogues:
        places = [{"file": str(path), "row": again.number} for _, (_, again) in read]
        told = [
            exchange(again(turns), turns, number=number, place=place, label=label)
            for (number, (turns, again)), place in zip(read, places, strict=True)
        ]
        pool: Replies | None = None
        if any(one.candidates is None for one in told):
            replies = (one.response for one in told if one.response is not None)
            pool = Replies(replies, candidates, seed, str(path))
        for (number, (_, again)), one in zip(read, told, strict=True):
            offered, position = one.candidates, one.label
            if pool is not None and offered is None and one.response is not None:
                offered, position = pool.among(one.id, one.response)
            out.append(Example(number, again.number, one.id, again.number, one.context, position, offered))
    else:
        for number, (turns, again) in read:
            value, name = again.row.get(label or "label"), again.row.get("id")
            known = None if value in ("", None) else value
            out.append(Example(number, again.number, str(number if name is None else name), number, turns, known))
    return Examples(str(path), dialogues, tuple(out), dict(refused), label or "label")


@final
@dataclass(frozen=True)
class Condition:
    """One kind at one severity: ``stem`` names it; for each draw the rows that could be shifted, with their turns.

    dropped, words, targets : of the first draw, as in `StressPoint`.
    """

    stem: str
    severity: str
    draws: tuple[Turns, ...]
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None

    @property
    def different(self) -> dict[str, Turns]:
        """The draws that differ and have rows, by the name of their answers: a shift without chance has one."""
        out: list[Turns] = []
        for one in self.draws:
            if one not in out:
                out.append(one)
        return {f"{self.stem}-draw-{at + 1}" if at else self.stem: one for at, one in enumerate(out) if one}


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
    examples: Examples, wanted: Mapping[type[TextShift], Sequence[str]], inputs: ShiftInputs, seeds: Sequence[int]
) -> list[ShiftedKind]:
    """Shift the examples by each kind at each of its severities, as they were typed, once for each seed.

    Raises `InputError` where a kind can shift none of them at any severity.
    """
    out = []
    for cls, levels in wanted.items():
        shift, _ = inputs.made(cls)
        conditions = []
        for severity in levels:
            dropped: list[Counter[str]] = []
            draws: list[Turns] = []
            counts = Counter[str]()
            for seed in seeds:
                shifted = {
                    one.number: shift.apply(one.turns, severity, seed=seed, row=one.number) for one in examples.found
                }
                kept = {number: one for number, one in shifted.items() if not isinstance(one, Dropped)}
                if not draws:
                    counts.update(words=sum(one.words for one in kept.values()))
                    counts.update(targets=sum(one.targets for one in kept.values()))
                dropped.append(Counter(one.why for one in shifted.values() if isinstance(one, Dropped)))
                draws.append({number: one.turns for number, one in kept.items()})
            rows = len(draws[0])
            words, targets = (round(counts[one] / rows, 4) if rows else None for one in ("words", "targets"))
            stem = f"{shift.name}-{severity.replace('/', '-of-')}"
            conditions.append(Condition(stem, severity, tuple(draws), dict(dropped[0]), words, targets))
        sets = [frozenset(draw) for one in conditions for draw in one.draws if draw]
        if not sets:
            why = sum((Counter(one.dropped) for one in conditions), Counter[str]())
            raise InputError(
                f"rows that {cls.name} can shift at {', '.join(levels)}",
                got=f"none ({'; '.join(f'{many:,}: {said}' for said, many in why.items())})",
                remedy="choose other severities, or other data",
                file=examples.file,
            )
        out.append(ShiftedKind(shift, tuple(conditions), frozenset.intersection(*sets)))
    return out
