"""The cases of the scale benchmark, measured in turn, round after round.

    python -m benchmarks.scale [--rows 1 20 100] [--rounds 5] [--only WORD] [--clean]

Writes results/scale.json and results/scale.md, and the tables of docs/scale.md. Every figure is of a whole process in a
fresh interpreter, but for the engines, which are kept for three calls, as a service keeps them. Ratios are taken within
a round; medians over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..kit import RESULTS, ROOT, save
from . import data
from .tables import to_markdown, with_tables

PAGE = ROOT / "docs" / "scale.md"
FIVE = ("source", "ac", "doc", "atc", "cbpe")
SCANS = ("stream", "threads", "table")
ENGINES = ("local", "processes", "ray", "spark")
FILES = 2000  # of the folder whose heads are opened
MILLION = 1_000_000
PAUSE = 0.1  # seconds between two looks at the sizes of processes

Measured = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Rows a second, memory and states at scale.")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[1, 20, 100], help="millions of target rows"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", help="cases whose name holds this word; the results go to the temporary folder"
    )
    parser.add_argument("--clean", action="store_true", help="remove the files afterwards")
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="oodometer-scale-"))
    os.environ["OODOMETER_CACHE"] = str(work / "cache")
    try:
        cases = _cases(work, [rows * MILLION for rows in given.rows])
        cases = {
            name: one for name, one in cases.items() if given.only is None or given.only in name
        }
        rounds: list[dict[str, Measured]] = []
        for number in range(given.rounds):
            rounds.append({})
            for name, run in cases.items():
                rounds[-1][name] = found = run()
                told = (
                    f"{found['seconds']:.2f} s" if "seconds" in found else json.dumps(found)[:100]
                )
                print(f"round {number + 1}: {name}: {told}", file=sys.stderr, flush=True)
        packages = {
            name: version(name) for name in ("oodometer", "numpy", "pyarrow", "ray", "pyspark")
        }
        result = {"about": {"command": "python -m benchmarks.scale", "millions": sorted(given.rows),
            "classes": data.CLASSES, "cores": os.cpu_count(), "python": platform.python_version(),
            "machine": platform.machine(), "versions": packages}, "rounds": rounds}  # fmt: skip
        out = RESULTS if given.only is None else work.parent
        save(out / "scale", result, to_markdown)
        if given.only is None:
            PAGE.write_text(with_tables(PAGE.read_text(), result))
        print(out / "scale.md")
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if given.clean:
            shutil.rmtree(data.home(), ignore_errors=True)


def _cases(work: Path, sizes: list[int]) -> dict[str, Callable[[], Measured]]:
    """Name -> what runs the case once. The middle size is the one that all sides are measured on."""
    sizes = sorted(sizes)
    smallest, middle = sizes[0], sizes[len(sizes) // 2]
    targets = {rows: data.target(rows) for rows in sizes}
    fitted = {"all": work / "all.oodo", "five": work / "five.oodo"}
    _fit(fitted["all"])
    _fit(fitted["five"], *(word for name in FIVE for word in ("--method", name)))
    cases: dict[str, Callable[[], Measured]] = {}
    for rows, path in targets.items():
        for how in SCANS if rows == middle else SCANS[:2]:
            cases[f"scan {how} {rows}"] = lambda p=path, h=how: _program("scan", p, h)
        for workers in (1, 2):
            cases[f"estimate all {rows} {workers}"] = lambda p=path, w=workers: _estimate(
                fitted["all"], p, w
            )
            cases[f"estimate five {rows} {workers}"] = lambda p=path, w=workers: _estimate(
                fitted["five"], p, w
            )
    labelled = {rows: data.target(rows, labelled=True) for rows in (smallest, middle)}
    for rows, path in labelled.items():
        for workers in (1, 2):
            cases[f"evaluate {rows} {workers}"] = lambda p=path, w=workers: _oodometer(
                "evaluate", p, w
            )
    for name in ENGINES:
        cases[f"engine {name}"] = lambda n=name: _program(
            "engine", n, "2", fitted["all"], targets[smallest], targets[middle]
        )
    folder = data.folder(FILES)
    cases["states"] = lambda: _program("states", fitted["all"], targets[middle], folder)
    return cases


def _fit(out: Path, *options: str) -> None:
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "fit",
        str(data.reference()),
        "--out",
        str(out),
        "--quiet",
        *options,
    ]
    subprocess.run(command, check=True, capture_output=True)


def _estimate(fitted: Path, target: Path, workers: int) -> Measured:
    return _oodometer("estimate", fitted, target, workers)


def _oodometer(verb: str, *rest: Any) -> Measured:
    """The command as it is typed; of its answer the headline is kept."""
    *files, workers = map(str, rest)
    found = measured(
        [
            sys.executable,
            "-m",
            "oodometer",
            verb,
            *files,
            "--workers",
            workers,
            "--json",
            "-",
            "--quiet",
        ]
    )
    said = found.pop("said")
    return {
        **found,
        "answer": said.get("headline", {}).get("value") or said.get("metrics", {}).get("accuracy"),
    }


def _program(name: str, *words: Any) -> Measured:
    found = measured([sys.executable, "-m", "benchmarks.scale.sides", name, *map(str, words)],
        {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))})  # fmt: skip
    return {**found, **found.pop("said")}


def measured(command: Sequence[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a command: seconds on the clock, processor seconds, peaks in MB (10^6 bytes), and its last line as JSON.

    ``peak_mb`` is the command's own process, ``worker_mb`` the largest other Python process below it (without Java).
    """
    settings = {**os.environ, **(environment or {})}
    settings.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # compiled modules are kept, as where a package is installed
    start = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings
    )
    peaks: dict[int, float] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(PAUSE):
            # processes that a process started, and those that they started
            parents: dict[int, list[int]] = {}
            for place in Path("/proc").iterdir():
                if place.name.isdecimal():
                    try:
                        parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                    except (OSError, ValueError, IndexError):
                        continue
                    parents.setdefault(parent, []).append(int(place.name))
            out, waiting = [], [child.pid]
            while waiting:
                found = parents.get(waiting.pop(), [])
                out += found
                waiting += found
            for pid in [child.pid, *out]:
                peaks[pid] = max(peaks.get(pid, 0.0), _peak_mb(pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    out, err = child.communicate()
    seconds = time.perf_counter() - start
    over.set()
    watcher.join()
    if child.returncode not in (0, 3):
        raise RuntimeError(
            f"{' '.join(command)} ended with {child.returncode}: {err.strip()[-500:]}"
        )
    own = peaks.pop(child.pid, 0.0)
    return {
        "seconds": seconds,
        "peak_mb": own,
        "worker_mb": max(peaks.values(), default=0.0),
        "said": _last(out),
    }


def _last(out: str) -> Any:
    try:
        return json.loads(out)
    except ValueError:
        return json.loads(out.strip().splitlines()[-1])


def _peak_mb(pid: int) -> float:
    """VmHWM of a Python process; 0 for one that is gone, or another program."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    name = lines.get("Name", "").strip()
    if not name.startswith(("python", "ray::", "oodometer")) or "VmHWM" not in lines:
        return 0.0
    return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
