"""Stores of both kinds: what goes in comes out, two writers, a kill in the middle, versions, locks, strange names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import oodometer
from oodometer import Estimation
from oodometer.errors import InputError, NotStoredError, UsageError
from oodometer.histories import Store, base, open_store, recording
from oodometer.histories.recording import kept_result

Night = Callable[..., Estimation]


def count(store: Store, table: str = "oodometer_runs") -> int:
    with store.session(write=False) as session:
        return (
            int(session.rows(f"SELECT COUNT(*) FROM {table}")[0][0])
            if store.has_table(session, table)
            else 0
        )


def test_a_run_comes_back_whole(place: str, store: Store, night: Night) -> None:
    found = night({"2026-01": 0.9, "2026-02": 0.7}, metrics=["f1"], methods=["ac", "cbpe"])
    job = oodometer.history(place)["shop"]
    (run,) = job.runs
    i = found.headline.interval
    assert (run.value, run.lower, run.upper, run.level, run.kind) == (
        i.value,
        i.lower,
        i.upper,
        i.level,
        i.kind,
    )
    assert (run.method, run.trust, run.why) == (
        found.headline.method,
        found.headline.trust,
        found.headline.why,
    )
    assert (run.verb, run.version, run.rows) == ("estimate", oodometer.__version__, 80)
    assert (run.alarms, run.new, run.exit_code, run.repeats) == (1, 1, 3, None)
    assert run.options["every"] == "month"
    assert run.options["fail_below"] == 0.8
    chunks = job.of("chunk")
    assert [(one.name, one.newest.value) for one in chunks] == [
        (p.name, p.headline.value) for p in found.chunks
    ]
    assert [one.newest.value for one in job.of("chunk", "f1")] == [
        p.metrics["f1"].value for p in found.chunks
    ]
    assert [len(one.standing) for one in chunks] == [0, 1]
    assert [one.start for one in chunks] == ["2026-01-01", "2026-02-01"]
    assert kept_result(store, 1) == json.loads(json.dumps(found.to_dict()))
    with pytest.raises(UsageError, match="has no run 7"):
        kept_result(store, 7)


def test_the_newest_estimate_and_the_truth_that_came_later(place: str, night: Night) -> None:
    night({"2026-01": 0.9, "2026-02": (0.7, 30)})
    night(
        {"2026-01": 0.9, "2026-02": 0.75},
        labels={"label": [0] * 36 + [1] * 4 + [-1] * 0 + [0] * 40},
    )
    night({"2026-01": 0.9, "2026-02": 0.75, "2026-03": 0.9})
    night(
        {"2026-01": 0.9, "2026-02": 0.75, "2026-03": 0.9}
    )  # a repetition is a run, and no estimate of its own
    job = oodometer.history(place)["shop"]
    assert [one.repeats for one in job.runs] == [None, None, None, 3]
    assert {one.name: [s.run for s in one.seen] for one in job.of("chunk")} == {
        "2026-01": [1, 2, 4],
        "2026-02": [1, 2, 4],
        "2026-03": [4],
    }
    first, second, third = job.of("chunk")
    assert (first.truth["value"], second.truth and second.truth["value"], third.truth) == (
        0.9,
        1.0,
        None,
    )
    assert [one.rows for one in second.seen] == [30, 40, 40]
    last = oodometer.history(place, last=2)["shop"]
    assert [one.number for one in last.runs] == [3, 4]
    assert last.of("chunk")[0].truth is None
    night({"2026-01": 0.9, "2026-02": 0.75}, every="1w")
    weeks = oodometer.history(place)["shop"]
    assert len(weeks.runs) == 5
    assert all(
        len(one.seen) == 1 for one in weeks.of("chunk")
    )  # months are no earlier estimates of weeks


def test_jobs_stand_beside_each_other(place: str, night: Night) -> None:
    (month,) = night({"2026-01": 0.9}, job="b").chunks
    night({"2026-01": 0.9}, job="a")
    both = oodometer.history(place)
    assert [one.name for one in both.jobs] == ["a", "b"]
    said = f"estimated accuracy of 2026-01: {100 * month.headline.value:.1f} %"
    assert repr(both).endswith(f"  a: {said}\n  b: {said}")
    with pytest.raises(UsageError, match="there is no job 'c'; there is a, b"):
        both["c"]
    assert [one.name for one in oodometer.history(place, job="b").jobs] == ["b"]
    with pytest.raises(
        UsageError,
        match=r"has no job bb; did you mean b\? it has a, b$|has no job bb; it has a, b$",
    ):
        oodometer.history(place, job="bb")
    with pytest.raises(UsageError, match="last: expected a number of runs, 1 or more, got 0"):
        oodometer.history(place, last=0)


def test_looking_before_the_work_leaves_nothing(store: Store, night: Night) -> None:
    store.check()
    assert store.is_new() or count(store) == 0
    night({"2026-01": 0.9})
    store.check()
    assert count(store) == 1
    night({"2026-01": (0.9, 50)})
    with store.reading() as session:
        assert session.rows("SELECT id FROM oodometer_runs ORDER BY id") == [(1,), (2,)]


def test_a_store_that_fails_is_told_before_the_work(
    place: str, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    night({"2026-01": 0.9})
    _set_version(open_store(place), 7)
    monkeypatch.setattr(
        "oodometer.verbs.estimate.estimated", lambda *given: pytest.fail("it went to work")
    )
    with pytest.raises(
        InputError,
        match=r"expected a store of schema 1, .* got schema 7; install the newer oodometer",
    ):
        night({"2026-01": 0.9})
    with pytest.raises(InputError, match="got schema 7"):
        oodometer.history(place)


def _set_version(store: Store, version: int) -> None:
    with store.session(write=True) as session:
        session.rows("UPDATE oodometer_store SET version = %s", version)


def test_an_older_store_is_brought_up_to_date_by_the_next_run(
    place: str, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    night({"2026-01": 0.7})
    more = "ALTER TABLE oodometer_runs ADD COLUMN weather TEXT"
    monkeypatch.setattr(base, "MIGRATIONS", (*base.MIGRATIONS, (more,)))
    monkeypatch.setattr(base, "VERSION", 2)
    with pytest.raises(
        InputError, match="expected a store of schema 2, got schema 1; the next `oodometer estimate"
    ):
        oodometer.history(place)
    found = night({"2026-01": (0.7, 50)})
    assert len(oodometer.history(place)["shop"].runs) == 2
    with open_store(place).reading() as session:
        assert session.rows("SELECT weather FROM oodometer_runs ORDER BY id") == [(None,), (None,)]
    assert (
        found.alarms.where[0].known_since is not None
    )  # what the older release wrote still counts


def test_a_store_that_takes_nothing_at_the_end_gives_the_answer(
    place: str, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(place)
    night({"2026-01": 0.9})
    with monkeypatch.context() as patch:
        patch.setattr(
            Store, "check", lambda self: _set_version(self, 9)
        )  # another program, while this one works
        with pytest.raises(NotStoredError, match=r"the answer is there, but .*schema 9") as failed:
            night({"2026-01": 0.7})
    assert failed.value.exit_code == 1
    assert failed.value.found.alarms.raised
    _set_version(store, 1)
    assert count(store) == 1


def test_a_store_that_is_locked_is_told_after_a_bounded_wait(
    place: str, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "WAIT", 0.3)
    night({"2026-01": 0.9})
    with locked(place):
        said = "got locked by another program for 0.3 s; wait until it has ended, or end it, and run again"
        with pytest.raises(InputError, match=said):
            night({"2026-01": 0.9})
        assert len(oodometer.history(place).jobs) == 1  # readers go on
    night({"2026-01": 0.9})


@contextmanager
def locked(place: str) -> Iterator[None]:
    """Another program is in the middle of a write."""
    with open_store(place).session(write=True) as session:
        session.rows("UPDATE oodometer_store SET version = 1")
        yield


WRITER = """
import sys
from oodometer.histories import base, open_store
base.WAIT = 60.0
place, name, many, parts = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
words = dict.fromkeys(("verb", "version", "cut", "answer"), "x") | {"job": name, "at": "2026-01-01T00:00:00+00:00"}
about = words | {"alarms": 0, "new_alarms": 0, "exit_code": 0, "options": "{}", "result": "{}"}
part = {"kind": "chunk", "metric": "accuracy", "rows": 1, "value": 0.5, "lower": 0.5, "upper": 0.5, "level": 0.9}
rows = [{**part, "part": str(i), "name": str(i)} for i in range(parts)]
for _ in range(many):
    open_store(place).append(about, rows)
    print("written", flush=True)
