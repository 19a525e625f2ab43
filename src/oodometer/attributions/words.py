"""Words of an example: a text or a pair as words and punctuation marks that can be left out or masked one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..models.base import Text, check_texts
from ..shifts.text.words import words_of


@final
@dataclass(frozen=True)
class Words:
    """A text, or a pair of them, as words and punctuation marks.

    Parameters
    ----------
    text : a string, or a pair of strings.
    feature : position among ``words`` of the word that a data set marks as the one that decides; None where it marks
        none.

    A combining mark belongs to the word before it; a run of letters of a script without spaces between words, such as
    Chinese or Thai, is one word. Raises `UsageError` for a feature that is no position of a word.

    >>> pair = Words(("a man eats.", "he sleeps"))
    >>> pair.words, pair.parts.tolist()
    (('a', 'man', 'eats', '.', 'he', 'sleeps'), [0, 0, 0, 0, 1, 1])
    """

    text: Text
    feature: int | None = None

    def __post_init__(self) -> None:
        place: object = self.feature
        if place is None:
            return
        whole = isinstance(place, int | np.integer) and not isinstance(place, bool)
        if not whole or not 0 <= int(place) < len(self.words):  # type: ignore[call-overload]
            raise UsageError(f"expected the position of one of {len(self.words)} words, got {place!r}")

    @property
    def texts(self) -> tuple[str, ...]:
        """The parts as strings."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @property
    def is_pair(self) -> bool:
        """Whether there are two parts, with a separator between them."""
        return not isinstance(self.text, str)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words and punctuation marks of all parts, in order."""
        return tuple(word.text for part in self.texts for word in words_of(part))

    @cached_property
    def parts(self) -> Array:
        """The part that each word stands in, 0 or 1, int64, shape (word,)."""
        return np.repeat(np.arange(len(self.texts)), [len(words_of(part)) for part in self.texts])

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where each word starts and ends in its part, in characters."""
        return tuple((word.start, word.end) for part in self.texts for word in words_of(part))

    @property
    def features(self) -> int:
        """What can be left out: the words, and the separator of a pair, which comes last."""
        return len(self.words) + self.is_pair

    def place(self, words: Sequence[str], part: int | None = None) -> int | None:
        """The position of the first word (in lower case) that is among these, of one part or of all; None for none."""
        wanted = {word.lower() for word in words}
        for place, word in enumerate(self.words):
            if word.lower() in wanted and part in (None, int(self.parts[place])):
                return place
        return None


def as_words(texts: Sequence[Text | Words]) -> list[Words]:
    """Each text as `Words`; `InputError` for none at all, for what is no text or no Unicode, and for no words.

    >>> [one.features for one in as_words(["a film", ("a man eats", "he eats")])]
    [2, 6]
    >>> as_words(["a film", " "])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column text: expected a text with words, got ' '; leave the row out
    """
    plain = texts if isinstance(texts, str) else [one.text if isinstance(one, Words) else one for one in texts]
    checked = check_texts(plain)
    found = [one if isinstance(one, Words) else Words(text) for one, text in zip(texts, checked, strict=True)]
    for row, one in enumerate(found, 1):
        check_unicode({"text": " ".join(one.texts)}, row)
        if not one.words:
            raise InputError(
                "a text with words", got=repr(one.text)[:60], remedy="leave the row out", row=row, column="text"
            )
    return found


def check_unicode(held: Mapping[str, str], row: int) -> None:
    """`InputError` for a text with half a character (a lone surrogate), which UTF-8 cannot hold.

    >>> check_unicode({"text": "a \\ud800"}, 1)
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column text: expected Unicode text, got half a character, ...
    """
    for column, text in held.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                "Unicode text",
                got=f"half a character, {text[error.start]!r}",
                remedy="decode the text again",
                row=row,
                column=column,
            ) from None
