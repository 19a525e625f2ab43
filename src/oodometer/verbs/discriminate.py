"""The verb `discriminate`: judges of a sequence model's outputs, trained and asked; their votes bound its accuracy."""

from __future__ import annotations

from .discriminate_judged import JudgedOutputs
from .discriminate_judging import judge_outputs
from .discriminate_training import TrainedJudges, train_judges

__all__ = ["JudgedOutputs", "TrainedJudges", "judge_outputs", "train_judges"]
