"""`estimate --store` and `oodometer history` from the shell: night after night, exit codes, no answer is lost."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.histories import Store, base
from oodometer.predictions import Predictions
from oodometer.store import write_predictions

from ..snapshots import assert_snapshot


def months(home: Path, name: str, *told: tuple[str, float]) -> Path:
    """A file of 300 rows a month of which a model is so sure."""
    rng = np.random.default_rng(5)
    p = np.concatenate([np.clip(rng.normal(sure, 0.02, 300), 0.5, 1) for _, sure in told])
    days = [
        np.arange(np.datetime64(month, "D"), np.datetime64(month, "M") + 1) for month, _ in told
    ]
    time = np.concatenate([np.resize(of_month, 300) for of_month in days])
    label = (rng.uniform(size=len(p)) > p).astype(int)
    data = Predictions.from_arrays(
        probabilities=np.stack([p, 1 - p], axis=1), time=time, label=label
    )
    write_predictions(data, home / name)
    return home / name


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a reference, in which the command is given."""
    monkeypatch.chdir(tmp_path)
    months(tmp_path, "reference.csv", ("2025-11", 0.9), ("2025-12", 0.95))
    return tmp_path


ASK = [
    "--every",
    "month",
    "--fail-below",
    "0.8",
    "--method",
    "ac",
    "--backtest",
    "none",
    "--store",
    "runs.sqlite",
]


def ask(home: Path, *told: tuple[str, float], more: tuple[str, ...] = ("--alarms", "new")) -> int:
    return main(["estimate", "reference.csv", str(months(home, "target.csv", *told)), *ASK, *more])


