"""Results: the records that verbs return, plain, without plots; who makes, weighs or draws them imports only this."""

from __future__ import annotations

from .values import (
    KINDS,
    Curve,
    Estimate,
    Interval,
    Kind,
    Ranking,
    Skipped,
    percent,
    plain,
    rounded_up,
)

__all__ = [
    "KINDS",
    "Curve",
    "Estimate",
    "Interval",
    "Kind",
    "Ranking",
    "Skipped",
    "percent",
    "plain",
    "rounded_up",
]