"""


def writer(place: str, name: str, many: int, parts: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, place, name, str(many), str(parts)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_several_writers_at_once_lose_nothing(place: str, store: Store) -> None:
    """The first ones make the tables, all at once."""
    writers = [writer(place, f"w{i}", 6, 5) for i in range(3)]
    for one in writers:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    with store.reading() as session:
        assert [
            row[0] for row in session.rows("SELECT id FROM oodometer_runs ORDER BY id")
        ] == list(range(1, 19))
        jobs = session.rows("SELECT job, COUNT(*) FROM oodometer_runs GROUP BY job ORDER BY job")
        assert jobs == [("w0", 6), ("w1", 6), ("w2", 6)]
        assert session.rows("SELECT COUNT(*) FROM oodometer_parts") == [(90,)]
        assert session.rows("SELECT COUNT(*) FROM oodometer_store") == [(1,)]


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_write_leaves_whole_runs(place: str, store: Store) -> None:
    for delay in (0.0, 0.01, 0.03, 0.07):
        one = writer(place, "killed", 10_000, 2000)
        assert one.stdout.readline() == "written\n"
        time.sleep(delay)
        os.kill(one.pid, signal.SIGKILL)
        one.communicate(timeout=60)
        with store.session(
            write=True
        ) as session:  # waits for what the server still does for the dead
            runs = session.rows("SELECT COUNT(*) FROM oodometer_runs")[0][0]
            whole = session.rows("SELECT COUNT(*) FROM oodometer_parts GROUP BY run")
            assert (len(whole), {row[0] for row in whole}) == (runs, {2000})
        store.check()
    assert runs >= 4


def test_names_that_no_database_takes(place: str, store: Store, night: Night) -> None:
    half = "\ud800"
    found = night({"2026-01": 0.9}, job=f"sh\x00op{half}'; DROP TABLE oodometer_runs; --")
    (job,) = oodometer.history(place).jobs
    assert job.name.startswith("sh\\x00op\\ud800'; DROP TABLE")
    assert kept_result(store, 1) == json.loads(json.dumps(found.to_dict()))


def test_a_repetition_counts_for_half_a_day(
    place: str, night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {
        "2026-02-01T22:00:00.000+00:00": None,
        "2026-02-02T09:59:00.000+00:00": 1,
    }
    told |= {
        "2026-02-02T10:01:00.000+00:00": None
    }  # counted from the first, however many repeat it
    for at in told:
        monkeypatch.setattr(recording, "now", lambda at=at: at)
        night({"2026-01": 0.7})
    assert [one.repeats for one in oodometer.history(place)["shop"].runs] == list(told.values())


def test_runs_wait_for_the_end_of_a_block_and_are_dropped_with_it(
    place: str, store: Store, night: Night
) -> None:
    night({"2026-01": 0.7})
    with suppress(KeyboardInterrupt), store.afterwards() as kept:
        night({"2026-01": (0.7, 50)}, store=kept)
        raise KeyboardInterrupt
    assert count(store) == 1
    with store.afterwards() as kept:
        night({"2026-01": (0.7, 50)}, store=kept)
        assert count(store) == 1
    assert count(store) == 2
    with pytest.raises(UsageError, match="expected the path of a file or postgresql"):
        open_store(3)
