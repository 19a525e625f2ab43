"""Control words: the words of a premise that say whether its clauses are claimed to be true."""

from __future__ import annotations

from ..words import Words

_SUBORDINATORS = "after although because before if since though unless until when whereas whether while"
_CONNECTIVES = "and but nor or"
_ADVERBS = (
    "allegedly apparently certainly clearly definitely hopefully maybe obviously perhaps possibly presumably probably "
    "reportedly suddenly supposedly surely"
)
_VERBS = (
    "assume assumed believe believed claim claimed doubt doubted expect expected forget forgot hope hoped know knew "
    "learn learned remember remembered said say suspect suspected think thought"
)
_WORDS = frozenset(" ".join((_SUBORDINATORS, _CONNECTIVES, _ADVERBS, _VERBS)).split())
_PHRASES = (("in", "case"), ("of", "course"), ("without", "a", "doubt"), ("without", "doubt"), ("no", "doubt"))


def control_word(words: Words) -> int | None:
    """Position of the first control word of the first part, as in the constituent templates of HANS; None for none.

    These are subordinators ("unless"), connectives ("or"), adverbs of certainty ("probably") and verbs that embed a
    clause ("hoped"); of "in case", "of course" and "without a doubt" it is the first word. A word that the data set
    marks (``Words.feature``) comes first. Source: McCoy, Pavlick and Linzen (2019), the constituent templates.

    >>> control_word(Words(("The man slept, in case the judge ran.", "The judge ran.")))
    4
    """
    if words.feature is not None:
        return words.feature
    first = tuple(word.lower() for word, part in zip(words.words, words.parts, strict=True) if part == 0)
    for place, word in enumerate(first):
        if word in _WORDS or any(first[place : place + len(phrase)] == phrase for phrase in _PHRASES):
            return place
    return None
