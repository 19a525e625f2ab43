"""VERB: minus the attributions around an -ing verb, which should decide in VERB of MSGS."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..words import Words
from .window import WindowFactor

# Words in -ing that are no form of a verb, or seldom one.
_LISTED = (
    "anything bring ceiling cling darling during earring evening everything fling king lightning morning nothing "
    "offspring ping pudding ring sibling sing sling something spring sting string swing thing wedding wing"
)
_OTHERS = frozenset(_LISTED.split())


@final
@register("factor")
class Verb(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an -ing verb ("was drawing"); in units of probability.

    Heuristic: something other than the form of the main verb decides, such as whether "the" occurs. A higher mean is
    ranked lower. Where the data set marks no word, m is the first word in -ing that is not one of a few nouns; which
    verb is the main one is not parsed. None where there is none. Source: Singhal et al. (2022), section 5.

    >>> import numpy as np
    >>> from oodometer.attributions.base import WordAttributions
    >>> text = Words("the king was drawing it")
    >>> Verb().value(WordAttributions(text, np.array([9, 0.25, 0.25, 0.5, 0.0]), float("nan"), 1, 0.9))
    -1.0
    """

    name = "verb"
    about = "minus the attributions around an -ing verb"
    heuristic = "something other than an -ing verb decides"

    def feature(self, words: Words) -> int | None:
        """The first word in -ing that may be a verb."""
        for place, word in enumerate(words.words):
            low = word.lower()
            if len(low) > 4 and low.endswith("ing") and low not in _OTHERS:
                return place
        return None
