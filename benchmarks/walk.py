"""Live walk: how many files of the package one estimate runs through, and how often it moves from one to another.

python -m benchmarks.walk            one method on 600 rows of CSV, features off, and the default estimate
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import oodometer

_PACKAGE = str(Path(oodometer.__file__).parent)


def walk(run: Callable[[], object]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Calls by file of the package while ``run`` runs, and moves from one of its files to another.

    The second run in a process is counted, so that imports are not. Only calls count as moves, returns do not.
    """
    calls: Counter[str] = Counter()
    moves: Counter[tuple[str, str]] = Counter()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event != "call"
            or not code.co_filename.startswith(_PACKAGE)
            or code.co_name.startswith("<")
        ):
            return
        file = code.co_filename[len(_PACKAGE) + 1 :]
        calls[file] += 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(_PACKAGE):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            moves[caller.f_code.co_filename[len(_PACKAGE) + 1 :], file] += 1

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls, moves


def _write(path: Path, shift: float, labels: bool) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 600)
    logits = rng.normal(size=(600, 3))
    logits[np.arange(600), label] += 2 - shift
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    header = [f"prob_{i}" for i in range(3)] + ["label"] * labels
    table = np.column_stack([probabilities, label]) if labels else probabilities
    np.savetxt(
        path,
        table,
        delimiter=",",
        header=",".join(header),
        comments="",
        fmt=["%.6f"] * 3 + ["%d"] * labels,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        reference, target = Path(folder) / "reference.csv", Path(folder) / "target.csv"
        _write(reference, 0, labels=True)
        _write(target, 0.7, labels=False)
        walks: dict[str, dict[str, Any]] = {
            "one method, features off": {"methods": ["doc"]},
            "default": {},
        }
        for name, asked in walks.items():
            run = partial(oodometer.estimate, reference, target, **asked)
            run()  # what only the first call does: imports, registries
            calls, moves = walk(run)
            print(
                f"{name}: {len(calls)} files, {moves.total()} moves between files, {calls.total()} calls"
            )
            if "-v" in sys.argv:
                print(
                    "\n".join(
                        f"  {count:6d} calls in {file}" for file, count in calls.most_common()
                    )
                )
                print(
                    "\n".join(
                        f"  {count:6d} moves {a} -> {b}" for (a, b), count in moves.most_common()
                    )
                )


if __name__ == "__main__":
    main()
