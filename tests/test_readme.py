"""README is short, and every figure of its table is that of the committed results."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import oodometer
from oodometer.cli.main import main
from oodometer.results import percent

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


def test_what_ten_labels_refute(tmp_path: Path) -> None:
    found = tmp_path / "audit.json"
    assert main(["audit", "--sample", "car-loan", "--json", str(found), "-q"]) == 0
    audit = json.loads(found.read_text(encoding="utf-8"))
    assert f"below {percent(audit['noticeable']['below'])}" in TEXT
    head = audit["headline"]
    told = f"{percent(head['value'])}\n  [{percent(head['lower'])}, {percent(head['upper'])}]"
    assert told in TEXT


def test_its_table_is_that_of_the_committed_results() -> None:
    assert readme.promises() in TEXT, "run `python scripts/readme.py`"


@pytest.fixture(scope="module")
def months() -> list[tuple[bool, float, float]]:
    """Of each month of README's first example, asked today: whether an alarm is raised, the estimate and the truth."""
    loan = oodometer.datasets.load_car_loan()
    before = oodometer.estimate(loan.reference, loan.target, every="month", backtest=None)
    after = oodometer.estimate(
        loan.reference, loan.target, every="month", labels=loan.labels, backtest=None
    )
    found = []
    for part, known in zip(before.chunks, after.chunks, strict=True):
        assert part.fell is not None
        assert known.truth is not None
        found.append((part.fell.alarm, part.headline.value, known.truth.value))
    return found


def test_five_alarms_that_came_true(months: list[tuple[bool, float, float]]) -> None:
    assert [alarm for alarm, _, _ in months] == [False] * 6 + [True] * 5
    fell = [truth for alarm, _, truth in months if alarm]
    assert max(fell) < min(truth for alarm, _, truth in months if not alarm) - 0.01
    assert "confirm all five" in " ".join(TEXT.split())


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_how_far_off_it_is_on_the_car_loans(
    page: str, months: list[tuple[bool, float, float]]
) -> None:
    away = [100 * (truth - value) for alarm, value, truth in months if alarm]
    words = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}[
        round(sum(away) / len(away))
    ]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"The estimates are about {words} points too low there" in text
