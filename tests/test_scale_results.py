"""The committed figures of scale: tables follow from the measured rounds, and verdicts from the tables."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # benchmarks is no part of the package

from benchmarks.scale.tables import on_paper, rate, to_markdown, with_tables

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "scale.json").read_text())
    return found


def test_what_is_committed_follows_from_the_result(result: dict[str, Any]) -> None:
    assert (RESULTS / "scale.md").read_text() == to_markdown(result)
    page = (ROOT / "docs" / "scale.md").read_text()
    assert with_tables(page, result) == page


def test_all_engines_gave_one_answer(result: dict[str, Any]) -> None:
    for one in result["rounds"]:
        answers = {
            str(found["answer"]) for name, found in one.items() if name.startswith("engine ")
        }
        assert len(answers) == 1
        by_workers = {one[f"estimate all 20000000 {workers}"]["answer"] for workers in (1, 2)}
        assert len(by_workers) == 1


def test_a_rate_is_between_two_sizes() -> None:
    one = {"scan 10": {"seconds": 1.0}, "scan 4000010": {"seconds": 3.0}}
    assert rate("scan", 10, 4_000_010)(one) == 2.0


def test_a_figure_that_falls_short_is_said(result: dict[str, Any]) -> None:
    slower = copy.deepcopy(result)
    for one in slower["rounds"]:
        one["engine ray"]["large"] = 10 * one["engine local"]["large"]
    line = next(row for row in to_markdown(slower).splitlines() if row.startswith("| Ray"))
    assert line.endswith("| 10.00 | ≤ 1.5 | no |")


def test_on_paper_by_hand() -> None:
    """1e9 rows at a million a second on two workers take 500 s; a core hour is 3,600 s."""
    table = on_paper(1e6, lambda key: 1.0)
    assert "| 1e9 | 45.0 GB | 2 | 8.3 min | 90.0 MB | 0.28 | $0.014 |" in table
    assert "| 1e9 | 1,000 of 1e6 rows | 8,000 | 1.0 s | 9.0 kB | 8.0 s | 8.0 s | 8.0 kB |" in table
