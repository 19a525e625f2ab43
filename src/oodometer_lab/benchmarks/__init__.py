"""Benchmarks that ship with the package: an estimator of one's own beside all shipped ones, on natural shifts."""

from __future__ import annotations

from .natural import natural
from .natural_cases import KINDS, SOURCES, NaturalCase, natural_cases

__all__ = ["KINDS", "SOURCES", "NaturalCase", "natural", "natural_cases"]
