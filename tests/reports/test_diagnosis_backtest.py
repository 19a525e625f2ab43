"""The page of a backtest and the kind of shift on the page of an estimate: numbers, words, and what is left out."""

from __future__ import annotations

import copy
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vl_convert")

from oodometer.reports import render, write_report
from oodometer.reports.charts.by_category import leaders
from oodometer.results.backtest import backtest_view, by_family

LARGEST = 750_000
EVIL = "</script><script>window.hit=1</script>\"'<img src=x onerror=window.hit=1>&<!--\u2028{{7*7}}"
FAMILIES = {
    "none": (0.0,),
    "class_prior": (0.25, 0.5, 1.0),
    "logit_temperature": (-0.5, 0.25, 0.5),
    "my_own": (1.0, 2.0),
}
ERRORS = {"agreement": 0.01, "atc": 0.02, "doc": 0.03, "source": 0.05, "ac": 0.08}


def make_backtest() -> dict[str, Any]:
    """Errors are the method's own times (1 + severity); `agreement` does not answer where logits are scaled."""
    rows = [
        {"method": method, "family": family, "severity": severity, "error": error * (1 + abs(severity)),
         "bias": error / 2, "coverage": 0.5 if method == "ac" else 0.95, "width": 0.1, "cases": 8}
        for method, error in ERRORS.items()
        for family, severities in FAMILIES.items()
        for severity in severities
        if (method, family) != ("agreement", "logit_temperature")
    ]  # fmt: skip
    overall = []
    for method in ERRORS:
        mine = [row for row in rows if row["method"] == method]
        means = [
            sum(r["error"] for r in mine if r["family"] == f) / sum(r["family"] == f for r in mine)
            for f in dict.fromkeys(r["family"] for r in mine)
        ]
        overall.append({**mine[0], "family": "all", "severity": 0.0, "error": sum(means) / len(means),
                        "cases": 8 * len(mine)})  # fmt: skip
    return {
        "command": "backtest", "version": "0.1.0", "argv": "oodometer backtest ref.parquet", "level": 0.95, "seed": 0,
        "reference": {"name": "ref.parquet", "rows": 500, "accuracy": 0.96}, "families": list(FAMILIES),
        "trials": 72, "reused": 0, "overall": overall, "rows": rows,
        "skipped": [{"method": "groups", "why": "needs `group`"}],
    }  # fmt: skip


@pytest.fixture
def backtest() -> dict[str, Any]:
    return make_backtest()


def text_of(page: str) -> str:
    """What a person reads, without scripts, styles and tags."""
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def specs_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="specs">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1]) if found else {}


def values(spec: Any, key: str) -> list[dict[str, Any]]:
    """Rows of data with this key, anywhere in a specification."""
    out: list[dict[str, Any]] = []
    if isinstance(spec, dict):
        out += [spec] if key in spec and "tip" in spec else []
        for one in spec.values():
            out += values(one, key)
    elif isinstance(spec, list):
        for one in spec:
            out += values(one, key)
    return out


def test_a_page_of_a_backtest_is_small_and_has_its_charts(backtest: dict[str, Any]) -> None:
    page = render(backtest)
    assert len(page.encode()) < LARGEST
    # one small chart for each family with several severities; "none" has but one
    assert set(specs_of(page)) == {"error-map", *(f"error-by-severity-{i}" for i in range(3))}
    ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL).replace("http-equiv", "")
    assert "http" not in ours.replace("https://vega.github.io/schema/", "")


def test_cells_are_means_over_severities_and_the_best_is_bold(backtest: dict[str, Any]) -> None:
    assert by_family(backtest, "error")["atc", "class_prior"] == pytest.approx(
        0.02 * (1.25 + 1.5 + 2) / 3
    )
    cells = {
        (c["method"], c["family"]): c
        for c in values(specs_of(render(backtest))["error-map"], "shade")
    }
    assert cells["atc", "class prior"]["text"] == "3.2"
    assert ("agreement", "logit temperature") not in cells
    bold = {(family, method) for (method, family), c in cells.items() if c["best"]}
    assert bold == {
        ("no shift", "agreement"),
        ("class prior", "agreement"),
        ("logit temperature", "atc"),
        ("my own", "agreement"),
    }
    assert max(c["shade"] for c in cells.values()) == cells["ac", "my own"]["shade"]


def test_the_sentence_names_the_winner_and_what_doing_nothing_costs(
    backtest: dict[str, Any],
) -> None:
    text = text_of(render(backtest))
    best = next(row for row in backtest["overall"] if row["method"] == "agreement")
    source = next(row for row in backtest["overall"] if row["method"] == "source")
    assert (
        f"agreement was closest to the truth: off by {100 * best['error']:.1f} points on average"
        in text
    )
    assert (
        f"reporting the reference accuracy would have been off by {100 * source['error']:.1f} points"
        in text
    )
    assert "It could answer in 48 of 72 trials" in text
    assert "No simulation here changes the truth itself" in text
    assert "1 item left out" in text


def test_leaders_are_the_best_and_the_reference_accuracy(backtest: dict[str, Any]) -> None:
    assert leaders(backtest) == ["agreement", "atc", "doc", "source"]
    backtest["overall"] = [row for row in backtest["overall"] if row["method"] != "source"]
    assert leaders(backtest) == ["agreement", "atc", "doc"]


def test_cells_far_below_the_level_are_marked_and_no_others(backtest: dict[str, Any]) -> None:
    held = backtest_view(backtest).grid("coverage")
    assert {held.rows[i][0] for i, _ in held.bold} == {"ac"}
    page = render(backtest)
    assert len(held.bold) == 4
    assert "held the truth far less often in 4 of 19 cells" in text_of(page)
    for row in backtest["rows"]:
        row["coverage"] = 7 / 8  # one of eight is missed: over a single cell that is chance
    assert "about as often as they say" not in text_of(page)
    few = {**backtest, "rows": [row for row in backtest["rows"] if row["family"] == "none"]}
    assert "about as often as they say" in text_of(render(few))


