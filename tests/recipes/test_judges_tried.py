"""What judges learn from: the table of the benchmark, and that a committed one is that of its areas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is no part of the package

pytest.importorskip("oodometer_lab")

from benchmarks import judges
from benchmarks.kit import RESULTS

ROWS: list[dict[str, Any]] = [
    {
        "task": "T",
        "set": name,
        "domain": domain,
        "rows": 10,
        "right": 0.5,
        **dict.fromkeys(judges.TITLES, areas),
    }
    for name, domain, areas in (("a", "out", [0.5, 0.7]), ("b", "out", [0.9]), ("c", "in", [1.0]))
]


def test_means_are_over_sets_whatever_the_number_of_voters() -> None:
    assert set(judges.means(ROWS, "out").values()) == {0.75}  # of 0.6 and 0.9
    assert set(judges.means(ROWS, "in").values()) == {1.0}


def test_the_table_names_every_kind() -> None:
    result = {
        "command": "x",
        "areas": ROWS,
        "means": {one: judges.means(ROWS, one) for one in ("out", "in")},
    }
    lines = judges.page(result).splitlines()
    assert all(title in lines[6] for title in judges.TITLES.values())
    assert "| T | a (out) | 50.0 | 60.0 |" in lines[8]
    assert lines[-2].startswith("| mean | out of distribution |  | 75.0 |")
    assert lines[-1].startswith("| mean | in distribution |  | 100.0 |")


def test_the_committed_table_is_that_of_the_areas() -> None:
    place = RESULTS / "judges.json"
    if not place.is_file():
        pytest.skip("no run of this benchmark is recorded: python -m benchmarks.judges RUN")
    result = json.loads(place.read_text(encoding="utf-8"))
    rows = result["areas"]
    assert len(rows) == 13
    assert all(0 <= area <= 1 for row in rows for kind in judges.TITLES for area in row[kind])
    away = [np.mean(row["both"]) for row in rows if row["domain"] == "out"]
    assert result["means"]["out"]["both"] == pytest.approx(np.mean(away), abs=1e-4)
    assert (RESULTS / "judges.md").read_text(encoding="utf-8") == judges.page(result)
