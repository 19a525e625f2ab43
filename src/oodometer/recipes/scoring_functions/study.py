"""The study of a condition: the error of every score by kind of shift, the size of the ensemble, its mean."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...audits.betting import SampledRows
from ...audits.judge import refutes
from ...datasets import Dataset
from ...datasets.image_sets import CIFAR10_CLASSES, cifar10, cifar10_1, find_cifar10_1, find_stl10, mnist, stl10
from ...estimators.threshold import find_threshold, find_threshold_on_grid, total_credit
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
from ..kit.sources import Place, load_answers, passing, store_answers
from ..kit.tables import rounded


@final
@dataclass(frozen=True)
class DominoesConfig:
    """How large the part with the dominoes is.

    correlations : of the simple half with the class, in training. members : models for each. epochs, train_rows : of a
    training. severity : of the corruptions that stand in for STL10. draws : samples of ``labels`` labelled rows.
    """

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
    """How large a run is.

    Parameters
    ----------
    network : arguments of `ResNet`.
    training : how a model is trained on clean data; ``compromised_epochs`` on compromised data.
    members : models of an ensemble; ``clean_members`` of the plain one on clean data (Figure 2).
    bases : models whose smoothness (LMS) is measured, each over ``views`` augmented copies of every image.
    train_rows, validation_rows, rows : images for training, for the threshold, and of each shifted set; None for all.
    overlap : whether the shifted sets show the very images that the threshold was fitted on, as in the paper.
    kinds, severities : of the corruptions.
    flipped : share of the labels that each member of the more diverse ensemble (MA_0.02) learns wrong.
    grid : steps of the grid on which the threshold is looked for, as the published code does; the exact one stands
        beside it.
    subsets : draws of other members for each size of an ensemble. dominoes : the part on simplicity bias.
    seed : of every draw; member i trains with seed + i.
    """

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


_SGD = TrainingConfig(
    batch_size=128,
    learning_rate=0.05,
    weight_decay=5e-4,
    warmup=0.1,
    clip=None,
    optimizer="sgd",
    schedule="cosine",
    precision="bfloat16",
)
# float32: without instructions for bfloat16 a processor computes in it seven times more slowly.
RUN_CONFIGS = {
    "small": RunConfig(
        network={"depth": 8, "width": 16, "stem_stride": 2},
        training=replace(_SGD, epochs=3, learning_rate=0.2, precision="float32"),
        dominoes=DominoesConfig(epochs=2),
    ),
    "paper": RunConfig(
        network={"depth": 18, "stages": 4, "width": 64},
        training=replace(_SGD, epochs=200, warmup=0.0),
        compromised_epochs=250,
        members=10,
        clean_members=10,
        rows=None,
        bases=10,
        dominoes=DominoesConfig(members=3, epochs=20, train_rows=None),
    ),
}


NATURAL = ("cifar10.1", "stl10")
_LABEL_NOISE = 0.05
_DROPPED = tuple(CIFAR10_CLASSES.index(one) for one in ("automobile", "bird"))

Target = tuple[str, Array, Array]
"""Name, images, labels."""


@final
class RunData:
    """The images of a run, read once and when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.train = cache(lambda: cifar10("train").sample(config.train_rows, config.seed))
        self._halves = cache(self._split)

    def _split(self) -> tuple[Dataset, Dataset]:
        """The images of the threshold, and those that are shifted."""
        test, config = cifar10("test"), self.config
        first, second = (test, test) if config.overlap else test.halves(config.seed)
        rows = config.validation_rows if config.validation_rows is not None else len(first)
        return first.sample(rows, config.seed), second.sample(config.rows, config.seed + 1)

    @property
    def validation(self) -> Dataset:
        """The labelled images on which thresholds are fitted."""
        return self._halves()[0]

    @property
    def held(self) -> Dataset:
        """The images that are shifted."""
        return self._halves()[1]

    def compromised(self, condition: str, flipped: float, member: int) -> Dataset:
        """The training set under a condition; then each member's own share of flipped labels."""
        data, seed = self.train(), self.config.seed
        if condition == "measurement-noise":
            data = measurement_noise(data, seed=seed)
        elif condition == "under-sampling":
            data = under_sample(data, _DROPPED, seed=seed)
        elif condition == "label-noise":
            data = flip_labels(data, _LABEL_NOISE, seed).data
        return flip_labels(data, flipped, seed + 1_000 + member).data if flipped else data

    @property
    def kinds(self) -> tuple[str, ...]:
        """Corruptions, in the order of CIFAR-10-C."""
        return tuple(IMAGE_SHIFTS) if self.config.kinds is None else self.config.kinds

    def corrupted(self, severity: int) -> Iterator[Target]:
        """The held images under every corruption of a severity."""
        labels, held = np.asarray(self.held.targets), self.held.inputs
        for kind in self.kinds:
            yield f"{kind}-{severity}", find_image_shift(kind).apply(held, severity, seed=self.config.seed), labels

    def natural(self) -> Iterator[Target]:
        """CIFAR-10.1 and STL10, where they are."""
        if find_cifar10_1() is not None:
            yield "cifar10.1", *_both(cifar10_1())
        if find_stl10() is not None:
            yield "stl10", *_both(stl10())

    @staticmethod
    def present() -> tuple[str, ...]:
        """Which of the two natural shifts are at hand."""
        found = {"cifar10.1": find_cifar10_1(), "stl10": find_stl10()}
        return tuple(name for name in NATURAL if found[name] is not None)

    def dominoes(self, part: str, correlation: float, *, randomized: bool = False) -> Dataset:
        """MNIST above CIFAR-10: ``train``, ``validation``, or ``target``, whose lower half is shifted."""
        config, seed = self.config.dominoes, self.config.seed
        if part == "train":
            return dominoes(mnist("train"), self.train().sample(config.train_rows, seed), correlation, seed)
        digits = mnist("test").halves(seed)[part == "target"]
        below = self._far() if part == "target" else self.validation
        return dominoes(digits, below, correlation, seed + 1, randomized=randomized)

    def _far(self) -> Dataset:
        """STL10 where it is, else the held images, each under one of the corruptions in turn."""
        if find_stl10() is not None:
            return stl10()
        held = self.held
        images = held.inputs.copy()
        for place, kind in enumerate(self.kinds):
            rows = slice(place, None, len(self.kinds))
            shift = find_image_shift(kind)
            images[rows] = shift.apply(images[rows], self.config.dominoes.severity, seed=self.config.seed)
        return Dataset("cifar10-corrupted", images, held.targets, source=held.source, modality="image")

    def fingerprints(self) -> dict[str, Any]:
        """Rows and fingerprint of each part."""
        parts = {"train": self.train(), "validation": self.validation, "held": self.held}
        return {name: {"rows": len(one), "fingerprint": one.fingerprint} for name, one in parts.items()}


