"""Run folders: a killed run goes on, a grown target is read only where it is new, nothing that is damaged counts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer import estimate
from oodometer.cli import main
from oodometer.engines import Engine
from oodometer.errors import OodometerError, UsageError, WorkError
from oodometer.passes.run_folder import run_folder
from oodometer.predictions import Predictions
from oodometer.runs import MANIFEST, Kept, Lock, is_locked, read_manifest
from oodometer.store import write_predictions
from oodometer.verbs.history import runs

from ..snapshots import assert_snapshot, raises_snapshot

ROWS = 150


def record(seed: int, day: int, rows: int = ROWS) -> Predictions:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 0.5], rows)
    label = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1)
    time = np.datetime64(f"2026-11-{day:02}", "us") + np.arange(rows) * np.timedelta64(1, "m")
    site = np.array(["north", "south"])[rng.integers(0, 2, rows)]
    return Predictions.from_probabilities(p, label=label, time=time, columns={"site": site})


def known(seed: int) -> Predictions:
    """A reference; without times, for else each estimate looks back on its days, which no test here is about."""
    return replace(record(seed, 1, 600), time=None)


def put(folder: Path, day: int) -> Path:
    place = folder / "target" / f"day={day:02}"
    place.mkdir(parents=True)
    return write_predictions(record(day, day).without_labels(), place / "part.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reference and a target of four days."""
    write_predictions(known(0), tmp_path / "reference.parquet")
    for day in range(1, 5):
        put(tmp_path, day)
    return tmp_path


def asked(folder: Path, kept: bool = True, **more: Any) -> dict[str, Any]:
    """An estimate as a dict, with or without the run folder."""
    options: dict[str, Any] = {"every": "1d", "backtest": None, **more}
    home = folder / "run" if kept else None
    return estimate(
        folder / "reference.parquet", folder / "target", run_folder=home, **options
    ).to_dict()


def told(folder: Path) -> dict[str, Any]:
    found = read_manifest(folder / "run")
    assert found is not None
    return found


def states(folder: Path) -> list[Path]:
    return sorted((folder / "run" / "parts").iterdir())


def test_a_state_that_is_copied_over_another_is_not_its(folder: Path) -> None:
    first = asked(folder)
    one, other = states(folder)[:2]
    shutil.copyfile(one, other)
    with pytest.warns(UserWarning, match=r"\.state: the state stored there is of other rows or of"):
        assert asked(folder) == first
    assert asked(folder) == first


