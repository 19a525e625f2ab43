"""Data, work and study of a run: images shifted, networks trained and asked, the error of every score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...audits.judge import refutes
from ...datasets import Dataset
from ...datasets.files import data_folder
from ...datasets.image_sets import CIFAR10_CLASSES, cifar10, cifar10_1, find_cifar10_1, find_stl10, mnist, stl10
from ...estimators.threshold import ScoreThreshold, find_threshold, find_threshold_on_grid, total_credit
from ...inference.betting import SampledRows
from ...models import Classifier, ResNet, load_model
from ...models.base import Request
from ...models.image.network import randaugment
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...shifts import IMAGE_SHIFTS, find_image_shift
from ...shifts.training import dominoes, flip_labels, measurement_noise, under_sample
from ...verbs.estimate import estimate
from ...version import __version__
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
    bases: int = 3
    views: int = 10
    train_rows: int | None = None
    validation_rows: int | None = None
    rows: int | None = 1_000
    overlap: bool = False
    kinds: tuple[str, ...] | None = None
    severities: tuple[int, ...] = (1, 2, 3, 4, 5)
    flipped: float = 0.02
    grid: int = 100
    subsets: int = 10
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
        rows = len(first) if config.validation_rows is None else config.validation_rows
        train, validation = cifar10("train").sample(config.train_rows, config.seed), first.sample(rows, config.seed)
        return {"train": train, "validation": validation, "held": second.sample(config.rows, config.seed + 1)}

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
            yield f"{kind}-{severity}", find_image_shift(kind).apply(images, severity, seed=self.config.seed), labels

    def natural(self) -> Iterator[Target]:
        """CIFAR-10.1 and STL10, where they are."""
        for name in self.present:
            data = _NATURAL[name][1]()
            yield name, data.inputs, np.asarray(data.targets)

    def dominoes(self, part: str, correlation: float, *, randomized: bool = False) -> Dataset:
        """MNIST above CIFAR-10: ``train``, ``validation``, or ``target``: STL10, or held images corrupted, below."""
        config, seed, below = self.config.dominoes, self.config.seed, self.parts["validation"]
        if part == "train":
            return dominoes(mnist("train"), self.parts["train"].sample(config.train_rows, seed), correlation, seed)
        if part == "target" and "stl10" in self.present:
            below = stl10()
        elif part == "target":
            shifted = self.parts["held"]
            images = shifted.inputs.copy()
            for i, kind in enumerate(self.kinds):
                rows = slice(i, None, len(self.kinds))
                images[rows] = find_image_shift(kind).apply(images[rows], config.severity, seed=seed)
            below = Dataset("cifar10-corrupted", images, shifted.targets, source=shifted.source, modality="image")
        digits = mnist("test").halves(seed)[part == "target"]
        return dominoes(digits, below, correlation, seed + 1, randomized=randomized)

    def fingerprints(self) -> dict[str, Any]:
        """Rows and fingerprint of each part."""
        return {name: {"rows": len(part), "fingerprint": part.fingerprint} for name, part in self.parts.items()}


MODEL_FILES = ("oodometer_model.json", "pixels.json", "weights.safetensors")
Answers = Mapping[str, Array]
"""``probabilities`` (model, sample, class), ``label`` (sample,), ``views`` (base, view, sample), ``features``."""


def train_member(data: Dataset, config: RunConfig, epochs: int, member: int, place: Place, **network: Any) -> None:
    """Train one network and save it; interrupted, it goes on from its checkpoint."""
    use_threads()
    training = replace(config.training, epochs=epochs, seed=config.seed + member)
    model = ResNet(**{**config.network, **network}, training=training)
    with passing(place.workspace, place.folder) as checkpoint:
        how: dict[str, Any] = {"checkpoint": checkpoint, "progress": place.progress}
        model.fit(data.inputs, data.targets, classes=tuple(range(10)), **how)
        model.save(place.workspace / place.folder)


def ask_all(
    folders: Sequence[str],
    targets: Iterable[Target],
    place: Place,
    sets: int,
    *,
    bases: int = 0,
    views: int = 0,
    features: bool = False,
    seed: int = 0,
) -> None:
    """Ask the networks about every set; an NPZ file each. ``bases`` of them see ``views`` copies of each image too."""
    use_threads()
    models: list[Classifier] = [load_model(place.workspace.folder / folder) for folder in folders]
    for done, (name, images, label) in enumerate(targets, 1):
        answers = [model.ask(images, Request(features=features)) for model in models]
        arrays: dict[str, Any] = {"label": label}
        arrays["probabilities"] = np.stack([answer.distribution for answer in answers]).astype(np.float32)
        if features:
            arrays["features"] = np.stack([np.asarray(answer.features) for answer in answers])
        if views:  # the class that each model gives each copy of each image, shape (model, view, sample)
            arrays["views"] = np.empty((len(models[:bases]), views, len(images)), dtype=np.uint8)
            for view in range(views):
                copies = randaugment(images, (seed, view, 0))
                for i, model in enumerate(models[:bases]):
                    arrays["views"][i, view] = model.logits(copies).argmax(1)
        store_answers(place, name, arrays)
        place.progress(done, sets)


SCORES = ("conf", "lms", "ma")


def scores_of(answers: Answers, base: int) -> dict[str, Array]:
    """Confidence, smoothness and agreement of one model, each of shape (sample,), those that its answers have."""
    predicted = answers["probabilities"].argmax(-1)
    scores = {"conf": answers["probabilities"][base].max(-1)}
    if "views" in answers and base < len(answers["views"]):
        scores["lms"] = (answers["views"][base] == predicted[base]).mean(0)
    if len(predicted) > 1:
        scores["ma"] = (np.delete(predicted, base, axis=0) == predicted[base]).mean(0)
    return scores


@final
class Errors:
    """Thresholds of every score of every model, exact and on the grid, and what they err by on a set."""

    def __init__(self, validation: Answers, grid: int) -> None:
        self.models, self._grid = len(validation["probabilities"]), grid
        right = validation["probabilities"].argmax(-1) == validation["label"]
        scores = [scores_of(validation, base) for base in range(self.models)]
        self._fitted = [{k: self._fit(v, own) for k, v in by.items()} for by, own in zip(scores, right, strict=True)]
        predicted, agree = _with_mean(validation)
        self._mean = self._fit(agree, predicted == validation["label"])

    def _fit(self, scores: Array, right: Array) -> dict[str, ScoreThreshold]:
        ordered, count = np.sort(scores), float(right.sum())
        on_grid = find_threshold_on_grid(ordered, count, (0.0, 1.0), self._grid)
        return {"exact": find_threshold(ordered, count), "grid": on_grid}

    def of(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """For each model its accuracy and the error of every score."""
        for base, fitted in enumerate(self._fitted):
            accuracy = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            scores = scores_of(answers, base)
            yield {"accuracy": accuracy, **{name: _apart(scores[name], fitted[name], accuracy) for name in fitted}}

    def ensemble(self, answers: Answers) -> dict[str, float]:
        """Accuracy of the mean of all models, and the error of the agreement of the models with it."""
        predicted, agree = _with_mean(answers)
        accuracy = float((predicted == answers["label"]).mean())
        return {"accuracy": accuracy, "ma": _apart(agree, self._mean, accuracy)["exact"]}


def _apart(scores: Array, thresholds: Mapping[str, ScoreThreshold], accuracy: float) -> dict[str, float]:
    return {how: float(total_credit(scores, cut) / len(scores) - accuracy) for how, cut in thresholds.items()}


def _with_mean(answers: Answers) -> tuple[Array, Array]:
    """The classes of the mean of all models, and the share of the models that give them, each of shape (sample,)."""
    predicted = answers["probabilities"].mean(0).argmax(-1)
    return predicted, (answers["probabilities"].argmax(-1) == predicted).mean(0)


def agreement_of_subsets(
    validation: Answers, targets: Sequence[Answers], sizes: Sequence[int], draws: int, seed: int
) -> dict[int, Array]:
    """Mean absolute error of agreement over the targets by size of the ensemble, shape (model, draw)."""
    rng, sets = np.random.default_rng(seed), [validation, *targets]
    classes = [study["probabilities"].argmax(-1) for study in sets]
    models = len(classes[0])
    by_size = {size: np.zeros((models, draws if size < models else 1)) for size in sizes}
    for base in range(models):
        same = [(np.delete(label, base, axis=0) == label[base]).astype(np.float32) for label in classes]
        right = [label[base] == answers["label"] for label, answers in zip(classes, sets, strict=True)]
        for size, errors in by_size.items():
            for draw in range(errors.shape[1]):
                chosen = rng.choice(models - 1, size - 1, replace=False)
                fitted = find_threshold(np.sort(same[0][chosen].mean(0)), float(right[0].sum()))
                both = zip(same[1:], right[1:], strict=True)
                apart = [total_credit(a[chosen].mean(0), fitted) / len(truth) - truth.mean() for a, truth in both]
                errors[base, draw] = np.abs(apart).mean()
    return by_size


mean_and_spread = partial(tables.mean_and_spread, alone=0.0)
FORM = 2  # raise it where the form of the result changes: then the step is done again
VARIANTS = ("ma", "ma-diverse")


def groups_of(names: Iterable[str]) -> dict[str, list[str]]:
    """Sets by kind of shift: each natural one by itself, corruptions by severity."""
    groups: dict[str, list[str]] = {}
    for name in names:
        severity = name.rpartition("-")[2]
        groups.setdefault(f"severity {severity}" if severity.isdigit() else name, []).append(name)
    return groups


def study_condition(
    data: RunData, condition: str, names: Sequence[str], workspace: Workspace, progress: Progress
) -> None:
    """Judge every score of both ensembles on the sets of some names; writes ``<condition>/result.json``."""
    config = data.config
    result = {**facts(FORM, config), "condition": condition, "data": data.fingerprints()}
    result |= {"present": list(data.present), "absent": [name for name in _NATURAL if name not in data.present]}
    for done, variant in enumerate(VARIANTS, 1):
        folder = f"{condition}/answers-{variant}"
        validation = load_answers(workspace, folder, "validation")
        targets = {name: load_answers(workspace, folder, name) for name in names}
        result[variant] = _errors(validation, targets, config.grid)
        if condition == "clean" and variant == "ma":
            result["sizes_of_ensemble"] = _sizes(validation, targets, config.subsets, config.seed)
            result["disjoint"] = _disjoint(validation, targets, config.grid)
        progress(done, len(VARIANTS))
    workspace.write_json(f"{condition}/result.json", rounded(result))


def _of_rows(rows: Sequence[Sequence[Mapping[str, Any]]], score: str, how: str) -> dict[str, Any]:
    """Mean absolute error of a score over the sets of each row, which are those of a model."""
    return mean_and_spread([float(np.mean([abs(cell[score][how]) for cell in row])) for row in rows])


def _errors(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Accuracy, and mean absolute error of every score, by kind of shift."""
    errors, label, shifts = Errors(validation, grid), validation["label"], {}
    each = {name: list(errors.of(target)) for name, target in targets.items()}
    whole = {name: errors.ensemble(target) for name, target in targets.items()}
    for group, members in groups_of(targets).items():
        rows = [[each[name][base] for name in members] for base in range(errors.models)]
        accuracy = mean_and_spread([float(np.mean([cell["accuracy"] for cell in row])) for row in rows])
        shifts[group] = {"sets": len(members), "accuracy": accuracy}
        for score in SCORES:
            if having := [row for row in rows if score in row[0]]:
                shifts[group][score] = {how: _of_rows(having, score, how) for how in ("exact", "grid")}
        ensemble = {key: float(np.mean([abs(whole[name][key]) for name in members])) for key in ("accuracy", "ma")}
        shifts[group]["ensemble"] = ensemble
    p = validation["probabilities"]
    accuracy, of_mean = mean_and_spread((p.argmax(-1) == label).mean(1)), float((p.mean(0).argmax(-1) == label).mean())
    about = {"models": errors.models, "validation_accuracy": accuracy, "ensemble_accuracy": of_mean}
    return {**about, "shifts": shifts}


