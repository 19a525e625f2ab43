"""Data, work and study of a run: images shifted, networks trained and asked, the error of every score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, final

import numpy as np

from oodometer.arrays import Array
from oodometer.audits.judge import refutes
from oodometer.estimators.threshold import find_threshold, find_threshold_on_grid, total_credit
from oodometer.inference.betting import SampledRows
from oodometer.predictions import Predictions
from oodometer.scores import view_consensus
from oodometer.verbs.estimate import estimate

from ...datasets import Dataset
from ...datasets.image_sets import (
    CIFAR10_CLASSES,
    cifar10,
    cifar10_1,
    find_cifar10_1,
    find_stl10,
    mnist,
    stl10,
)
from ...models import Classifier, ResNet, load_model
from ...models.base import Request
from ...models.image.network import randaugment
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...shifts import IMAGE_SHIFTS, find_image_shift
from ...shifts.training import dominoes, flip_labels, measurement_noise, under_sample
from ..base import Progress, Workspace
from ..kit import tables
from ..kit.publish import facts
from ..kit.sources import Place, load_answers, passing, read_sizes, store_answers
from ..kit.tables import rounded


@final
@dataclass(frozen=True)
class DominoesConfig:
    """How large the part with the dominoes is."""

    correlations: tuple[float, ...] = (0.95, 0.99, 1.0)
    members: int = 4
    epochs: int = 3
    train_rows: int | None = 20_000
    severity: int = 3
    labels: int = 10
    draws: int = 50


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is; sizes.toml has each scale and says what each value means."""

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    compromised_epochs: int = 3
    members: int = 4
    clean_members: int = 8
    clean_ensembles: int = 1
    bases: int = 3
    mild_bases: int = 1
    views: int = 10
    view_rows: int | None = 1_000
    train_rows: int | None = None
    rows: int | None = 5_000
    overlap: bool = True
    kinds: tuple[str, ...] | None = None
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    flipped: float = 0.02
    groups: int = 16
    dominoes: DominoesConfig = field(default_factory=DominoesConfig)
    seed: int = 0


RUN_CONFIGS = read_sizes(__file__, RunConfig)
_NATURAL = {"cifar10.1": (find_cifar10_1, cifar10_1), "stl10": (find_stl10, stl10)}
_LABEL_NOISE = 0.05
_DROPPED = tuple(CIFAR10_CLASSES.index(name) for name in ("automobile", "bird"))
Target = tuple[str, Array, Array]
"""Name, images, labels."""


@final
class RunData:
    """The images of a run, read once and when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.kinds = tuple(IMAGE_SHIFTS) if config.kinds is None else config.kinds
        self.present = tuple(name for name, (find, _) in _NATURAL.items() if find() is not None)

    @cached_property
    def parts(self) -> dict[str, Dataset]:
        """The images to train on, those on which thresholds are fitted (``validation``), and those that are shifted."""
        config, test = self.config, cifar10("test")
        first, second = (test, test) if config.overlap else test.halves(config.seed)
        parts = {"train": cifar10("train").sample(config.train_rows, config.seed)}
        both = {"validation": first, "held": second}
        return parts | {name: part.sample(config.rows, config.seed) for name, part in both.items()}

    def compromised(self, condition: str, flipped: float, member: int) -> Dataset:
        """The training set under a condition; then each member's own share of flipped labels."""
        data, seed = self.parts["train"], self.config.seed
        if condition == "measurement-noise":
            data = measurement_noise(data, seed=seed)
        elif condition == "under-sampling":
            data = under_sample(data, _DROPPED, seed=seed)
        elif condition == "label-noise":
            data = flip_labels(data, _LABEL_NOISE, seed).data
        return flip_labels(data, flipped, seed + 1_000 + member).data if flipped else data

    def corrupted(self, severity: int) -> Iterator[Target]:
        """The held images under every corruption of a severity."""
        images, labels = self.parts["held"].inputs, np.asarray(self.parts["held"].targets)
        for kind in self.kinds:
            yield (
                f"{kind}-{severity}",
                find_image_shift(kind).apply(images, severity, seed=self.config.seed),
                labels,
            )

    def natural(self) -> Iterator[Target]:
        """CIFAR-10.1 and STL10, where they are."""
        for name in self.present:
            data = _NATURAL[name][1]()
            yield name, data.inputs, np.asarray(data.targets)

    def dominoes(self, part: str, correlation: float, *, randomized: bool = False) -> Dataset:
        """MNIST above CIFAR-10: ``train``, ``validation``, or ``target``: STL10, or held images corrupted, below."""
        config, seed, below = self.config.dominoes, self.config.seed, self.parts["validation"]
        if part == "train":
            return dominoes(
                mnist("train"),
                self.parts["train"].sample(config.train_rows, seed),
                correlation,
                seed,
            )
        if part == "target" and "stl10" in self.present:
            below = stl10()
        elif part == "target":
            shifted = self.parts["held"]
            images = shifted.inputs.copy()
            for i, kind in enumerate(self.kinds):
                rows = slice(i, None, len(self.kinds))
                images[rows] = find_image_shift(kind).apply(
                    images[rows], config.severity, seed=seed
                )
            below = Dataset(
                "cifar10-corrupted",
                images,
                shifted.targets,
                source=shifted.source,
                modality="image",
            )
        digits = (
            mnist("test") if self.config.overlap else mnist("test").halves(seed)[part == "target"]
        )
        return dominoes(digits, below, correlation, seed + 1, randomized=randomized)

    def fingerprints(self) -> dict[str, Any]:
        """Rows and fingerprint of each part."""
        return {
            name: {"rows": len(part), "fingerprint": part.fingerprint}
            for name, part in self.parts.items()
        }


