"""The verb `stress`: models on data whose shift grows, quality with bands, and what is estimated without labels."""

from __future__ import annotations

from .run import stress

__all__ = ["stress"]
