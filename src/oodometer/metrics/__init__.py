"""Metrics: predictions whose truth is known -> a number with an interval, a curve or a table; states merge."""

from __future__ import annotations

# The order of registration is the order of presentation.
# isort: off
from .base import (
    CLASSES as CLASSES,
    CONFIDENCE as CONFIDENCE,
    VERDICT as VERDICT,
    Measure as Measure,
    Metric as Metric,
    confidence_and_verdict as confidence_and_verdict,
)
from .accuracy import Accuracy as Accuracy, accuracy as accuracy
from .confusion import ConfusionTable as ConfusionTable, confusion_matrix as confusion_matrix
from .class_rates import F1 as F1, Precision as Precision, Recall as Recall
from .one_vs_rest import RocAuc as RocAuc, roc_auc as roc_auc
from .class_rates import Specificity as Specificity
from .one_vs_rest import AveragePrecision as AveragePrecision, average_precision as average_precision
from .class_rates import BalancedAccuracy as BalancedAccuracy
from .confusion import MatthewsCorrelation as MatthewsCorrelation, CohenKappa as CohenKappa
from .one_vs_rest import FprAt95Tpr as FprAt95Tpr, fpr_at_tpr as fpr_at_tpr
from .payoff import ExpectedValue as ExpectedValue, with_payoff as with_payoff, Payoff as Payoff
from .accuracy import (
    TopKAccuracy as TopKAccuracy,
    top_k_accuracy as top_k_accuracy,
    RecallAtK as RecallAtK,
    recall_at_k as recall_at_k,
)
from .brier import (
    Brier as Brier,
    brier_score as brier_score,
    NegativeLogLikelihood as NegativeLogLikelihood,
    log_loss as log_loss,
)
from .calibration import (
    ExpectedCalibrationError as ExpectedCalibrationError,
    expected_calibration_error as expected_calibration_error,
    EqualMassCalibrationError as EqualMassCalibrationError,
    equal_mass_calibration_error as equal_mass_calibration_error,
    DebiasedCalibrationError as DebiasedCalibrationError,
    debiased_calibration_error as debiased_calibration_error,
    SmoothCalibrationError as SmoothCalibrationError,
    smooth_calibration_error as smooth_calibration_error,
    KolmogorovSmirnovError as KolmogorovSmirnovError,
    ks_calibration_error as ks_calibration_error,
)
from .auc_coverage import (
    AccuracyCoverageArea as AccuracyCoverageArea,
    area_under_accuracy_coverage as area_under_accuracy_coverage,
    RiskCoverageArea as RiskCoverageArea,
    area_under_risk_coverage as area_under_risk_coverage,
    ExcessRiskCoverageArea as ExcessRiskCoverageArea,
    excess_area_under_risk_coverage as excess_area_under_risk_coverage,
    GeneralizedRiskCoverageArea as GeneralizedRiskCoverageArea,
    area_under_generalized_risk_coverage as area_under_generalized_risk_coverage,
)
from .risk_coverage import (
    CoverageAtRisk as CoverageAtRisk,
    coverage_at_risk as coverage_at_risk,
    RiskAtCoverage as RiskAtCoverage,
    risk_at_coverage as risk_at_coverage,
)
from .disca import (
    Disca as Disca,
    disca as disca,
    disca_by_tolerance as disca_by_tolerance,
    DiscaScore as DiscaScore,
    computation_score as computation_score,
    didma as didma,
    nidma as nidma,
)
from .class_rates import MacroPrecision as MacroPrecision, MacroRecall as MacroRecall, MacroF1 as MacroF1
from .one_vs_rest import PerClass as PerClass
from .operating_points import OperatingPoints as OperatingPoints, operating_point as operating_point
from .failure_cases import FailureCases as FailureCases
from .votes import judged_correct as judged_correct, Votes as Votes
from .calibration import ReliabilityDiagram as ReliabilityDiagram
from .risk_coverage import RiskCoverageCurve as RiskCoverageCurve, AccuracyCoverageCurve as AccuracyCoverageCurve
from .class_rates import about_class as about_class, place_of_class as place_of_class
from .ranks import ordered_by as ordered_by
# isort: on
