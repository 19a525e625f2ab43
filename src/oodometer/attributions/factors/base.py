"""The contract of a factor: the attributions of one example in, one number out that measures a heuristic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ..base import WordAttributions

__all__ = ["Factor"]


class Factor(ABC):
    """How much a model follows a heuristic, seen in the attributions of one example.

    A subclass is final: it sets ``name``, ``about`` (one sentence), ``needs`` (empty, or ``("pair",)``), ``heuristic``
    (what a model does that has a high value) and ``citation``, and defines ``value``. The mean of a factor over the
    examples orders models: **a higher mean is ranked lower**, always; a factor is never turned round.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    heuristic: ClassVar[str]
    citation: ClassVar[str] = "singhal2022"

    @abstractmethod
    def value(self, found: WordAttributions) -> float | None:
        """The factor of one example; None where the words that it looks at do not occur."""
