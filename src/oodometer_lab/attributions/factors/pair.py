"""Factors of pairs: what both parts say, the words that they share or swap, and the separator between them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from oodometer.registry import register

from ..base import WordAttributions, Words
from .base import Factor, pair_values


class Alignment(NamedTuple):
    """Positions among all words: ``shared`` pairs in the same order, words of both parts in another order."""

    shared: tuple[tuple[int, int], ...]
    swapped_a: tuple[int, ...]
    swapped_b: tuple[int, ...]


def aligned(words: Words) -> Alignment:
    """The alignment of the two parts: shared words are a longest common subsequence, whatever the case, the earliest in
    the first; swapped ones are others that both have, the first k occurrences that are left, k the smaller count.
    """
    if not words.is_pair:
        return Alignment((), (), ())
    return _aligned(words.words, int((words.parts == 0).sum()))


# every model and every method of attribution asks for the same examples
@lru_cache(maxsize=1 << 13)
def _aligned(words: tuple[str, ...], split: int) -> Alignment:
    lower = [word.lower() for word in words]
    positions = [at for at, word in enumerate(words) if any(sign.isalnum() for sign in word)]
    a = [at for at in positions if at < split]
    b = [at for at in positions if at >= split]
    places = _common_subsequence([lower[at] for at in a], [lower[at] for at in b])
    shared = tuple((a[i], b[j]) for i, j in places)
    left_a = _by_word(a, {i for i, _ in shared}, lower)
    left_b = _by_word(b, {j for _, j in shared}, lower)
    count = {
        word: min(len(left_a[word]), len(left_b[word])) for word in left_a.keys() & left_b.keys()
    }
    swapped_a, swapped_b = (
        tuple(sorted(at for word, k in count.items() for at in unmatched[word][:k]))
        for unmatched in (left_a, left_b)
    )
    return Alignment(shared, swapped_a, swapped_b)


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places of a longest common subsequence, the earliest in the first."""
    # lengths for what is left of both; lists, as cells of an array are slow
    longest = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        word, row, below = first[i], longest[i], longest[i + 1]
        right = 0
        for j in range(len(second) - 1, -1, -1):
            if word == second[j]:
                right = below[j + 1] + 1
            elif below[j] > right:
                right = below[j]
            row[j] = right
    places = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            places.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i][j + 1] >= longest[i + 1][j]:  # the word is kept for later ones of second
            j += 1
        else:
            i += 1
    return places


def _by_word(positions: list[int], taken: set[int], lower: list[str]) -> dict[str, list[int]]:
    out: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        if position not in taken:
            out[lower[position]].append(position)
    return out


@register("factor")
class MaxDiff(Factor):
    """max(phi_a) - max(phi_b), phi the attributions of the words of parts a and b; in units of probability.

    Heuristic: one word of the first part decides, and the second part is not compared with it. A higher mean is ranked
    lower. None where a part has no word. Source: Singhal et al. (2022), section 6.1.

    >>> pair = Words(("he ran", "he sat"))
    >>> MaxDiff().value(WordAttributions(pair, np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9))
    0.25
    """

    name = "max-diff"
    about = "largest attribution of the first part minus that of the second"
    needs = ("pair",)
    heuristic = "one word of the first part decides, whatever the second part says"

    def value(self, attributions: WordAttributions) -> float | None:
        """The difference of the largest attributions."""
        parts = pair_values(attributions)
        return None if parts is None else float(parts[0].max() - parts[1].max())


@register("factor")
class SumDiff(Factor):
    """sum(phi_a) - sum(phi_b), phi the attributions of the words of parts a and b; in units of probability.

    Heuristic: the first part decides alone, as in models that read one part only. A higher mean is ranked lower. None
    where a part has no word. Source: Singhal et al. (2022), section 6.1.

    >>> pair = Words(("he ran", "he sat"))
    >>> SumDiff().value(WordAttributions(pair, np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9))
    -0.5
    """

    name = "sum-diff"
    about = "summed attributions of the first part minus those of the second"
    needs = ("pair",)
    heuristic = "the first part decides alone"

    def value(self, attributions: WordAttributions) -> float | None:
        """The difference of the sums."""
        parts = pair_values(attributions)
        return None if parts is None else float(parts[0].sum() - parts[1].sum())


@register("factor")
class IndexDiff(Factor):
    """sum over shared words of (phi_a - phi_b), shared words aligned in order (`aligned`); in units of probability.

    Heuristic: the subsequence heuristic, "the second part follows because its words stand in the first": attribution
    lies on the copies of the hypothesis's words in the premise. A higher mean is ranked lower. A repeated word counts
    as often as it can be aligned. None where no word is shared, and for a single text. Source: Singhal et al. (2022),
    section 6.1, which names the difference and leaves sign and pairing open.

    >>> pair = Words(("The old man ran", "the man sat"))
    >>> IndexDiff().value(WordAttributions(pair, np.array([0.5, 9.0, 0.25, 9.0, 0.25, -0.5, 9.0]), 0.0, 1, 0.9))
    1.0
    """

    name = "index-diff"
    about = (
        "attributions of shared words in the first part minus those in the second, aligned in order"
    )
    needs = ("pair",)
    heuristic = "a second part whose words stand in the first is taken to follow from it"

    def value(self, attributions: WordAttributions) -> float | None:
        """The sum over shared words."""
        shared = aligned(attributions.words).shared
        if not shared:
            return None
        a, b = np.array(shared).T
        return float(attributions.values[a].sum() - attributions.values[b].sum())


