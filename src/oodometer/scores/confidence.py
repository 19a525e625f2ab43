"""Confidence: the model's own probability of being right, for models without a class distribution."""

from __future__ import annotations

from typing import final

from ..arrays import Array
from ..predictions import Predictions
from ..registry import register
from .base import Score


@final
@register("score")
class Confidence(Score):
    """Score c = the column `confidence` as it is, shape (sample,), in [0, 1]; `NotApplicable` without it.

    Source: Hendrycks and Gimpel (2017), for any model that states one number.

    >>> Confidence()(Predictions.from_confidence([0.25, 1.0])).tolist()
    [0.25, 1.0]
    """

    name = "confidence"
    needs = ("confidence",)
    citation = "hendrycks2017"
    is_probability = True

    def _score(self, record: Predictions) -> Array:
        assert record.confidence is not None
        return record.confidence
