"""Confidence tilt: rows on which the model is unsure become more common, or less."""

from __future__ import annotations

from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..predictions import Predictions
from ..registry import register
from .base import Simulation, draw_by_weight


@final
@register("simulation")
class ConfidenceTilt(Simulation):
    """Weights exp(-4 s r) with r in [0, 1] the rank of the row's confidence: harder targets; easier for s < 0.

    s = -0.5, 0.25, 0.5, 1 is the severity. Confidence is the max probability, `confidence`, or the share of members
    that agree. P(correct | confidence) stays. Source: Garg et al. (2022), who resample by difficulty.

    >>> rng = np.random.default_rng(0)
    >>> p = Predictions.from_confidence(rng.random(300), correct=[1] * 300)
    >>> float(ConfidenceTilt().draw(p, 1.0, rng).confidence.mean()) < 0.4
    True
    """

    name = "confidence_tilt"
    about = "unsure rows become more common (or less)"
    severities = (-0.5, 0.25, 0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Some confidence is needed."""
        return None if _confidence(pool) is not None else "needs `probabilities`, `confidence` or `members`"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """Rows by weights that fall with confidence."""
        confidence = _confidence(pool)
        if confidence is None:
            return None
        noise = 1e-9 * rng.random(len(pool))  # equal confidences are ranked by chance
        rank = np.argsort(np.argsort(confidence + noise)) / len(pool)
        return draw_by_weight(pool, -4 * severity * rank, rng)


def _confidence(pool: Predictions) -> Array | None:
    if pool.probabilities is not None:
        return pool.own_probability
    if pool.confidence is not None:
        return pool.confidence
    if pool.members is not None:
        try:
            agreed: Array = (pool.members == pool.predicted).mean(axis=0)
        except NotApplicable:
            return None
        return agreed
    return None
