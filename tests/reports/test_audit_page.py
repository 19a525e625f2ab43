"""The page of an audit: its words and numbers are those of the result, it is small, and nothing in a file breaks it."""

from __future__ import annotations

import copy
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..snapshots import assert_snapshot, raises_snapshot

pytest.importorskip("vl_convert")

from oodometer import audit
from oodometer.audits.result import audit_view
from oodometer.errors import MissingExtraError, WorkError, install_line
from oodometer.reports import render, write_report
from oodometer.reports.charts.curves import expected, halving
from oodometer.reports.sections import after_audit, power
from oodometer.testing import example_record

LARGEST = 750_000
EVIL = "</script><script>window.hit=1</script>\"'<img src=x onerror=window.hit=1>&<!--\u2028{{7*7}}"
RANDOM = "the labelled rows were drawn at random from the target"


def interval(
    value: float, lower: float, upper: float, kind: str = "exact", **more: Any
) -> dict[str, Any]:
    return {"value": value, "lower": lower, "upper": upper, "level": 0.95, "kind": kind, **more}


def make_audit() -> dict[str, Any]:
    chosen = interval(0.925, 0.8, 0.98, method="ppi-betting", assumes=RANDOM, citation="waudbysmith2024",
                      effective_labels=61.2)  # fmt: skip
    alone = interval(0.925, 0.796, 0.984, method="clopper-pearson", assumes=RANDOM, citation="clopper1934",
                     effective_labels=40.0)  # fmt: skip
    widths = [
        {"labels": n, "alone": 1.2 / n**0.5, "narrowest": 0.9 / n**0.5, "widest": 1.8 / n**0.5,
         "random": 1.1 / n**0.5, "suggested": 1.0 / n**0.5}
        for n in (10, 20, 40, 100, 200, 500, 1000)
    ]  # fmt: skip
    return {
        "command": "audit", "version": "0.1.0", "level": 0.95, "seed": 0,
        "argv": "oodometer audit ref.parquet 'my target.csv' --labels few.csv --report page.html --json=a.json",
        "reference": {"name": "ref.parquet", "rows": 500, "accuracy": 0.96, "lower": 0.94, "upper": 0.975,
                      "kind": "exact"},
        "target": {"name": "my target.csv", "rows": 5970}, "labels": 40, "correct": 37, "weighted": False,
        "estimate": interval(0.925, 0.8, 0.98), "method": "ppi-betting", "assumes": RANDOM,
        "label_only": interval(0.925, 0.796, 0.984), "effective_labels": 61.2,
        "headline": interval(0.93, 0.886, 0.969, "backtest", method="backtest: atc 40%", assumes="like the trials",
                             trust="low", why="nobody knows"),
        "refuted": False, "p_value": 1.0, "noticeable": {"below": 0.668, "above": None, "power": 0.9},
        "intervals": [alone, chosen], "confidence": {"slope": 0.9, "explained": 0.26},
        "strata": [{"stratum": s, "rows": 597, "lowest": 0.5 + 0.05 * s, "expected": 0.52 + 0.05 * s,
                    "highest": 0.55 + 0.05 * s, "labels": 4, "correct": 3 + (s > 2), "suggested": s}
                   for s in range(10)],
        "outlook": {"accuracy": 0.915, "widths": widths}, "suggested": None, "warnings": ["be careful"],
        "suggest_by": "confidence",
        "believed": {**interval(0.931, 0.861, 0.968, "empirical"), "assumes": "the shift is like public ones",
                     "effective_labels": 82.4, "why": None},
    }  # fmt: skip


@pytest.fixture
def found() -> dict[str, Any]:
    return make_audit()


def text_of(page: str) -> str:
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def specs_of(page: str) -> dict[str, Any]:
    got = re.search(r'id="specs">(.*?)</script>', page, re.DOTALL)
    return json.loads(got[1]) if got else {}


def values(specs: dict[str, Any], name: str, key: str) -> list[Any]:
    tables = [table.get("values") or [] for table in specs[name]["data"]]
    return [row[key] for table in tables for row in table if isinstance(row, dict) and key in row]


def test_the_page_says_what_the_result_says(found: dict[str, Any]) -> None:
    page = render(found)
    text = text_of(page)
    for words in (
        "Of 40 randomly drawn rows of 5,970 the model got 37 right. As informative as 61 random labels.",
        "95 % exact interval, ppi-betting",
        "With 40 labels this test refutes 9 times in 10 only where the truth lies below 66.8 %.",
        "About 130 labels in all would halve the interval of 18.0 points",
        "90 more labels would about halve the interval",
        "Be careful",
        "Waudby-Smith and Ramdas, “Estimating Means of Bounded Random Variables by Betting”",
        "oodometer audit ref.parquet 'my target.csv' --labels few.csv --suggest 90 --out rows.html",
        "None of the estimates made without labels is a guarantee",
    ):
        assert words in text, words
    assert "−3.5 points" in text
    assert len(page.encode()) < LARGEST


