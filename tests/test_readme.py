"""README is short, and every figure of its table is that of the committed results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
_spec = importlib.util.spec_from_file_location("readme", ROOT / "scripts/readme.py")
assert _spec is not None
assert _spec.loader is not None
readme = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(readme)


def test_it_is_short_and_names_what_make_does() -> None:
    assert len(TEXT.splitlines()) <= 120
    assert "`make demo`" in TEXT
    assert "`make test`" in TEXT


def test_its_table_is_that_of_the_committed_results() -> None:
    assert readme.promises() in TEXT, "run `python scripts/readme.py`"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_how_far_off_it_is_on_the_car_loans(page: str) -> None:
    """The chunks of April to August; they are those of `benchmarks.deployed`."""
    found = json.loads((readme.RESULTS / "deployed.json").read_text(encoding="utf-8"))
    pairs = [*zip(found["truth"][1:], found["ours"], strict=True)][-5:]
    low = 100 * sum(truth["accuracy"] - ours["accuracy"]["value"] for truth, ours in pairs) / len(pairs)
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}[round(low)]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"The estimates are about {words} points too low there" in text
