"""Dialogue shift: how a ranker of replies loses accuracy and calibration as conversations drift. Lee et al. (2021)."""

from __future__ import annotations

from .recipe import RECIPE, DialogueShift

__all__ = ["RECIPE", "DialogueShift"]
