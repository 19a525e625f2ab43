"""The cards of audits, backtests, comparisons, rankings, judged outputs and stress tests: a function for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results.view import Grid, View

if TYPE_CHECKING:
    from ...results.comparison import Comparison


_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "risk_at_coverage")
_MOST = 8


def comparison(found: Comparison) -> View:
    """The models by each metric, and the first findings."""
    grids = []
    for domain, rankings in found.rankings.items():
        columns = [name for name in _COLUMNS if name in rankings]
        cells = {(n, row["model"]): f"{row['value']:.4f} ({row['rank']})" for n in columns for row in rankings[n]}
        rows = [[model.name, *(cells.get((n, model.name), "") for n in columns)] for model in found.models]
        if columns:
            grids.append(Grid(f"{domain.replace('_', ' ')}, value (rank)", ["model", *columns], rows))
    return View(
        title="Models compared",
        number=f"{len(found.models)} models",
        sentences=tuple(str(one["sentence"]) for one in found.findings[:_MOST]),
        grids=tuple(grids),
        warnings=tuple(found.warnings),
        seed=found.seed,
    )
