"""Steps as tasks of an engine: the same files on all, no waves, needs kept, one-line errors, a run that goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oodometer.engines import Engine, LocalEngine, ProcessEngine
from oodometer.errors import UsageError, WorkError
from oodometer.runs import Lock
from oodometer_lab.recipes import reproduce
from oodometer_lab.recipes.base import Report, Step, StepRun, Workspace
from oodometer_lab.recipes.steps import Origin, Task, Workers, fingerprints, run_steps

from ..snapshots import raises_snapshot

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)  # where the other process looks for it, too
import counting_recipe  # noqa: E402
from counting_recipe import RECIPE  # noqa: E402

USUAL = ["a", "b", "c", "d", "both"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, no_torch: str) -> None:
    """Steps of this process take no time; other processes import a recipe of their own, which only counts."""
    monkeypatch.setattr(counting_recipe, "PAUSE", 0.01)
    monkeypatch.syspath_prepend(no_torch)
    monkeypatch.setenv("PYTHONPATH", no_torch, prepend=os.pathsep)


class Backwards(Engine):
    """An engine of somebody else, which begins with the last part, and may do something when all are done."""

    name = "backwards"

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.then = then

    def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
        states = [work(part) for part in reversed(parts)][::-1]
        self.then()
        total = states[0]
        for state in states[1:]:
            total = merge(total, state)
        for part in parts:
            on_done(part)
        return total


def run(
    place: Path,
    engine: Engine,
    scale: str = "small",
    steps: list[Step] | None = None,
    report: Report | None = None,
) -> list[StepRun]:
    workers = Workers(Origin("counting_recipe", "RECIPE", scale, ()), engine)
    return run_steps(steps or RECIPE.steps(scale, ()), Workspace(place), report, workers)


@pytest.mark.parametrize(
    "engine", [LocalEngine(1), ProcessEngine(2), Backwards()], ids=lambda one: one.name
)
def test_steps_are_done_and_kept(engine: Engine, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    place = Workspace(tmp_path)
    assert [one.kept for one in run(tmp_path, engine, report=lambda *said: told.append(said))] == [
        False
    ] * 6
    left = {name: place.read_json(f"{name}.json") for name in (*USUAL, "last")}
    others = {one["process"] for one in left.values()} - {os.getpid()}
    assert len(others) == (2 if engine.name == "processes" else 0)
    assert {"a.json", "b.json"} <= set(left["both"]["seen"])
    assert left["last"]["process"] == os.getpid()  # what is done in every run stays here
    assert len(left["last"]["seen"]) == 5
    assert {left[name]["cores"] for name in USUAL} == {1}
    assert not (tmp_path / ".engine").exists()
    assert told[0] == (f"5 steps on the engine {engine.name}", 0.0)
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1] == ("done", 1.0)
    when = {name: (tmp_path / f"{name}.json").stat().st_mtime_ns for name in USUAL}
    assert [one.kept for one in run(tmp_path, engine)] == [True] * 5 + [False]
    assert when == {name: (tmp_path / f"{name}.json").stat().st_mtime_ns for name in USUAL}
    (tmp_path / "c.json").unlink()
    assert [one.kept for one in run(tmp_path, engine)] == [True, True, False, True, True, False]
    assert 0.01 < place.stamp("c")["seconds"] < 30
    here = run_steps(RECIPE.steps("small", ()), place)  # stamps are the same, whoever wrote them
    assert [one.kept for one in here] == [True] * 5 + [False]


def test_tasks_share_the_cores(tmp_path: Path) -> None:
    """Where no engine was named each has its share of them."""
    workers = Workers(Origin("counting_recipe", "RECIPE", "small", ()), ProcessEngine(2), 3)
    run_steps(RECIPE.steps("small", ()), Workspace(tmp_path), None, workers)
    assert {Workspace(tmp_path).read_json(f"{name}.json")["cores"] for name in USUAL} == {3}


def test_no_step_waits_for_a_wave(tmp_path: Path) -> None:
    """`slow` ends when `both` is done, which needs steps that are begun with it."""
    assert [one.kept for one in run(tmp_path, ProcessEngine(2), "meeting")] == [False] * 7
    assert "both.json" in Workspace(tmp_path).read_json("slow.json")["seen"]


@pytest.mark.parametrize("engine", [LocalEngine(1), ProcessEngine(2)], ids=lambda one: one.name)
def test_a_failure_is_told_and_the_next_run_goes_on(engine: Engine, tmp_path: Path) -> None:
    with raises_snapshot(WorkError):
        run(tmp_path, engine, "failing")
    done = {one.stem for one in (tmp_path / ".steps").iterdir()}
    assert "bad" not in done
    assert not (tmp_path / ".engine").exists()
    again = {
        one.name: one.kept for one in run_steps(RECIPE.steps("small", ()), Workspace(tmp_path))
    }
    assert {name for name, kept in again.items() if kept} == done
    assert done >= {"a", "b", "c", "d"}  # begun before it


def test_a_worker_that_dies_is_told_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with raises_snapshot(WorkError):
        run(tmp_path, ProcessEngine(2), "ending")
    again = {
        one.name: one.kept for one in run_steps(RECIPE.steps("small", ()), Workspace(tmp_path))
    }
    assert again["a"]
    assert again["b"]


def test_a_step_that_is_another_one_there_is_refused(tmp_path: Path) -> None:
    steps = RECIPE.steps("small", ())
    with raises_snapshot(WorkError):
        run(tmp_path, ProcessEngine(2), steps=[replace(steps[0], settings={"n": 1}), *steps[1:]])


def test_a_step_that_leaves_nothing_is_told(tmp_path: Path) -> None:
    lazy = [
        replace(step, files=(*step.files, "more.json")) for step in RECIPE.steps("small", ())[:1]
    ]
    with raises_snapshot(WorkError):
        run(tmp_path, LocalEngine(1), steps=lazy)


def test_a_need_that_no_run_meets_is_refused(tmp_path: Path) -> None:
    steps = RECIPE.steps("small", ())
    always = replace(steps[0], always=True)
    with raises_snapshot(WorkError):
        run(tmp_path, LocalEngine(1), steps=[always, *steps[1:]])


# ------------------------------------------------------------------------------------------------ folders not shared


def test_a_worker_that_does_not_see_the_folder_is_told(tmp_path: Path) -> None:
    class Elsewhere(Backwards):
        """The folder of another machine: what the driver wrote is not there."""

        def fold(self, parts: Any, work: Any, merge: Any, on_done: Any = None) -> Any:
            function = replace(work.function, folder=tmp_path / "elsewhere")
            return super().fold(parts, replace(work, function=function), merge, on_done)

    with raises_snapshot(WorkError):
        run(tmp_path / "here", Elsewhere())


@pytest.mark.parametrize("lost", ["both.json", ".steps/both.json"])
def test_files_that_do_not_arrive_are_told(
    lost: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oodometer_lab.recipes.steps._GRACE", 0)
    with raises_snapshot(WorkError):
        run(tmp_path, Backwards(lambda: (tmp_path / lost).unlink(missing_ok=True)))


def test_files_that_arrive_late_are_waited_for(tmp_path: Path) -> None:
    """As on a network disk, which shows a stamp before the files."""
    late, hidden = tmp_path / "both.json", tmp_path / "hidden"

    def hide() -> None:
        if late.exists():  # it is of the second wave
            late.rename(hidden)
            threading.Timer(0.5, hidden.rename, [late]).start()

    assert [one.kept for one in run(tmp_path, Backwards(hide))] == [False] * 6
    steps, place = RECIPE.steps("small", ()), Workspace(tmp_path)
    place.forget("both")
    late.unlink()
    (tmp_path / "a.json").rename(hidden)
    threading.Timer(0.5, hidden.rename, [tmp_path / "a.json"]).start()
    Task(Origin("counting_recipe", "RECIPE", "small", ()), tmp_path, fingerprints(steps))("both")
    assert "a.json" in place.read_json("both.json")["seen"]


# ------------------------------------------------------------------------------------------------ killed

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from counting_recipe import RECIPE
from oodometer.engines import create_engine
from oodometer_lab.recipes.base import Workspace
from oodometer_lab.recipes.steps import Origin, Workers, run_steps

if __name__ == "__main__":
    place, engine = Path(sys.argv[1]), create_engine(sys.argv[2], 2)
    workers = Workers(Origin("counting_recipe", "RECIPE", "small", ()), engine)
    print([one.name for one in run_steps(RECIPE.steps("small", ()), Workspace(place), None, workers) if not one.kept])
"""