@pytest.mark.parametrize(
    "left", ["rows", "overall", "families", "reference", "skipped", "trials", "level"]
)
def test_a_page_of_a_backtest_does_without_a_part(backtest: dict[str, Any], left: str) -> None:
    for spoilt in ({k: v for k, v in backtest.items() if k != left}, {**backtest, left: None}):
        assert render(spoilt).startswith("<!doctype html>")


def test_no_answers_are_said_in_words(backtest: dict[str, Any]) -> None:
    page = render({**backtest, "rows": [], "overall": []})
    assert "No method could answer" in text_of(page)
    assert specs_of(page) == {}


def test_names_in_a_backtest_break_nothing(backtest: dict[str, Any]) -> None:
    evil = copy.deepcopy(backtest)
    evil["families"] = [EVIL if f == "my_own" else f for f in evil["families"]]
    for row in [*evil["rows"], *evil["overall"]]:
        row["family"] = EVIL if row["family"] == "my_own" else row["family"]
        row["method"] = EVIL if row["method"] == "atc" else row["method"]
    page = render(evil)
    assert "<img" not in page
    assert page.count("</script") == render(backtest).count("</script")
    assert len(specs_of(page)) == 4


# ---------------------------------------------------------------------------------------------- the kind of shift

FINDINGS = [
    {"name": "change", "says": "predictions are distributed unlike the reference's", "statistic": 4.2, "p_value": 0.001,
     "power": None, "supports": [], "refutes": ["source"], "strength": "strong"},
    {"name": "label shift", "says": "a change of the class shares explains what is seen", "statistic": 1.1,
     "p_value": 0.4, "power": 0.97, "supports": ["bbse"], "refutes": [], "strength": "strong"},
    {"name": "columns", "says": "no columns constant or out of range", "statistic": 0.0, "p_value": None,
     "power": None, "supports": [], "refutes": [], "strength": "none"},
]  # fmt: skip


def test_findings_are_told_in_words_with_their_strength(estimate: dict[str, Any]) -> None:
    estimate["diagnosis"] = {"kind": "label", "why": FINDINGS[1]["says"], "findings": FINDINGS}
    page = render(estimate)
    text = text_of(page)
    assert "What kind of shift: label" in text
    assert "The mix of classes has changed" in text
    assert (
        "strong sign Change: predictions are distributed unlike the reference's. Speaks against source."
        in text
    )
    assert "no sign Columns: no columns constant or out of range." in text
    assert (
        text.lower().count("a change of the class shares explains what is seen") == 2
    )  # the answer and the finding
    assert 'class="badge high">strong sign' in page  # what speaks for a method is no alarm
    assert 'class="badge low">strong sign' in page
    assert "Only labels of the target show these" in text


def test_a_why_of_its_own_is_said(estimate: dict[str, Any]) -> None:
    estimate["diagnosis"] = {
        "kind": "none",
        "why": "no test sees a difference",
        "findings": FINDINGS[2:],
    }
    assert "Kind of shift: none: no test sees a difference." in text_of(render(estimate))


def test_without_trust_the_sentence_says_that_nothing_can_be_known(
    estimate: dict[str, Any],
) -> None:
    why = "inputs are new; label some target rows (`oodometer audit`)"
    estimate["headline"] |= {
        "lower": 0.0,
        "upper": 1.0,
        "trust": "none",
        "why": why,
        "assumes": "none",
    }
    estimate["warnings"] = [why, "another warning"]
    page = render(estimate)
    text = text_of(page)
    assert "Without labels the accuracy cannot be known: any value is possible." in text
    assert "Assumes:" not in text
    assert "`" not in text
    assert text.count("nputs are new; label some target rows") == 1
    assert "Another warning" in text
    assert "No trust" in text
    assert "oodometer audit ref.parquet target.parquet --suggest 10 --out rows.html" in text
    assert "Against the reference" not in text


@pytest.mark.parametrize("change", [{"trust": "low"}, {"lower": 0.2}, {"upper": 0.9}])
def test_less_than_everything_is_an_ordinary_sentence(
    estimate: dict[str, Any], change: dict[str, Any]
) -> None:
    estimate["headline"] |= {"lower": 0.0, "upper": 1.0, "trust": "none"} | change
    text = text_of(render(estimate))
    assert "8.0 points below the reference accuracy (91.2 %" in text
    assert "cannot be known" not in text


# ---------------------------------------------------------------------------------------------- in a browser


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_a_backtest_is_drawn_and_fits(
    browser: Any, backtest: dict[str, Any], tmp_path: Path, width: int
) -> None:
    page = tmp_path / "backtest.html"
    write_report(backtest, page)
    browser.open(page, width=width, dark=width > 1000)
    assert browser.run("document.querySelectorAll('.chart svg.marks').length") == 4
    assert browser.run("document.querySelectorAll('.chart.failed').length") == 0
    assert browser.run("document.documentElement.scrollWidth") == width
    outside = (
        "[...document.querySelectorAll('.chart')].filter(c => { const box = c.getBoundingClientRect(); return "
        "[...c.querySelectorAll('text')].some(t => t.getBoundingClientRect().right > box.right + 1 || "
        "t.getBoundingClientRect().left < box.left - 1) }).length"
    )
    assert browser.run(outside) == 0, "a label is cut off"
    assert browser.complaints() == []
    assert browser.addresses() == [page.as_uri()]
