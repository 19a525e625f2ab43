"""The verb `audit`: a few labels on the target in, a valid interval out, and whether the label-free one can be true."""

from __future__ import annotations

from ...audits.result import Audit
from .run import audit

__all__ = ["Audit", "audit"]
