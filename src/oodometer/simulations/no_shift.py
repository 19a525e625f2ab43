"""No shift: a random draw, against which every other family is read."""

from __future__ import annotations

from typing import final

import numpy as np

from ..predictions import Predictions
from ..registry import register
from .base import Simulation, draw_by_weight


@final
@register("simulation")
class NoShift(Simulation):
    """A uniform draw without replacement: what an estimator errs by when nothing has changed.

    >>> p = Predictions.from_confidence([0.5] * 300, correct=[1] * 300)
    >>> len(NoShift().draw(p, 0.0, np.random.default_rng(0)))
    100
    """

    name = "none"
    about = "a random part of the reference"
    severities = (0.0,)

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """A uniform draw."""
        return draw_by_weight(pool, np.zeros(len(pool)), rng)
