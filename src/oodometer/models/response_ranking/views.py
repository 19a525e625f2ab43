"""Views of a dialogue: copies whose turns have lost some words; candidates stay, so that positions mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...datasets.base import Dialogue
from ..text.views import with_words_dropped

__all__ = ["with_candidates_kept"]

_END = "\x1e"  # between turns, as a word of its own


def with_candidates_kept(dialogues: Sequence[Dialogue], seed: Sequence[int]) -> list[Dialogue]:
    """Each dialogue with every word of its context left out by chance, as `with_words_dropped` does with a text.

    The end of a turn counts as a word: where it is left out, two turns become one.

    >>> said = Dialogue(("a b c d e f g h",), ("x", "y"))
    >>> found = with_candidates_kept([said], (0, 0, 0))[0]
    >>> found.candidates, len(found.context[0]) < len(said.context[0])
    (('x', 'y'), True)
    """
    joined = [f" {_END} ".join(one.context) for one in dialogues]
    shorter = with_words_dropped(joined, seed)
    out = []
    for one, text in zip(dialogues, shorter, strict=True):
        assert isinstance(text, str)
        turns = tuple(turn.strip() for turn in text.split(_END) if turn.strip())
        out.append(replace(one, context=turns or one.context))
    return out
