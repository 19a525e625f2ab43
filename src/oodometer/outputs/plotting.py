"""Plotting: the charts of a result: to show in a notebook, or as a picture, SVG or PNG by the ending of its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, UsageError, needed
from ..plain import Json, Plain
from ..reports.charts.base import Figure
from ..reports.charts.by_category import findings, intervals
from ..reports.pictures import Size, png_of, standalone, svg_of
from ..reports.sections import section_of
from ..results.diagnosis import Diagnosis
from .files import form_of
from .frames import table_of

PICTURES = {".svg": "svg", ".png": "png"}
_FIRST = ("chunks", "slices")  # where the result has parts, people ask about those
_WIDTH = 640  # pixels; the page's charts follow its width


def plot_of(
    result: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    size: Size = "page",
) -> Any:
    """A chart of a result, or the path of the picture that was written; see `Shown.plot`."""
    if isinstance(path, str) and not Path(path).suffix:
        path, name = None, path
    if size not in ("page", "slide"):
        raise UsageError(f"expected size to be page or slide, got {size!r}")
    if path is None:
        if size != "page":
            raise UsageError(
                "size is that of a picture, and no file is named: plot('x.png', size=...)"
            )
        return _chart(result, name)
    return _picture(result, path, name, size)


def _picture(result: Any, path: str | os.PathLike[str], name: str | None, size: Size) -> Path:
    """The chart written as a picture; the file is there whole or not at all."""
    from ..reports.page import inputs_of
    from ..store.atomic import refuse_clashes, write_result

    form = form_of(path, PICTURES)
    figure = _figure(result, name)
    needed("vl_convert", f"plot({str(path)!r})", extra="report", package="vl-convert-python")
    refuse_clashes({"the picture": path}, inputs_of(result.to_dict()))
    return write_result(path, svg_of(figure, size) if form == "svg" else png_of(figure, size))


def _chart(result: Any, name: str | None) -> Any:
    """The chart as one of altair; without a name as axes of matplotlib where altair is absent."""
    figure = _figure(result, name)
    try:
        import altair
    except ImportError:
        if name is None:
            return _by_matplotlib(result, figure.title)
        raise MissingExtraError(f"plot({name!r})", "altair") from None
    spec = standalone(figure, _WIDTH)
    # altair knows no null
    config = {key: value for key, value in spec.get("config", {}).items() if value is not None}
    return altair.Chart.from_dict({**spec, "config": config})


def _figure(result: Any, name: str | None) -> Figure:
    """The figure of this name, by default the first; `UsageError` names those that there are."""
    figures, kind = figures_of(result), type(result).__name__
    if not figures:
        raise UsageError(f"the result {kind} has no chart; its numbers are in to_frame()")
    if name is None:
        name = next(first for first in (*_FIRST, *figures) if first in figures)
    if name not in figures:
        raise UsageError(f"the result {kind} has no chart {name!r}; it has {', '.join(figures)}")
    return figures[name]


def figures_of(result: Any) -> Mapping[str, Figure]:
    """The charts of a result by their name: those of its page, else one of its tests or of its intervals."""
    mapping = result.to_dict()
    section = section_of(mapping.get("command"))
    figures = [] if section is None else section(mapping)[0]
    if isinstance(result, Diagnosis) or mapping.get("command") == "diagnose":
        figures = [*figures, findings(mapping)]
    if not any(figures):
        view = result.view()
        title = f"{view.title}: {view.number}"
        figures = [intervals(title, _with_intervals(result), share=view.share)]
    return {figure.name: figure for figure in figures if figure is not None}


def _with_intervals(result: Any) -> list[tuple[str, Plain]]:
    """The rows of the first table that have an interval, of one metric, each with its name."""
    if not result.frames():
        return []
    table = table_of(result)
    ends = ("value", "lower", "upper")
    rows: list[Json] = [row for row in table.rows if None not in map(row.get, ends)]
    rows = [row for row in rows if row.get("metric") == rows[0].get("metric")]
    # what a part is called stands beside the column that says what it is
    about = ("chunk", "slice", "name", table.named, *table.columns)
    return [
        (next(str(row[name]) for name in about if row.get(name) is not None), row) for row in rows
    ]


def _by_matplotlib(result: Any, title: str) -> Any:
    """Axes with a point and a bar for each row of the first table that has intervals."""
    try:
        from matplotlib.pyplot import subplots
    except ImportError:
        raise MissingExtraError("plot()", "altair") from None
    rows = _with_intervals(result)
    if not rows:
        raise MissingExtraError("plot() of this result", "altair")
    _, axes = subplots(figsize=(7, 1 + 0.3 * len(rows)), layout="constrained")
    names, values = [name for name, _ in rows], [row["value"] for _, row in rows]
    errors = [
        [row["value"] - row["lower"] for _, row in rows],
        [row["upper"] - row["value"] for _, row in rows],
    ]
    axes.errorbar(values, names, xerr=errors, fmt="o", capsize=3)
    axes.invert_yaxis()
    axes.set(title=title, xlabel="value and interval")
    return axes
