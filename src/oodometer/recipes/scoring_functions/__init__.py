"""Scoring functions: which score of a sample predicts accuracy on shifted images. Trivedi et al. (2023)."""

from __future__ import annotations

from .recipe import RECIPE, ScoringFunctions

__all__ = ["RECIPE", "ScoringFunctions"]
