"""Agreement: the threshold mechanism over model agreement."""

from __future__ import annotations

from typing import final

from ..registry import register
from .threshold import ThresholdOfScore


@final
@register("estimator")
class Agreement(ThresholdOfScore):
    """``agreement``: threshold over model agreement, mean_i [h_0 = h_i]; the same as ``threshold:model_agreement``.

    Needs `members`; `NotApplicable` without. The best score under shift, unless the models share a simplicity
    bias. Source: Trivedi et al. (2023).

    >>> from oodometer import Predictions
    >>> p = Predictions.from_arrays(prediction=[0, 1], label=[0, 0], members=[[0, 0], [0, 0]])
    >>> Agreement().fit(p).estimate(p).value
    0.5
    """

    name = "agreement"
    family = "agreement"
    beyond_overlap = True
    reads = "models"
    order = 140
    favour = 16.0
    voice = 1
    citation = "trivedi2023"
    needs = ("members",)
    score_name = "model_agreement"
