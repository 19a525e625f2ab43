"""Factors: one number an example that measures, in its attributions, how much a model follows a heuristic."""

from __future__ import annotations

from .base import Factor

__all__ = ["Factor"]
