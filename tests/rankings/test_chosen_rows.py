"""Chosen rows: labels of rows chosen by disagreement turn no order round, and their probabilities come true."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.rankings import posterior, rows_to_label
from oodometer.rankings.chosen_rows import posterior_by_pattern


def suite(rng: np.random.Generator, rows: int, models: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Binary predictions of models whose mistakes are partly shared, and the truth."""
    truth = rng.integers(0, 2, rows)
    hard = rng.beta(1, 2, rows)
    skill = rng.uniform(0.3, 1.5, models)
    wrong = rng.random((models, rows)) < np.clip(hard * skill[:, None], 0, 0.95)
    return np.where(wrong, 1 - truth, truth), truth


def tried(seed: int) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """(P, whether it is so) of the likelier side of each pair: rows counted as random ones, and by pattern."""
    rng = np.random.default_rng(seed)
    said, truth = suite(rng, 600)
    accuracy = (said == truth).mean(axis=1)
    first = rng.permutation(600)
    start = posterior(said[:, first[:10]], truth[first[:10]], said[:, first[10:]])
    chosen = first[10:][rows_to_label(said[:, first[10:]], start.p_best, 20, seed=seed)]
    known = np.concatenate([first[:10], chosen])
    rest = np.setdiff1d(np.arange(600), known)
    plain = posterior(said[:, known], truth[known], said[:, rest])
    careful = posterior_by_pattern(plain, said[:, known], truth[known], said[:, rest])
    out: tuple[list[tuple[float, bool]], list[tuple[float, bool]]] = ([], [])
    for place, found in enumerate((plain, careful)):
        for a in range(3):
            for b in range(a):
                if accuracy[a] != accuracy[b]:
                    p = float(found.p_better[a, b])
                    out[place].append((max(p, 1 - p), bool((accuracy[a] > accuracy[b]) == (p > 0.5))))
    return out


def test_probabilities_of_chosen_rows_come_true() -> None:
    plain, careful = [], []
    for seed in range(150):
        one, other = tried(seed)
        plain += one
        careful += other
    said, right = (np.array([pair[place] for pair in careful], dtype=float) for place in (0, 1))
    for low, high in ((0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
        inside = (said >= low) & (said < high)
        assert inside.sum() > 30
        spread = np.sqrt(said[inside].mean() * (1 - said[inside].mean()) / inside.sum())
        assert right[inside].mean() > said[inside].mean() - 3 * spread - 0.03
    # The same labels, counted as if the rows were random, promise more than they keep.
    bold, kept = (np.array([pair[place] for pair in plain], dtype=float) for place in (0, 1))
    assert (bold - kept).mean() > (said - right).mean()


def test_one_against_two_turns_no_order_round() -> None:
    """The first model is the best; chosen rows are those on which it stands alone, where it is often wrong."""
    alone = [[1] * 20, [0] * 20, [0] * 20]
    truth = [0] * 12 + [1] * 8
    # Elsewhere it differs from one of them alone, and is mostly right.
    pool = np.array(
        [[1] * 30 + [1] * 100 + [1] * 100, [0] * 30 + [0] * 100 + [1] * 100, [0] * 30 + [1] * 100 + [0] * 100]
    )
    random = pool[:, [35, 45, 55, 140, 150, 160]]
    says, labels = np.concatenate([np.array(alone), random], axis=1), [*truth, 1, 1, 1, 1, 1, 1]
    plain = posterior(says, labels, pool)
    careful = posterior_by_pattern(plain, says, labels, pool)
    assert plain.order[0] != 0 or plain.p_best[0] < 0.5
    assert careful.order[0] == 0
    assert careful.p_better[0, 1] > 0.8
    assert careful.p_best.sum() == pytest.approx(1)


def test_models_that_never_differ_share() -> None:
    says = [[1, 0], [1, 0], [0, 0]]
    found = posterior_by_pattern(posterior(says, [1, 0]), says, [1, 0])
    assert found.p_better[0, 1] == 0.5
    assert found.p_best[0] == found.p_best[1]
    same = posterior([[1], [1]], [1])
    assert posterior_by_pattern(same, [[1], [1]], [1]) is same
