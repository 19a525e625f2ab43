"""Publish: a result with its claims, tables and figures into the folder of a run."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from oodometer.kernels import cores
from oodometer.reports.drawings import Drawing, Panel, render_drawings
from oodometer.store import write_atomic
from oodometer.version import __version__

from ..base import Progress, Recipe, Step, Workspace
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
        rendered = ("figures.html", *pages) if can_draw() else ()
        return (*(f"figures/{name}.vl.json" for name in self.panels), *rendered)

    def drawings(self, result: Mapping[str, Any]) -> list[Drawing]:
        """All of them."""
        words, captions = self.page.words["figures"], self.captions(result)
        words = {
            name: {**words[name], "caption": captions.get(name, words[name]["caption"])}
            for name in self.panels
        }
        return [
            Drawing(name, panels=make(result), **words[name]) for name, make in self.panels.items()
        ]

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
    figures = recipe.findings.FIGURES
    return [
        Step(
            "tables",
            "comparing with the paper",
            files=("result.json", "result.md"),
            work=partial(_tabulate, recipe, combined),
            needs=tuple(studies),
            weight=1,
            always=True,
        ),
        Step(
            "figures",
            "drawing",
            files=figures.files(),
            work=figures.draw,
            needs=("tables",),
            weight=5,
            always=True,
        ),
    ]


def _tabulate(
    recipe: Recipe,
    combined: Callable[[Workspace], Mapping[str, Any]],
    workspace: Workspace,
    progress: Progress,
) -> None:
    write_result(recipe, workspace, combined(workspace))
    progress(1, 1)


def finished(workspace: Workspace, name: str, form: int) -> dict[str, Any] | None:
    """A result that is there and of this form; what has no form is taken as it is."""
    try:
        result = workspace.read_json(name)
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and result.get("form", form) == form else None


def facts(form: int, config: Any) -> dict[str, Any]:
    """What every study says first: the form of its result, versions, and how large the run was."""
    return {
        "form": form,
        "version": __version__,
        "python": platform.python_version(),
        "sizes": asdict(config),
    }


def of_tasks(
    workspace: Workspace, paper: str, scale: str, form: int, names: Sequence[str]
) -> dict[str, Any]:
    """One result of the tasks that have one of this form, in the order given."""
    done = {
        name: result
        for name in names
        if (result := finished(workspace, f"{name}/result.json", form))
    }
    about = {
        "form": form,
        "paper": paper,
        "scale": scale,
        "version": __version__,
        "cores": os.cpu_count(),
    }
    return {**about, "tasks": done, "missing": [name for name in names if name not in done]}


def of_study(workspace: Workspace, paper: str, scale: str) -> dict[str, Any]:
    """The result of a recipe without tasks, which its study left."""
    study: dict[str, Any] = workspace.read_json("study.json")
    return {
        "form": study["form"],
        "paper": paper,
        "scale": scale,
        "cpus": cores() or os.cpu_count(),
        **study,
    }


def write_result(recipe: Recipe, workspace: Workspace, result: Mapping[str, Any]) -> None:
    """Leave ``result.json`` and ``result.md`` in the folder of a run: the result with its claims, and its tables."""
    judged = {**result, "claims": recipe.claims(result)}
    workspace.write_json("result.json", judged)
    write_atomic(workspace / "result.md", recipe.to_markdown(judged))
