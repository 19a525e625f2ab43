"""The trimmed mean: the middle of several methods, for a reference too small to say which of them is best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..registry import those

_LEAST = 4
_TRIMMED = 2
_ROWS = 1000  # reference rows at which the trials and the trimmed mean weigh alike


def averaged_methods() -> tuple[str, ...]:
    """The methods: one of each kind, a difference, two calibrations, label shift, two thresholds, transport.

    >>> averaged_methods()
    ('doc', 'atc-entropy', 'threshold-classwise', 'im', 'cbpe', 'leap', 'cott')
    """
    return those("estimator", lambda cls: cls.in_panel)


def trimmed_mean(estimates: Mapping[str, float]) -> float:
    """Mean of their estimates without the two lowest and the two highest (of few, fewer); NaN with under four.

    With small samples weights that were estimated err more than the methods differ, and a mean without weights is hard
    to beat; without its extremes it also survives one method that breaks down. Source: Claeskens et al. (2016).

    >>> trimmed_mean({"doc": 0.5, "im": 0.6, "cbpe": 0.8, "leap": 0.9, "source": 1.0})
    0.7
    """
    said = sorted(estimates[m] for m in averaged_methods() if m in estimates)
    if len(said) < _LEAST:
        return float("nan")
    trimmed = min(_TRIMMED, (len(said) - 1) // 2)
    return float(np.mean(said[trimmed : len(said) - trimmed]))


def trimmed_mean_share(reference_rows: int) -> float:
    """Weight of the trimmed mean beside trials from so many labelled rows, 1000 / (1000 + rows).

    >>> trimmed_mean_share(1000), round(trimmed_mean_share(50_000), 2)
    (0.5, 0.02)
    """
    return _ROWS / (_ROWS + reference_rows)
