"""Augmentation of pairs for judges: the same input in another form, which changes nothing about what is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

_WORD_SPACE, _MARK, _STOP = re.compile(r"(?<=\w) (?=\w)"), re.compile(r"\s*([,;:.!?])"), ".!?"


def _comma(text: str, rng: np.random.Generator) -> str:
    """A comma behind one of the words, any but the last."""
    places = [match.start() for match in _WORD_SPACE.finditer(text)]
    at = int(rng.choice(places)) if places else len(text)
    return f"{text[:at]},{text[at:]}"


def _first_letter(text: str, _: Any) -> str:
    first = text[:1]
    return (first.lower() if first.isupper() else first.upper()) + text[1:]


FORMS: MappingProxyType[str, Callable[[str, np.random.Generator], str]] = MappingProxyType(
    {
        "comma": _comma,
        "no-commas": lambda text, _: text.replace(",", ""),
        "stop": lambda text, _: text[:-1] if text[-1:] in _STOP else f"{text}.",
        "lower-case": lambda text, _: text.lower(),
        "upper-case": lambda text, _: text.upper(),
        "first-letter": _first_letter,
        "spaced-marks": lambda text, _: _MARK.sub(r" \1 ", text).strip(),
        "quotes": lambda text, _: f'"{text}"',
    }
)
"""Forms that a text may be written in, each a function of the text and a generator."""


def reformatted(
    texts: Sequence[str], rng: np.random.Generator, forms: Sequence[str] = tuple(FORMS)
) -> list[str | None]:
    """Each of the ``texts`` in one of the ``forms`` that alter it, drawn at random; None where none of them alters it.

    Raises `KeyError` for a form that is not in `FORMS`.

    >>> rng = np.random.default_rng(0)
    >>> reformatted(["Turn on the lamp", "Is it on?", "lamp"], rng, ["lower-case"])
    ['turn on the lamp', 'is it on?', None]
    """
    out: list[str | None] = []
    for text in texts:
        written = (FORMS[form](text, rng) for form in rng.permutation(list(forms)).tolist())
        out.append(next((other for other in written if other != text and other.strip()), None))
    return out
