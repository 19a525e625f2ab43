"""Plotting: a chart of a result for a notebook, by altair, or by matplotlib where that alone is installed."""

from __future__ import annotations

from typing import Any

from ..errors import MissingExtraError, UsageError
from ..reports.sections import section_of
from .frames import table_of

_FIRST = ("chunks", "slices")  # where the result has parts, people ask about those
_WIDTH = 640  # pixels; the page's charts follow its width


def chart_of(result: Any, name: str | None = None) -> Any:
    """The chart of this name, by default the first of a result; see `Shown.plot`."""
    mapping = result.to_dict()
    section = section_of(mapping.get("command"))
    charts = (
        {}
        if section is None
        else {figure.name: figure for figure in section(mapping)[0] if figure is not None}
    )
    kind = type(result).__name__
    if not charts:
        raise UsageError(f"the result {kind} has no chart; its numbers are in to_frame()")
    chosen = (
        next(first for first in (*_FIRST, *charts) if first in charts) if name is None else name
    )
    if chosen not in charts:
        raise UsageError(f"the result {kind} has no chart {name!r}; it has {', '.join(charts)}")
    try:
        import altair
    except ImportError:
        if name is None:
            return _by_matplotlib(result, charts[chosen].title)
        raise MissingExtraError(f"plot({name!r})", "altair") from None
    spec = charts[chosen].spec
    config = {
        key: value for key, value in spec.get("config", {}).items() if value is not None
    }  # altair knows no null
    width = {"width": _WIDTH} if spec.get("width") == "container" else {}
    return altair.Chart.from_dict({**spec, "config": config, **width})


def _by_matplotlib(result: Any, title: str) -> Any:
    """Axes with a point and a bar for each row of the first table that has intervals."""
    try:
        from matplotlib.pyplot import subplots
    except ImportError:
        raise MissingExtraError("plot()", "altair") from None
    table = table_of(result)
    rows = [
        row
        for row in table.rows
        if None not in (row.get("value"), row.get("lower"), row.get("upper"))
    ]
    rows = [row for row in rows if row.get("metric") in (None, rows[0].get("metric"))]
    if not rows:
        raise MissingExtraError("plot() of this result", "altair")
    head = next(name for name in (*table.main, *table.columns) if name not in ("metric", "rows"))
    _, axes = subplots(figsize=(7, 1 + 0.3 * len(rows)), layout="constrained")
    names, values = [str(row[head]) for row in rows], [row["value"] for row in rows]
    errors = [
        [row["value"] - row["lower"] for row in rows],
        [row["upper"] - row["value"] for row in rows],
    ]
    axes.errorbar(values, names, xerr=errors, fmt="o", capsize=3)
    axes.invert_yaxis()
    axes.set(title=title, xlabel="value and interval")
    return axes
