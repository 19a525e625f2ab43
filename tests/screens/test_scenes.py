"""Screens: what commands print and results say, one text file a scene, compared as the samples of the documents are.

After a sentence has changed: `pytest --write-snapshots tests/screens`, and look at `git diff tests/screens`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import oodometer
from oodometer.cli import main

from ..snapshots import difference, newer, same, steady
from .scenes import SCENES, Scene, write_files

FOLDER = Path(__file__).resolve().parent
OF_LAB = ("help", "methods")  # they name its commands and methods, too
SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of all scenes."""
    folder = tmp_path_factory.mktemp("scenes")
    with contextlib.chdir(folder):
        write_files()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of them, the current folder; no backtest is known yet."""
    copy = Path(shutil.copytree(made, tmp_path / "here"))
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path / "cache"))
    with contextlib.chdir(copy):
        yield copy


def of_command(words: list[str]) -> str:
    """What a command prints on both streams, and its exit code; `cat` shows a file that it wrote."""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words[1:])
    parts = [out.getvalue().strip("\n")]
    if err.getvalue().strip():
        parts.append(f"--- standard error\n{err.getvalue().strip()}")
    parts.append(f"--- exit code {code}")
    return "\n".join(part for part in parts if part)


def of_call(code: str) -> str:
    """What a result says as text, in a notebook's cell and in its warnings; or the error."""
    try:
        found = eval(code, {"oodometer": oodometer})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    warnings = "\n".join(f"- {line}" for line in getattr(found, "warnings", ()))
    lines = [str(found), "--- repr", repr(found), "--- warnings", warnings or "none"]
    return "\n".join(lines)


def shown(scene: Scene) -> str:
    """The text of a scene."""
    parts = []
    for typed in scene.typed:
        sign, _, rest = typed.partition(" ")
        said = of_command(shlex.split(rest)) if sign == "$" else of_call(rest)
        parts.append(f"{typed}\n{said}\n")
    return "\n".join(parts)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(scene, id=scene.name, marks=pytest.mark.lab if scene.name in OF_LAB else ())
        for scene in SCENES
    ],
)
def test_a_screen_is_the_one_that_was_looked_at(
    scene: Scene, folder: Path, request: pytest.FixtureRequest
) -> None:
    path = FOLDER / f"{scene.name}.txt"
    text = steady(shown(scene), {re.escape(str(folder.parent)): "HERE"})
    kept = path.read_text(encoding="utf-8").rstrip("\n") if path.is_file() else ""
    if request.config.option.write_snapshots:
        path.write_text(f"{newer(kept, text)}\n", encoding="utf-8")
    elif not same(kept, text):
        pytest.fail(f"{path.name}: run pytest --write-snapshots, look\n{difference(kept, text)}")


def test_every_screen_has_its_scene() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {scene.name for scene in SCENES}