def test_a_killed_run_goes_on_behind_the_last_step(tmp_path: Path) -> None:
    script, place = tmp_path / "steps.py", tmp_path / "run"
    script.write_text(SCRIPT.format(here=HERE))
    command = [sys.executable, str(script), str(place), "processes"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not any((place / ".steps").glob("*.json")):
        assert killed.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(60)
    time.sleep(1)  # its workers see that it is gone
    done = {one.stem for one in (place / ".steps").glob("*.json")}
    assert done
    assert "both" not in done
    when = {name: (place / f"{name}.json").stat().st_mtime_ns for name in done}
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert again.stdout.strip() == str([name for name in (*USUAL, "last") if name not in done])
    assert when == {name: (place / f"{name}.json").stat().st_mtime_ns for name in done}
    assert not (place / ".engine").exists()


def test_a_step_that_somebody_still_does_is_waited_for(tmp_path: Path) -> None:
    """As a worker of a cluster does after its driver was killed: nobody does the step beside it."""
    folder = tmp_path / ".engine"
    folder.mkdir()
    holding = (
        f"import sys, time; sys.path.insert(0, {HERE!r})\n"
        "from pathlib import Path; from oodometer.runs import Lock; from counting_recipe import RECIPE\n"
        "from oodometer_lab.recipes.base import Workspace\n"
        "from oodometer_lab.recipes.steps import do_step, fingerprints; place = Path(sys.argv[1])\n"
        "lock = Lock(place / '.engine' / 'a.lock', place); assert lock.take(); print('held', flush=True)\n"
        "time.sleep(2); steps = RECIPE.steps('small', ())\n"
        "do_step(steps[0], Workspace(place), fingerprints(steps)['a'], lambda done, of: None)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline().strip() == "held"
        run(tmp_path, LocalEngine(1))
    assert other.returncode == 0
    assert Workspace(tmp_path).read_json("a.json")["process"] == other.pid
    assert "a.json" in Workspace(tmp_path).read_json("both.json")["seen"]


def test_a_lock_that_is_taken_is_not_taken_twice_and_goes_with_its_file(tmp_path: Path) -> None:
    one, two = Lock(tmp_path / "lock", tmp_path), Lock(tmp_path / "lock", tmp_path)
    assert one.take()
    assert not two.take()
    one.release(remove=True)
    assert not (tmp_path / "lock").exists()
    assert two.take()
    two.release()
    assert (tmp_path / "lock").exists()
    with raises_snapshot(UsageError):
        Lock(tmp_path / "none" / "lock", tmp_path).take()


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("paper", "options"),
    [
        ("selective-answering", {"engine": "processes"}),
        ("selective-answering", {"engine": LocalEngine(1)}),
        ("selective-answering", {"workers": 2}),
        ("scoring-functions", {"workers": 0}),
        ("scoring-functions", {"engine": "processes", "workers": 0}),
        ("scoring-functions", {"engine": "local", "workers": 3}),
        ("scoring-functions", {"engine": "moon"}),
    ],
)
def test_engines_that_make_no_sense(paper: str, options: dict[str, Any], tmp_path: Path) -> None:
    with raises_snapshot(UsageError):
        reproduce(paper, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
