"""The contract of a factor: the attributions of one example in, one number out that measures a heuristic."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.registry import create, names
from oodometer.results import plain

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
    def value(self, attributions: WordAttributions) -> float | None:
        """The factor of one example; None where the words that it looks at do not occur."""


def pair_values(attributions: WordAttributions) -> tuple[Array, Array] | None:
    """Attributions of the words of both parts; None where a part has no word."""
    first = attributions.words.parts == 0
    if first.all() or not first.any():
        return None
    return attributions.values[first], attributions.values[~first]


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

    name : In lower case, without a colon.
    function : Gives a number, or None where the words that it looks at do not occur.
    heuristic : What a model does that has a high value; such a model is ranked lower.
    about, needs, citation : As in `Factor`; the citation is that of the idea of factors, unless another is given.

    Raises `UsageError` for a name that is none, and for what cannot be called.

    >>> import numpy as np
    >>> from oodometer_lab.attributions.base import Words
    >>> Loudest = factor_of("loudest", lambda found: float(abs(found.values).max()), heuristic="follows one word alone")
    >>> Loudest().value(WordAttributions(Words("so be it"), np.array([0.1, -0.4, 0.2]), float("nan"), 1, 0.9))
    0.4
    """
    if not name or name != str(name).strip().lower() or ":" in name:
        raise UsageError(
            f"expected the name of a factor in lower case and without a colon, got {name!r}"
        )
    if not callable(function):
        raise UsageError(
            f"expected a function of the attributions of an example, got {type(function).__name__}"
        )

    def value(self: Factor, attributions: WordAttributions) -> float | None:
        return function(attributions)

    traits = {"about": about, "needs": needs, "heuristic": heuristic, "citation": citation}
    return type(
        name,
        (Factor,),
        {"name": name, **traits, "value": value, "__doc__": function.__doc__ or about},
    )


@final
@dataclass(frozen=True, eq=False)
class FactorTable:
    """Factors of one model's examples.

    names : of the factors. values : float64, shape (factor, example), nan where the words of a factor do not occur.
    """

    names: tuple[str, ...]
    values: Array

    @property
    def absent(self) -> dict[str, int]:
        """Factor -> how many examples lack the words that it looks at."""
        return dict(zip(self.names, np.isnan(self.values).sum(axis=1).tolist(), strict=True))

    @property
    def means(self) -> dict[str, float]:
        """Factor -> its mean over the examples that have its words; nan where none has."""
        return {
            name: float(row[~np.isnan(row)].mean()) if not np.isnan(row).all() else math.nan
            for name, row in zip(self.names, self.values, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        means, absent = self.means, self.absent
        factors = [
            {"factor": name, "mean": plain(means[name]), "absent": absent[name]}
            for name in self.names
        ]
        return {"examples": self.values.shape[1], "factors": factors}


def factor_table(
    examples: Sequence[WordAttributions],
    factors: Sequence[str | Factor | type[Factor]] | None = None,
) -> FactorTable:
    """The factors of examples.

    examples : Attributions, one for each example.
    factors : Registered names, or factors; all that are registered by default.

    Raises `UsageError` for an unknown name, for no factor at all, and for a factor that gives no finite number.

    >>> from oodometer_lab.attributions.base import Words
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> table = factor_table([one], ["max-diff", "adj"])
    >>> table.values.tolist(), table.absent
    ([[0.25], [nan]], {'max-diff': 0, 'adj': 1})
    """
    chosen = names("factor") if factors is None else list(factors)
    if not chosen:
        raise UsageError("expected at least one factor, got none; `oodometer methods` lists them")
    created = [create("factor", factor) if isinstance(factor, str) else factor for factor in chosen]
    instances: list[Factor] = [
        factor() if isinstance(factor, type) else factor for factor in created
    ]
    values = np.empty((len(instances), len(examples)))
    for i, factor in enumerate(instances):
        for j, example in enumerate(examples):
            value = factor.value(example)
            if value is not None and not np.isfinite(value):
                got = f"the factor {factor.name} gave {value!r} for example {j + 1}"
                raise UsageError(f"{got}, expected a finite number")
            values[i, j] = np.nan if value is None else value
    return FactorTable(tuple(factor.name for factor in instances), values)


def factor_values(
    examples: Sequence[WordAttributions],
    factors: Sequence[str | Factor | type[Factor]] | None = None,
) -> Array:
    """The values of `factor_table` alone: float64, shape (factor, example), nan where a factor's words do not occur.

    >>> from oodometer_lab.attributions.base import Words
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> factor_values([one, one], ["sum-diff"]).tolist()
    [[-0.5, -0.5]]
    """
    return factor_table(examples, factors).values
