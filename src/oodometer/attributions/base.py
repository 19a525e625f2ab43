"""The contract of an attribution method: texts and a classifier in, a number for each word out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..models.base import Classifier, Progress, Text
from .words import Words, as_words

Model = Classifier | Callable[[list[Text]], Any]
"""A live classifier, or any function of a list of texts (or pairs) that gives probabilities, shape (sample, class)."""


@final
@dataclass(frozen=True, eq=False)
class WordAttributions:
    """What each word of one example adds to the probability of one class.

    Parameters
    ----------
    words : the example.
    values : of each word, float64, shape (word,); above 0: the word speaks for the class.
    separator : of the separator of a pair; nan where the method does not say, and for a single text.
    target : position of the class that is explained: by default the predicted one.
    probability : of that class, for the whole text.
    base : the probability with every word absent; nan where the method does not ask.
    fit : share of the variance that a surrogate model explains (R², of LIME and KernelSHAP), or what the values lack to
        probability - base (of integrated gradients); nan where there is nothing to say.
    """

    words: Words
    values: Array
    separator: float
    target: int
    probability: float
    base: float = float("nan")
    fit: float = float("nan")


class Attribution(ABC):
    """A method of attribution.

    A subclass is final and sets ``name``, ``about`` (one sentence), ``needs`` (empty: any model will do;
    ``("encoder",)``: an `Encoder`) and ``citation``. Its options are the fields of a dataclass, with defaults.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    citation: ClassVar[str]

    _truncated = 0

    @property
    def truncated(self) -> int:
        """Texts of the last call that were too long for the model and were cut, where that is known.

        Of LIME and KernelSHAP these are all different texts that were asked, of integrated gradients the examples.
        """
        return self._truncated

    def options(self) -> dict[str, Any]:
        """Options by name: they name what a folder of attributions holds."""
        return {name: value for name, value in sorted(vars(self).items()) if not name.startswith("_")}

    def groups(self, texts: Sequence[Text | Words]) -> list[list[Words]]:
        """The texts in order, cut into groups that may be explained apart: each gives what it gives beside the others.

        Here one group of all, since a model's batches, and with them the rounding of sums, depend on what is beside.
        """
        return [as_words(texts)]

    def groups_for(self, model: Model, texts: Sequence[Text | Words]) -> list[list[int]]:
        """Positions of the texts, cut into groups that may be explained apart for this very model.

        Each text is in one group, in whatever order suits the model. Here those of `groups`.
        """
        found: list[list[int]] = []
        start = 0
        for group in self.groups(texts):
            found.append(list(range(start, start + len(group))))
            start += len(group)
        return found

    @abstractmethod
    def explain(
        self,
        model: Model,
        texts: Sequence[Text | Words],
        *,
        targets: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> list[WordAttributions]:
        """Attributions of each text, in order, of the predicted class or of the classes at ``targets``."""


_SIZES: dict[str, Callable[[Array], float]] = {
    "none": lambda values: 1.0,
    "l1": lambda values: float(np.abs(values).sum()),
    "l2": lambda values: float(np.sqrt((values**2).sum())),
    "max": lambda values: float(np.abs(values).max()),
}
NORMALIZATIONS = tuple(_SIZES)
"""Names that `normalized` knows."""


def normalized(found: WordAttributions, how: str = "none") -> WordAttributions:
    """The same attributions, the values of words and separator divided by their size.

    The size is Σ|v| ("l1"), sqrt(Σ v²) ("l2") or max|v| ("max"); "none" leaves all as it is. A separator that the
    method says nothing of does not count; values that are all 0 stay 0. Factors depend on it, as Singhal et al. (2022)
    warn, and say nothing of theirs. Raises `UsageError` for another name.

    >>> from oodometer.attributions import Words, WordAttributions
    >>> found = WordAttributions(Words(("a film", "it")), np.array([0.3, -0.1, 0.4]), -0.2, 1, 0.9)
    >>> normalized(found, "l1").values.round(3).tolist(), round(normalized(found, "l1").separator, 3)
    ([0.3, -0.1, 0.4], -0.2)
    >>> normalized(found, "max").values.round(3).tolist()
    [0.75, -0.25, 1.0]
    """
    if how not in _SIZES:
        raise UsageError(f"unknown normalization {how!r}; known: {', '.join(NORMALIZATIONS)}")
    known = found.values if math.isnan(found.separator) else np.append(found.values, found.separator)
    size = _SIZES[how](known)
    if how == "none" or size == 0:
        return found
    return replace(found, values=found.values / size, separator=found.separator / size)
