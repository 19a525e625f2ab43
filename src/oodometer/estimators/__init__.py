"""Estimators: fit on a labelled reference, estimate the accuracy on an unlabelled target. One method, one file."""

from __future__ import annotations

# the order of import is the order of presentation
from .base import Estimator, Sums
from .source import SourceAccuracy  # isort: skip
from .average_confidence import AverageConfidence  # isort: skip
from .difference_of_confidence import DifferenceOfConfidence  # isort: skip
from .average_thresholded_confidence import AverageThresholdedConfidence, AverageThresholdedEntropy  # isort: skip
from .threshold import Threshold  # isort: skip
from .classwise_threshold import ClasswiseThreshold  # isort: skip
from .distance_threshold import DistanceThreshold  # isort: skip
from .histogram_importance import HistogramImportance  # isort: skip
from .cbpe import CBPE  # isort: skip
from .generalization_disagreement import (  # isort: skip
    DisagreementDifference,
    GeneralizationDisagreement,
    SoftDisagreement,
)
from .agreement import Agreement  # isort: skip
from .smoothness import Smoothness  # isort: skip
from .votes import VotingBounds  # isort: skip
from .risk_coverage import RiskCoverage  # isort: skip

__all__ = [
    "CBPE",
    "Agreement",
    "AverageConfidence",
    "AverageThresholdedConfidence",
    "AverageThresholdedEntropy",
    "ClasswiseThreshold",
    "DifferenceOfConfidence",
    "DisagreementDifference",
    "DistanceThreshold",
    "Estimator",
    "GeneralizationDisagreement",
    "HistogramImportance",
    "RiskCoverage",
    "Smoothness",
    "SoftDisagreement",
    "SourceAccuracy",
    "Sums",
    "Threshold",
    "VotingBounds",
]