MODEL_FILES = ("oodometer_model.json", "pixels.json", "weights.safetensors")
Answers = Mapping[str, Array]
"""``probabilities`` (model, sample, class), ``label`` (sample,), ``views`` (base, view, sample), ``features``."""


def train_member(
    data: Dataset, config: RunConfig, epochs: int, member: int, place: Place, **network: Any
) -> None:
    """Train one network and save it; interrupted, it goes on from its checkpoint."""
    use_threads()
    training = replace(config.training, epochs=epochs, seed=config.seed + member)
    model = ResNet(**{**config.network, **network}, training=training)
    with passing(place.workspace, place.folder) as checkpoint:
        model.fit(
            data.inputs,
            data.targets,
            classes=tuple(range(10)),
            checkpoint=checkpoint,
            progress=place.progress,
        )
        model.save(place.workspace / place.folder)


def train_condition(
    data: RunData, condition: str, flipped: float, epochs: int, number: int, place: Place
) -> None:
    """Train one network on the training images of a condition, of whose labels a share is ``flipped``."""
    rows = data.compromised(condition, flipped, number)
    train_member(rows, data.config, epochs, number, place)


def ask_condition(
    data: RunData,
    condition: str,
    models: Sequence[str],
    part: str,
    policies: Mapping[str, tuple[str, int]],
    place: Place,
) -> None:
    """Ask the networks of a condition about the images of the threshold and the natural sets (``source``), or about the
    corruptions of a severity.
    """
    rows = data.parts["validation"]
    if part == "source":
        first = [("validation", rows.inputs, np.asarray(rows.targets))]
        targets: Iterable[Target] = chain(first, data.natural())
        count = 1 + len(data.present)
    else:
        targets, count = data.corrupted(int(part)), len(data.kinds)
    folders = [f"{condition}/models/{model}" for model in models]
    ask_all(folders, targets, place, count, data.config, policies)


def ask_all(
    folders: Sequence[str],
    targets: Iterable[Target],
    place: Place,
    sets: int,
    config: RunConfig,
    policies: Mapping[str, tuple[str, int]],
    features: bool = False,
) -> None:
    """Ask the networks about every set; an NPZ file each. For each policy of RandAugment the first models, so many, see
    augmented copies of the first images too (of those of the threshold ``views`` has all).
    """
    use_threads()
    models: list[Classifier] = [load_model(place.workspace.folder / folder) for folder in folders]
    for done, (name, images, label) in enumerate(targets, 1):
        answers = [model.ask(images, Request(features=features)) for model in models]
        arrays: dict[str, Any] = {"label": label}
        arrays["probabilities"] = np.stack([answer.distribution for answer in answers]).astype(
            np.float32
        )
        if features:
            arrays["features"] = np.stack([np.asarray(answer.features) for answer in answers])
        # The class that each model gives each copy, shape (model, view, sample)
        for kind, (policy, bases) in policies.items():
            few = images if (name, kind) == ("validation", "views") else images[: config.view_rows]
            arrays[kind] = np.empty((len(models[:bases]), config.views, len(few)), dtype=np.uint8)
            for view in range(config.views):
                copies = randaugment(few, (config.seed, view, 0), policy=policy)
                for i, model in enumerate(models[:bases]):
                    arrays[kind][i, view] = model.logits(copies).argmax(1)
        store_answers(place, name, arrays)
        place.progress(done, sets)


