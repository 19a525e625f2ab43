"""Calibrators: from a record to a record whose probabilities match observed rates."""

from __future__ import annotations

from .base import Calibrator, Choice, choose_calibrator
from .binned_map import BinnedMap, fit_map
from .isotonic import Histogram, Isotonic
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
