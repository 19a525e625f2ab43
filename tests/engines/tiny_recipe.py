"""A recipe of small trainings with dropout, found by name on any worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

from oodometer_lab.models import load_model
from oodometer_lab.recipes.base import Progress, Recipe, Step, Workspace

SEEDS = (0, 1, 2)


def train(seed: int, workspace: Workspace, progress: Progress) -> None:
    from every_task import films, network  # beside this file, where only those who run it look

    network(seed).fit(films()).save(workspace / f"model-{seed}")


def ask(seed: int, workspace: Workspace, progress: Progress) -> None:
    from every_task import films

    found = load_model(workspace.folder / f"model-{seed}").ask(films().inputs)
    workspace.write_json(f"answers-{seed}.json", found.distribution.tolist())


def join(workspace: Workspace, progress: Progress) -> None:
    workspace.write_json(
        "all.json", [workspace.read_json(f"answers-{seed}.json") for seed in SEEDS]
    )


@final
class Tiny(Recipe):
    """Each model is trained and asked, then all answers are put together."""

    name, title, citation = "tiny", "Tiny", "none"
    side_by_side = True

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        out = []
        for seed in SEEDS:
            model, answers = (f"model-{seed}/weights.safetensors",), (f"answers-{seed}.json",)
            out.append(Step(f"train-{seed}", f"training {seed}", model, partial(train, seed)))
            out.append(
                Step(
                    f"ask-{seed}",
                    f"asking {seed}",
                    answers,
                    partial(ask, seed),
                    needs=(f"train-{seed}",),
                )
            )
        needs = tuple(f"ask-{seed}" for seed in SEEDS)
        return [*out, Step("join", "putting together", ("all.json",), join, needs=needs)]

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        return ""


RECIPE = Tiny()
