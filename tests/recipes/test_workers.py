"""Steps done side by side: the same files, the needs kept, errors in one line, and a next run that goes on."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from oodometer.errors import UsageError, WorkError
from oodometer.recipes import reproduce
from oodometer.recipes.base import Step, StepRun, Workspace, run_steps
from oodometer.recipes.workers import Origin, Workers

sys.path.insert(0, str(Path(__file__).parent))  # where the other process looks for it, too
from counting_recipe import RECIPE


def run(place: Path, scale: str = "small", steps: list[Step] | None = None) -> list[StepRun]:
    origin = Origin("counting_recipe", "RECIPE", scale, ())
    return run_steps(steps or RECIPE.steps(scale, ()), Workspace(place), None, Workers(origin, place, 2))


def test_steps_are_done_in_two_processes_and_kept(tmp_path: Path) -> None:
    place = Workspace(tmp_path)
    assert [one.kept for one in run(tmp_path)] == [False] * 6
    left = {name: place.read_json(f"{name}.json") for name in ("a", "b", "c", "d", "both", "last")}
    assert len({one["process"] for one in left.values()} - {os.getpid()}) == 2
    assert {"a.json", "b.json"} <= set(left["both"]["seen"])
    assert left["last"]["process"] == os.getpid()
    assert len(left["last"]["seen"]) == 5
    assert {left[name]["cores"] for name in "abcd"} == {1}
    assert [one.kept for one in run(tmp_path)] == [True] * 5 + [False]
    (tmp_path / "c.json").unlink()
    assert [one.kept for one in run(tmp_path)] == [True, True, False, True, True, False]


@pytest.mark.parametrize(
    ("scale", "words"), [("failing", "the disk is full"), ("ending", "a process ended while .*bad")]
)
def test_a_failure_is_told_and_the_next_run_goes_on(scale: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=words):
        run(tmp_path, scale)
    again = {one.name: one.kept for one in run(tmp_path)}
    assert again["a"]
    assert again["b"]


def test_a_step_that_is_another_one_there_is_refused(tmp_path: Path) -> None:
    steps = RECIPE.steps("small", ())
    with pytest.raises(WorkError, match="another process"):
        run(tmp_path, steps=[replace(steps[0], settings={"n": 1}), *steps[1:]])


def test_a_need_that_no_run_meets_is_refused(tmp_path: Path) -> None:
    steps = RECIPE.steps("small", ())
    with pytest.raises(KeyError):
        run(tmp_path, steps=[replace(steps[0], needs=("missing",)), *steps[1:]])


@pytest.mark.parametrize(
    ("paper", "workers", "words"),
    [("scoring-functions", 0, "at least one worker"), ("selective-answering", 2, "leave workers out")],
)
def test_workers_that_make_no_sense(paper: str, workers: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        reproduce(paper, out=tmp_path, workers=workers)
