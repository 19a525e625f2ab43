"""The card of a diagnosis: the kind of shift, why, and what each look found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Card, Grid

if TYPE_CHECKING:
    from ...results.diagnosis import Diagnosis

__all__ = ["card"]


def card(found: Diagnosis) -> Card:
    """The card."""
    rows = [[one.name, one.strength, _p_value(one.p_value), one.says] for one in found.findings]
    grid = Grid("what each look found", ["look", "sign", "p", "finding"], rows, words=frozenset((0, 1, 3)))
    return Card("Kind of shift", found.kind, lines=(found.why,), grids=(grid,) if rows else ())


def _p_value(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
