"""The demonstration's digits and networks are those of scikit-learn, which it does without."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from oodometer.verbs.demo import digits, train


def test_the_digits_are_scikit_learns() -> None:
    images, labels = digits(3)
    theirs = load_digits()
    order = np.random.default_rng(3).permutation(len(labels))
    np.testing.assert_array_equal(images, theirs.data[order])
    np.testing.assert_array_equal(labels, theirs.target[order])


@pytest.mark.parametrize("seed", [1003])
def test_a_network_has_the_weights_of_scikit_learns(seed: int) -> None:
    images, labels = digits(0)
    x, truth = images[:450] / 16, labels[:450]
    theirs = MLPClassifier((32,), max_iter=80, learning_rate_init=0.005, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(x, truth)
    ours = train(x, truth, seed=seed)
    assert theirs.n_iter_ == 80  # it did not stop early, which ours never does
    for i in range(2):
        np.testing.assert_allclose(ours.weights[i], theirs.coefs_[i], atol=1e-9)
        np.testing.assert_allclose(ours.biases[i], theirs.intercepts_[i], atol=1e-9)
    np.testing.assert_allclose(ours.probabilities(images / 16), theirs.predict_proba(images / 16), atol=1e-9)
