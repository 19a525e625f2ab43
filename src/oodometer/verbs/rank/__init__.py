"""The verb `rank`: several models, a few labels and perhaps a pool; which model, how sure, what to label next."""

from __future__ import annotations

from .run import check_out, rank, write_suggested

__all__ = ["check_out", "rank", "write_suggested"]
