"""The forms of a table: CSV, Parquet, JSONL, a pandas frame; the cells are the same, as far as a form has types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .base import Columns

FILES = ("csv", "parquet", "jsonl")
FRAME = "pandas"
FORMS = (*FILES, FRAME)


def frame(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({name: list(values) for name, values in columns.items()})


def put(path: Path, columns: Columns) -> None:
    """Write the columns in the form that the ending of the path names."""
    if path.suffix == ".parquet":
        frame(columns).to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(columns)), "utf-8"
        )
    else:
        as_text = {name: [_text(cell) for cell in values] for name, values in columns.items()}
        frame(as_text).to_csv(path, index=False)


def _text(cell: Any) -> Any:
    """Lists and structures as JSON; other cells as they are."""
    return json.dumps(cell) if isinstance(cell, list | dict) else cell


def _rows(columns: Columns) -> Iterable[dict[str, Any]]:
    plain = [
        [cell.item() if isinstance(cell, np.generic) else cell for cell in values]
        for values in columns.values()
    ]
    for cells in zip(*plain, strict=True):
        yield dict(zip(columns, cells, strict=True))
