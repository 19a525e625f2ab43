"""The floor of the scale benchmark: pyarrow reads the same column and does nothing with it.

    python -m benchmarks.scale.scan FILE stream|threads|table

``stream`` is `ParquetFile.iter_batches` in one thread, as our workers read; ``threads`` a `pyarrow.dataset` scanner
with as many threads as there are cores; ``table`` is `pyarrow.parquet.read_table`, which holds everything in memory.
"""

from __future__ import annotations

import json
import sys
import time

import pyarrow.dataset as ds
import pyarrow.parquet as pq

BATCH = 65_536


def rows_read(path: str, how: str) -> int:
    """Rows that came by."""
    if how == "stream":
        file = pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=1 << 20)
        return sum(batch.num_rows for batch in file.iter_batches(BATCH, columns=["probabilities"], use_threads=False))
    if how == "threads":
        return sum(batch.num_rows for batch in ds.dataset(path).to_batches(columns=["probabilities"], batch_size=BATCH))
    return int(pq.read_table(path, columns=["probabilities"]).num_rows)


if __name__ == "__main__":
    start = time.perf_counter()
    rows = rows_read(*sys.argv[1:])
    print(json.dumps({"rows": rows, "inside": time.perf_counter() - start}))