def test_charts_draw_the_numbers_of_the_result(found: dict[str, Any]) -> None:
    specs = specs_of(render(found))
    assert set(specs) == {"audited", "widths"}
    assert values(specs, "audited", "name")[:3] == [
        "ppi-betting",
        "clopper-pearson",
        "without labels",
    ]
    for key in ("lower", "upper", "value"):
        shown = set(values(specs, "audited", key))
        assert {one[key] for one in [*found["intervals"], found["headline"]]} <= shown
    assert found["reference"]["accuracy"] in values(specs, "audited", "value")
    assert (0.886, 0.969) in zip(
        values(specs, "audited", "from"), values(specs, "audited", "to"), strict=True
    )
    widths = found["outlook"]["widths"]
    drawn = values(specs, "widths", "y")
    assert {one[key] for one in widths for key in ("alone", "random", "suggested")} <= set(drawn)
    assert [one["widest"] for one in widths] == values(specs, "widths", "upper")


def test_numbers_in_tables_are_those_of_the_result(found: dict[str, Any]) -> None:
    def numbers(value: Any) -> Iterator[float]:
        if isinstance(value, dict):
            for one in value.values():
                yield from numbers(one)
        elif isinstance(value, list):
            for one in value:
                yield from numbers(one)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield float(value)

    known = set(numbers(found)) | {90.0}  # 90 more labels, worked out from the curve
    carried = re.findall(r'<data value="([^"]+)">', render(found))
    assert len(carried) > 90
    assert {float(one) for one in carried} <= known


def test_it_loads_nothing(found: dict[str, Any]) -> None:
    ours = re.sub(r"<script>.*?</script>", "", render(found), flags=re.DOTALL).replace(
        "http-equiv", ""
    )
    assert "http" not in ours.replace("https://vega.github.io/schema/", "")
    assert not re.search(r"\b(src|srcset|href)=\"(?!#)|@import|url\(", ours)


def test_refuted_is_said_with_its_p_value(found: dict[str, Any]) -> None:
    told = {
        "refuted": True,
        "p_value": 9.5e-5,
        "estimate": interval(0.1, 0.003, 0.442),
        "correct": 1,
        "labels": 10,
    }
    text = text_of(render(found | told))
    assert "REFUTED: the labels contradict the label-free interval (p = 9.5e-05)." in text
    assert "9 times in 10" not in text


def test_where_test_and_interval_differ_both_are_told(found: dict[str, Any]) -> None:
    apart = audit_view({**found, "p_value": 0.051, "estimate": interval(0.7, 0.5, 0.88)})
    assert_snapshot(apart.sentences)


def test_a_claim_of_everything_is_no_claim(found: dict[str, Any]) -> None:
    found["headline"] |= {"lower": 0.0, "upper": 1.0, "trust": "none"}
    found["noticeable"] = {"below": None, "above": None, "power": 0.9}
    text = text_of(render(found))
    assert "Nothing to refute: without labels every accuracy was possible." in text
    assert "Not refuted" not in text


def test_power_is_silent_where_it_is_not_known(found: dict[str, Any]) -> None:
    assert power({**found, "noticeable": None}) == ""
    assert_snapshot(power({**found, "noticeable": {"below": None, "above": None, "power": 0.9}}))


def test_weighed_labels_are_not_counted_as_a_share(found: dict[str, Any]) -> None:
    text = " ".join(audit_view({**found, "weighted": True}).sentences)
    assert "got 37 right" not in text
    assert "weighed accordingly" in text


def test_all_rows_labelled_is_certain(found: dict[str, Any]) -> None:
    found |= {"labels": 5970, "estimate": interval(0.925, 0.925, 0.925)}
    page = render(found)
    assert "All 5,970 rows have labels: that is certain" in text_of(page)
    assert set(specs_of(page)) == {"audited"}
    assert "Nothing to label: every row has a label." in text_of(page)


def test_without_labels_the_page_plans(found: dict[str, Any]) -> None:
    found |= dict.fromkeys(
        ("estimate", "method", "assumes", "label_only", "effective_labels", "p_value", "correct")
    )
    found |= {"labels": 0, "intervals": [], "noticeable": None, "suggested": list(range(50))}
    page = render(found)
    text = text_of(page)
    assert "None of these 5,970 rows has a label yet" in text
    assert "Label the 50 rows that were drawn" in text
    assert "With all the interval would be about 14.1 points wide" in text
    assert "With 50 labels the interval would be about 14.1 points wide" in text
    assert set(specs_of(page)) == {"widths"}
    assert "Where the rows to label lie" in text
    assert "of them right" not in text


