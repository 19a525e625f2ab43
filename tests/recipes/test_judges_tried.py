"""Judges of other kinds: the committed tables are those of the committed bounds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is no part of the package

from benchmarks import judges


@pytest.fixture(scope="module")
def result() -> Any:
    return json.loads((judges.RESULTS / "judges.json").read_text(encoding="utf-8"))


def test_tables_are_those_of_the_bounds(result: Any) -> None:
    rows = result["bounds"]
    assert {row["task"] for row in rows} == {"COGS", "AMR", "POS-COGS", "POS-UD", "POS-WSJ", "Syn-GUM"}
    for name, found in result["fares"].items():
        mine = [row for row in rows if row["choice"] == name]
        assert len(mine) == 13
        assert found == judges.fare(mine)
        assert found["inside"] == sum(row["lower"] <= row["truth"] <= row["upper"] for row in mine)
    assert result["on_other_tasks"] == judges.on_other_tasks(rows)
    assert (judges.RESULTS / "judges.md").read_text(encoding="utf-8") == judges.table(result)


def test_a_choice_is_made_without_its_own_task() -> None:
    rows = [
        {"task": task, "domain": "out", "choice": choice, "lower": 0.5 - width, "upper": 0.5 + width, "error": 0.0,
         "inside": choice == "wide" or task == "a"}
        for task in "abc" for choice, width in (("wide", 0.4), ("narrow", 0.1))
    ]  # fmt: skip
    assert judges.on_other_tasks(rows)["chosen"] == {"a": "wide", "b": "wide", "c": "wide"}
    for row in rows:
        row["inside"] = row["choice"] == "wide" or row["task"] != "a"
    found = judges.on_other_tasks(rows)
    assert found["chosen"] == {"a": "narrow", "b": "wide", "c": "wide"}
    assert (found["inside"], found["sets"]) == (2, 3)
