"""Figures: a recipe's drawings as files, and on one page where reports can draw; `oodometer.reports` draws them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence

from ...reports.drawings import Drawing, render_drawings
from ...store import write_atomic
from ..base import Progress, Workspace


def can_draw() -> bool:
    """Whether the extra `report` is installed."""
    return all(importlib.util.find_spec(one) is not None for one in ("altair", "vl_convert"))


def figure_files(names: Iterable[str], *pages: str) -> tuple[str, ...]:
    """Files that the figures leave: one a drawing, and where reports can draw ``figures.html`` and more pages."""
    drawn = ("figures.html", *pages) if can_draw() else ()
    return (*(f"figures/{name}.vl.json" for name in names), *drawn)


def draw(workspace: Workspace, title: str, drawings: Sequence[Drawing], lead: str, progress: Progress) -> None:
    """Write each drawing as a Vega-Lite specification, and all of them on one page where reports can draw."""
    for done, drawing in enumerate(drawings, 1):
        workspace.write_json(f"figures/{drawing.name}.vl.json", drawing.specification())
        progress(done, len(drawings) + 1)
    if can_draw():
        write_atomic(workspace / "figures.html", render_drawings(title, drawings, lead=lead))
