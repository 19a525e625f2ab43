"""Window: factors of MSGS, the attribution that does not lie around the word that should decide."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from oodometer.registry import register

from ...datasets.sentences import ADJECTIVES as MSGS_ADJECTIVES
from ..base import WordAttributions, Words
from .base import Factor


class WindowFactor(Factor):
    """-sum of phi over the words m - 2 ... m + 2, m the word that should decide; in units of probability.

    The window is cut at the ends of the part that m stands in. m is the word that the data set marks
    (``Words.feature``), and where it marks none, the first that ``feature`` finds. A subclass is final and defines
    ``feature``. Source: Singhal et al. (2022), section 5.
    """

    about: ClassVar[str] = "minus the attributions around the word that should decide"
    reach: ClassVar[int] = 2

    @abstractmethod
    def feature(self, words: Words) -> int | None:
        """Position of the word that should decide; None where there is none."""

    def value(self, attributions: WordAttributions) -> float | None:
        """Minus the attribution in the window; None where no word should decide."""
        words = attributions.words
        middle = words.feature if words.feature is not None else self.feature(words)
        if middle is None:
            return None
        start, stop = max(middle - self.reach, 0), middle + self.reach + 1
        same_part = words.parts[start:stop] == words.parts[middle]
        return -float(attributions.values[start:stop][same_part].sum())


# Past forms that differ from the base form. "Read" and "put" do not, so that a text does not show them.
_LISTED = (
    "arose ate awoke became began bent bet bit bled blew bought bound bred broke brought built burnt came caught "
    "chose clung crept dealt did dove drank drew drove dug dwelt fed fell felt fled flew flung forbade forgave forgot "
    "fought found froze gave got grew had hid heard held hung kept knelt knew laid leapt led left lent lay lit lost "
    "made meant met mistook overcame paid ran rang rode rose said sang sank sat saw sent shone shook shot shrank "
    "slept slid slung sold sought sped spent spoke spun sprang stole stood stuck stung stank strode struck swam swept "
    "swore swung taught thought threw told took tore understood went wept withdrew woke won wore wound wove wrote "
    "wrung"
)
PAST = frozenset(_LISTED.split())
_HELPERS = frozenset(("had", "did"))  # of other verbs as a rule: "had seen", "did not see"
# Behind one of these a form is a participle: "had made", "hadn't made", "was not made".
_AUXILIARIES = "had has have hadn hasn haven was were is are been being wasn weren isn aren"
_BEFORE_PARTICIPLES = frozenset(_AUXILIARIES.split())
_BETWEEN = frozenset(("'", "\u2019", "t", "not"))


@register("factor")
class Irreg(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an irregular past verb ("drew"); in units of probability.

    Heuristic: something other than the irregular verb decides, such as whether "the" occurs. A higher mean is ranked
    lower. Where the data set marks no word, m is the first irregular past form other than "had" and "did" that is no
    participle ("had made") and no part of a contraction ("won't"); forms like "upset", which the present has too, are
    not seen. None where there is none. Source: Singhal et al. (2022), section 5.

    >>> import numpy as np
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
        for index, word in enumerate(lower):
            if (
                word in PAST
                and word not in _HELPERS
                and lower[index + 1 : index + 2] not in (["'"], ["\u2019"])
            ):
                before = index - 1
                while before >= 0 and lower[before] in _BETWEEN:
                    before -= 1
                if before < 0 or lower[before] not in _BEFORE_PARTICIPLES:
                    return index
        return None


# Words in -ing that are no form of a verb, or seldom one.
_IN_ING = (
    "anything bring ceiling cling darling during earring evening everything fling king lightning morning nothing "
    "offspring ping pudding ring sibling sing sling something spring sting string swing thing wedding wing"
)
_OTHERS = frozenset(_IN_ING.split())


@register("factor")
class Verb(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an -ing verb ("was drawing"); in units of probability.

    Heuristic: something other than the form of the main verb decides, such as whether "the" occurs. A higher mean is
    ranked lower. Where the data set marks no word, m is the first word in -ing that is not one of a few nouns; which
    verb is the main one is not parsed. None where there is none. Source: Singhal et al. (2022), section 5.

    >>> import numpy as np
    >>> text = Words("the king was drawing it")
    >>> Verb().value(WordAttributions(text, np.array([9, 0.25, 0.25, 0.5, 0.0]), float("nan"), 1, 0.9))
    -1.0
    """

    name = "verb"
    about = "minus the attributions around an -ing verb"
    heuristic = "something other than an -ing verb decides"

    def feature(self, words: Words) -> int | None:
        """The first word in -ing that may be a verb."""
        for index, word in enumerate(words.words):
            low = word.lower()
            if len(low) > 4 and low.endswith("ing") and low not in _OTHERS:
                return index
        return None


# Those of MSGS; "boring" stands there as a verb, too, where no adjective decides.
ADJECTIVES = tuple(sorted(MSGS_ADJECTIVES - {"boring"}))


@register("factor")
class Adj(WindowFactor):
    """-sum of phi over m - 2 ... m + 2, m an adjective ("tall"); in units of probability.

    Heuristic: something other than the adjective decides, such as whether "the" occurs. A higher mean is ranked lower.
    Where the data set marks no word, m is the first of 54 adjectives of MSGS. None where there is none.
    Source: Singhal et al. (2022), section 5; the adjectives: Warstadt et al. (2020).

    >>> import numpy as np
    >>> text = Words("a tall man sat there now")
    >>> Adj().value(WordAttributions(text, np.array([0.25, 0.25, 0.25, 0.25, 9, 9]), float("nan"), 1, 0.9))
    -1.0
    """

    name = "adj"
    about = "minus the attributions around an adjective"
    heuristic = "something other than an adjective decides"

    def feature(self, words: Words) -> int | None:
        """The first of the adjectives."""
        return words.place(ADJECTIVES)