SCORES = ("conf", "lms", "ma")
_STEPS = 1_000  # of the published grid for confidence; smoothness and agreement have one for each value they can take


def scores_of(answers: Answers, base: int) -> dict[str, Array]:
    """Confidence, smoothness and agreement of one model, each of shape (sample,), those that its answers have; of the
    first images also the confidence where smoothness is known (conf-few), and smoothness by our own policy (lms-own).
    """
    predicted, confidence = (
        answers["probabilities"].argmax(-1),
        answers["probabilities"][base].max(-1),
    )
    scores = {"conf": confidence}
    if base < len(answers.get("published", ())):
        scores["lms"] = view_consensus(answers["published"][base])
        scores["conf-few"] = confidence[: len(scores["lms"])]
    if base < len(answers.get("views", ())):
        views = answers["views"][base]
        scores["lms-own"] = (views == predicted[base][: views.shape[1]]).mean(0)
    if len(predicted) > 1:
        scores["ma"] = (np.delete(predicted, base, axis=0) == predicted[base]).mean(0)
    return scores


def errors_of(
    scores: Sequence[Array], right: Sequence[Array], steps: int, groups: int
) -> dict[str, Array]:
    """What thresholds that are fitted on the first set err by on each further set, |estimated - true accuracy|.

    ``exact``: ties share. ``grid``: the first of ``steps`` even thresholds that comes nearest. ``apart``: fitted on one
    half of the images, asked about the other, both ways. ``images``: by the grid, without each of some groups of images
    in all sets, shape (group, set).
    """

    def errors(by: int, fit: Any, ask: Any, grid: int = 0) -> Array:
        on = [
            np.isin(np.arange(len(score)) % by, ask if i else fit) for i, score in enumerate(scores)
        ]
        ordered, count = np.sort(scores[0][on[0]]), float(right[0][on[0]].sum())
        cut = (
            find_threshold_on_grid(ordered, count, (0.0, 1.0), grid)
            if grid
            else find_threshold(ordered, count)
        )
        sets = zip(scores[1:], right[1:], on[1:], strict=True)
        return np.abs(
            [
                total_credit(score[rows], cut) / rows.sum() - true[rows].mean()
                for score, true, rows in sets
            ]
        )

    rest = (np.delete(np.arange(groups), group) for group in range(groups))
    out = {"exact": errors(1, 0, 0), "grid": errors(1, 0, 0, steps)}
    out["images"] = np.stack([errors(groups, remaining, remaining, steps) for remaining in rest])
    return out | {"apart": (errors(2, 0, 1) + errors(2, 1, 0)) / 2}


