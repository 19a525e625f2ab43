"""Stores in a file: what is no store is refused in one line before the work, and nothing is made or changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import oodometer
from oodometer import Estimation
from oodometer.errors import InputError
from oodometer.histories import open_store
from oodometer.histories.recording import kept_result
from oodometer.histories.sqlite import SqliteStore

from ..snapshots import raises_snapshot

Night = Callable[..., Estimation]


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "runs.sqlite")


def refused(place: str, *words: str) -> None:
    with pytest.raises(InputError) as error:
        open_store(place).check()
    said = str(error.value)
    assert said.startswith(f"{place}: expected a store of past runs (SQLite), got ")
    for one in words:
        assert one in said


def test_files_of_another_kind(tmp_path: Path) -> None:
    other = tmp_path / "target.csv"
    other.write_text("prob_a,prob_b,label\n" + "0.9,0.1,a\n" * 200)
    before = other.read_bytes()
    refused(str(other), "another kind of file", "choose another path")
    assert other.read_bytes() == before
    refused(str(tmp_path), "a folder; name a file in it")
    refused(
        str(tmp_path / "none" / "runs.sqlite"), "no such folder", f"make {tmp_path / 'none'} first"
    )


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "shop.db"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    connection.close()
    before = place.read_bytes()
    refused(str(place), "a database of another program (table orders)")
    with raises_snapshot(InputError):
        oodometer.history(place)
    assert place.read_bytes() == before


def test_a_damaged_store(place: str, night: Night) -> None:
    night({"2026-01": 0.9})
    body = bytearray(Path(place).read_bytes())
    body[100:4096] = os.urandom(3996)
    Path(place).write_bytes(bytes(body))
    refused(place, "a damaged one", "take a copy from before")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE oodometer_store SET version = 'abc'", "version 'abc'"),
        ("UPDATE oodometer_store SET version = -1", "version -1"),
        ("DELETE FROM oodometer_store", "version '0 of them'"),
        ("UPDATE oodometer_runs SET at = 'yesterday'", "at is 'yesterday'"),
        ("UPDATE oodometer_runs SET at = 5", "at is '5'"),
        ("UPDATE oodometer_runs SET options = '{no'", "options is '{no'"),
        ("UPDATE oodometer_runs SET options = '[1]'", r"options is '\[1\]'"),
        (f"UPDATE oodometer_runs SET id = {2**63 - 1}", f"id is '{2**63 - 1}'"),
        ("UPDATE oodometer_runs SET value = 'much'", "value is 'much'"),
        ("UPDATE oodometer_runs SET target = x'00'", "target is"),
        ("UPDATE oodometer_parts SET rows = 'all'", "rows is 'all'"),
        ("DROP TABLE oodometer_alarms", "no such table"),
    ],
)
def test_a_store_whose_runs_cannot_be_read_takes_no_more(
    place: str, night: Night, statement: str, said: str
) -> None:
    night({"2026-01": 0.9})
    with sqlite3.connect(place) as connection:
        connection.execute(statement)
    connection.close()
    before = Path(place).read_bytes()
    for ask in (open_store(place).check, lambda: oodometer.history(place)):
        with raises_snapshot(InputError):
            ask()
    assert Path(place).read_bytes() == before


def test_a_damaged_result_of_a_run(place: str, night: Night) -> None:
    night({"2026-01": 0.9})
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE oodometer_runs SET result = 'abc'")
    connection.close()
    with raises_snapshot(InputError):
        kept_result(open_store(place), 1)


@pytest.mark.skipif(os.name == "nt", reason="POSIX links and pipes")
def test_pipes_and_links(place: str, night: Night, tmp_path: Path) -> None:
    night({"2026-01": 0.9})
    link = tmp_path / "link.sqlite"
    link.symlink_to(place)  # one's own may be followed: stores lie where backups want them
    open_store(str(link)).check()
    os.mkfifo(tmp_path / "pipe")
    refused(str(tmp_path / "pipe"), "a pipe or device")


def test_an_empty_file_becomes_a_store_and_a_lost_one_is_told(place: str, night: Night) -> None:
    with raises_snapshot(InputError):
        oodometer.history(place)
    assert not Path(place).exists()  # to look makes nothing
    Path(place).touch()
    assert oodometer.history(place).jobs == ()
    night({"2026-01": 0.9})
    assert len(oodometer.history(place).jobs) == 1
    assert [one.name for one in Path(place).parent.iterdir()] == ["runs.sqlite"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_store_without_the_right_to_write(place: str, night: Night) -> None:
    night({"2026-01": 0.9})
    os.chmod(place, 0o400)
    refused(place, "cannot be written")
    assert len(oodometer.history(place).jobs) == 1
    os.chmod(Path(place).parent, 0o500)
    refused(f"{place}.new", "a folder that cannot be written")
    os.chmod(Path(place).parent, 0o700)


def test_a_reader_takes_back_what_a_killed_writer_left(
    place: str, night: Night, tmp_path: Path
) -> None:
    for rows in (40, 41, 42):
        night({f"2026-{month:02}": (0.9, rows) for month in range(1, 13)})
    connection = sqlite3.connect(place, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE oodometer_parts SET value = 0.5, why = 'half done'")
    connection.execute("DELETE FROM oodometer_runs WHERE id > 1")
    (tmp_path / "copy").mkdir()
    for name in ("runs.sqlite", "runs.sqlite-journal"):
        shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    connection.execute("ROLLBACK")
    connection.close()
    assert b"half done" in (tmp_path / "copy" / "runs.sqlite").read_bytes()
    job = oodometer.history(tmp_path / "copy" / "runs.sqlite")["shop"]
    assert len(job.runs) == 3
    assert all(one.value != 0.5 for part in job.parts for one in part.seen)


def test_further_errors_of_the_library_are_one_line(place: str) -> None:
    store = SqliteStore(place)
    for said, meant in (
        ("database or disk is full", "got a full disk; free some space"),
        (
            "attempt to write a readonly database",
            "got one that cannot be written; give yourself the right",
        ),
        ("disk I/O error\nat 7", "got disk I/O error at 7; choose another path"),
    ):
        assert meant in str(store._told(sqlite3.OperationalError(said)))


def test_paths_that_a_url_would_read_otherwise(tmp_path: Path, night: Night) -> None:
    for name in ("a b?mode=ro#x%41.sqlite", "ü.db"):
        night({"2026-01": 0.9}, store=tmp_path / name)
        assert (tmp_path / name).is_file()
    assert open_store("sqlite:///runs.sqlite").name == "runs.sqlite"
    assert open_store("sqlite:////srv/runs.sqlite").name == "/srv/runs.sqlite"
