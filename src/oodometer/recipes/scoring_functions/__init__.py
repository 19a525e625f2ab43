"""Scoring functions: which score of a sample predicts accuracy on shifted images. Trivedi et al. (2023)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets.files import data_folder
from ...errors import UsageError
from ...estimators.threshold import find_threshold, total_credit
from ...models.torch.library import torch
from ...verbs.estimate import estimate
from ...version import __version__
from ..base import Progress, Recipe, Step, Workspace
from ..kit.claims import judged
from ..kit.publish import finished, joined, last_steps, of_tasks
from ..kit.sources import Place, load_answers
from ..kit.tables import rounded
from .data import MODEL_FILES, RUN_CONFIGS, RunConfig, RunData, ask_all, load_members, train_member
from .findings import claims_of
from .markdown import FIGURES, markdown
from .study import (
    FORM,
    TARGETS,
    VARIANTS,
    ask_dominoes,
    folder_of,
    groups_of,
    mean_and_spread,
    record_of,
    study_condition,
    study_dominoes,
    train_dominoes,
)

__all__ = ["RECIPE", "ScoringFunctions"]

_LEVEL = 0.9


def study_estimators(
    data: RunData, folder: str, names: Sequence[str], workspace: Workspace, progress: Progress
) -> None:
    """Error of every estimator by kind of shift, over the first models as bases; writes ``clean/estimators.json``."""
    bases = range(data.config.bases)
    validation = load_answers(workspace, folder, "validation")
    group_of = {name: group for group, members in groups_of(names).items() for name in members}
    errors: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    inside: dict[str, list[float]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    references = [record_of(validation, base) for base in bases]
    for done, name in enumerate(names, 1):
        answers = load_answers(workspace, folder, name)
        for base, reference in zip(bases, references, strict=True):
            truth = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            target = record_of(answers, base, labels=False)
            found = estimate(reference, target, level=_LEVEL, target_accuracies=(), seed=data.config.seed)
            said = {one.method: one.value for one in found.estimates}
            head = found.headline.interval
            for method, value in {"headline": head.value, **said}.items():
                errors[method][group_of[name]][base].append(abs(value - truth))
            inside[group_of[name]].append(float(head.lower <= truth <= head.upper))
            widths[group_of[name]].append(head.upper - head.lower)
        progress(done, len(names))
    told: dict[str, Any] = {
        method: {
            group: mean_and_spread([sum(own) / len(own) for own in by_base.values()])
            for group, by_base in groups.items()
        }
        for method, groups in errors.items()
    }
    intervals = {
        group: {"coverage": sum(inside[group]) / len(inside[group]), "width": sum(widths[group]) / len(widths[group])}
        for group in inside
    }
    result = {"form": FORM, "version": __version__, "level": _LEVEL, "methods": told, "intervals": intervals}
    workspace.write_json("clean/estimators.json", rounded(result))


def combine(workspace: Workspace, scale: str) -> dict[str, Any]:
    """One result of the tasks that are finished."""
    found = of_tasks(workspace, "scoring-functions", scale, FORM, TASKS)
    if "clean" in found["tasks"]:
        more = {name: finished(workspace, f"clean/{name}.json", FORM) for name in ("estimators", "published")}
        found["tasks"]["clean"] |= more
    return found


_FILE = "outputs/cifar10_1_predictions.npz"
_SETS = {"cifar10.1 v4": "v4", "cifar10.1 v6": "v6"}


def published_agreement() -> dict[str, Any] | None:
    """Error of agreement on CIFAR-10.1 for each published model, thresholds from the CIFAR-10 test set.

    Read from ``outputs/cifar10_1_predictions.npz`` in the folder OODOMETER_DATA; None where it is not there.
    """
    folder = data_folder()
    if folder is None or not (folder / _FILE).is_file():
        return None
    with np.load(folder / _FILE, allow_pickle=False) as held:
        found: dict[str, Array] = {name: held[name] for name in held.files}
    classes, labels = found["preds_original"], found["labels_original_test"]
    out: dict[str, Any] = {"models": len(classes), "shifts": {}}
    for name, key in _SETS.items():
        there, truth = found[f"preds_{key}"], found[f"labels_{key}"]
        errors = []
        for base in range(len(classes)):
            others = [i for i in range(len(classes)) if i != base]
            scores = np.sort((classes[others] == classes[base]).mean(0))
            fitted = find_threshold(scores, float((classes[base] == labels).sum()))
            said = total_credit((there[others] == there[base]).mean(0), fitted) / len(truth)
            errors.append(abs(said - float((there[base] == truth).mean())))
        out["shifts"][name] = mean_and_spread(errors)
    return out


TASKS = ("clean", "measurement-noise", "under-sampling", "label-noise", "dominoes")
_TRAIN, _ASK = 45.0, 30.0  # about how many seconds a step takes at the small scale; only the bar depends on it


def steps_of(task: str, config: RunConfig, data: RunData) -> list[Step]:
    """The steps of a task, whose files lie in its own folder."""
    made = _Dominoes(config, data) if task == "dominoes" else _Condition(task, config, data)
    return made.steps()


@final
class _Condition:
    """Two ensembles trained on clean or compromised data: the plain one, and the one with labels flipped by member."""

    def __init__(self, name: str, config: RunConfig, data: RunData) -> None:
        self.name, self.config, self.data = name, config, data
        clean = name == "clean"
        self.epochs = config.training.epochs if clean else config.compromised_epochs
        self.members = {"ma": config.clean_members if clean else config.members, "ma-diverse": config.members}
        near_and_far = (min(config.severities), max(config.severities))
        self.severities = config.severities if clean else tuple(dict.fromkeys(near_and_far))
        self.network = {"network": dict(config.network), "training": config.training, "epochs": self.epochs}

    def steps(self) -> list[Step]:
        """Trainings, answers, and the study."""
        out: list[Step] = []
        asked = []
        for variant in VARIANTS:
            out += [self._train(variant, member) for member in range(self.members[variant])]
            parts = [self._ask(variant, part) for part in ("source", *map(str, self.severities))]
            out += parts
            asked += [one.name for one in parts]
        out.append(self._study(asked))
        if self.name == "clean":
            out += self._beyond()
        return out

    def _folder(self, variant: str, member: int) -> str:
        return f"{self.name}/models/{variant}-{member}"

    def _train(self, variant: str, member: int) -> Step:
        config, folder = self.config, self._folder(variant, member)
        flipped = config.flipped if variant == "ma-diverse" else 0.0

        def work(workspace: Workspace, progress: Progress) -> None:
            data = self.data.compromised(self.name, flipped, member)
            train_member(data, config, self.epochs, member, Place(workspace, folder, progress))

        settings = {**self.network, "condition": self.name, "flipped": flipped, "seed": config.seed + member}
        settings["data"] = self.data.train().fingerprint
        about = f"{self.name}: training model {member + 1} of {self.members[variant]} ({variant})"
        files = tuple(f"{folder}/{one}" for one in MODEL_FILES)
        return Step(f"{self.name}/train-{variant}-{member}", about, files, work, settings, weight=_TRAIN)

    def _names(self, part: str) -> tuple[str, ...]:
        """Sets that a step asks about: those as they are, or the corruptions of a severity."""
        if part == "source":
            return ("validation", *self.data.present())
        return tuple(f"{kind}-{part}" for kind in self.data.kinds)

    def _ask(self, variant: str, part: str) -> Step:
        config, names = self.config, self._names(part)
        folders = [self._folder(variant, member) for member in range(self.members[variant])]
        smooth = variant == "ma"

        def work(workspace: Workspace, progress: Progress) -> None:
            held = self.data.validation
            first = [("validation", held.inputs, np.asarray(held.targets))]
            targets = chain(first, self.data.natural()) if part == "source" else self.data.corrupted(int(part))
            ask_all(
                load_members(workspace, folders),
                targets,
                Place(workspace, f"{self.name}/answers-{variant}", progress),
                names=names,
                bases=config.bases if smooth else 0,
                views=config.views if smooth else 0,
                seed=config.seed,
            )

        files = tuple(f"{self.name}/answers-{variant}/{one}.npz" for one in names)
        needs = tuple(f"{self.name}/train-{variant}-{i}" for i in range(self.members[variant]))
        settings: dict[str, Any] = {"rows": config.rows, "overlap": config.overlap, "seed": config.seed}
        settings |= {"validation": self.data.validation.fingerprint, "held": self.data.held.fingerprint}
        settings |= {"bases": config.bases, "views": config.views} if smooth else {}
        about = f"{self.name}: asking about {part if part == 'source' else f'severity {part}'} ({variant})"
        return Step(f"{self.name}/ask-{variant}-{part}", about, files, work, settings, needs, _ASK)

    def _targets(self, variant: str) -> list[str]:
        found = chain.from_iterable(self._names(part) for part in ("source", *map(str, self.severities)))
        return [one for one in found if one != "validation"]

    def _study(self, asked: Sequence[str]) -> Step:
        names = {variant: self._targets(variant) for variant in VARIANTS}

        work = partial(study_condition, self.data, self.name, names)
        settings = {"form": FORM, "grid": self.config.grid, "subsets": self.config.subsets}
        about = f"{self.name}: judging the scores"
        return Step(f"{self.name}/study", about, (f"{self.name}/result.json",), work, settings, tuple(asked), 5.0)

    def _beyond(self) -> list[Step]:
        """Every estimator on the middle and the ends of the severities, and published models."""
        known = self.config.severities
        chosen = list(dict.fromkeys((known[0], known[len(known) // 2], known[-1])))
        parts = ("source", *map(str, chosen))
        names = [one for part in parts for one in self._names(part) if one != "validation"]
        needs = tuple(f"clean/ask-ma-{part}" for part in parts)

        work = partial(study_estimators, self.data, "clean/answers-ma", names)

        def published(workspace: Workspace, progress: Progress) -> None:
            workspace.write_json("clean/published.json", published_agreement())
            progress(1, 1)

        settings = {"form": FORM, "names": names, "bases": self.config.bases}
        files = ("clean/estimators.json",)
        return [
            Step("clean/estimators", "clean: every estimator", files, work, settings, needs, 200.0),
            Step("clean/published", "published models", ("clean/published.json",), published, {"form": FORM}),
        ]


@final
class _Dominoes:
    """Networks trained on a simple image above a complex one, for each correlation of the two."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data = config, data

    def steps(self) -> list[Step]:
        """Trainings, answers, and the study."""
        out: list[Step] = []
        asked = []
        for correlation in self.config.dominoes.correlations:
            trained = [self._train(correlation, i) for i in range(self.config.dominoes.members)]
            out += [*trained, self._ask(correlation, [one.name for one in trained])]
            asked.append(out[-1].name)

        draws = self.config.dominoes
        settings = {"form": FORM, "grid": self.config.grid, "labels": draws.labels, "draws": draws.draws}
        about, files = "dominoes: judging the scores and the alarms", ("dominoes/result.json",)
        study = partial(study_dominoes, self.data)
        return [*out, Step("dominoes/study", about, files, study, settings, tuple(asked), 120.0)]

    def _train(self, correlation: float, member: int) -> Step:
        config = self.config
        work = partial(train_dominoes, self.data, correlation, member)
        settings = {"network": dict(config.network), "training": config.training, "epochs": config.dominoes.epochs}
        settings |= {"rows": config.dominoes.train_rows, "data": self.data.train().fingerprint}
        settings |= {"correlation": correlation, "seed": config.seed + member}
        files = tuple(f"{folder_of(correlation, member)}/{one}" for one in MODEL_FILES)
        about = f"dominoes: training at correlation {correlation:g}, model {member + 1}"
        return Step(f"dominoes/train-{correlation:g}-{member}", about, files, work, settings, weight=25.0)

    def _ask(self, correlation: float, needs: Sequence[str]) -> Step:
        config = self.config
        work = partial(ask_dominoes, self.data, correlation)
        files = tuple(f"dominoes/answers/{correlation:g}/{one}.npz" for one in ("validation", *TARGETS))
        settings: dict[str, Any] = {"severity": config.dominoes.severity, "views": config.views, "seed": config.seed}
        settings |= {"held": self.data.held.fingerprint, "far": list(self.data.present())}
        about = f"dominoes: asking at correlation {correlation:g}"
        return Step(f"dominoes/ask-{correlation:g}", about, files, work, settings, tuple(needs), 25.0)


@final
class ScoringFunctions(Recipe):
    """The recipe; ``config`` replaces the usual one of each scale, for tests."""

    name = "scoring-functions"
    title = "Which score of a sample predicts accuracy?"
    citation = "trivedi2023"
    claims = staticmethod(lambda result: judged(claims_of(result)))
    to_markdown = staticmethod(markdown)
    row_key = "form"
    side_by_side = True

    def __init__(self, config: Mapping[str, RunConfig] | None = None) -> None:
        self.config = dict(config or RUN_CONFIGS)

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
        out = [step for task in chosen for step in steps_of(task, config, data)]

        return [*out, *last_steps(self, partial(combine, scale=scale), FIGURES, [f"{task}/study" for task in chosen])]

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether there is a finished task."""
        return bool(result["tasks"])

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """The new result with the tasks that it lacks."""
        return super().joined(old, joined(old, new, TASKS))


RECIPE = ScoringFunctions()
