"""What the driver of a large run has to do for each part and each file: merge a state, keep it, recall it, open a head.

python -m benchmarks.scale.states FITTED TARGET FOLDER
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import oodometer
from oodometer.passes.plan import EstimationPlan
from oodometer.store import as_source


def main(fitted: str, target: str, folder: str) -> dict[str, Any]:
    """Bytes of a state, pickled and packed, and milliseconds for each of the steps."""
    seen: dict[str, Any] = {}
    read = EstimationPlan.read

    def noted(plan: EstimationPlan, parts: Any, *more: Any) -> Any:
        seen.update(plan=plan, parts=parts)
        return read(plan, parts, *more)

    EstimationPlan.read = noted  # type: ignore[method-assign]
    runs = Path(tempfile.mkdtemp())
    try:
        start = time.perf_counter()
        oodometer.estimate(fitted, target, workers=1, run_folder=runs / "run")
        fresh = time.perf_counter() - start
        start = time.perf_counter()
        oodometer.estimate(fitted, target, workers=1, run_folder=runs / "run")
        recalled = time.perf_counter() - start
        start = time.perf_counter()
        oodometer.estimate(fitted, target, workers=1)
        without = time.perf_counter() - start
        packed = [path.stat().st_size for path in (runs / "run" / "parts").iterdir()]
    finally:
        shutil.rmtree(runs)
    plan, parts = seen["plan"], seen["parts"]
    states = [plan(part) for part in parts[:8]]
    pickled = [pickle.dumps(state) for state in states]
    start = time.perf_counter()
    total = states[0]
    for state in states[1:]:
        total = plan.merge(total, state)
    merged = (time.perf_counter() - start) / max(len(states) - 1, 1)
    start = time.perf_counter()
    opened = as_source(folder)
    heads = time.perf_counter() - start
    files = len(list(Path(folder).iterdir()))
    start = time.perf_counter()
    many = len(opened.parts())
    cut = time.perf_counter() - start
    return {
        "parts": len(parts),
        "plan_bytes": len(pickle.dumps(plan)),
        "part_bytes": len(pickle.dumps(parts[0])),
        "state_bytes": sum(map(len, pickled)) / len(pickled),
        "kept_bytes": sum(packed) / len(packed),
        "merge_ms": 1e3 * merged,
        "keep_ms": 1e3 * (fresh - without) / len(parts),
        "recall_ms": 1e3 * recalled / len(parts),
        "files": files,
        "open_ms": 1e3 * heads / files,
        "cut_ms": 1e3 * cut / many,
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
