"""Estimators: fit on a labelled reference, estimate the accuracy on an unlabelled target. One method, one file."""

from __future__ import annotations

from .agreement import Agreement
from .average_confidence import AverageConfidence
from .average_thresholded_confidence import AverageThresholdedConfidence, AverageThresholdedEntropy
from .base import Estimator, Sums
from .cbpe import CBPE
from .classwise_threshold import ClasswiseThreshold
from .difference_of_confidence import DifferenceOfConfidence
from .distance_threshold import DistanceThreshold
from .generalization_disagreement import (
    DisagreementDifference,
    GeneralizationDisagreement,
    SoftDisagreement,
)
from .histogram_importance import HistogramImportance
from .risk_coverage import RiskCoverage
from .smoothness import Smoothness
from .source import SourceAccuracy
from .threshold import Threshold
from .votes import VotingBounds

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