def agreement_of_subsets(
    classes: Sequence[Array], members: Sequence[Array], labels: Sequence[Array], groups: int
) -> tuple[Array, Array]:
    """Errors of agreement with every set of other models: classes (sample,) of the judged model and (model, sample) of
    the others, for each set of images, the first of which fits the threshold.

    Returns whose agreement counts, (subset, model), and the errors, (2, subset, set, 1 + group): exact, and by a grid
    of one step for each other model; of all images, then without each group, as `errors_of` has them.
    """
    models = len(members[0])
    chosen = np.array(list(product((False, True), repeat=models))[1:])
    cuts, out = list[Any](), []
    for judged, predicted, label in zip(classes, members, labels, strict=True):
        group = np.arange(len(label)) % groups
        votes = (chosen.astype(np.float32) @ (predicted == judged)).astype(np.int64)
        tables = [
            np.bincount(group * (models + 1) + vote, minlength=groups * (models + 1))
            for vote in votes
        ]
        cells = np.reshape(tables, (len(chosen), groups, models + 1))
        sums = np.stack(
            [
                np.bincount(group[judged == label], minlength=groups),
                np.bincount(group, minlength=groups),
            ]
        )
        right, rows = np.concatenate(
            [sums.sum(1, keepdims=True), sums.sum(1, keepdims=True) - sums], 1
        )
        cells = np.concatenate([total := cells.sum(1, keepdims=True), total - cells], 1)
        above = np.zeros((*cells.shape[:2], models + 2))  # samples with so many votes or more
        above[..., :-1] = np.cumsum(cells[..., ::-1], -1)[..., ::-1]
        if not cuts:
            level = (above[..., :-1] >= right[:, None]).sum(-1, keepdims=True) - 1
            missing = right[:, None] - np.take_along_axis(above, level + 1, -1)
            cuts.append((level, missing / np.maximum(np.take_along_axis(cells, level, -1), 1)))
            beyond = np.arange(models) >= chosen.sum(1, keepdims=True)
            away = np.where(beyond[:, None], np.inf, np.abs(above[..., :-2] - right[:, None]))
            cuts.append((away.argmin(-1)[..., None], 1.0))
            continue
        at = [
            np.take_along_axis(above, k + 1, -1) + share * np.take_along_axis(cells, k, -1)
            for k, share in cuts
        ]
        out.append([np.abs(credit[..., 0] - right) / rows for credit in at])
    return chosen, np.stack(out, 2)


def of_all_subsets(
    judged: Sequence[Array], members: Sequence[Array], labels: Sequence[Array], groups: int
) -> Any:
    """`agreement_of_subsets` for each judged model, its classes and those of the members (seed, sample) for each set:
    errors (2, seed, subset, set, 1 + group), and which seeds they rest on, the judged one's too, (seed, subset, seed).
    """
    errors, seeds = [], []
    for seed in range(len(judged[0])):
        rest = [np.delete(classes, seed, 0) for classes in members]
        chosen, error = agreement_of_subsets(
            [classes[seed] for classes in judged], rest, labels, groups
        )
        errors.append(error)
        seeds.append(np.insert(chosen, seed, True, axis=1))
    return np.stack(errors, 1), np.stack(seeds)


def cell_of(
    errors: Array, seeds: Array, models: int, over: Callable[..., Any] = np.mean
) -> dict[str, Any]:
    """The error over all ensembles of so many models, or their spread: by judged model, without each group of images
    (``by_images``), and without each training (``by_training``; of an ensemble of all, one model fewer is left).
    """
    size, trainings = seeds.sum(-1)[0], seeds.shape[-1]
    each, by_training = over(errors[:, size == models], axis=1), []
    for seed in range(trainings if trainings > 2 else 0):
        rest = [(size == min(models, trainings - 1)) & ~on[:, seed] for on in seeds]
        values = [
            over(error[rows, 0], axis=0)
            for error, rows in zip(errors, rest, strict=True)
            if rows.any()
        ]
        by_training.append(float(np.mean(values)))
    return {
        **mean_and_spread(each[:, 0]),
        "by_images": each[:, 1:].mean(0).tolist(),
        "by_training": by_training,
    }


mean_and_spread = partial(tables.mean_and_spread, alone=0.0)
FORM = 4  # raise it where the form of the result changes: then the step is done again
VARIANTS = ("ma", "ma-diverse")


def groups_of(names: Iterable[str]) -> dict[str, list[str]]:
    """Sets by kind of shift: each natural one by itself, corruptions by severity."""
    groups: dict[str, list[str]] = {}
    for name in names:
        severity = name.rpartition("-")[2]
        groups.setdefault(f"severity {severity}" if severity.isdigit() else name, []).append(name)
    return groups


