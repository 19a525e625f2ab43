"""Votes on the pages: bounds by agreement, recall and precision, smaller draws, the trade-off, words and widths."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..snapshots import assert_snapshot

pytest.importorskip("vl_convert")

from oodometer import Predictions, audit, estimate, evaluate
from oodometer.reports import render
from oodometer.reports.charts.by_category import votes
from oodometer.reports.charts.curves import vote_subsets, vote_trade_off
from oodometer.results.evaluation import votes_grids

SPACE = "\N{NO-BREAK SPACE}"


def outputs(rows: int, accuracy: float, seed: int, judges: int = 5) -> Predictions:
    rng = np.random.default_rng(seed)
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((judges, rows)) < 0.5, common, rng.random((judges, rows)))
    confidence = np.clip(0.6 + 0.25 * right + 0.1 * rng.standard_normal(rows), 0, 1)
    return Predictions.from_arrays(
        votes=np.where(right, own < 0.93, own > 0.85), correct=right, confidence=confidence
    )


def as_json(found: Any) -> dict[str, Any]:
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


TARGET = outputs(600, 0.7, 1)
JUDGED = as_json(evaluate(TARGET))
ESTIMATED = as_json(estimate(outputs(400, 0.95, 0), TARGET.without_labels(), backtest=None))


def text_of(page: str) -> str:
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).replace(SPACE, " ").split())


def drawn(page: str) -> set[str]:
    return set(re.findall(r'id="chart-([\w-]+)"', page))


def test_the_page_of_an_estimate_shows_the_bounds() -> None:
    page = render(ESTIMATED)
    told = text_of(page)
    assert "votes" in drawn(page)
    details = next(e for e in ESTIMATED["estimates"] if e["method"] == "votes")["details"]
    low, high = details["lower_bound"] * 100, details["upper_bound"] * 100
    assert f"The judges accept {low:.1f}–{high:.1f} % of the outputs" in told
    for one in details["bounds"]:
        assert f"{one['lower'] * 100:.1f} %" in told
        assert f"{(one['upper'] - one['lower']) * 100:.1f} points" in told
    for name in ("all 5 agree", "4 of 5 agree", "3 of 5 agree", "On the reference the accuracy"):
        assert name in told
    assert "vote-subsets" not in drawn(page)  # no truth, nothing to hold


def test_the_truth_is_told_where_labels_are_known() -> None:
    known = as_json(estimate(outputs(400, 0.95, 0), TARGET, backtest=None))
    drawn = votes(known)
    assert (
        f"The accuracy, {100 * TARGET.accuracy:.1f}{SPACE}%, lies within the judges' bounds"
        in drawn.title
    )
    known["target"]["accuracy"]["value"] = 0.99
    outside = votes(known)
    assert_snapshot(outside.title)


def test_the_page_of_labelled_data_shows_everything() -> None:
    page = render(JUDGED)
    told = text_of(page)
    assert {"votes-0", "vote-trade-off-0", "vote-subsets-0"} <= drawn(page)
    for row in JUDGED["votes"]["rules"]:
        for name in ("accepted", "correct_recall", "incorrect_precision"):
            assert f"{row[name]['value'] * 100:.1f} %" in told
    for row in JUDGED["votes"]["subsets"]:
        assert f"{row['bounds'][0]['reliability']['value'] * 100:.1f} %" in told
    assert "How well the judges tell right from wrong outputs" in told
    assert "Bounds to expect of fewer judges" in told
    assert len(page) < 1_000_000


def test_a_page_without_votes_has_none_of_it() -> None:
    bare = as_json(evaluate(Predictions.from_confidence(TARGET.confidence, correct=TARGET.correct)))
    page = render(bare)
    assert not {name for name in drawn(page) if name.startswith("vote")}
    assert "judge" not in text_of(page)
    assert (votes_grids(bare), votes(bare), vote_subsets(bare), vote_trade_off(bare)) == (
        [], None, None, None
    )  # fmt: skip


def test_one_judge_has_no_bounds() -> None:
    one = as_json(evaluate(outputs(200, 0.7, 2, judges=1)))
    told = text_of(render(one))
    assert "The judge accepts" in told
    assert "One judge gives one number and no bounds" in told
    assert "lower bound" not in told
    assert vote_subsets(one) is None
    assert vote_trade_off(one) is None


def test_words_for_agreement_and_trade_off() -> None:
    def share(value: float) -> dict[str, float]:
        return {"value": value, "lower": value - 0.1, "upper": value + 0.02}

    four = {"agree": 4, "width": {"value": 0.04}, "reliability": share(0.7)}
    five = {"agree": 5, "width": {"value": 0.12}, "reliability": share(0.98)}
    few = {"rows": 100, "draws": 50, **dict.fromkeys(("upper", "gold", "lower"), share(0.8))}
    found = {
        "votes": {"judges": 5, "subsets": [{**few, "bounds": [five, four]}, {**few, "rows": 600}]}
    }
    drawn = vote_trade_off(found)
    assert_snapshot(drawn.title.replace(SPACE, " "))
    four["reliability"] = five["reliability"]
    drawn = vote_trade_off(found)
    assert_snapshot(drawn.title.replace(SPACE, " "))


def test_names_of_judges_are_only_text() -> None:
    wild = Predictions.from_arrays(
        votes=TARGET.votes,
        correct=TARGET.correct,
        names={"judge": ["</script><b>", "b", "c", "d", "e"]},
    )
    page = render(as_json(evaluate(wild)))
    assert "</script><b>" not in page
    assert "&lt;/script&gt;&lt;b&gt;" in page


def test_the_audit_says_that_votes_stood_for_labels() -> None:
    row = np.random.default_rng(0).permutation(600)[:120]
    labels = {"row": row, "correct": TARGET.correct[row].astype(bool)}
    found = as_json(
        audit(outputs(400, 0.95, 0), TARGET.without_labels(), labels=labels, methods=["votes"])
    )
    told = text_of(render(found))
    assert found["proxy"] == "votes"
    assert "Intervals named ppi use the labels and the judges' votes on every row." in told
    assert "the model's confidence" not in told


@pytest.mark.browser
def test_the_charts_are_drawn_and_fit(browser: Any, tmp_path: Path) -> None:
    for name, result in (("evaluate", JUDGED), ("estimate", ESTIMATED)):
        path = tmp_path / f"{name}.html"
        path.write_text(render(result), encoding="utf-8")
        for width in (500, 1280):
            browser.open(path, width=width)
            assert browser.run("document.querySelectorAll('.chart.failed').length") == 0
            assert browser.run("document.documentElement.scrollWidth") == width
            assert browser.complaints() == []
