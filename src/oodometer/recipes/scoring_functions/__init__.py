"""Scoring functions: which score of a sample predicts accuracy on shifted images. Trivedi et al. (2023)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, final

import numpy as np

from ...errors import UsageError
from ...models.torch.library import torch
from ..base import Progress, Recipe, Step, Workspace
from ..kit.publish import last_steps, of_tasks
from ..kit.sources import Place
from . import findings as found
from . import study as work
from .study import FORM, MODEL_FILES, RUN_CONFIGS, VARIANTS, RunConfig, RunData

__all__ = ["RECIPE", "ScoringFunctions"]


TASKS = ("clean", "measurement-noise", "under-sampling", "label-noise", "dominoes")
_TRAIN, _ASK = (
    45.0,
    30.0,
)  # about how many seconds a step takes at the small scale; only the bar depends on it


def steps_of_condition(name: str, config: RunConfig, data: RunData) -> list[Step]:
    """Two ensembles trained on clean or compromised data, asked and judged; of the second, labels are flipped."""
    clean = name == "clean"
    epochs = config.training.epochs if clean else config.compromised_epochs
    members = {
        "ma": config.clean_members if clean else config.members,
        "ma-diverse": config.members,
    }
    ends = dict.fromkeys((min(config.severities), max(config.severities)))
    source = {"source": ("validation", *data.present)}
    by_grade = {
        str(grade): tuple(f"{kind}-{grade}" for kind in data.kinds) for grade in config.severities
    }
    few = source | {str(grade): by_grade[str(grade)] for grade in ends}
    sets_of = {"ma": source | by_grade if clean else few, "ma-diverse": few}
    targets = {
        v: [t for some in sets.values() for t in some if t != "validation"]
        for v, sets in sets_of.items()
    }

    def train(variant: str, member: int) -> Step:
        flipped, folder = (
            config.flipped if variant == "ma-diverse" else 0.0,
            f"{name}/models/{variant}-{member}",
        )

        def fit(workspace: Workspace, progress: Progress) -> None:
            rows = data.compromised(name, flipped, member)
            work.train_member(rows, config, epochs, member, Place(workspace, folder, progress))

        settings = {
            "network": dict(config.network),
            "training": config.training,
            "epochs": epochs,
            "condition": name,
        }
        settings |= {
            "flipped": flipped,
            "seed": config.seed + member,
            "data": data.parts["train"].fingerprint,
        }
        about = f"{name}: training model {member + 1} of {members[variant]} ({variant})"
        files = tuple(f"{folder}/{file}" for file in MODEL_FILES)
        return Step(f"{name}/train-{variant}-{member}", about, files, fit, settings, weight=_TRAIN)

    def ask(variant: str, part: str) -> Step:
        folder, models, sets = (
            f"{name}/answers-{variant}",
            range(members[variant]),
            sets_of[variant],
        )
        policies = {"published": ("timm", config.bases)} if variant == "ma" else {}
        policies |= (
            {"views": ("increasing", config.mild_bases)} if variant == "ma" and clean else {}
        )

        def answer(workspace: Workspace, progress: Progress) -> None:
            rows = data.parts["validation"]
            first = [("validation", rows.inputs, np.asarray(rows.targets))]
            asked = chain(first, data.natural()) if part == "source" else data.corrupted(int(part))
            folders, place = (
                [f"{name}/models/{variant}-{i}" for i in models],
                Place(workspace, folder, progress),
            )
            work.ask_all(folders, asked, place, len(sets[part]), config, policies)

        marks = {name: data.parts[name].fingerprint for name in ("validation", "held")}
        settings: dict[str, Any] = {
            "rows": config.rows,
            "overlap": config.overlap,
            "seed": config.seed,
            **marks,
        }
        settings |= {"policies": policies, "views": config.views, "view_rows": config.view_rows}
        about = (
            f"{name}: asking about {part if part == 'source' else f'severity {part}'} ({variant})"
        )
        files = tuple(f"{folder}/{study}.npz" for study in sets[part])
        needs = tuple(f"{name}/train-{variant}-{i}" for i in models)
        return Step(f"{name}/ask-{variant}-{part}", about, files, answer, settings, needs, _ASK)

    steps: list[Step] = []
    for variant in VARIANTS:
        steps += [train(variant, i) for i in range(members[variant])]
        steps += [ask(variant, part) for part in sets_of[variant]]
    asked = tuple(
        f"{name}/ask-{variant}-{part}" for variant in VARIANTS for part in sets_of[variant]
    )
    settings: dict[str, Any] = {
        "form": FORM,
        "groups": config.groups,
        "view_rows": config.view_rows,
    }
    judge, files = partial(work.study_condition, data, name, targets), (f"{name}/result.json",)
    steps.append(
        Step(f"{name}/study", f"{name}: judging the scores", files, judge, settings, asked, 5.0)
    )
    return steps


def steps_of_dominoes(config: RunConfig, data: RunData) -> list[Step]:
    """Networks trained on a simple image above a complex one, for each correlation of the two, asked and judged."""
    steps, asked, own = [], [], config.dominoes
    for correlation in own.correlations:
        trained = []
        for member, folder in enumerate(work.folders_of(correlation, own.members)):
            settings: dict[str, Any] = {
                "network": dict(config.network),
                "training": config.training,
            }
            settings |= {
                "rows": own.train_rows,
                "data": data.parts["train"].fingerprint,
                "epochs": own.epochs,
            }
            settings |= {"correlation": correlation, "seed": config.seed + member}
            files = tuple(f"{folder}/{file}" for file in MODEL_FILES)
            about = f"dominoes: training at correlation {correlation:g}, model {member + 1}"
            trained.append(f"dominoes/train-{correlation:g}-{member}")
            train = partial(work.train_dominoes, data, correlation, member)
            steps.append(Step(trained[-1], about, files, train, settings, weight=25.0))
        files = tuple(
            f"dominoes/answers/{correlation:g}/{target}.npz"
            for target in ("validation", *work.TARGETS)
        )
        settings = {
            "severity": own.severity,
            "views": config.views,
            "view_rows": config.view_rows,
            "seed": config.seed,
        }
        settings |= {"held": data.parts["held"].fingerprint, "far": list(data.present)}
        about, ask = (
            f"dominoes: asking at correlation {correlation:g}",
            partial(work.ask_dominoes, data, correlation),
        )
        asked.append(f"dominoes/ask-{correlation:g}")
        steps.append(Step(asked[-1], about, files, ask, settings, tuple(trained), 25.0))
    settings = {"form": FORM, "groups": config.groups, "labels": own.labels, "draws": own.draws}
    about, files = "dominoes: judging the scores and the alarms", ("dominoes/result.json",)
    study = partial(work.study_dominoes, data)
    return [*steps, Step("dominoes/study", about, files, study, settings, tuple(asked), 120.0)]


@final
class ScoringFunctions(Recipe):
    """The recipe."""

    name = "scoring-functions"
    title = "Which score of a sample predicts accuracy?"
    citation = "trivedi2023"
    findings, form, configs = found, FORM, RUN_CONFIGS
    side_by_side = True

    def tasks(self, scale: str) -> tuple[str, ...]:
        """The conditions of the training data, and the dominoes."""
        return TASKS

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Every task by itself, then the tables over all that are finished; with ``only`` no other tasks."""
        torch()  # a missing extra is said before anything is read
        chosen = [task for task in TASKS if not only or task in only]
        if not chosen:
            raise UsageError(f"expected tasks among {', '.join(TASKS)}, got {', '.join(only)}")
        config = self.config[scale]
        data = RunData(config)
        out: list[Step] = []
        for task in chosen:
            out += (
                steps_of_dominoes(config, data)
                if task == "dominoes"
                else steps_of_condition(task, config, data)
            )
        combined = partial(of_tasks, paper=self.name, scale=scale, form=FORM, names=TASKS)
        return [*out, *last_steps(self, combined, [f"{task}/study" for task in chosen])]


RECIPE = ScoringFunctions()