def study_condition(
    data: RunData,
    condition: str,
    names: Mapping[str, Sequence[str]],
    workspace: Workspace,
    progress: Progress,
) -> None:
    """Judge every score of both ensembles on the sets that each has; writes ``<condition>/result.json``."""
    config, sets = data.config, dict[str, dict[str, Answers]]()
    result = {**facts(FORM, config), "condition": condition, "data": data.fingerprints()}
    result |= {
        "present": list(data.present),
        "absent": [name for name in _NATURAL if name not in data.present],
    }
    for done, variant in enumerate(VARIANTS, 1):
        folder = f"{condition}/answers-{variant}"
        sets[variant] = {
            name: load_answers(workspace, folder, name) for name in ("validation", *names[variant])
        }
        result[variant], subsets = _errors(sets[variant], groups_of(names[variant]), config)
        if condition == "clean" and variant == "ma":
            result["sizes_of_ensemble"] = _sizes(subsets[0][0], subsets[1], names["ma"])
        progress(done, len(VARIANTS) + 1)
    result["paired"] = _paired(sets, config)
    if further := [variant for variant in names if variant not in VARIANTS]:
        result["further"] = [
            _further(f"{condition}/answers-{variant}", names[variant], workspace, config)
            for variant in further
        ]
    progress(1, 1)
    workspace.write_json(f"{condition}/result.json", rounded(result))


def _further(
    folder: str, names: Sequence[str], workspace: Workspace, config: RunConfig
) -> dict[str, dict[str, Any]]:
    """By kind of shift, errors of confidence and agreement of an ensemble behind the first."""
    answers = {name: load_answers(workspace, folder, name) for name in ("validation", *names)}
    shifts = _errors(answers, groups_of(names), config)[0]["shifts"]
    return {
        shift: {score: cells[score] for score in ("conf", "ma")} for shift, cells in shifts.items()
    }


def _paired(
    sets: Mapping[str, Mapping[str, Answers]], config: RunConfig
) -> dict[str, dict[str, Any]]:
    """By kind of shift, errors of the same models judged by members of either variant, which differ in the wrong labels
    alone: paired by seed.
    """
    plain, diverse = (sets[variant] for variant in VARIANTS)
    names = [name for name in plain if name in diverse]  # that of the threshold first
    seeds = min(len(of["validation"]["probabilities"]) for of in (plain, diverse))
    paired: dict[str, dict[str, Any]] = defaultdict(dict)
    if seeds < 2:
        return paired
    labels = [plain[name]["label"] for name in names]
    classes = {
        variant: [sets[variant][name]["probabilities"][:seeds].argmax(-1) for name in names]
        for variant in VARIANTS
    }
    for variant in VARIANTS:
        judged = [
            of_all_subsets(classes[of], classes[variant], labels, config.groups) for of in VARIANTS
        ]
        errors = np.concatenate([exact for (exact, _), _ in judged])
        on = np.concatenate([seeds for _, seeds in judged])
        for shift, members in groups_of(names[1:]).items():
            at = [names.index(name) - 1 for name in members]
            paired[shift][variant] = cell_of(errors[:, :, at].mean(2), on, seeds)
    return paired


def _errors(
    sets: Mapping[str, Answers], shifts: Mapping[str, Sequence[str]], config: RunConfig
) -> Any:
    """Accuracy, and mean absolute error of every score, by kind of shift; the first set fits the thresholds. Beside it
    what `of_all_subsets` says of the agreement.
    """
    answers, names = list(sets.values()), list(sets)[1:]
    labels, p = (
        [answer["label"] for answer in answers],
        [answer["probabilities"] for answer in answers],
    )
    classes, models = [each.argmax(-1) for each in p], len(p[0])
    right = [predicted == label for predicted, label in zip(classes, labels, strict=True)]
    by_score = _errors_by_score(answers, right, config)
    ensemble = [each.mean(0).argmax(-1) for each in p]
    agree = [(predicted == mean).mean(0) for predicted, mean in zip(classes, ensemble, strict=True)]
    true = [mean == label for mean, label in zip(ensemble, labels, strict=True)]
    of_mean = errors_of(agree, true, 1, 2)["exact"]
    subsets = of_all_subsets(classes, classes, labels, config.groups) if models > 1 else None
    out: dict[str, Any] = {}
    for shift, members in shifts.items():
        at = [names.index(name) for name in members]
        accuracy = mean_and_spread(np.mean([right[1 + i].mean(1) for i in at], 0))
        out[shift] = {"sets": len(at), "accuracy": accuracy}
        out[shift] |= {score: _score_cells(errors, at) for score, errors in by_score.items()}
        if subsets is not None:
            cell = cell_of(subsets[0][1][:, :, at].mean(2), subsets[1], models)
            out[shift]["ma"]["grid"]["by_training"] = cell["by_training"]
        out[shift]["ensemble"] = {
            "accuracy": float(np.mean([true[1 + i].mean() for i in at])),
            "ma": float(of_mean[at].mean()),
        }
    about = {"models": models, "validation_accuracy": mean_and_spread(right[0].mean(1))}
    return {**about, "ensemble_accuracy": float(true[0].mean()), "shifts": out}, subsets


