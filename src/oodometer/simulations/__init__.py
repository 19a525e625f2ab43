"""Simulations: families of shifts drawn from labelled rows, on which estimators are tried. Near-twins share a file."""

from __future__ import annotations

# The order of import is the order of presentation.
# isort: off
from .base import Simulation
from .tilt import NoShift, ClassPrior
from .clusters import Clusters
from .tilt import Tilt, ConfidenceTilt
from .tilt import LogitNoise, LogitTemperature
from .clusters import Groups, Periods
# isort: on

__all__ = [
    "ClassPrior",
    "Clusters",
    "ConfidenceTilt",
    "Groups",
    "LogitNoise",
    "LogitTemperature",
    "NoShift",
    "Periods",
    "Simulation",
    "Tilt",
]
