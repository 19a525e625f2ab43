"""The card of a backtest: the method with the smallest error, and every other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from .base import Card, Grid

if TYPE_CHECKING:
    from ...results.backtest import Backtest

__all__ = ["card"]


def card(found: Backtest) -> Card:
    """The card."""
    overall = found.overall()
    rows = [
        [one.method, f"{100 * one.error:.1f}", f"{100 * one.bias:+.1f}", percent(one.coverage, 0), f"{one.cases}"]
        for one in overall
    ]
    columns = ["method", "error (points)", "bias (points)", "interval held", "cases"]
    told = f"{len(found.trials)} simulated targets from {found.reference['rows']:,} rows of {found.reference['name']}"
    best = overall[0] if overall else None
    return Card(
        title="Smallest error on simulated shifts",
        number="none" if best is None else best.method,
        interval="" if best is None else f"{100 * best.error:.1f} points on average",
        lines=(told,),
        grids=(Grid("methods over all families", columns, rows),),
        warnings=tuple(found.warnings),
    )
