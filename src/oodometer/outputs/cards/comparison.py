"""The card of a comparison: the models by each metric, and the first findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Card, Grid

if TYPE_CHECKING:
    from ...results.comparison import Comparison

__all__ = ["card"]

_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "risk_at_coverage")
_MOST = 8


def card(found: Comparison) -> Card:
    """The card."""
    grids = []
    for domain, rankings in found.rankings.items():
        columns = [name for name in _COLUMNS if name in rankings]
        cells = {(n, row["model"]): f"{row['value']:.4f} ({row['rank']})" for n in columns for row in rankings[n]}
        rows = [[model.name, *(cells.get((n, model.name), "") for n in columns)] for model in found.models]
        if columns:
            grids.append(Grid(f"{domain.replace('_', ' ')}, value (rank)", ["model", *columns], rows))
    return Card(
        title="Models compared",
        number=f"{len(found.models)} models",
        lines=tuple(str(one["sentence"]) for one in found.findings[:_MOST]),
        grids=tuple(grids),
        warnings=tuple(found.warnings),
    )
