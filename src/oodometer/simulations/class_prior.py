"""Class prior: other shares of the true classes, as when a disease becomes more common (label shift)."""

from __future__ import annotations

from typing import final

import numpy as np

from ..candidates import NO_CLASSES
from ..predictions import Predictions
from ..registry import register
from .base import LEAST_ROWS, Simulation, draw_by_shares

_ALPHAS = {0.25: 10.0, 0.5: 1.0, 0.75: 0.1}
_DOMINANT = 0.9


@final
@register("simulation")
class ClassPrior(Simulation):
    """Shares q ~ Dirichlet(alpha) of the true classes, alpha = 10, 1 or 0.1 at severity 0.25, 0.5 or 0.75; at severity
    1 a single class, drawn at random, holds nine tenths of the rows.

    P(x | y) stays, so that methods for label shift should be right here. Needs `label`. Source: Lipton et al. (2018),
    the protocol of Dirichlet shifts.

    >>> p = Predictions.from_classes([0, 1] * 200, label=[0, 1] * 200)
    >>> drawn = ClassPrior().draw(p, 1.0, np.random.default_rng(1))
    >>> bool(abs(drawn.label.mean() - 0.5) > 0.1)
    True
    """

    name = "class_prior"
    about = "other shares of the true classes"
    severities = (0.25, 0.5, 0.75, 1.0)

    def why_not(self, pool: Predictions) -> str | None:
        """Labels of at least two classes are needed."""
        if not pool.has_classes:
            return NO_CLASSES
        if pool.label is None or len(np.unique(pool.label[pool.label >= 0])) < 2:
            return "needs `label` of at least two classes"
        return None

    def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
        """Rows of each class by the drawn shares."""
        assert pool.label is not None
        if severity in _ALPHAS:
            return draw_by_shares(pool, pool.label, _ALPHAS[severity], rng)
        classes = np.unique(pool.label[pool.label >= 0])
        own = np.flatnonzero(pool.label == rng.choice(classes))
        others = np.flatnonzero((pool.label >= 0) & (pool.label != pool.label[own[0]]))
        count = min(len(others), max(round(len(own) * (1 - _DOMINANT) / _DOMINANT), 1))
        rows = np.concatenate([own, rng.choice(others, count, replace=False)])
        return pool.take(np.sort(rows)) if len(rows) >= LEAST_ROWS else None
