"""Notebook cards: what they say, that nothing in a name becomes markup, and that they load nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli import output
from oodometer.outputs.notebook import render, sparkline
from oodometer.results.view import Grid, Point, View

from ..snapshots import assert_snapshot
from .conftest import EVIL

NAMES = [
    "estimate",
    "slices",
    "metrics",
    "methods",
    "evaluate",
    "diagnose",
    "audit",
    "backtest",
    "compare",
]
NAMES += ["rank"]
OF_LAB = [pytest.param(name, marks=pytest.mark.lab) for name in ("judges", "stress")]


class Tags(HTMLParser):
    """Every element with its attributes, and the words between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)


@pytest.mark.parametrize("name", [*NAMES, *OF_LAB])
def test_a_card_is_whole_and_loads_nothing(made: dict[str, Any], name: str) -> None:
    html = made[name]._repr_html_()
    read = Tags(html)
    assert read.open == []
    tags = {tag for tag, _ in read.found}
    assert not tags & {"script", "link", "img", "iframe", "b"}
    assert not any(
        key.startswith("on") or key in ("src", "href") for _, pairs in read.found for key in pairs
    )
    assert "url(" not in html
    assert "@import" not in html
    assert len(html) < 60_000
    card = made[name].view()
    assert card.number in read.words
    for grid in card.grids:
        assert grid.title in read.words or not grid.rows
        assert all(len(row) == len(grid.columns) for row in grid.rows)


def test_names_are_shown_and_are_no_markup(made: dict[str, Any]) -> None:
    for name in ("slices", "compare"):
        html = made[name]._repr_html_()
        assert EVIL not in html
        assert EVIL in Tags(html).words
        assert EVIL in unescape(html)
    points = (Point(EVIL, 0.5, 0.4, 0.6, 0.5, True),) * 2
    grid = Grid(EVIL, [EVIL], [[EVIL]], notes=(EVIL,))
    few = (EVIL,)
    evil = View(
        EVIL, EVIL, None, EVIL, True, EVIL, few, few, points, 0.5, EVIL, (grid,), few, few, few
    )
    assert "<b>" not in render(evil)


def test_the_headline_trust_and_alarms_are_there(made: dict[str, Any]) -> None:
    found = made["estimate"]
    words = Tags(found._repr_html_()).words
    assert (
        f"{100 * found.truth.value:.1f} %" in words
    )  # all rows are labelled: the estimate stands beside the truth
    assert any(
        f"Estimated without labels: {100 * found.headline.value:.1f} %" in one for one in words
    )
    assert any(one.startswith(f"Trust {found.headline.trust}") for one in words)
    assert any(found.headline.assumes in one for one in words)
    card = found.view()
    assert [point.value for point in card.points] == [part.headline.value for part in found.chunks]
    assert [point.truth for point in card.points] == [part.truth.value for part in found.chunks]
    (chunks,) = (grid for grid in card.grids if grid.title == "chunks")
    assert chunks.marked == {i for i, part in enumerate(found.chunks) if part.fell.alarm}
    assert replace(card, points=()).points == ()


def test_further_metrics_and_columns_have_tables(made: dict[str, Any]) -> None:
    found = made["metrics"]
    grids = {grid.title: grid for grid in found.view().grids}
    assert [row[0] for row in grids["metrics"].rows] == ["f1", "mcc"]
    assert grids["metrics"].rows[1][1] == f"{found.metrics['mcc'].value:.3f}"
    assert list(grids["metrics of slices"].columns[1::2]) == ["f1", "mcc"]
    assert [row[0] for row in grids["Your columns"].rows] == ["size"]


def test_the_small_chart_puts_higher_values_higher() -> None:
    points = (Point("a", 0.8, 0.7, 0.9, 0.85), Point("b", 0.6, 0.5, 0.7, None, True))
    drawn = sparkline(View("Accuracy", "", points=points, line=0.75, line_name="reference"))
    svg = ElementTree.fromstring(drawn.partition("</svg>")[0] + "</svg>")
    circles = [one for one in svg.iter() if one.tag == "circle"]
    assert float(circles[0].attrib["cy"]) < float(circles[1].attrib["cy"])
    assert circles[0].attrib["fill"] != circles[1].attrib["fill"]  # the second is an alarm
    assert len([one for one in svg.iter() if one.tag == "path"]) == 1
    assert next(one.text for one in svg.iter("title")) == "reference 75.0 %"
    height = float(svg.attrib["viewBox"].split()[3])
    assert all(0 < float(one.attrib["cy"]) < height for one in circles)
    assert "red: alarm" in drawn


@pytest.mark.lab
def test_cards_of_rankings_judges_and_stress_tests_say_their_numbers(made: dict[str, Any]) -> None:
    ranking = made["rank"]
    said = Tags(ranking._repr_html_()).words
    assert f"{ranking.ranking[0].right} of 60" in said
    assert ("open" if ranking.open else "a") in said
    judges = " ".join(Tags(made["judges"]._repr_html_()).words)
    for number in ("33.3 % to 83.3 %", "all 3 accept 33.3 %", "mean of the two 58.3 %"):
        assert number in judges
    stress = " ".join(Tags(made["stress"]._repr_html_()).words)
    assert_snapshot(stress)
    for number in ("91.0 %", "83.0 %", "66.0 %", "80.0 %"):
        assert number in stress


@pytest.mark.parametrize(
    "name",
    [*("estimate", "backtest", "audit", "evaluate", "compare", "diagnose", "rank"), OF_LAB[1]],
)
def test_a_further_sentence_is_everywhere(
    made: dict[str, Any],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = made[name]
    view, said = found.view(), "A sentence that nobody wrote before."
    monkeypatch.setattr(
        type(found), "view", lambda self: replace(view, sentences=(*view.sentences, said))
    )
    output.show(found)
    shown = [repr(found), capsys.readouterr().out, found._repr_html_()]
    for ending in ("md", "html"):
        shown.append(found.save(tmp_path / f"a.{ending}").read_text().replace("\\", ""))
    assert all(said in one for one in shown)
