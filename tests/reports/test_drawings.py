"""Drawings: every plain chart is valid Vega-Lite, alone in a file and beside others on a page."""

from __future__ import annotations

from typing import Any

import pytest

from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Drawing, Panel, render_drawings

LINE = [{"model": m, "x": x, "y": x * x, "order": x} for m in "AB" for x in (0, 1, 2)]
BAR = [{"model": m, "y": 1.0, "z": 2.0} for m in "AB"]
BAND = [
    {"what": w, "x": x, "value": 0.5, "lower": 0.4, "upper": 0.6}
    for w in ("low", "gold")
    for x in (1, 2)
]
RANGE = [{"set": s, "lower": 0.2, "upper": 0.6} for s in "AB"]
MARK = [{"set": s, "what": w, "value": 0.5} for s in "AB" for w in ("gold", "mean", "other")]
X, Y, Z = (plain.axis(name, name) for name in "xyz")
CHARTS: dict[str, tuple[Any, Any]] = {
    "lines": (plain.lines(X, Y, "model"), LINE),
    "few": (plain.lines(X, Y, "model", few=True, more=("order",)), LINE),
    "dots": (plain.dots("model", Y), BAR),
    "bars": (plain.bars("model", Y, Z), BAR),
    "bands": (plain.bands(X, "accuracy", ["low", "gold"]), BAND),
    "bounds": (plain.bounds("set", RANGE, MARK, ["gold", "mean", "other"], "accuracy"), ()),
}


def drawing(name: str, places: str) -> Drawing:
    chart, rows = CHARTS[name]
    panels = [Panel(place.lower(), place, chart, rows) for place in places]
    return Drawing(name, f"Title of {name}", "How to read it.", panels)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn(name: str) -> None:
    convert = pytest.importorskip("vl_convert")
    drawn = convert.vegalite_to_svg(drawing(name, "PQ").specification())
    assert "<svg" in drawn
    assert "undefined" not in drawn
    assert f"Title of {name}" in drawn


def test_the_file_holds_each_panel_with_its_rows() -> None:
    spec = drawing("dots", "PQ").specification()
    assert [one["title"] for one in spec["concat"]] == ["P", "Q"]
    assert [one["data"]["values"] for one in spec["concat"]] == [BAR, BAR]
    alone = Drawing(
        "bounds", "All", "All.", [Panel("all", "", CHARTS["bounds"][0])]
    ).specification()
    assert "title" not in alone["concat"][0]
    assert "data" not in alone["concat"][0]


def test_the_page_holds_two_panels_in_a_row() -> None:
    pytest.importorskip("vl_convert")
    page = render_drawings(
        "All", [drawing("lines", "PQR"), drawing("bars", "P")], lead="some words"
    )
    assert page.count('<div class="pair">') == 3
    for place in ("lines-p", "lines-q", "lines-r", "bars-p"):
        assert f'id="chart-{place}"' in page
    assert "P: Title of lines" in page
    assert "some words." in page
