"""The verb `estimate`: how accurate is the model on a target without labels?"""

from __future__ import annotations

from .run import estimate, estimated

__all__ = ["estimate", "estimated"]
