"""A small network for the demonstration: one hidden layer, trained in a tenth of a second."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from ...arrays import Array, softmax

_EPOCHS, _BATCH = 80, 200
_RATE, _PENALTY = 0.005, 1e-4
_FIRST, _SECOND = 0.9, 0.999  # how long Adam remembers means, and squares


@final
@dataclass(frozen=True)
class Network:
    """softmax(max(x W + b, 0) V + c); ``weights`` is (W, V), ``biases`` is (b, c)."""

    weights: tuple[Array, Array]
    biases: tuple[Array, Array]

    def hidden(self, x: Array) -> Array:
        """The hidden layer, shape (sample, unit)."""
        out: Array = np.maximum(x @ self.weights[0] + self.biases[0], 0)
        return out

    def probabilities(self, x: Array) -> Array:
        """Shape (sample, class)."""
        return softmax(self.hidden(x) @ self.weights[1] + self.biases[1])


def train(x: Array, labels: Array, *, units: int = 32, seed: int = 0) -> Network:
    """A network fitted to ``x`` of shape (sample, input) and classes 0 to K - 1 by Adam, 80 epochs in batches of 200.

    It makes the draws of scikit-learn's ``MLPClassifier((units,), max_iter=80, learning_rate_init=0.005)`` and gives
    its numbers, without a library that nothing else in the core needs. Source: Kingma and Ba (2015).

    >>> x = np.array([[0.0, 1.0], [1.0, 0.0]] * 50)
    >>> train(x, np.array([0, 1] * 50)).probabilities(x[:2]).argmax(axis=1).tolist()
    [0, 1]
    """
    draws = np.random.RandomState(seed)
    truth = np.eye(int(labels.max()) + 1)[labels]
    widths = (x.shape[1], units, truth.shape[1])
    weights, biases = [], []
    for fan_in, fan_out in pairwise(widths):
        bound = np.sqrt(6 / (fan_in + fan_out))
        weights.append(draws.uniform(-bound, bound, (fan_in, fan_out)))
        biases.append(draws.uniform(-bound, bound, fan_out))
    net = Network((weights[0], weights[1]), (biases[0], biases[1]))
    parameters = [*weights, *biases]
    means, squares = [np.zeros_like(one) for one in parameters], [np.zeros_like(one) for one in parameters]
    order, step = np.arange(len(x)), 0
    for _ in range(_EPOCHS):
        shuffled = np.arange(len(x))
        draws.shuffle(shuffled)
        order = order[shuffled]
        for start in range(0, len(x), _BATCH):
            rows = order[start : start + _BATCH]
            step += 1
            rate = _RATE * np.sqrt(1 - _SECOND**step) / (1 - _FIRST**step)
            for value, slope, mean, square in zip(
                parameters, _slopes(net, x[rows], truth[rows]), means, squares, strict=True
            ):
                mean += (1 - _FIRST) * (slope - mean)
                square += (1 - _SECOND) * (slope**2 - square)
                value -= rate * mean / (np.sqrt(square) + 1e-8)
    return net


def _slopes(net: Network, x: Array, truth: Array) -> tuple[Array, Array, Array, Array]:
    """Gradients of the mean log loss with its L2 penalty, by W, V, b and c."""
    hidden = net.hidden(x)
    wrong = softmax(hidden @ net.weights[1] + net.biases[1]) - truth
    back = (wrong @ net.weights[1].T) * (hidden > 0)
    into, out = (
        (left.T @ right + _PENALTY * weight) / len(x)
        for left, right, weight in ((x, back, net.weights[0]), (hidden, wrong, net.weights[1]))
    )
    return into, out, back.mean(axis=0), wrong.mean(axis=0)
