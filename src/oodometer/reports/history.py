"""History: the page of past runs in words and tables, job by job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..results.history import job_view
from ..results.view import Grid
from .charts import over_time
from .charts.base import Figure, Result

MOST_ROWS = 200  # of each table; the newest stay
MOST_JOBS = 20


def _jobs(result: Result) -> list[dict[str, Any]]:
    return [dict(one) for one in (result.get("jobs") or [])[:MOST_JOBS] if one.get("runs")]


def figures(result: Result) -> list[Figure | None]:
    """All charts, job by job."""
    out: list[Figure | None] = []
    for index, job in enumerate(_jobs(result)):
        large, small = over_time.history(job, index)
        out += [large, *small]
    return out


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    told = [_job(job, index) for index, job in enumerate(_jobs(result))]
    return {"history_jobs": told, "more_jobs": max(len(result.get("jobs") or []) - MOST_JOBS, 0)}


def _job(job: Result, index: int) -> dict[str, Any]:
    large, small = over_time.history(job, index)
    view = job_view(job)
    left = max(sum(len(one.get("seen") or []) > 1 for one in over_time.shown_parts(job)) - len(small), 0)
    return {
        "name": job.get("job"),
        "view": view,
        "kind": over_time.cut_of(job),
        "large": None if large is None else large.name,
        "small": small,
        "left": left if small else 0,
        "grids": [_newest(grid) for grid in view.grids if grid.rows],
    }


def _newest(grid: Grid) -> tuple[Grid, int]:
    """The last rows of a table, and how many older ones there are."""
    older = max(len(grid.rows) - MOST_ROWS, 0)
    marked = frozenset(i - older for i in grid.marked if i >= older)
    return replace(grid, rows=grid.rows[older:], marked=marked), older
