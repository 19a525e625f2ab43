"""Estimators: fit on a labelled reference, estimate the accuracy on an unlabelled target. Near-twins share a file."""

from __future__ import annotations

# The order of import is the order of presentation.
# isort: off
from .base import Estimator, Sums, Traits
from .baselines import SourceAccuracy
from .mean_confidence import AverageConfidence, DifferenceOfConfidence
from .threshold import Threshold, AverageThresholdedConfidence, AverageThresholdedEntropy
from .threshold import ClasswiseThreshold, DistanceThreshold
from .mean_confidence import HistogramImportance
from .mean_confidence import CBPE
from .label_shift import LabelShift, BBSE, SLD
from .label_shift import SLEAP, LEAP
from .cot import COT, COTT
from .importance import ImportanceWeighting, PAPE, Mandoline
from .dis2 import DisagreementDiscrepancy
from .disagreement import GeneralizationDisagreement, DisagreementDifference, SoftDisagreement
from .threshold import Agreement
from .disagreement import ALineS, ALineD
from .threshold import Smoothness
from .threshold import Conf, LMS, MA
from .votes import VotingBounds, CorrectedVotes
from .baselines import MaxProb, OracleBounds, max_prob_oracle
from .mean_confidence import RiskCoverage
# isort: on

__all__ = [
    "BBSE",
    "CBPE",
    "COT",
    "COTT",
    "LEAP",
    "LMS",
    "MA",
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
    "Conf",
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
    "Traits",
    "VotingBounds",
    "max_prob_oracle",
]
