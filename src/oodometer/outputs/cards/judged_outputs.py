"""The card of judged outputs: between which bounds the judges put the accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from .base import Card, Grid, interval_text, numbers

if TYPE_CHECKING:
    from ...verbs.discriminate.judged import JudgedOutputs

__all__ = ["card"]


def card(found: JudgedOutputs) -> Card:
    """The card; bounds first, since the middle rests on more."""
    share = found.metric == "exact"
    named = [("all accept", found.lower), ("some accept", found.upper), ("middle", found.mean)]
    named += [(f"judge {name}", one) for name, one in zip(found.judges, found.by_judge, strict=True)]
    rows = [[name, *numbers(one, share=share)] for name, one in named]
    one = found.estimate
    ends = f"{one.lower:.4f} to {one.upper:.4f}, {percent(one.level, None)} {one.kind} interval"
    return Card(
        title="Accuracy by its judges" if share else f"Mean {found.metric} by its judges",
        number=percent(one.value) if share else f"{one.value:.4f}",
        interval=interval_text(one) if share else ends,
        lines=(f"{found.name}: {found.rows:,} rows, {len(found.judges)} judges", f"Rests on: {found.assumes}"),
        grids=(Grid("bounds and judges", ["number", "value", "lower", "upper"], rows),),
        warnings=tuple(found.warnings),
    )
