"""Metrics: predictions whose truth is known -> a number with an interval, a curve or a table; states merge."""

from __future__ import annotations

# The order of registration is the order of presentation.
# isort: off
from .base import CLASSES, CONFIDENCE, VERDICT, Measure, Metric, confidence_and_verdict
from .accuracy import Accuracy, accuracy
from .abstention import AnsweredAccuracy, AnsweredShare, tells_answered
from .mean_score import MacroMean, MeanScore
from .reliability import PassAtK, PassHatK, MajAtK
from .confusion import ConfusionTable, confusion_matrix
from .confusion import F1, Precision, Recall
from .one_vs_rest import RocAuc, roc_auc
from .confusion import Specificity
from .one_vs_rest import AveragePrecision, average_precision
from .confusion import BalancedAccuracy
from .confusion import MatthewsCorrelation, CohenKappa
from .one_vs_rest import KsStatistic, ks_statistic, FprAt95Tpr, fpr_at_tpr
from .payoff import ExpectedValue, with_payoff, Payoff
from .accuracy import TopKAccuracy, top_k_accuracy, RecallAtK, recall_at_k
from .brier import Brier, brier_score, NegativeLogLikelihood, log_loss
from .calibration import (
    ExpectedCalibrationError,
    expected_calibration_error,
    EqualMassCalibrationError,
)
from .calibration import (
    equal_mass_calibration_error,
    DebiasedCalibrationError,
    debiased_calibration_error,
)
from .calibration import (
    SmoothCalibrationError,
    smooth_calibration_error,
    KolmogorovSmirnovError,
    ks_calibration_error,
)
from .risk_coverage import AccuracyCoverageArea, area_under_accuracy_coverage
from .risk_coverage import RiskCoverageArea, area_under_risk_coverage
from .risk_coverage import (
    ExcessRiskCoverageArea,
    excess_area_under_risk_coverage,
    GeneralizedRiskCoverageArea,
)
from .risk_coverage import area_under_generalized_risk_coverage
from .risk_coverage import PredictionRejectionRatio, prediction_rejection_ratio
from .risk_coverage import CoverageAtRisk, coverage_at_risk, RiskAtCoverage, risk_at_coverage
from .disca import Disca, disca, disca_by_tolerance, DiscaScore, computation_score, didma, nidma
from .confusion import MacroPrecision, MacroRecall, MacroF1
from .one_vs_rest import PerClass
from .confidences import Confidences, compared_confidences
from .operating_points import OperatingPoints, operating_point
from .conformal import ConformalRisk, conformal_risk_control, conformal_threshold
from .failure_cases import FailureCases
from .votes import judged_correct, Votes
from .calibration import ReliabilityDiagram
from .risk_coverage import RiskCoverageCurve, AccuracyCoverageCurve
from .confusion import about_class, place_of_class
from .ranks import ordered_by
# isort: on

__all__ = [
    "CLASSES",
    "CONFIDENCE",
    "F1",
    "VERDICT",
    "Accuracy",
    "AccuracyCoverageArea",
    "AccuracyCoverageCurve",
    "AnsweredAccuracy",
    "AnsweredShare",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "CohenKappa",
    "Confidences",
    "ConformalRisk",
    "ConfusionTable",
    "CoverageAtRisk",
    "DebiasedCalibrationError",
    "Disca",
    "DiscaScore",
    "EqualMassCalibrationError",
    "ExcessRiskCoverageArea",
    "ExpectedCalibrationError",
    "ExpectedValue",
    "FailureCases",
    "FprAt95Tpr",
    "GeneralizedRiskCoverageArea",
    "KolmogorovSmirnovError",
    "KsStatistic",
    "MacroF1",
    "MacroMean",
    "MacroPrecision",
    "MacroRecall",
    "MajAtK",
    "MatthewsCorrelation",
    "MeanScore",
    "Measure",
    "Metric",
    "NegativeLogLikelihood",
    "OperatingPoints",
    "PassAtK",
    "PassHatK",
    "Payoff",
    "PerClass",
    "Precision",
    "PredictionRejectionRatio",
    "Recall",
    "RecallAtK",
    "ReliabilityDiagram",
    "RiskAtCoverage",
    "RiskCoverageArea",
    "RiskCoverageCurve",
    "RocAuc",
    "SmoothCalibrationError",
    "Specificity",
    "TopKAccuracy",
    "Votes",
    "about_class",
    "accuracy",
    "area_under_accuracy_coverage",
    "area_under_generalized_risk_coverage",
    "area_under_risk_coverage",
    "average_precision",
    "brier_score",
    "compared_confidences",
    "computation_score",
    "confidence_and_verdict",
    "conformal_risk_control",
    "conformal_threshold",
    "confusion_matrix",
    "coverage_at_risk",
    "debiased_calibration_error",
    "didma",
    "disca",
    "disca_by_tolerance",
    "equal_mass_calibration_error",
    "excess_area_under_risk_coverage",
    "expected_calibration_error",
    "fpr_at_tpr",
    "judged_correct",
    "ks_calibration_error",
    "ks_statistic",
    "log_loss",
    "nidma",
    "operating_point",
    "ordered_by",
    "place_of_class",
    "prediction_rejection_ratio",
    "recall_at_k",
    "risk_at_coverage",
    "roc_auc",
    "smooth_calibration_error",
    "tells_answered",
    "top_k_accuracy",
    "with_payoff",
]
