"""Pages of `plan`, of `read` and of trained judges: their findings, charts and next steps; bars in a browser."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vl_convert")

import oodometer
from oodometer.cli.main import main
from oodometer.reports import render, write_report
from oodometer.reports.charts.planning import planned

PLANNED = {"accuracy": 0.7, "correlation": 0.5}


def words_of(page: str) -> str:
    """The words of a page, with plain spaces."""
    return re.sub(r"<[^>]*>", "", page).replace("\u00a0", " ")


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of right and wrong answers of two tasks."""
    rng = random.Random(3)
    rows = [{"id": f"q{i}", "correct": rng.random() < 0.7, "group": "ab"[i % 2]} for i in range(60)]
    Path(tmp_path, "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    return "answers.jsonl"


def lines_of(found: oodometer.Plan) -> dict[str, list[tuple[float, float]]]:
    """Name of each line of the chart -> its points."""
    figure = planned(found.to_dict())
    assert figure is not None
    tables = figure.spec["datasets"]
    drawn = [
        tables[layer["data"]["name"]]
        for layer in figure.spec["layer"]
        if layer["mark"]["type"] == "line"
    ]
    names = [
        row["label"]
        for layer in figure.spec["layer"]
        if layer["mark"]["type"] == "text"
        for row in tables[layer["data"]["name"]]
    ]
    points = [[(row["x"], row["y"]) for row in rows] for rows in drawn]
    return dict(zip(names or ["only"], points, strict=True))


def test_the_chart_of_a_plan_is_its_table() -> None:
    found = oodometer.plan(difference=0.03, epochs=[1, 3], within=0.3, **PLANNED)
    lines = lines_of(found)
    for epochs, name in ((1, "asked 1 time"), (3, "asked 3 times")):
        runs = sorted((r.questions, r.power) for r in found.runs if r.epochs == epochs)
        assert sorted(lines[name]) == runs
    gate = oodometer.plan(difference=0.01, fail_drop=0.02, **PLANNED)
    assert set(lines_of(gate)) == {"worse", "not worse", "cannot tell"}
    smallest = lines_of(oodometer.plan(questions=[100, 400], **PLANNED))
    assert [x for x, _ in smallest["only"]] == [100, 400]
    assert planned(oodometer.plan(questions=[100], **PLANNED).to_dict()) is None


def test_the_page_of_a_plan_says_what_the_terminal_says(tmp_path: Path) -> None:
    words = ["plan", "--accuracy", "0.7", "--correlation", "0.5", "--difference", "0.03"]
    assert main([*words, "--report", str(tmp_path / "plan.html")]) == 0
    found = oodometer.plan(difference=0.03, **PLANNED)
    page = words_of((tmp_path / "plan.html").read_text(encoding="utf-8"))
    assert f"{found.needed['paired']:,} questions show 3.0 points with a power of 80 %" in page
    assert "Ask both systems the same questions" in page
    assert "oodometer plan --accuracy 0.7 --correlation 0.5" in page
    assert main([*words, "--out", str(tmp_path / "same.html")]) == 0, "one page, by either option"
    assert "chart-planned" in (tmp_path / "same.html").read_text(encoding="utf-8")


def test_the_page_of_a_reading_has_its_questions(answers: str) -> None:
    assert main(["read", answers, "--report", "read.html", "--json", "read.json"]) == 0
    page = words_of(Path("read.html").read_text(encoding="utf-8"))
    assert "What does answers.jsonl hold?" in page
    assert "oodometer evaluate answers.jsonl --by group" in page
    assert "By rater" not in page, "no empty table"
    assert main(["report", "read.json", "--out", "again.html"]) == 0, "a saved one has it, too"
    assert "What can be asked" in Path("again.html").read_text(encoding="utf-8")


def trained(**more: Any) -> dict[str, Any]:
    """What `discriminate train` writes as JSON, in short."""
    number = {"value": 0.8, "lower": 0.7, "upper": 0.9, "level": 0.95, "kind": "conditional"}
    names = ("correct_recall", "correct_precision", "incorrect_recall", "incorrect_precision")
    rule = dict.fromkeys(names, number)
    held_out = {
        "pairs": 27,
        "inputs": 18,
        "rules": [{"rule": "majority", **rule}],
        "by_judge": [{"judge": "classifier_0", **rule}],
        "assumes": "new outputs are like these",
    }
    return {
        "command": "discriminate train",
        "version": "1",
        "folder": "my judges",
        "judges": 1,
        "metric": "exact",
        "level": 0.95,
        "seed": 0,
        "examples": {"words": "40 pairs"},
        "dev": {"learnt": 30, "from": "a tenth of the inputs"},
        "held_out": held_out,
        "thresholds": None,
        "kept": False,
        "warnings": [],
        **more,
    }


def test_the_page_of_trained_judges_names_the_next_command() -> None:
    page = words_of(render(trained()))
    assert "On held-out pairs most judges accept 80.0 % (70.0 % to 90.0 %)" in page
    line = "oodometer discriminate predict &#39;my judges&#39; OUTPUTS.jsonl --out JUDGED.jsonl"
    assert line in page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_nothing_bars_anybody_from_these_pages(
    browser: Any, axe: str, answers: str, width: int, dark: bool
) -> None:
    write_report(oodometer.plan(difference=0.03, fail_drop=0.02, **PLANNED), "plan.html")
    assert main(["-q", "read", answers, "--report", "read.html"]) == 0
    Path("train.html").write_text(render(trained()), encoding="utf-8")
    for name in ("plan", "read", "train"):
        browser.open(Path(f"{name}.html"), width=width, dark=dark)
        assert browser.violations(axe) == [], name
        assert browser.run("document.documentElement.scrollWidth") <= width, name
