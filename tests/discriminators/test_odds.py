"""Log odds to probabilities: by Bayes' rule, and temperatures against a search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer_lab.discriminators.base import fit_temperature, probability

SHARES = st.floats(0.01, 0.99)


@given(st.floats(-20, 20), SHARES, SHARES)
def test_another_share_by_bayes(margin: float, trained: float, share: float) -> None:
    """P under another share = share l / (share l + 1 - share), l the likelihood ratio."""
    ratio = np.exp(margin) * (1 - trained) / trained
    expected = share * ratio / (share * ratio + 1 - share)
    found = probability(np.array([margin]), trained=trained, share=share)
    assert found.dtype == np.float32
    assert found[0] == pytest.approx(expected, abs=1e-5)


def test_the_share_of_training_gives_the_network_back() -> None:
    margins = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_allclose(
        probability(margins, trained=0.8, share=None), 1 / (1 + np.exp(-margins)), rtol=1e-6
    )


def test_temperature_recovers_what_made_the_labels() -> None:
    """Pairs of known log-likelihood ratios, shown three times too sure, of which 30 % are correct."""
    rng = np.random.default_rng(0)
    true = rng.normal(0, 2, 40_000)
    weight = np.exp(true)
    # draw so that the ratio of densities of correct to incorrect is exactly `weight`
    correct = rng.random(len(true)) < weight / (1 + weight)
    keep = np.where(correct, rng.random(len(true)) < 3 / 7, True)
    shown = 3 * true[keep] + np.log(0.8 / 0.2)  # a network that was trained on 80 % correct pairs
    assert fit_temperature(shown, correct[keep], trained=0.8) == pytest.approx(3, rel=0.05)


def test_temperature_against_a_grid() -> None:
    rng = np.random.default_rng(1)
    margins, correct = rng.normal(0, 2, 300), rng.random(300) < 0.6
    margins += 2 * correct

    def loss(t: float) -> float:
        p = 1 / (1 + np.exp(-(margins / t + np.log(correct.mean() / (1 - correct.mean())))))
        sure = np.where(
            correct, (correct.sum() + 1) / (correct.sum() + 2), 1 / ((~correct).sum() + 2)
        )
        return float(-(sure * np.log(p) + (1 - sure) * np.log(1 - p)).mean())

    grid = np.exp(np.linspace(-0.5, 3, 2001))
    best = grid[np.argmin([loss(t) for t in grid])]
    assert fit_temperature(margins, correct, trained=0.5) == pytest.approx(best, rel=0.01)


def test_a_dev_set_without_errors_does_not_make_certain() -> None:
    """50 verdicts of each kind, all on the right side: about 51 to 1."""
    margins = np.repeat([3.0, -3.0], 50)
    t = fit_temperature(margins, margins > 0, trained=0.5)
    assert probability(np.array([3.0]), trained=0.5, temperature=t)[0] == pytest.approx(
        51 / 52, abs=1e-3
    )


def test_one_class_says_nothing_of_a_temperature() -> None:
    assert fit_temperature(np.array([1.0, 2.0]), np.array([True, True]), trained=0.5) == 1
