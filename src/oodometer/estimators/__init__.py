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
from .label_shift import LabelShift
from .bbse import BBSE
from .sld import SLD
from .leap import LEAP, SLEAP
from .cot import COT, COTT
from .importance import ImportanceWeighting
from .pape import PAPE
from .mandoline import Mandoline
from .dis2 import DisagreementDiscrepancy
from .generalization_disagreement import (
    DisagreementDifference,
    GeneralizationDisagreement,
    SoftDisagreement,
)
from .agreement import Agreement
from .aline import ALineD, ALineS
from .smoothness import Smoothness
from .votes import VotingBounds
from .votes_corrected import CorrectedVotes
from .max_prob import MaxProb
from .max_prob_oracle import OracleBounds, max_prob_oracle
from .risk_coverage import RiskCoverage
# isort: on

__all__ = [
    "BBSE",
    "CBPE",
    "COT",
    "COTT",
    "LEAP",
    "PAPE",
    "SLD",
    "SLEAP",
    "ALineD",
    "ALineS",
    "Agreement",
    "AverageConfidence",
    "AverageThresholdedConfidence",
    "AverageThresholdedEntropy",
    "ClasswiseThreshold",
    "CorrectedVotes",
    "DifferenceOfConfidence",
    "DisagreementDifference",
    "DisagreementDiscrepancy",
    "DistanceThreshold",
    "Estimator",
    "GeneralizationDisagreement",
    "HistogramImportance",
    "ImportanceWeighting",
    "LabelShift",
    "Mandoline",
    "MaxProb",
    "OracleBounds",
    "RiskCoverage",
    "Smoothness",
    "SoftDisagreement",
    "SourceAccuracy",
    "Sums",
    "Threshold",
    "VotingBounds",
    "max_prob_oracle",
]
