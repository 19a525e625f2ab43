"""Reliability: what k answers to a question are worth, without bias for each question, from n >= k answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..kernels.top import mix
from .clusters import MOST_CLUSTERS

_CHUNK = 4096  # answers that are worked out at a time


def pass_at_k(repeats: Array, passed: Array, k: int) -> Array:
    """1 - C(n - c, k) / C(n, k) of each question, (question,): the chance that one of k answers passes, without bias,
    from n >= k ``repeats`` of which c ``passed``. Source: Chen et al. (2021).

    >>> pass_at_k(np.array([4, 4, 4]), np.array([0, 1, 4]), 2).tolist()
    [0.0, 0.5, 1.0]
    """
    return 1 - pass_hat_k(repeats, repeats - passed, k)


def pass_hat_k(repeats: Array, passed: Array, k: int) -> Array:
    """pass^k, C(c, k) / C(n, k) of each question, (question,): the chance that all of k answers pass, without bias,
    from n >= k ``repeats`` of which c ``passed``. Source: Yao et al. (2024), tau-bench.

    >>> pass_hat_k(np.array([4, 4, 4]), np.array([0, 2, 4]), 2).round(3).tolist()
    [0.0, 0.167, 1.0]
    """
    chance = np.ones(len(repeats))
    for i in range(k):  # C(c, k) / C(n, k) as a product; 0 where fewer than k passed
        chance *= np.clip(passed - i, 0, None) / (repeats - i)
    return chance


@dataclass(frozen=True, eq=False)
class Answers:
    """How often each answer was given to each question, and how often it was right; states merge.

    questions, answers : keys, uint64, shape (answer,), ascending by question. counts : times that the answer was given,
    times that it was right, shape (2, answer). bits : as of `Clusters`: of more than `MOST_CLUSTERS` questions an even
    sample of whole ones.

    >>> given = Answers.of(np.zeros(3, np.uint64), np.array([7, 7, 9], np.uint64), np.array([1, 1, 0]))
    >>> given.repeats.tolist(), given.maj_at_k(1).round(3).tolist(), given.maj_at_k(3).tolist()
    ([3], [0.667], [1.0])
    """

    questions: Array
    answers: Array
    counts: Array
    bits: int = 0

    @classmethod
    def of(cls, questions: Array, answers: Array, correct: Array) -> Answers:
        """State of rows with these keys of their question and their answer, and whether they are right, (sample,)."""
        right = np.asarray(correct, dtype=np.float64)
        return cls(questions, answers, np.stack([np.ones_like(right), right]))._joined()

    def __add__(self, other: Answers) -> Answers:
        return Answers(
            np.concatenate([self.questions, other.questions]),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.counts, other.counts], axis=1),
            max(self.bits, other.bits),
        )._joined()

    def _joined(self) -> Answers:
        """Each answer to a question once, of at most `MOST_CLUSTERS` questions."""
        order = np.lexsort((self.answers, self.questions))
        questions, answers = self.questions[order], self.answers[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (questions[1:] != questions[:-1]) | (answers[1:] != answers[:-1])
        at = np.cumsum(new) - 1
        counts = np.stack([np.bincount(at, row[order]) for row in self.counts])
        questions, answers, bits = questions[new], answers[new], self.bits
        while True:
            kept = mix(questions) & np.uint64((1 << bits) - 1) == 0
            if len(np.unique(questions[kept])) <= MOST_CLUSTERS:
                return Answers(questions[kept], answers[kept], counts[:, kept], bits)
            bits += 1

    @property
    def rows(self) -> int:
        """Rows in it."""
        return int(self.counts[0].sum())

    @property
    def repeats(self) -> Array:
        """Answers to each question, (question,)."""
        at = np.unique(self.questions, return_inverse=True)[1]
        return np.bincount(at, self.counts[0]).astype(np.int64)

    def maj_at_k(self, k: int) -> Array:
        """maj@k of each question, (question,): the chance that the most frequent of k answers, drawn without
        replacement from n >= k, is right; of answers that are equally frequent one is drawn at random.

        Answer a is the one where x of the k are a and no other answer b is given more often, 1 / (1 + ties) of it where
        others are given as often. With u for each tie, int_0^1 u^ties du = 1 / (1 + ties), so the chance is

            sum_x C(n_a, x) / C(n, k) int_0^1 [z^(k - x)] prod_b (sum_{y<x} C(n_b, y) z^y + u C(n_b, x) z^x) du,

        exact by Gauss and Legendre, as the integrand is a polynomial in u. An answer that was right in some of its rows
        alone counts by their share. Source: Wang et al. (2023) for the vote.
        """
        names, at, size = np.unique(self.questions, return_inverse=True, return_counts=True)
        place = np.arange(len(at)) - (np.cumsum(size) - size)[at]
        given = np.zeros((len(names), int(size.max())))
        given[at, place] = self.counts[0]
        out = np.zeros(len(names))
        right = np.flatnonzero(self.counts[1])
        for start in range(0, len(right), _CHUNK):
            rows = right[start : start + _CHUNK]
            others = given[at[rows]]
            others[np.arange(len(rows)), place[rows]] = 0
            chance = _most_frequent(self.counts[0, rows], others, k)
            share = self.counts[1, rows] / self.counts[0, rows]
            out += np.bincount(at[rows], chance * share, len(names))
        return np.clip(out, 0, 1)


def _most_frequent(given: Array, others: Array, k: int) -> Array:
    """The chance that an answer is the one that k draws name most often, (row,): it was ``given`` (row,) times, and the
    ``others`` so often, (row, answer).
    """
    total = given + others.sum(axis=1)
    own, rest = _scaled_binomials(given, total, k), _scaled_binomials(others.T, total, k)
    chance = np.zeros(len(given))
    for x in range(1, int(min(given.max(), k)) + 1):
        nodes, weights = np.polynomial.legendre.leggauss(k // x // 2 + 1)
        for u, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            ways = np.zeros((len(given), k - x + 1))
            ways[:, 0] = 1
            for other in rest:
                more = other[:, : x + 1].copy()
                more[:, x:] *= u
                ways = _product(ways, more)
            chance += weight * own[:, x] * ways[:, k - x]
    return np.asarray(chance / _scaled_binomials(total, total, k)[:, k])


def _product(a: Array, b: Array) -> Array:
    """Products of polynomials, (row, power), as far as the powers of the first reach."""
    out = a * b[:, :1]
    for power in range(1, min(a.shape[1], b.shape[1])):
        out[:, power:] += a[:, : a.shape[1] - power] * b[:, power : power + 1]
    return np.asarray(out)


def _scaled_binomials(counts: Array, total: Array, k: int) -> Array:
    """C(count, y) (k / total)^y for y = 0 .. k, (..., row, y), 0 where y is more than the count; the factor, the same
    on both sides of a share, keeps large ones finite.
    """
    from scipy.special import gammaln

    y, n = np.arange(k + 1), np.asarray(counts, dtype=np.float64)[..., None]
    rest = np.maximum(n - y, 0)
    logs: Any = gammaln(n + 1) - gammaln(y + 1) - gammaln(rest + 1)
    return np.where(y <= n, np.exp(logs + y * np.log(k / total)[:, None]), 0.0)
