"""The contract of an attribution method: texts and a classifier in, a number for each word out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from ..arrays import Array
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
