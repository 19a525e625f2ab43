"""Estimators: fit on a labelled reference, estimate the accuracy on an unlabelled target. One method, one file."""

from __future__ import annotations

# The order of import is the order of presentation.
# isort: off
from .base import Estimator, Sums
from .source import SourceAccuracy
from .average_confidence import AverageConfidence
from .difference_of_confidence import DifferenceOfConfidence
from .average_thresholded_confidence import AverageThresholdedConfidence, AverageThresholdedEntropy
from .threshold import Threshold
from .classwise_threshold import ClasswiseThreshold
from .distance_threshold import DistanceThreshold
from .histogram_importance import HistogramImportance
from .cbpe import CBPE
from .generalization_disagreement import (
    DisagreementDifference,
    GeneralizationDisagreement,
    SoftDisagreement,
)
from .agreement import Agreement
from .smoothness import Smoothness
from .votes import VotingBounds
from .risk_coverage import RiskCoverage
# isort: on

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
