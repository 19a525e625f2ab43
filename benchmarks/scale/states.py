"""What a large run has to do for each part and each file: merge a state, pack it, unpack it, open the head of a file.

python -m benchmarks.scale.states FITTED TARGET FOLDER
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

import oodometer
from oodometer.passes.plan import EstimationPlan
from oodometer.passes.run_folder import pack_state
from oodometer.store import as_source
from oodometer.verbs.estimate import PART_ROWS


def main(fitted: str, target: str, folder: str) -> dict[str, Any]:
    """Bytes of what travels and of what is held, and milliseconds for each of the steps."""
    seen: dict[str, Any] = {}
    read = EstimationPlan.read

    def noted(plan: EstimationPlan, parts: Any, *more: Any) -> Any:
        seen.update(plan=plan, parts=parts)
        return read(plan, parts, *more)

    EstimationPlan.read = noted  # type: ignore[method-assign]
    oodometer.estimate(fitted, target, workers=1)
    plan, parts = seen["plan"], seen["parts"]
    total = reduce(plan.merge, map(plan, parts))  # as it is at the end, its samples of rows full
    states = [plan(part) for part in parts[:8]]
    pickled = [pickle.dumps(state) for state in states]
    packed = [pack_state(state) for state in states]
    merging = _milliseconds(lambda: [plan.merge(total, state) for state in states], len(states))
    packing = _milliseconds(lambda: [pack_state(state) for state in states], len(states))
    unpacking = _milliseconds(lambda: [one.state() for one in packed], len(states))
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
    print(json.dumps(main(*sys.argv[1:])))
