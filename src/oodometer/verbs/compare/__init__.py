"""The verb `compare`: which of several models, in the domain and out of it?"""

from __future__ import annotations

from .run import compare

__all__ = ["compare"]
