"""IRREG: minus the attributions around an irregular past verb, which should decide in MORPH of MSGS."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..words import Words
from .window import WindowFactor

# Past forms that differ from the base form. "Read" and "put" do not, so that a text does not show them.
_LISTED = (
    "arose ate awoke became began bent bet bit bled blew bought bound bred broke brought built burnt came caught "
    "chose clung crept dealt did dove drank drew drove dug dwelt fed fell felt fled flew flung forbade forgave "
    "forgot fought found froze gave got grew had hid heard held hung kept knelt knew laid leapt led left lent lay "
    "lit lost made meant met mistook overcame paid ran rang rode rose said sang sank sat saw sent shone shook "
    "shot shrank slept slid slung sold sought sped spent spoke spun sprang stole stood stuck stung stank "
    "strode struck swam swept swore swung taught thought threw told took tore understood went wept withdrew woke "
    "won wore wound wove wrote wrung"
)
PAST = frozenset(_LISTED.split())
_HELPERS = frozenset(("had", "did"))  # of other verbs as a rule: "had seen", "did not see"
# Behind one of these a form is a participle: "had made", "hadn't made", "was not made".
_AUXILIARIES = "had has have hadn hasn haven was were is are been being wasn weren isn aren"
_BEFORE_PARTICIPLES = frozenset(_AUXILIARIES.split())
_BETWEEN = frozenset(("'", "\u2019", "t", "not"))


@final
@register("factor")
class Irreg(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an irregular past verb ("drew"); in units of probability.

    Heuristic: something other than the irregular verb decides, such as whether "the" occurs. A higher mean is ranked
    lower. Where the data set marks no word, m is the first irregular past form other than "had" and "did" that is no
    participle ("had made") and no part of a contraction ("won't"); forms like "upset", which the present has too, are
    not seen. None where there is none. Source: Singhal et al. (2022), section 5.

    >>> import numpy as np
    >>> from oodometer.attributions.base import WordAttributions
    >>> text = Words("the tall man drew a big map")
    >>> Irreg().value(WordAttributions(text, np.array([9, 0.25, 0.25, 0.5, 0, 0, 9]), float("nan"), 1, 0.9))
    -1.0
    """

    name = "irreg"
    about = "minus the attributions around an irregular past verb"
    heuristic = "something other than an irregular past verb decides"

    def feature(self, words: Words) -> int | None:
        """The first irregular past form that is no participle."""
        lower = [word.lower() for word in words.words]
        for place, word in enumerate(lower):
            if word in PAST and word not in _HELPERS and lower[place + 1 : place + 2] not in (["'"], ["\u2019"]):
                before = place - 1
                while before >= 0 and lower[before] in _BETWEEN:
                    before -= 1
                if before < 0 or lower[before] not in _BEFORE_PARTICIPLES:
                    return place
        return None
