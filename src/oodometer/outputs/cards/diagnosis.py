"""The card of a diagnosis: the kind of shift, why, and what each look found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results.estimation import number
from .base import Card, Grid

if TYPE_CHECKING:
    from ...results import Interval
    from ...results.diagnosis import Diagnosis


def card(found: Diagnosis) -> Card:
    """The card."""
    rows = [[one.name, one.strength, _p_value(one.p_value), one.says] for one in found.findings]
    grid = Grid("what each look found", ["look", "sign", "p", "finding"], rows, words=frozenset((0, 1, 3)))
    grids = (*((grid,) if rows else ()), *columns_grid(found))
    return Card("Kind of shift", found.kind, lines=(found.why,), grids=grids, warnings=found.warnings)


def columns_grid(found: Diagnosis) -> list[Grid]:
    """How the user's columns moved, those first that explain most of a change of accuracy."""
    if not found.columns:
        return []
    rows = [
        [
            one.name,
            f"{one.distance:.3f}",
            _p_value(one.p_value),
            *(number(end) for end in _ends(one.explains)),
            one.says,
        ]
        for one in found.columns
    ]
    heads = ["column", "distance", "p", "explains", "lower", "upper", "what changed"]
    return [Grid("columns", heads, rows, folded=True, words=frozenset((0, 6)))]


def _ends(one: Interval | None) -> tuple[float | None, ...]:
    return (None, None, None) if one is None else (one.value, one.lower, one.upper)


def _p_value(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
