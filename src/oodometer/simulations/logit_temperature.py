"""Logit temperature: confidence changes and the predictions do not, as when calibration does not carry over."""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from ..arrays import softmax
from ..predictions import Predictions
from ..registry import register
from .base import Simulation, draw_by_weight

_SMALLEST = 1e-6


@final
@register("simulation")
class LogitTemperature(Simulation):
    """z' = z / t with t = exp(s): sharper for s < 0, flatter for s > 0; accuracy stays.

    s = -0.5, -0.25, 0.25, 0.5 is the severity. Every method that reads confidence errs here; agreement does not. Needs
    `probabilities`. Source: Guo et al. (2017) for the transformation.

    >>> p = Predictions.from_probabilities([[0.9, 0.1]] * 100, label=[0] * 100)
    >>> LogitTemperature().draw(p, 0.5, np.random.default_rng(0)).top.first.mean() < 0.85
    np.True_
    """

    name = "logit_temperature"
    about = "the model becomes more or less sure, and no better or worse"
    severities = (-0.5, -0.25, 0.25, 0.5)

    def why_not(self, pool: Predictions) -> str | None:
        """Probabilities are needed."""
        return None if pool.probabilities is not None else "needs `probabilities` (or `logits`)"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """A random part of the pool at another temperature."""
        drawn = draw_by_weight(pool, np.zeros(len(pool)), rng)
        if drawn is None or drawn.probabilities is None:
            return None
        logits = np.log(np.maximum(drawn.probabilities, _SMALLEST)) if drawn.logits is None else drawn.logits
        return replace(
            drawn,
            _cache={},
            probabilities=softmax(logits * np.exp(-severity)),
            logits=None,
            confidence=None,
            token_logprobs=None,
        )
