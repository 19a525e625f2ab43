"""Words: a text as words and punctuation marks with their places; how often each stands in the training texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple, final

_WORD = re.compile(r"\w+|[^\w\s]")
_JOINERS = "\u200c\u200d"  # between letters of one word, in Persian, Sinhala and others
_FIRST_MARK = "\u0300"  # no character before it is a combining mark
_APOSTROPHES = ("'", "\u2019")
_PIECES = frozenset(("s", "t", "m", "d", "re", "ve", "ll"))
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion"
)
# those in WordNet
_FUNCTION_WORDS = (
    "a an some any each i me he it its us who am is are was were be been being have has had having do does did doing "
    "done can may might must will about above across after along around as at before behind below beneath between "
    "but by despite down except in inside like near of off on or out outside over past so than that then there here "
    "through throughout till too under up while why within yet no not oh ok"
)
NUMBERS, FUNCTION_WORDS = frozenset(_NUMBERS.split()), frozenset(_FUNCTION_WORDS.split())


class Word(NamedTuple):
    """A word or a punctuation mark, and where it stands in its text."""

    text: str
    start: int
    end: int

    @property
    def is_plain(self) -> bool:
        """Whether it consists of letters alone: no number, no punctuation mark, no letter with a combining mark."""
        return self.text.isalpha()


@lru_cache(maxsize=1 << 16)  # the contexts of a dialogue share their turns
def words_of(text: str) -> tuple[Word, ...]:
    """The words and punctuation marks of a text, in order; an apostrophe is a mark of its own. A combining mark
    (Unicode category M), or a joiner of letters, belongs to the character before it; a run of letters of a script
    without spaces is one word.
    """
    return tuple(
        Word(match.group(), match.start(), match.end()) for match in _pattern(text).finditer(text)
    )


def plain_words(text: str) -> list[str]:
    """The words and punctuation marks of a text without their places: several times as fast as `words_of`."""
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    """What a word or a punctuation mark of this text is; ASCII texts, the most, are not looked through for marks."""
    if text.isascii():
        return _WORD
    far = (sign for sign in set(text) if sign >= _FIRST_MARK)
    marks = sorted(sign for sign in far if sign in _JOINERS or unicodedata.category(sign)[0] == "M")
    sign = f"[{re.escape(''.join(marks))}]"
    return re.compile(rf"\w(?:\w|{sign})*|[^\w\s]{sign}*") if marks else _WORD


def is_piece(words: Sequence[Word], at: int) -> bool:
    """Whether a word is a part of a contraction: "don" or "t" in "don't", "s" in "it 's"."""
    word = words[at]
    if at and words[at - 1].text in _APOSTROPHES and word.text.lower() in _PIECES:
        return True
    if at + 2 >= len(words) or words[at + 1].text not in _APOSTROPHES:
        return False
    return words[at + 1].start == word.end and words[at + 2].text.lower() == "t"


def exchanged(text: str, new: Mapping[Word, str]) -> str:
    """The text with some of its words exchanged; all else stays as it is."""
    out: list[str] = []
    at = 0
    for word in sorted(new, key=lambda word: word.start):
        out += [text[at : word.start], new[word]]
        at = word.end
    return "".join([*out, text[at:]])


def in_the_case_of(word: str, new: str) -> str:
    """A new word with a capital, or in capitals, where the old one is so."""
    if len(word) > 1 and word.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new


@final
class Vocabulary:
    """Counts of words and punctuation marks, in small letters.

    >>> seen = Vocabulary.of(["The house.", "the end"])
    >>> seen.count("The"), seen.count("hut"), len(seen)
    (2, 0, 4)
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """The words of these texts."""
        written = Counter(chain.from_iterable(map(plain_words, texts)))
        counts: Counter[str] = Counter()
        for word, count in written.items():
            counts[word.lower()] += count
        return cls(counts)

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, word: str) -> int:
        """How often a word was seen."""
        return self._counts.get(word.lower(), 0)

    @cached_property
    def total(self) -> int:
        """Words that were seen, each as often as it was."""
        return sum(self._counts.values())
