"""Publishing: what is committed follows from its result, to the byte; a run is joined to what was there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import InputError
from oodometer.recipes import RECIPES, Recipe, find_recipe
from oodometer.recipes.kit.publish import END, START, publish, with_tables

PUBLISHED = [
    (name, path.stem) for name in RECIPES for path in sorted((find_recipe(name).home / "results").glob("*.json"))
]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def shelf(tmp_path: Path) -> Path:
    """A place to publish into, with an empty README."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "README.md").write_text(f"before {START} old {END} after")
    return home


@pytest.fixture
def copy(tmp_path: Path) -> Any:
    """A copy of what a recipe has published, and its result as a run leaves it."""

    def made(name: str) -> tuple[Recipe, Path, Path]:
        recipe = find_recipe(name)
        home, run = tmp_path / "home", tmp_path / "run"
        shutil.copytree(recipe.home / "results", home / "results")
        shutil.copy(recipe.home / "README.md", home)
        run.mkdir()
        shutil.copy(home / "results" / "small.json", run / "result.json")
        return recipe, home, run

    return made


def test_every_recipe_has_results() -> None:
    assert [(name, "small") for name in RECIPES] == [one for one in PUBLISHED if one[1] == "small"]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("afresh", [False, True])
def test_what_is_committed_is_published_again_to_the_byte(copy: Any, name: str, afresh: bool) -> None:
    recipe, home, run = copy(name)
    if afresh:
        shutil.rmtree(home / "results")
    publish(recipe, run, home)
    for file in ("results/small.json", "results/small.md", "README.md"):
        assert (home / file).read_bytes() == (recipe.home / file).read_bytes()


@pytest.mark.parametrize(("name", "scale"), PUBLISHED)
def test_results_are_small(name: str, scale: str) -> None:
    """At most 400 kB, and 200 kB for each further training of all tasks."""
    path = find_recipe(name).home / "results" / f"{scale}.json"
    replicates = json.loads(path.read_text(encoding="utf-8")).get("replicates")
    further = max(map(len, replicates.values()), default=0) if isinstance(replicates, dict) else 0
    assert path.stat().st_size < 400_000 + 200_000 * further


def test_a_run_is_published_with_claims_checked_again(copy: Any, tmp_path: Path) -> None:
    recipe, home, run = copy("selective-answering")
    (home / "README.md").write_text(f"before {START} old {END} after")
    result = read(run / "result.json")
    result["models"] = result["models"][::-1]
    (run / "result.json").write_text(json.dumps({**result, "claims": []}))
    result["claims"] = json.loads(json.dumps(recipe.claims(result)))
    publish(recipe, run, home)
    assert read(home / "results" / "small.json") == result
    text = (home / "README.md").read_text()
    assert (text.startswith("before "), text.endswith(" after"), " old " in text) == (True, True, False)
    assert recipe.to_markdown(result) in text
    before = text
    publish(recipe, home / "results" / "small.json", home)  # a result itself: the same again
    assert read(home / "results" / "small.json") == result
    assert (home / "README.md").read_text() == before


def test_tasks_that_a_run_lacks_stay(copy: Any) -> None:
    recipe, home, run = copy("correctness-discriminators")
    whole = read(run / "result.json")
    part = {**whole, "tasks": {"cogs": whole["tasks"]["cogs"]}, "missing": [], "claims": []}
    (run / "result.json").write_text(json.dumps(part))
    publish(recipe, run, home)
    assert (home / "results" / "small.json").read_bytes() == (recipe.home / "results" / "small.json").read_bytes()
    (run / "result.json").write_text(json.dumps({**part, "form": 0}))  # tasks of another form are not joined
    publish(recipe, run, home)
    found = read(home / "results" / "small.json")
    assert list(found["tasks"]) == ["cogs"]
    assert "amr" in found["missing"]


@pytest.mark.parametrize("content", [None, "nonsense", json.dumps({"scale": "small", "tasks": {}})])
def test_an_unfinished_run_changes_nothing(tmp_path: Path, content: str | None) -> None:
    home, recipe = shelf(tmp_path), find_recipe("correctness-discriminators")
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(InputError, match=r"a finished run, .*; run oodometer reproduce corr"):
        publish(recipe, tmp_path, home)
    assert not (home / "results").exists()


def test_a_readme_without_marks_changes_nothing(copy: Any) -> None:
    recipe, home, run = copy("selective-answering")
    shutil.rmtree(home / "results")
    (home / "README.md").write_text("no marks")
    with pytest.raises(InputError, match="the marks"):
        publish(recipe, run, home)
    assert not (home / "results").exists()
    assert with_tables(f"a {START} b {END} c", "page\n") == f"a {START}\n\npage\n\n{END} c"
