"""Sides of the scale benchmark, each a program of its own: a bare scan, an engine kept for three calls, states.

    python -m benchmarks.scale.sides scan FILE stream|threads|table
    python -m benchmarks.scale.sides engine ENGINE WORKERS FITTED SMALL LARGE
    python -m benchmarks.scale.sides states FITTED TARGET FOLDER

The scan is the floor: pyarrow reads the same column and does nothing with it. ``stream`` is `ParquetFile.iter_batches`
in one thread, as our workers read; ``threads`` a `pyarrow.dataset` scanner with as many threads as there are cores;
``table`` is `pyarrow.parquet.read_table`, which holds everything in memory.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

BATCH = 65_536


def scan(path: str, how: str) -> dict[str, Any]:
    """Rows that came by, and seconds."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    start = time.perf_counter()
    if how == "stream":
        file = pq.ParquetFile(path, memory_map=False, pre_buffer=False, buffer_size=1 << 20)
        rows = sum(
            one.num_rows
            for one in file.iter_batches(BATCH, columns=["probabilities"], use_threads=False)
        )
    elif how == "threads":
        rows = sum(
            one.num_rows
            for one in ds.dataset(path).to_batches(columns=["probabilities"], batch_size=BATCH)
        )
    else:
        rows = int(pq.read_table(path, columns=["probabilities"]).num_rows)
    return {"rows": rows, "inside": time.perf_counter() - start}


def engine(name: str, workers: str, fitted: str, small: str, large: str) -> dict[str, Any]:
    """Seconds of a first call, of a second one on the small file and of one on the large file; the last answer."""
    import oodometer
    from oodometer.engines import create_engine

    runner = create_engine(name, int(workers))
    seconds = []
    for path in (small, small, large):
        start = time.perf_counter()
        found = oodometer.estimate(fitted, path, engine=runner, workers=int(workers))
        seconds.append(time.perf_counter() - start)
    answer = {
        "value": found.headline.value,
        "lower": found.headline.lower,
        "upper": found.headline.upper,
    }
    return {"first": seconds[0], "small": seconds[1], "large": seconds[2], "answer": answer}


def states(fitted: str, target: str, folder: str) -> dict[str, Any]:
    """Bytes of what travels and of what is held, and milliseconds for each of the steps."""
    import oodometer
    from oodometer.passes.plan import EstimationPlan
    from oodometer.passes.run_folder import pack_state
    from oodometer.store import as_source
    from oodometer.verbs.target_plan import PART_ROWS

    seen: dict[str, Any] = {}
    read = EstimationPlan.read

    def noted(plan: EstimationPlan, parts: Any, *more: Any) -> Any:
        seen.update(plan=plan, parts=parts)
        return read(plan, parts, *more)

    EstimationPlan.read = noted  # type: ignore[method-assign]
    oodometer.estimate(fitted, target, workers=1)
    plan, parts = seen["plan"], seen["parts"]
    total = reduce(plan.merge, map(plan, parts))  # as it is at the end, its samples of rows full
    made = [plan(part) for part in parts[:8]]
    pickled = [pickle.dumps(state) for state in made]
    packed = [pack_state(state) for state in made]
    merging = _milliseconds(lambda: [plan.merge(total, state) for state in made], len(made))
    packing = _milliseconds(lambda: [pack_state(state) for state in made], len(made))
    unpacking = _milliseconds(lambda: [one.state() for one in packed], len(made))
    start = time.perf_counter()
    _ = as_source(folder)
    heads = time.perf_counter() - start
    files = len(list(Path(folder).iterdir()))
    tracemalloc.start()
    opened = as_source(folder)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del opened
    tracemalloc.start()
    of_one = as_source(target)
    before = tracemalloc.get_traced_memory()[0]
    long = of_one.parts(PART_ROWS)
    of_part = (tracemalloc.get_traced_memory()[0] - before) / len(long)
    tracemalloc.stop()
    return {"parts": len(parts), "plan_bytes": len(pickle.dumps(plan)), "part_bytes": len(pickle.dumps(parts[0])),
        "state_bytes": sum(map(len, pickled)) / len(pickled),
        "kept_bytes": sum(len(one.content) for one in packed) / len(packed), "merge_ms": merging, "pack_ms": packing,
        "unpack_ms": unpacking, "files": files, "open_ms": 1e3 * heads / files, "held_bytes_a_file": held / files,
        "held_bytes_a_part": of_part}  # fmt: skip


def _milliseconds(work: Callable[[], Any], times: int) -> float:
    """Processor time of one of so many steps, the least of five rounds."""
    took = []
    for _ in range(5):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return 1e3 * min(took) / times


if __name__ == "__main__":
    print(
        json.dumps({"scan": scan, "engine": engine, "states": states}[sys.argv[1]](*sys.argv[2:]))
    )
