"""Overlap: can the reference be re-weighted to look like the target, or are there inputs it never held?"""

from __future__ import annotations

from ..inference.domain_classifier import DomainComparison
from .base import Finding, asking_for

_LEVEL = 0.01
_LEAST_COVERED = 0.3  # of the target, by the density ratios
LEAST_SHARE = 0.08  # of the reference's rows that the re-weighted reference is worth


def overlap_finding(found: DomainComparison, by_features: bool) -> Finding:
    """A classifier of target against reference: its AUC, and what the re-weighted reference would be worth in rows.

    Statistic: AUC (0.5 = cannot tell). Overlap is denied where the density ratios cover less than 30 % of the target,
    and, where inputs are seen (`by_features`), where their effective sample size is below 8 % of the reference; shares
    of probabilities alone may be that uneven after a change of class shares. Source: Lopez-Paz and Oquab (2017) for the
    classifier as a two-sample test; Kish (1965) for the effective sample size.

    >>> import numpy as np
    >>> overlap_finding(DomainComparison(0.99, 0.01, 0.0, np.ones(100), 3.0, 1.0, "logistic"), True).refutes[0]
    'im'
    """
    rows = len(found.weights)
    share = found.effective_rows / rows
    moved = found.p_value < _LEVEL
    apart = moved and (found.covered < _LEAST_COVERED or (by_features and share < LEAST_SHARE))
    seen = "features" if by_features else "probabilities"
    if apart:
        says = (
            f"target rows are unlike the reference's by their {seen} (AUC {found.auc:.2f}): {rows} reference rows are "
            f"worth {found.effective_rows:.0f}, so no re-weighting of them stands for the target"
        )
    elif moved:
        says = f"target rows differ by their {seen} (AUC {found.auc:.2f}), within what the reference holds"
    else:
        says = f"no classifier tells target from reference by their {seen}"
    return Finding(
        "overlap",
        says,
        found.auc,
        found.p_value,
        supports=asking_for("P(y | x)") if moved and not apart and by_features else (),
        refutes=asking_for("P(y | x)") if apart else (),
        strength="strong" if moved else "none",
        details={
            "effective_rows": found.effective_rows,
            "reference_rows": rows,
            "covered": found.covered,
            "by": seen,
            "learner": found.learner,
        },
    )
