"""One engine of the scale benchmark, kept for several calls: what starting it takes, and what a pass takes after that.

python -m benchmarks.scale.engine ENGINE WORKERS FITTED SMALL LARGE
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import oodometer
from oodometer.engines import create_engine


def main(name: str, workers: str, fitted: str, small: str, large: str) -> dict[str, Any]:
    """Seconds of a first call, of a second one on the small file and of one on the large file; the last answer."""
    engine = create_engine(name, int(workers))
    seconds = []
    for path in (small, small, large):
        start = time.perf_counter()
        found = oodometer.estimate(fitted, path, engine=engine, workers=int(workers))
        seconds.append(time.perf_counter() - start)
    answer = {"value": found.headline.value, "lower": found.headline.lower, "upper": found.headline.upper}
    return {"first": seconds[0], "small": seconds[1], "large": seconds[2], "answer": answer}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
