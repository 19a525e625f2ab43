"""The verb `shift`: a data set in, shifted copies of it out, seeded, with a severity."""

from __future__ import annotations

from .run import shift

__all__ = ["shift"]
