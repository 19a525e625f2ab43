"""The beds: real outputs under shifts of known truth, made by one seeded job for each reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.kit import data_folder
from benchmarks.quality.texts import MODELS as TEXT_MODELS
from benchmarks.quality.texts import Situation, reviewed
from benchmarks.real.data import (
    OUTPUTS,
    Floats,
    Ints,
    Models,
    Outputs,
    load_cifar,
    load_imagenet,
    load_outputs,
    redraw,
    subgroups,
)
from oodometer import Predictions

FEW = 500  # rows of a small reference
LEAST_ROWS = 100  # of a target; a draw that leaves fewer is made again
FLIPPED = 0.1
STEP = 3  # one model in so many is judged, to bound the time; all others are its members
SEEDS = 3
DIGIT_SEEDS = 4
TEXT_SEEDS = 2
TABLE_MODELS = ("logistic", "forest", "bayes", "neighbors", "network")
FAR = (
    (0.0, 0.0, 20.0),
    (0.0, 0.0, 30.0),
    (0.0, 0.0, 45.0),
    (0.0, 8.0, 0.0),
)  # as in the demo's drift


@dataclass(frozen=True)
class Bed:
    """One kind of shift on one kind of data.

    `group` is "models" (classes of many models, no probabilities), "outputs" (real outputs, rows drawn again), "few"
    (the same with 500 reference rows), "digits", "tables", "texts" or "invisible". `known`: its family is among those
    that the backtest simulates, with enough reference rows for a backtest.
    """

    name: str
    group: str
    known: bool
    about: str


BEDS = (Bed("cifar10.1", "models", False, "CIFAR-10 to CIFAR-10.1 v4 and v6, every 3rd of 30 models"),
    Bed("imagenet-v2", "models", False, "ImageNet to three ImageNet-V2 sets, every 3rd of 65 models"),
    Bed("none", "outputs", True, "the other half of the rows"),
    Bed("label 1", "outputs", True, "class shares from Dirichlet(1)"),
    Bed("label 0.1", "outputs", True, "class shares from Dirichlet(0.1)"),
    Bed("one class", "outputs", True, "90 % of the rows of one class"),
    Bed("subgroup 1", "outputs", True, "shares of ten clusters of outputs from Dirichlet(1)"),
    Bed("subgroup 0.1", "outputs", True, "the same from Dirichlet(0.1)"),
    Bed("calibrated noise", "outputs", False,
    "noise on the logits costs 10 points; reference and target are calibrated"),
    Bed("few: none", "few", True, "no shift, 500 reference rows"),
    Bed("few: label", "few", True, "the three label shifts, 500 reference rows"),
    Bed("few: subgroup", "few", True, "both subgroup shifts, 500 reference rows"),
    Bed("digits drift", "digits", False, "the demo's digits, severities 0 to 5"),
    Bed("digits far", "digits", False, "turned by 20, 30, 45 degrees, or noise of half the range"),
    Bed("tables: tilt", "tables", True, "rows preferred along a principal component"),
    Bed("tables: cluster", "tables", True, "shares of six clusters of the inputs from Dirichlet(0.5)"),
    Bed("tables: label", "tables", True, "class shares from Dirichlet(0.5)"),
    Bed("tables: tiny", "tables", False, "the same three shifts, 35 reference rows: too few for a backtest"),
    Bed("texts: sst-2", "texts", False, "small models of IMDb reviews on critics' sentences"),
    Bed("texts: mr", "texts", False, "the same on other sentences of critics"),
    Bed("texts: cr", "texts", False, "the same on sentences about cameras, phones and the like"),
    Bed("labels flipped", "invisible", False, "10 % of the target's labels are changed, its outputs are not"),
    Bed("outputs swapped", "invisible", False, "10 % of the target's rows get one another's outputs"))  # fmt: skip


def bed_of(name: str) -> Bed:
    """The bed of this name."""
    return next(b for b in BEDS if b.name == name)


@dataclass(frozen=True)
class Job:
    """All situations of one reference, so that one backtest serves them all; small enough to send to a process."""

    group: str
    make: Callable[..., Iterator[Situation]]
    arguments: tuple[Any, ...]

    def situations(self) -> Iterator[Situation]:
        """Draw them, one after another."""
        return self.make(*self.arguments)


def make_jobs(groups: Sequence[str] | None = None) -> list[Job]:
    """Every job, long ones first; the beds of some groups alone if asked."""
    jobs = [
        Job("models", judged_model, (name, i))
        for name in ("imagenet-v2", "cifar10.1")
        for i in range(0, 65 if name == "imagenet-v2" else 30, STEP)
    ]
    jobs += [
        Job("outputs", redrawn_and_unseen, (name, seed))
        for name in OUTPUTS
        for seed in range(SEEDS)
    ]
    jobs += [Job("outputs", honest_noise, (name, seed)) for name in OUTPUTS for seed in range(2)]
    jobs += [Job("few", redrawn, (name, seed, FEW)) for name in OUTPUTS for seed in range(SEEDS)]
    jobs += [Job("digits", turned_digits, (seed,)) for seed in range(DIGIT_SEEDS)]
    jobs += [
        Job("tables", table, (name, model, seed))
        for name in ("digits", "cancer", "wine")
        for model in TABLE_MODELS
        for seed in range(SEEDS)
    ]
    jobs += [
        Job("texts", reviewed, (model, seed)) for model in TEXT_MODELS for seed in range(TEXT_SEEDS)
    ]
    return [job for job in jobs if groups is None or job.group in groups]


@cache
def _models(name: str) -> tuple[Models, dict[str, Models]]:
    return (load_cifar if name == "cifar10.1" else load_imagenet)(data_folder())


def judged_model(name: str, model: int) -> Iterator[Situation]:
    """One model, with all others as its members, on every shifted set."""
    reference, targets = _models(name)
    record = reference.record(model, labelled=True)
    for version, target in targets.items():
        truth = float(target.accuracy[model])
        yield Situation(
            name,
            f"{version}, {reference.names[model]}",
            record,
            target.record(model, labelled=False),
            truth,
        )


@cache
def _outputs(name: str) -> tuple[Outputs, Ints]:
    found = load_outputs(data_folder(), name)
    return found, subgroups(found.probabilities)


def _halves(rows: int, seed: int) -> tuple[Ints, Ints]:
    order = np.random.default_rng([seed, 0x5EA]).permutation(rows)
    return order[: rows // 2], order[rows // 2 :]


def redrawn(name: str, seed: int, few: int | None) -> Iterator[Situation]:
    """No shift, three label shifts and two subgroup shifts of the half that is no reference."""
    outputs, group = _outputs(name)
    half, rest = _halves(len(group), seed)
    reference = outputs.record(half[:few], labelled=True)

    def draw(by: Ints, alpha: float) -> Ints:
        while True:
            chosen = rest[redraw(by[rest], alpha, rng)]
            if len(chosen) >= LEAST_ROWS:
                return chosen

    rng = np.random.default_rng([seed, 0xBED])
    chosen = {"none": rest, "label 1": draw(outputs.label, 1.0), "label 0.1": draw(outputs.label, 0.1),
        "one class": one_class(outputs.label, rest, rng), "subgroup 1": draw(group, 1.0),
        "subgroup 0.1": draw(group, 0.1)}  # fmt: skip
    for shift, rows in chosen.items():
        kind = "label" if shift == "one class" else shift.split()[0]
        yield Situation(
            shift if few is None else f"few: {kind}",
            f"{name}, {shift}, seed {seed}",
            reference,
            outputs.record(rows, labelled=False),
            float(outputs.right[rows].mean()),
        )


def one_class(label: Ints, rows: Ints, rng: np.random.Generator) -> Ints:
    """All rows of one random class and, for each nine of them, one of another class."""
    present = np.unique(label[rows])
    own = label[rows] == rng.choice(present)
    others = rng.choice(rows[~own], size=min(int(own.sum()) // 9, int((~own).sum())), replace=False)
    return np.concatenate([rows[own], others])


def redrawn_and_unseen(name: str, seed: int) -> Iterator[Situation]:
    """Both, which have one reference."""
    yield from redrawn(name, seed, None)
    yield from unseen(name, seed)


def unseen(name: str, seed: int) -> Iterator[Situation]:
    """Two changes of the truth behind outputs that are, as a whole, the same."""
    outputs, _ = _outputs(name)
    half, rest = _halves(len(outputs.label), seed)
    rng = np.random.default_rng([seed, 0xD0])
    reference = outputs.record(half, labelled=True)
    target = Outputs(name, outputs.probabilities[rest], outputs.label[rest])
    flipped = replace(target, label=flip(target.label, target.probabilities.shape[1], FLIPPED, rng))
    swapped = replace(target, probabilities=swap(target.probabilities, FLIPPED, rng))
    for bed, changed in (("labels flipped", flipped), ("outputs swapped", swapped)):
        record = changed.record(np.arange(len(rest)), labelled=False)
        yield Situation(bed, f"{name}, seed {seed}", reference, record, float(changed.right.mean()))


def honest_noise(name: str, seed: int) -> Iterator[Situation]:
    """Calibrated outputs as a reference; noisy ones, calibrated again on the same rows, of the other half."""
    outputs, _ = _outputs(name)
    half, rest = _halves(len(outputs.label), seed)
    rng = np.random.default_rng([seed, 0x10])
    calm = tempered(_logits(outputs.probabilities), outputs.label, half)
    noisy = calibrated_noise(calm, outputs.label, half, 0.1, rng)
    target = replace(outputs, probabilities=noisy)
    yield Situation("calibrated noise", f"{name}, seed {seed}",
        replace(outputs, probabilities=calm).record(half, labelled=True), target.record(rest, labelled=False),
        float(target.right[rest].mean()))  # fmt: skip


def flip(label: Ints, classes: int, share: float, rng: np.random.Generator) -> Ints:
    """Labels of which a share became another class."""
    rows = rng.choice(len(label), size=round(share * len(label)), replace=False)
    out = label.copy()
    out[rows] = (out[rows] + rng.integers(1, classes, size=len(rows))) % classes
    return out


def swap(probabilities: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Outputs of which a share went round among rows: as a whole they are what they were."""
    rows = rng.choice(len(probabilities), size=round(share * len(probabilities)), replace=False)
    out = probabilities.copy()
    out[rows] = out[np.roll(rows, 1)]
    return out


