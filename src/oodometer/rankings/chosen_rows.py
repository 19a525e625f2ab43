"""Chosen rows: P(best) and P(a beats b) where labelled rows were chosen by what the models say, not at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from .patterns import Patterns, checked_classes, patterns_of
from .posterior import PRIOR, Posterior

__all__ = ["posterior_by_pattern"]

_DRAWS = 4000
_AT_ONCE = 2_000_000  # gamma numbers that are drawn at once


def posterior_by_pattern(
    found: Posterior, predicted: Any, truth: Any, pool: Any = None, *, prior: float = PRIOR, seed: int = 0
) -> Posterior:
    """The posterior with P(best) and P(a beats b) that hold for rows chosen by disagreement.

    Of three models, rows on which one stands against two are worth most and are chosen first; there the one is wrong
    more often than where it differs from one alone. Counting their labels as those of random rows turns orders round.
    Within a pattern k (what each model says of a row) a choice by the models' words is random, so that

        accuracy_a - accuracy_b = sum_k pi_k (theta_k,y_a - theta_k,y_b),

    pi_k the share of the pattern among all rows, ~ Dirichlet(rows of the pattern), and theta_k the shares of the
    classes in it, ~ Dirichlet(g_kc + n_kc): n_kc the labels, g_kc the prior of `posterior`, evenly among the classes
    that the models predict. Patterns without a label stay as open as before. Probabilities are shares of 4,000 draws.

    Parameters
    ----------
    found :
        What `posterior` gave for the same rows; its counts and intervals are kept.
    predicted, truth, pool, prior :
        As there; all rows together are a random sample, as the pool that rows were chosen from is one.
    seed :
        Of the draws.

    Raises `UsageError` and `InputError` as `posterior` does.

    >>> from .posterior import posterior
    >>> says = [[1, 1, 1, 1], [0, 0, 0, 0]]  # four chosen rows, all won by the first; the pool has others
    >>> pool = [[1] * 10 + [0] * 90, [0] * 10 + [1] * 90]
    >>> plain = posterior(says, [1, 1, 1, 1], pool)
    >>> careful = posterior_by_pattern(plain, says, [1, 1, 1, 1], pool)
    >>> bool(plain.p_better[0, 1] > 0.95), bool(careful.p_better[0, 1] < 0.7)
    (True, True)
    """
    asked, true = checked_classes(predicted, "predictions"), np.asarray(truth)
    rest = asked[:, :0] if pool is None else checked_classes(pool, "predictions on the pool", len(asked))
    patterns = patterns_of(np.concatenate([asked, rest], axis=1))
    if not len(patterns.counts):
        return found
    right, weight, of = _cells(patterns, asked[:, true >= 0], true[true >= 0], prior)
    scores = _scores(right, weight, of, patterns.counts, np.random.default_rng([seed, 0xC405]))
    p_better = np.full((len(asked), len(asked)), 0.5)
    for a, b in zip(*np.nonzero(patterns.pairs), strict=True):
        p_better[a, b] = (scores[:, a] > scores[:, b]).mean() + (scores[:, a] == scores[:, b]).mean() / 2
    same = patterns.pairs == 0
    first = same.argmax(axis=1)  # models that never differ are one, whose share they divide
    alone = np.unique(first)
    share = np.bincount(alone[scores[:, alone].argmax(axis=1)], minlength=len(asked)) / len(scores)
    p_best = share[first] / same.sum(axis=1)
    mean = p_better.sum(axis=1)
    order = tuple(sorted(range(len(asked)), key=lambda i: (-p_best[i], -mean[i], i)))
    return replace(found, order=order, p_best=p_best, p_better=p_better)


def _cells(patterns: Patterns, labelled: Array, true: Array, prior: float) -> tuple[Array, Array, Array]:
    """Cells (pattern, class): whether each model is right, (cell, model), the weight, (cell,), the pattern, (cell,).

    The last cell of each pattern holds the labels that no model predicts there.
    """
    right, weight, of = [], [], []
    labels: dict[bytes, list[int]] = {}
    for row, label in zip(np.ascontiguousarray(labelled.T), true.tolist(), strict=True):
        labels.setdefault(row.tobytes(), []).append(label)
    for number, (said, count) in enumerate(zip(patterns.predicted, patterns.counts, strict=True)):
        apart = said[:, None] != said
        start = prior * count / patterns.pairs[apart].min()
        seen, there = labels.get(np.ascontiguousarray(said).tobytes(), []), np.unique(said)
        for one in there:
            right.append(said == one)
            weight.append(start / len(there) + seen.count(int(one)))
        right.append(np.zeros(len(said), dtype=bool))
        weight.append(float(sum(label not in there for label in seen)))
        of += [number] * (len(there) + 1)
    return np.array(right), np.array(weight), np.array(of)


def _scores(right: Array, weight: Array, of: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Draws of the share of rows on which a model is right, times one number for all models, shape (draw, model)."""
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    out = []
    step = max(1, _AT_ONCE // len(of))
    for start in range(0, _DRAWS, step):
        many = min(step, _DRAWS - start)
        drawn = rng.standard_gamma(weight, (many, len(weight)))
        whole = np.add.reduceat(drawn, begins, axis=1)
        shares = rng.standard_gamma(counts, (many, len(counts))) / np.where(whole > 0, whole, 1.0)
        out.append((drawn * shares[:, of]) @ right.astype(np.float64))
    return np.concatenate(out)
