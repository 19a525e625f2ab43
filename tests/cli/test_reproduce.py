"""The command `reproduce`: tables and JSON out, wrong calls in one line with exit code 2, interruption with 130."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oodometer_lab.recipes import Recipe, Step
from oodometer_lab.recipes.base import Progress, Workspace

from ..snapshots import assert_snapshot

Run = Callable[..., int]
# The packages' faces give functions of these names, so the modules are asked for by name.
entrance = importlib.import_module("oodometer.cli.main")
home = importlib.import_module("oodometer_lab.recipes.reproduce")


class Toy(Recipe):
    """A recipe of one step."""

    name = "toy"
    title = "a toy"
    citation = "mishra2022"
    stop = False

    def models(self, scale: str) -> tuple[str, ...]:
        return ("A", "B")

    def steps(self, scale: str, only: Any) -> list[Step]:
        def work(workspace: Workspace, progress: Progress) -> None:
            if Toy.stop:
                raise KeyboardInterrupt
            workspace.write_json("result.json", {"scale": scale, "only": list(only)})

        return [Step("one", "doing one", ("result.json",), work, {"only": list(only)})]

    def result(self, workspace: Workspace) -> dict[str, Any]:
        found: dict[str, Any] = workspace.read_json("result.json")
        return found

    def to_markdown(self, result: Any) -> str:
        return f"| scale | {result['scale']} |"


class Chores(Toy):
    """A recipe of tasks."""

    def models(self, scale: str) -> tuple[str, ...]:
        return ()

    def tasks(self, scale: str) -> tuple[str, ...]:
        return ("wash", "iron")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """The entrance, with a toy on the shelf."""
    shelf = {"toy": Toy, "chores": Chores}
    for name in shelf:
        monkeypatch.setitem(home.RECIPES, name, name)
    real = home.find_recipe
    monkeypatch.setattr(
        home, "find_recipe", lambda paper: shelf[paper]() if paper in shelf else real(paper)
    )
    monkeypatch.setattr(Toy, "stop", False)
    return lambda *arguments: entrance.main(["reproduce", *map(str, arguments)])


def test_prints_tables_and_writes_json(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("toy", "--out", tmp_path / "out", "--json", tmp_path / "r.json", "--only", "B") == 0
    said = capsys.readouterr()
    assert "| scale | small |" in said.out
    assert "1 steps done" in said.out
    assert said.err.splitlines() == [
        "  0%  doing one",
        "100%  done",
    ]  # no bar where nobody watches: a line a step
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["command"], found["paper"], found["scale"]) == ("reproduce", "toy", "small")
    assert found["result"] == {"scale": "small", "only": ["B"]}
    assert [step["kept"] for step in found["steps"]] == [False]
    assert run("toy", "--out", tmp_path / "out", "--json", "-", "--only", "B") == 0
    assert [step["kept"] for step in json.loads(capsys.readouterr().out)["steps"]] == [True]


def test_tasks_are_chosen(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("chores", "--out", tmp_path, "--task", "iron", "--task", "wash", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["result"] == {
        "scale": "small",
        "only": ["iron", "wash"],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "unknown paper 'nothing'"),
        (("chores", "--task", "cook"), "unknown task 'cook' at scale small; known: wash, iron"),
        (
            ("chores", "--only", "A"),
            "chores has no models to choose from, got 'A'; leave --only out",
        ),
        (
            ("toy", "--task", "wash"),
            "toy has no tasks to choose from, got 'wash'; leave --task out",
        ),
        (("toy", "--scale", "huge"), "unknown scale 'huge'; expected small or paper"),
        (("toy", "--only", "C"), "unknown model 'C' at scale small; known: A, B"),
        (
            ("toy", "--engine", "processes"),
            "toy does its steps one after another; leave --engine out",
        ),
        (("few-shot-ranking", "--engine", "moon"), "unknown engine 'moon'"),
        (
            ("few-shot-ranking", "--engine", "local", "--workers", "2"),
            "one task after another in this process, not 2",
        ),
        (("toy", "--out", "FILE"), "expected a folder, got a file; name another with --out"),
        ((), "Missing argument"),
    ],
)
def test_wrong_calls_are_one_line(
    run: Run,
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("")
    assert run(*(tmp_path / "file" if one == "FILE" else one for one in arguments)) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_an_interruption_says_how_to_go_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(Toy, "stop", True)
    assert run("toy", "--out", tmp_path) == 130
    assert_snapshot(capsys.readouterr().err)
    monkeypatch.setattr(Toy, "stop", False)
    assert run("toy", "--out", tmp_path) == 0


def test_a_bad_data_folder_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path / "none"))
    assert run("selective-answering", "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "OODOMETER_DATA" in said
    assert said.count("\n") == 1
    monkeypatch.setenv("OODOMETER_DATA", str(tmp_path))
    assert run("selective-answering", "--out", tmp_path / "out") == 2
    assert "imdb_train.jsonl.xz" in capsys.readouterr().err
