"""How results, pages and charts write numbers, counts, names and sentences."""

from __future__ import annotations

from typing import Any

import pytest

from oodometer.outputs.files import form_of, json_text
from oodometer.outputs.frames import typed
from oodometer.outputs.markdown import _plain
from oodometer.outputs.notebook import render
from oodometer.outputs.terminal import table_lines, wrapped
from oodometer.reports import numbers as page
from oodometer.reports.charts.base import caption, spread, ticks, unique
from oodometer.reports.charts.by_category import chosen_first, family_name
from oodometer.reports.charts.curves import expected, halving
from oodometer.reports.charts.models import names, thin
from oodometer.reports.sections import _word, after_audit, meaning
from oodometer.results import values
from oodometer.results.alarms import Fall, points_or_more
from oodometer.results.backtest import by_family
from oodometer.results.comparison import elsewhere, may_answer, on_target, required
from oodometer.results.diagnosis import (
    ColumnChange,
    UserColumn,
    column_sentences,
    explained_text,
    most_moved,
)
from oodometer.results.estimation import alarm_text, number, worst_parts
from oodometer.results.evaluation import agreement
from oodometer.results.ranking import Evidence
from oodometer.results.view import (
    Table,
    View,
    cell,
    cells_of,
    interval_of,
    is_numbers,
    p_text,
    with_ends,
)
from oodometer_lab.reports import stress_title
from oodometer_lab.results.stressing import Spread, stress_view

from ..snapshots import assert_snapshot

NAN = float("nan")
HALF = {"value": 0.5, "lower": 0.25, "upper": 0.75}


def widths(*points: tuple[int, float], **more: Any) -> dict[str, Any]:
    rows = [{"labels": labels, "alone": width, "suggested": width} for labels, width in points]
    return {"outlook": {"widths": rows}, **more}


@pytest.mark.parametrize(
    ("results", "wanted"),
    [
        ([page.finite(x) for x in (1, None, NAN, "0.5", True)], [1.0, None, None, None, None]),
        (
            [page.best({"value": 0.5}), page.best({"value": None}), page.best(None)],
            [{"value": 0.5}, {}, {}],
        ),
        (
            [page.digits({"lower": 0.9, "upper": high}) for high in (0.95, 0.902)]
            + [page.digits({})],
            [1, 2, 1],
        ),
        ([page.percent(0.8317), page.percent(0.8317, 0)], ["83.2 %", "83 %"]),
        (
            [page.percent_range(0.791, 0.872), page.percent_range(0.791, 0.872, 0)],
            ["79.1–87.2 %", "79–87 %"],
        ),
        ([page.points(-0.078), page.points(0.01)], ["7.8 points", "1.0 points"]),
        (
            [page.number(x) for x in (0.03417, 50000, None, 0.00002, 12345.678)],
            ["0.034", "50,000", "–", "2.0e-05", "12,346"],
        ),
        ([page.threshold(x) for x in (0.87, 0.99997, 1.0)], ["0.870", "0.99997", "1.000"]),
        ([page.given(0.95), page.given(0.995)], ["95 %", "99.5 %"]),
        ([page.rows_text(1), page.rows_text(50000)], ["1 row", "50,000 rows"]),
        (
            [page.basename(x) for x in ("/data/ref.csv", "C:\\data\\ref.csv", "-")],
            ["ref.csv", "ref.csv", "-"],
        ),
        (
            [page.short("a  b"), page.short("x" * 99, 5), page.short("")],
            ["a b", "xxxx…", "(empty)"],
        ),
        (
            [page.sentence(x) for x in (" no  shift ", "Why not?", None)],
            ["no shift.", "Why not?", ""],
        ),
        ([page.capital("the methods disagree."), page.capital("")], ["The methods disagree.", ""]),
        (
            [page.difference(x, 0.91, "the reference") for x in (0.832, 0.91)],
            ["7.8 points below the reference", "the same as the reference"],
        ),
        ([page.apart(0.8, 0.878), page.apart(0.5, 0.5)], ["−7.8 points", "0.0 points"]),
        (
            page.apart(0.94762, 0.95333),
            "−0.5 points",
        ),  # of 94.8 % and 95.3 %, as a reader subtracts
        (
            [page.fall_text({"p": 0.86, "alarm": True, "verdict": "fell"}), page.fall_text({})],
            ["alarm (86 %)", ""],
        ),
        (page.reference("guo2017").authors, "Guo et al."),
        (page.reference("nobody1900").title, ""),
        (
            meaning("risk_at_coverage", {"coverage": 0.8})[-35:],
            "of the rows are answered; less is better"[-35:],
        ),
        (meaning("mine", {"description": "my own {risk}"}), "my own {risk}"),
        (
            meaning("coverage_at_risk", {})[52:],
            "at most so many of the answers wrong; more is better",
        ),
        (
            _word("no", -0.2, 0.4),
            {"word": "no", "side": "against", "shade": "0.360", "title": "no: −0.200"},
        ),
    ],
)
def test_of_the_page(results: Any, wanted: Any) -> None:
    every = results if isinstance(results, list) else [results]
    plain = [x.replace("\N{NO-BREAK SPACE}", " ") if isinstance(x, str) else x for x in every]
    assert plain == (wanted if isinstance(results, list) else [wanted])