@pytest.mark.parametrize("rows", [ROWS, 40 * ROWS], ids=["small", "large"])
def test_content_that_changed_behind_the_same_size_and_time_is_read(
    folder: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oodometer.store.files._SMALL", 1 << 16)
    day = folder / "target" / "day=02"
    path = day / "part.npz"
    for one in (folder / "target").glob("*/part.parquet"):
        one.unlink()
    kept = record(2, 2, rows).without_labels()
    write_predictions(kept, path)
    assert (path.stat().st_size > 1 << 16) == (rows > ROWS)
    before, first = path.stat(), asked(folder)
    write_predictions(record(9, 2, rows).without_labels(), folder / "other.npz")
    path.write_bytes((folder / "other.npz").read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    found = asked(folder)
    assert found == asked(folder, kept=False)
    assert found["headline"] != first["headline"]
    os.chmod(path, 0o600)  # as a copy does: the content is what it was
    assert asked(folder) == found
    assert told(folder)["read"] == (0 if rows == ROWS else told(folder)["parts"])


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_links_are_not_followed(folder: Path) -> None:
    first = asked(folder)
    precious = folder / "precious"
    precious.write_text("mine")
    run = folder / "run"
    for name, hard in (
        (MANIFEST, False),
        ("files.json", False),
        ("lock", False),
        ("lock", True),
        ("draft", False),
    ):
        path = run / name
        content = path.read_bytes() if path.exists() else b""
        path.unlink(missing_ok=True)
        os.link(precious, path) if hard else path.symlink_to(precious)
        if name == "draft":  # is removed, and made anew by this run alone
            states(folder)[0].unlink()
            assert asked(folder) == first
        else:
            with raises_snapshot(OodometerError):
                asked(folder)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        assert precious.read_text() == "mine", name
    os.mkfifo(run / "pipe")
    (run / "lock").unlink()
    (run / "pipe").rename(run / "lock")
    with raises_snapshot(UsageError):
        asked(folder)
    (run / "lock").unlink()
    state = states(folder)[0]
    state.unlink()
    state.symlink_to(precious)
    with raises_snapshot(UsageError):
        asked(folder)
    assert precious.read_text() == "mine"
    for name in (f"parts/{state.name}", MANIFEST, "files.json"):
        content = (run / name).read_bytes()
        (run / name).unlink()
        os.mkfifo(run / name)
        with raises_snapshot(OodometerError):
            asked(folder)
        (run / name).unlink()
        (run / name).write_bytes(content)
    shutil.rmtree(run / "parts")
    (folder / "theirs").mkdir()
    (folder / "theirs" / "file").write_text("theirs")
    (run / "parts").symlink_to(folder / "theirs")
    with raises_snapshot(UsageError):
        asked(folder)
    assert (folder / "theirs" / "file").exists()


def test_a_second_run_reads_nothing_and_a_grown_target_only_what_is_new(folder: Path) -> None:
    first = asked(folder)
    assert (told(folder)["status"], told(folder)["parts"], told(folder)["read"]) == (
        "finished",
        4,
        4,
    )
    before = {path: path.stat().st_mtime_ns for path in states(folder)}
    assert asked(folder) == first == asked(folder, kept=False)
    assert (told(folder)["read"], told(folder)["done"]) == (0, 4)
    put(folder, 5)
    grown = asked(folder)
    assert (told(folder)["read"], told(folder)["done"]) == (1, 5)
    assert grown == asked(folder, kept=False)
    assert len(grown["chunks"]) == 5
    assert {path: path.stat().st_mtime_ns for path in states(folder) if path in before} == before


def test_a_second_run_opens_no_file_for_its_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the first batch, by which methods are chosen."""
    from oodometer.store.scan import FilePart

    asked(folder)
    read: list[int] = []
    batches = FilePart.batches
    monkeypatch.setattr(
        FilePart,
        "batches",
        lambda self, *a, **k: (read.append(self.first_row), batches(self, *a, **k))[1],
    )
    asked(folder)
    assert {row for row in read if row} == set()  # 0: the reference, and the target's first part


def test_what_changes_is_read_again(folder: Path) -> None:
    asked(folder)
    write_predictions(record(77, 2).without_labels(), folder / "target" / "day=02" / "part.parquet")
    assert asked(folder) == asked(folder, kept=False)
    assert told(folder)["read"] == 1
    assert len(states(folder)) == 4  # the state of the file that was there before is gone
    asked(folder, every=None, by="site")
    assert told(folder)["read"] == 4
    write_predictions(known(9), folder / "reference.parquet")
    assert asked(folder, every=None, by="site") == asked(folder, kept=False, every=None, by="site")
    assert told(folder)["read"] == 4
    asked(folder, every=None, by="site", level=0.9)
    assert told(folder)["read"] == 4


def test_a_threshold_and_labels_are_part_of_what_is_kept(folder: Path) -> None:
    for day in range(1, 5):
        p = np.random.default_rng(day).random(50)
        place = folder / "target" / f"day={day:02}" / "part.parquet"
        write_predictions(Predictions.from_probabilities(np.stack([1 - p, p], 1)), place)
    rng = np.random.default_rng(0)
    p = rng.random(300)
    reference = Predictions.from_probabilities(
        np.stack([1 - p, p], 1), label=(rng.random(300) < p).astype(int)
    )
    write_predictions(reference, folder / "reference.parquet")
    one = asked(folder, every=None, threshold=0.6)
    other = asked(folder, every=None, threshold=0.7)
    assert told(folder)["read"] == 4
    assert one != other
    assert other == asked(folder, kept=False, every=None, threshold=0.7)
    truth: list[int | None] = [None] * 120 + [1] * 80
    asked(folder, every=None, labels={"label": truth})
    truth[160] = 0
    answer = asked(folder, every=None, labels={"label": truth})
    assert told(folder)["read"] == 1  # the labels of the last file have changed
    assert answer == asked(folder, kept=False, every=None, labels={"label": truth})


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_a_damaged_state_is_made_anew(folder: Path, damage: str) -> None:
    first = asked(folder)
    path = states(folder)[1]
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        path.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        whose, _, packed = content.partition(b"\n")
        path.write_bytes(
            whose
            + b"\n"
            + zlib.compress(zlib.decompress(packed).replace(b"oodometer", b"oodometre"))
        )
    with pytest.warns(
        UserWarning,
        match=r"the state stored there is damaged or of another version; it is made anew",
    ):
        assert asked(folder) == first
    assert asked(folder) == first  # and mended


KILLED = """
import os, signal, sys
from oodometer import estimate
def progress(done, total):
    if done == 3:
        os.kill(os.getpid(), signal.SIGKILL)
estimate(sys.argv[1], sys.argv[2], run_folder=sys.argv[3], every="1d", backtest=None, workers=1, progress=progress)
"""


def test_a_run_that_was_killed_goes_on(folder: Path) -> None:
    places = [str(folder / name) for name in ("reference.parquet", "target", "run")]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *places], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert told(folder)["status"] == "running"  # nobody was left to say otherwise
    assert not is_locked(folder / "run" / "lock")
    kept = len(states(folder))
    assert kept in (2, 3)
    assert [(one.status, one.done, one.parts) for one in runs(folder).runs] == [("killed", kept, 4)]
    assert asked(folder) == asked(folder, kept=False)
    assert (told(folder)["status"], told(folder)["read"]) == ("finished", 4 - kept)


def test_an_error_loses_no_finished_part(folder: Path) -> None:
    path = folder / "target" / "day=04" / "part.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + b"\0" * 400 + whole[600:])
    with pytest.raises(OodometerError, match=r"day=04/part\.parquet"):
        asked(folder, workers=1)
    assert told(folder)["status"] == "failed"
    assert "day=04/part.parquet" in told(folder)["why"]
    kept = len(states(folder))
    assert kept >= 2
    path.write_bytes(whole)
    asked(folder)
    assert told(folder)["read"] == 4 - kept


def test_a_file_that_vanishes_is_one_line(folder: Path) -> None:
    def vanish(done: int, total: int) -> None:
        if done == 1:
            (folder / "target" / "day=04" / "part.parquet").unlink(missing_ok=True)

    with raises_snapshot(OodometerError) as caught:
        asked(folder, workers=1, progress=vanish)
    assert "\n" not in str(caught.value)
    assert len(states(folder)) >= 2
    answer = asked(folder)
    assert told(folder)["read"] <= 1
    assert answer == asked(folder, kept=False)


class Dying(Engine):
    """Loses a worker at the third part."""

    name = "dying"

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        total = work(parts[0])
        total = merge(total, work(parts[1]))
        raise WorkError("a worker process died")


def test_a_worker_that_dies_loses_no_finished_part(folder: Path) -> None:
    with raises_snapshot(WorkError):
        asked(folder, engine=Dying())
    assert (told(folder)["status"], told(folder)["why"]) == ("failed", "a worker process died")
    assert len(states(folder)) == 2
    assert asked(folder, engine="processes", workers=2) == asked(folder, kept=False)
    assert told(folder)["read"] == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room, where one may be mounted."""
    home = tmp_path / "small"
    home.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(home)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own may not be mounted here")
    yield home
    subprocess.run(["umount", str(home)], check=True)


def test_a_full_disk_is_one_line_and_loses_no_finished_part(folder: Path, small_disk: Path) -> None:
    for day in range(5, 31):
        put(folder, day)
    with raises_snapshot(WorkError) as caught:
        estimate(
            folder / "reference.parquet",
            folder / "target",
            run_folder=small_disk / "run",
            backtest=None,
        )
    assert "\n" not in str(caught.value)
    parts = small_disk / "run" / "parts"
    kept = len(list(parts.glob("*.state")))
    assert kept >= 1
    assert sorted(parts.iterdir()) == sorted(parts.glob("*.state"))  # nothing half-written
    shutil.copytree(small_disk / "run", folder / "run")
    answer = asked(folder, every=None)
    assert answer == asked(folder, kept=False, every=None)
    assert told(folder)["read"] == 30 - kept


def test_two_runs_in_one_folder_are_refused(folder: Path) -> None:
    asked(folder)
    with Lock(folder / "run" / "lock", folder / "run"), pytest.raises(UsageError) as caught:
        asked(folder)
    assert str(caught.value) == (
        f"{folder}/run is in use by another run (process {os.getpid()}); wait until it has ended, or give this one a "
        "folder of its own"
    )
    said: list[str] = []
    with run_folder(folder / "other", {"verb": "x"}):
        thread = threading.Thread(target=lambda: said.append(refusal(folder / "other")))
        thread.start()
        thread.join()
    assert_snapshot(said[0])


def refusal(home: Path) -> str:
    try:
        with run_folder(home, {"verb": "x"}):
            return "no refusal"
    except UsageError as error:
        return str(error)


def test_a_folder_of_another_job_is_refused(folder: Path) -> None:
    asked(folder)
    shutil.copytree(folder / "target", folder / "elsewhere")
    with raises_snapshot(UsageError):
        estimate(folder / "reference.parquet", folder / "elsewhere", run_folder=folder / "run")
    with raises_snapshot(OodometerError):
        estimate(
            folder / "refrence.parquet",
            folder / "target",
            run_folder=folder / "typo",
            backtest=None,
        )
    estimate(
        folder / "reference.parquet", folder / "target", run_folder=folder / "typo", backtest=None
    )  # no trap
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("mine")
    with raises_snapshot(UsageError):
        estimate(folder / "reference.parquet", folder / "target", run_folder=folder / "mine")
    assert [one.name for one in (folder / "mine").iterdir()] == ["notes.txt"]
    with raises_snapshot(UsageError):
        estimate(
            folder / "reference.parquet", {"probabilities": [[0.9, 0.1]]}, run_folder=folder / "new"
        )
    (folder / "stressed").mkdir()
    (folder / "stressed" / "stress.csv").write_text("model\n")
    Kept(folder / "stressed", {"verb": "stress", "data": "texts"}).begin()
    with raises_snapshot(UsageError):
        estimate(folder / "reference.parquet", folder / "target", run_folder=folder / "stressed")
    (folder / "file").write_text("")
    with raises_snapshot(UsageError):
        estimate(folder / "reference.parquet", folder / "target", run_folder=folder / "file")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"format": 9, "about": {}}',
    ],
)
def test_a_manifest_that_is_none(folder: Path, text: str) -> None:
    asked(folder)
    (folder / "run" / MANIFEST).write_text(text)
    with raises_snapshot(OodometerError):
        asked(folder)


