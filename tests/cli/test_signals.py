"""Signals in processes of their own: one line, the exit code of the signal, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

ROWS = "prob_a,prob_b,label\n" + "0.9,0.1,a\n0.4,0.6,a\n0.2,0.8,b\n" * 2000
# Says on standard error that the work has begun, and makes it endless.
ENDLESS = """
import sys, time, runpy
import {module} as module

def endless(*given, **named):
    from oodometer.store import as_source
    if any(one in ("-", ["-"]) for one in (*given, *named.values())):  # a file, or a list of them
        as_source("-")
    print("ready", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.05)

module.{verb} = endless
sys.argv = ["oodometer", *sys.argv[1:]]
runpy.run_module("oodometer", run_name="__main__", alter_sys=True)
"""
COMMANDS = {
    "estimate": ("oodometer.verbs.estimate", "estimate", ["r.csv", "-"]),
    "evaluate": ("oodometer.verbs.evaluate", "evaluate", ["-"]),
    "diagnose": ("oodometer.verbs.diagnose", "diagnose", ["r.csv", "-"]),
    "audit": ("oodometer.verbs.audit", "audit", ["r.csv", "-"]),
    "backtest": ("oodometer.verbs.backtest", "backtest", ["-", "--no-cache"]),
    "compare": ("oodometer.verbs.compare", "compare", ["r.csv", "r.csv"]),
    "demo": ("oodometer.verbs.demo", "demo", ["--out", "demo"]),
    "reproduce": ("oodometer_lab.recipes", "reproduce", ["selective-answering", "--out", "run"]),
    "discriminate train": (
        "oodometer_lab.verbs.discriminate",
        "train_judges",
        ["-", "--out", "judges"],
    ),
    "discriminate predict": ("oodometer_lab.verbs.discriminate", "judge_outputs", ["judges", "-"]),
    "cite": ("oodometer.verbs.methods", "cite", ["atc"]),
    "methods": ("oodometer.verbs.methods", "methods", []),
}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=[pytest.mark.lab] * module.startswith("oodometer_lab"))
        for name, (module, _, _) in COMMANDS.items()
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_with_one_line(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    module, verb, arguments = COMMANDS[command]
    (tmp_path / "r.csv").write_text(ROWS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS.format(module=module, verb=verb), *command.split(), *arguments],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            process.stdin.write(ROWS.encode())
            process.stdin.close()
            assert process.stderr.readline() == b"ready\n"
            time.sleep(0.1)
            assert bool(list(temporary.iterdir())) == ("-" in arguments)
            process.send_signal(number)
            assert process.wait(60) == 128 + number
            said = process.stderr.read().decode()
            assert said.startswith("oodometer: interrupted")
            assert said.count("\n") == 1
        finally:
            process.kill()  # else leaving the block would wait for ever where something above failed
    assert list(temporary.iterdir()) == []
    assert not [one for one in tmp_path.rglob("*") if one.name.endswith(".part")]


def test_a_command_that_was_started_with_ctrl_c_ignored_goes_on_ignoring_it(tmp_path: Path) -> None:
    """As background jobs of shells are; SIGTERM ends it all the same."""
    (tmp_path / "r.csv").write_text(ROWS)
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    script = ignored + ENDLESS.format(module="oodometer.verbs.evaluate", verb="evaluate")
    with subprocess.Popen(
        [sys.executable, "-c", script, "evaluate", "r.csv"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stderr.readline() == b"ready\n"
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 143
        finally:
            process.kill()


def test_a_signal_while_libraries_are_loaded_ends_with_one_line_or_none(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(ROWS)
    for wait in (0.3, 0.6, 1.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "oodometer", "estimate", "r.csv", "r.csv", "--json", "out.json"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        time.sleep(wait)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert said.count(b"\n") <= 1
        assert b"Traceback" not in said
        assert not [one for one in tmp_path.iterdir() if one.name.endswith(".part")]


AT_THE_LOCKS = """
import os, signal, sys
import oodometer.__main__ as command
signal.signal(signal.SIGTERM, command._stop)
code = compile("def cb(): os.kill(os.getpid(), signal.SIGTERM); [0 for _ in range(100)]", sys.argv[1], "exec")
exec(code)
try:
    cb()
except KeyboardInterrupt:
    print("raised")
"""


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [("<frozen importlib._bootstrap>", 143, ""), ("own.py", 0, "raised\n")],
)
def test_a_signal_at_the_locks_of_modules_ends_at_once(file: str, code: int, said: str) -> None:
    """An exception would be lost there, and the process would wait for ever."""
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_LOCKS, file],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (code, said), done.stderr
