"""The stopwatch of every benchmarked side: time a job in this process, print one line of JSON about it.

Standard library only, so that it works in every peer's environment.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def peak_mb() -> float:
    """The largest resident size of this process so far, in MB (10^6 bytes)."""
    try:  # VmHWM counts this program only; ru_maxrss may still hold the size of the process that started it
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def arguments(*jobs: str) -> argparse.Namespace:
    """Parse `JOB FOLDER [--runs N] [--option NAME=VALUE]`, the call that run.py makes of every side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=jobs)
    parser.add_argument("folder", type=Path, help="a folder written by benchmarks/data.py")
    parser.add_argument(
        "--runs", type=int, default=1, help="timed runs; if more than 1, one more comes first"
    )
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    found = parser.parse_args()
    found.options = dict(pair.split("=", 1) for pair in found.option)
    return found


def report(
    job: Callable[[], Any], runs: int = 1, packages: tuple[str, ...] = (), **more: Any
) -> None:
    """Run `job` and print the JSON line: a dict from `job` is merged in, anything else is `value`."""
    before = peak_mb()
    times: list[float] = []
    answer: Any = None
    for _ in range(runs + (runs > 1)):
        answer = None
        gc.collect()
        start = time.perf_counter()
        answer = job()
        times.append(time.perf_counter() - start)
    kept = times[1:] or times
    line = {"seconds": statistics.median(kept), "runs": kept, "first_seconds": times[0], "peak_mb": peak_mb(),
        "loaded_mb": before, "versions": {name: _version(name) for name in packages}, **more,
        **(answer if isinstance(answer, dict) else {"value": answer})}  # fmt: skip
    print(json.dumps(line), flush=True)


def pending(why: str) -> None:
    """Say that this side cannot be run yet; run.py marks it so and goes on."""
    print(json.dumps({"pending": why}), flush=True)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