def _errors_by_score(
    answers: Sequence[Answers], right: Sequence[Array], config: RunConfig
) -> dict[str, list[dict[str, Array]]]:
    """By score and judged model what `errors_of` says of all sets; of smoothness, of their first images."""
    models = len(right[0])
    steps = {
        "conf": _STEPS,
        "conf-few": _STEPS,
        "ma": max(models - 1, 1),
        "lms": config.views,
        "lms-own": config.views,
    }
    errors: dict[str, list[dict[str, Array]]] = defaultdict(list)
    for base in range(models):
        scores = [scores_of(answer, base) for answer in answers]
        for score in scores[0]:
            few = len(right[0][base]) if score in ("conf", "ma") else config.view_rows
            by_set = [by_name[score][:few] for by_name in scores]
            true = [hits[base][: len(values)] for hits, values in zip(right, by_set, strict=True)]
            errors[score].append(errors_of(by_set, true, steps[score], config.groups))
    return errors


def _score_cells(errors: Sequence[Mapping[str, Array]], at: Sequence[int]) -> dict[str, Any]:
    """Errors of a score, in the mean over sets at some places: by judged model, and without each group of images."""
    means = {how: np.array([by[how][..., at].mean(-1) for by in errors]) for how in errors[0]}
    cells: dict[str, Any] = {how: mean_and_spread(means[how]) for how in ("exact", "grid", "apart")}
    cells["grid"]["by_images"] = means["images"].mean(0).tolist()
    return cells


def _sizes(errors: Array, on: Array, names: Sequence[str]) -> dict[str, Any]:
    """Error of agreement by number of models, over all ensembles of that size: over all sets, and by kind of shift
    (Figure 2); ``spreads``: its standard deviation over them, where one is left without a training.
    """
    rows, models = defaultdict(list), len(errors)
    for shift, members in {"all": names, **groups_of(names)}.items():
        shift_errors = errors[:, :, [names.index(name) for name in members]].mean(2)
        for size in range(2, models + 1):
            row: dict[str, Any] = {
                "models": size,
                **cell_of(shift_errors, on, size),
                "spread": None,
            }
            if size < models - 1:
                row["spreads"] = cell_of(shift_errors, on, size, partial(np.std, ddof=1))
                row["spread"] = row["spreads"]["mean"]
            rows[shift].append(row)
    return dict(rows)


TARGETS = ("correlated", "randomized")
_SHAPE = (64, 32)


def folders_of(correlation: float, members: int) -> list[str]:
    """The folders of the networks of a correlation."""
    return [f"dominoes/models/{correlation:g}-{member}" for member in range(members)]


def train_dominoes(
    data: RunData, correlation: float, member: int, workspace: Workspace, progress: Progress
) -> None:
    """Train one network on dominoes of a correlation."""
    place = Place(workspace, folders_of(correlation, member + 1)[-1], progress)
    rows, epochs = data.dominoes("train", correlation), data.config.dominoes.epochs
    train_member(rows, data.config, epochs, member, place, image_size=_SHAPE)


def ask_dominoes(
    data: RunData, correlation: float, workspace: Workspace, progress: Progress
) -> None:
    """Ask the networks of a correlation about the images of the threshold and both targets."""
    config, members = data.config, data.config.dominoes.members
    sets = {"validation": data.dominoes("validation", correlation)}
    sets |= {
        name: data.dominoes("target", correlation, randomized=name == "randomized")
        for name in TARGETS
    }
    targets = ((name, study.inputs, np.asarray(study.targets)) for name, study in sets.items())
    place = Place(workspace, f"dominoes/answers/{correlation:g}", progress)
    policies = {"published": ("timm", members)}
    ask_all(
        folders_of(correlation, members), targets, place, len(sets), config, policies, features=True
    )


