"""Optimal transport against POT's network simplex."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer.estimators.cot import transport


@pytest.mark.parametrize("classes", [2, 3, 10, 50])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cost_is_that_of_the_linear_programme(
    library: Callable[[str], ModuleType], classes: int, seed: int
) -> None:
    ot = library("ot")
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(classes, 0.3), 400)
    prior = rng.dirichlet(np.full(classes, 2.0))
    if seed == 2:  # a class that the target has not
        prior[0] = 0
        prior /= prior.sum()
    cost = 0.5 * np.abs(probabilities[:, None, :] - np.eye(classes)).sum(axis=2)
    expected = ot.emd2(np.full(400, 1 / 400), prior, cost)
    found = transport(probabilities, prior)
    assert found.cost == pytest.approx(expected, abs=2e-5)
    assert found.cost <= expected + 1e-9  # the value of a dual is a lower bound
