"""Synonyms: what unknown and known words have in common: the words of WordNet that may stand for another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from oodometer.errors import InputError, UsageError, needed
from oodometer.registry import register

from .base import Dropped, ShiftedText, WordShift, parsed
from .wordnet import PARTS, WordNet, find_wordnet
from .words import FUNCTION_WORDS, NUMBERS, Vocabulary, Word, in_the_case_of, is_piece, words_of


class SynonymShift(WordShift):
    """Words exchanged by a synonym from WordNet that the ``training`` texts show to be unknown, or known.

    ``synonyms`` : a `WordNet`, by default that of `find_wordnet`, or what gives those of a word in small letters.
    ``pieces`` and ``function_words`` : parts of contractions ("don" in "don't"), and articles, pronouns, auxiliaries
    and the like, of which WordNet knows namesakes (he: helium), become synonyms, too, as in the counts of the paper.
    ``part_of_speech`` : only meanings of the likely part of speech, by `WordNet.parts_of_speech`, or by a function from
    the words of a turn to "noun", "verb", "adj", "adv" or anything else; ``inflect`` : the synonym in the form of the
    word (cars, automobiles), by `WordNet.inflected`. Both need a `WordNet`. Numbers, in digits or words, are neither
    exchanged nor synonyms; nor are several words, or what has a hyphen, a synonym. Of the others the one with the
    largest Levenshtein distance is taken, the first in the order of the alphabet where several have it.
    """

    citation = "lee2021"
    usual = ("0.05", "0.1", "0.15", "0.2", "0.25")

    @classmethod
    def reads(cls) -> str:
        """What it needs."""
        return f"{super().reads()}, the training texts, WordNet"

    def __init__(
        self,
        training: Vocabulary | None = None,
        *,
        synonyms: WordNet | Callable[[str], Iterable[str]] | None = None,
        pieces: bool = False,
        function_words: bool = False,
        part_of_speech: bool | Callable[[Sequence[str]], Sequence[str | None]] = False,
        inflect: bool = False,
    ) -> None:
        if (
            (part_of_speech or inflect)
            and synonyms is not None
            and not isinstance(synonyms, WordNet)
        ):
            raise UsageError(
                "part_of_speech and inflect need synonyms= to be a WordNet; give one, or leave them out"
            )
        self._training, self._synonyms, self._pieces = training, synonyms, pieces
        self._part_of_speech, self._inflect = part_of_speech, inflect
        self._barred = NUMBERS if function_words else NUMBERS | FUNCTION_WORDS
        self._synonym_of: dict[tuple[str, str | None], str | None] = {}
        self._parts: dict[tuple[str, ...], Sequence[str | None]] = {}

    @property
    def training(self) -> Vocabulary:
        """The counts; `UsageError` where there are none."""
        if self._training is None or not len(self._training):
            raise UsageError(
                f"{self.name} needs the texts that the model was trained on; name them (training=, --training FILE)"
            )
        return self._training

    def synonym(self, word: str, part: str | None = None) -> str | None:
        """The synonym that stands for a word, as a part of speech or any, in small letters unless a name, or None."""
        small = word.lower()
        if (small, part) not in self._synonym_of:
            distance = needed(
                "rapidfuzz.distance", "a shift by synonyms", extra="text"
            ).Levenshtein.distance
            candidates: list[str] = []
            if small.isalpha() and small not in self._barred:
                # where both are lacking, the texts are asked for
                if not self.training or self._synonyms is None:
                    self._synonyms = find_wordnet()
                source = self._synonyms
                synonyms = (
                    source.synonyms(small, part, inflect=self._inflect)
                    if isinstance(source, WordNet)
                    else source(small)
                )
                candidates = sorted(
                    o
                    for o in synonyms
                    if o.isalpha() and o.lower() not in self._barred and self._fits(o)
                )
            self._synonym_of[small, part] = max(
                candidates, key=lambda candidate: distance(small, candidate.lower()), default=None
            )
        return self._synonym_of[small, part]

    def _fits(self, synonym: str) -> bool:
        """Whether the training texts allow a synonym: those that they do not hold."""
        return not self.training.count(synonym)

    def synonym_at(self, words: Sequence[Word], at: int) -> str | None:
        """The synonym of the word at a place, None where it is not to be exchanged."""
        if not words[at].is_plain or (not self._pieces and is_piece(words, at)):
            return None
        if not self._part_of_speech:
            return self.synonym(words[at].text)
        turn = tuple(word.text for word in words)
        if turn not in self._parts:
            guess: Any = self._part_of_speech
            if guess is True:
                self._synonyms = self._synonyms or find_wordnet()
                guess = self._synonyms.parts_of_speech  # type: ignore[union-attr]
            self._parts[turn] = guess(turn)
            if len(self._parts[turn]) != len(turn):
                expected, got = (
                    f"a part of speech for each of {len(turn)} words",
                    f"{len(self._parts[turn])}",
                )
                raise InputError(expected, got=got, remedy="mend the function that gives them")
        part = str(self._parts[turn][at]).lower()  # also NOUN, as treebanks have it
        return self.synonym(words[at].text, part) if part in PARTS else None

    def _new(self, words: Sequence[Word], at: int, rng: np.random.Generator) -> str | None:
        synonym = self.synonym_at(words, at)
        return None if synonym is None else in_the_case_of(words[at].text, synonym)


@register("shift")
class ImportantWords(SynonymShift):
    """One fifth of the words that can be exchanged, by importance, becomes unknown words (UW by word importance).

    Of the R words that have an unknown synonym, sorted by importance, severity s exchanges those from floor((s - 1) R /
    5) up to floor(s R / 5): 1 the least important fifth, 5 the most important one. Texts with fewer than five such
    words are dropped, so that every severity has the same texts. ``importance`` gives a number for each word and
    punctuation mark, such as `AttentionImportance` or any attribution. Source: Lee et al. (2021), who fix the share of
    replaced words at 20 %; their counts fit a fifth of these words.

    >>> shift = ImportantWords(
    ...     Vocabulary.of(["b c d e f"]), synonyms=lambda word: [f"{word}x"], importance=lambda turns: np.arange(5.0)
    ... )
    >>> shift.apply(["b c d e f"], 5).turns, shift.apply(["b c d e f"], 1).turns
    (('b c d e fx',), ('bx c d e f',))
    """

    name = "important-words"
    about = "a fifth of the words, by importance, becomes synonyms that never occur in training"
    severities = (1, 2, 3, 4, 5)
    usual = ("1", "2", "3", "4", "5")

    def __init__(
        self, training: Vocabulary | None = None, *, importance: Any = None, **more: Any
    ) -> None:
        super().__init__(training, **more)
        self._importance = importance

    def check_severity(self, severity: Any) -> int:  # type: ignore[override]
        """The fifth, a whole number from 1 to 5."""
        expected = f"a severity of {self.name} from 1 to 5, the fifth by importance"
        return parsed(int, severity, expected, lambda fifth: fifth in self.severities)

    def _shifted(  # type: ignore[override]
        self, turns: tuple[str, ...], severity: int, rng: np.random.Generator
    ) -> ShiftedText | Dropped:
        if self._importance is None:
            raise UsageError(
                f"{self.name} needs the importance of words; give importance=, a model or a function"
            )
        words = [words_of(turn) for turn in turns]
        positions = [
            (turn, at) for turn, turn_words in enumerate(words) for at in range(len(turn_words))
        ]
        weights = np.asarray(self._importance(turns), dtype=np.float64)
        if weights.shape != (len(positions),) or not np.isfinite(weights).all():
            expected = f"an importance for each of {len(positions)} words and punctuation marks"
            got = (
                f"shape {weights.shape}"
                if weights.shape != (len(positions),)
                else "numbers that are not finite"
            )
            raise InputError(expected, got=got, remedy="mend the function that gives them")
        able = [i for i, (turn, at) in enumerate(positions) if self.synonym_at(words[turn], at)]
        fifths = len(self.severities)
        if len(able) < fifths:
            return Dropped("fewer than five words that can be exchanged")
        order = sorted(able, key=lambda i: (weights[i], i))
        chosen = order[(severity - 1) * len(order) // fifths : severity * len(order) // fifths]
        return self._exchange(turns, words, [positions[i] for i in chosen], "all", rng)


@register("shift")
class UnknownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur nowhere in the training texts (UW).

    Of the synonyms that WordNet has for a word those are left out that are numbers, that consist of several words, and
    that occur in training; the one farthest in Levenshtein distance is taken. The severity is the share of words and
    punctuation marks that are exchanged. Texts with too few such words are dropped. Source: Lee et al. (2021).

    >>> meanings = {"house": ["dwelling", "family", "home"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = UnknownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3)
    ShiftedText(turns=('A big dwelling.',), words=4, targets=1)
    """

    name = "unknown-words"
    about = "words become synonyms that never occur in training"


@register("shift")
class KnownWords(SynonymShift):
    """A share of the words exchanged by synonyms that occur in the training texts at least ``least`` times (KW).

    The control of `UnknownWords`: the same rules, but the synonym is known, so that only the meaning suffers. The paper
    asks for more than 5,000 occurrences; in its own data so few words have them that its counts can only come from
    synonyms that occur at all, and so ``least`` is 1 by default. Source: Lee et al. (2021).

    >>> meanings = {"house": ["dwelling", "family"]}
    >>> training = Vocabulary.of(["a big house", "my family"])
    >>> shift = KnownWords(training, synonyms=lambda word: meanings.get(word, []))
    >>> shift.apply(["A big house."], 0.3).turns
    ('A big family.',)
    """

    name = "known-words"
    about = "words become synonyms that occur in training"
    deviation = "a known word occurs in training at all; the paper's more than 5,000 times cannot give its own counts"

    def __init__(self, training: Vocabulary | None = None, *, least: int = 1, **more: Any) -> None:
        super().__init__(training, **more)
        if least < 1:
            raise UsageError(
                f"expected least to be a number of occurrences from 1 on, got {least!r}"
            )
        self._least = least

    def _fits(self, synonym: str) -> bool:
        return self.training.count(synonym) >= self._least
