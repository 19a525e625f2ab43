"""Average thresholded confidence (ATC): the threshold mechanism over max probability, and over negative entropy."""

from __future__ import annotations

from typing import final

from ..predictions import Predictions
from ..registry import create, register
from ..scores import Score, natural_confidence
from .threshold import Thresholded


@final
@register("estimator")
class AverageThresholdedConfidence(Thresholded):
    """Choose t with mean_S [s >= t] = acc_S, answer mean_T [s >= t]; s = max probability (natural confidence).

    The threshold is exact (a sort of the reference, not a grid); ties share their credit so that the
    reference is matched; a reference without errors puts t at its lowest score, one without successes above
    its highest. The interval joins the binomial variance of the target with the rank uncertainty of the
    threshold (Woodruff). `NotApplicable` without confidences. Over-estimates when the true drop is 10-20
    points. Source: Garg et al. (2022).

    >>> p = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]
    >>> reference = Predictions.from_probabilities(p, label=[0, 0, 1, 1])
    >>> target = Predictions.from_probabilities([[0.85, 0.15], [0.75, 0.25], [0.6, 0.4], [0.5, 0.5]])
    >>> AverageThresholdedConfidence().fit(reference).estimate(target).value
    0.25
    """

    name = "atc"
    family = "threshold"
    in_middle = True
    order = 40
    reads = "confidence"
    voice = 2
    needs = ("probabilities|confidence|token_logprobs",)

    def _make_score(self, reference: Predictions) -> Score:
        return natural_confidence(reference)


@final
@register("estimator")
class AverageThresholdedEntropy(Thresholded):
    """ATC with the negative entropy sum_k p_k log p_k (<= 0) as score; see `AverageThresholdedConfidence`.

    Needs `probabilities` or `candidate_scores`; `NotApplicable` without. Source: Garg et al. (2022), where it is the
    better of the two.

    >>> reference = Predictions.from_probabilities([[0.9, 0.1], [0.6, 0.4]], label=[0, 1])
    >>> AverageThresholdedEntropy().fit(reference).estimate(reference).value
    0.5
    """

    name = "atc-entropy"
    family = "threshold"
    order = 50
    reads = "confidence"
    in_panel = True
    voice = 1
    needs = ("probabilities|candidate_scores",)

    def _make_score(self, reference: Predictions) -> Score:
        score: Score = create("score", "negative_entropy")
        return score
