"""Benchmarks that ship: an estimator or a ranker of one's own beside all shipped ones, on natural shifts."""

from __future__ import annotations

from .natural import natural
from .natural_cases import KINDS, SOURCES, NaturalCase, natural_cases
from .natural_rankers import NaturalRanking, natural_rankers, natural_rankings

__all__ = [
    "KINDS",
    "SOURCES",
    "NaturalCase",
    "NaturalRanking",
    "natural",
    "natural_cases",
    "natural_rankers",
    "natural_rankings",
]
