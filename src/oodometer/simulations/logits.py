"""Logits with noise, or with another temperature: a model that is less right, or more or less sure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, final

import numpy as np

from ..arrays import softmax
from ..fields import FIELDS
from ..kernels import top_two
from ..predictions import Predictions
from ..registry import register
from .base import LEAST_ROWS, Simulation, draw_by_weight


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


_SMALLEST = 1e-6
_STAYS = ("label", "input", "output", "time", "group")


@final
@register("simulation")
class LogitNoise(Simulation):
    """z' = z + (s g / 2) N(0, 1), z = logits or log-probabilities, g = median gap between the two largest.

    s = 0.25, 0.5, 1 is the severity. P(y | x) is what it was, the model is worse: confidence no longer means what it
    meant. Whatever else was said of the rows (members, views, votes, features) is left out of the target, since what
    the noise would do to it is not known. Needs `probabilities` and `label`. Source: Hendrycks and Dietterich (2019),
    corruption as noise, here at the outputs.

    >>> p = Predictions.from_probabilities([[0.9, 0.1]] * 100, label=[0] * 100)
    >>> LogitNoise().draw(p, 1.0, np.random.default_rng(0)).accuracy < 1
    True
    """

    name = "logit_noise"
    about = "noise on the logits"
    severities = (0.25, 0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Probabilities and labels are needed."""
        if pool.probabilities is None or pool.label is None or not (pool.label >= 0).any():
            return "needs `probabilities` (or `logits`) and `label`"
        return None if pool.is_argmax else "needs predictions that are the class of highest probability"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """A random part of the pool with noisy outputs."""
        assert pool.label is not None
        if not (pool.label >= 0).all():  # `correct` tells nothing of predictions that are about to change
            pool = pool.take(pool.label >= 0)
        drawn = draw_by_weight(pool, np.zeros(len(pool)), rng)
        if drawn is None or len(drawn) < LEAST_ROWS or drawn.probabilities is None:
            return None
        logits = np.log(np.maximum(drawn.probabilities, _SMALLEST)) if drawn.logits is None else drawn.logits
        top = top_two(logits)
        scale = severity * float(np.median(top.first - top.second)) / 2
        noisy = softmax(logits + scale * rng.standard_normal(logits.shape).astype(logits.dtype))
        # what else was said of the rows came from a model that is now another one
        rest: dict[str, Any] = {name: None for name in FIELDS if name not in _STAYS}
        return replace(drawn, _cache={}, **{**rest, "probabilities": noisy})
