"""Drift: what every recipe has committed is what its code would commit today: form, claims, tables, README."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from oodometer.recipes import RECIPES, find_recipe
from oodometer.recipes.kit.publish import with_tables, written

ROOMS = {
    "selective-answering": "tables",
    "correctness-discriminators": "study",
    "scoring-functions": "study",
    "dialogue-shift": "study",
    "few-shot-ranking": "study",
}
"""Where each recipe says which form its results have."""
COMMITTED = [
    (name, path.stem) for name in RECIPES for path in sorted((find_recipe(name).home / "results").glob("*.json"))
]


def form_of(name: str) -> int:
    """The form of what the code would leave today."""
    form: int = import_module(f"oodometer.recipes.{RECIPES[name]}.{ROOMS[name]}").FORM
    return form


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


def test_every_recipe_is_looked_at() -> None:
    assert set(ROOMS) == set(RECIPES) == {name for name, _ in COMMITTED}


@pytest.mark.parametrize(("name", "scale"), COMMITTED)
def test_the_committed_form_is_the_codes(name: str, scale: str) -> None:
    """A result of another scale may be older, where its page says so; that of the usual scale may not."""
    found, home = committed(name, scale)
    wanted = form_of(name)
    others = {form for _, form in forms(found)} - {wanted}
    if scale == find_recipe(name).scales[0]:
        assert not others
    elif others:
        assert others == {found["form"]}
        page = (home / "results" / f"{scale}.md").read_text(encoding="utf-8")
        assert f"Left by form {found['form']} of this recipe, which is at form {wanted} today" in page
    assert found["paper"] == name
    assert found["scale"] == scale


@pytest.mark.parametrize(("name", "scale"), COMMITTED)
def test_committed_claims_and_tables_are_the_codes(name: str, scale: str) -> None:
    """Verdicts, page, README and the file itself follow from the committed numbers by today's code, to the byte."""
    found, home = committed(name, scale)
    recipe = find_recipe(name)
    assert json.loads(json.dumps(recipe.claims(found))) == found["claims"]
    page = recipe.to_markdown(found)
    assert (home / "results" / f"{scale}.md").read_text(encoding="utf-8") == page
    assert (home / "results" / f"{scale}.json").read_text(encoding="utf-8") == written(found, recipe.row_key)
    if scale == recipe.scales[0]:
        readme = (home / "README.md").read_text(encoding="utf-8")
        assert with_tables(readme, page) == readme


@pytest.mark.parametrize("name", RECIPES)
def test_figures_are_valid_vega_lite(name: str) -> None:
    convert = pytest.importorskip("vl_convert")
    figures = import_module(f"oodometer.recipes.{RECIPES[name]}.findings").FIGURES
    drawings = figures.drawings(committed(name, "small")[0])
    assert [f"figures/{one.name}.vl.json" for one in drawings] == [one for one in figures.files() if "/" in one]
    for one in drawings:
        drawn = convert.vegalite_to_svg(one.specification())
        assert "<svg" in drawn
        assert "undefined" not in drawn
        assert one.panels[0].title in drawn


def test_a_drift_is_seen(tmp_path: Path) -> None:
    """The checks are no tautology: another form, verdict or number is another result, page or README."""
    found, home = committed("selective-answering", "small")
    recipe = find_recipe("selective-answering")
    assert dict(forms({"form": 7, "tasks": {"a": {"form": 6}}})) == {"result": 7, "result/tasks/a": 6}
    readme = (home / "README.md").read_text(encoding="utf-8")
    found["models"][0]["imdb"]["accuracy"]["value"] += 0.01
    assert with_tables(readme, recipe.to_markdown(found)) != readme
    for one in found["disagreements"]:
        for pair in one["pairs"]:
            pair["share"] = 0.0
    assert json.loads(json.dumps(recipe.claims(found))) != found["claims"]
