"""Prediction-powered inference against ppi_py, by the authors of the method."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer.audits.judge import ppi_plus_plus


@pytest.mark.parametrize("labels", [25, 200, 1000])
@pytest.mark.parametrize("rows", [2_000, 50_000])
def test_mean(library: Callable[[str], ModuleType], labels: int, rows: int) -> None:
    ppi = library("ppi_py")
    rng = np.random.default_rng([labels, rows])
    score = rng.beta(6, 2, labels + rows)
    correct = (rng.random(labels) < score[:labels]).astype(float)
    known, pool = score[:labels], score[labels:]
    value, lower, upper = ppi_plus_plus(correct, known, float(pool.mean()), rows, 0.9)

    weight = np.cov(correct, known)[0, 1] / ((1 + labels / rows) * known.var(ddof=1))
    low, high = (
        float(np.squeeze(end))
        for end in ppi.ppi_mean_ci(correct, known, pool, alpha=0.1, lam=weight)
    )
    assert value == pytest.approx((low + high) / 2, abs=1e-9)
    # Theirs divides variances by n where ours divides by n - 1.
    assert upper - lower == pytest.approx((high - low) * np.sqrt(labels / (labels - 1)), rel=0.02)

    # Left to itself, theirs takes the variance of the score from all rows, ours from the labelled ones.
    tuned = float(np.squeeze(ppi.ppi_mean_pointestimate(correct, known, pool)))
    assert value == pytest.approx(tuned, abs=0.1 * (upper - lower))
