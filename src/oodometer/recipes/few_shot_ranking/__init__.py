"""Few-shot ranking: which of several models does best out of domain, from ten examples. Singhal et al. (2022)."""

from __future__ import annotations

from .recipe import RECIPE, FewShotRanking

__all__ = ["RECIPE", "FewShotRanking"]
