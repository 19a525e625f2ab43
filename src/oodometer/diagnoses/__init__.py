"""Diagnoses: what kind of shift is it? The diagnostician puts them together."""

from __future__ import annotations

from ..estimators.target_prior import ShiftStatistics
from ..results.diagnosis import Diagnosis, Finding
from .diagnostician import Diagnostician

__all__ = ["Diagnosis", "Diagnostician", "Finding", "ShiftStatistics"]
