"""The page of five papers: it is what the committed results give, and each claim has the paper's own number."""

from __future__ import annotations

import json
import tomllib

import pytest
from scripts import papers

from oodometer_lab.recipes import RECIPES, find_recipe


def test_the_page_follows_from_the_results() -> None:
    assert papers.PAGE.read_text(encoding="utf-8") == papers.page(), "make papers"


@pytest.mark.parametrize("name", RECIPES)
def test_every_claim_has_the_number_of_the_paper(name: str) -> None:
    home = find_recipe(name).home
    numbers = tomllib.loads((home / "page.toml").read_text(encoding="utf-8"))["paper_says"]
    claims = [
        claim["name"]
        for claim in json.loads((home / "results/small.json").read_text(encoding="utf-8"))["claims"]
    ]
    assert [claim for claim in claims if papers.says(numbers, claim) == "-"] == []
    used = {papers.says(numbers, claim) for claim in claims}
    assert [key for key, number in numbers.items() if number not in used] == []


def test_a_number_is_that_of_the_longest_part_of_a_name() -> None:
    numbers = {"inside": "a", "inside_out": "b", "ece": "c"}
    names = ("inside", "inside_at_half", "inside_out_at_half", "wide_ece", "insider", "out")
    assert [papers.says(numbers, name) for name in names] == ["a", "a", "b", "c", "-", "-"]


def test_counts_and_cells_by_hand() -> None:
    tested = {"test": "t", "looks": 1, "needed": 1, "evidence": "seen"}
    claims = [
        {
            "name": "a",
            "claim": "A",
            "verdict": "holds",
            "p_for": 0.0001,
            "p_against": 1.0,
            "p_all": 0.0004,
            **tested,
        },
        {
            "name": "b",
            "claim": "B",
            "verdict": "does not hold",
            "p_for": 0.9,
            "p_against": 0.04,
            "p_all": 0.1,
            **tested,
        },
        {
            "name": "c",
            "claim": "C",
            "verdict": "undecided",
            "p_for": 0.9,
            "p_against": 0.2,
            "p_all": 0.4,
            **tested,
        }
        | {
            "test": "u",
            "looks": 5,
            "needed": 3,
            "visible": 12.5,
            "unit": "points",
            "evidence": "x, " * 100,
        },
        {"name": "d", "claim": "D", "verdict": "undecided", "evidence": "", "test": None},
    ]
    assert papers.counts(claims) == ([1, 1, 2, 0], 1, 1)
    rows, tests = papers.rows_of(claims, {"a": "0.5"})
    assert tests == "Tests: (a) t; (b) u."
    assert rows[0] == ["A", "0.5", "seen", r"**holds**\*", "<0.001 (a)", "-"]
    assert rows[1] == ["B", "-", "seen", "**does not hold**", "0.040 (a)", "-"]
    assert rows[2][3:] == ["**undecided**", "0.200 against (b, 3 of 5)", "12.5 points"]
    assert len(rows[2][2]) < 210
    assert rows[2][2].endswith("x ...")
    assert rows[3] == ["D", "-", "", "**undecided**", "-", "-"]
    smaller = [claims[2] | {"p_smaller": p} for p in (0.0123, 0.051)]
    assert papers.counts(smaller) == ([0, 0, 2, 1], 0, 0)
    rows, _ = papers.rows_of(smaller, {})
    assert [row[3] for row in rows] == [
        "**undecided**, but smaller than in the paper (p 0.012)",
        "**undecided**",
    ]
