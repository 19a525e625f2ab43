"""KernelSHAP: Shapley values of the words, by a weighted regression on subsets of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from oodometer.arrays import Array
from oodometer.registry import register

from .black_box import REMOVE, BlackBox, weighted_r2


@register("attribution")
@dataclass
class KernelShap(BlackBox):
    r"""What a word adds to the probability, on average over all orders in which the words could come.

    With n features (the words, and the separator of a pair) and p(S) the probability where those of the subset S are
    there, the values are the phi of

        min Σ_S k(|S|) (p(S) - p(∅) - Σ_{i in S} phi_i)²   subject to   Σ_i phi_i = p(all) - p(∅),
        k(s) = (n - 1) / (C(n, s) s (n - s)),

    over subsets S that are neither empty nor whole. With all 2^n - 2 of them these are the Shapley values, exactly.
    With fewer, subsets come with their complements: first those of one feature, or of all but one; then whole sizes
    while a size has at most its share of what is left to ask, the share being that of its kernel weight; the others are
    drawn, by that weight and seeded, and share what weight is left. What the subsets cannot tell apart shares equally.
    ``fit`` is the weighted R² on the subsets asked, ``base`` is p(∅).

    samples : subsets asked of each example, beside the whole and the empty one; at least twice as many as it has
        features are asked, and at most all.
    absent : "remove", "mask" (the mask of the model's own tokenizer) or another mask.
    seed : of the draws; those of an example depend on it and on the text alone.

    Raises `UsageError` for options out of range; see `BlackBox.explain` for the rest. Source: Lundberg and Lee (2017);
    complements and whole sizes as in their software.

    >>> film = lambda texts: [[0.2, 0.8] if "good" in text else [0.8, 0.2] for text in texts]
    >>> found, = KernelShap().explain(film, ["a good film"])
    >>> found.values.round(6).tolist(), round(found.base, 6), round(found.fit, 6)
    ([0.0, 0.6, 0.0], 0.2, 1.0)
    """

    name = "kernel-shap"
    about = "Shapley values: what a word adds, on average over all orders of the words"
    citation = "lundberg2017"

    samples: int = 512
    absent: str = REMOVE
    seed: int = 0

    def _number(self, features: int) -> int:
        return 2 + _budget(self.samples, features)

    def _subsets(self, features: int, rng: np.random.Generator) -> tuple[Array, Array]:
        present, weights = shapley_subsets(features, _budget(self.samples, features), rng)
        ends = np.array([[True] * features, [False] * features])
        return np.concatenate([ends, present]), np.concatenate([[0.0, 0.0], weights])

    def _fitted(self, present: Array, weights: Array, answers: Array) -> tuple[Array, float, float]:
        full, base = float(answers[0]), float(answers[1])
        inner, p, weights = present[2:], answers[2:], weights[2:]
        features, total = inner.shape[1], full - base
        if not len(inner):
            return np.array([total]), base, math.nan
        # phi = total / n + delta, where delta sums to 0: against it a row counts as what it has above its own mean.
        size = inner.mean(axis=1, keepdims=True)
        root = np.sqrt(weights)
        delta = np.linalg.lstsq(
            (inner - size) * root[:, None], (p - base - size[:, 0] * total) * root, rcond=None
        )[0]
        values = total / features + delta
        return values, base, weighted_r2(p, base + inner @ values, weights)


def _budget(samples: int, features: int) -> int:
    """How many subsets are asked: at least those of one feature and of all but one, or values would be guesses."""
    all_subsets: int = 2**features - 2
    return min(max(samples - samples % 2, 2 * features), all_subsets)


def shapley_subsets(features: int, budget: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Subsets that are neither empty nor whole, bool, shape (subset, feature), and their weights, which sum to the
    kernel weight of the sizes that are asked. ``budget`` is even, or that of all subsets.
    """
    if features == 1:
        return np.zeros((0, 1), dtype=bool), np.zeros(0)
    sizes = np.arange(1, features // 2 + 1)
    both = np.where(2 * sizes == features, 1, 2)  # the complement of a half is a half
    mass = both * (features - 1) / (sizes * (features - sizes))
    present, weights = [], []
    remaining, first = budget, 0
    while first < len(sizes):
        count = int(both[first]) * math.comb(features, int(sizes[first]))
        share = mass[first] / mass[first:].sum()
        if count > remaining or (first > 0 and count > remaining * share * (1 + 1e-9)):
            break
        chosen = np.array(list(combinations(range(features), int(sizes[first]))))
        these = np.zeros((len(chosen), features), dtype=bool)
        np.put_along_axis(these, chosen, True, axis=1)
        # and complements
        present.append(these if 2 * sizes[first] == features else np.concatenate([these, ~these]))
        weights.append(np.full(count, mass[first] / count))
        remaining, first = remaining - count, first + 1
    pairs = remaining // 2
    if first < len(sizes) and pairs:
        # Equal steps through the distribution of sizes: each has its share of the draws to within one.
        steps = (np.arange(pairs) + rng.random()) / pairs
        cumulated = np.cumsum(mass[first:]) / mass[first:].sum()
        size = sizes[first + np.minimum(np.searchsorted(cumulated, steps), len(cumulated) - 1)]
        ranks = rng.random((pairs, features)).argsort(axis=1).argsort(axis=1)
        sampled = ranks < size[:, None]
        present += [sampled, ~sampled]
        weights.append(np.full(2 * pairs, mass[first:].sum() / (2 * pairs)))
    return np.concatenate(present), np.concatenate(weights)
