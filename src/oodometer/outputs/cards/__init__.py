"""Cards: what a result says at a glance, as plain words and cells."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import UsageError
from .base import Card, Grid, Point

__all__ = ["Card", "Grid", "Point", "card_of"]

_HOMES = {
    "Audit": "others.audit",
    "Backtest": "others.backtest",
    "Comparison": "others.comparison",
    "Diagnosis": "diagnosis",
    "Estimation": "estimation",
    "Evaluation": "evaluation",
    "Evaluations": "evaluation",
    "FewShotRanking": "others.ranking",
    "JudgedOutputs": "others.judged_outputs",
    "StressTest": "others.stress_test",
}


def card_of(found: Any) -> Card:
    """The card of a result; `UsageError` where there is none.

    >>> from oodometer.results.diagnosis import Diagnosis
    >>> card_of(Diagnosis("none", (), "nothing moved")).number
    'none'
    """
    home = next((_HOMES[cls.__name__] for cls in type(found).__mro__ if cls.__name__ in _HOMES), None)
    if home is None:
        raise UsageError(f"expected a result of a verb, got {type(found).__name__}")
    module, _, name = home.partition(".")
    card: Card = getattr(importlib.import_module(f".{module}", __package__), name or "card")(found)
    return card
