"""Rankers: the old place of what is now in `oodometer.accuracy_proxies`; goes with the next release."""

from __future__ import annotations

from .deprecation import moved

_NAMES = (
    "Dispersion",
    "MaNo",
    "MetaDistributionEnergy",
    "NuclearNorm",
    "Ranker",
    "ScoreRanking",
    "SoftmaxCorrelation",
    "State",
    "dispersion",
    "nuclear_norm",
    "rank_models",
    "softmax_correlation",
    "taylor_softmax",
)

__getattr__ = moved(__name__, {name: f"accuracy_proxies:{name}" for name in _NAMES})