def _both(data: Dataset) -> tuple[Array, Array]:
    return data.inputs, np.asarray(data.targets)


MODEL_FILES = ("oodometer_model.json", "pixels.json", "weights.safetensors")

Answers = Mapping[str, Array]
"""``probabilities`` (model, sample, class), ``label`` (sample,), ``views`` (base, view, sample), ``features``."""


def train_member(data: Dataset, config: RunConfig, epochs: int, member: int, place: Place, **network: Any) -> None:
    """Train one network and save it; interrupted, it goes on from its checkpoint."""
    use_threads()
    training = replace(config.training, epochs=epochs, seed=config.seed + member)
    model = ResNet(**{**config.network, **network}, training=training)
    with passing(place.workspace, place.folder) as checkpoint:
        classes = tuple(range(10))
        model.fit(data.inputs, data.targets, classes=classes, checkpoint=checkpoint, progress=place.progress)
        model.save(place.workspace / place.folder)


def load_members(workspace: Workspace, folders: Sequence[str]) -> list[Classifier]:
    """The trained networks."""
    use_threads()
    return [load_model(workspace.folder / one) for one in folders]


def ask_all(
    models: Sequence[Classifier],
    targets: Iterable[Target],
    place: Place,
    *,
    names: Sequence[str],
    bases: int = 0,
    views: int = 0,
    features: int = 0,
    seed: int = 0,
) -> None:
    """Ask every model about every set; an NPZ file each.

    ``bases``: how many of the models see ``views`` copies of each image too, the same copies for all of them.
    ``features``: of how many of the models what the last layer reads is kept.
    """
    for done, (name, images, label) in enumerate(targets, 1):
        found: dict[str, Any] = {"label": label}
        said = [model.ask(images, Request(features=i < features)) for i, model in enumerate(models)]
        found["probabilities"] = np.stack([one.distribution for one in said]).astype(np.float32)
        if features:
            found["features"] = np.stack([np.asarray(one.features) for one in said[:features]])
        if views:
            found["views"] = _views(models[:bases], images, views, seed)
        store_answers(place, name, found)
        place.progress(done, len(names))


