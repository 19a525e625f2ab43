"""Power: against sums by hand, the normal law, the tests that compare uses, and components of a known law."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
import scipy.stats

from oodometer.audits.judged_pairs import paired_rates
from oodometer.audits.judges import Judged
from oodometer.inference.paired import Paired
from oodometer.inference.power import (
    Answers,
    Setting,
    components,
    labels_for,
    largest_difference,
    power_of,
    questions_for,
    smallest_difference,
    verdicts_of,
)

Z = NormalDist().inv_cdf


def test_components_are_those_of_the_law() -> None:
    rng = np.random.default_rng(0)
    shared = rng.beta(2, 2, 4_000)
    other = np.where(rng.random(4_000) < 0.5, shared, rng.beta(2, 2, 4_000))
    chance = np.repeat(np.stack([shared, other]), 3, axis=1)
    scores = (rng.random(chance.shape) < chance).astype(float)
    found = components(scores, np.repeat(np.arange(4_000), 3))
    between = 2 * 2 / (16 * 5)  # of a beta law
    assert found.variance == pytest.approx((0.25, 0.25), rel=0.03)
    assert found.within == pytest.approx((1 - between / 0.25,) * 2, rel=0.04)
    assert found.correlation == pytest.approx(0.5 * between / 0.25, abs=0.02)
    assert (found.questions, found.epochs) == (4_000, 3)


def test_epochs_of_unequal_number_and_no_epochs() -> None:
    rng = np.random.default_rng(1)
    times = rng.integers(1, 5, 3_000)
    code = np.repeat(np.arange(3_000), times)
    scores = (rng.random(len(code)) < rng.beta(2, 2, 3_000)[code]).astype(float)
    found = components(scores[None], code)
    assert found.within[0] == pytest.approx(0.8, abs=0.05)
    assert found.correlation is None
    alone = components(scores[None, :100], None)
    assert alone.within == (0.0,)
    assert alone.variance[0] == pytest.approx(scores[:100].var(ddof=1))


def test_the_variance_is_that_of_miller() -> None:
    a = Answers(0.5, variance=0.09, within=0.25, correlation=0.4)
    sigma, omega, shared = 0.09 * 0.25, 0.09 * 0.75, 0.09 * 0.4
    assert a.of_question(0.1, 4) == pytest.approx(2 * omega - 2 * shared + 2 * sigma / 4)
    assert a.of_question(0.1, 4, paired=False) == pytest.approx(2 * omega + 2 * sigma / 4)
    needed = (Z(0.975) + Z(0.8)) ** 2 * a.of_question(0.05, 1) / 0.05**2
    assert questions_for(a, Setting(1), 0.05, 0.95, 0.8) == pytest.approx(needed, rel=0.03)


def test_mcnemar_is_summed_over_all_outcomes() -> None:
    n, ahead, behind = 25, 0.3, 0.1
    power = 0.0
    for won in range(n + 1):
        for lost in range(n + 1 - won):
            pair = np.zeros((2, n))
            pair[1, :won], pair[0, won : won + lost] = 1, 1
            gap = Paired(pair).difference(1, 0, 0.95)
            if gap.lower > 0 or gap.upper < 0:
                chances = [ahead, behind, 1 - ahead - behind]
                power += scipy.stats.multinomial.pmf([won, lost, n - won - lost], n, chances)
    base, new = 0.5, 0.7
    both = new - ahead
    correlation = (both - base * new) / math.sqrt(base * (1 - base) * new * (1 - new))
    stated = power_of(Answers(base, correlation=correlation), Setting(n), 0.2, 0.95)
    assert stated == pytest.approx(power, abs=2e-4)


@pytest.mark.parametrize("paired", [True, False])
def test_many_questions_follow_the_normal_law(paired: bool) -> None:
    a = Answers(0.7, correlation=0.5)
    variance = a.of_question(0.01, 1, paired=paired)
    mean = 0.01 / math.sqrt(variance / 20_000)
    expected = 1 - NormalDist().cdf(Z(0.975) - mean)
    found = power_of(a, Setting(20_000, paired=paired), 0.01, 0.95)
    assert found == pytest.approx(expected, abs=0.02)


def test_epochs_help_by_what_is_within_alone() -> None:
    still, noisy = (Answers(0.6, within=w, correlation=0.3) for w in (0.0, 0.6))
    once, often = (power_of(still, Setting(300, k), 0.05, 0.95) for k in (1, 8))
    assert often == pytest.approx(once, abs=0.03)  # McNemar's exact test is the stricter one
    once, often = (power_of(noisy, Setting(300, k), 0.05, 0.95) for k in (1, 8))
    assert often > once + 0.15


def test_labels_beside_a_judge_against_simulation() -> None:
    a, setting = Answers(0.6, correlation=0.0, judge=0.0), Setting(400, labels=80)
    shown, rng = [], np.random.default_rng(3)
    for _ in range(300):
        good = rng.random((2, 400)) < np.array([[0.6], [0.8]])
        row, noise = np.arange(80), rng.random((2, 400)) < 0.5
        first, second = (
            Judged(f[None].astype(float), row, y[:80].astype(float), ("j",))
            for f, y in zip(noise, good, strict=True)
        )
        _, low, high = paired_rates(first, second, "system").interval(0.95)
        shown.append(low > 0 or high < 0)
    assert power_of(a, setting, 0.2, 0.95) == pytest.approx(np.mean(shown), abs=0.07)
    better = Answers(0.6, correlation=0.0, judge=0.8)
    assert power_of(better, setting, 0.2, 0.95) > power_of(a, setting, 0.2, 0.95) + 0.1


def test_inverses_give_back_what_was_asked() -> None:
    a = Answers(0.7, correlation=0.5, judge=0.7)
    for setting in (Setting(1), Setting(1, paired=False)):
        n = questions_for(a, setting, 0.04, 0.95, 0.8)
        assert n is not None
        made = Setting(n, paired=setting.paired)
        assert power_of(a, made, 0.04, 0.95) >= 0.8
        assert smallest_difference(a, made, 0.95, 0.8) == pytest.approx(0.04, abs=0.002)
    labels = labels_for(a, 2_000, 0.08, 0.95, 0.8)
    assert labels is not None
    assert power_of(a, Setting(2_000, labels=labels), 0.08, 0.95) >= 0.8
    assert power_of(a, Setting(2_000, labels=labels - 1), 0.08, 0.95) < 0.8
    assert labels_for(a, 100, 0.01, 0.95, 0.8) is None


def test_the_largest_difference_is_reached_where_nothing_is_lost() -> None:
    a = Answers(0.7, correlation=0.5)
    most = largest_difference(a)
    once = a.of_question(most, 1)
    assert once + most**2 == pytest.approx(most, abs=1e-6)
    assert largest_difference(Answers(0.7)) == pytest.approx(0.3)


@pytest.mark.parametrize(("difference", "drop"), [(-0.2, 0.05), (0.0, 0.15)])
def test_verdicts_of_a_gate_are_those_of_drawn_comparisons(difference: float, drop: float) -> None:
    rng, n, base = np.random.default_rng(3), 120, 0.7
    a = Answers(base, correlation=0.5)
    discordant = a.of_question(difference, 1) + difference**2
    shares = [(discordant - difference) / 2, 1 - discordant, (discordant + difference) / 2]
    spoken = np.zeros(2)
    for _ in range(600):
        d = rng.choice([-1, 0, 1], size=n, p=shares)
        gap = Paired(np.stack([d < 0, d > 0]).astype(float)).difference(1, 0, 0.95)
        spoken += gap.upper < -drop, gap.lower > -drop
    assert [*verdicts_of(a, Setting(n), difference, 0.95, drop)] == pytest.approx(
        (spoken / 600).tolist(), abs=0.06
    )
