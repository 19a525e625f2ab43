"""The first screen as Markdown: what a pull request shows of each result."""

from __future__ import annotations

from typing import Any

import pytest

import oodometer
from oodometer.outputs.markdown import first_screen_of
from oodometer.results.view import Grid, View

from ..snapshots import assert_snapshot
from .conftest import KINDS


def _tokens(text: str) -> list[Any]:
    """What GitHub's flavour of Markdown reads."""
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it is not installed")
    return list(markdown_it.MarkdownIt("commonmark").enable("table").parse(text))


def _read(text: str) -> str:
    """The text without marks."""
    pieces = (child.content for token in _tokens(text) for child in token.children or ())
    return " ".join("".join(f"{piece} " for piece in pieces).split())


@pytest.mark.parametrize("name", KINDS)
def test_the_first_screen_says_number_and_table(made: dict[str, Any], name: str) -> None:
    found = made[name]
    view, text = found.view(), found.to_markdown()
    tokens = _tokens(text)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3"]
    heading = tokens[1].content
    assert heading.startswith(
        f"{view.title}: {view.number}".replace("<", "\\<").replace(">", "\\>")
    )
    for end in view.ends or ():
        assert end in heading
    types = [token.type for token in tokens]
    assert types.count("table_open") == 1
    assert 1 <= types.count("tr_open") - 1 <= 12
    assert not [
        one
        for token in tokens
        for one in token.children or ()
        if "<b>" in one.content and one.type == "html_inline"
    ]
    if view.interval is not None:
        assert view.made in text
    for mark, value in {"trust": view.trust, "fell": view.fell}.items():
        if value and view.interval is not None:
            assert f"{mark}: **{value}**" in text
    if view.assumes:
        assert f"assumes: {view.assumes}" in text
    assert len(text) < 5000


def test_what_contradicts_the_number_stands_above_the_sentences(made: dict[str, Any]) -> None:
    found = made["slices"]
    text = _read(found.to_markdown())
    assert found.headline.trust == "low"
    assert f"Against it: trust low: {found.headline.why}"[:60] in text.replace(" :", ":")
    assert text.index("Against it") < text.index(found.view().sentences[0][:40])


def test_a_truth_outside_the_interval_is_held_against_the_estimate(tables: Any) -> None:
    reference, _, labelled = tables
    # wrong on purpose: every label moved by one, so that nothing is right
    labels = [(one + 1) % 4 for one in labelled["label"].to_pylist()]
    target = labelled.set_column(labelled.column_names.index("label"), "label", [labels])
    missed = oodometer.estimate(reference, target, methods=["cbpe"], backtest=None)
    assert missed.truth.value < missed.headline.lower
    assert_snapshot(missed.to_markdown())


def test_a_long_table_keeps_its_alarms_and_the_newest() -> None:
    class Told:
        def view(self) -> View:
            rows = [[f"day {i}", "1"] for i in range(100)]
            grid = Grid("chunks", ["chunk", "rows"], rows, noun="chunk", marked=frozenset({3, 50}))
            return View("Accuracy", "80 %", grids=(grid,))

    text = first_screen_of(Told())
    kept = [line.split()[2] for line in text.splitlines() if line.startswith("| day")]
    assert kept == ["3", "50", *map(str, range(90, 100))]
    assert_snapshot(text)
