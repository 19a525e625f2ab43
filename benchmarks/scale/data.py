"""The files of the scale benchmark: one reference, targets of any size, and folders of many small files.

Rows are those of `benchmarks.data`: probabilities of 10 classes as a list of float32, row groups of 131,072 rows. A
target of 100 M rows takes 4.5 GB.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from .. import data

CLASSES = 10
REFERENCE_ROWS = 100_000
SMALL_FILE = 10_000


def home() -> Path:
    """Where the files lie, `benchmarks.data.bench_dir` / scale."""
    place = data.bench_dir() / f"scale-v{data.VERSION}"
    place.mkdir(parents=True, exist_ok=True)
    return place


def reference() -> Path:
    """100,000 labelled rows."""
    return _made("reference.parquet", REFERENCE_ROWS, shifted=False, labelled=True)


def target(rows: int, *, labelled: bool = False) -> Path:
    """So many rows, without labels unless they are asked for."""
    name = f"target-{rows}{'-labelled' if labelled else ''}.parquet"
    return _made(name, rows, shifted=True, labelled=labelled)


def folder(files: int) -> Path:
    """A folder of so many files of 10,000 rows, as a service writes them."""
    place = home() / f"folder-{files}"
    place.mkdir(exist_ok=True)
    table = pq.read_table(target(1_000_000)).slice(0, SMALL_FILE)
    for number in range(files):
        path = place / f"hour-{number:06}.parquet"
        if not path.exists():
            pq.write_table(table, f"{path}.part")
            Path(f"{path}.part").rename(path)
    return place


def _made(name: str, rows: int, *, shifted: bool, labelled: bool) -> Path:
    path = home() / name
    if path.exists():
        return path
    part = path.with_suffix(f".{os.getpid()}.part")
    writer: Any = None
    waiting: list[tuple[Any, Any]] = []
    held = done = 0
    try:
        for probabilities, label in data.blocks(rows, CLASSES, data.find_scale(CLASSES), shifted):
            waiting.append((probabilities, label))
            held, done = held + len(label), done + len(label)
            if held < data.ROW_GROUP and done < rows:
                continue
            truth = np.concatenate([one[1] for one in waiting]) if labelled else None
            table = data.narrow_table(np.concatenate([one[0] for one in waiting]), truth)
            writer = writer or pq.ParquetWriter(part, table.schema)
            writer.write_table(table, row_group_size=data.ROW_GROUP)
            waiting, held = [], 0
        writer.close()
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path
