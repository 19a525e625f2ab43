"""Window: what three factors share, the attribution that does not lie around the word that should decide."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from ..base import WordAttributions
from ..words import Words
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

    def value(self, found: WordAttributions) -> float | None:
        """Minus the attribution in the window; None where no word should decide."""
        words = found.words
        middle = words.feature if words.feature is not None else self.feature(words)
        if middle is None:
            return None
        start, stop = max(middle - self.reach, 0), middle + self.reach + 1
        inside = words.parts[start:stop] == words.parts[middle]
        return -float(found.values[start:stop][inside].sum())
