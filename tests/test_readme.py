"""README is short; every answer and figure in it is today's, and so are the answers of the first guide."""

from __future__ import annotations

import importlib.util
import json
import re
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


def same(line: str, other: str) -> bool:
    """Whether two lines say the same; another processor may round a number differently."""
    parts = [re.split(r"(\d+(?:\.\d+)?)", " ".join(text.replace(",", "").split())) for text in (line, other)]
    numbers = [[float(number) for number in part[1::2]] for part in parts]
    return parts[0][::2] == parts[1][::2] and numbers[0] == pytest.approx(numbers[1], abs=0.2, rel=0.01)


@pytest.mark.parametrize(("path", "count"), [*zip(readme.DOCUMENTS, (5, 3), strict=True)], ids=("README", "guide"))
def test_answers_are_those_of_today_in_an_empty_folder(path: Path, count: int) -> None:
    answers = list(readme.answers(path.read_text(encoding="utf-8")))
    assert len(answers) == count
    for shown, printed in answers:
        rest = iter(printed)
        missing = [line for line in shown["lines"].splitlines() if not any(same(line, other) for other in rest)]
        assert missing == [], f"{shown['command']}: run `python scripts/readme.py` and look at what it changed"


def test_its_table_is_that_of_the_committed_results() -> None:
    assert readme.promises() in TEXT, "run `python scripts/readme.py`"


@pytest.mark.parametrize("lines", [["Trust low: within 9 points", "Trust high: within 3 points", "Assumes: nothing"]])
def test_a_line_is_renewed_by_the_one_that_is_most_like_it(lines: list[str]) -> None:
    assert max(lines, key=lambda line: readme._likeness("Trust low: within 15 points", line)) == lines[0]


def test_another_number_is_another_line() -> None:
    assert same("2019-04  4,955    85.9 %", "2019-04  4,955    86.0 %")
    assert not same("2019-04  4,955    85.9 %", "2019-04  4,955    87.9 %")
    assert not same("Trust low", "Trust high")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_how_far_off_it_is_on_the_car_loans(page: str) -> None:
    """The chunks of April to August; they are those of `benchmarks.deployed`."""
    found = json.loads((readme.RESULTS / "deployed.json").read_text(encoding="utf-8"))
    pairs = [*zip(found["truth"][1:], found["ours"], strict=True)][-5:]
    low = 100 * sum(truth["accuracy"] - ours["accuracy"]["value"] for truth, ours in pairs) / len(pairs)
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}[round(low)]
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"The estimates are about {words} points too low there" in text
