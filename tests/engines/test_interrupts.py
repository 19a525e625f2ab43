"""Ctrl-C goes to a whole group of processes: one line says so, wherever workers stand, and none of them stays."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="needs the processes of Linux"
)

ROWS = "prob_a,prob_b,label\n" + "0.9,0.1,a\n0.4,0.6,a\n0.2,0.8,b\n" * 2000


def interrupted(folder: Path, engine: str, child: str, after: float) -> tuple[int, str]:
    """Exit code and standard error of a backtest that got Ctrl-C so long after a process of this name had begun."""
    (folder / "r.csv").write_text(ROWS)
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "backtest",
        "r.csv",
        "--no-cache",
        "--engine",
        engine,
    ]
    process = subprocess.Popen(
        [*command, "--workers", "2"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        began = time.monotonic()
        while not any(child in name for name in children(process.pid)):
            assert time.monotonic() - began < 120
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        return process.returncode, said
    finally:
        process.kill()


def children(pid: int) -> list[str]:
    """Command lines of the processes that a process has started."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for one in tasks.read_text().split():
            path = Path(f"/proc/{one}/cmdline")
            found.append(
                path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if path.exists()
                else ""
            )
    return found


def group_ends(group: int, within: float = 30.0) -> bool:
    """Whether all processes of a group end."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("after", [0.0, 0.2, 0.5, 1.2])
def test_workers_that_are_starting_or_at_work_say_nothing(after: float, tmp_path: Path) -> None:
    code, said = interrupted(tmp_path, "processes", "spawn_main", after)
    assert (code, said.count("\n")) == (130, 1), said
    assert said.startswith("oodometer: interrupted")


@pytest.mark.parametrize("after", [0.1, 0.6, 1.5])
def test_java_that_is_starting_does_not_stay(
    after: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark and Java: sudo apt-get install default-jre-headless")
    groups: list[int] = []
    usual = os.killpg
    monkeypatch.setattr(
        os, "killpg", lambda group, number: (groups.append(group), usual(group, number))
    )
    code, said = interrupted(tmp_path, "spark", "java", after)
    assert (code, said.count("\n")) == (130, 1), said
    monkeypatch.undo()
    assert group_ends(groups[0])
