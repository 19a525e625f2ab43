"""Dialogue shifts: turns that are missing. One kind, one file; words are exchanged by the shifts of texts."""

from __future__ import annotations

from ..text.base import TextShift
from .insufficient_context import InsufficientContext
from .short_context import ShortContext

__all__ = ["KINDS", "InsufficientContext", "ShortContext"]

KINDS: tuple[type[TextShift], ...] = (InsufficientContext, ShortContext)
