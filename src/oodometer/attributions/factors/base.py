"""The contract of a factor: the attributions of one example in, one number out that measures a heuristic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from ...arrays import Array
from ...errors import UsageError
from ..base import WordAttributions


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


def pair_values(found: WordAttributions) -> tuple[Array, Array] | None:
    """Attributions of the words of both parts, shapes (word of a,) and (word of b,); None where a part has no word.

    A single text has no second part.
    """
    first = found.words.parts == 0
    if first.all() or not first.any():
        return None
    return found.values[first], found.values[~first]


def factor_of(
    name: str,
    function: Callable[[WordAttributions], float | None],
    *,
    heuristic: str,
    about: str = "a factor of one's own",
    needs: tuple[str, ...] = (),
    citation: str = "singhal2022",
) -> type[Factor]:
    """A factor from a plain function of the attributions of one example; ``register("factor")`` takes what it returns.

    Parameters
    ----------
    name :
        In lower case, without a colon.
    function :
        Gives a number, or None where the words that it looks at do not occur.
    heuristic :
        What a model does that has a high value; such a model is ranked lower.
    about, needs, citation :
        As in `Factor`; the citation is that of the idea of factors, unless another is given.

    Raises `UsageError` for a name that is none, and for what cannot be called.

    >>> import numpy as np
    >>> from oodometer.attributions.words import Words
    >>> Loudest = factor_of("loudest", lambda found: float(abs(found.values).max()), heuristic="follows one word alone")
    >>> Loudest().value(WordAttributions(Words("so be it"), np.array([0.1, -0.4, 0.2]), float("nan"), 1, 0.9))
    0.4
    """
    if not name or name != str(name).strip().lower() or ":" in name:
        raise UsageError(f"expected the name of a factor in lower case and without a colon, got {name!r}")
    if not callable(function):
        raise UsageError(f"expected a function of the attributions of an example, got {type(function).__name__}")

    def value(self: Factor, found: WordAttributions) -> float | None:
        return function(found)

    traits = {"about": about, "needs": needs, "heuristic": heuristic, "citation": citation}
    return type(name, (Factor,), {"name": name, **traits, "value": value, "__doc__": function.__doc__ or about})
