"""Table of factors: each factor of each example, with how often its words did not occur."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...errors import UsageError
from ...registry import create, names
from ...results import plain
from ..base import WordAttributions
from .base import Factor


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
        return {
            "examples": self.values.shape[1],
            "factors": [
                {"factor": name, "mean": plain(self.means[name]), "absent": self.absent[name]} for name in self.names
            ],
        }


def factor_table(
    found: Sequence[WordAttributions], factors: Sequence[str | Factor | type[Factor]] | None = None
) -> FactorTable:
    """The factors of examples.

    Parameters
    ----------
    found :
        Attributions, one for each example.
    factors :
        Registered names, or factors; all that are registered by default.

    Raises `UsageError` for an unknown name, for no factor at all, and for a factor that gives no finite number.

    >>> from oodometer.attributions.words import Words
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> table = factor_table([one], ["max-diff", "adj"])
    >>> table.values.tolist(), table.absent
    ([[0.25], [nan]], {'max-diff': 0, 'adj': 1})
    """
    chosen = names("factor") if factors is None else list(factors)
    if not chosen:
        raise UsageError("expected at least one factor, got none; `oodometer methods` lists them")
    made = [_made(one) for one in chosen]
    values = np.full((len(made), len(found)), np.nan)
    for i, factor in enumerate(made):
        for j, one in enumerate(found):
            value = factor.value(one)
            if value is None:
                continue
            if not np.isfinite(value):
                raise UsageError(
                    f"the factor {factor.name} gave {value!r} for example {j + 1}, expected a finite number"
                )
            values[i, j] = value
    return FactorTable(tuple(factor.name for factor in made), values)


def factor_values(
    found: Sequence[WordAttributions], factors: Sequence[str | Factor | type[Factor]] | None = None
) -> Array:
    """The values of `factor_table` alone: float64, shape (factor, example), nan where a factor's words do not occur.

    >>> from oodometer.attributions.words import Words
    >>> one = WordAttributions(Words(("he ran", "he sat")), np.array([0.5, -0.75, 0.25, 0.0]), 0.0, 1, 0.9)
    >>> factor_values([one, one], ["sum-diff"]).tolist()
    [[-0.5, -0.5]]
    """
    return factor_table(found, factors).values


def _made(one: str | Factor | type[Factor]) -> Factor:
    if isinstance(one, str):
        made: Factor = create("factor", one)
        return made
    return one() if isinstance(one, type) else one
