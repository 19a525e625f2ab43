"""Model Picker's rule in the benchmark, held against a plain loop over rows, classes and models."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.model_picker import entropy_left, picked


def test_the_entropy_left_is_that_of_a_plain_loop() -> None:
    rng, odds, classes = np.random.default_rng(0), 3.0, 5
    predicted, weights = rng.integers(4, size=(6, 30)), rng.random(6)

    def entropy(w: list[float]) -> float:
        share = np.array(w) / sum(w)
        return float(-(share * np.log2(share)).sum())

    for row in range(30):
        left = [
            entropy([w * odds ** (predicted[m, row] == c) for m, w in enumerate(weights)])
            for c in range(classes)
        ]
        now = entropy([*weights])
        wanted = sum(after - now for after in left)
        assert entropy_left(predicted, weights, odds)[row] == pytest.approx(wanted)


def test_rows_on_which_the_likely_ones_part_are_asked_for_once() -> None:
    """Two models part in two rows of ten, the others agree everywhere: these two come first, then any."""
    predicted = np.zeros((3, 10), dtype=int)
    predicted[0, [3, 7]] = 1
    rows = picked(predicted, np.zeros(10, dtype=int), 5, seed=0)
    assert set(rows[:2]) == {3, 7}
    assert len(set(rows)) == 5
    assert picked(predicted, np.zeros(10, dtype=int), 3, seed=0, first=[7])[:2] == [7, 3]
