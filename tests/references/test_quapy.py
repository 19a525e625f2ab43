"""The class prior of a target against QuaPy's expectation maximisation and its inverted confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.estimators.label_shift import adjust, adjusted_prior


def test_expectation_maximisation(
    library: Callable[[str], ModuleType], record: Predictions
) -> None:
    aggregative = library("quapy.method.aggregative")
    assert record.probabilities is not None
    assert record.label is not None
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.ones(record.num_classes))[record.label]
    target = record.probabilities[rng.choice(len(record), 1500, p=weight / weight.sum())]
    rows = np.bincount(record.label, minlength=record.num_classes)
    prior, posterior = aggregative.EMQ.EM(rows / rows.sum(), target, epsilon=1e-9)
    ours = adjusted_prior(target, target.argmax(axis=1), rows)
    assert ours.prior == pytest.approx(prior, abs=1e-3)  # both stop when the steps are small
    assert adjust(target, prior, rows / rows.sum()) == pytest.approx(posterior, abs=1e-6)
