"""The verb `discriminate`: judges of a sequence model's outputs, trained and asked; their votes bound its accuracy."""

from __future__ import annotations

from .collecting import CollectedPairs, collect_pairs
from .judged import JudgedOutputs
from .judging import judge_outputs
from .training import TrainedJudges, train_judges

__all__ = [
    "CollectedPairs",
    "JudgedOutputs",
    "TrainedJudges",
    "collect_pairs",
    "judge_outputs",
    "train_judges",
]
