"""Fitted: everything learnt from a reference, in memory and in one file, and that file where a reference is wanted."""

from __future__ import annotations

from .contents import Contents, Fitted, check_ending
from .source import FittedSource, faults_of_fitted, is_fitted

__all__ = ["Contents", "Fitted", "FittedSource", "check_ending", "faults_of_fitted", "is_fitted"]