def test_curve_is_read_between_its_points(found: dict[str, Any]) -> None:
    assert expected(found, 50) == pytest.approx(1 / 50**0.5)
    assert expected(found, 5000) is None
    assert halving(found) == 130  # (1/0.09)^2 = 123.5, rounded up to two digits
    assert halving({**found, "estimate": interval(0.5, 0.49, 0.51)}) is None


def test_random_rows_are_planned_by_their_own_curve(found: dict[str, Any]) -> None:
    assert expected({**found, "suggest_by": "random"}, 50) == pytest.approx(1.1 / 50**0.5)


def test_the_believed_interval_is_never_taken_for_the_exact_one(found: dict[str, Any]) -> None:
    text = text_of(render(found))
    assert "86.1 – 96.8 % 95 % empirical interval, as informative" in text
    found["believed"] = {
        "assumes": "",
        "effective_labels": None,
        "why": "the reference is not known",
    }
    text = text_of(render(found))
    assert "If this shift resembles public ones: no interval, the reference is not known." in text


def test_the_next_command_drops_what_was_asked_for_once(found: dict[str, Any]) -> None:
    found["argv"] += " --suggest 3 --out=x.csv"
    assert_snapshot(after_audit(found)["line"])
    assert "line" not in after_audit({**found, "suggested": [1]})
    for argv in ("half a 'quote", None):
        assert "suggest=90" in after_audit({**found, "argv": argv})["line"], (
            "from Python it is a call of Python"
        )


@pytest.mark.parametrize("part", [k for k in make_audit() if k != "command"])
@pytest.mark.parametrize("empty", ["absent", None])
def test_a_missing_part_is_left_out(found: dict[str, Any], part: str, empty: str | None) -> None:
    found[part] = None
    if empty == "absent":
        del found[part]
    text = text_of(render(found)).replace("None of the", "")
    assert "None" not in text
    assert "nan" not in text.lower().split()


def test_a_bare_result_is_a_page() -> None:
    assert "<script" not in render({"command": "audit"})


def test_names_break_nothing(found: dict[str, Any]) -> None:
    evil = copy.deepcopy(found)
    evil["reference"]["name"] = evil["target"]["name"] = EVIL
    evil["argv"] = ["oodometer", "audit", EVIL]
    evil["warnings"] = [EVIL]
    evil["intervals"][0]["method"] = evil["intervals"][0]["assumes"] = EVIL
    evil["headline"]["method"] = evil["assumes"] = EVIL
    page = render(evil)
    assert "<img" not in page
    assert page.count("</script") == render(found).count("</script")
    assert "{{7*7}}" in text_of(page)
    assert set(specs_of(page)) == {"audited", "widths"}


def test_the_result_is_left_as_it_was(found: dict[str, Any]) -> None:
    before = json.dumps(found)
    assert render(found) == render(json.loads(before))
    assert json.dumps(found) == before


def test_file_is_whole_or_not_there(found: dict[str, Any], tmp_path: Path) -> None:
    with raises_snapshot(WorkError):
        write_report(found, tmp_path / "none" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_missing_extra_names_the_remedy(
    found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("report"))):
        render(found)


def test_an_audit_of_real_calls_has_its_page() -> None:
    reference, target = example_record(200, seed=1), example_record(150, seed=2, difficulty=1.5)
    rows = np.random.default_rng(0).permutation(150)[:40]
    few = {"row": rows.tolist(), "label": [int(target.label[r]) for r in rows]}
    told = audit(
        reference,
        {"probabilities": target.probabilities},
        labels=few,
        methods=["doc"],
        expected_widths=True,
    )
    result = told.to_dict()
    page = render(result)
    assert f"the model got {told.correct} right" in text_of(page)
    assert set(specs_of(page)) == {"audited", "widths"}
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert sum(s["labels"] for s in result["strata"]) == 40
    assert result["outlook"]["accuracy"] == pytest.approx(
        (40 * result["estimate"]["value"] + 0.5) / 41
    )
    assert 40 in [w["labels"] for w in result["outlook"]["widths"]]
    by_name = {one["method"]: one["effective_labels"] for one in result["intervals"]}
    assert by_name["clopper-pearson"] == 40
    assert by_name[result["method"]] == result["effective_labels"]


# ---------------------------------------------------------------------------------------------- in a browser


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 1280])
def test_an_audit_is_drawn_and_fits(
    browser: Any, found: dict[str, Any], tmp_path: Path, width: int
) -> None:
    page = tmp_path / "audit.html"
    write_report(found, page)
    browser.open(page, width=width, dark=width > 1000)
    assert browser.run("document.querySelectorAll('.chart svg.marks').length") == 2
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
