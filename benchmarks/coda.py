"""CODA (Kay et al., 2025): which row to label next to find the best model, by what the models agree on.

Model k's confusions have a Dirichlet prior for each class c: 1 for the right answer, 1 / (C - 1) for each other one,
and 0.1 of what k says where the mean of all models says c, times 2. A label adds 0.01 to the row of its class. What a
row says of its class: P(c | x) is proportional to the sum over models of their counts of c for what they answer; its
mean is P(c). How likely a model is the best among rows of class c follows from the Beta distributions of P(right | c):

    P(best) = sum_c P(c) P(best | c).

Asked is the row, of those on which models differ, whose label leaves the least entropy of P(best) in expectation, as if
it counted 1. The model of the largest P(best) is named. Numbers are those of the published software.
"""

from __future__ import annotations

import numpy as np

_GRID = np.linspace(1e-6, 1 - 1e-6, 256)
_CONSENSUS, _SCALE, _OF_A_LABEL = 0.1, 2.0, 0.01
_AT_ONCE = 256
_TIED = 1e-8


def p_best(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """P(a model has the largest of independent Beta(right, wrong) values); shapes (case, model), by the trapezoid rule.

    >>> p_best(np.array([[3.0, 3.0]]), np.array([[2.0, 2.0]])).round(3).tolist()
    [[0.5, 0.5]]
    """
    out, step = np.empty_like(right), _GRID[1] - _GRID[0]
    for start in range(0, len(right), _AT_ONCE):
        a, b = (part[start : start + _AT_ONCE, :, None] for part in (right, wrong))
        log_density = (a - 1) * np.log(_GRID) + (b - 1) * np.log1p(-_GRID)
        density = np.exp(log_density - log_density.max(axis=2, keepdims=True))
        density /= np.trapezoid(density, dx=step, axis=2)[..., None]
        below = np.zeros_like(density)
        below[..., 1:] = np.cumsum((density[..., 1:] + density[..., :-1]) * step / 2, axis=2)
        logs = np.log(np.maximum(below, 1e-30))
        others = np.exp(logs.sum(axis=1, keepdims=True) - logs)
        share = np.trapezoid(density * others, dx=step, axis=2)
        out[start : start + _AT_ONCE] = share / share.sum(axis=1, keepdims=True)
    return out


def entropy(p: np.ndarray) -> np.ndarray:
    """Entropy in bits along the last axis."""
    p = np.maximum(p, 1e-12)
    return np.asarray(-(p * np.log2(p)).sum(axis=-1))


class Coda:
    """What is believed of models from what they say of all rows, and from the labels so far.

    Parameters
    ----------
    answers : probabilities, shape (model, row, class).
    """

    def __init__(self, answers: np.ndarray) -> None:
        self.answers, self.said = answers, answers.argmax(axis=2)
        classes = answers.shape[2]
        consensus = np.eye(classes)[answers.mean(axis=0).argmax(axis=1)]
        confusion = np.matmul(consensus.T, answers)
        confusion /= np.maximum(confusion.sum(axis=2, keepdims=True), 1e-6)
        prior = np.full((classes, classes), 1 / (classes - 1))
        np.fill_diagonal(prior, 1.0)
        self.counts = _SCALE * (prior + _CONSENSUS * confusion)
        # sum over models of their counts of each class for what they answer, (row, class)
        self._told = np.matmul(answers, self.counts.transpose(0, 2, 1)).sum(axis=0)
        self.open = (self.said != self.said[0]).any(axis=0)
        self._of_class = [self._beliefs(c) for c in range(classes)]

    def _beliefs(self, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P(best | c) now, (model,); after a label c, for each way in which models may say c, (way, model); and the way
        of each row.
        """
        right = self.counts[:, c, c]
        wrong = self.counts[:, c].sum(axis=1) - right
        ways, way = np.unique((self.said == c).T, axis=0, return_inverse=True)
        after = p_best(right + ways, wrong + ~ways)
        return p_best(right[None], wrong[None])[0], after, way.ravel()

    def shares(self) -> np.ndarray:
        """P(c | row), shape (row, class)."""
        return np.asarray(self._told / self._told.sum(axis=1, keepdims=True))

    def best(self) -> np.ndarray:
        """P(best), shape (model,)."""
        now = np.array([belief[0] for belief in self._of_class])
        return np.asarray(self.shares().mean(axis=0) @ now)

    def gain(self) -> np.ndarray:
        """Bits that a label is expected to tell of which model is the best, shape (row,)."""
        shares = self.shares()
        of_class = shares.mean(axis=0)
        now = np.array([belief[0] for belief in self._of_class])
        best = of_class @ now
        left = np.zeros(len(shares))
        for c, (of_now, after, way) in enumerate(self._of_class):
            left += shares[:, c] * entropy(best + of_class[c] * (after - of_now))[way]
        return np.asarray(entropy(best) - left)

    def add(self, row: int, truth: int) -> None:
        """A label."""
        models, said = np.arange(len(self.said)), self.said[:, row]
        self.counts[models, truth, said] += _OF_A_LABEL
        self._told[:, truth] += _OF_A_LABEL * self.answers[models, :, said].sum(axis=0)
        self._of_class[truth] = self._beliefs(truth)


def asked(
    answers: np.ndarray, truth: np.ndarray, count: int, seed: int
) -> tuple[list[int], list[np.ndarray]]:
    """The rows that CODA asks for, one after the other, ties at random, and P(best) after each label."""
    rng, coda = np.random.default_rng([seed, 0xC0DA]), Coda(answers)
    rows, beliefs = list[int](), list[np.ndarray]()
    while len(rows) < count:
        gain = coda.gain()
        free = np.isin(np.arange(len(truth)), rows, invert=True)
        gain[~(free & coda.open) if (free & coda.open).any() else ~free] = -np.inf
        rows.append(int(rng.choice(np.flatnonzero(gain >= gain.max() - _TIED))))
        coda.add(rows[-1], int(truth[rows[-1]]))
        beliefs.append(coda.best())
    return rows, beliefs
