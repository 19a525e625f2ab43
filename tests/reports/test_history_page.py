"""The page of past runs: what stands, what came true, how estimates changed; whole, and safe from names in a store."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from oodometer.reports import render, write_report
from oodometer.reports.charts import over_time as charts
from oodometer.reports.sections import history as sections_of

from ..snapshots import assert_snapshot

EVIL = "</script><script>window.hit=1</script>\"'<img src=x onerror=window.hit=1>"


def text(page: str) -> str:
    """The words of a page without its scripts and styles."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", bare)).split())


def test_what_stands_comes_first_and_every_part_is_told(history: dict[str, Any]) -> None:
    said = text(render(history))
    assert said.index("Newest of 4 runs, 2026-03-04 05:15 UTC: 85.0 %") < said.index(
        "Lowest estimated accuracy in 2026-02"
    )
    assert "ALARM stands in 2 chunks: 2026-02, 2026-03" in said
    assert "2026-01 300 90.0 % 85.0 % 94.0 % 88.0 % 4 ended 2026-03-04" in said
    assert "2026-02 300 72.0 % 66.0 % 78.0 % 70.0 % 3 since 2026-02-28" in said
    assert "2026-03 100 79.0 % 60.0 % 88.0 % 1 since 2026-03-04" in said
    assert "3 (as 2) 2026-02-28" in said
    assert "From 75.0 % to 72.0 % in 3 runs; truth 70.0 %" in said
    assert "No alarm stands." in said  # of the job without rules
    assert "oodometer history runs.sqlite" in said


def test_charts_show_the_newest_estimates_with_truth_and_alarms(history: dict[str, Any]) -> None:
    months, slices, whole = history["jobs"]
    figure = charts.newest(months, 0)
    assert_snapshot(figure.title.replace("\N{NO-BREAK SPACE}", " "))
    assert_snapshot(figure.caption)
    rows = next(one for one in figure.spec["datasets"].values() if "alarm" in one[0])
    assert [(one["value"], one["truth"], one["alarm"], one["ended"]) for one in rows] == [
        (0.90, 0.88, False, True),
        (0.72, 0.70, True, False),
        (0.79, None, True, False),
    ]
    assert [one.title for one in charts.changes(months, 0)] == [
        "2026-01",
        "2026-02",
    ]  # March was seen once
    assert [one.title for one in charts.changes(slices, 1)] == ["north", "south"]
    assert charts.changes(whole, 2) == []
    of_runs = charts.newest(whole, 2)
    assert_snapshot(of_runs.title.replace("\N{NO-BREAK SPACE}", " "))
    levels = charts.levels(months)
    assert levels == [("reference", 0.91, "var(--reference)"), ("bound", 0.8, "var(--poor)")]


def test_many_jobs_parts_and_runs_leave_the_page_small(
    history: dict[str, Any], tmp_path: Path
) -> None:
    months = history["jobs"][0]
    many = [{**months["runs"][0], "number": i} for i in range(1, 900)]
    parts = [
        {**months["parts"][1], "part": f"d{i}", "name": f"d{i}", "start": f"2023-01-01T{i // 60:02}:{i % 60:02}:00",
         "end": f"2023-01-01T{i // 60:02}:{i % 60:02}:30"}
        for i in range(900)
    ]  # fmt: skip
    long = {**months, "runs": many, "parts": parts}
    told = {**history, "jobs": [long, *({**history["jobs"][2], "job": f"j{i}"} for i in range(30))]}
    write_report(told, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 1_400_000
    found = sections_of(told)[1]
    assert found["more_jobs"] == 11
    said = text((tmp_path / "page.html").read_text())
    assert "699 older ones are in the JSON of this history." in said
    assert "700 older ones are in the JSON of this history." in said
    assert len(found["history_jobs"][0]["small"]) == charts.MOST_CHANGES
    assert found["history_jobs"][0]["left"] == charts.MOST - charts.MOST_CHANGES


def test_an_empty_history_and_older_forms(history: dict[str, Any]) -> None:
    assert "The store holds no run yet." in text(render({**history, "jobs": []}))
    rows = [
        {**one, "start": str(100 * i), "end": str(100 * i + 100)}
        for i, one in enumerate(history["jobs"][0]["parts"])
    ]
    figure = charts.newest({**history["jobs"][0], "parts": rows}, 0)
    assert figure is not None  # chunks of rows have places 0, 1, 2 ...


@pytest.mark.parametrize("field", ["store", "job", "name", "version", "target"])
def test_names_of_a_store_are_text_and_nothing_else(history: dict[str, Any], field: str) -> None:
    told = {**history, "jobs": [history["jobs"][0]]}
    job = told["jobs"][0]
    if field == "store":
        told["store"] = EVIL
    elif field == "job":
        told["jobs"] = [{**job, "job": EVIL}]
    elif field == "name":
        told["jobs"] = [{**job, "parts": [{**one, "name": EVIL} for one in job["parts"]]}]
    else:
        told["jobs"] = [{**job, "runs": [{**one, field: EVIL} for one in job["runs"]]}]
    page = render(told)
    assert "<img src=x" not in page
    assert "<script>window.hit" not in page
