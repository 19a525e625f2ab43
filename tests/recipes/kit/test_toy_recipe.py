"""A recipe added as CONTRIBUTING says: its folder of two files and one line in `RECIPES` are all that it needs."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts.publish import publish

from oodometer_lab.recipes import RECIPES, find_recipe, reproduce
from oodometer_lab.recipes.kit.publish import can_draw

FOLDER = Path(__file__).with_name("toy")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The recipe as if its folder stood among the others."""
    name = "oodometer_lab.recipes.toy"
    spec = importlib.util.spec_from_file_location(name, FOLDER / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(RECIPES, "toy", "toy")
    return find_recipe("toy")


def test_a_toy_recipe_is_two_files_and_a_line(toy: Any, tmp_path: Path) -> None:
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_file()) == [
        "README.md",
        "__init__.py",
    ]
    assert toy.home == FOLDER
    found = reproduce("toy", out=tmp_path / "run")
    verdicts = {claim["name"]: claim["verdict"] for claim in found.result["claims"]}
    assert verdicts == {"more_helps": "holds", "saves": "does not hold", "cheap": "undecided"}
    drawn = json.loads((found.folder / "figures" / "accuracy.vl.json").read_text())["concat"][0][
        "data"
    ]["values"]
    assert [row["accuracy"] for row in drawn if row["model"] == "LARGE"] == [
        one["LARGE"]["value"] for one in found.result["sets"]
    ]
    assert (found.folder / "figures.html").is_file() == can_draw()
    again = reproduce("toy", out=tmp_path / "run")
    assert all(run.kept for run in again.steps)

    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(FOLDER / "README.md", home)
    publish(toy, found.folder, home)
    assert found.words in (home / "README.md").read_text()
    assert (home / "results" / "small.md").read_text() == found.words
    assert json.loads((home / "results" / "small.json").read_text()) == found.result


def test_the_recipe_in_contributing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^   ```python\n(.*?)^   ```", text, flags=re.DOTALL | re.MULTILINE)
    (block,) = (one for one in blocks if "class EasyDigits" in one)
    module = ModuleType("oodometer_lab.recipes.easy_digits")
    module.__package__ = module.__name__
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(textwrap.dedent(block), "CONTRIBUTING.md", "exec"), module.__dict__)
    monkeypatch.setitem(RECIPES, "easy-digits", "easy_digits")
    (claim,) = reproduce("easy-digits", out=tmp_path / "run").result["claims"]
    assert (claim["verdict"], claim["quantity"], claim["seen"]) == ("holds", "mean", [1, 1])
