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
from .class_scores import (
    SequenceProbability,
    SequenceMeanProbability,
    SequenceMinProbability,
    sequence_probability,
)
from .agreement import ViewAgreement, view_agreement, ViewConsensus, view_consensus
from .agreement import VoteShare, vote_share
from .answers import answer_agreement, normalized_answer, semantic_entropy, stated_confidence
# isort: on

__all__ = [
    "Confidence",
    "Energy",
    "Margin",
    "MaxProbability",
    "ModelAgreement",
    "NegativeEntropy",
    "NeighborDistance",
    "Score",
    "SequenceMeanProbability",
    "SequenceMinProbability",
    "SequenceProbability",
    "ViewAgreement",
    "ViewConsensus",
    "VoteShare",
    "answer_agreement",
    "energy",
    "margin",
    "max_probability",
    "model_agreement",
    "natural_confidence",
    "negative_entropy",
    "normalized_answer",
    "semantic_entropy",
    "sequence_probability",
    "stated_confidence",
    "view_agreement",
    "view_consensus",
    "vote_share",
]
