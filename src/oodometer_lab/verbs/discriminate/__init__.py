"""The verb `discriminate`: judges of a sequence model's outputs, trained and asked; their votes bound its accuracy."""

from __future__ import annotations

from .judged import JudgedOutputs
from .judging import judge_outputs
from .training import TrainedJudges, train_judges

__all__ = ["JudgedOutputs", "TrainedJudges", "judge_outputs", "train_judges"]
