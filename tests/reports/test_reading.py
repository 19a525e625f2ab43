"""What a reader meets on the pages: few labels on a chart, the first metrics first, sources folded, whole letters."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("vl_convert")

from oodometer.citations import BIBTEX
from oodometer.reports import render
from oodometer.reports.charts.base import categories, entry
from oodometer.reports.charts.curves import severity
from oodometer.reports.charts.over_time import metric_chunks
from oodometer.reports.numbers import reference


def rows_of(spec: dict[str, Any], layer: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Rows of data of a layer, or of the whole specification."""
    held = spec.get("datasets", {})
    one = (spec if layer is None else layer).get("data", {})
    if layer is not None:
        return one["values"] if "values" in one else held[one["name"]]
    inner = [row for part in spec.get("layer", []) if "data" in part for row in rows_of(spec, part)]
    return [row for rows in held.values() for row in rows] or inner or one.get("values", [])


def texts(spec: dict[str, Any]) -> list[str]:
    """Labels in the data of a specification."""
    return [str(row["label"]) for row in rows_of(spec) if "label" in row]


def test_the_demo_names_three_lines_at_their_ends(demo: dict[str, Any]) -> None:
    for step in demo["steps"]:
        step["estimates"] = [
            {"method": name, "value": 0.7} for name in ("source", "ac", "doc", "atc", "cbpe")
        ]
    chart = severity(demo)
    assert sorted(texts(chart.spec)) == ["estimate", "no shift (source)", "truth"]
    labels = next(
        layer
        for layer in chart.spec["layer"]
        if layer["mark"].get("type") == "text" and layer["mark"].get("dx")
    )
    assert labels["encoding"]["x"]["field"] == "x", (
        "at the end of the line, not at the edge of the chart"
    )


def test_no_line_crosses_the_label_of_another() -> None:
    rows = [entry("a", {"value": 0.5, "lower": 0.0, "upper": 1.0})]
    lines = [("reference", 0.9, "var(--reference)"), ("truth", 0.8, "var(--truth)")]
    chart = categories("a", "A", "", rows, axis_title="accuracy", lines=lines).spec
    marks = {layer["mark"]["type"]: [] for layer in chart["layer"]}
    for layer in chart["layer"]:
        marks[layer["mark"]["type"]].append(layer)
    heights = [layer["encoding"]["y"]["value"] for layer in marks["text"][:2]]
    tops = [layer["encoding"]["y"]["value"] for layer in marks["rule"][:2]]
    assert [layer["mark"]["align"] for layer in marks["text"][:2]] == ["right", "right"]
    names = [rows_of(chart, layer)[0]["label"].split()[0] for layer in marks["text"][:2]]
    assert names == ["truth", "reference"]
    assert tops[0] > heights[1], (
        "the line of the truth ends below the label of the reference, which lies left"
    )


def test_metrics_besides_the_accuracy_are_shown_with_their_truth(estimate: dict[str, Any]) -> None:
    assert "Metrics besides the accuracy" not in render(estimate)

    def told(value: float, **more: Any) -> dict[str, Any]:
        return {
            "value": value,
            "lower": value - 0.1,
            "upper": value + 0.1,
            "trust": "low",
            "method": "cbpe",
            **more,
        }

    estimate["metrics"] = {
        "f1": told(0.8125, reference={"value": 0.9}, truth={"value": 0.777}),
        "mcc": told(-0.2),
    }
    for i, chunk in enumerate(estimate["chunks"]):
        chunk["metrics"] = {
            "f1": told(0.8 - i / 100, truth={"value": 0.7} if i < 3 else None),
            "mcc": told(-0.2),
        }
    page = render(estimate)
    assert page.index("Metrics besides the accuracy") < page.index("Estimated accuracy is ")
    for text in ("0.812", "0.777", "diamonds are the truth"):
        assert text in page
    drawn = metric_chunks(estimate)
    assert [one.title for one in drawn] == ["f1", "mcc"]
    assert all(f'id="chart-{one.name}"' in page for one in drawn)
    points = [row for row in rows_of(drawn[0].spec) if row.get("truth") is not None]
    assert len(points) == 3
    assert {row["truth"] for row in points} == {0.7}


def test_what_people_ask_for_first_is_not_folded(evaluate: dict[str, Any]) -> None:
    one = {"value": 0.5, "lower": 0.4, "upper": 0.6, "level": 0.95, "kind": "asymptotic"}
    rare = [f"{name}_{i}" for name in ("a", "b") for i in range(6)]
    evaluate["metrics"] = dict.fromkeys([*rare, "accuracy", "recall"], one)
    table, folded = (
        render(evaluate).split("<h2>Metrics</h2>")[1].split("<summary>All numbers</summary>")[:2]
    )
    assert re.findall(r"<td[^>]*>([a-z]\w+)</td>", table)[::2] == ["accuracy", "recall"]
    assert [name for name in re.findall(r"<td[^>]*>(\w+)</td>", folded) if name in rare] == rare


def test_sources_fold_and_their_letters_are_whole(estimate: dict[str, Any]) -> None:
    page = render(estimate)
    assert re.search(
        r'<details class="sources"><summary class="heading">The methods and where they come from',
        page,
    )
    for key in BIBTEX:
        assert not re.search(r"[\\{}]", " ".join(vars_of(key))), key
    assert reference("bialek2024").authors.startswith("Bia\u0142ek")


def vars_of(key: str) -> list[str]:
    found = reference(key)
    return [found.authors, found.title, found.place, found.year]
