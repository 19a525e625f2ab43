"""What lies ahead of an audit: power, widths to expect and strata, each held against counting or simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from oodometer.audits.betting import SampledRows
from oodometer.audits.judge import binomial_p_value, exact_interval, judge, refutes
from oodometer.audits.result import noticeable, strata
from oodometer.audits.suggestion import expected_widths, labels_alone_width, moved


def refuted(labels: int, lower: float, upper: float, level: float, accuracy: float) -> float:
    """Chance that the test speaks, every number of hits counted."""
    hits = np.arange(labels + 1)
    speaks = [binomial_p_value(int(k), labels, lower, upper) < 1 - level for k in hits]
    return float(binom.pmf(hits, labels, accuracy) @ np.array(speaks))


@pytest.mark.parametrize("labels", [5, 10, 40, 300])
@pytest.mark.parametrize(("lower", "upper"), [(0.9, 1.0), (0.4, 0.6), (0.0, 0.3)])
def test_power_is_what_counting_gives(labels: int, lower: float, upper: float) -> None:
    found = noticeable(labels, 10**9, lower, upper, 0.95)
    for end, step in ((found.below, -1), (found.above, 1)):
        if end is not None:
            assert refuted(labels, lower, upper, 0.95, end) == pytest.approx(0.9, abs=0.002)
            assert refuted(labels, lower, upper, 0.95, end + 0.01 * step) > 0.9
    if found.below is None:
        assert refuted(labels, lower, upper, 0.95, 0.0) < 0.9 or lower == 0
    if found.above is None:
        assert refuted(labels, lower, upper, 0.95, 1.0) < 0.9 or upper == 1


def test_a_claim_of_everything_cannot_be_noticed() -> None:
    found = noticeable(1000, 10**9, 0.0, 1.0, 0.95)
    assert (found.below, found.above) == (None, None)


@pytest.mark.parametrize("rows", [600, 100_000])
def test_width_of_labels_alone_is_the_mean_over_all_hits(rows: int) -> None:
    hits = np.arange(61)
    widths = np.array([np.diff(exact_interval(int(k), 60, rows, 0.95))[0] for k in hits])
    whole = float(binom.pmf(hits, 60, 0.85) @ widths)
    assert labels_alone_width(0.85, 60, rows, 0.95) == pytest.approx(whole, rel=0.04)


def test_moved_chances_have_the_mean_and_the_order() -> None:
    score = np.array([0.0, 0.3, 0.9, 1.0])
    for mean in (0.05, 0.5, 0.93):
        chance = moved(score, mean)
        assert chance.mean() == pytest.approx(mean, abs=1e-6)
        assert (np.diff(chance) > 0).all()


def test_widths_ahead_are_those_of_audits_that_come() -> None:
    rng = np.random.default_rng(0)
    score = np.tile([0.55, 0.9, 0.98, 1.0], 500)
    chance = moved(score, 0.8)
    ahead = expected_widths(score, 1.0, 0.9, accuracy=0.8, lower=0.7, upper=0.9, labels=(40, 200)).widths
    for one in ahead:
        widths = []
        for seed in range(12):
            row = rng.permutation(len(score))[: one.labels]
            found = judge(
                SampledRows.evenly(row, (rng.random(one.labels) < chance[row]).astype(int), seed), score, 1.0, 0.9
            )
            widths.append(found.estimate.upper - found.estimate.lower)
        assert one.random == pytest.approx(float(np.mean(widths)), rel=0.08)
        assert one.narrowest < one.alone < one.widest
    assert ahead[0].alone > ahead[1].alone


def test_no_width_is_promised_beyond_the_target() -> None:
    score = np.linspace(0.6, 1, 25)
    found = expected_widths(score, 0.5, 0.95, accuracy=0.9, lower=0.7, upper=1.0)
    assert [w.labels for w in found.widths] == [10, 20]


def test_strata_hold_all_rows_and_labels() -> None:
    score = np.random.default_rng(1).random(97)
    row = np.arange(0, 97, 3)
    found = strata(score, row, (row % 2 == 0).astype(int), np.array([1, 4]))
    assert [s.stratum for s in found] == list(range(10))
    assert sum(s.rows for s in found) == 97
    assert sum(s.labels for s in found) == len(row)
    assert sum(s.correct for s in found) == int((row % 2 == 0).sum())
    assert sum(s.suggested for s in found) == 2
    assert all(a.highest <= b.lowest for a, b in pairwise(found))
    assert strata(np.full(9, 0.5), row[:2], np.array([1, 0])) == ()


def test_power_speaks_of_the_test_that_an_audit_makes() -> None:
    few = SampledRows.evenly(np.arange(40), (np.arange(40) < 20).astype(int))
    assert noticeable(40, 10**9, 0.8, 0.9, 0.95).below > 0.5
    assert refutes(few, np.full(900, 0.9), 0.0, 0.8, 0.9, 0.95) < 0.05
