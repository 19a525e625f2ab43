"""The demonstration: handwritten digits that drift, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np

from ..arrays import Array, softmax
from ..errors import WorkError
from ..options import verb
from ..predictions import Predictions
from ..results import percent
from ..results.estimation import Estimation
from ..store import write_predictions
from .estimate import estimate
from .options import DemoOptions

_EPOCHS, _BATCH = 80, 200
_RATE, _PENALTY = 0.005, 1e-4
_FIRST, _SECOND = 0.9, 0.999  # how long Adam remembers means, and squares


@final
@dataclass(frozen=True)
class Network:
    """softmax(max(x W + b, 0) V + c); ``weights`` is (W, V), ``biases`` is (b, c)."""

    weights: tuple[Array, Array]
    biases: tuple[Array, Array]

    def hidden(self, x: Array) -> Array:
        """The hidden layer, shape (sample, unit)."""
        out: Array = np.maximum(x @ self.weights[0] + self.biases[0], 0)
        return out

    def probabilities(self, x: Array) -> Array:
        """Shape (sample, class)."""
        return softmax(self.hidden(x) @ self.weights[1] + self.biases[1])


def train(x: Array, labels: Array, *, units: int = 32, seed: int = 0) -> Network:
    """A network fitted to ``x`` of shape (sample, input) and classes 0 to K - 1 by Adam (Kingma and Ba, 2015), 80
    epochs in batches of 200: the draws and numbers of scikit-learn's ``MLPClassifier((units,), max_iter=80,
    learning_rate_init=0.005)``.
    """
    draws = np.random.RandomState(seed)
    truth = np.eye(int(labels.max()) + 1)[labels]
    widths = (x.shape[1], units, truth.shape[1])
    weights, biases = [], []
    for fan_in, fan_out in pairwise(widths):
        bound = np.sqrt(6 / (fan_in + fan_out))
        weights.append(draws.uniform(-bound, bound, (fan_in, fan_out)))
        biases.append(draws.uniform(-bound, bound, fan_out))
    net = Network((weights[0], weights[1]), (biases[0], biases[1]))
    parameters = [*weights, *biases]
    means, squares = ([np.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    order, step = np.arange(len(x)), 0
    for _ in range(_EPOCHS):
        shuffled = np.arange(len(x))
        draws.shuffle(shuffled)
        order = order[shuffled]
        for start in range(0, len(x), _BATCH):
            rows = order[start : start + _BATCH]
            step += 1
            rate = _RATE * np.sqrt(1 - _SECOND**step) / (1 - _FIRST**step)
            hidden = net.hidden(x[rows])  # slopes of the mean log loss with its L2 penalty, by W, V, b and c
            wrong = softmax(hidden @ net.weights[1] + net.biases[1]) - truth[rows]
            back = (wrong @ net.weights[1].T) * (hidden > 0)
            sides = ((x[rows], back, net.weights[0]), (hidden, wrong, net.weights[1]))
            slopes = [(left.T @ right + _PENALTY * weight) / len(rows) for left, right, weight in sides]
            slopes += [back.mean(axis=0), wrong.mean(axis=0)]
            for value, slope, mean, square in zip(parameters, slopes, means, squares, strict=True):
                mean += (1 - _FIRST) * (slope - mean)
                square += (1 - _SECOND) * (slope**2 - square)
                value -= rate * mean / (np.sqrt(square) + 1e-8)
    return net


def digits(seed: int) -> tuple[Array, Array]:
    """Images of shape (sample, 64), values 0 to 16, and their labels 0 to 9, in a seeded order. The test part of
    "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository,
    doi:10.24432/C50P49, under CC BY 4.0; the same rows as scikit-learn's ``load_digits``.
    """
    with (files(__package__) / "digits.npz").open("rb") as file, np.load(file, allow_pickle=False) as data:
        images, labels = data["images"].astype(np.float64), data["labels"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(labels))
    return images[order], labels[order]


SHOWN_STEP = 3
_MODELS = 5
_SIZE = 8
# severity -> (share of pixels rubbed out, standard deviation of noise, rotation in degrees)
_DRIFT = ((0.00, 0.0, 0.0), (0.00, 2.0, 3.0), (0.01, 3.0, 5.0), (0.02, 4.0, 7.0), (0.04, 5.0, 10.0), (0.06, 6.0, 14.0))


@dataclass(frozen=True)
class Step:
    """One severity of the drift: the estimation without labels, and the truth beside it."""

    severity: int
    name: str
    estimation: Estimation
    files: tuple[Path, Path]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        plain = self.estimation.to_dict()
        return {
            "severity": self.severity,
            "name": self.name,
            "truth": plain["target"]["accuracy"],
            "headline": plain["headline"],
            "estimates": plain["estimates"],
            "source": plain["reference"]["accuracy"],
        }


@dataclass(frozen=True)
class Demo:
    """All steps; ``to_dict()`` also holds one whole estimation, that of severity 3."""

    reference: Path
    steps: tuple[Step, ...]
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        shown = self.steps[SHOWN_STEP].estimation
        return {
            "command": "demo",
            "version": __version__,
            "argv": f"oodometer demo --out {self.reference.parent}",
            "seed": self.seed,
            "steps": [s.to_dict() for s in self.steps],
            "estimate": shown.to_dict(),
        }


@verb(DemoOptions)
def demo(options: DemoOptions) -> Demo:
    """Train a small ensemble on handwritten digits, let the test images drift, estimate without labels.

    Writes to ``out``: ``reference.parquet`` (labelled), ``target_<severity>.parquet`` (no labels) and
    ``labels_<severity>.parquet`` (the truth, only to print it beside the estimates). The digits come with the
    package; nothing is downloaded. The same seed gives the same files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     found = demo(folder)
    >>> [s.severity for s in found.steps]
    [0, 1, 2, 3, 4, 5]
    """
    folder, seed = Path(options.out), options.seed
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkError(f"cannot make the folder {folder}: {error.strerror}; name another with --out") from error
    images, labels = digits(seed)
    training, labelled, far = slice(0, 700), slice(700, 1200), slice(1200, None)
    # small networks that differ in their random start alone
    seeds = ((1000 * seed + i) % 2**32 for i in range(_MODELS))
    models = [train(images[training] / 16, labels[training], seed=start) for start in seeds]
    reference = folder / "reference.parquet"
    write_predictions(_predict(models, images[labelled], labels[labelled]), reference)
    steps = []
    for severity, drift in enumerate(_DRIFT):
        record = _predict(models, _drift(images[far], drift, seed + severity), labels[far])
        target, truth = folder / f"target_{severity}.parquet", folder / f"labels_{severity}.parquet"
        write_predictions(record.without_labels(), target)
        write_predictions(Predictions.from_arrays(label=labels[far], classes=range(10)), truth)
        argv = f"oodometer estimate {reference} {target} --labels {truth}"
        estimation = replace(estimate(reference, target, labels=truth, seed=seed), argv=argv)
        rubbed, noise, turned = drift
        name = f"noise {noise:.0f}/16, turned {turned:.0f} degrees, {percent(rubbed, 0)} rubbed out"
        steps.append(Step(severity, name if any(drift) else "as in training", estimation, (target, truth)))
        if options.progress is not None:
            options.progress(severity + 1, len(_DRIFT))
    return Demo(reference, tuple(steps), seed)


def _predict(models: list[Network], images: Array, labels: Array) -> Predictions:
    """Probabilities and hidden features of the first model, classes of the others."""
    first, *others = models
    return Predictions.from_arrays(
        probabilities=first.probabilities(images / 16).astype(np.float32),
        members=np.stack([m.probabilities(images / 16).argmax(axis=1) for m in others]),
        features=first.hidden(images / 16).astype(np.float32),
        label=labels,
    )


def _drift(images: Array, drift: tuple[float, float, float], seed: int) -> Array:
    """Images turned, rubbed out and made noisy; values stay within 0 to 16."""
    from scipy.ndimage import rotate

    rubbed, noise, turned = drift
    if not any(drift):
        return images
    rng = np.random.default_rng(seed)
    out = np.empty_like(images)
    for i, image in enumerate(images.reshape(-1, _SIZE, _SIZE)):
        moved = rotate(image, turned * rng.choice([-1, 1]), reshape=False, order=1, mode="grid-constant")
        moved = np.where(rng.random(moved.shape) < rubbed, 0, moved + noise * rng.standard_normal(moved.shape))
        out[i] = np.clip(moved, 0, 16).ravel()
    return out
