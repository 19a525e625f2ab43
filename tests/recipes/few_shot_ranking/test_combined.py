"""The rankings that the paper does not have: powered accuracy, labels first."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.audits.judge import ppi_plus_plus
from oodometer.rankings import draw_rows, drawn_scores, fixed
from oodometer_lab.recipes.few_shot_ranking.study import labels_first, powered_accuracy


def test_powered_accuracy_of_a_model_is_that_of_the_audit() -> None:
    rng = np.random.default_rng(0)
    correct, pool = (rng.random((1, 60)) < 0.7).astype(float), rng.random((1, 500))
    score, drawn = (
        np.clip(0.4 + 0.3 * correct + 0.2 * rng.random((1, 60)), 0, 1),
        draw_rows(60, draws=20, size=10),
    )
    values = powered_accuracy(correct, score, pool)(drawn)
    for rows, value in zip(drawn, values[:, 0], strict=True):
        other, _, _ = ppi_plus_plus(correct[0, rows], score[0, rows], float(pool.mean()), 500, 0.95)
        assert min(max(value, 0), 1) == pytest.approx(other)
    flat = powered_accuracy(correct, np.full((1, 60), 0.7), pool)(drawn)
    assert np.array_equal(flat, drawn_scores(correct, drawn))


def test_evidence_decides_ties_alone() -> None:
    rng = np.random.default_rng(1)
    correct, drawn = rng.integers(0, 2, (5, 30)).astype(float), draw_rows(30, draws=300, size=7)
    accuracy = drawn_scores(correct, drawn)
    both = labels_first(correct, {"against": -correct, "pool": fixed(rng.random(5))})(drawn)
    ahead = accuracy[:, :, None] > accuracy[:, None] + 1e-9
    assert (both[:, :, None] > both[:, None])[ahead].all()
    right = np.array([[1, 0], [0, 1], [1, 1]], dtype=float)
    assert (
        np.diff(labels_first(right, {"pool": fixed([0.7, 0.8, 0.1])})(np.array([[0, 1]]))[0]) > 0
    ).all()
    same = labels_first(right, {"pool": fixed([0.1 + 0.2, 0.3, 0.3]), "x": np.full((3, 2), np.nan)})
    scores = same(np.array([[0, 1]]))[0]
    assert scores[0] == scores[1]  # they differ by rounding alone
