"""Run folders of verbs: kills, a full disk, a file gone, a dead worker, two at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import audit, backtest, compare, diagnose, evaluate, fit
from oodometer.cli import main
from oodometer.engines import Engine
from oodometer.errors import OodometerError, UsageError, WorkError
from oodometer.predictions import Predictions
from oodometer.registry import register, unregister
from oodometer.runs import Lock, is_locked, read_manifest
from oodometer.simulations import Simulation
from oodometer.store import write_predictions
from oodometer.verbs.history import runs

if __package__:  # a process that is killed asks for this file alone
    from ..snapshots import raises_snapshot

ROWS = 150
METHODS = ["source", "ac", "doc", "atc"]
TRIALS: dict[str, Any] = {
    "methods": METHODS,
    "families": ["none", "class_prior"],
    "repeats": 8,
    "cache": None,
}
VERBS = ("evaluate", "diagnose", "audit", "backtest", "compare", "fit")
PARTS = {
    "evaluate": 4,
    "diagnose": 4,
    "audit": 8,
    "backtest": 8,
    "compare": 16,
    "fit": 4,
}  # an audit passes twice over the target


def record(seed: int, rows: int = ROWS) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    return Predictions.from_probabilities(p, label=label)


def put(folder: Path, number: int) -> None:
    """A file more in each folder: without labels, with them, of a second model, and of both out of their domain."""
    files = {"target": record(number).without_labels(), "labelled": record(number)}
    files |= {
        name: record(seed + number) for name, seed in (("second", 100), ("away", 200), ("far", 300))
    }
    for name, written in files.items():
        (folder / name).mkdir(exist_ok=True)
        write_predictions(written, folder / name / f"{number}.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reference, a target of four files without labels, the same with them, and labels of some rows."""
    write_predictions(record(0, 600), tmp_path / "reference.parquet")
    for number in range(1, 5):
        put(tmp_path, number)
    few = "".join(
        f"{row},{record(1 + row // ROWS).label[row % ROWS]}\n" for row in range(0, 4 * ROWS, 12)
    )  # type: ignore[index]
    (tmp_path / "few.csv").write_text(f"row,label\n{few}")
    return tmp_path


def asked(verb: str, folder: Path, kept: str | None = "run", **more: Any) -> dict[str, Any]:
    """What a verb answers, as a dict, with or without a run folder."""
    reference, target = folder / "reference.parquet", folder / "target"
    both = [folder / "labelled", folder / "second"]
    calls: dict[str, Callable[..., Any]] = {
        "evaluate": lambda **on: evaluate(
            folder / "labelled", metrics=["accuracy", "aurc", "ece"], **on
        ),
        "diagnose": lambda **on: diagnose(reference, target, **on),
        "audit": lambda **on: audit(
            reference, target, labels=folder / "few.csv", methods=METHODS, **on
        ),
        "backtest": lambda **on: backtest(reference, **TRIALS, **on),
        "compare": lambda **on: compare(
            both, out_of_domain=[folder / "away", folder / "far"], **on
        ),
        "fit": lambda **on: fit(folder / "labelled", methods=METHODS, backtest=None, **on),
    }
    found = calls[verb](run_folder=None if kept is None else folder / kept, **more)
    return (
        {"file": found.save(folder / "fitted.oodo").read_bytes()}
        if verb == "fit"
        else dict(found.to_dict())
    )


def told(folder: Path) -> dict[str, Any]:
    found = read_manifest(folder / "run")
    assert found is not None
    return found


def states(folder: Path) -> list[Path]:
    return sorted((folder / "run" / "parts").iterdir())


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from test_run_folders_of_verbs import asked
calls = []
def progress(done, total):
    calls.append(done)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