POINT = {
    "accuracy": 0.95,
    "threshold": 0.7,
    "coverage": {"value": 0.894, "lower": 0.8, "upper": 0.9},
}
POINT |= {"selective_accuracy": {"value": 0.978, "lower": 0.954}}
MODELS = [{"name": "one", "in_domain": {"operating_points": [POINT]}}]
TARGETS = [
    {"name": name, "target": {"accuracy": {"value": v, "lower": v - 0.05, "upper": v + 0.05}}}
    for name, v in (("a", 0.8), ("b", 0.6))
]
CURVE = {
    "x": [0.5, 1.0],
    "y": [1.0, 0.9],
    "lower": [0.9, 0.8],
    "upper": [1.0, 1.0],
    "thresholds": [0.8, 0.6],
}
GAP = values.Interval(-0.02, -0.03, -0.01, 0.95, "asymptotic")
AGE = ColumnChange("age", "number", 0.2, 0.1, 1e-9, True, GAP, "older").to_dict()


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        ([values.counted(1, "label"), values.counted(1500, "row")], ["1 label", "1,500 rows"]),
        ([values.points(-0.078), values.signed_points(-0.0123), values.signed_points(0.0)],
         ["7.8 points", "-1.2 points", "0.0 points"]),
        ([values.listed(["a", "b", "c"]), values.listed(["1", "2"], "or"), values.listed([])],
         ["a, b and c", "1 or 2", ""]),
        ([cell(0.25, "%"), cell(0.25, "%0"), cell(1500), cell(NAN), cell(None)], ["25.0 %", "25 %", "1,500", "", ""]),
        ([cells_of(HALF), cells_of(None)], [["50.0 %", "25.0 %", "75.0 %"], ["", "", ""]]),
        ([with_ends(HALF), with_ends(None)], ["50.0 % (25.0 % to 75.0 %)", "-"]),
        ([interval_of(HALF), interval_of({"value": None}), interval_of(None)],
         [values.Interval(0.5, 0.25, 0.75, 0.95, "empirical"), None, None]),
        ([p_text(0.00001), p_text(0.04), p_text(None)], ["< 0.001", "0.040", ""]),
        ([is_numbers(x) for x in (["94.5 %", "", "< 0.001"], ["atc"], [""])], [True, False, False]),
        ([number(0.81234), number(-0.0001), number(None)], ["0.812", "0.000", ""]),
        ([points_or_more(0.01), points_or_more(0.025)], ["1 point or more", "2.5 points or more"]),
        (Fall(0.01, 0.86, "fell", 1e-9, True, "of 90 such, 95 % had").sentence(),
         "Fell by 1 point or more: yes (86 % likely; of 90 such, 95 % had)"),
        ([alarm_text(Fall(0.01, 0.9, "fell", p, p < 0.05, "")) for p in (1e-9, 0.4)] + [alarm_text(None)],
         ["ALARM", "likely, by chance as well", ""]),
        (worst_parts([{"headline": {"value": x}} for x in (0.9, 0.7, 0.8)], 2), [1, 2]),
        ([agreement(5, 5), agreement(3, 5), agreement(1, 1)], ["all 5 agree", "3 of 5 agree", "the one judge"]),
        (by_family({"rows": [{"method": "atc", "family": "tilt", "error": e} for e in (0.01, 0.03)]}, "error"),
         {("atc", "tilt"): 0.02}),
        ([family_name("class_prior"), family_name("my_shift")], ["class prior", "my shift"]),
        ([most_moved([AGE]), explained_text(AGE)],
         ["Most moved: age (explains -2.0 points)", "-2.0 points [-3.0, -1.0]"]),
        (column_sentences({"features": {"taken": [{"name": "age"}], "left_out": {"day": "times"}}}),
         ["features: age; left out: day (times)"]),
        (UserColumn("colour", "category", 0, ("red", "blue")).features(),
         ("colour=blue", "colour: other", "colour: missing")),
        (required({"settings": {"require": [0.9, 0.95, 0.99], "tolerance": 0.95}}), (0.95, [0.9, 0.95, 0.99])),
        (may_answer({"models": MODELS, "level": 0.95, "settings": {"require": [0.95], "tolerance": 0.95}}),
         "From confidence 0.7000 on, one may answer: 89.4 % of rows like these, and with 95 % confidence it is right "
         "on at least 95.4 % of them (here on 97.8 %)"),
        (on_target({"models": TARGETS}),
         "On the target, without labels, a is estimated at 80.0 % (75.0 % to 85.0 %) and "
         "b at 60.0 % (55.0 % to 65.0 %)"),
        (elsewhere({"out_of_domain": {"risk_coverage": CURVE}}, 0.7)["coverage"], 0.5),
        (Evidence("max-diff", "factor", "", False, {"a": 0.4, "b": 0.1, "c": None}).order, ("b", "a")),
        ([Evidence("e", "factor", "", False, {"a": 0.4, "b": 0.1, "c": None}).agreement("abc"),
          Evidence("e", "estimate", "", True, {"a": 0.9, "b": 0.9}).agreement("ab")], [0.0, 0.5]),
        (wrapped("  trust high: nine in ten are expected within 7 points", 40),
         ["  trust high: nine in ten are expected", "    within 7 points"]),
        (table_lines(["method", "accuracy"], [["atc", "94.5 %"], ["source", "5.3 %"]], 80),
         ["method  accuracy", "atc       94.5 %", "source     5.3 %"]),
        ([_plain("a|b <i> `x`"), json_text({"a": "\u202e"}), form_of("a.PDF")],
         ["a\\|b \\<i\\> \\`x\\`", '{\n  "a": "\\u202e"\n}\n', "pdf"]),
        ("<script>" in render(View("<script>", "1")), False),
        ([str(x) for x in typed(Table(("start", "value", "alarm"), [{"start": "2026-01-05"}])).schema.types],
         ["timestamp[s]", "double", "bool"]),
        (Spread.of([0.5, 0.7, 0.6]).to_dict(), {"mean": 0.6, "lowest": 0.5, "highest": 0.7, "runs": 3}),
    ],
)  # fmt: skip
def test_of_results(result: Any, wanted: Any) -> None:
    assert result == wanted


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (caption("chunks", "read", False, "alarms", of="rows of a month"),
         "Estimated accuracy of each chunk, the rows of a month, with its interval. Rings are alarms."),
        (ticks([0.79, 0.87, 0.91]), ([0.775, 0.925], [0.8, 0.85, 0.9])),
        (spread([10, 11, 50], 10, 0, 100), [5.5, 15.5, 50.0]),
        (unique(["a", "b", "a"]), ["a", "b", "a (2)"]),
        (chosen_first({"method": "b", "intervals": [{"method": m, "value": 0.5} for m in "ab"]})[0]["method"], "b"),
        (round(expected(widths((10, 0.4), (1000, 0.04)), 100) or 0, 3), 0.126),
        (halving(widths((40, 0.2), (640, 0.05), labels=40, estimate={"value": 0.9, "lower": 0.8, "upper": 1.0})), 160),
        (names({"models": [{"name": "x" * 40 + end} for end in "12"]})["x" * 40 + "2"][-6:], "x… (2)"),
        ([(x := thin([(i + 1) / 100 for i in range(100)]))[:3], x[-2:], len(x)], [[0, 1, 2], [96, 99], 47]),
        (after_audit({"argv": "oodometer audit r.csv --report a.html", "labels": 30, "target": {"rows": 500}})["line"],
         "oodometer audit r.csv --suggest 30 --out rows.html"),
    ],
)  # fmt: skip
def test_of_charts(result: Any, wanted: Any) -> None:
    assert result == wanted


