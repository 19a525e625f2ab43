"""The card of a stress test: one row for each model, shift and severity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Card, Grid

if TYPE_CHECKING:
    from ...results.stressing import StressTest

__all__ = ["card"]


def card(found: StressTest) -> Card:
    """The card."""
    kinds = dict.fromkeys(curve.kind for _, curve, _ in found.points())
    return Card(
        title="Models on data whose shift grows",
        number=f"{len(found.models)} model{'' if len(found.models) == 1 else 's'}",
        interval=", ".join(kinds),
        lines=tuple(found.opening()),
        grids=(Grid("each severity", *found.table(), words=frozenset((0, 1, 2, 11))),),
        warnings=tuple(found.closing()),
    )
