"""Tilt: rows far along a direction of the inputs become more common (covariate shift without borders)."""

from __future__ import annotations

from typing import final

import numpy as np

from ..predictions import Predictions
from ..registry import register
from .base import Simulation, coordinates, draw_by_weight


@final
@register("simulation")
class Tilt(Simulation):
    """Weights exp(2 s u.x) with u a random direction of the (whitened) features, or of log-probabilities.

    s = 0.25, 0.5, 1 is the severity. P(y | x) stays. Needs `features`, `probabilities` or `confidence`.
    Source: Sugiyama et al. (2007), covariate shift by exponential tilting.

    >>> rng = np.random.default_rng(0)
    >>> p = Predictions.from_arrays(features=rng.normal(size=(400, 1)), correct=[1, 0] * 200)
    >>> bool(abs(Tilt().draw(p, 1.0, rng).features.mean()) > 0.3)
    True
    """

    name = "tilt"
    about = "rows far along a direction of features or probabilities become more common"
    severities = (0.25, 0.5, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Something to tilt is needed."""
        points = pool.derived("simulation:coordinates", lambda: coordinates(pool))
        return None if points is not None else "needs `features`, `probabilities` or `confidence` that vary"

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """Rows by exponential weights along a random direction."""
        points = pool.derived("simulation:coordinates", lambda: coordinates(pool))
        if points is None:
            return None
        direction = rng.standard_normal(points.shape[1])
        direction /= np.linalg.norm(direction)
        return draw_by_weight(pool, 2 * severity * np.clip(points @ direction, -3, 3), rng)