def _views(models: Sequence[Classifier], images: Array, views: int, seed: int) -> Array:
    """The class that each model gives each copy of each image, uint8, shape (model, view, sample)."""
    out = np.empty((len(models), views, len(images)), dtype=np.uint8)
    for view in range(views):
        copies = randaugment(images, (seed, view, 0))
        for place, model in enumerate(models):
            out[place, view] = model.logits(copies).argmax(1)
    return out


SCORES = ("conf", "lms", "ma")


def scores_of(answers: Answers, base: int, models: Sequence[int] | None = None) -> dict[str, Array]:
    """Confidence, smoothness and agreement of one model, each of shape (sample,), those that its answers have.

    ``models`` are the others that it is compared with, by default all others.
    """
    predicted = answers["probabilities"].argmax(-1)
    out = {"conf": answers["probabilities"][base].max(-1)}
    if "views" in answers and base < len(answers["views"]):
        out["lms"] = (answers["views"][base] == predicted[base]).mean(0)
    others = [i for i in range(len(predicted)) if i != base] if models is None else list(models)
    if others:
        out["ma"] = (predicted[others] == predicted[base]).mean(0)
    return out


class _Mechanism:
    """The threshold of one score, fitted on the images for it: the exact one, and that of the grid."""

    def __init__(self, scores: Array, correct: Array, grid: int) -> None:
        ordered, count = np.sort(scores), float(correct.sum())
        whole = find_threshold_on_grid(ordered, count, (0.0, 1.0), grid)
        self._thresholds = {"exact": find_threshold(ordered, count), "grid": whole}

    def apart(self, scores: Array, accuracy: float) -> dict[str, float]:
        """Estimate minus accuracy by both."""
        rows = len(scores)
        return {how: float(total_credit(scores, one) / rows - accuracy) for how, one in self._thresholds.items()}


