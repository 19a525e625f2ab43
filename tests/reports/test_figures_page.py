"""A page of charts alone: what is on it, side by side where there is room, drawn in a browser; each name once."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ..snapshots import raises_snapshot

pytest.importorskip("vl_convert")

from oodometer.errors import MissingExtraError, UsageError, install_line
from oodometer.reports import render_figures
from oodometer.reports.charts.base import Figure


def figure(name: str, title: str = "A title", values: tuple[float, ...] = (1.0, 2.0)) -> Figure:
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "width": "container", "height": 200,
        "data": {"values": [{"x": i, "y": y, "of": "</script><b>"} for i, y in enumerate(values)]},
        "mark": {"type": "line", "point": True},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
    }  # fmt: skip
    return Figure(name, title, "How to read it.", spec)


def test_rows_stand_as_given() -> None:
    rows = [[figure("a", "One & all"), figure("b")], [figure("c")]]
    page = render_figures("All <figures>", rows, lead="some words")
    assert re.findall(r'class="chart" id="chart-(\w+)"', page) == ["a", "b", "c"]
    assert page.count('<div class="pair">') == 2
    assert "<title>All &lt;figures&gt;</title>" in page
    assert "One &amp; all" in page
    assert "some words." in page
    found = re.search(r'id="specs">(.*?)</script>', page)
    specs = json.loads(found[1])
    assert set(specs) == {"a", "b", "c"}
    assert [row["y"] for row in specs["b"]["data"][0]["values"]] == [1.0, 2.0]
    assert "</script><b>" not in page
    assert len(page.encode()) < 1_000_000


def test_a_page_without_figures_holds_no_library() -> None:
    assert len(render_figures("Nothing", [])) < 40_000


def test_names_are_each_once() -> None:
    with raises_snapshot(UsageError):
        render_figures("All", [[figure("a")], [figure("a")]])


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("report"))):
        render_figures("All", [[figure("a")]])


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 1280])
def test_the_recipes_figures_are_drawn_and_fit(browser: Any, tmp_path: Path, width: int) -> None:
    """The committed result of a recipe: every figure of both sets, at the width of a phone and of a desk."""
    from oodometer.reports.drawings import render_drawings
    from oodometer_lab.recipes import find_recipe
    from oodometer_lab.recipes.selective_answering.findings import FIGURES

    results = find_recipe("selective-answering").home / "results"
    result = json.loads((results / "small.json").read_text(encoding="utf-8"))
    path = tmp_path / "figures.html"
    page = render_drawings("Figures", FIGURES.drawings(result), lead="Of a recipe.")
    path.write_text(page, encoding="utf-8")
    browser.open(path, width=width)
    assert browser.run("document.querySelectorAll('.chart svg.marks').length") == 18
    assert browser.run("document.querySelectorAll('.chart.failed').length") == 0
    assert browser.run("document.documentElement.scrollWidth") == width
    wide = "[...document.querySelectorAll('.chart')].filter(c => c.scrollWidth > c.clientWidth + 1).length"
    assert browser.run(wide) == 0
    assert browser.complaints() == []
    assert browser.addresses() == [path.as_uri()]
