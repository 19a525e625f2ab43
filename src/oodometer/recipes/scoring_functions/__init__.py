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
from .findings import FIGURES, claims_of, markdown
from .study import (
    FORM,
    MODEL_FILES,
    RUN_CONFIGS,
    TARGETS,
    VARIANTS,
    RunConfig,
    RunData,
    ask_all,
    ask_dominoes,
    folder_of,
    groups_of,
    load_members,
    mean_and_spread,
    record_of,
    study_condition,
    study_dominoes,
    train_dominoes,
    train_member,
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


def steps_of_condition(name: str, config: RunConfig, data: RunData) -> list[Step]:
    """Two ensembles trained on clean or compromised data, asked and judged.

    The plain one, and the one whose labels are flipped member by member.
    """
    clean = name == "clean"
    epochs = config.training.epochs if clean else config.compromised_epochs
    members = {"ma": config.clean_members if clean else config.members, "ma-diverse": config.members}
    near_and_far = (min(config.severities), max(config.severities))
    severities = config.severities if clean else tuple(dict.fromkeys(near_and_far))
    sets = {"source": ("validation", *data.present())}
    sets |= {str(one): tuple(f"{kind}-{one}" for kind in data.kinds) for one in severities}
    targets = [one for some in sets.values() for one in some if one != "validation"]

    def train(variant: str, member: int) -> Step:
        flipped, folder = config.flipped if variant == "ma-diverse" else 0.0, f"{name}/models/{variant}-{member}"

        def work(workspace: Workspace, progress: Progress) -> None:
            rows = data.compromised(name, flipped, member)
            train_member(rows, config, epochs, member, Place(workspace, folder, progress))

        settings = {"network": dict(config.network), "training": config.training, "epochs": epochs, "condition": name}
        settings |= {"flipped": flipped, "seed": config.seed + member, "data": data.train().fingerprint}
        about = f"{name}: training model {member + 1} of {members[variant]} ({variant})"
        files = tuple(f"{folder}/{one}" for one in MODEL_FILES)
        return Step(f"{name}/train-{variant}-{member}", about, files, work, settings, weight=_TRAIN)

    def ask(variant: str, part: str) -> Step:
        names, smooth, folder = sets[part], variant == "ma", f"{name}/answers-{variant}"
        models = [f"{name}/models/{variant}-{member}" for member in range(members[variant])]

        def work(workspace: Workspace, progress: Progress) -> None:
            held = data.validation
            first = [("validation", held.inputs, np.asarray(held.targets))]
            asked = chain(first, data.natural()) if part == "source" else data.corrupted(int(part))
            views = {"bases": config.bases, "views": config.views} if smooth else {}
            place = Place(workspace, folder, progress)
            ask_all(load_members(workspace, models), asked, place, names=names, seed=config.seed, **views)

        needs = tuple(f"{name}/train-{variant}-{i}" for i in range(members[variant]))
        settings: dict[str, Any] = {"rows": config.rows, "overlap": config.overlap, "seed": config.seed}
        settings |= {"validation": data.validation.fingerprint, "held": data.held.fingerprint}
        settings |= {"bases": config.bases, "views": config.views} if smooth else {}
        about = f"{name}: asking about {part if part == 'source' else f'severity {part}'} ({variant})"
        files = tuple(f"{folder}/{one}.npz" for one in names)
        return Step(f"{name}/ask-{variant}-{part}", about, files, work, settings, needs, _ASK)

    out: list[Step] = []
    for variant in VARIANTS:
        out += [*(train(variant, one) for one in range(members[variant])), *(ask(variant, part) for part in sets)]
    asked = tuple(f"{name}/ask-{variant}-{part}" for variant in VARIANTS for part in sets)
    judge = partial(study_condition, data, name, dict.fromkeys(VARIANTS, targets))
    settings: dict[str, Any] = {"form": FORM, "grid": config.grid, "subsets": config.subsets}
    files = (f"{name}/result.json",)
    out.append(Step(f"{name}/study", f"{name}: judging the scores", files, judge, settings, asked, 5.0))
    if not clean:
        return out
    # Every estimator on the middle and the ends of the severities, and published models
    parts = ("source", *dict.fromkeys(str(severities[i]) for i in (0, len(severities) // 2, -1)))
    names = [one for part in parts for one in sets[part] if one != "validation"]

    def published(workspace: Workspace, progress: Progress) -> None:
        workspace.write_json("clean/published.json", published_agreement())
        progress(1, 1)

    settings, needs = {"form": FORM, "names": names, "bases": config.bases}, tuple(f"clean/ask-ma-{o}" for o in parts)
    work, files = partial(study_estimators, data, "clean/answers-ma", names), ("clean/estimators.json",)
    out.append(Step("clean/estimators", "clean: every estimator", files, work, settings, needs, 200.0))
    files, about = ("clean/published.json",), "published models"
    return [*out, Step("clean/published", about, files, published, {"form": FORM})]


def steps_of_dominoes(config: RunConfig, data: RunData) -> list[Step]:
    """Networks trained on a simple image above a complex one, for each correlation of the two, asked and judged."""
    out, asked, own = [], [], config.dominoes
    for correlation in own.correlations:
        trained = []
        for member in range(own.members):
            settings: dict[str, Any] = {"network": dict(config.network), "training": config.training}
            settings |= {"rows": own.train_rows, "data": data.train().fingerprint, "epochs": own.epochs}
            settings |= {"correlation": correlation, "seed": config.seed + member}
            files = tuple(f"{folder_of(correlation, member)}/{one}" for one in MODEL_FILES)
            about = f"dominoes: training at correlation {correlation:g}, model {member + 1}"
            trained.append(f"dominoes/train-{correlation:g}-{member}")
            work = partial(train_dominoes, data, correlation, member)
            out.append(Step(trained[-1], about, files, work, settings, weight=25.0))
        files = tuple(f"dominoes/answers/{correlation:g}/{one}.npz" for one in ("validation", *TARGETS))
        settings = {"severity": own.severity, "views": config.views, "seed": config.seed}
        settings |= {"held": data.held.fingerprint, "far": list(data.present())}
        about, ask = f"dominoes: asking at correlation {correlation:g}", partial(ask_dominoes, data, correlation)
        asked.append(f"dominoes/ask-{correlation:g}")
        out.append(Step(asked[-1], about, files, ask, settings, tuple(trained), 25.0))
    settings = {"form": FORM, "grid": config.grid, "labels": own.labels, "draws": own.draws}
    about, files = "dominoes: judging the scores and the alarms", ("dominoes/result.json",)
    study = partial(study_dominoes, data)
    return [*out, Step("dominoes/study", about, files, study, settings, tuple(asked), 120.0)]


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
        out: list[Step] = []
        for task in chosen:
            dominoes = task == "dominoes"
            out += steps_of_dominoes(config, data) if dominoes else steps_of_condition(task, config, data)
        return [*out, *last_steps(self, partial(combine, scale=scale), FIGURES, [f"{task}/study" for task in chosen])]

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether there is a finished task."""
        return bool(result["tasks"])

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """The new result with the tasks that it lacks."""
        return super().joined(old, joined(old, new, TASKS))


RECIPE = ScoringFunctions()