@final
class Errors:
    """Thresholds of every score of every model, and what they err by on a set.

    ``validation`` are the answers for the images of the thresholds.
    """

    def __init__(self, validation: Answers, grid: int) -> None:
        self.models = len(validation["probabilities"])
        self._fitted = []
        for base in range(self.models):
            right = validation["probabilities"][base].argmax(-1) == validation["label"]
            found = scores_of(validation, base)
            self._fitted.append({name: _Mechanism(scores, right, grid) for name, scores in found.items()})
        predicted, agree = _with_mean(validation)
        self._mean = _Mechanism(agree, predicted == validation["label"], grid)

    def of(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """For each model its accuracy and the error of every score."""
        for base, fitted in enumerate(self._fitted):
            accuracy = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            found = scores_of(answers, base)
            yield {"accuracy": accuracy, **{name: fitted[name].apart(found[name], accuracy) for name in fitted}}

    def ensemble(self, answers: Answers) -> dict[str, float]:
        """Accuracy of the mean of all models, and the error of the agreement of the models with it."""
        predicted, agree = _with_mean(answers)
        accuracy = float((predicted == answers["label"]).mean())
        return {"accuracy": accuracy, "ma": self._mean.apart(agree, accuracy)["exact"]}


def _with_mean(answers: Answers) -> tuple[Array, Array]:
    """The classes of the mean of all models, and the share of the models that give them, each of shape (sample,)."""
    predicted = answers["probabilities"].mean(0).argmax(-1)
    return predicted, (answers["probabilities"].argmax(-1) == predicted).mean(0)


def agreement_of_subsets(
    validation: Answers, targets: Sequence[Answers], sizes: Sequence[int], draws: int, seed: int
) -> dict[int, Array]:
    """Mean absolute error of agreement over the targets, for ensembles of each size: shape (model, draw).

    An ensemble of r models is the judged one and r - 1 others, drawn ``draws`` times; all of them make one ensemble.
    """
    rng = np.random.default_rng(seed)
    sets = [validation, *targets]
    classes = [one["probabilities"].argmax(-1) for one in sets]
    models = len(classes[0])
    out = {size: np.zeros((models, draws if size < models else 1)) for size in sizes}
    for base in range(models):
        others = np.array([i for i in range(models) if i != base])
        same = [(one[others] == one[base]).astype(np.float32) for one in classes]
        right = [one[base] == held["label"] for one, held in zip(classes, sets, strict=True)]
        for size, errors in out.items():
            for draw in range(errors.shape[1]):
                chosen = rng.choice(len(others), size - 1, replace=False)
                fitted = find_threshold(np.sort(same[0][chosen].mean(0)), float(right[0].sum()))
                apart = [
                    total_credit(one[chosen].mean(0), fitted) / len(truth) - truth.mean()
                    for one, truth in zip(same[1:], right[1:], strict=True)
                ]
                errors[base, draw] = np.abs(apart).mean()
    return out


mean_and_spread = partial(tables.mean_and_spread, alone=0.0)


FORM = 2  # raise it where the form of the result changes: then the step is done again
VARIANTS = ("ma", "ma-diverse")


def groups_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Sets by kind of shift: each natural one by itself, corruptions by severity.

    >>> groups_of(["cifar10.1", "fog-1", "snow-1", "fog-5"])
    {'cifar10.1': ['cifar10.1'], 'severity 1': ['fog-1', 'snow-1'], 'severity 5': ['fog-5']}
    """
    out: dict[str, list[str]] = {}
    for name in names:
        severity = name.rpartition("-")[2]
        out.setdefault(f"severity {severity}" if severity.isdigit() else name, []).append(name)
    return out


def study_condition(
    data: RunData, condition: str, names: Mapping[str, Sequence[str]], workspace: Workspace, progress: Progress
) -> None:
    """Judge every score of both ensembles; writes ``<condition>/result.json``. ``names`` are the sets of each."""
    config = data.config
    result: dict[str, Any] = {"form": FORM, "condition": condition, "version": __version__}
    result |= {"python": platform.python_version(), "sizes": asdict(config), "data": data.fingerprints()}
    result |= {"present": list(data.present()), "absent": [one for one in NATURAL if one not in data.present()]}
    for done, variant in enumerate(VARIANTS):
        folder = f"{condition}/answers-{variant}"
        validation = load_answers(workspace, folder, "validation")
        targets = {name: load_answers(workspace, folder, name) for name in names[variant]}
        result[variant] = _errors(validation, targets, config.grid)
        if condition == "clean" and variant == "ma":
            result["sizes_of_ensemble"] = _sizes(validation, targets, config.subsets, config.seed)
            result["disjoint"] = _disjoint(validation, targets, config.grid)
        progress(done + 1, len(VARIANTS))
    workspace.write_json(f"{condition}/result.json", rounded(result))


def _errors(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Accuracy, and mean absolute error of every score, by kind of shift."""
    errors = Errors(validation, grid)
    predicted = validation["probabilities"].argmax(-1)
    found = {name: list(errors.of(one)) for name, one in targets.items()}
    whole = {name: errors.ensemble(one) for name, one in targets.items()}
    out: dict[str, Any] = {"models": errors.models}
    out |= {"validation_accuracy": mean_and_spread((predicted == validation["label"]).mean(1))}
    out |= {"ensemble_accuracy": float((validation["probabilities"].mean(0).argmax(-1) == validation["label"]).mean())}
    out |= {"shifts": {}}
    for group, members in groups_of(list(targets)).items():
        about: dict[str, Any] = {"sets": len(members)}
        rows = [[found[name][base] for name in members] for base in range(errors.models)]
        about["accuracy"] = mean_and_spread([float(np.mean([one["accuracy"] for one in row])) for row in rows])
        for score in SCORES:
            have = [row for row in rows if score in row[0]]
            if have:
                about[score] = {
                    how: mean_and_spread([float(np.mean([abs(o[score][how]) for o in row])) for row in have])
                    for how in ("exact", "grid")
                }
        about["ensemble"] = {
            "accuracy": float(np.mean([whole[name]["accuracy"] for name in members])),
            "ma": float(np.mean([abs(whole[name]["ma"]) for name in members])),
        }
        out["shifts"][group] = about
    return out


def _sizes(validation: Answers, targets: Mapping[str, Answers], draws: int, seed: int) -> dict[str, Any]:
    """Error of agreement by number of models: over all sets, and over the strongest shift alone (Figure 2)."""
    models = len(validation["probabilities"])
    sizes = list(range(2, models + 1))
    groups = groups_of(list(targets))
    out = {}
    for name, members in {"all": list(targets), **groups}.items():
        found = agreement_of_subsets(validation, [targets[one] for one in members], sizes, draws, seed)
        out[name] = [
            {
                "models": size,
                "by_model": one.mean(1).tolist(),
                "spread": float(one.std(axis=1, ddof=1).mean()) if one.shape[1] > 1 else None,
                "spread_by_model": one.std(axis=1, ddof=1).tolist() if one.shape[1] > 1 else None,
            }
            for size, one in found.items()
        ]
    return out


def _disjoint(validation: Answers, targets: Mapping[str, Answers], grid: int) -> dict[str, Any]:
    """Three ensembles that share no model: their errors are independent, given the images."""
    each = len(validation["probabilities"]) // 3
    if each < 2:
        return {}
    out: dict[str, Any] = {"models": each, "shifts": {}}
    for group, members in groups_of(list(targets)).items():
        found = []
        for start in range(0, 3 * each, each):
            part = slice(start, start + each)
            errors = Errors(_models(validation, part), grid)
            found.append([next(errors.of(_models(targets[name], part))) for name in members])
        out["shifts"][group] = {
            score: mean_and_spread([float(np.mean([abs(one[score]["exact"]) for one in row])) for row in found])
            for score in ("conf", "ma")
        }
    return out


def _models(answers: Answers, part: slice) -> Answers:
    """The answers of some of the models; smoothness is left out."""
    return {"label": answers["label"], "probabilities": answers["probabilities"][part]}


TARGETS = ("correlated", "randomized")
_LEVEL = 0.95
_SIDES = (64, 32)


def folder_of(correlation: float, member: int) -> str:
    """The folder of a network."""
    return f"dominoes/models/{correlation:g}-{member}"


def train_dominoes(data: RunData, correlation: float, member: int, workspace: Workspace, progress: Progress) -> None:
    """Train one network on dominoes of a correlation."""
    train_member(
        data.dominoes("train", correlation),
        data.config,
        data.config.dominoes.epochs,
        member,
        Place(workspace, folder_of(correlation, member), progress),
        image_size=_SIDES,
    )


def ask_dominoes(data: RunData, correlation: float, workspace: Workspace, progress: Progress) -> None:
    """Ask the networks of a correlation about the images of the threshold and both targets."""
    config = data.config
    sets = {"validation": data.dominoes("validation", correlation)}
    for name in TARGETS:
        sets[name] = data.dominoes("target", correlation, randomized=name == "randomized")
    members = config.dominoes.members
    ask_all(
        load_members(workspace, [folder_of(correlation, i) for i in range(members)]),
        ((name, one.inputs, np.asarray(one.targets)) for name, one in sets.items()),
        Place(workspace, f"dominoes/answers/{correlation:g}", progress),
        names=tuple(sets),
        bases=members,
        views=config.views,
        features=members,
        seed=config.seed,
    )


def study_dominoes(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Errors of every score, and the alarms, for each correlation; writes ``dominoes/result.json``."""
    config = data.config.dominoes
    result: dict[str, Any] = {"form": FORM, "condition": "dominoes", "version": __version__}
    result |= {"sizes": asdict(data.config), "data": data.fingerprints(), "correlations": {}}
    result["far"] = "stl10" if "stl10" in data.present() else f"cifar10 test, corrupted, severity {config.severity}"
    for done, correlation in enumerate(config.correlations, 1):
        folder = f"dominoes/answers/{correlation:g}"
        sets = {name: load_answers(workspace, folder, name) for name in ("validation", *TARGETS)}
        errors = Errors(sets["validation"], data.config.grid)
        right = sets["validation"]["probabilities"].argmax(-1) == sets["validation"]["label"]
        found: dict[str, Any] = {"validation_accuracy": mean_and_spread(right.mean(1))}
        for name in TARGETS:
            # Accuracy of the models on a set of dominoes, and the error of every score by both thresholds
            target = sets[name]
            rows = list(errors.of(target))
            out: dict[str, Any] = {"accuracy": mean_and_spread([one["accuracy"] for one in rows])}
            for score in SCORES:
                told = {how: [abs(one[score][how]) for one in rows] for how in ("exact", "grid")}
                out[score] = {how: mean_and_spread(values) for how, values in told.items()}
            found[name] = {**out, "alarms": _alarms(sets["validation"], sets[name], data)}
        result["correlations"][f"{correlation:g}"] = found
        progress(done, len(config.correlations))
    workspace.write_json("dominoes/result.json", rounded(result))


def record_of(answers: Answers, base: int, *, features: bool = False, labels: bool = True) -> Predictions:
    """One model's answers as a record; the other models are its members."""
    others = [i for i in range(len(answers["probabilities"])) if i != base]
    fields: dict[str, Any] = {"label": answers["label"].tolist()} if labels else {}
    if others:
        fields["member_probabilities"] = answers["probabilities"][others]
        fields["members"] = answers["probabilities"][others].argmax(-1)
    if features and "features" in answers:
        fields["features"] = answers["features"][base]
    if "views" in answers and base < len(answers["views"]):
        fields["views"] = answers["views"][base].astype(np.int64)
    return Predictions.from_probabilities(answers["probabilities"][base], **fields)


def _alarms(validation: Answers, target: Answers, data: RunData) -> dict[str, Any]:
    """What the headline, the diagnosis and ten labels say, for the first models."""
    config, out = data.config.dominoes, dict[str, dict[str, Any]]()
    for given in ("outputs", "members", "features and members"):
        rows = []
        for base in range(min(data.config.bases, len(validation["probabilities"]))):
            features = given.startswith("features")
            both = [record_of(validation, base, features=features)]
            both.append(record_of(target, base, features=features, labels=False))
            if given == "outputs":
                both = [replace(one, members=None, member_probabilities=None) for one in both]
            found = estimate(both[0], both[1], level=_LEVEL, seed=data.config.seed, target_accuracies=())
            truth = (target["probabilities"][base].argmax(-1) == target["label"]).astype(int)
            rows.append(_said(found, truth, config.labels, config.draws, data.config.seed + base))
        out[given] = {name: mean_and_spread([float(row[name]) for row in rows]) for name in rows[0] if name != "kind"}
        out[given]["kind"] = [row["kind"] for row in rows]
    return out


def _said(found: Any, truth: Array, labels: int, draws: int, seed: int) -> dict[str, Any]:
    """Headline, whether it holds the truth, what is suspected, and how often some labels refute it."""
    head = found.headline
    accuracy = float(truth.mean())
    rng = np.random.default_rng(seed)
    score = np.full(len(truth), head.interval.value)
    refuted = 0
    for _ in range(draws):
        rows = np.sort(rng.choice(len(truth), labels, replace=False))
        sampled = SampledRows.evenly(rows, truth[rows])
        refuted += refutes(sampled, score, 0.0, head.interval.lower, head.interval.upper, _LEVEL) <= 1 - _LEVEL
    kind = "none" if found.diagnosis is None else found.diagnosis.kind
    out: dict[str, Any] = {"error": abs(head.interval.value - accuracy)}
    out |= {"width": head.interval.upper - head.interval.lower}
    out |= {"inside": head.interval.lower <= accuracy <= head.interval.upper, "trusted": head.trust == "high"}
    out |= {"change_seen": kind != "none", "alarm": found.fell is not None and found.fell.alarm}
    return out | {"refuted": refuted / draws, "kind": kind}
