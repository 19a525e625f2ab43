"""Publish: a result with its claims and tables into the folder of the run, and from there into that of its recipe.

``python -m oodometer.recipes.kit.publish PAPER RUN``, where RUN is the folder of the run, or a result itself.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...kernels import cores
from ...reports.drawings import Drawing, Panel, render_drawings
from ...store import write_atomic
from ...version import __version__
from ..base import Progress, Recipe, Step, Workspace
from ..reproduce import find_recipe
from .tables import Page


def can_draw() -> bool:
    """Whether the extra `report` is installed."""
    return importlib.util.find_spec("vl_convert") is not None


@dataclass(frozen=True)
class Figures:
    """The drawings of a recipe: its ``page``, what makes the panels of each, and captions that a result changes."""

    page: Page
    panels: Mapping[str, Callable[[Any], list[Panel]]]
    captions: Callable[[Any], Mapping[str, str]] = lambda result: {}

    def files(self, *pages: str) -> tuple[str, ...]:
        """Files that they leave: one a drawing, and where reports can draw ``figures.html`` and more pages."""
        drawn = ("figures.html", *pages) if can_draw() else ()
        return (*(f"figures/{name}.vl.json" for name in self.panels), *drawn)

    def drawings(self, result: Mapping[str, Any]) -> list[Drawing]:
        """All of them."""
        words, captions = self.page.words["figures"], self.captions(result)
        words = {name: {**words[name], "caption": captions.get(name, words[name]["caption"])} for name in self.panels}
        return [Drawing(name, panels=make(result), **words[name]) for name, make in self.panels.items()]

    def draw(self, workspace: Workspace, progress: Progress) -> None:
        """Write each drawing as a Vega-Lite specification, and all of them on one page where reports can draw."""
        drawings = self.drawings(workspace.read_json("result.json"))
        for done, drawing in enumerate(drawings, 1):
            workspace.write_json(f"figures/{drawing.name}.vl.json", drawing.specification())
            progress(done, len(drawings) + 1)
        if can_draw():
            title, lead = (self.page.words["page"][key] for key in ("title", "lead"))
            write_atomic(workspace / "figures.html", render_drawings(title, drawings, lead=lead))


def last_steps(
    recipe: Recipe, combined: Callable[[Workspace], Mapping[str, Any]], studies: Sequence[str]
) -> list[Step]:
    """Tables and figures of what the studies left; always made again: other tasks may have been finished since."""

    def tabulate(workspace: Workspace, progress: Progress) -> None:
        write_result(recipe, workspace, combined(workspace))
        progress(1, 1)

    left, figures = ("result.json", "result.md"), recipe.figures
    return [
        Step("tables", "comparing with the paper", left, tabulate, {}, tuple(studies), 1, True),
        Step("figures", "drawing", figures.files(), figures.draw, {}, ("tables",), 5, True),
    ]


def finished(workspace: Workspace, name: str, form: int) -> dict[str, Any] | None:
    """A result that is there and of this form; what has no form is taken as it is."""
    try:
        result = workspace.read_json(name)
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and result.get("form", form) == form else None


def of_tasks(workspace: Workspace, paper: str, scale: str, form: int, names: Sequence[str]) -> dict[str, Any]:
    """One result of the tasks that have one of this form, in the order given."""
    done = {name: one for name in names if (one := finished(workspace, f"{name}/result.json", form))}
    about = {"form": form, "paper": paper, "scale": scale, "version": __version__, "cores": os.cpu_count()}
    return {**about, "tasks": done, "missing": [name for name in names if name not in done]}


def of_study(workspace: Workspace, paper: str, scale: str) -> dict[str, Any]:
    """The result of a recipe without tasks, which its study left."""
    study: dict[str, Any] = workspace.read_json("study.json")
    return {"form": study["form"], "paper": paper, "scale": scale, "cpus": cores() or os.cpu_count(), **study}


def joined(old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
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


START, END = "<!-- tables: start -->", "<!-- tables: end -->"


def write_result(recipe: Recipe, workspace: Workspace, result: Mapping[str, Any]) -> None:
    """Leave ``result.json`` and ``result.md`` in the folder of a run: the result with its claims, and its tables."""
    judged = {**result, "claims": recipe.claims(result)}
    workspace.write_json("result.json", judged)
    write_atomic(workspace / "result.md", recipe.to_markdown(judged))


def publish(recipe: Recipe, run: Path, home: Path | None = None) -> None:
    """Put a finished result (or the folder of its run) into ``results/<scale>.json`` of a recipe, joined to the one
    that is there, its tables beside it and, for the first scale, into the README of ``home``. `InputError` without.
    """
    home = recipe.home if home is None else home
    path = run / "result.json" if run.is_dir() else run
    # A result that has something in it
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        why = "none" if not recipe.is_finished(result) else ""
    except (OSError, ValueError) as error:
        why = type(error).__name__
    if why:
        remedy = f"run oodometer reproduce {recipe.name} to its end"
        raise InputError("the result of a finished run", got=why, remedy=remedy, file=str(path))
    results, scale = home / "results", result["scale"]
    before = results / f"{scale}.json"
    old = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else None
    result = joined(old, result, recipe.studied(scale)) if "tasks" in result else result
    result = {**result, "claims": recipe.claims(result)}
    page = recipe.to_markdown(result)
    files = {before: written(result, recipe.row_key), results / f"{scale}.md": page}
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
        raise InputError(f"the marks {START} and {END}", got="none", remedy="put them back", file="README.md")
    return f"{head}{START}\n\n{page}\n{END}{tail}"


if __name__ == "__main__":
    publish(find_recipe(sys.argv[1]), Path(sys.argv[2]))
