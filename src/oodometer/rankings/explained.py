"""Explained: what attributions of the labelled texts say of each model, from whatever asked the models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ..arrays import Array
from ..plain import Plain, Strings
from ..results.ranking import ExplainedExample


@final
@dataclass(frozen=True, eq=False)
class Explained:
    """Factors over attributions of some labelled rows, and these rows, ready to be drawn.

    rows : their places among the labelled ones. factors : their names. values : of each factor, shape (model, factor,
    row), nan where a text has no words. examples : one a row. method : how the attributions were made.
    """

    rows: tuple[int, ...]
    factors: Strings
    values: Array
    examples: tuple[ExplainedExample, ...]
    method: Plain
