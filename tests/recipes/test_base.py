"""Steps: done once, done again when what they rest on changes, kept after an interruption, reported in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from oodometer.errors import UsageError, WorkError
from oodometer_lab.recipes import RECIPES, find_recipe, reproduce
from oodometer_lab.recipes.base import Progress, Step, Workspace
from oodometer_lab.recipes.steps import run_steps

from ..snapshots import raises_snapshot


def chain(log: list[str], settings: int = 0, stop: bool = False) -> list[Step]:
    def make(name: str) -> Step:
        def work(workspace: Workspace, progress: Progress) -> None:
            progress(1, 2)
            if stop and name == "b":
                raise KeyboardInterrupt
            log.append(name)
            workspace.write_json(f"{name}/out.json", name)
            progress(2, 2)

        needs = {"a": (), "b": ("a",), "c": ()}[name]
        own = {"size": settings} if name == "a" else {}
        return Step(name, f"doing {name}", (f"{name}/out.json",), work, own, needs, weight=2.0)

    return [make(name) for name in "abc"]


def test_done_once_and_again_when_settings_or_files_change(tmp_path: Path) -> None:
    place, log = Workspace(tmp_path), []
    runs = run_steps(chain(log), place)
    assert [run.kept for run in runs] == [False] * 3
    again = run_steps(chain(log), place)
    assert [run.kept for run in again] == [True] * 3
    assert [run.seconds for run in again] == [
        run.seconds for run in runs
    ]  # the time that the work took
    assert log == ["a", "b", "c"]
    log.clear()
    run_steps(chain(log, settings=1), place)
    assert log == ["a", "b"]  # b rests on a, c does not
    log.clear()
    (tmp_path / "c" / "out.json").unlink()
    (tmp_path / ".steps" / "b.json").write_text("nonsense")
    with pytest.warns(UserWarning, match=r"b.json: what is stored there is damaged"):
        run_steps(chain(log, settings=1), place)
    assert log == ["b", "c"]
    log.clear()
    (tmp_path / "c" / "out.json").write_text("4")
    with pytest.warns(UserWarning, match="a file of the step c has changed since; it is made anew"):
        run_steps(chain(log, settings=1), place)
    assert log == ["c"]


def test_goes_on_behind_the_last_finished_step(tmp_path: Path) -> None:
    place, log = Workspace(tmp_path), []
    with pytest.raises(KeyboardInterrupt):
        run_steps(chain(log, stop=True), place)
    run_steps(chain(log), place)
    assert log == ["a", "b", "c"]


def test_some_steps_are_done_in_every_run(tmp_path: Path) -> None:
    place, log = Workspace(tmp_path), []
    steps = chain(log)
    again = [*steps, replace(steps[0], name="d", always=True, needs=("c",))]
    assert [run.kept for _ in range(2) for run in run_steps(again, place)] == [False] * 4 + [
        True
    ] * 3 + [False]
    assert log == ["a", "b", "c", "a", "a"]


def test_reports_rise_to_one(tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    run_steps(chain([]), Workspace(tmp_path), lambda what, share: seen.append((what, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert seen[1] == ("doing a", pytest.approx(1 / 6))


def test_a_scale_is_one_that_the_sizes_have(tmp_path: Path) -> None:
    for name in RECIPES:
        recipe = find_recipe(name)
        assert recipe.scales[0] == "small"
        assert {"paper"} < set(recipe.scales) <= {"small", "tiny", "paper", "cross-encoder"}
        if "tiny" not in recipe.scales:
            with raises_snapshot(UsageError):
                reproduce(name, scale="tiny", out=tmp_path / name)
            assert not (tmp_path / name).exists()


def test_a_step_must_leave_its_files_and_have_a_name_of_its_own(tmp_path: Path) -> None:
    step = Step("idle", "idling", ("none.json",), lambda workspace, progress: None)
    with raises_snapshot(WorkError):
        run_steps([step], Workspace(tmp_path))
    with raises_snapshot(UsageError):
        run_steps([step, step], Workspace(tmp_path))
