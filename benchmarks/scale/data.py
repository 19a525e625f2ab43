"""The files of the scale benchmark: one reference, targets of any size, and folders of many small files.

Rows are those of `benchmarks.data`: probabilities of 10 classes as a list of float32, row groups of 131,072 rows. A
target of 100 M rows takes 4.5 GB.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from .. import data
from ..kit import bench_dir

CLASSES = 10
REFERENCE_ROWS = 100_000
SMALL_FILE = 10_000


def home() -> Path:
    """Where the files lie, `bench_dir` / scale."""
    place = bench_dir() / f"scale-v{data.VERSION}"
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
    try:
        for probabilities, label in data.row_groups(
            rows, CLASSES, data.find_scale(CLASSES), shifted
        ):
            table = data.narrow_table(probabilities, label if labelled else None)
            writer = writer or pq.ParquetWriter(part, table.schema)
            writer.write_table(table, row_group_size=data.ROW_GROUP)
        writer.close()
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path
