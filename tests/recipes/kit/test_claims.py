"""Claims: looks against scipy, by hand and drawn by chance; verdicts, their correction, and tables."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oodometer.intervals import holm
from oodometer_lab.recipes import RECIPES, find_recipe
from oodometer_lab.recipes.base import judged
from oodometer_lab.recipes.kit.claims import (
    LEVEL,
    POWER,
    Look,
    Row,
    above,
    all_of,
    at_least,
    binomial,
    claims_from,
    claims_table,
    contrast,
    either,
    gap,
    partial_conjunction,
    positive,
    share,
    sign_flips,
    smallest_effect,
)
from oodometer_lab.recipes.kit.tables import Page, bare, number, percent, section, tables_page

COMMITTED = sorted(
    path for name in RECIPES for path in (find_recipe(name).home / "results").glob("*.json")
)
VERDICTS = {"holds", "does not hold", "undecided", "not comparable"}
PAGE = Page(
    {"claims": {name: [name.upper(), ""] for name in "abcd"}, "not_comparable": {"a": "why"}}
)


def rows_of(*rows: Row) -> list[dict[str, Any]]:
    """The claims of some rows as they stand in a result."""
    return judged(claims_from(PAGE, rows))


def test_a_claim_without_a_test_is_undecided() -> None:
    (row,) = rows_of(Row("a", "", "trainings", [Look(0.0, 1.0)], [0.5]))
    assert (row["verdict"], row["test"], row["effect"], row["seen"]) == (
        "undecided",
        None,
        0.5,
        [1, 1],
    )
    assert "p" not in row


def test_what_cannot_bear_on_the_sentence_is_not_comparable() -> None:
    (row,) = rows_of(Row("a", "test", "trainings", [Look(0.0, 1.0)], [0.5], bears=False))
    assert (row["verdict"], row["test"], row["evidence"]) == ("not comparable", None, "why; ")


def test_most_is_more_than_half_of_three_or_more() -> None:
    sure, open_, wrong = Look(0.001, 0.999), Look(0.5, 0.5), Look(0.999, 0.001)
    some = (
        [sure] * 2,
        [sure, sure, open_],
        [sure, open_, open_],
        [wrong, wrong, sure],
        [sure, sure, wrong, wrong],
    )
    rows = [Row("a", "test", "rows", looks, [1.0] * len(looks), quantity="most") for looks in some]
    verdicts = [claim.verdict for claim in claims_from(PAGE, rows)]
    assert verdicts == ["undecided", "holds", "undecided", "does not hold", "does not hold"]


def test_a_verdict_is_two_sided_and_a_claim_without_effect_seldom_has_one() -> None:
    assert [Look(p, 1 - p).p for p in (0.02, 0.5, 0.98)] == pytest.approx([0.04, 1.0, 0.04])
    for p, verdict in (
        (0.024, "holds"),
        (0.026, "undecided"),
        (0.974, "undecided"),
        (0.976, "does not hold"),
    ):
        (row,) = rows_of(Row("a", "test", "rows", [Look(p, 1 - p)], [0.1]))
        assert (row["verdict"], row["p"]) == (verdict, pytest.approx(2 * min(p, 1 - p)))
    drawn = np.random.default_rng(1).normal(size=(4000, 5))
    found = [positive(values.tolist()).p <= LEVEL for values in drawn]
    assert np.mean(found) == pytest.approx(LEVEL, abs=0.012)


def test_claims_are_corrected_for_their_number() -> None:
    rows = rows_of(
        *(
            Row(n, "test", "rows", [Look(p, 1 - p)], [0.1])
            for n, p in (("a", 0.01), ("b", 0.02), ("c", 0.25))
        ),
        Row("d", "", "rows", []),
    )
    assert [row["verdict"] for row in rows] == ["holds", "holds", "undecided", "undecided"]
    assert [row.get("p_all") for row in rows] == [
        pytest.approx(0.06),
        pytest.approx(0.08),
        0.5,
        None,
    ]
    text = claims_table(rows)
    assert "| A | mean, 1 | rows | holds | 0.1 | - |  | 1 |  | test | 0.020 | 0.060 | - |" in text
    assert "| D | mean, 0 | rows | undecided | - | - |  | 0 |  | - | - | - | - |" in text


@pytest.mark.parametrize("result", COMMITTED, ids=[f"{p.parts[-3]} {p.stem}" for p in COMMITTED])
def test_every_committed_verdict_follows_from_its_p_value_and_its_mean(result: Path) -> None:
    """No verdict contradicts the effect that stands beside it: the sign of a mean, or the count of what was seen."""
    claims = json.loads(result.read_text(encoding="utf-8"))["claims"]
    assert len({one["name"] for one in claims}) == len(claims)
    for one in claims:
        assert one["verdict"] in VERDICTS
        assert one["drawn"]
        if one["test"] is None:
            assert one["verdict"] in ("undecided", "not comparable")
            continue
        assert ("visible" in one) == (one["verdict"] == "undecided")
        assert one.get("visible") is None or one["visible"] >= 0
        assert one["p_all"] >= one["p"]
        assert (one["p"] <= LEVEL) == (one["verdict"] in ("holds", "does not hold"))
        positive, count = one["seen"]
        needed = {"any": 1, "most": count // 2 + 1, "all": count}.get(
            one["quantity"], one["quantity"]
        )
        is_seen = one["effect"] > 0 if one["quantity"] == "mean" else positive >= needed
        if one["verdict"] in ("holds", "does not hold"):
            assert is_seen == (one["verdict"] == "holds"), one["name"]


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
    assert partial_conjunction(p, 1) == pytest.approx(
        0.04
    )  # Simes: min(4 * .01, 4/2 * .02, 4/3 * .03, .5)
    assert partial_conjunction(p, 3) == pytest.approx(0.06)  # min(2 * .03, .5)
    looks = [Look(value, 1 - value) for value in p]
    assert either(looks).supports == pytest.approx(0.04)
    assert all_of(looks) == Look(
        0.5, 0.99
    )  # 1 or more against: min(4 * .5, 4/2 * .97, 4/3 * .98, .99)
    assert at_least(3, looks).refutes == pytest.approx(
        0.99
    )  # 2 or more against: min(3 * .97, 3/2 * .98, .99)
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
        exact = stats.permutation_test(
            (values,), np.sum, permutation_type="samples", alternative=alternative
        )
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


def normal_looks(z: np.ndarray, count: int) -> float:
    """How often "at least ``count``" is seen, of looks that are normal numbers with error 1, a row a repetition."""
    return float(
        np.mean([partial_conjunction(stats.norm.sf(row).tolist(), count) <= LEVEL for row in z])
    )


@pytest.mark.parametrize("freedom", [1, 2, 4.7, 30])
@pytest.mark.parametrize(("level", "power"), [(0.05, 0.8), (0.05 / 11, 0.8 ** (1 / 11))])
def test_the_smallest_effect_against_the_noncentral_t(
    freedom: float, level: float, power: float
) -> None:
    effect = smallest_effect(0.5, freedom, level, power)
    assert stats.nct.sf(stats.t.isf(level, freedom), freedom, effect / 0.5) == pytest.approx(
        power, abs=1e-4
    )
    assert smallest_effect(0.5, 1e6, level, power) == pytest.approx(
        smallest_effect(0.5, math.inf, level, power), 1e-4
    )


def test_an_effect_of_the_smallest_size_is_seen_in_four_of_five_repetitions() -> None:
    """Values of standard deviation 1 say an effect; draws of that spread with that mean show it so often."""
    rng = np.random.default_rng(0)
    for n in (3, 8):
        values = rng.normal(size=n)
        effect = positive(((values - values.mean()) / values.std(ddof=1)).tolist()).sees(
            LEVEL, POWER
        )
        drawn = rng.normal(effect, 1.0, (4000, n))
        p = stats.ttest_1samp(drawn, 0.0, axis=1, alternative="greater").pvalue
        assert np.mean(p <= LEVEL) == pytest.approx(POWER, abs=0.02)
    small, large = (
        np.array([-1.0, 0.0, 1.0, 0.0]),
        3 * np.array([-1.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.0]),
    )
    effect = contrast((large.tolist(), small.tolist()), (1, -1)).sees(LEVEL, POWER)
    spreads = large.std(ddof=1), small.std(ddof=1)
    first, second = (
        rng.normal(0.0, sd, (4000, len(x))) for sd, x in zip(spreads, (large, small), strict=True)
    )
    p = stats.ttest_ind(
        first + effect, second, axis=1, equal_var=False, alternative="greater"
    ).pvalue
    assert np.mean(p <= LEVEL) == pytest.approx(POWER, abs=0.03)


def test_the_smallest_effect_of_one_look_by_its_closed_form() -> None:
    plain = 1.6448536 + 0.8416212
    for look in (gap(0.1, 2.0), share(0.6, 199, 2.0)):
        assert look.sees(LEVEL, POWER) == pytest.approx(2 * plain)
    cell = {"value": 0.5, "lower": 0.4, "upper": 0.7, "level": 0.95}
    assert above(cell, 0.45).sees(LEVEL, POWER) == pytest.approx(0.1 / 1.9599640 * plain)
    chance = binomial(11, 20, 0.5).sees(
        LEVEL, POWER
    )  # 15 of 20 is the least that a fair coin seldom gives
    assert stats.binom.sf(14, 20, 0.5) <= LEVEL < stats.binom.sf(13, 20, 0.5)
    assert stats.binom.sf(14, 20, chance) == pytest.approx(POWER)
    flips = sign_flips([0.1, -0.2, 0.3, 0.2, 0.1])
    assert flips.sees(LEVEL, POWER) == positive([0.1, -0.2, 0.3, 0.2, 0.1]).sees(LEVEL, POWER)
    # Tests that are never so sure: 4 flips of 2 differences, 18 replicates, 4 successes of 4; and what has no error
    never = (
        sign_flips([0.1, 0.2]),
        share(0.9, 18, 1.0),
        binomial(4, 4, 0.5),
        share(0.9),
        Look(),
        positive([1.0]),
    )
    assert {look.sees(LEVEL, POWER) for look in never} == {math.inf}
    assert gap(0.0, 0.0).sees(LEVEL, POWER) == 0.0


def test_the_smallest_effect_of_several_looks() -> None:
    """What the needed looks see together, alone with an effect: as often as said, other looks with none at all."""
    rng, looks = np.random.default_rng(0), [gap(0.0, 1.0)] * 5
    for count in (1, 3, 5):
        effect = at_least(count, looks).sees(LEVEL, POWER)
        assert effect == smallest_effect(1.0, math.inf, LEVEL / (6 - count), POWER ** (1 / count))
        z = rng.normal(size=(4000, 5)) + effect * (np.arange(5) < count)
        assert normal_looks(z, count) == pytest.approx(POWER, abs=0.03)
    assert either(looks).sees(LEVEL, POWER) == at_least(1, looks).sees(LEVEL, POWER)
    mixed = [gap(0.0, 3.0), gap(0.0, 1.0), Look()]
    assert all_of(mixed).sees(LEVEL, POWER) == math.inf
    assert at_least(2, mixed).sees(LEVEL, POWER) == smallest_effect(
        3.0, math.inf, LEVEL / 2, POWER**0.5
    )
    # A number within a margin by two one-sided tests: shown with this power where it is 0
    margin = all_of([gap(0.5, 1.0), gap(-0.5, 1.0)]).sees(LEVEL, POWER)
    number = rng.normal(size=4000)
    shown = np.maximum(stats.norm.sf(margin - number), stats.norm.sf(margin + number)) <= LEVEL
    assert np.mean(shown) == pytest.approx(POWER, abs=0.02)


def test_only_what_is_undecided_has_a_visible_effect_in_its_unit() -> None:
    page = Page(
        {
            "page": {"unit": "points"},
            "claims": {"a": ["A", ""], "b": ["B", "", "rises"], "c": ["C", "", ""]},
        }
    )
    rows = judged(
        claims_from(page, [Row(n, "test", "rows", [gap(0.1, 0.1)], [0.1]) for n in "abc"])
    )
    both = 0.1 * (1.9599640 + 0.8416212)  # the test is two-sided
    assert [(row["visible"], row["effect"], row["unit"]) for row in rows] == [
        (pytest.approx(100 * both, abs=0.05), 10.0, "points"),
        (pytest.approx(both, abs=5e-4), 0.1, "rises"),
        (pytest.approx(both, abs=5e-4), 0.1, ""),
    ]
    assert "| 10.0 | 28.0 | points | 1 |" in claims_table(rows)
    (sure,) = rows_of(Row("a", "test", "rows", [gap(1.0, 0.1)], [1.0]))
    assert "visible" not in sure
    (unknown,) = rows_of(Row("a", "test", "rows", [share(0.6)], [0.1]))
    assert unknown["visible"] is None


def test_an_undecided_claim_says_whether_it_is_smaller_than_in_the_paper() -> None:
    """An effect of 0.1 with error 0.1, against 0.2 and 0.4 in the paper; of a decided claim nothing is said."""

    def said(seen: float, paper: float | None) -> dict[str, Any]:
        size = None if paper is None else gap(seen - paper, 0.1)
        return rows_of(Row("a", "test", "rows", [gap(seen, 0.1)], [seen], size=size))[0]

    rows = [said(0.1, paper) for paper in (None, 0.2, 0.4, -0.3)]
    assert [row["verdict"] for row in rows] == ["undecided"] * 4
    assert [row.get("p_smaller") for row in rows] == [
        None,
        pytest.approx(2 * 0.158655, abs=2e-6),
        pytest.approx(2 * 0.00135, abs=2e-6),
        None,  # larger than in the paper
    ]
    assert "p_smaller" not in said(1.0, 2.0)


def test_the_variance_between_trainings_has_few_degrees_of_freedom() -> None:
    """Three numbers of three trainings each: with no error over rows Student's t of the pooled variance; else between
    it and the normal test, as in repetitions.
    """
    rng = np.random.default_rng(2)
    drawn = rng.normal(0.0, 1.0, (3, 3))
    between = float(drawn.var(axis=1, ddof=1).mean()) / 3
    cell = {"value": 0.7, "lower": 0.7, "upper": 0.7, "level": 0.95}
    exact = above(cell, 0.0, between, 6)
    assert exact.supports == pytest.approx(stats.t.sf(0.7 / between**0.5, 6))
    wide = {**cell, "lower": 0.7 - 1.9599640 * 0.5, "upper": 0.7 + 1.9599640 * 0.5}
    assert above(wide, 0.0).supports == pytest.approx(stats.norm.sf(0.7 / 0.5))
    own = {**wide, "between": 0.25}  # whose interval is that of trainings alone
    assert above(own, 0.0, between, 6).supports == pytest.approx(exact.supports)
    found = 0
    for _ in range(4000):
        values = rng.normal(0.0, 1.0, (5, 3))
        pooled = float(values.var(axis=1, ddof=1).mean()) / 3
        row_noise = float(rng.normal(0.0, 0.4))
        mean = float(values[0].mean()) + row_noise
        ends = {"lower": mean - 1.959964 * 0.4, "upper": mean + 1.959964 * 0.4, "level": 0.95}
        found += above({"value": mean, **ends}, 0.0, pooled, 10).p <= LEVEL
    assert found / 4000 == pytest.approx(LEVEL, abs=0.012)


def test_a_pooled_contrast_is_students_t() -> None:
    first, second = [3.0, 4.0, 5.5], [1.0, 1.5, 2.0, 2.2]
    exact = stats.ttest_ind(first, second, alternative="greater").pvalue
    assert contrast((first, second), (1, -1), pooled=True).supports == pytest.approx(exact)
    welch = stats.ttest_ind(first, second, equal_var=False, alternative="greater").pvalue
    assert contrast((first, second), (1, -1)).supports == pytest.approx(welch)


def test_an_effect_of_the_papers_size_is_seldom_called_smaller() -> None:
    rng, size, many = np.random.default_rng(5), 0.4, 4_000
    found = [positive(rng.normal(size, 1.0, 6) - size).refutes <= LEVEL for _ in range(many)]
    assert np.mean(found) == pytest.approx(LEVEL, abs=0.012)
