"""Correctness discriminators: bounds on sequence models from judges of their outputs. Yao and Koller (2024)."""

from __future__ import annotations

from .recipe import RECIPE, CorrectnessDiscriminators

__all__ = ["RECIPE", "CorrectnessDiscriminators"]
