"""Absence: an example without some of its words, or without its separator, as the text that a model is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..models.base import Text
from .base import Model
from .words import Words

REMOVE = "remove"
_MASK = "mask"
_LETTER = re.compile(r"\w")


@final
@dataclass(frozen=True)
class Absence:
    """What stands where a word is absent: nothing, or a mask.

    Without a mask the characters of the word go, with the space before it. Where two words would become one, or a word
    and a mask, a space comes between them. A pair whose separator is absent is asked as one text, its parts joined by a
    space. With nothing absent the text is that which was given, to the character.

    Parameters
    ----------
    mask : what stands for an absent word; None: nothing.

    Raises `UsageError` for a mask that is no text, or blank.

    Source: removing and masking are the two ways of Ribeiro et al. (2016); the separator is ours.

    >>> import numpy as np
    >>> present = np.array([[True, False, True, True], [False, True, True, False]])
    >>> Absence().texts(Words(("Don't", "")), present)
    [('Don t', ''), "'t"]
    >>> Absence("[MASK]").texts(Words("a film."), np.array([[True, False, True]]))
    ['a [MASK].']
    """

    mask: str | None = None

    def __post_init__(self) -> None:
        if self.mask is not None:
            checked_absent(self.mask)

    @classmethod
    def of(cls, absent: str, model: Model) -> Absence:
        """The absence that an option names: "remove", "mask" (the model's own) or the mask itself.

        Raises `UsageError` for what is no text, and where a model has no mask of its own.
        """
        checked_absent(absent)
        if absent == REMOVE:
            return cls()
        if absent != _MASK:
            return cls(absent)
        own = getattr(getattr(model, "tokenizer", None), "mask_token", None)
        if own is None:
            raise UsageError("absent='mask' needs a model with a mask of its own; say 'remove' or the mask itself")
        return cls(str(own))

    def texts(self, words: Words, present: Array) -> list[Text]:
        """The example with the features that are present, bool, shape (sample, feature), as a text for each sample."""
        parts: list[list[str]] = []
        start = 0
        for part in words.texts:
            stop = start + sum(1 for place in words.parts if place == len(parts))
            parts.append(self._part(part, words.spans[start:stop], present[:, start:stop]))
            start = stop
        found: list[Text]
        if words.is_pair:
            rows = zip(*parts, present[:, -1].tolist(), strict=True)
            found = [(a, b) if apart else f"{a} {b}".strip() for a, b, apart in rows]
        else:
            found = list(parts[0])
        for row in np.flatnonzero(present.all(1)):
            found[row] = words.text
        return found

    def _part(self, text: str, spans: tuple[tuple[int, int], ...], present: Array) -> list[str]:
        """One part of the example, a string for each sample."""
        if not spans:
            return [""] * len(present)
        stops = [0, *(stop for _, stop in spans[:-1])]
        gaps = [text[before:start] for before, (start, _) in zip(stops, spans, strict=True)]
        words = [text[start:stop] for start, stop in spans]
        masks = ["" if self.mask is None else gap + self.mask for gap in gaps]
        shown = np.array([gap + word for gap, word in zip(gaps, words, strict=True)], dtype=object)
        pieces = np.where(present, shown, np.array(masks, dtype=object))
        touching = np.array([place > 0 and not gap for place, gap in enumerate(gaps)])
        if touching.any():
            letters = np.array([_LETTER.match(word) is not None for word in words])
            apart = self._letters_meet(letters, present) & touching
            pieces[apart] = " " + pieces[apart]
        return ["".join(row).strip() for row in pieces.tolist()]

    def _letters_meet(self, letters: Array, present: Array) -> Array:
        """Where what is shown starts with a letter and what is shown before it ends with one, shape (sample, word)."""
        met = np.zeros(present.shape, dtype=bool)
        if self.mask is None:
            last = np.maximum.accumulate(np.where(present, np.arange(len(letters)), -1), axis=1)[:, :-1]
            met[:, 1:] = present[:, 1:] & letters[1:] & (last >= 0) & letters[last]
        else:
            starts, ends = (bool(_LETTER.match(one)) for one in (self.mask[0], self.mask[-1]))
            met[:, 1:] = np.where(present, letters, starts)[:, 1:] & np.where(present, letters, ends)[:, :-1]
        return met


def checked_absent(absent: object) -> None:
    """`UsageError` for an option that names no absence.

    >>> checked_absent(5)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected absent 'remove', 'mask' or the mask itself, got 5
    """
    if not isinstance(absent, str) or not absent.strip():
        raise UsageError(f"expected absent 'remove', 'mask' or the mask itself, got {absent!r}")
