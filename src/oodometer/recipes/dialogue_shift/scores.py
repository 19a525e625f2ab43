"""Scores: accuracy, Brier score and calibration error of every method on a condition, and their bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, final

import numpy as np

from ...arrays import Array, softmax
from ...metrics.brier import brier_score
from ...metrics.ece import expected_calibration_error

METHODS = ("vanilla", "temperature", "dropout", "ensemble")
METRICS = ("accuracy", "brier", "ece")
BINS = 10
"""Buckets of equal width of the calibration error; the paper does not tell its number."""
_ROUNDING = 1e-6  # weights and sums of the replicates are float32


@final
@dataclass(frozen=True)
class Said:
    """What one method said of one condition: probabilities (model, sample, candidate), targets, conversations."""

    probabilities: Array
    target: Array
    conversation: Array

    def take(self, kept: Array) -> Said:
        """The samples at some places, or where a mask says so."""
        return Said(self.probabilities[:, kept], self.target[kept], self.conversation[kept])

    def models(self, many: int) -> Said:
        """The first models alone."""
        return Said(self.probabilities[:many], self.target, self.conversation)

    @cached_property
    def right(self) -> Array:
        """Whether each model put the true candidate first, float64, shape (model, sample)."""
        found: Array = (self.probabilities.argmax(-1) == self.target).astype(np.float64)
        return found

    @cached_property
    def confidence(self) -> Array:
        """Probability of the first candidate, shape (model, sample)."""
        found: Array = self.probabilities.max(-1).astype(np.float64)
        return found

    def value(self, metric: str, model: int) -> float:
        """A metric of one model, by the library; ``ece_all`` takes every candidate as an event of its own."""
        p = self.probabilities[model].astype(np.float64)
        p /= p.sum(1, keepdims=True)  # stored in float32
        if metric == "accuracy":
            return float(self.right[model].mean())
        if metric == "brier":
            return brier_score(p, self.target)
        if metric == "ece":
            return expected_calibration_error(p.max(1), self.right[model], BINS)
        true = np.arange(p.shape[1]) == self.target[:, None]
        return expected_calibration_error(p.ravel(), true.ravel(), BINS)


@final
class Methods:
    """Every method on every condition, from the logits of the members and the means of passes with dropout."""

    def __init__(
        self,
        logits: Mapping[str, Array],
        dropout: Mapping[str, Array],
        target: Mapping[str, Array],
        conversation: Mapping[str, Array],
        temperatures: Sequence[float],
    ) -> None:
        self._logits, self._dropout = logits, dropout
        self._target, self._conversation = target, conversation
        self._scale = np.asarray(temperatures, dtype=np.float64)[:, None, None]

    def said(self, method: str, condition: str, models: int | None = None) -> Said | None:
        """What a method said; ``models``: of an ensemble, how many are averaged, each choice of them once."""
        if method == "dropout":
            if condition not in self._dropout:
                return None
            return self._of(self._dropout[condition], condition)
        logits = self._logits[condition].astype(np.float64)
        p = softmax(logits / self._scale if method == "temperature" else logits)
        if method == "ensemble":
            chosen = combinations(range(len(p)), models or len(p))
            p = np.stack([p[list(one)].mean(0) for one in chosen])
        return self._of(p, condition)

    def _of(self, probabilities: Array, condition: str) -> Said:
        return Said(probabilities, self._target[condition], self._conversation[condition])


def sums(said: Said, metric: str) -> Array:
    """What is added up over samples, shape (model, sample, part): one part, or for the calibration error one a bin."""
    if metric == "accuracy":
        return said.right[..., None]
    if metric == "brier":
        p = said.probabilities.astype(np.float64)
        own = np.take_along_axis(p, np.broadcast_to(said.target, p.shape[:2])[..., None], -1)
        squares: Array = (p * p).sum(-1, keepdims=True) - 2 * own + 1
        return squares
    at = np.clip(np.ceil(said.confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    gaps: Array = (at[..., None] == np.arange(BINS)) * (said.right - said.confidence)[..., None]
    return gaps


@final
class Bootstrap:
    """Draws of whole conversations, the same for every method and condition, so that differences are paired."""

    def __init__(self, conversations: Sequence[str], replicates: int, seed: int) -> None:
        self._place = {name: place for place, name in enumerate(sorted(set(conversations)))}
        many = len(self._place)
        rng = np.random.default_rng(seed)
        self._draws = rng.multinomial(many, np.full(many, 1 / many), size=replicates).astype(np.float32)

    def metric(self, said: Said, metric: str) -> tuple[Array, Array]:
        """A metric as it was seen, shape (model,), and in every replicate, shape (replicate, model)."""
        parts = sums(said, metric)
        seen = np.abs(parts.sum(1)).sum(-1) / max(parts.shape[1], 1)
        weights = self._draws[:, [self._place[one] for one in said.conversation]]
        rows = np.maximum(weights.sum(1), 1)[:, None]
        drawn = np.stack([np.abs(weights @ one.astype(np.float32)).sum(-1) for one in parts], axis=1) / rows
        return seen, drawn

    def apart(self, *terms: tuple[float, Said, str]) -> dict[str, Any]:
        """A sum of metrics, each with its sign, averaged over models: its value, its error, and the share ``above`` 0.

        The share is that of the replicates turned over (2 * seen - drawn, the basic bootstrap), those at 0 counted
        half: a calibration error is too large in a sample, and by as much again in a sample of it. ``by_model`` where
        all terms have as many models.
        """
        found = [(sign, *self.metric(said, metric)) for sign, said, metric in terms]
        drawn = np.sum([sign * each.mean(1) for sign, _, each in found], axis=0)
        value = float(sum(sign * seen.mean() for sign, seen, _ in found))
        turned = 2 * value - drawn
        equal = np.abs(turned) < _ROUNDING
        models = {len(seen) for _, seen, _ in found}
        by_model = np.sum([sign * seen for sign, seen, _ in found], axis=0).tolist() if len(models) == 1 else []
        return {
            "value": value,
            "error": float(drawn.std(ddof=1)),
            "above": float(((turned > 0) & ~equal).mean() + equal.mean() / 2),
            "by_model": by_model,
            "rows": [len(said.target) for _, said, _ in terms],
        }