def test_title_of_a_stress_test() -> None:
    rows = ((None, 0.9, 0.9), ("0.5", 0.7, 0.75))
    points = [
        {"severity": s, "metrics": {"accuracy": {"value": a}}, "estimate": {"value": e}}
        for s, a, e in rows
    ]
    title = stress_title("m", {"points": points}, "Accuracy", alone=True).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert_snapshot(title)


@pytest.mark.parametrize(
    ("after", "words"), [(0.86, "No true fall is more than chance"), (0.8, "Deepest true fall")]
)
def test_a_fall_is_stated_only_where_it_is_more_than_chance(after: float, words: str) -> None:
    """On the rows that both severities have; 300 rows at 0.9 tell 0.8 from it and not 0.86."""
    points = []
    for severity, accuracy in ((None, 0.9), ("0.5", after)):
        metrics = {
            "accuracy": interval_of(
                {"value": accuracy, "lower": accuracy, "upper": accuracy}
            ).to_dict()
        }
        same = {"rows": 300, "metrics": metrics}
        points.append(
            {
                "severity": severity,
                "rows": 900,
                "metrics": metrics,
                "common": same,
                "predictions": [],
            }
        )
    curve = {"kind": "casing", "points": points}
    result = {"modality": "text", "data": "a.jsonl", "models": [{"name": "m", "curves": [curve]}]}
    told = " ".join(stress_view(result).sentences)
    assert words in told
    assert "after 90.0 % without a shift, on 300 rows" in told
    assert ("no more than chance" in stress_title("m", curve, "Accuracy", alone=True)) == (
        after > 0.85
    )
