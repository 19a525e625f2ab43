"""Gate: verdicts, rows that decide, and the chance of a wrong verdict for one look and for many."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.inference.betting import betting_sequence
from oodometer.inference.gate import anytime_difference, gate_of
from oodometer.results import Interval
from oodometer.results.gate import gate_sentence


def gap(value: float, lower: float, upper: float) -> Interval:
    return Interval(value, lower, upper, 0.95, "asymptotic")


@pytest.mark.parametrize(
    ("interval", "verdict", "code"),
    [
        (gap(-0.06, -0.09, -0.021), "worse", 3),
        (gap(-0.06, -0.09, -0.02), "undecided", 4),
        (gap(0.0, -0.02, 0.02), "undecided", 4),
        (gap(0.0, -0.019, 0.019), "not_worse", 0),
    ],
)
def test_the_interval_decides(interval: Interval, verdict: str, code: int) -> None:
    gate = gate_of(interval, 0.02, ("base", "new"), 100, strict=True)
    assert (gate.verdict, gate.exit_code) == (verdict, code)
    lenient = gate_of(interval, 0.02, ("base", "new"), 100)
    assert lenient.exit_code == (code if verdict == "worse" else 0)
    assert "-2 %" in gate_sentence(gate.to_dict(), "{:.0%}".format).replace("%", " %") or (
        verdict == "undecided"
    )


def test_rows_that_are_needed_have_the_power() -> None:
    z, power = 1.959964, 0.841621
    gate = gate_of(gap(0.03, -0.0284, 0.0884), 0.02, ("base", "new"), 900)
    error = 0.0584 / z
    assert gate.needed_rows == pytest.approx(900 * ((z + power) * error / 0.05) ** 2, rel=1e-3)
    assert gate_of(gap(-0.02, -0.05, 0.01), 0.02, ("a", "b"), 9).needed_rows is None


def test_a_sequence_holds_at_every_look_where_an_interval_does_not() -> None:
    rng, missed, peeked = np.random.default_rng(2), 0, 0
    for _ in range(120):
        d = rng.choice([-1.0, 0.0, 1.0], size=600, p=[0.12, 0.78, 0.10])  # -0.02, the boundary
        lower, upper = betting_sequence(d, 0.95, low=-1, high=1)  # of all looks so far
        missed += not lower <= -0.02 <= upper
        n = np.arange(30, 601, 15)
        mean = np.cumsum(d)[n - 1] / n
        half = 1.96 * np.sqrt((np.cumsum(d * d)[n - 1] / n - mean**2) / n)
        peeked += bool((np.abs(mean + 0.02) > half).any())
    assert missed <= 6
    assert peeked > 12


def test_a_sequence_is_that_of_its_capital() -> None:
    value = np.array([0.1, 0.9, 0.4, 0.6, 0.5] * 40)
    lower, upper = betting_sequence(value, 0.9)
    assert lower < 0.5 < upper
    mirrored = betting_sequence(1 - value, 0.9)
    assert mirrored == pytest.approx((1 - upper, 1 - lower))
    wide = betting_sequence(value * 4 + 1, 0.9, low=1, high=5)
    assert wide == pytest.approx((1 + 4 * lower, 1 + 4 * upper), abs=1e-6)


def test_clusters_count_once_in_the_order_in_which_they_came() -> None:
    gaps = np.array([1.0, 1, 0, 0, -1, -1] * 20)
    alone, rows = anytime_difference(gaps, None, 1.0, 0.95)
    pairs, clusters = anytime_difference(gaps, np.repeat(np.arange(60)[::-1], 2), 1.0, 0.95)
    assert (rows, clusters) == (120, 60)
    assert pairs.width > alone.width
    expected = betting_sequence(np.array([1.0, 0, -1] * 20), 0.95, low=-1, high=1)
    assert (pairs.lower, pairs.upper) == pytest.approx(expected)
