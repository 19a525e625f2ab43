"""Aliases: what scikit-learn, torchmetrics and papers call a method or a metric, told to our names."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Written without signs between words; the first name that is known here is meant.
_ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "metric": {
        "acc": ("accuracy",),
        "auc": ("roc_auc",),
        "auroc": ("roc_auc",),
        "rocaucscore": ("roc_auc",),
        "ap": ("average_precision",),
        "auprc": ("average_precision",),
        "prauc": ("average_precision",),
        "averageprecisionscore": ("average_precision",),
        "f1": ("f1", "macro_f1"),
        "f1score": ("f1", "macro_f1"),
        "f1macro": ("macro_f1",),
        "fscore": ("f1", "macro_f1"),
        "precision": ("precision", "macro_precision"),
        "precisionscore": ("precision", "macro_precision"),
        "precisionmacro": ("macro_precision",),
        "recall": ("recall", "macro_recall"),
        "recallscore": ("recall", "macro_recall"),
        "recallmacro": ("macro_recall",),
        "sensitivity": ("recall",),
        "tpr": ("recall",),
        "bacc": ("balanced_accuracy", "macro_recall"),
        "balancedaccuracyscore": ("balanced_accuracy", "macro_recall"),
        "matthewscorrcoef": ("mcc",),
        "kappa": ("kappa", "cohen_kappa"),
        "cohenkappa": ("cohen_kappa", "kappa"),
        "cohenkappascore": ("cohen_kappa", "kappa"),
        "logloss": ("log_loss", "nll"),
        "crossentropy": ("log_loss", "nll"),
        "negativeloglikelihood": ("nll",),
        "brierscore": ("brier",),
        "brierscoreloss": ("brier",),
        "confusionmatrix": ("confusion",),
        "classificationreport": ("per_class",),
        "fprat95": ("fpr_at_95_tpr",),
        "fpr95tpr": ("fpr_at_95_tpr",),
        "topk": ("top_k_accuracy",),
        "topkaccuracyscore": ("top_k_accuracy",),
        "value": ("expected_value",),
        "businessvalue": ("expected_value",),
        "fpr95": ("fpr_at_95_tpr",),
    },
    "estimator": {
        "confidencebasedperformanceestimation": ("cbpe",),
        "em": ("sld",),
        "saerens": ("sld",),
        "mlls": ("sld",),
        "generalizeddisagreementequality": ("gde",),
        "disagreementdiscrepancy": ("dis2",),
    },
}


def canonical(kind: str, name: str, known: Iterable[str]) -> str:
    """Our name for what somebody calls a method; the same name where it is ours, or where none is meant.

    Capitals and the signs between words do not count; what follows a colon stays.

    >>> canonical("metric", "ROC-AUC", ["roc_auc"]), canonical("metric", "auc", ["aurc", "roc_auc"])
    ('roc_auc', 'roc_auc')
    >>> canonical("estimator", "CBPE", ["cbpe"]), canonical("estimator", "mine", ["cbpe"])
    ('cbpe', 'mine')
    """
    known = list(known)
    head, colon, argument = name.partition(":")
    if head in known:
        return name
    folded = _folded(head)
    alike = [one for one in known if _folded(one) == folded]
    meant = alike or [one for one in _ALIASES.get(kind, {}).get(folded, ()) if one in known]
    return f"{meant[0]}{colon}{argument}" if meant else name


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
