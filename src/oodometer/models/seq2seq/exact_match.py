"""Exact match: is an output the gold one, once both have been cleaned the same way? And the cleaners."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from ...arrays import Array
from ...errors import InputError

Clean = Callable[[str], str]
"""What is done to an output and to the gold one before they are compared."""

_MARK = re.compile(r"\s*([()\[\]{},=;])\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def squeeze(text: str) -> str:
    """One space between tokens and round each of ``( ) [ ] { } , = ;``, none at the ends.

    >>> squeeze("eat(agent=* cat ,theme  = fish )")
    'eat ( agent = * cat , theme = fish )'
    """
    return " ".join(_MARK.sub(r" \1 ", text).split())


def close_brackets(text: str) -> str:
    """The text with the closing brackets that are missing at its end; what is closed too often stays as it is.

    >>> close_brackets("hope ( ccomp = burn ( theme = [ box"), close_brackets("a ) (")
    ('hope ( ccomp = burn ( theme = [ box ] ) )', 'a ) ( )')
    """
    open_ones: list[str] = []
    for letter in text:
        if letter in _CLOSING:
            open_ones.append(_CLOSING[letter])
        elif open_ones and letter == open_ones[-1]:
            open_ones.pop()
    return " ".join([text, *reversed(open_ones)]) if open_ones else text


def composed(*cleaners: Clean) -> Clean:
    """One cleaner that applies several, the first first.

    >>> composed(close_brackets, squeeze)("f(x")
    'f ( x )'
    """

    def clean(text: str) -> str:
        for one in cleaners:
            text = one(text)
        return text

    return clean


def exact_match(outputs: Sequence[str], golds: Sequence[str], *, clean: Clean | None = None) -> Array:
    """Which outputs equal their gold: bool, shape (sample,).

    Parameters
    ----------
    outputs, golds :
        Strings, one a sample.
    clean :
        Applied to both before they are compared. Without one, only white space is made alike: a run of it is one
        space, and none stands at the ends (a tokenizer of sequence models does not keep more).

    Raises `InputError` where their numbers differ or one is no string.

    >>> exact_match(["a  b", "c"], ["a b", "d"]).tolist()
    [True, False]
    >>> exact_match(["f ( x"], ["f(x)"], clean=composed(close_brackets, squeeze)).tolist()
    [True]
    """
    if len(outputs) != len(golds):
        expected = f"{len(outputs)} gold outputs, one an output"
        raise InputError(expected, got=str(len(golds)), column="gold", remedy="align them by sample")
    for column, values in (("output", outputs), ("gold", golds)):
        for row, one in enumerate(values, 1):
            if not isinstance(one, str):
                raise InputError(
                    "a string", got=repr(one), remedy="drop the row or give its output", row=row, column=column
                )
    made = clean or _plain
    return np.fromiter(
        (made(one) == made(gold) for one, gold in zip(outputs, golds, strict=True)), dtype=bool, count=len(golds)
    )


def _plain(text: str) -> str:
    return " ".join(text.split())
