"""CODA in the benchmark, held against integrals of scipy and a plain loop over rows and classes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coda import Coda, asked, entropy, p_best
from scipy.integrate import quad
from scipy.stats import beta

RNG = np.random.default_rng(0)
ANSWERS = RNG.dirichlet([0.4, 0.4, 0.4], size=(4, 25))
TRUTH = RNG.integers(0, 3, 25)


def test_how_likely_each_is_the_best_is_the_integral() -> None:
    right, wrong = np.array([4.0, 6.5, 2.0]), np.array([2.0, 4.0, 1.0])

    def share(model: int) -> float:
        others = [k for k in range(3) if k != model]

        def value(x: float) -> float:
            below = np.prod([beta.cdf(x, right[k], wrong[k]) for k in others])
            return float(beta.pdf(x, right[model], wrong[model]) * below)

        return float(quad(value, 0, 1)[0])

    wanted = [share(model) for model in range(3)]
    assert p_best(right[None], wrong[None])[0] == pytest.approx(wanted, abs=2e-3)


def after_label(coda: Coda, row: int, c: int) -> np.ndarray:
    """P(best) if a row had this class, with a label that counts 1."""
    shares = coda.shares().mean(axis=0)
    out = np.zeros(len(coda.said))
    for of_class, weight in enumerate(shares):
        right = coda.counts[:, of_class, of_class].copy()
        wrong = coda.counts[:, of_class].sum(axis=1) - right
        if of_class == c:
            is_right = coda.said[:, row] == c
            right, wrong = right + is_right, wrong + ~is_right
        out += weight * p_best(right[None], wrong[None])[0]
    return out


def test_the_expected_gain_is_that_of_a_plain_loop() -> None:
    coda = Coda(ANSWERS)
    coda.add(3, int(TRUTH[3]))
    told = np.einsum("mck,mrk->rc", coda.counts, ANSWERS)
    shares = told / told.sum(axis=1, keepdims=True)
    assert coda.shares() == pytest.approx(shares)
    now = float(entropy(coda.best()))
    for row in range(0, 25, 6):
        left = sum(shares[row, c] * float(entropy(after_label(coda, row, c))) for c in range(3))
        assert coda.gain()[row] == pytest.approx(now - left, abs=1e-9)


def test_rows_are_asked_for_once_and_first_where_models_differ() -> None:
    answers = np.tile(np.eye(2)[np.zeros(30, dtype=int)], (3, 1, 1))
    answers[0, [4, 9]] = [0, 1]
    rows, beliefs = asked(answers, np.zeros(30, dtype=int), 6, seed=0)
    assert set(rows[:2]) == {4, 9}
    assert len(set(rows)) == 6
    assert beliefs[-1].argmin() == 0
