"""Scores: from a record to one number a sample, larger = more likely correct. Near-twins share a file."""

from __future__ import annotations

from .base import Score

# The order of import is the order of presentation.
# isort: off
from .class_scores import (
    Confidence,
    Energy,
    energy,
    Margin,
    margin,
    MaxProbability,
    max_probability,
    natural_confidence,
)
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
