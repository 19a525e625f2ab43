"""Scores: from a record to one number a sample, larger = more likely correct. Near-twins share a file."""

from __future__ import annotations

from ..errors import NotApplicable
from ..predictions import Predictions
from .base import Score

# The order of import is the order of presentation.
# isort: off
from .class_scores import Confidence, Energy, energy, Margin, margin, MaxProbability, max_probability
from .agreement import ModelAgreement, model_agreement
from .class_scores import NegativeEntropy, negative_entropy
from .neighbor_distance import NeighborDistance
from .class_scores import SequenceProbability, SequenceMeanLogprob, SequenceMinLogprob, sequence_probability
from .agreement import ViewAgreement, view_agreement, VoteShare, vote_share
# isort: on

__all__ = [
    "Confidence", "Energy", "Margin", "MaxProbability", "ModelAgreement", "NegativeEntropy", "NeighborDistance",
    "Score", "SequenceMeanLogprob", "SequenceMinLogprob", "SequenceProbability", "ViewAgreement", "VoteShare", "energy",
    "margin", "max_probability", "model_agreement", "natural_confidence", "negative_entropy", "sequence_probability",
    "view_agreement", "vote_share",
]  # fmt: skip


def natural_confidence(record: Predictions) -> Score:
    """The score that reads as the model's own probability of being right, for this record.

    Max probability where there is a class distribution, else `confidence` (that in the chosen candidate among them),
    else the sequence probability; `NotApplicable` where there is none of them.

    >>> natural_confidence(Predictions.from_confidence([0.5])).name
    'confidence'
    """
    if record.candidate_scores is not None:
        return Confidence()
    for score in (MaxProbability(), Confidence(), SequenceProbability()):
        if score.why_not(record) is None:
            return score
    raise NotApplicable("needs `probabilities`, `logits`, `confidence` or `token_logprobs`")
