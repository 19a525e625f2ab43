"""Error exits: every command ends with its line and exit code 1 or 2, six at a time: none hangs, none aborts.

On a machine that may be busy with other things: what goes wrong at an exit shows where threads of libraries come late.
Files fail at once, or in the middle while Arrow reads ahead (blocks are of 1 MB for that).
"""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import pytest

from oodometer.cli.main import all_commands

SECONDS = 120.0  # a run that takes longer hangs; an exit takes half a second of processor
_LINES = 100_000

# Arguments of runs that fail, by command; each command is run with one after another. The files are those of `fill`.
COMMANDS: dict[str, list[str]] = {
    "estimate": ["ref.csv few.csv", "ref.csv long.csv", "ref.csv long.csv.xz", "ref.csv two.csv.gz",
        "ref.csv two.csv.xz", "ref.csv long.jsonl", "ref.csv absent.csv"],
    "fit": ["long_labelled.csv --out f.oodo", "few.csv --out f.oodo", "absent.csv --out f.oodo"],
    "diagnose": ["ref.csv few.csv", "ref.csv long.csv", "ref.csv long.csv.xz", "ref.csv two.csv.xz",
        "ref.csv long.jsonl"],
    "backtest": ["long_labelled.csv", "few.csv", "long_labelled.csv.xz"],
    "audit": ["ref.csv few.csv", "ref.csv long.csv", "ref.csv ref.csv --labels two.csv", "ref.csv long.csv.xz"],
    "read": ["absent.jsonl --out p.csv", "broken.jsonl --out p.csv"],
    "predict": ["absent.py:f long.csv --out p.csv", "model.py:f text.csv --out p.csv", "no/folder text.csv --out p.csv",
        ""],
    "evaluate": ["long_labelled.csv", "few.csv", "long_labelled.csv.xz", "ref.csv --metric nonsense"],
    "compare": ["ref.csv long_labelled.csv", "ref.csv", "ref.csv long_labelled.csv.xz"],
    "plan": ["", "few.csv", "ref.csv absent.csv", "--accuracy 2", "ref.csv --difference 0"],
    "rank": ["ref.csv long.csv --out r", "ref.csv --out r", "long.csv.xz ref.csv --labels ref.csv --out r"],
    "report": ["absent.json", "long.csv", "ref.csv --report page.html"],
    "discriminate": ["bounds long_labelled.csv", "train few.csv", "nonsense"],
    "shift": ["text broken.jsonl --out s --kind casing --severity 0.2", "text text.csv --out s --kind nonsense"],
    "stress": ["broken.jsonl --out t --model model.py:f --kind casing", "text.csv --out t --model absent.py:f"],
    "benchmark": ["", "nonsense", "absent.py:Mine", "cbpe --kind nonsense"],
    "reproduce": ["nonsense", "selective-answering --out q --data nowhere"],
    "history": ["absent.db", "broken.db", "text.csv", ". --last 3"],
    "methods": ["--kind nonsense", "nonsense"],
    "cite": ["nonsense", ""],
    "demo": ["--out text.csv", "--out text.csv/below"],
}  # fmt: skip


def fill(folder: Path) -> None:
    """Files that fail: in row 2 of a text of several blocks, in the last row, or as a whole."""
    rows = [f"0.{i % 9 + 1}47647077739715" for i in range(_LINES)]
    good, bad = "\n".join(rows[:400]), "\n".join([rows[0], "1.7", *rows])
    texts = {"ref.csv": "prob_1,label\n" + "\n".join(f"{p},{int(p[2] > '5')}" for p in rows[:400]),
        "few.csv": f"prob_1\n{rows[0]}\n1.7\n\n{rows[1]}\n", "long.csv": f"prob_1\n{bad}\n",
        "two.csv": "prob_0,prob_1\n" + "\n".join(f"{1 - float(p):.15f},{p}" for p in bad.split("\n")),
        "long_labelled.csv": "prob_1,label\n" + "\n".join(f"{p},1" for p in bad.split("\n")),
        "long.jsonl": "\n".join(f'{{"prob_1": {p}}}' for p in bad.split("\n")),
        "text.csv": "text,label\n" + "a good film,1\na bad film,0\n" * 20,
        "broken.jsonl": '{"text": "a good film", "label": 1}\n' * 50 + '{"text": \n', "broken.db": good,
        "model.py": "def f(texts):\n    raise RuntimeError('no more memory')\n"}  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("long.csv", "two.csv", "long_labelled.csv"):
        (folder / f"{name}.xz").write_bytes(lzma.compress(texts[name].encode(), preset=0))
    (folder / "two.csv.gz").write_bytes(gzip.compress(texts["two.csv"].encode(), 1))


def end(folder: Path, command: str, arguments: str) -> str:
    """How one run ended: ``exit 2``, ``hang``, ``signal 6``; a run without its line, or with a traceback, says so."""
    words = [sys.executable, "-m", "oodometer", command, *arguments.split()]
    environment = {
        **os.environ,
        "OODOMETER_MAX_ROW_MB": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    try:
        done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=SECONDS, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "hang"
    if done.returncode < 0 or done.returncode > 128:
        return f"signal {-done.returncode if done.returncode < 0 else done.returncode - 128}"
    said = done.stderr.decode(errors="replace")
    last = said.strip().rpartition("\n")[2]  # a slow run tells before how far it is
    if "Traceback" in said or not last.startswith("oodometer: "):
        return f"exit {done.returncode} with {said[-200:].strip()!r}"
    return f"exit {done.returncode}"


def run(times: int) -> dict[str, int]:
    """So many runs of each command, six at a time: how often each ended otherwise than with its line and 1 or 2."""
    with (
        tempfile.TemporaryDirectory(prefix="oodometer-exits-") as name,
        ThreadPoolExecutor(6) as pool,
    ):
        fill(Path(name))
        # Commands take turns: what is heavy at its end meets others.
        steps = zip(
            *(islice(cycle(arguments), times) for arguments in COMMANDS.values()), strict=True
        )
        turns = [(c, a) for step in steps for c, a in zip(COMMANDS, step, strict=True)]
        ends = list(pool.map(lambda one: end(Path(name), *one), turns))
    return Counter(
        f"{c} {a}: {e}"
        for (c, a), e in zip(turns, ends, strict=True)
        if e not in ("exit 1", "exit 2")
    )


def test_no_error_exit_hangs_or_aborts() -> None:
    assert run(times=2) == {}


@pytest.mark.lab
def test_every_command_is_among_them() -> None:
    app = all_commands()
    assert set(COMMANDS) == {one.name for one in [*app.registered_commands, *app.registered_groups]}
