"""Factors: one number an example that measures, in its attributions, how much a model follows a heuristic.

Each is registered under the kind "factor"; `factor_table` computes them for the examples of a model, and `factor_of`
makes one of a plain function.
"""

from __future__ import annotations

# The order of import is the order of presentation, that of the paper.
# isort: off
from .base import Factor, factor_of
from .max_diff import MaxDiff
from .sum_diff import SumDiff
from .index_diff import IndexDiff
from .first_tok import FirstTok
from .const import Const
from .swap_avg import SwapAvg
from .swap_max_diff import SwapMaxDiff
from .window import WindowFactor
from .irreg import Irreg
from .verb import Verb
from .adj import Adj
from .table import FactorTable, factor_table, factor_values
# isort: on

__all__ = [
    "Adj",
    "Const",
    "Factor",
    "FactorTable",
    "FirstTok",
    "IndexDiff",
    "Irreg",
    "MaxDiff",
    "SumDiff",
    "SwapAvg",
    "SwapMaxDiff",
    "Verb",
    "WindowFactor",
    "factor_of",
    "factor_table",
    "factor_values",
]