def calibrated_noise(
    probabilities: Floats, label: Ints, rows: Ints, fall: float, rng: np.random.Generator
) -> Floats:
    """Noise on the logits that lowers the accuracy of some rows by `fall`, then `tempered` on these rows."""
    from scipy.optimize import brentq

    logits = _logits(probabilities)
    noise = rng.standard_normal(logits.shape)
    right = probabilities[rows].argmax(axis=1) == label[rows]
    wanted = float(right.mean()) - fall

    def excess(size: float) -> float:
        top = (logits[rows] + size * noise[rows]).argmax(axis=1)
        return float((top == label[rows]).mean()) - wanted

    return tempered(logits + brentq(excess, 0.0, 50.0, xtol=1e-3) * noise, label, rows)


def tempered(logits: Floats, label: Ints, rows: Ints) -> Floats:
    """Probabilities at the temperature where the mean confidence of some rows is their accuracy."""
    from scipy.optimize import brentq
    from scipy.special import softmax

    accuracy = float((logits[rows].argmax(axis=1) == label[rows]).mean())

    def excess(log_temperature: float) -> float:
        found = softmax(logits[rows] / np.exp(log_temperature), axis=1)
        return float(found.max(axis=1).mean()) - accuracy

    out: Floats = softmax(logits / np.exp(brentq(excess, -5.0, 5.0)), axis=1)
    return out


