"""Metrics: predictions whose truth is known -> a number with an interval, a curve or a table; states merge."""

from __future__ import annotations

# The order of registration is the order of presentation.
# isort: off
from .base import CLASSES as CLASSES, CONFIDENCE as CONFIDENCE, VERDICT as VERDICT
from .base import Measure as Measure, Metric as Metric, confidence_and_verdict as confidence_and_verdict
from .accuracy import Accuracy as Accuracy, accuracy as accuracy
from .f1 import F1 as F1
from .precision import Precision as Precision
from .recall import Recall as Recall
from .roc_auc import RocAuc as RocAuc, roc_auc as roc_auc
from .specificity import Specificity as Specificity
from .average_precision import AveragePrecision as AveragePrecision, average_precision as average_precision
from .balanced_accuracy import BalancedAccuracy as BalancedAccuracy
from .mcc import MatthewsCorrelation as MatthewsCorrelation
from .cohen_kappa import CohenKappa as CohenKappa
from .fpr_at_95_tpr import FprAt95Tpr as FprAt95Tpr, fpr_at_tpr as fpr_at_tpr
from .expected_value import ExpectedValue as ExpectedValue, with_payoff as with_payoff
from .payoff import Payoff as Payoff
from .top_k_accuracy import TopKAccuracy as TopKAccuracy, top_k_accuracy as top_k_accuracy
from .recall_at_k import RecallAtK as RecallAtK, recall_at_k as recall_at_k
from .brier import Brier as Brier, brier_score as brier_score
from .nll import NegativeLogLikelihood as NegativeLogLikelihood, log_loss as log_loss
from .ece import (
    ExpectedCalibrationError as ExpectedCalibrationError,
    expected_calibration_error as expected_calibration_error,
)
from .ece_equal_mass import (
    EqualMassCalibrationError as EqualMassCalibrationError,
    equal_mass_calibration_error as equal_mass_calibration_error,
)
from .ece_debiased import (
    DebiasedCalibrationError as DebiasedCalibrationError,
    debiased_calibration_error as debiased_calibration_error,
)
from .smece import (
    SmoothCalibrationError as SmoothCalibrationError,
    smooth_calibration_error as smooth_calibration_error,
)
from .ks import KolmogorovSmirnovError as KolmogorovSmirnovError, ks_calibration_error as ks_calibration_error
from .auc_coverage import (
    AccuracyCoverageArea as AccuracyCoverageArea,
    area_under_accuracy_coverage as area_under_accuracy_coverage,
)
from .aurc import (
    RiskCoverageArea as RiskCoverageArea,
    area_under_risk_coverage as area_under_risk_coverage,
)
from .e_aurc import (
    ExcessRiskCoverageArea as ExcessRiskCoverageArea,
    excess_area_under_risk_coverage as excess_area_under_risk_coverage,
)
from .augrc import (
    GeneralizedRiskCoverageArea as GeneralizedRiskCoverageArea,
    area_under_generalized_risk_coverage as area_under_generalized_risk_coverage,
)
from .coverage_at_risk import CoverageAtRisk as CoverageAtRisk, coverage_at_risk as coverage_at_risk
from .risk_at_coverage import RiskAtCoverage as RiskAtCoverage, risk_at_coverage as risk_at_coverage
from .disca import Disca as Disca, disca as disca, disca_by_tolerance as disca_by_tolerance
from .disca_score import DiscaScore as DiscaScore
from .didma import computation_score as computation_score, didma as didma
from .nidma import nidma as nidma
from .macro import MacroF1 as MacroF1, MacroPrecision as MacroPrecision, MacroRecall as MacroRecall
from .per_class import PerClass as PerClass
from .confusion import ConfusionTable as ConfusionTable, confusion_matrix as confusion_matrix
from .operating_points import OperatingPoints as OperatingPoints, operating_point as operating_point
from .failure_cases import FailureCases as FailureCases
from .vote_rules import judged_correct as judged_correct
from .votes import Votes as Votes
from .reliability import ReliabilityDiagram as ReliabilityDiagram
from .risk_coverage import RiskCoverageCurve as RiskCoverageCurve
from .accuracy_coverage import AccuracyCoverageCurve as AccuracyCoverageCurve
from .positive_class import about_class as about_class, place_of_class as place_of_class
from .ranks import ordered_by as ordered_by
# isort: on
