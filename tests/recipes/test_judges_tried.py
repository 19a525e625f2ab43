"""What judges learn from: the committed table is that of the committed areas."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks is no part of the package

from benchmarks import judges


@pytest.fixture(scope="module")
def result() -> Any:
    return json.loads((judges.RESULTS / "judges.json").read_text(encoding="utf-8"))


def test_the_table_is_that_of_the_areas(result: Any) -> None:
    rows = result["areas"]
    assert {row["task"] for row in rows} == {"COGS", "AMR", "POS-COGS", "POS-UD", "POS-WSJ", "Syn-GUM"}
    assert len(rows) == 13
    assert all(0 <= area <= 1 for row in rows for kind in judges.TITLES for area in row[kind])
    for domain, count in (("out", 7), ("in", 6)):
        chosen = [np.mean(row["both"]) for row in rows if row["domain"] == domain]
        assert len(chosen) == count
        assert result["means"][domain]["both"] == pytest.approx(np.mean(chosen), abs=1e-4)
    assert (judges.RESULTS / "judges.md").read_text(encoding="utf-8") == judges.table(result)
