"""Publish: a result with its claims and tables into the folder of the run, and from there into that of its recipe.

``python -m oodometer.recipes.kit.publish PAPER RUN``, where RUN is the folder of the run, or a result itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...store import write_atomic
from ..base import Recipe, Workspace
from ..reproduce import find_recipe

START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def write_result(recipe: Recipe, workspace: Workspace, result: Mapping[str, Any]) -> None:
    """Leave ``result.json`` and ``result.md`` in the folder of a run: the result with its claims, and its tables."""
    judged = {**result, "claims": recipe.claims(result)}
    workspace.write_json("result.json", judged)
    write_atomic(workspace / "result.md", recipe.to_markdown(judged))


def publish(recipe: Recipe, run: Path, home: Path | None = None) -> None:
    """Put a result into ``results/<scale>.json`` of a recipe, its tables beside it and into the README.

    Parameters
    ----------
    recipe :
        Whose result it is; brings it to today's form, joins it to the one that is there and checks its claims again,
        by today's rules.
    run :
        The folder of a finished run, or a result itself.
    home :
        The folder with ``results/`` and ``README.md``, by default that of the recipe.

    The README shows the first scale. Each file is there whole or not at all. Raises `InputError` where there is no
    finished run, or where the README has no place for tables.
    """
    home = recipe.home if home is None else home
    path = run / "result.json" if run.is_dir() else run
    result = _read(recipe, path)
    results, scale = home / "results", result["scale"]
    before = results / f"{scale}.json"
    old = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else None
    result = recipe.joined(old, recipe.renewed(result))
    page = recipe.to_markdown(result)
    files = {before: written(result, recipe.row_key), results / f"{scale}.md": page}
    if scale == recipe.scales[0]:
        readme = home / "README.md"
        files[readme] = with_tables(readme.read_text(encoding="utf-8"), page)
    results.mkdir(exist_ok=True)
    for file, text in files.items():
        write_atomic(file, text)


def _read(recipe: Recipe, path: Path) -> dict[str, Any]:
    """A result that has something in it."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        why = "none" if not recipe.is_finished(found) else ""
    except (OSError, ValueError) as error:
        why = type(error).__name__
    if why:
        raise InputError(
            "the result of a finished run",
            got=why,
            remedy=f"run oodometer reproduce {recipe.name} to its end",
            file=str(path),
        )
    return found


def written(result: Any, row_key: str) -> str:
    """A result as compact JSON, in which every object that begins with ``row_key`` stands on a line of its own.

    >>> print(written({"form": 1, "rows": [{"name": "a"}, {"name": "b"}]}, "name"), end="")
    {"form":1,"rows":[
    {"name":"a"},
    {"name":"b"}]}
    """
    text = json.dumps(result, separators=(",", ":"), ensure_ascii=False)
    return text.replace(f'{{"{row_key}":', f'\n{{"{row_key}":').lstrip() + "\n"


def with_tables(readme: str, page: str) -> str:
    """A README with a page of tables between its two marks; `InputError` where the marks are not there."""
    head, start, rest = readme.partition(START)
    _, end, tail = rest.partition(END)
    if not (start and end):
        raise InputError(f"the marks {START} and {END}", got="none", remedy="put them back", file="README.md")
    return f"{head}{START}\n\n{page}\n{END}{tail}"


if __name__ == "__main__":
    publish(find_recipe(sys.argv[1]), Path(sys.argv[2]))
