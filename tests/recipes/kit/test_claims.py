"""Claims: verdicts, their correction for the number of claims, and the table that shows both."""

from __future__ import annotations

import json

import pytest

from oodometer.recipes import RECIPES, find_recipe
from oodometer.recipes.kit.claims import LEVEL, Claim, Look, Row, claims_from, claims_table, judged
from oodometer.recipes.kit.tables import Page

VERDICTS = {"holds", "does not hold", "undecided"}


def test_a_claim_without_a_test_is_undecided() -> None:
    (row,) = judged([Claim("a", "A", "seen", "", Look(0.0, 1.0))])
    assert row == {"name": "a", "claim": "A", "verdict": "undecided", "evidence": "seen", "test": None}


def test_most_is_more_than_half_of_three_or_more() -> None:
    sure, open_, wrong = Look(0.001, 0.999), Look(0.5, 0.5), Look(0.999, 0.001)
    some = ([sure] * 2, [sure, sure, open_], [sure, open_, open_], [wrong, wrong, sure], [sure, sure, wrong, wrong])
    rows = [Row("a", "test", looks, needed="most") for looks in some]
    verdicts = [claim.verdict for claim in claims_from(Page({"claims": {"a": ["A", ""]}}), rows)]
    assert verdicts == ["undecided", "holds", "undecided", "does not hold", "does not hold"]


def test_claims_are_corrected_for_their_number() -> None:
    claims = [Claim(name, name, "", "test", Look(p, 1 - p)) for name, p in (("a", 0.02), ("b", 0.04), ("c", 0.5))]
    rows = judged([*claims, Claim("d", "d", "")])
    assert [row["verdict"] for row in rows] == ["holds", "holds", "undecided", "undecided"]
    assert [row.get("p_all") for row in rows] == [pytest.approx(0.06), pytest.approx(0.08), 0.5, None]
    text = claims_table(rows)
    assert "Of 3 claims tested 2 are decided; 0 of these verdicts also stand" in text
    assert "| a | holds |  | test | 0.020 | 0.980 | 0.060 |" in text
    assert "| d | undecided |  | none | - | - | - |" in text


@pytest.mark.parametrize("name", RECIPES)
def test_every_committed_verdict_follows_from_its_p_value(name: str) -> None:
    found = json.loads((find_recipe(name).home / "results" / "small.json").read_text(encoding="utf-8"))
    assert len({one["name"] for one in found["claims"]}) == len(found["claims"])
    for one in found["claims"]:
        assert one["verdict"] in VERDICTS
        if one["test"] is None:
            assert one["verdict"] == "undecided"
            continue
        assert one["p_all"] >= min(one["p_for"], one["p_against"])
        sides = {"holds": one["p_for"], "does not hold": one["p_against"]}
        assert {word for word, p in sides.items() if p <= LEVEL} == {one["verdict"]} - {"undecided"}