def study_dominoes(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Errors of every score, and the alarms, for each correlation; writes ``dominoes/result.json``."""
    config = data.config.dominoes
    result = {
        **facts(FORM, data.config),
        "condition": "dominoes",
        "data": data.fingerprints(),
        "correlations": {},
    }
    result["far"] = (
        "stl10"
        if "stl10" in data.present
        else f"cifar10 test, corrupted, severity {config.severity}"
    )
    for done, correlation in enumerate(config.correlations, 1):
        folder = f"dominoes/answers/{correlation:g}"
        sets = {name: load_answers(workspace, folder, name) for name in ("validation", *TARGETS)}
        errors, _ = _errors(sets, {name: [name] for name in TARGETS}, data.config)
        study: dict[str, Any] = {"validation_accuracy": errors["validation_accuracy"]}
        for name in TARGETS:
            study[name] = {
                **errors["shifts"][name],
                "alarms": _alarms(sets["validation"], sets[name], data),
            }
        result["correlations"][f"{correlation:g}"] = study
        progress(done, len(config.correlations))
    workspace.write_json("dominoes/result.json", rounded(result))


def record_of(
    answers: Answers,
    base: int,
    rows: slice = slice(None),
    *,
    features: bool = False,
    labels: bool = True,
) -> Predictions:
    """One model's answers on some samples as a record; the other models are its members."""
    p = answers["probabilities"][:, rows]
    fields: dict[str, Any] = {"label": answers["label"][rows].tolist()} if labels else {}
    if len(members := np.delete(p, base, axis=0)):
        fields |= {"member_probabilities": members, "members": members.argmax(-1)}
    if features and "features" in answers:
        fields["features"] = answers["features"][base][rows]
    if base < len(answers.get("views", ())):
        fields["views"] = answers["views"][base][:, rows].astype(np.int64)
    return Predictions.from_probabilities(p[base], **fields)


_LEVEL = 0.95


def _alarms(validation: Answers, target: Answers, data: RunData) -> dict[str, Any]:
    """What the headline, the diagnosis and ten labels say, for the first models."""
    config, alarms = data.config.dominoes, dict[str, dict[str, Any]]()
    # The target shows other images than the reference, and such of which views are known
    count = len(validation["label"])
    half = count // 2 if data.config.overlap else 0
    reference_rows, rows_of_target = (
        slice(half, None),
        slice(0, min(data.config.view_rows or count, half or count)),
    )
    for evidence in ("outputs", "members", "features and members"):
        rows, features = [], evidence.startswith("features")
        for base in range(min(data.config.bases, len(validation["probabilities"]))):
            both = [record_of(validation, base, reference_rows, features=features)]
            both.append(record_of(target, base, rows_of_target, features=features, labels=False))
            if evidence == "outputs":
                both = [replace(record, members=None, member_probabilities=None) for record in both]
            estimation = estimate(
                both[0], both[1], level=_LEVEL, seed=data.config.seed, target_accuracies=()
            )
            head, diagnosis = estimation.headline, estimation.diagnosis
            value, lower, upper = head.interval.value, head.interval.lower, head.interval.upper
            truth = (target["probabilities"][base].argmax(-1) == target["label"])[
                rows_of_target
            ].astype(int)
            accuracy, kind = float(truth.mean()), "none" if diagnosis is None else diagnosis.kind
            rng, refuted = np.random.default_rng(data.config.seed + base), 0
            for _ in range(config.draws):  # how often some labels refute it
                indices = np.sort(rng.choice(len(truth), config.labels, replace=False))
                sampled = SampledRows.evenly(indices, truth[indices])
                refuted += (
                    refutes(sampled, np.full(len(truth), value), 0.0, lower, upper, _LEVEL)
                    <= 1 - _LEVEL
                )
            row: dict[str, Any] = {"error": abs(value - accuracy), "width": upper - lower}
            row |= {"inside": lower <= accuracy <= upper, "trusted": head.trust == "high"}
            alarm = estimation.fell is not None and estimation.fell.alarm
            row |= {
                "change_seen": kind != "none",
                "alarm": alarm,
                "refuted": refuted / config.draws,
                "kind": kind,
            }
            rows.append(row)
        kinds = [row.pop("kind") for row in rows]
        alarms[evidence] = {
            name: mean_and_spread([float(row[name]) for row in rows]) for name in rows[0]
        }
        alarms[evidence]["kind"] = kinds
    return alarms
