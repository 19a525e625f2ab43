"""Publish a finished result: from the folder of a run into that of its recipe.

    python scripts/publish.py PAPER RUN

RUN is the folder of the run, or a result itself. The result, with its claims, goes into ``results/`` of the recipe, its
tables beside it and, for the first scale, into the README.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oodometer.errors import InputError
from oodometer.store import write_atomic
from oodometer_lab.recipes import Recipe, find_recipe

ROW_KEYS = {
    "few-shot-ranking": "suite",
    "dialogue-shift": "condition",
    "selective-answering": "name",
}
"""First key of the objects that stand on a line of their own in a published result; "form" where there are tasks."""
START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def joined(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """The new result with what it lacks of an old one of the same form: tasks, in the order of ``names``, and their
    trainings from other seeds.
    """
    before = old if old is not None and old["form"] == new["form"] else {}
    both = {**before.get("tasks", {}), **new["tasks"]}
    out = {**new, "tasks": {name: both[name] for name in names if name in both}}
    out["missing"] = [name for name in names if name not in both]
    if "replicates" in new:
        sides = (before.get("replicates", {}), new["replicates"])
        runs = {name: {**sides[0].get(name, {}), **sides[1].get(name, {})} for name in out["tasks"]}
        out["replicates"] = {name: of_task for name, of_task in runs.items() if of_task}
    return out


def publish(recipe: Recipe, run: Path, home: Path | None = None) -> None:
    """Put a finished result (or the folder of its run) into ``results/<scale>.json`` of a recipe, joined to the one
    that is there, its tables beside it and, for the first scale, into the README of ``home``. `InputError` without.
    """
    home = recipe.home if home is None else home
    path = run / "result.json" if run.is_dir() else run
    # A result that has something in it
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        why = "" if result.get("tasks", True) or result.get("replicates") else "none"
    except (OSError, ValueError) as error:
        why = type(error).__name__
    if why:
        remedy = f"run oodometer reproduce {recipe.name} to its end"
        raise InputError("the result of a finished run", got=why, remedy=remedy, file=str(path))
    results, scale = home / "results", result["scale"]
    before = results / f"{scale}.json"
    old = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else None
    tasks = [
        name for name in recipe.tasks(scale) if "-seed-" not in name
    ]  # but for trainings from other seeds
    result = joined(old, result, tasks) if "tasks" in result else result
    result = {**result, "claims": recipe.claims(result)}
    page = recipe.to_markdown(result)
    files = {
        before: written(result, ROW_KEYS.get(recipe.name, "form")),
        results / f"{scale}.md": page,
    }
    if scale == recipe.scales[0]:
        readme = home / "README.md"
        files[readme] = with_tables(readme.read_text(encoding="utf-8"), page)
    results.mkdir(exist_ok=True)
    for file, text in files.items():
        write_atomic(file, text)


def written(result: Any, row_key: str) -> str:
    """A result as compact JSON, in which every object that begins with ``row_key`` stands on a line of its own."""
    text = json.dumps(result, separators=(",", ":"), ensure_ascii=False)
    return text.replace(f'{{"{row_key}":', f'\n{{"{row_key}":').lstrip() + "\n"


def with_tables(readme: str, page: str) -> str:
    """A README with a page of tables between its two marks; `InputError` where the marks are not there."""
    head, start, rest = readme.partition(START)
    _, end, tail = rest.partition(END)
    if not (start and end):
        raise InputError(
            f"the marks {START} and {END}", got="none", remedy="put them back", file="README.md"
        )
    return f"{head}{START}\n\n{page}\n{END}{tail}"


if __name__ == "__main__":
    publish(find_recipe(sys.argv[1]), Path(sys.argv[2]))