@register("factor")
class FirstTok(Factor):
    """phi of the separator between the parts; in units of probability.

    Heuristic: the input is told by its form as a pair and not by its words. A higher mean is ranked lower. None where
    the method of attribution says nothing of the separator, and for a single text. Source: Singhal et al. (2022),
    section 6.1 ("the attribution at the first <SEP> token").

    >>> FirstTok().value(WordAttributions(Words(("he ran", "he")), np.zeros(3), 0.125, 1, 0.9))
    0.125
    """

    name = "first-tok"
    about = "attribution of the first separator"
    needs = ("pair",)
    heuristic = "the answer hangs on the form of the input, not on its words"

    def value(self, attributions: WordAttributions) -> float | None:
        """The separator's attribution."""
        separator = float(attributions.separator)
        return None if math.isnan(separator) else separator


# subordinators, connectives, adverbs, verbs of opinion and report
_LISTED = (
    "after although because before if since though unless until when whereas whether while and but nor or allegedly "
    "apparently certainly clearly definitely hopefully maybe obviously perhaps possibly presumably probably "
    "reportedly suddenly supposedly surely assume assumed believe believed claim claimed doubt doubted expect "
    "expected forget forgot hope hoped know knew learn learned remember remembered said say suspect suspected think "
    "thought"
)
_WORDS = frozenset(_LISTED.split())
_PHRASES = (
    ("in", "case"),
    ("of", "course"),
    ("without", "a", "doubt"),
    ("without", "doubt"),
    ("no", "doubt"),
)


def control_word(words: Words) -> int | None:
    """Position of the first control word of the first part, as in the constituent templates of HANS (McCoy, Pavlick and
    Linzen, 2019), or of the word that the data set marks; None for none.
    """
    if words.feature is not None:
        return words.feature
    first = tuple(
        word.lower() for word, part in zip(words.words, words.parts, strict=True) if part == 0
    )
    for index, word in enumerate(first):
        if word in _WORDS or any(
            first[index : index + len(phrase)] == phrase for phrase in _PHRASES
        ):
            return index
    return None


@register("factor")
class Const(Factor):
    """phi of the control word of the first part (`control_word`); in units of probability.

    Heuristic: the constituent heuristic, "a premise entails each of its clauses": the word that says whether a clause
    holds is read as speaking for the answer. A higher mean is ranked lower, as for every factor. None where the premise
    has no control word, and for a single text. Source: Singhal et al. (2022), section 6.1.

    >>> pair = Words(("Unless he ran, she sat", "he ran"))
    >>> Const().value(WordAttributions(pair, np.array([-0.5, 0, 0, 0, 0, 0, 0, 0]), 0.0, 1, 0.9))
    -0.5
    """

    name = "const"
    about = "attribution of the control word of the first part"
    needs = ("pair",)
    heuristic = "each clause of the first part is taken to be claimed, whatever governs it"

    def value(self, attributions: WordAttributions) -> float | None:
        """The control word's attribution."""
        position = control_word(attributions.words) if attributions.words.is_pair else None
        return None if position is None else float(attributions.values[position])


@register("factor")
class SwapAvg(Factor):
    """mean of phi over the swapped words of both parts (`aligned`); in units of probability.

    Heuristic: the overlap heuristic, "the same words mean the same": swapped words speak for the answer although their
    order is another. A higher mean is ranked lower. None where no word is swapped, and for a single text. Source:
    Singhal et al. (2022), section 6.1.

    >>> pair = Words(("good men become bad", "bad men become good"))
    >>> SwapAvg().value(WordAttributions(pair, np.array([0.5, 9, 9, 0.25, 0.25, 9, 9, 1.0]), 0.0, 1, 0.9))
    0.5
    """

    name = "swap-avg"
    about = "mean attribution of the words that both parts have in another order"
    needs = ("pair",)
    heuristic = "the same words are taken to mean the same, whatever their order"

    def value(self, attributions: WordAttributions) -> float | None:
        """The mean over the swapped words."""
        _, a, b = aligned(attributions.words)
        return float(np.mean(attributions.values[[*a, *b]])) if a else None


@register("factor")
class SwapMaxDiff(Factor):
    """max |phi_a| - max |phi_b| over the swapped words of each part (`aligned`); in units of probability.

    Heuristic: the first order of the swapped words decides and the second is not compared with it. A higher mean is
    ranked lower. None where no word is swapped, and for a single text. Source: Singhal et al. (2022), section 6.1
    ("the highest magnitude attribution of swapped tokens").

    >>> pair = Words(("good men become bad", "bad men become good"))
    >>> SwapMaxDiff().value(WordAttributions(pair, np.array([-0.75, 9, 9, 0.25, 0.5, 9, 9, 0.0]), 0.0, 1, 0.9))
    0.25
    """

    name = "swap-max-diff"
    about = "largest magnitude among the swapped words of the first part minus that of the second"
    needs = ("pair",)
    heuristic = "the order of the first part decides, and that of the second is not read"

    def value(self, attributions: WordAttributions) -> float | None:
        """The difference of the largest magnitudes."""
        _, a, b = aligned(attributions.words)
        size = np.abs(attributions.values)
        return float(size[list(a)].max() - size[list(b)].max()) if a else None
