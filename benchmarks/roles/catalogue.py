"""All tables of the bed, in their order."""

from __future__ import annotations

from . import tools, traps
from .base import TABLES, Table

_MODULES = (tools, traps)  # each registers its tables


def tables() -> list[Table]:
    """The tables of tools, then those with traps."""
    return list(TABLES)
