"""Publishing: what is committed follows from its result by today's code, to the byte; a run is joined to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts.publish import END, ROW_KEYS, START, publish, with_tables, written

from oodometer.errors import InputError
from oodometer_lab.recipes import RECIPES, Recipe, find_recipe

from ...snapshots import raises_snapshot

PUBLISHED = [
    (name, path.stem)
    for name in RECIPES
    for path in sorted((find_recipe(name).home / "results").glob("*.json"))
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
def test_what_is_committed_is_published_again_to_the_byte(
    copy: Any, name: str, afresh: bool
) -> None:
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
    assert (text.startswith("before "), text.endswith(" after"), " old " in text) == (
        True,
        True,
        False,
    )
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
    assert (home / "results" / "small.json").read_bytes() == (
        recipe.home / "results" / "small.json"
    ).read_bytes()
    (run / "result.json").write_text(
        json.dumps({**part, "form": 0})
    )  # tasks of another form are not joined
    publish(recipe, run, home)
    found = read(home / "results" / "small.json")
    assert list(found["tasks"]) == ["cogs"]
    assert "amr" in found["missing"]


@pytest.mark.parametrize("content", [None, "nonsense", json.dumps({"scale": "small", "tasks": {}})])
def test_an_unfinished_run_changes_nothing(tmp_path: Path, content: str | None) -> None:
    home, recipe = shelf(tmp_path), find_recipe("correctness-discriminators")
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with raises_snapshot(InputError):
        publish(recipe, tmp_path, home)
    assert not (home / "results").exists()


def test_a_readme_without_marks_changes_nothing(copy: Any) -> None:
    recipe, home, run = copy("selective-answering")
    shutil.rmtree(home / "results")
    (home / "README.md").write_text("no marks")
    with raises_snapshot(InputError):
        publish(recipe, run, home)
    assert not (home / "results").exists()
    assert with_tables(f"a {START} b {END} c", "page\n") == f"a {START}\n\npage\n\n{END} c"


def committed(name: str, scale: str) -> tuple[Any, Path]:
    """The result, and the folder of its recipe."""
    home = find_recipe(name).home
    return json.loads((home / "results" / f"{scale}.json").read_text(encoding="utf-8")), home


def forms(value: Any, at: str = "result") -> Iterator[tuple[str, int]]:
    """Every form that a result names, its own and those of its parts."""
    if isinstance(value, dict):
        if "form" in value:
            yield at, value["form"]
        for key, one in value.items():
            yield from forms(one, f"{at}/{key}")


@pytest.mark.parametrize(("name", "scale"), PUBLISHED)
def test_the_committed_form_is_the_codes(name: str, scale: str) -> None:
    """A result of another scale may be older, where its page says so; that of the usual scale may not."""
    found, home = committed(name, scale)
    wanted = find_recipe(name).form
    others = {form for _, form in forms(found)} - {wanted}
    if scale == find_recipe(name).scales[0]:
        assert not others
    elif others:
        assert others == {found["form"]}
        page = (home / "results" / f"{scale}.md").read_text(encoding="utf-8")
        assert (
            f"Left by form {found['form']} of this recipe, which is at form {wanted} today" in page
        )
    assert found["paper"] == name
    assert found["scale"] == scale


@pytest.mark.parametrize(("name", "scale"), PUBLISHED)
def test_committed_claims_and_tables_are_the_codes(name: str, scale: str) -> None:
    """Verdicts, page, README and the file itself follow from the committed numbers by today's code, to the byte."""
    found, home = committed(name, scale)
    recipe = find_recipe(name)
    assert json.loads(json.dumps(recipe.claims(found))) == found["claims"]
    page = recipe.to_markdown(found)
    assert (home / "results" / f"{scale}.md").read_text(encoding="utf-8") == page
    assert (home / "results" / f"{scale}.json").read_text(encoding="utf-8") == written(
        found, ROW_KEYS.get(name, "form")
    )
    if scale == recipe.scales[0]:
        readme = (home / "README.md").read_text(encoding="utf-8")
        assert with_tables(readme, page) == readme


@pytest.mark.parametrize("name", RECIPES)
def test_figures_are_valid_vega_lite(name: str) -> None:
    convert = pytest.importorskip("vl_convert")
    found = find_recipe(name).findings
    figures = None if found is None else found.FIGURES
    drawings = figures.drawings(committed(name, "small")[0]) if figures is not None else []
    left = figures.files() if figures is not None else ()
    assert [f"figures/{one.name}.vl.json" for one in drawings] == [
        name for name in left if "/" in name
    ]
    for one in drawings:
        drawn = convert.vegalite_to_svg(one.specification())
        assert "<svg" in drawn
        assert "undefined" not in drawn
        assert one.panels[0].title in drawn


def test_a_drift_is_seen(tmp_path: Path) -> None:
    """The checks are no tautology: another form, verdict or number is another result, page or README."""
    found, home = committed("selective-answering", "small")
    recipe = find_recipe("selective-answering")
    assert dict(forms({"form": 7, "tasks": {"a": {"form": 6}}})) == {
        "result": 7,
        "result/tasks/a": 6,
    }
    readme = (home / "README.md").read_text(encoding="utf-8")
    found["models"][0]["imdb"]["accuracy"]["value"] += 0.01
    assert with_tables(readme, recipe.to_markdown(found)) != readme
    for one in found["disagreements"]:
        for pair in one["pairs"]:
            pair["share"] = 0.0
    assert json.loads(json.dumps(recipe.claims(found))) != found["claims"]
