"""The last digits of a double move no number, and the seed moves none by more than chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import Estimation, estimate


def drawn(seed: int, rows: int, centre: float, sharp: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(centre + sharp * rng.standard_normal(rows))))
    return p, (rng.random(rows) < p).astype(int)


def numbers(found: Estimation) -> dict[str, float]:
    out = {"accuracy": found.headline.value, **{e.method: e.value for e in found.estimates}}
    for name, one in found.metrics.items():
        out |= {name: one.value, **{f"{name} {e.method}": e.value for e in one.estimates}}
    return out


@pytest.mark.parametrize("seed", range(4))
def test_a_jitter_in_the_last_digits_moves_no_number(seed: int) -> None:
    """Folds were dealt out by a hash of all digits: the calibrator was chosen anew, and `cbpe` moved by 1.2 points."""
    (p, label), (q, _) = drawn(seed, 2000, -0.7, 2.0), drawn(100 + seed, 1500, -1.2, 1.7)
    asked: dict[str, Any] = {"metrics": ["precision", "f1", "roc_auc"], "backtest": None}
    before = numbers(estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked))
    rng = np.random.default_rng(7)
    p, q = (np.clip(one + rng.uniform(-1e-14, 1e-14, len(one)), 0, 1) for one in (p, q))
    after = numbers(estimate({"prob_1": p, "label": label}, {"prob_1": q}, **asked))
    assert after == pytest.approx(before, abs=2e-4)
