"""Claims: looks against scipy, by hand and drawn by chance; verdicts, their correction, and tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oodometer.intervals import holm
from oodometer.recipes import RECIPES, find_recipe
from oodometer.recipes.kit.claims import (
    LEVEL,
    Claim,
    Look,
    Row,
    above,
    all_of,
    at_least,
    binomial,
    claims_from,
    claims_table,
    either,
    gap,
    judged,
    partial_conjunction,
    share,
    sign_flips,
)
from oodometer.recipes.kit.tables import Page, bare, number, percent, section, tables_page

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


P = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_one_look_against_scipy() -> None:
    for value, error in ((1.0, 0.5), (-2.0, 1.0), (0.3, 3.0)):
        assert gap(value, error).supports == pytest.approx(stats.norm.sf(value / error))
        assert gap(value, error).refutes == pytest.approx(stats.norm.cdf(value / error))
    for successes, trials, chance in ((9, 10, 0.5), (3, 20, 0.2), (0, 4, 0.9)):
        more = stats.binomtest(successes, trials, chance, alternative="greater").pvalue
        less = stats.binomtest(successes, trials, chance, alternative="less").pvalue
        assert binomial(successes, trials, chance).supports == pytest.approx(more)
        assert binomial(successes, trials, chance).refutes == pytest.approx(less)


def test_the_arm_on_the_side_of_the_bound_counts() -> None:
    skewed = {"value": 0.5, "lower": 0.4, "upper": 0.9, "level": 0.95}
    assert above(skewed, 0.4).supports == pytest.approx(0.025)
    assert above(skewed, 0.9).refutes == pytest.approx(0.025)
    assert above(skewed, 0.5).supports == pytest.approx(0.5)
    certain = {"value": 0.5, "lower": 0.5, "upper": 0.5, "level": 0.95}
    assert (above(certain, 0.4), above(certain, 0.6)) == (Look(0.0, 1.0), Look(1.0, 0.0))


def test_replicates_have_a_least_p_value() -> None:
    assert share(1.0, 199).supports == 1 / 200
    assert share(0.0, 199).refutes == 1 / 200
    assert share(0.5, 199).supports == pytest.approx(100 / 200)


def test_several_looks_by_hand() -> None:
    p = [0.01, 0.02, 0.03, 0.5]
    assert partial_conjunction(p, 1) == pytest.approx(0.04)  # Simes: min(4 * .01, 4/2 * .02, 4/3 * .03, .5)
    assert partial_conjunction(p, 3) == pytest.approx(0.06)  # min(2 * .03, .5)
    looks = [Look(value, 1 - value) for value in p]
    assert either(looks).supports == pytest.approx(0.04)
    assert all_of(looks) == Look(0.5, 0.99)  # 1 or more against: min(4 * .5, 4/2 * .97, 4/3 * .98, .99)
    assert at_least(3, looks).refutes == pytest.approx(0.99)  # 2 or more against: min(3 * .97, 3/2 * .98, .99)
    assert all_of([]) == at_least(3, looks[:2]) == Look()
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P)
def test_simes_and_the_largest_are_the_ends(p: list[float]) -> None:
    assert partial_conjunction(p, 1) == pytest.approx(float(stats.false_discovery_control(p).min()))
    assert partial_conjunction(p, len(p)) == max(p)
    for count in range(1, len(p)):
        assert partial_conjunction(p, count) <= partial_conjunction(p, count + 1) + 1e-12


@given(P)
def test_holm_is_between_the_p_value_and_bonferroni(p: list[float]) -> None:
    for before, after in zip(p, holm(p), strict=True):
        assert before <= after <= min(1.0, len(p) * before)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8))
def test_flipped_signs_against_scipy(differences: list[int]) -> None:
    values = np.array(differences, dtype=float)
    found = sign_flips(differences)
    for alternative, p in (("greater", found.supports), ("less", found.refutes)):
        exact = stats.permutation_test((values,), np.sum, permutation_type="samples", alternative=alternative)
        assert p == pytest.approx(float(exact.pvalue))


def test_many_differences_are_tested_by_student() -> None:
    values = np.random.default_rng(0).normal(0.3, 1.0, 30)
    exact = float(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue)
    assert sign_flips(values.tolist()).supports == pytest.approx(exact)


def test_a_false_claim_seldom_holds() -> None:
    """More than half of five, where two are true and three are just not: at 5 %, in at most 5 % of the draws."""
    rng = np.random.default_rng(0)
    shared = 0.5**0.5 * rng.normal(size=(4000, 1))  # rows that all looks share make them alike
    z = shared + 0.5**0.5 * rng.normal(size=(4000, 5)) + np.array([9.0, 9.0, 0.0, 0.0, 0.0])
    held = [partial_conjunction(stats.norm.sf(row).tolist(), 3) <= 0.05 for row in z]
    assert 0.01 < np.mean(held) < 0.06


def test_sections_stand_one_after_the_other() -> None:
    page = tables_page([section("Words", ["a"], [["1"]]), "", section("More", ["b"], [], "After.")])
    assert page == "Words\n\n| a |\n|---|\n| 1 |\n\nMore\n\n| b |\n|---|\n\nAfter.\n"


def test_what_is_missing_is_a_dash() -> None:
    assert (percent(None), bare(None), number(None)) == ("-", "-", "-")
