"""Recipes: a paper reproduced by one command, each a folder with its own README; the numbers beside the paper's."""

from __future__ import annotations

from .base import Recipe, Report, Step, Workspace
from .reproduce import RECIPES, Reproduction, find_recipe, reproduce

__all__ = [
    "RECIPES",
    "Recipe",
    "Report",
    "Reproduction",
    "Step",
    "Workspace",
    "find_recipe",
    "reproduce",
]
