"""Label: can a change of the class prior alone explain what is seen, and would the test have noticed if not?"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..estimators.label_counts import LabelCounts
from ..estimators.target_prior import (
    POOLED_BELOW,
    conditionals,
    fit_prior,
    label_shift_test,
    pooled_statistic,
)
from ..kernels.quantiles import quantiles
from ..results import percent
from .base import Finding, asking_for

_LEVEL = 0.05
_ENOUGH_POWER = 0.5
_DROP = 0.05  # of accuracy that the test should notice
_DRAWS = 40


def power_against_harder(label_counts: LabelCounts, rows: int, null: Array, seed: int = 0) -> float:
    """Chance that the test of label shift (at 5 %) notices a target on which accuracy fell by five points.

    The alternative re-weights the reference's cells by exp(-t (rate of being correct)), so that unsure cells become
    more common until accuracy is five points lower; ``rows`` are drawn from it and the test is repeated 40 times.
    ``null`` holds draws of the statistic under label shift.

    >>> from oodometer import Predictions
    >>> from oodometer.estimators.label_counts import count_labels
    >>> label_counts = count_labels(Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100))
    >>> power_against_harder(label_counts, 200, np.array([1.0]))  # no cell is worse than another: nothing to notice
    0.0
    """
    share = label_counts.rows / label_counts.total
    rate = (label_counts.hits + 0.5) / (label_counts.rows + 1)
    goal = float(share @ rate) - _DROP
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        weights = share * np.exp(-middle * rate)
        low, high = (middle, high) if weights @ rate / weights.sum() > goal else (low, middle)
    harder = share * np.exp(-high * rate)
    harder /= harder.sum()
    if float(harder @ rate) > goal + _DROP / 2:
        return 0.0
    rng = np.random.default_rng([seed, 0x9C])
    drawn = rng.multinomial(rows, harder, size=_DRAWS)
    given = conditionals(label_counts)
    # the statistic of the null distribution itself: sparse cells one by one would look like a misfit of their own
    pools = np.unique(
        np.where(label_counts.rows >= POOLED_BELOW, np.arange(len(label_counts)), -1), return_inverse=True
    )[1]
    fitted = np.empty(_DRAWS)
    for i, counts in enumerate(drawn.astype(np.float64)):
        prior = fit_prior(given, counts[None], label_counts.prior[None], tolerance=1e-5, most_cycles=40)
        fitted[i] = pooled_statistic(counts[None], rows * given.mix(prior), pools)[0]
    return float(np.mean(fitted > quantiles(null, [1 - _LEVEL])[0]))


def label_shift_finding(label_counts: LabelCounts, counts: Array, seed: int = 0) -> Finding:
    """`label_shift_test` as a finding, with its power; statistic: G over the median of its null distribution.

    Source: Lipton et al. (2018), who test the fit of a label shift; here with bins of confidence, both samples redrawn.

    >>> from oodometer import Predictions
    >>> from oodometer.estimators.label_counts import count_labels
    >>> p = Predictions.from_classes([0, 1] * 100, label=[0, 1] * 100)
    >>> label_counts = count_labels(p)
    >>> "label-shift" in label_shift_finding(label_counts, label_counts.count(p)).refutes
    False
    """
    if np.count_nonzero(label_counts.rows_by_label) < 2:
        why = "all labelled reference rows are of one class, so that no other class shares can be fitted"
        return Finding("label shift", f"not tested: {why}")
    test = label_shift_test(label_counts, counts, seed=seed)
    power = power_against_harder(label_counts, int(counts.sum()), test.null, seed)
    refuted = test.is_misfit and not label_counts.is_thin
    trusted = not refuted and power >= _ENOUGH_POWER
    if refuted:
        misfit = f"misfit {test.ratio:.1f} times what chance gives"
        says = f"a change in class frequencies alone cannot explain it ({misfit})"
    elif trusted:
        says = "a change in class frequencies explains what is seen (a change of the inputs may, too)"
    else:
        says = f"a change in class frequencies fits, but so would most else (power {percent(power, 0)})"
    return Finding(
        "label shift",
        says,
        test.ratio,
        test.p_value,
        power,
        supports=asking_for("P(x | y)") if trusted else (),
        refutes=asking_for("P(x | y)") if refuted else (),
        strength="strong" if refuted or trusted else "none",
        details={"prior": test.prior.tolist(), "reference_prior": label_counts.prior.tolist()},
    )
