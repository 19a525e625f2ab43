"""CONST: the attribution of the premise's control word, such as "unless"."""

from __future__ import annotations

from typing import final

from ...registry import register
from ..base import WordAttributions
from .base import Factor
from .control_words import control_word


@final
@register("factor")
class Const(Factor):
    """phi of the control word of the first part (`control_word`); in units of probability.

    Heuristic: the constituent heuristic, "a premise entails each of its clauses": the word that says whether a clause
    holds is read as speaking for the answer. A higher mean is ranked lower, as for every factor. None where the premise
    has no control word, and for a single text. Source: Singhal et al. (2022), section 6.1.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> pair = Words(("Unless he ran, she sat", "he ran"))
    >>> Const().value(WordAttributions(pair, np.array([-0.5, 0, 0, 0, 0, 0, 0, 0]), 0.0, 1, 0.9))
    -0.5
    """

    name = "const"
    about = "attribution of the control word of the first part"
    needs = ("pair",)
    heuristic = "each clause of the first part is taken to be claimed, whatever governs it"

    def value(self, found: WordAttributions) -> float | None:
        """The control word's attribution."""
        place = control_word(found.words) if found.words.is_pair else None
        return None if place is None else float(found.values[place])
