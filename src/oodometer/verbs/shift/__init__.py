"""The verb `shift`: a data set in, shifted copies of it out, seeded, with a severity. One file for what is shifted."""

from __future__ import annotations

from .image import shift_image
from .text import shift_dialogue, shift_text

__all__ = ["shift_dialogue", "shift_image", "shift_text"]
