"""Tilts: no shift, other class shares, other shares of rows along a direction or by confidence; changed logits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, present, softmax
from ..errors import NotApplicable
from ..fields import FIELDS, NO_CLASSES
from ..kernels import top_two
from ..predictions import Predictions
from ..registry import register
from .base import LEAST_ROWS, Simulation, draw_by_shares, draw_by_weight, points_of


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

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """A random part of the pool at another temperature."""
        part = draw_by_weight(pool, np.zeros(pool.rows), rng)
        if part is None or part.probabilities is None:
            return None
        sharper = softmax(_logits(part) * np.exp(-severity))
        return replace(
            part,
            _cache={},
            probabilities=sharper,
            logits=None,
            confidence=None,
            token_logprobs=None,
        )


def _logits(record: Predictions) -> Array:
    """Its logits, or logarithms of its probabilities."""
    if record.logits is not None:
        return record.logits
    return np.asarray(np.log(np.maximum(present(record.probabilities), _SMALLEST)))


_SMALLEST = 1e-6
_STAYS = ("label", "input", "output", "time", "group")


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
        return (
            None
            if pool.is_argmax
            else "needs predictions that are the class of highest probability"
        )

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """A random part of the pool with noisy outputs."""
        label = present(pool.label)
        if not (
            label >= 0
        ).all():  # `correct` tells nothing of predictions that are about to change
            pool = pool.take(label >= 0)
        part = draw_by_weight(pool, np.zeros(pool.rows), rng)
        if part is None or len(part) < LEAST_ROWS or part.probabilities is None:
            return None
        logits = _logits(part)
        top = top_two(logits)
        scale = severity * float(np.median(top.first - top.second)) / 2
        noisy = softmax(
            logits + scale * np.asarray(rng.standard_normal(logits.shape), dtype=logits.dtype)
        )
        # what else was said of the rows came from a model that is now another one
        rest: dict[str, Any] = {name: None for name in FIELDS if name not in _STAYS}
        return replace(part, _cache={}, **{**rest, "probabilities": noisy})


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

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """A uniform draw."""
        return draw_by_weight(pool, np.zeros(pool.rows), rng)


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
        return (
            None
            if _confidence(pool) is not None
            else "needs `probabilities`, `confidence` or `members`"
        )

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """Rows by weights that fall with confidence."""
        confidence = _confidence(pool)
        if confidence is None:
            return None
        noise = 1e-9 * rng.random(pool.rows)  # equal confidences are ranked by chance
        rank = np.argsort(np.argsort(confidence + noise)) / pool.rows
        return draw_by_weight(pool, -4 * severity * rank, rng)


def _confidence(pool: Predictions) -> Array | None:
    if pool.probabilities is not None or pool.confidence is not None:
        return pool.own_probability if pool.probabilities is not None else pool.confidence
    try:
        return (
            None
            if pool.members is None
            else np.asarray((pool.members == pool.predicted).mean(axis=0))
        )
    except NotApplicable:
        return None


_ALPHAS = {0.25: 10.0, 0.5: 1.0, 0.75: 0.1}
_DOMINANT = 0.9


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

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """Rows of each class by the drawn shares."""
        label = present(pool.label)
        if severity in _ALPHAS:
            return draw_by_shares(pool, label, _ALPHAS[severity], rng)
        dominant = np.flatnonzero(label == rng.choice(np.unique(label[label >= 0])))
        rest = np.flatnonzero((label >= 0) & (label != label[dominant[0]]))
        count = min(len(rest), max(round(len(dominant) * (1 - _DOMINANT) / _DOMINANT), 1))
        rows = np.concatenate([dominant, rng.choice(rest, count, replace=False)])
        return pool.take(np.sort(rows)) if len(rows) >= LEAST_ROWS else None


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
        return (
            None
            if points_of(pool) is not None
            else "needs `features`, `probabilities` or `confidence` that vary"
        )

    def draw(
        self, pool: Predictions, severity: float, rng: np.random.Generator
    ) -> Predictions | None:
        """Rows by exponential weights along a random direction."""
        points = points_of(pool)
        if points is None:
            return None
        direction = rng.standard_normal(points.shape[1])
        direction /= np.linalg.norm(direction)
        return draw_by_weight(pool, 2 * severity * np.clip(points @ direction, -3, 3), rng)
