"""Whole processes: how long a command takes, and the largest resident size of it and of the processes it starts."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAUSE = 0.1  # seconds between two looks at the sizes


def measured(command: Sequence[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a command: seconds on the clock, processor seconds, peaks in MB (10^6 bytes), and its last line as JSON.

    ``peak_mb`` is the command's own process, ``worker_mb`` the largest other Python process below it (without Java).
    """
    settings = {**os.environ, **(environment or {})}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled modules are kept, as where a package is installed
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings)
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
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {err.strip()[-500:]}")
    own = peaks.pop(child.pid, 0.0)
    return {"seconds": seconds, "peak_mb": own, "worker_mb": max(peaks.values(), default=0.0), "said": _last(out)}


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
