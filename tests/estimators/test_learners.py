"""The domain classifier's learners against scikit-learn, whose import they spare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from oodometer.arrays import Array
from oodometer.inference.domain_classifier import (
    compare_samples,
    compared_once,
    domain_sample,
    fit_boosting,
    fit_logistic,
    principal_components,
)
from oodometer.testing import example_record


def case(seed: int, rows: int, columns: int, distinct: int, strength: float) -> tuple[Array, Array]:
    """Standardised columns, some of a few values and one the mirror of another, and two classes they tell apart."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    x[:, ::2] = rng.integers(0, distinct, size=x[:, ::2].shape)
    x[:, -1] = -x[:, 0]
    y = (strength * x[:, 0] + rng.logistic(size=rows) > strength * np.median(x[:, 0])).astype(int)
    y[:2] = 0, 1
    return (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12), y


cases = st.builds(
    case,
    seed=st.integers(0, 10_000),
    rows=st.integers(60, 400),
    columns=st.integers(1, 6),
    distinct=st.integers(2, 90),
    strength=st.floats(0, 5),
)


@settings(max_examples=25, deadline=None)
@given(one=cases, c=st.sampled_from([1.0, 0.01]))
def test_logistic_regression_is_that_of_sklearn(one: tuple[Array, Array], c: float) -> None:
    x, y = one
    both = np.hstack([x, np.square(x)])
    oracle = LogisticRegression(C=c, solver="newton-cholesky").fit(both, y).decision_function(both)
    assert fit_logistic(both, y, c)(both) == pytest.approx(oracle, abs=1e-6)


def test_logistic_regression_of_separated_classes_is_finite() -> None:
    x = np.concatenate([np.linspace(-5, -4, 50), np.linspace(4, 5, 50)])[:, None]
    y = np.repeat([0, 1], 50)
    oracle = LogisticRegression(C=1.0, solver="newton-cholesky").fit(x, y).decision_function(x)
    assert fit_logistic(x, y, 1.0)(x) == pytest.approx(oracle, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(one=cases)
def test_boosting_is_that_of_sklearn(one: tuple[Array, Array]) -> None:
    x, y = one
    model = HistGradientBoostingClassifier(max_iter=50, max_depth=3, max_bins=64, early_stopping=False)
    other = x[::-1] * 0.9
    assert fit_boosting(x, y)(other) == pytest.approx(model.fit(x, y).decision_function(other), abs=1e-6)


@pytest.mark.parametrize("shape", [(300, 70), (55, 120)])
def test_principal_components_are_those_of_sklearn(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1])
    x -= x.mean(axis=0)
    oracle = PCA(40, svd_solver="randomized", iterated_power=1, random_state=0).fit_transform(x)
    assert principal_components(x, 40) == pytest.approx(oracle, abs=1e-6)


def test_a_comparison_is_shared_and_does_not_depend_on_what_else_is_sampled() -> None:
    reference, target = example_record(), example_record(seed=5)
    plain, more = domain_sample(reference), domain_sample(reference, "verdicts")
    there = domain_sample(target)
    alone = compare_samples(plain, there)
    with compared_once():
        first, second = compare_samples(plain, there), compare_samples(more, there)
    assert first.auc == second.auc == alone.auc
    assert first.weights == pytest.approx(alone.weights)
    by_row = {}
    for sample, found in ((plain, first), (more, second)):
        rows = [tuple(row) for row in sample["probabilities"].tolist()]
        by_row[len(by_row)] = sorted(zip(rows, found.weights.tolist(), strict=True))
    assert by_row[0] == by_row[1]
