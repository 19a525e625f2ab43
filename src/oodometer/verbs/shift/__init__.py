"""The verb `shift`: a data set in, shifted copies of it out, seeded, with a severity. One file for what is shifted."""

from __future__ import annotations

from .image import shift_image

__all__ = ["shift_image"]
