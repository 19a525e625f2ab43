"""Unknown words: words exchanged by synonyms that the model never saw in training."""

from __future__ import annotations

from ...registry import register
from .synonyms import SynonymShift


@register("shift")
class UnknownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur nowhere in the training texts (UW).

    Of the synonyms that WordNet has for a word those are left out that are numbers, that consist of several words, and
    that occur in training; the one farthest in Levenshtein distance is taken. The severity is the share of words and
    punctuation marks that are exchanged. Texts with too few such words are dropped. Source: Lee et al. (2021).

    >>> from oodometer.shifts.text.words import Vocabulary
    >>> meanings = {"house": ["dwelling", "family", "home"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = UnknownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3)
    ShiftedText(turns=('A big dwelling.',), words=4, targets=1)
    """

    name = "unknown-words"
    about = "words become synonyms that never occur in training"
    citation = "lee2021"
