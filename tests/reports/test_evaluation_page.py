"""The page of labelled data on selective answering: thresholds, failure cases and DiSCA are told as they were found."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from ..snapshots import assert_snapshot

pytest.importorskip("vl_convert")

from oodometer import evaluate as judge
from oodometer.registry import names
from oodometer.reports import render
from oodometer.reports.charts.base import WORDS
from oodometer.reports.sections import meaning

SPACE = "\N{NO-BREAK SPACE}"


def text_of(page: str) -> str:
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Sure mistakes first, so that accuracy rises; then a long right stretch."""
    confidence = [0.99 - 0.0001 * i for i in range(100)] + [0.9 - 0.0005 * i for i in range(900)]
    correct = [i % 4 != 0 for i in range(100)] + [i % 100 != 7 for i in range(900)]
    return judge({"confidence": confidence, "correct": correct}).to_dict()


def test_every_metric_of_the_library_has_a_meaning() -> None:
    from oodometer.registry import find

    silent = [
        name
        for name in names("metric")
        if getattr(find("metric", name), "gives", "number") == "number"
    ]
    assert silent
    assert set(silent) <= set(WORDS["metric_words"])


def test_meanings_name_the_options() -> None:
    assert_snapshot(meaning("coverage_at_risk", {"risk": 0.01}).replace(SPACE, " "))  # fmt: skip
    assert "80 %" in meaning("risk_at_coverage", {"coverage": 0.8}).replace(SPACE, " ")
    assert_snapshot(meaning("recall_at_k", {"k": 5}))
    assert "penalty" in meaning("disca", {})
    assert "balance" not in meaning("disca", {})


def test_thresholds_failures_and_disca_are_on_the_page(found: dict[str, Any]) -> None:
    told = text_of(render(found))
    seen = [case for case in found["failure_cases"] if case["seen"]]
    assert seen
    for case in seen:
        assert f"Failure case: {case['sentence']}".split(",")[0] in told
    point = next(one for one in found["operating_points"] if one["accuracy"] == 0.9)
    assert f"(proven: {point['selective_accuracy']['lower'] * 100:.1f} %)" in told
    why = next(one["why"] for one in found["operating_points"] if one["coverage"] is None)
    assert why[1:] in told
    score = found["metrics"]["disca"]
    assert f"DiSCA {score['value']:.3f} , and what it is made of" in told
    for row in score["by_tolerance"]:
        assert f"{row['tolerance']:.2f} {row['value']:.3f}" in told


def test_nothing_is_claimed_where_nothing_was_looked_for(found: dict[str, Any]) -> None:
    bare = {
        key: value
        for key, value in found.items()
        if key not in ("failure_cases", "operating_points")
    }
    bare["metrics"] = {key: value for key, value in found["metrics"].items() if key != "disca"}
    told = text_of(render(bare))
    assert "failure case" not in told
    assert "To be right" not in told
    assert "DiSCA" not in told


def test_no_case_is_said_to_be_seen_where_none_was(found: dict[str, Any]) -> None:
    calm = {**found, "failure_cases": [{**case, "seen": False} for case in found["failure_cases"]]}
    assert "None of the failure cases of the accuracy-coverage curve was found" in text_of(
        render(calm)
    )
