"""Smoothness: the threshold mechanism over view agreement (local manifold smoothness)."""

from __future__ import annotations

from typing import final

from ..registry import register
from .threshold import ThresholdOfScore


@final
@register("estimator")
class Smoothness(ThresholdOfScore):
    """``smoothness``: threshold over view agreement (LMS); the same as ``threshold:view_agreement``.

    Needs `views`; `NotApplicable` without. Source: Ng et al. (2023); behind confidence in Trivedi et al. (2023).

    >>> from oodometer import Predictions
    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], views=[[0, 0], [0, 0]])
    >>> Smoothness().fit(p).estimate(p).value
    0.5
    """

    name = "smoothness"
    family = "smoothness"
    order = 150
    citation = "ng2023"
    needs = ("views", "prediction|probabilities")
    score_name = "view_agreement"
