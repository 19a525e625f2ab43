"""Aliases: what scikit-learn, torchmetrics and papers call a method or a metric, told to our names."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Ours -> what others write, without signs between words; of several of ours the first that is known is meant.
_ALIASES: dict[str, dict[str, str]] = {
    "metric": {
        "accuracy": "acc",
        "roc_auc": "auc auroc rocaucscore",
        "average_precision": "ap auprc prauc averageprecisionscore",
        "f1": "f1 f1score fscore",
        "precision": "precision precisionscore",
        "recall": "recall recallscore sensitivity tpr",
        "balanced_accuracy": "bacc balancedaccuracyscore",
        "macro_f1": "f1 f1score fscore f1macro",
        "macro_precision": "precision precisionscore precisionmacro",
        "macro_recall": "recall recallscore recallmacro bacc balancedaccuracyscore",
        "mcc": "matthewscorrcoef",
        "cohen_kappa": "kappa cohenkappa cohenkappascore",
        "log_loss": "logloss crossentropy",
        "nll": "logloss crossentropy negativeloglikelihood",
        "brier": "brierscore brierscoreloss",
        "confusion": "confusionmatrix",
        "per_class": "classificationreport",
        "fpr_at_95_tpr": "fprat95 fpr95tpr fpr95",
        "top_k_accuracy": "topk topkaccuracyscore",
        "expected_value": "value businessvalue",
    },
    "estimator": {
        "cbpe": "confidencebasedperformanceestimation",
        "sld": "em saerens mlls",
        "gde": "generalizeddisagreementequality",
        "dis2": "disagreementdiscrepancy",
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
    table = _ALIASES.get(kind, {}).items()
    meant = alike or [ours for ours, others in table if ours in known and folded in others.split()]
    return f"{meant[0]}{colon}{argument}" if meant else name


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