def _logits(probabilities: Floats) -> Floats:
    out: Floats = np.log(np.maximum(probabilities, 1e-6))
    return out


def turned_digits(seed: int) -> Iterator[Situation]:
    """The demo's ensemble on digits that drift, and on some that are far from anything it saw."""
    from sklearn.neural_network import MLPClassifier

    from oodometer.verbs import demo

    images, labels = demo.digits(seed)
    models = []
    for start in range(1000 * seed, 1000 * seed + 5):
        net = MLPClassifier((32,), max_iter=80, learning_rate_init=0.005, random_state=start)
        net.fit(images[:700] / 16, labels[:700])
        models.append(demo.Network(tuple(net.coefs_), tuple(net.intercepts_)))
    reference = demo._predict(models, images[700:1200], labels[700:1200])
    for k, drift in enumerate(demo._DRIFT + FAR):
        target = demo._predict(models, demo._drift(images[1200:], drift, seed + k), labels[1200:])
        near = k < len(demo._DRIFT)
        rubbed, noise, turned = drift
        name = f"rubbed {rubbed:.0%}, noise {noise:.0f}, turned {turned:.0f}, seed {seed}"
        yield Situation(
            "digits drift" if near else "digits far",
            name,
            reference,
            target.without_labels(),
            target.accuracy,
        )


