"""LIME: a weighted ridge regression of the answers near a text on which of its words are there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import UsageError
from oodometer.registry import register

from .black_box import REMOVE, BlackBox, weighted_r2


@register("attribution")
@dataclass
class Lime(BlackBox):
    r"""Coefficients of a linear model that follows the classifier near the text.

    With n features (the words, and the separator of a pair), z in {0, 1}^n says which are there. The whole text comes
    first; in every other sample the number of absent features is drawn from 1..n, then which. Sample i has the weight

        w_i = exp(-d_i² / (2 width²)),   d_i = 100 (1 - cos(z_i, 1)) = 100 (1 - sqrt(|z_i| / n)),

    and the values are the b of the ridge regression min Σ_i w_i (p_i - a - b·z_i)² + alpha |b|². ``fit`` is its
    weighted R². Values are in units of probability; they do not add up to anything.

    samples : texts asked of each example, the whole one among them.
    absent : "remove", "mask" (the mask of the model's own tokenizer) or another mask.
    kernel_width : the width, in hundredths of cosine distance.
    alpha : the weight of the ridge.
    seed : of the draws; those of an example depend on it and on the text alone.

    Raises `UsageError` for options out of range; see `BlackBox.explain` for the rest. Source: Ribeiro et al. (2016);
    kernel, width, alpha and draws are those of their software, whose kernel has the factor 1/2 that the paper has not.
    There the words are word types by default; here each word is its own.

    >>> film = lambda texts: [[0.2, 0.8] if "good" in text else [0.8, 0.2] for text in texts]
    >>> found, = Lime(samples=500).explain(film, ["a good film"])
    >>> found.words.words, (found.values.round(1) + 0).tolist(), found.target
    (('a', 'good', 'film'), [0.0, 0.6, 0.0], 1)
    """

    name = "lime"
    about = "coefficients of a linear model that follows the classifier near the text"
    citation = "ribeiro2016"

    samples: int = 512
    absent: str = REMOVE
    kernel_width: float = 25.0
    alpha: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, why in (
            ("kernel_width", ""),
            ("alpha", "; with fewer samples than words it is needed"),
        ):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
                value, bool
            )
            if not number or not 0 < value < math.inf:
                raise UsageError(f"expected {name} above 0, got {value!r}{why}")

    def _number(self, features: int) -> int:
        return self.samples

    def _subsets(self, features: int, rng: np.random.Generator) -> tuple[Array, Array]:
        absent = rng.integers(1, features + 1, size=(self.samples - 1, 1))
        ranks = rng.random((self.samples - 1, features)).argsort(axis=1).argsort(axis=1)
        present = np.concatenate([np.ones((1, features), dtype=bool), ranks >= absent])
        distances = 100 * (1 - np.sqrt(present.mean(axis=1)))
        return present, np.exp(-(distances**2) / (2 * self.kernel_width**2))

    def _fitted(self, present: Array, weights: Array, answers: Array) -> tuple[Array, float, float]:
        x = present.astype(np.float64)
        middle, mean = np.average(x, axis=0, weights=weights), np.average(answers, weights=weights)
        away = x - middle
        weighted = away * weights[:, None]
        values = np.linalg.solve(
            weighted.T @ away + self.alpha * np.eye(x.shape[1]), weighted.T @ (answers - mean)
        )
        return values, math.nan, weighted_r2(answers, mean + away @ values, weights)
