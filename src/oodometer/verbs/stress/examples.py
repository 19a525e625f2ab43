"""Examples: the texts, or contexts with candidate replies, of a file, each with its number, which shifts keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ...datasets import Dataset, Dialogue
from ...datasets.dialogues import Exchange, Replies, exchange
from ...errors import InputError
from ...models.labels import matched
from ...shifts import TextShift
from ...shifts.text import Dropped
from ...shifts.text.synonyms import SynonymShift
from ..shift.text import ShiftInputs
from ..shift.texts import Again, Rows, Texts


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

    def check_labelled(self) -> None:
        """Raise `InputError` where no truth is known, on which estimates could rest."""
        if not self.labelled:
            raise InputError(
                "labelled rows, on which the estimates rest",
                got=f"no value in a column {self.label}",
                remedy="name the column of the truth with --label, or labelled rows of the same form with --reference",
                file=self.file,
            )

    def checked(self, classes: Sequence[int | str]) -> None:
        """Raise `InputError`, naming the row, for a label that is none of a model's classes."""
        for one in self.found:
            if one.label is not None:
                matched([one.label], classes, file=self.file, first_row=one.row - 1, column=self.label)

    def dataset(self, kept: Mapping[int, Sequence[str]] | None = None) -> tuple[Dataset, list[int]]:
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
    read = list(enumerate(Texts(Rows(path), column, where, dialogues).read(refused), 1))
    if not read:
        raise InputError(
            "dialogues with a reply" if dialogues else "texts",
            got="; ".join(f"{many:,}: {why}" for why, many in refused.items()) or "none",
            remedy="give dialogues of two turns or more",
            file=str(path),
        )
    lacking = next((again for _, (_, again) in read if label is not None and label not in again.row), None)
    if lacking is not None and label is not None and label_needed:
        raise InputError(
            f"a column {label} with the truth",
            got=f"the columns {', '.join(map(str, lacking.row))}",
            remedy="name one of them with --label",
            file=str(path),
            row=lacking.number,
        )
    if dialogues:
        found = _exchanges(path, read, label, candidates, seed)
    else:
        found = [_text(number, turns, again, label) for number, (turns, again) in read]
    return Examples(str(path), dialogues, tuple(found), dict(refused), label or "label")


def _text(number: int, turns: tuple[str, ...], again: Again, label: str | None) -> Example:
    row = again.row
    value = row.get(label or "label")
    known = None if value in ("", None) else value
    name = str(row["id"]) if row.get("id") is not None else str(number)
    return Example(number, again.number, name, number, turns, known)


def _exchanges(
    path: Path, read: Sequence[tuple[int, Any]], label: str | None, candidates: int, seed: int
) -> list[Example]:
    told: list[tuple[int, int, Exchange]] = []
    for number, (turns, again) in read:
        place = {"file": str(path), "row": again.number}
        told.append((number, again.number, exchange(again(turns), turns, number=number, place=place, label=label)))
    pool: Replies | None = None
    if any(one.candidates is None for _, _, one in told):
        replies = (one.response for _, _, one in told if one.response is not None)
        pool = Replies(replies, candidates, seed, str(path))
    out = []
    for number, row, one in told:
        offered, position = one.candidates, one.label
        if offered is None:
            assert pool is not None
            assert one.response is not None
            offered, position = pool.among(one.id, one.response)
        out.append(Example(number, row, one.id, row, one.context, position, offered))
    return out


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
