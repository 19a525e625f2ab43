"""Factors: the contract check of factors of attributions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..attributions.base import WordAttributions
from ..attributions.factors import Factor
from ..attributions.words import Words
from ..citations import BIBTEX

_PAIRS = (
    ("Unless the good men drew a map, the tall judge was sleeping.", "The tall men drew a good map."),
    ("The judge thought that the old king was singing.", "the old king was singing"),
)
_TEXTS = ("The tall man drew the big map while he was singing.", "Some waiter ate and the young guest was sleeping.")


def check_factor(make: Callable[[], Factor]) -> None:
    """Check a factor: what it says of itself, that it gives a finite number or None, changes nothing, scales with the
    attributions and says None where its words are absent.

    Parameters
    ----------
    make :
        Makes one: its class, as a rule.

    Raises `AssertionError` with the name of the rule that was broken.

    >>> from oodometer.attributions.factors import MaxDiff
    >>> check_factor(MaxDiff)
    """
    factor = make()
    _check_words(factor)
    rng = np.random.default_rng(0)
    values = []
    for text in (*_PAIRS, *_TEXTS):
        found = _found(Words(text), rng.normal(size=len(Words(text).words)), rng.normal())
        before = found.values.copy()
        value = factor.value(found)
        values.append(value)
        assert np.array_equal(found.values, before), "the attributions that were given stay as they are"
        assert value == make().value(found), "the same attributions, the same number"
        if value is None:
            continue
        assert isinstance(value, float), "a number or None"
        assert math.isfinite(value), "a finite number"
        twice = factor.value(_found(found.words, 2 * found.values, 2 * found.separator))
        assert twice is not None, "whether there is a number hangs on the words"
        assert math.isclose(twice, 2 * value, rel_tol=1e-9), "twice the attributions, twice the number"
    assert any(value is not None for value in values), "some example has a number"
    if "pair" in factor.needs:
        assert values[len(_PAIRS) :] == [None] * len(_TEXTS), "None for a single text, where a pair is needed"
    odd = _found(Words(("12 34", "")), np.array([0.5, 0.25]), float("nan"))
    assert factor.value(odd) is None or not factor.needs, "None where a part has no word"


def _found(words: Words, values: Array, separator: float) -> WordAttributions:
    return WordAttributions(words, values, separator if words.is_pair else float("nan"), 1, 0.9)


def _check_words(factor: Factor) -> None:
    """What a factor says of itself."""
    said = " ".join((inspect.getdoc(type(factor)) or "").split())
    assert factor.name == factor.name.strip().lower(), "a name in lower case"
    assert factor.name, "a name"
    for trait in ("about", "heuristic"):
        text = getattr(factor, trait)
        assert text, f"`{trait}` is one sentence"
        assert not text.endswith("."), f"`{trait}` is one sentence without its full stop"
    assert factor.needs in ((), ("pair",)), '`needs` is empty or ("pair",)'
    assert factor.citation in BIBTEX, f"{factor.citation} stands in citations.bib"
    assert "Source:" in said, "the docstring names a source"
    assert "ranked lower" in said, "the docstring says which direction is bad"
    assert "Heuristic:" in said, "the docstring says which heuristic it measures"
    assert ">>>" in said, "the docstring has an example"