def _sizes(validation: Answers, targets: Mapping[str, Answers], draws: int, seed: int) -> dict[str, Any]:
    """Error of agreement by number of models: over all sets, and over the strongest shift alone (Figure 2)."""
    sizes, rows = list(range(2, len(validation["probabilities"]) + 1)), defaultdict(list)
    for name, members in {"all": list(targets), **groups_of(targets)}.items():
        by_size = agreement_of_subsets(validation, [targets[member] for member in members], sizes, draws, seed)
        for size, errors in by_size.items():
            row = {"models": size, "by_model": errors.mean(1).tolist(), "spread": None, "spread_by_model": None}
            if errors.shape[1] > 1:
                spreads = errors.std(axis=1, ddof=1)
                row |= {"spread": float(spreads.mean()), "spread_by_model": spreads.tolist()}
            rows[name].append(row)
    return dict(rows)


def _disjoint(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Three ensembles that share no model: their errors are independent, given the images."""
    each = len(validation["probabilities"]) // 3
    if each < 2:
        return {}

    def some(answers: Answers, start: int) -> Answers:
        return {"label": answers["label"], "probabilities": answers["probabilities"][start : start + each]}

    shifts = {}
    for group, members in groups_of(targets).items():
        rows = []
        for start in range(0, 3 * each, each):
            errors = Errors(some(validation, start), grid)
            rows.append([next(errors.of(some(targets[name], start))) for name in members])
        shifts[group] = {score: _of_rows(rows, score, "exact") for score in ("conf", "ma")}
    return {"models": each, "shifts": shifts}


TARGETS = ("correlated", "randomized")
_SIDES = (64, 32)


def folders_of(correlation: float, members: int) -> list[str]:
    """The folders of the networks of a correlation."""
    return [f"dominoes/models/{correlation:g}-{member}" for member in range(members)]


def train_dominoes(data: RunData, correlation: float, member: int, workspace: Workspace, progress: Progress) -> None:
    """Train one network on dominoes of a correlation."""
    place = Place(workspace, folders_of(correlation, member + 1)[-1], progress)
    rows, epochs = data.dominoes("train", correlation), data.config.dominoes.epochs
    train_member(rows, data.config, epochs, member, place, image_size=_SIDES)


def ask_dominoes(data: RunData, correlation: float, workspace: Workspace, progress: Progress) -> None:
    """Ask the networks of a correlation about the images of the threshold and both targets."""
    config, members = data.config, data.config.dominoes.members
    sets = {"validation": data.dominoes("validation", correlation)}
    sets |= {name: data.dominoes("target", correlation, randomized=name == "randomized") for name in TARGETS}
    targets = ((name, study.inputs, np.asarray(study.targets)) for name, study in sets.items())
    place = Place(workspace, f"dominoes/answers/{correlation:g}", progress)
    how: dict[str, Any] = {"bases": members, "views": config.views, "features": True, "seed": config.seed}
    ask_all(folders_of(correlation, members), targets, place, len(sets), **how)


def study_dominoes(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Errors of every score, and the alarms, for each correlation; writes ``dominoes/result.json``."""
    config = data.config.dominoes
    result = {**facts(FORM, data.config), "condition": "dominoes", "data": data.fingerprints(), "correlations": {}}
    result["far"] = "stl10" if "stl10" in data.present else f"cifar10 test, corrupted, severity {config.severity}"
    for done, correlation in enumerate(config.correlations, 1):
        folder = f"dominoes/answers/{correlation:g}"
        sets = {name: load_answers(workspace, folder, name) for name in ("validation", *TARGETS)}
        validation = sets["validation"]
        errors = Errors(validation, data.config.grid)
        right = validation["probabilities"].argmax(-1) == validation["label"]
        study: dict[str, Any] = {"validation_accuracy": mean_and_spread(right.mean(1))}
        for name in TARGETS:
            rows = list(errors.of(sets[name]))
            study[name] = {"accuracy": mean_and_spread([row["accuracy"] for row in rows])}
            for score in SCORES:
                by_how = {how: [abs(row[score][how]) for row in rows] for how in ("exact", "grid")}
                study[name][score] = {how: mean_and_spread(values) for how, values in by_how.items()}
            study[name]["alarms"] = _alarms(validation, sets[name], data)
        result["correlations"][f"{correlation:g}"] = study
        progress(done, len(config.correlations))
    workspace.write_json("dominoes/result.json", rounded(result))


def record_of(answers: Answers, base: int, *, features: bool = False, labels: bool = True) -> Predictions:
    """One model's answers as a record; the other models are its members."""
    others = np.delete(answers["probabilities"], base, axis=0)
    fields: dict[str, Any] = {"label": answers["label"].tolist()} if labels else {}
    if len(others):
        fields |= {"member_probabilities": others, "members": others.argmax(-1)}
    if features and "features" in answers:
        fields["features"] = answers["features"][base]
    if "views" in answers and base < len(answers["views"]):
        fields["views"] = answers["views"][base].astype(np.int64)
    return Predictions.from_probabilities(answers["probabilities"][base], **fields)


_LEVEL = 0.95


def _alarms(validation: Answers, target: Answers, data: RunData) -> dict[str, Any]:
    """What the headline, the diagnosis and ten labels say, for the first models."""
    config, alarms = data.config.dominoes, dict[str, dict[str, Any]]()
    for given in ("outputs", "members", "features and members"):
        rows, features = [], given.startswith("features")
        for base in range(min(data.config.bases, len(validation["probabilities"]))):
            both = [record_of(validation, base, features=features)]
            both.append(record_of(target, base, features=features, labels=False))
            if given == "outputs":
                both = [replace(record, members=None, member_probabilities=None) for record in both]
            estimation = estimate(both[0], both[1], level=_LEVEL, seed=data.config.seed, target_accuracies=())
            head, diagnosis = estimation.headline, estimation.diagnosis
            value, lower, upper = head.interval.value, head.interval.lower, head.interval.upper
            truth = (target["probabilities"][base].argmax(-1) == target["label"]).astype(int)
            accuracy, kind = float(truth.mean()), "none" if diagnosis is None else diagnosis.kind
            rng, refuted = np.random.default_rng(data.config.seed + base), 0
            for _ in range(config.draws):  # how often some labels refute it
                drawn = np.sort(rng.choice(len(truth), config.labels, replace=False))
                sampled = SampledRows.evenly(drawn, truth[drawn])
                refuted += refutes(sampled, np.full(len(truth), value), 0.0, lower, upper, _LEVEL) <= 1 - _LEVEL
            row: dict[str, Any] = {"error": abs(value - accuracy), "width": upper - lower}
            row |= {"inside": lower <= accuracy <= upper, "trusted": head.trust == "high"}
            alarm = estimation.fell is not None and estimation.fell.alarm
            row |= {"change_seen": kind != "none", "alarm": alarm, "refuted": refuted / config.draws, "kind": kind}
            rows.append(row)
        kinds = [row.pop("kind") for row in rows]
        alarms[given] = {name: mean_and_spread([float(row[name]) for row in rows]) for name in rows[0]}
        alarms[given]["kind"] = kinds
    return alarms


_ESTIMATED = 0.9


def study_estimators(
    data: RunData, folder: str, names: Sequence[str], workspace: Workspace, progress: Progress
) -> None:
    """Error of every estimator by kind of shift, over the first models as bases; writes ``clean/estimators.json``."""
    bases, level = range(data.config.bases), _ESTIMATED
    validation = load_answers(workspace, folder, "validation")
    group_of = {name: group for group, members in groups_of(names).items() for name in members}
    errors: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    inside, widths = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    references = [record_of(validation, base) for base in bases]
    for done, name in enumerate(names, 1):
        answers, group = load_answers(workspace, folder, name), group_of[name]
        for base, reference in zip(bases, references, strict=True):
            truth = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            target = record_of(answers, base, labels=False)
            estimation = estimate(reference, target, level=level, target_accuracies=(), seed=data.config.seed)
            head = estimation.headline.interval
            for method, value in {"headline": head.value, **{e.method: e.value for e in estimation.estimates}}.items():
                errors[method, group][base].append(abs(value - truth))
            inside[group].append(float(head.lower <= truth <= head.upper))
            widths[group].append(head.upper - head.lower)
        progress(done, len(names))
    methods: dict[str, dict[str, Any]] = defaultdict(dict)
    for (method, group), by_base in errors.items():
        methods[method][group] = mean_and_spread([sum(own) / len(own) for own in by_base.values()])
    sides = {"coverage": inside, "width": widths}
    intervals = {group: {side: sum(by[group]) / len(by[group]) for side, by in sides.items()} for group in inside}
    result = {"form": FORM, "version": __version__, "level": level, "methods": methods, "intervals": intervals}
    workspace.write_json("clean/estimators.json", rounded(result))


def published_agreement() -> dict[str, Any] | None:
    """Error of agreement on CIFAR-10.1 of each published model (outputs/), thresholds from CIFAR-10, or None."""
    folder = data_folder()
    path = None if folder is None else folder / "outputs/cifar10_1_predictions.npz"
    if path is None or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Array] = {name: file[name] for name in file.files}
    classes, labels = arrays["preds_original"], arrays["labels_original_test"]
    shifts = {}
    for key in ("v4", "v6"):
        shifted, truth = arrays[f"preds_{key}"], arrays[f"labels_{key}"]
        errors = []
        for base in range(len(classes)):
            scores, scored = ((np.delete(c, base, axis=0) == c[base]).mean(0) for c in (classes, shifted))
            fitted = find_threshold(np.sort(scores), float((classes[base] == labels).sum()))
            errors.append(abs(total_credit(scored, fitted) / len(truth) - float((shifted[base] == truth).mean())))
        shifts[f"cifar10.1 {key}"] = mean_and_spread(errors)
    return {"models": len(classes), "shifts": shifts}