asked(sys.argv[1], Path(sys.argv[2]), workers=1, progress=progress)
"""


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_that_was_killed_goes_on_and_reads_no_finished_part(verb: str, folder: Path) -> None:
    command = [sys.executable, "-c", KILLED, verb, str(folder), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not is_locked(folder / "run" / "lock")
    kept = len(states(folder))
    assert 2 <= kept < PARTS[verb]
    (one,) = runs(folder).runs
    assert (one.verb, one.status, one.done) == (verb, "killed", kept)
    assert asked(verb, folder) == asked(verb, folder, kept=None)
    assert (told(folder)["status"], told(folder)["parts"]) == ("finished", PARTS[verb])
    assert told(folder)["read"] == PARTS[verb] - kept
    assert asked(verb, folder) == asked(verb, folder, kept=None)
    assert told(folder)["read"] == 0


def place(verb: str) -> str:
    return "labelled" if verb in ("evaluate", "fit") else "target"


@pytest.mark.parametrize("verb", ["evaluate", "diagnose", "audit", "fit"])
def test_a_grown_folder_costs_its_new_file(verb: str, folder: Path) -> None:
    asked(verb, folder)
    put(folder, 5)
    assert asked(verb, folder) == asked(verb, folder, kept=None)
    assert told(folder)["read"] == PARTS[verb] // 4


@pytest.mark.parametrize("verb", ["evaluate", "diagnose", "audit", "fit"])
def test_a_file_that_vanishes_is_one_line(verb: str, folder: Path) -> None:
    last = folder / place(verb) / "4.parquet"
    content = last.read_bytes()
    with raises_snapshot(OodometerError) as caught:
        asked(verb, folder, workers=1, progress=lambda done, total: last.unlink(missing_ok=True))
    assert "\n" not in str(caught.value)
    assert "4.parquet" in told(folder)["why"]
    kept = len(states(folder))
    assert kept >= 2
    last.write_bytes(content)
    assert asked(verb, folder) == asked(verb, folder, kept=None)
    assert (
        told(folder)["read"] <= PARTS[verb] - kept + 1
    )  # the file that came back may count as another one


class Dying(Engine):
    """Loses a worker at the third part of a pass."""

    name = "dying"

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        total = work(parts[0])
        total = merge(total, work(parts[1]))
        raise WorkError("a worker process died")


@pytest.mark.parametrize("verb", VERBS)
def test_a_worker_that_dies_loses_no_finished_part(verb: str, folder: Path) -> None:
    with raises_snapshot(WorkError):
        asked(verb, folder, engine=Dying())
    assert (told(folder)["status"], told(folder)["why"], len(states(folder))) == (
        "failed",
        "a worker process died",
        2,
    )
    assert asked(verb, folder, workers=2) == asked(verb, folder, kept=None)
    assert told(folder)["read"] == PARTS[verb] - 2


ROOM = {
    "evaluate": "160k",
    "diagnose": "64k",
    "audit": "64k",
    "backtest": "28k",
    "compare": "320k",
    "fit": "64k",
}  # for some states, not for all


@pytest.fixture
def small_disk(tmp_path: Path, verb: str) -> Iterator[Path]:
    """A file system of its own with hardly any room, where one may be mounted."""
    home = tmp_path / "small"
    home.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", f"size={ROOM[verb]}", "tmpfs", str(home)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own may not be mounted here")
    yield home
    subprocess.run(["umount", str(home)], check=True)


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_one_line_and_loses_no_finished_part(
    verb: str, folder: Path, small_disk: Path
) -> None:
    for number in range(5, 25):
        put(folder, number)
    more = {"level": 0.9} if verb != "diagnose" else {}
    with raises_snapshot(WorkError) as caught:
        asked(verb, folder, kept="small/run", workers=1, **more)
    assert "\n" not in str(caught.value)
    parts = small_disk / "run" / "parts"
    kept = len(list(parts.glob("*.state")))
    assert kept >= 1
    assert sorted(parts.iterdir()) == sorted(parts.glob("*.state"))  # nothing half-written
    shutil.copytree(small_disk / "run", folder / "run")
    assert asked(verb, folder, **more) == asked(verb, folder, kept=None, **more)
    assert told(folder)["read"] == told(folder)["parts"] - kept


@pytest.mark.parametrize("verb", VERBS)
def test_two_runs_and_a_folder_of_another_job_are_refused(verb: str, folder: Path) -> None:
    asked(verb, folder)
    with Lock(folder / "run" / "lock", folder / "run"), pytest.raises(UsageError) as caught:
        asked(verb, folder)
    assert f"run is in use by another run (process {os.getpid()}); wait until" in str(caught.value)
    other = VERBS[VERBS.index(verb) - 1]
    with raises_snapshot(UsageError):
        asked(other, folder)


@pytest.mark.parametrize("verb", VERBS)
def test_data_in_memory_have_no_run_folder(verb: str, folder: Path) -> None:
    held = record(0, 100)
    calls: dict[str, Callable[..., Any]] = {
        "evaluate": lambda **on: evaluate(held, **on),
        "diagnose": lambda **on: diagnose(folder / "reference.parquet", held, **on),
        "audit": lambda **on: audit(folder / "reference.parquet", held, **on),
        "backtest": lambda **on: backtest(held, **on),
        "compare": lambda **on: compare([folder / "labelled", held], **on),
        "fit": lambda **on: fit(held, **on),
    }
    with raises_snapshot(UsageError):
        calls[verb](run_folder=folder / "run")
    assert not (folder / "run").exists()


def test_trials_of_the_cache_count_as_done(folder: Path) -> None:
    options = {**TRIALS, "cache": folder / "cache", "run_folder": folder / "run"}
    first = backtest(folder / "reference.parquet", **options)
    assert (told(folder)["done"], told(folder)["parts"], told(folder)["read"], first.reused) == (
        8,
        8,
        8,
        0,
    )
    again = backtest(folder / "reference.parquet", **options)
    assert (told(folder)["done"], told(folder)["parts"], told(folder)["read"]) == (8, 8, 0)
    assert again.reused == len(again.trials) == len(first.trials)
    assert again.trials == first.trials


def test_a_family_that_was_mended_is_tried_again(folder: Path) -> None:
    broken = True

    @register("simulation")
    class Whole(Simulation):
        """All rows."""

        name = "whole"
        about = "all rows"
        severities = (1.0,)

        def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions:
            if broken:
                raise ValueError("not yet")
            return pool

    def run() -> Any:
        options = {**TRIALS, "families": ["none", "whole"], "run_folder": folder / "run"}
        return backtest(folder / "reference.parquet", **options)

    try:
        first = run()
        assert [one.method for one in first.skipped] == ["whole"]
        broken = False
        again = run()
    finally:
        unregister("simulation", "whole")
    assert not again.skipped
    assert {one.family for one in again.trials} == {"none", "whole"}


def test_labels_of_their_own_are_part_of_what_is_kept(folder: Path) -> None:
    def judged(kept: Path | None) -> dict[str, Any]:
        found: dict[str, Any] = evaluate(
            folder / "target", labels=folder / "few.csv", run_folder=kept
        ).to_dict()
        return found

    first = judged(folder / "run")
    assert first == judged(None)
    text = (folder / "few.csv").read_text().splitlines()
    text[-1] = f"{text[-1].partition(',')[0]},{(int(text[-1][-1]) + 1) % 3}"  # of the last file
    (folder / "few.csv").write_text("\n".join(text) + "\n")
    assert judged(folder / "run") == judged(None)
    assert told(folder)["read"] == 1


def test_from_the_shell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    quick = [f"--method={name}" for name in METHODS]
    calls = {
        "evaluate": ["labelled"],
        "diagnose": ["reference.parquet", "target"],
        "audit": ["reference.parquet", "target", "--labels", "few.csv", *quick],
        "backtest": ["reference.parquet", "--no-cache", "--family", "none", *quick],
        "compare": ["labelled", "second"],
        "fit": ["labelled", "--out", "fitted.oodo", "--backtest", "none", *quick],
    }
    for verb, words in calls.items():
        command = [verb, *words, "--engine", "local", "--workers", "1"]
        for read in (True, False):
            more = [
                "--run-folder",
                f"runs/{verb}",
                "--quiet",
                *([] if verb == "fit" else ["--json", f"{verb}.json"]),
            ]
            assert (main([*command, *more]), capsys.readouterr().err) == (0, "")
            (one,) = runs(folder / "runs" / verb).runs
            assert (one.verb, one.status, one.read > 0) == (verb, "finished", read)
