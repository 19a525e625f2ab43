"""Rankers: one number for a whole record, larger = more likely accurate; they order and never estimate."""

from __future__ import annotations

# The order of import is the order of presentation.
# isort: off
from .base import Ranker, State
from .nuclear_norm import NuclearNorm, nuclear_norm
from .nuclear_norm import MaNo, taylor_softmax
from .nuclear_norm import SoftmaxCorrelation, softmax_correlation
from .dispersion import Dispersion, dispersion, MetaDistributionEnergy
from .ranking import ScoreRanking, rank_models
# isort: on

__all__ = [
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
]
