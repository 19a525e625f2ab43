"""Attributions: what each word of a text adds to what a classifier says of it; factors over them are in `factors`."""

from __future__ import annotations

from .base import Attribution, WordAttributions
from .words import Words

__all__ = ["Attribution", "WordAttributions", "Words"]