def table(name: str, model: str, seed: int) -> Iterator[Situation]:
    """A small model on a table that comes with scikit-learn: tilts, clusters, class shares."""
    from sklearn import datasets
    from sklearn.cluster import KMeans
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    load = {
        "cancer": datasets.load_breast_cancer,
        "wine": datasets.load_wine,
        "digits": datasets.load_digits,
    }
    x, y = load[name](return_X_y=True)
    x = StandardScaler().fit_transform(x)
    depth = 6 if name == "digits" else 3
    chosen = {"logistic": LogisticRegression(C=0.01, max_iter=300),
        "forest": RandomForestClassifier(30, max_depth=depth, random_state=seed), "bayes": GaussianNB(),
        "neighbors": KNeighborsClassifier(9),
        "network": MLPClassifier((32,), max_iter=150, random_state=seed)}[model]  # fmt: skip
    rng = np.random.default_rng([seed, 0x7AB])
    order = rng.permutation(len(y))
    train, held, rest = np.split(order, [len(y) // 5, len(y) * 2 // 5])
    chosen.fit(x[train], y[train])

    def record(rows: Ints) -> Predictions:
        return Predictions.from_arrays(probabilities=chosen.predict_proba(x[rows]), label=y[rows],
            features=x[rows].astype(np.float32), classes=range(len(np.unique(y))))  # fmt: skip

    component = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[0][:, :2] * np.sqrt(len(y))
    cluster = KMeans(6, n_init=3, random_state=seed).fit_predict(x)
    weights: dict[str, Floats] = {
        f"tilt: component {k + 1} by {size:+.0f}": np.exp(size * component[rest, k])
        for k in (0, 1)
        for size in (-2.0, -1.0, 1.0, 2.0)
    }
    for draw in range(3):
        for kind, group in (("cluster", cluster[rest]), ("label", y[rest])):
            sizes = np.bincount(group)
            shares = np.where(sizes > 0, rng.dirichlet(np.full(len(sizes), 0.5)), 0.0)
            weights[f"{kind}: draw {draw + 1}"] = shares[group] / sizes[group] + 1e-9
    reference = record(held)
    for shift, weight in weights.items():
        rows = rng.choice(rest, size=len(rest) // 3, replace=False, p=weight / weight.sum())
        target = record(rows)
        bed = "tables: tiny" if name == "wine" else f"tables: {shift.partition(':')[0]}"
        yield Situation(
            bed,
            f"{name}, {model}, {shift}, seed {seed}",
            reference,
            target.without_labels(),
            target.accuracy,
        )
