"""The demonstration's digits and networks are those of scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from oodometer.verbs.demo import digits, networks


def test_the_digits_are_scikit_learns() -> None:
    images, labels = digits(3)
    theirs = load_digits()
    order = np.random.default_rng(3).permutation(len(labels))
    np.testing.assert_array_equal(images, theirs.data[order])
    np.testing.assert_array_equal(labels, theirs.target[order])


def test_a_network_has_the_weights_of_scikit_learns() -> None:
    images, labels = digits(0)
    theirs = MLPClassifier((32,), max_iter=80, learning_rate_init=0.005, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(images[:700] / 16, labels[:700])
    ours = networks()
    assert len(ours) == 5
    np.testing.assert_allclose(
        ours[3].probabilities(images / 16), theirs.predict_proba(images / 16), atol=1e-9
    )