def test_from_the_shell_with_an_alarm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    command = ["estimate", "reference.parquet", "target", "--every", "1d"]
    more = [
        "--run-folder",
        "run",
        "--fail-below",
        "0.99",
        "--json",
        "out.json",
        "--backtest",
        "none",
    ]
    for read in (4, 0):
        assert main([*command, *more]) == 3, capsys.readouterr().err
        assert told(folder)["read"] == read
    assert len(json.loads((folder / "out.json").read_text())["chunks"]) == 4
    capsys.readouterr()
    assert main([*command, "--json", "target/out.json"]) == 2
    assert_snapshot(capsys.readouterr().err)


def test_of_a_large_target_states_keep_few_rows_and_serve_one_that_has_grown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With samples of 40 rows, so that 600 rows are many."""
    from oodometer.estimators import cot, dis2
    from oodometer.estimators import label_shift as sld
    from oodometer.inference import row_sample
    from oodometer.verbs import target_plan as run

    monkeypatch.setattr(run, "_MANY_ROWS", 64)
    monkeypatch.setattr(row_sample, "_MOST_VALUES", 120)
    for room in (sld, cot):
        monkeypatch.setattr(room, "rows_to_keep", lambda classes: 40)
    monkeypatch.setattr(dis2, "_MOST_ROWS", 40)
    first = asked(folder)
    assert {path.stem.partition("-")[2] for path in states(folder)} == {"9"}  # 2^9 <= 600 < 2^10
    assert first == asked(folder, kept=False)
    monkeypatch.setattr(run, "_MANY_ROWS", 1 << 40)
    whole = asked(folder, kept=False)
    assert whole == first
    monkeypatch.setattr(run, "_MANY_ROWS", 64)
    for day in range(5, 10):  # now 1,350 rows
        put(folder, day)
    grown = asked(folder)
    assert told(folder)["read"] == 5
    assert grown == asked(folder, kept=False)
    for day in range(2, 10):
        shutil.rmtree(folder / "target" / f"day={day:02}")
    assert asked(folder) == asked(folder, kept=False)  # what was kept holds too few rows of it
    assert told(folder)["read"] == 1
