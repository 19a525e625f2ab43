"""Own history on models through time and on groups: the committed tables are those of the committed cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent)
)  # benchmarks is no part of the package

from benchmarks.kit import RESULTS
from benchmarks.temporal import groups, own_history


@pytest.fixture(scope="module")
def committed() -> Any:
    return json.loads((RESULTS / "own_history.json").read_text(encoding="utf-8"))


def test_tables_and_guide_are_those_of_the_scores(committed: Any) -> None:
    assert own_history.page(committed) == (RESULTS / "own_history.md").read_text(encoding="utf-8")
    guide = own_history.GUIDE.read_text(encoding="utf-8")
    assert own_history.renewed(guide, committed) == guide


def test_scores_are_those_of_the_formula_of_today(committed: Any) -> None:
    (kept,) = (row for row in committed["sources"] if row["source"] == "bikes")
    cases = [case for case in committed["cases"] if case["source"] == "bikes"]
    assert own_history.scored(cases) == [kept]


def test_tables_of_groups_are_those_of_the_answers() -> None:
    path = RESULTS / "own_history_groups.json"
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert groups.page(json.loads(path.read_text(encoding="utf-8"))) == page
