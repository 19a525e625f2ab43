"""Calibrators: from a record to a record whose probabilities match observed rates. One calibrator, one file."""

from __future__ import annotations

from .base import Calibrator
from .binned_map import BinnedMap, fit_map
from .choice import Choice, choose_calibrator
from .histogram import Histogram
from .isotonic import Isotonic
from .temperature import Temperature, fit_temperature

__all__ = [
    "BinnedMap",
    "Calibrator",
    "Choice",
    "Histogram",
    "Isotonic",
    "Temperature",
    "choose_calibrator",
    "fit_map",
    "fit_temperature",
]
