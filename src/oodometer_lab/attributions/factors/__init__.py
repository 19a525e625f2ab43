"""Factors: one number an example that measures, in its attributions, how much a model follows a heuristic.

Each is registered under the kind "factor"; `factor_table` computes them for the examples of a model, and `factor_of`
makes one of a plain function.
"""

from __future__ import annotations

from .base import Factor, FactorTable, factor_of, factor_table, factor_values

from .pair import MaxDiff, SumDiff, IndexDiff, FirstTok, Const, SwapAvg, SwapMaxDiff  # isort: skip - as presented
from .window import Irreg, Verb, Adj, WindowFactor  # isort: skip

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