def test_night_after_night(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = [
        ask(home, ("2026-01", 0.9)),
        ask(home, ("2026-01", 0.9), ("2026-02", 0.7)),
        ask(home, ("2026-01", 0.9), ("2026-02", 0.7), ("2026-03", 0.9)),
        ask(home, ("2026-01", 0.9), ("2026-02", 0.7), ("2026-03", 0.6)),
    ]
    assert codes == [0, 3, 0, 3]
    shown = capsys.readouterr().out
    assert "\nALARM 2026-02: accuracy " in shown
    assert_snapshot(shown)
    assert (
        ask(home, ("2026-02", 0.7), ("2026-03", 0.6), ("2026-04", 0.9), more=("--alarms", "all"))
        == 3
    )
    assert main(["history", "runs.sqlite"]) == 0
    chunks, runs = (
        capsys.readouterr().out.partition("\nreference: ")[2].partition("\n5 runs\n")[::2]
    )
    assert_snapshot(chunks)
    assert [
        line.split()[-1]
        for line in runs.splitlines()
        if line[0].isdigit() and " UTC" not in line and "left out" not in line
    ] == ["0", "3", "0", "3", "3"]
    assert [line.split()[0] for line in chunks.splitlines() if line.startswith("2026")] == [
        "2026-01", "2026-02", "2026-03", "2026-04"
    ]  # fmt: skip
    assert chunks.count(" since 20") == 2
    assert_snapshot(runs)
    assert max(map(len, shown.splitlines())) <= 132


def test_quiet_says_nothing_without_a_new_alarm(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(home, ("2026-01", 0.7), more=("--alarms", "new", "-q")) == 3
    assert "ALARM 2026-01" in capsys.readouterr().err
    assert ask(home, ("2026-01", 0.7), ("2026-02", 0.9), more=("--alarms", "new", "-q")) == 0
    shown = capsys.readouterr()
    assert shown.out + shown.err == ""


def test_json_and_page_of_a_history(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    ask(home, ("2026-01", 0.7), more=("--job", "loans"))
    ask(home, ("2026-01", 0.9), more=("--job", "cards"))
    capsys.readouterr()
    assert (
        main(["history", "runs.sqlite", "--job", "loans", "--json", "-", "--report", "page.html"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["command"], told["store"]) == ("history", "runs.sqlite")
    assert [one["job"] for one in told["jobs"]] == ["loans"]
    page = (home / "page.html").read_text()
    assert "ALARM stands in 1 chunk: 2026-01" in page
    assert '<h2 class="file">loans</h2>' in page
    assert '<h2 class="file">cards</h2>' not in page
    assert main(["history", "runs.sqlite", "--report", "page.txt"]) == 2
    assert main(["history", "runs.sqlite", "--json", "runs.sqlite"]) == 2
    assert "runs.sqlite" in capsys.readouterr().err
    assert oodometer.history("runs.sqlite", job="loans")["loans"].runs[0].exit_code == 3


def test_the_whole_result_of_one_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    ask(home, ("2026-01", 0.7), more=("--json", "then.json"))
    ask(home, ("2026-01", 0.9))
    capsys.readouterr()
    assert main(["history", "runs.sqlite", "--run", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((home / "then.json").read_text())
    assert main(["history", "runs.sqlite", "--run", "1", "--report", "then.html"]) == 0
    assert "How good is the model on data without labels?" in (home / "then.html").read_text()
    assert main(["history", "runs.sqlite", "--run", "3"]) == 2
    assert_snapshot(capsys.readouterr().err)
    assert main(["history", "runs.sqlite", "--run", "1", "--last", "1"]) == 2


def test_a_store_without_runs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "empty.sqlite").touch()
    assert main(["history", "empty.sqlite"]) == 0
    assert_snapshot(capsys.readouterr().out)
    assert main(["history", "none.sqlite"]) == 2
    assert_snapshot(capsys.readouterr().err)


def test_a_store_that_fails_at_the_end_ends_in_1_with_the_answer(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(home, ("2026-01", 0.9)) == 0
    capsys.readouterr()
    with sqlite3.connect("runs.sqlite", isolation_level=None) as other:
        monkeypatch.setattr(base, "WAIT", 0.2)
        monkeypatch.setattr(
            Store, "check", lambda self: other.execute("BEGIN IMMEDIATE")
        )  # locked from now on
        assert ask(home, ("2026-01", 0.7), more=("--json", "answer.json")) == 1
    other.close()
    shown = capsys.readouterr()
    assert "ALARM 2026-01" in shown.out
    assert json.loads((home / "answer.json").read_text())["alarms"]["raised"]
    (line,) = shown.err.splitlines()
    assert_snapshot(line)
    monkeypatch.undo()


def test_a_store_that_cannot_be_read_any_more_loses_no_answer(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(home, ("2026-01", 0.7)) == 3
    capsys.readouterr()
    monkeypatch.setattr(
        Store,
        "check",
        lambda self: Path("runs.sqlite").write_text("another program's own file" * 9),
    )
    assert (
        ask(
            home,
            ("2026-01", 0.7),
            ("2026-02", 0.9),
            more=("--alarms", "new", "--json", "answer.json"),
        )
        == 1
    )
    shown = capsys.readouterr()
    assert "ALARM 2026-01" in shown.out  # nobody can say that it is known
    assert json.loads((home / "answer.json").read_text())["alarms"]["new"] == 1
    (line,) = shown.err.splitlines()
    assert_snapshot(line)
    assert Path("runs.sqlite").read_text().startswith("another program's")


def test_a_store_that_cannot_be_used_is_told_before_the_work(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "runs.sqlite").write_text("no store at all, but long enough to be read as one")
    assert ask(home, ("2026-01", 0.9), more=("--json", "answer.json")) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert not (home / "answer.json").exists()
    (home / "runs.sqlite").unlink()
    assert main(["estimate", "reference.csv", "nowhere.csv", *ASK]) == 2
    assert not (home / "runs.sqlite").exists()  # work that failed leaves no store behind
    assert main(["estimate", "reference.csv", "reference.csv", "--store", "reference.csv"]) == 2
    assert_snapshot(capsys.readouterr().err)


@pytest.mark.skipif(sys.platform != "linux", reason="pipes have another size elsewhere")
def test_a_kill_before_the_answer_is_told_raises_the_alarm_again(home: Path) -> None:
    """A run counts only after its alarm was printed: the reader that is away holds it up."""
    months(
        home, "target.csv", ("2026-01", 0.7), *((f"2026-{month:02}", 0.9) for month in range(2, 13))
    )
    command = [
        sys.executable,
        "-m",
        "oodometer",
        "estimate",
        "reference.csv",
        "target.csv",
        *ASK,
        "--json",
        "-",
    ]
    os.mkfifo(home / "pipe")
    reader = os.open(home / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(home / "pipe", os.O_WRONLY)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        [*command, "--alarms", "new"], stdout=writer, stderr=subprocess.PIPE, cwd=home
    )
    os.close(writer)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b"{"  # it prints, and the pipe is too short for all of it
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    os.close(reader)
    process.stderr.close()
    assert not (home / "runs.sqlite").exists()
    done = subprocess.run(
        [*command, "--alarms", "new"],
        capture_output=True,
        text=True,
        cwd=home,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3
    assert len(oodometer.history(home / "runs.sqlite").jobs[0].runs) == 1
