"""Words: rare ones replaced by a signature of their form, and words with their numbers, for small models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

# fmt: off
_ENDINGS = (
    "ness", "ment", "tion", "sion", "able", "ible", "less", "ship", "hood", "ance", "ence", "ious", "ical", "ally",
    "ward", "wise", "like", "self", "ized", "ised", "izes", "izing", "ing", "ity", "ous", "ful", "ish", "ive",
    "ize", "ise", "ism", "ist", "ant", "ent", "ary", "ory", "ial", "ian", "eer", "ate", "ify", "est",
    "ed", "er", "or", "ly", "al", "ic", "en", "ty", "cy", "ry", "us", "es", "'s", "s",
    "e", "y", "n",
)
# fmt: on


def signature(word: str) -> str:
    """The form of a word as one token: capital letters, digits, a hyphen, and its ending.

    Source: Petrov et al. (2006), whose classes of unknown words ours follow; the endings are our own list.

    >>> [signature(word) for word in ("Ringers", "1,250", "mid-March", "unwell", "--", "NASA")]
    ['~Xs', '~0', '~x-', '~x', '~.', '~XX']
    """
    if not any(letter.isalnum() for letter in word):
        return "~."
    if word[0].isdigit() or not any(letter.isalpha() for letter in word):
        return "~0x" if any(letter.isalpha() for letter in word) else "~0"
    case = "X" if word[0].isupper() else "x"
    if len(word) > 1 and word.isupper():
        case = "XX"
    digits = "0" if any(letter.isdigit() for letter in word) else ""
    hyphen = "-" if "-" in word[1:] else ""
    last = re.split(r"-", word)[-1].lower()
    ending = next((end for end in _ENDINGS if last.endswith(end) and len(last) > len(end) + 1), "")
    return f"~{case}{digits}{hyphen}{'' if case == 'XX' else ending}"


def with_signatures(texts: Iterable[str], least: int = 3) -> Callable[[str], str]:
    """A function that replaces words met fewer than ``least`` times in some texts by their signature.

    >>> rewrite = with_signatures(["the cat sat", "the dog sat", "the cat ran"], least=2)
    >>> rewrite("the cat barked")
    'the cat ~xed'
    """
    counts = Counter(word for text in texts for word in text.split())
    known = {word for word, count in counts.items() if count >= least}

    def rewrite(text: str) -> str:
        return " ".join(word if word in known else signature(word) for word in text.split())

    return rewrite


def numbered(text: str) -> str:
    """Each word with its number before it.

    >>> numbered("The dog barks")
    '1 The 2 dog 3 barks'
    """
    return " ".join(f"{i} {word}" for i, word in enumerate(text.split(), 1))
