"""Files of a run: predictions and examples read with their texts, which the store leaves out unless asked."""

from __future__ import annotations

from pathlib import Path

from ...predictions import Predictions
from ...store import as_source

__all__ = ["read_judged", "read_pairs"]

COLUMNS = ("type", "gold")


def read_judged(folder: Path, name: str) -> Predictions:
    """The predictions file of a set, its votes, texts, types and gold outputs."""
    source = as_source(folder / "predictions" / f"{name}.parquet", extra_columns=COLUMNS)
    return source.read(source.fields)


def read_pairs(folder: Path, part: str) -> Predictions:
    """The examples of a part, ``train`` or ``dev``."""
    source = as_source(folder / "examples" / f"{part}.parquet", extra_columns=("origin",))
    return source.read(source.fields)
