"""Writing: whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from oodometer.errors import UsageError, WorkError
from oodometer.predictions import Predictions
from oodometer.store import open_predictions, write_atomic, write_predictions, write_result

from ..snapshots import raises_snapshot

RECORD = Predictions.from_classes(["a", "b"], label=["a", None])


def test_kinds_of_content(tmp_path: Path) -> None:
    assert write_atomic(tmp_path / "a", "é").read_bytes() == "é".encode()
    assert write_atomic(tmp_path / "a", b"2").read_bytes() == b"2"
    assert write_atomic(str(tmp_path / "a"), lambda file: file.write(b"3")).read_bytes() == b"3"
    assert os.listdir(tmp_path) == ["a"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")

    def fails(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", fails)
    assert (tmp_path / "a").read_text() == "before"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_atomic(tmp_path / "a", "x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


@pytest.mark.skipif(os.name == "nt", reason="POSIX devices and links")
def test_links_and_devices(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_result(tmp_path / "link", "after")  # a name that somebody gave
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"
    with raises_snapshot(UsageError):
        write_atomic(tmp_path / "link", "later")
    assert (tmp_path / "real").read_text() == "after"
    write_atomic("/dev/null", "x")
    assert not Path("/dev/null").is_file()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "a.csv", tmp_path):
        with raises_snapshot(WorkError):
            write_atomic(path, "x")
    (tmp_path / "folder.csv").mkdir()
    with raises_snapshot(WorkError):
        write_predictions(RECORD, tmp_path / "folder.csv")
    for form in ("parquet", "csv", "jsonl", "arrow", "npz"):
        with raises_snapshot(WorkError):
            write_predictions(RECORD, tmp_path / "none" / f"p.{form}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk() -> None:
    with raises_snapshot(WorkError):
        write_atomic("/dev/full", b"x" * 100_000)


@pytest.mark.parametrize("name", ["p.xlsx", "p", "p.json", "p.pkl"])
def test_endings_that_are_not_written(tmp_path: Path, name: str) -> None:
    with raises_snapshot(UsageError):
        write_predictions(RECORD, tmp_path / name)


def test_unknown_and_empty_class_do_not_mix_in_npz(tmp_path: Path) -> None:
    record = Predictions.from_arrays(classes=["", "b"], label=["", None], prediction=["b", "b"])
    with pytest.raises(UsageError, match="empty"):
        write_predictions(record, tmp_path / "p.npz")


def test_unused_class_names_survive_where_the_format_holds_them(tmp_path: Path) -> None:
    record = Predictions.from_classes(["a", "a"], classes=["c", "b", "a"])
    for form in ("parquet", "arrow", "npz"):
        assert open_predictions(write_predictions(record, tmp_path / f"p.{form}")).classes == (
            "c",
            "b",
            "a",
        )
    for form in ("csv", "jsonl"):
        assert open_predictions(write_predictions(record, tmp_path / f"p.{form}")).classes == ("a",)


def _dead() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.mark.parametrize("folder", [True, False], ids=["folder", "file"])
def test_what_a_killed_process_left_beside_a_result_is_swept_by_the_next_writer(
    tmp_path: Path, folder: bool
) -> None:
    code = (
        "import os, pathlib, sys; from oodometer.store import whole_folder, write_atomic\n"
        "home = pathlib.Path(sys.argv[1])\n"
        "def fill(file):\n    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
        + (
            "with whole_folder(home) as part:\n    part.mkdir(); (part / 'a').touch(); os.kill(os.getpid(), 9)"
            if folder
            else "write_atomic(home, fill)"
        )
    )
    home = tmp_path / "result"
    other = tmp_path / f".result.ffffff-{_dead()}-0123456789ab.part"  # of another machine
    other.write_text("half")
    subprocess.run([sys.executable, "-c", code, str(home)], check=False)
    left = {one.name for one in tmp_path.iterdir()} - {other.name}
    assert len(left) == 1, "the process left one thing unfinished"
    living = tmp_path / re.sub(
        r"-\d+-", f"-{os.getpid()}-", left.pop()
    )  # of a process that goes on
    living.write_text("half")
    write_atomic(home, "done")
    assert {one.name for one in tmp_path.iterdir()} == {"result", other.name, living.name}
