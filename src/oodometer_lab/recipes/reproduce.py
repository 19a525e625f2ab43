"""Reproduce: a recipe by the name of its paper, followed to its end in a folder."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodometer.arrays import present
from oodometer.engines import ProcessEngine, task_engine
from oodometer.errors import InputError, UsageError, WorkError
from oodometer.kernels import cores
from oodometer.options import verb
from oodometer.runs import Kept, running

from ..verbs.options import ReproduceOptions
from .base import Recipe, StepRun, Workspace
from .steps import Origin, Workers, run_steps, usual_workers

RECIPES = {
    "selective-answering": "selective_answering",
    "correctness-discriminators": "correctness_discriminators",
    "scoring-functions": "scoring_functions",
    "dialogue-shift": "dialogue_shift",
    "few-shot-ranking": "few_shot_ranking",
}
"""Name of the paper -> folder of its recipe, which loads when it is asked for."""


@dataclass(frozen=True)
class Reproduction:
    """What a run left.

    paper : name of the recipe.
    scale : the size at which it was followed, such as "small" or "paper".
    folder : where everything lies.
    steps : each step with what became of it.
    result, words : the result as JSON and as Markdown.
    argv : the command line; None of a call from Python.
    """

    paper: str
    scale: str
    folder: Path
    steps: tuple[StepRun, ...]
    result: Mapping[str, Any]
    words: str
    argv: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from oodometer.version import __version__

        out: dict[str, Any] = {
            "command": "reproduce",
            "version": __version__,
            "argv": self.argv,
            "paper": self.paper,
        }
        out |= {
            "scale": self.scale,
            "folder": str(self.folder),
            "steps": [step.to_dict() for step in self.steps],
        }
        return out | {"result": dict(self.result)}


def find_recipe(paper: str) -> Recipe:
    """The recipe of a paper; `UsageError` lists the known ones."""
    if paper not in RECIPES:
        near = difflib.get_close_matches(paper, RECIPES, n=1)
        hint = f"did you mean {near[0]}" if near else f"known: {', '.join(RECIPES)}"
        raise UsageError(f"unknown paper {paper!r}; {hint}")
    recipe: Recipe = importlib.import_module(f"{__package__}.{RECIPES[paper]}").RECIPE
    return recipe


@verb(ReproduceOptions)
def reproduce(options: ReproduceOptions) -> Reproduction:
    """Follow the recipe of a paper; finished steps of an earlier run in the same folder are kept.

    Raises `UsageError` for an unknown paper, scale, model or task and for an engine or workers that a paper has no use
    for, `InputError` for an ``out`` that is no folder, `WorkError` where a worker died or does not see ``out``.
    """
    paper, scale = options.paper, options.scale
    recipe = find_recipe(paper)
    _check(options, recipe)
    usual = Path("reproduce") / f"{paper}-{scale}"
    folder = _made_folder(usual if options.out is None else Path(options.out))
    workspace = Workspace(folder)
    chosen = tuple(dict.fromkeys((*options.only, *options.tasks)))
    origin = Origin(f"{__package__}.{RECIPES[paper]}", "RECIPE", scale, chosen)
    beside = _workers(options, origin) if recipe.side_by_side else None
    steps = recipe.steps(scale, chosen)
    about = {"verb": "reproduce", "paper": paper, "scale": scale, "out": str(folder.absolute())}
    with running(Kept(folder, about)) as kept:
        runs = run_steps(steps, workspace, options.report, beside, kept)
    result = recipe.result(workspace)
    return Reproduction(paper, scale, folder, tuple(runs), result, recipe.to_markdown(result))


def _check(options: ReproduceOptions, recipe: Recipe) -> None:
    """`UsageError` where the recipe does not know what is asked for."""
    scale = options.scale
    if scale not in recipe.scales:
        raise UsageError(f"unknown scale {scale!r}; expected {' or '.join(recipe.scales)}")
    for what, option, named, choices in (
        ("model", "only", options.only, recipe.models(scale)),
        ("task", "task", options.tasks, recipe.tasks(scale)),
    ):
        unknown = [name for name in named if name not in choices]
        if unknown and not choices:
            raise UsageError(
                f"{options.paper} has no {what}s to choose from, got {unknown[0]!r}; leave --{option} out"
            )
        if unknown:
            raise UsageError(
                f"unknown {what} {unknown[0]!r} at scale {scale}; known: {', '.join(choices)}"
            )
    workers = options.workers if options.workers != 1 else None
    for name, value in (("engine", options.engine), ("workers", workers)):
        if value is not None and not recipe.side_by_side:
            raise UsageError(
                f"{options.paper} does its steps one after another; leave --{name} out"
            )


def _made_folder(folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise InputError(
            "a folder", got="a file", remedy="name another with --out", file=str(folder)
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkError(
            f"cannot make the folder {folder}: {error.strerror}; name another with --out"
        ) from error
    return folder


def _workers(options: ReproduceOptions, origin: Origin) -> Workers | None:
    """What does steps side by side: an engine that is named, else as many processes as asked for; None for one."""
    if options.engine is not None:
        from ..models.torch.library import on_gpu

        engine = present(task_engine(options.engine, options.workers, gpu=on_gpu(None)))
        return Workers(origin, engine)
    count = options.workers or usual_workers()
    return Workers(origin, ProcessEngine(count), max(1, cores() // count)) if count > 1 else None
