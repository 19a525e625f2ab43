"""Selective answering: ten models trained on IMDb, judged on IMDb and SST-2 by DiSCA. Mishra et al. (2022)."""

from __future__ import annotations

from .recipe import RECIPE, SelectiveAnswering

__all__ = ["RECIPE", "SelectiveAnswering"]
