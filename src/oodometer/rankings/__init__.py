"""Rankings: several models, a few labels and an unlabelled pool in; an order with its probabilities out.

A method of ranking is values, shape (model, row), whose mean over the labelled rows is a model's score, or a rule from
rows to scores; larger is always better, and a factor enters as minus the factor. `few_shot_evaluation` says how often
methods are right, `posterior` how sure an order is.
"""

from __future__ import annotations

from ..results.ranking import Settling
from .accuracies import class_posterior, model_accuracies
from .few_shot import (
    FewShot,
    Method,
    PairedTest,
    Rule,
    Suite,
    baseline_methods,
    draw_rows,
    drawn_scores,
    draws_test,
    few_shot_evaluation,
    fixed,
    guess,
    guess_accuracy,
    random_order,
    scored,
    suite_of,
)
from .pool import PoolEvidence, agreement_values, pool_evidence
from .posterior import Posterior, labels_to_settle, posterior, posterior_by_pattern, rows_to_label

__all__ = [
    "FewShot",
    "Method",
    "PairedTest",
    "PoolEvidence",
    "Posterior",
    "Rule",
    "Settling",
    "Suite",
    "agreement_values",
    "baseline_methods",
    "class_posterior",
    "draw_rows",
    "drawn_scores",
    "draws_test",
    "few_shot_evaluation",
    "fixed",
    "guess",
    "guess_accuracy",
    "labels_to_settle",
    "model_accuracies",
    "pool_evidence",
    "posterior",
    "posterior_by_pattern",
    "random_order",
    "rows_to_label",
    "scored",
    "suite_of",
]
