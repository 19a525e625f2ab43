"""The contract of a shift of texts: turns in, turns out, and the words that were exchanged; a text is one turn."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeVar, final

import numpy as np

from oodometer.errors import UsageError

from ..base import Shift
from .words import Word, exchanged, words_of

N = TypeVar("N", int, Fraction)


@final
@dataclass(frozen=True)
class ShiftedText:
    """Turns after a shift; ``words`` that stood there before and how many ``targets`` of them were changed."""

    turns: tuple[str, ...]
    words: int
    targets: int


@final
@dataclass(frozen=True)
class Dropped:
    """A text that cannot be shifted so far, and why; the paper leaves such texts out."""

    why: str


def parsed(kind: Callable[[str], N], severity: Any, expected: str, holds: Callable[[N], bool]) -> N:
    """A number as one types it (1/6, 0.05); `UsageError` for what is no such number, or does not hold."""
    try:
        number = None if isinstance(severity, bool) else kind(str(severity))
    except (ValueError, ZeroDivisionError):
        number = None
    if number is None or not holds(number):
        raise UsageError(f"expected {expected}, got {severity!r}")
    return number


class TextShift(Shift):
    """A shift of texts or dialogues. A subclass defines ``check_severity`` and ``_shifted``.

    ``for_dialogues`` says that it needs several turns. ``counts`` says what a target is.
    """

    severities: ClassVar[tuple[Any, ...]] = ()
    usual: ClassVar[tuple[str, ...]]
    """Severities of the paper, as one would type them."""
    for_dialogues: ClassVar[bool] = False
    counts: ClassVar[str] = "words that were exchanged"

    @classmethod
    def reads(cls) -> str:
        """What it needs."""
        return "dialogues" if cls.for_dialogues else "texts"

    def apply(
        self, turns: Sequence[str], severity: Any, *, seed: int = 0, row: int = 0
    ) -> ShiftedText | Dropped:
        """Shift the turns of one example; its draws depend on (seed, kind, row) alone.

        They are the same at every severity: what is changed at a mild one is changed at a stronger one, too. Raises
        `UsageError` for a severity that there is not.
        """
        bits = np.random.SeedSequence([seed, zlib.crc32(self.name.encode()), row])
        return self._shifted(
            tuple(turns), self.check_severity(severity), np.random.default_rng(bits)
        )

    @abstractmethod
    def check_severity(self, severity: Any) -> Any:
        """The severity in its own form; `UsageError` where it is none."""

    @abstractmethod
    def _shifted(
        self, turns: tuple[str, ...], severity: Any, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        """The turns after the shift."""


class WordShift(TextShift):
    """A shift that exchanges a share of the words; a subclass says by what, in ``_new``.

    Of a text with n words and punctuation marks floor(ratio * n) words are exchanged, drawn at random; where a word has
    nothing to be exchanged by, another one is drawn. A text that has too few of them is dropped, and one that is so
    short that the number is 0.
    """

    usual = ("0.1", "0.2", "0.3", "0.4", "0.5")

    def check_severity(self, severity: Any) -> Fraction:
        """The share of words, a number above 0 and at most 1."""
        expected = f"the severity of {self.name}, a share of words, above 0 and at most 1, such as 0.2 or 1/6"
        return parsed(Fraction, severity, expected, lambda share: 0 < share <= 1)

    def _shifted(
        self, turns: tuple[str, ...], severity: Fraction, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        words = [words_of(turn) for turn in turns]
        positions = [
            (turn, at) for turn, turn_words in enumerate(words) for at in range(len(turn_words))
        ]
        count = int(severity * len(positions))
        if not count:
            return Dropped("too short to change")
        order = rng.permutation(len(positions))
        return self._exchange(turns, words, [positions[i] for i in order], count, rng)

    def _exchange(
        self,
        turns: tuple[str, ...],
        words: Sequence[Sequence[Word]],
        positions: Sequence[tuple[int, int]],
        count: int | Literal["all"],
        rng: np.random.Generator,
    ) -> ShiftedText | Dropped:
        """Exchange the first ``count`` of these places that have something to be exchanged by."""
        new: list[dict[Word, str]] = [{} for _ in turns]
        done = 0
        for turn, at in positions:
            if done == count:
                break
            by = self._new(words[turn], at, rng)
            if by is not None:
                new[turn][words[turn][at]] = by
                done += 1
        if done < (1 if count == "all" else count):
            return Dropped("too few words that can be exchanged")
        shifted = tuple(
            exchanged(turn, changes) if changes else turn
            for turn, changes in zip(turns, new, strict=True)
        )
        return ShiftedText(shifted, sum(map(len, words)), done)

    @abstractmethod
    def _new(self, words: Sequence[Word], at: int, rng: np.random.Generator) -> str | None:
        """What the word at a place is exchanged by, or None."""
