"""The command line: a thin mirror of the verbs, one file a command."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
