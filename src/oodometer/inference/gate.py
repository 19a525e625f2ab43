"""Gate: a drop that must not happen, decided by the interval of a difference, for one look or for many."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..intervals import normal_quantile
from ..results import Interval
from ..results.gate import Gate, GateMethod, GateUnit, GateVerdict
from .betting import betting_sequence
from .paired import POWER


def gate_of(
    difference: Interval,
    drop: float,
    models: tuple[str, str],
    rows: int,
    *,
    method: GateMethod = "interval",
    strict: bool = False,
    outlook: bool = True,
    unit: GateUnit = "rows",
) -> Gate:
    """The gate of the ``difference`` of two ``models``, the second minus the first, from so many ``rows`` of a
    ``unit``.

    The new model is shown worse by more than the drop where the interval lies below -drop, shown not to have fallen by
    it where it lies above: two one-sided tests of level (1 - level) / 2, which cannot both speak. Rows that are needed
    scale the half width h = z s: n ((z + z_power) s / |value + drop|)^2; ``outlook`` False leaves them out, as where
    more rows do not make it shorter by this rule. Source: Schuirmann (1987), Piaggio et al. (2012).

    >>> gate_of(Interval(-0.03, -0.07, 0.01, 0.95, "asymptotic"), 0.02, ("base", "new"), 400).needed_rows
    13077
    """
    verdict: GateVerdict = "undecided"
    if difference.upper < -drop:
        verdict = "worse"
    elif difference.lower > -drop:
        verdict = "not_worse"
    away, needed = abs(difference.value + drop), None
    if verdict == "undecided" and outlook and away > 0:
        quantile = normal_quantile(difference.level)
        error = difference.width / 2 / quantile
        share = (quantile + normal_quantile(2 * POWER - 1)) * error / away
        needed = math.ceil(rows * share**2) if share < 1e4 else None
    return Gate(
        drop=drop,
        verdict=verdict,
        difference=difference,
        a=models[0],
        b=models[1],
        rows=rows,
        method=method,
        needed_rows=needed,
        strict=strict,
        unit=unit,
    )


def anytime_difference(
    gaps: Array, clusters: Array | None, span: float, level: float
) -> tuple[Interval, int]:
    """The mean of differences (sample,) in [-span, span] with an interval that holds however often one looks, and how
    many observations it comes from: rows in the order in which they came, or clusters in that of their first rows, each
    with its mean, which is fair where a cluster's size tells nothing of its mean.
    """
    observed = np.asarray(gaps, dtype=np.float64)
    value = float(observed.mean())
    if clusters is not None:
        _, first, code = np.unique(clusters, return_index=True, return_inverse=True)
        means = np.bincount(code, observed) / np.bincount(code)
        observed = means[np.argsort(first, kind="stable")]
    lower, upper = betting_sequence(observed, level, low=-span, high=span)
    return Interval(value, min(lower, value), max(upper, value), level, "exact"), len(observed)
