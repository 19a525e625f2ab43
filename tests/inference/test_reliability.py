"""pass@k, pass^k and maj@k against all draws of k answers, and states that merge."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oodometer.inference.reliability import Answers, pass_at_k, pass_hat_k

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_and_pass_hat_k_are_shares_of_draws(k: int) -> None:
    for right in range(6):
        answers = [1] * right + [0] * (5 - right)
        draws = list(itertools.combinations(answers, k))
        repeats, passed = np.array([5]), np.array([right])
        assert pass_at_k(repeats, passed, k)[0] == pytest.approx(np.mean([max(d) for d in draws]))
        assert pass_hat_k(repeats, passed, k)[0] == pytest.approx(np.mean([min(d) for d in draws]))


def majority(answers: list[int], right: list[int], k: int) -> float:
    """The share of all draws of k rows whose most frequent answer is right, each of a tie, and of its rows, alike."""
    chances = []
    for draw in itertools.combinations(range(len(answers)), k):
        given = [answers[row] for row in draw]
        most = max(map(given.count, given))
        tied = {answer for answer in given if given.count(answer) == most}
        shares = [
            np.mean([r for a, r in zip(answers, right, strict=True) if a == answer])
            for answer in tied
        ]
        chances.append(np.mean(shares))
    return float(np.mean(chances))


def test_maj_at_k_is_the_share_of_draws_with_a_right_majority() -> None:
    for trial in range(25):
        rows = int(RNG.integers(3, 9))
        answers = RNG.integers(0, 4, rows)
        right = answers == 1 if trial % 5 else RNG.integers(0, 2, rows)
        state = Answers.of(np.zeros(rows, np.uint64), answers.astype(np.uint64), right)
        for k in range(1, rows + 1):
            expected = majority(answers.tolist(), [*map(int, right)], k)
            assert state.maj_at_k(k)[0] == pytest.approx(expected, abs=1e-12)


def test_a_large_majority_is_that_of_the_binomial() -> None:
    from scipy.stats import hypergeom

    answers = np.repeat([0, 1], [1200, 800]).astype(np.uint64)
    state = Answers.of(np.zeros(2000, np.uint64), answers, answers == 0)
    for k in (1, 101, 256):
        drawn = hypergeom(2000, 1200, k)
        expected = drawn.sf(k // 2) + (0.5 * drawn.pmf(k // 2) if k % 2 == 0 else 0)
        assert state.maj_at_k(k)[0] == pytest.approx(expected, rel=1e-9)


def test_states_of_answers_merge_in_any_order() -> None:
    questions, answers = RNG.integers(0, 20, 300), RNG.integers(0, 5, 300)
    right = answers == questions % 5
    keys = questions.astype(np.uint64), answers.astype(np.uint64)
    whole = Answers.of(*keys, right)
    parts = [Answers.of(keys[0][i::3], keys[1][i::3], right[i::3]) for i in range(3)]
    for order in ((0, 1, 2), (2, 0, 1)):
        merged = parts[order[0]] + parts[order[1]] + parts[order[2]]
        assert merged.repeats.tolist() == whole.repeats.tolist()
        assert merged.maj_at_k(3) == pytest.approx(whole.maj_at_k(3))
    assert whole.rows == 300
