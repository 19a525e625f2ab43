"""Dialogue shift: how accuracy and calibration of a response ranker fall as a conversation drifts. Lee et al. (2021)."""

from __future__ import annotations

from .recipe import RECIPE, DialogueShift

__all__ = ["RECIPE", "DialogueShift"]
