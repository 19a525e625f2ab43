"""The demonstration: handwritten digits that drift, step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import final

import numpy as np

from ..arrays import Array, softmax
from ..errors import WorkError
from ..options import verb
from ..plain import Json
from ..predictions import Predictions
from ..results import percent
from ..results.estimation import Estimation
from ..store import write_predictions
from .estimate import estimate
from .options import DemoOptions

_FILE = "digits.npz"


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


def digits(seed: int) -> tuple[Array, Array]:
    """Images of shape (sample, 64), values 0 to 16, and their labels 0 to 9, in a seeded order. The test part of
    "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak (1998), UCI Machine Learning Repository,
    doi:10.24432/C50P49, under CC BY 4.0; the same rows as scikit-learn's ``load_digits``.
    """
    stored = _stored("images", "labels")
    order = np.random.default_rng(seed).permutation(len(stored["labels"]))
    return stored["images"][order].astype(np.float64), stored["labels"][order].astype(np.int64)


def networks() -> list[Network]:
    """Five small networks that differ in their random start alone: scikit-learn's ``MLPClassifier((32,), max_iter=80,
    learning_rate_init=0.005)`` on the first 700 of ``digits(0)`` (`scripts/samples.py` trains them).
    """
    stored = _stored("inputs", "hidden_biases", "outputs", "biases")
    return [Network((w, v), (b, c)) for w, b, v, c in zip(*stored.values(), strict=True)]


def _stored(*names: str) -> dict[str, Array]:
    with (files(__package__) / _FILE).open("rb") as file, np.load(file, allow_pickle=False) as data:
        return {name: data[name] for name in names}


SHOWN_STEP = 3
_SIZE = 8
# severity -> (share of pixels rubbed out, standard deviation of noise, rotation in degrees)
_DRIFT = (
    (0.00, 0.0, 0.0),
    (0.00, 2.0, 3.0),
    (0.01, 3.0, 5.0),
    (0.02, 4.0, 7.0),
    (0.04, 5.0, 10.0),
    (0.06, 6.0, 14.0),
)


@dataclass(frozen=True)
class Step:
    """One severity of the drift: the estimation without labels, and the truth beside it."""

    severity: int
    name: str
    estimation: Estimation
    files: tuple[Path, Path]

    def to_dict(self) -> Json:
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

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        estimate = self.steps[SHOWN_STEP].estimation
        return {
            "command": "demo",
            "version": __version__,
            "argv": f"oodometer demo --out {self.reference.parent}",
            "seed": 0,
            "steps": [s.to_dict() for s in self.steps],
            "estimate": estimate.to_dict(),
        }


@verb(DemoOptions)
def demo(options: DemoOptions) -> Demo:
    """Ask a small ensemble about handwritten digits, let the test images drift, estimate without labels.

    Writes to ``out``: ``reference.parquet`` (labelled), ``target_<severity>.parquet`` (no labels) and
    ``labels_<severity>.parquet`` (the truth, only to print it beside the estimates). The digits come with the
    package, and so do the networks; nothing is downloaded.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     found = demo(folder)
    >>> [s.severity for s in found.steps]
    [0, 1, 2, 3, 4, 5]
    """
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkError(
            f"cannot make the folder {folder}: {error.strerror}; name another with --out"
        ) from error
    images, labels = digits(0)
    labelled, far = slice(700, 1200), slice(1200, None)
    models = networks()
    reference = folder / "reference.parquet"
    write_predictions(_predict(models, images[labelled], labels[labelled]), reference)
    steps = []
    for severity, drift in enumerate(_DRIFT):
        record = _predict(models, _drift(images[far], drift, severity), labels[far])
        target, truth = folder / f"target_{severity}.parquet", folder / f"labels_{severity}.parquet"
        write_predictions(record.without_labels(), target)
        write_predictions(Predictions.from_arrays(label=labels[far], classes=range(10)), truth)
        argv = f"oodometer estimate {reference} {target} --labels {truth}"
        estimation = replace(estimate(reference, target, labels=truth), argv=argv)
        rubbed, noise, turned = drift
        name = f"noise {noise:.0f}/16, turned {turned:.0f} degrees, {percent(rubbed, 0)} rubbed out"
        steps.append(
            Step(severity, name if any(drift) else "as in training", estimation, (target, truth))
        )
        if options.progress is not None:
            options.progress(severity + 1, len(_DRIFT))
    return Demo(reference, tuple(steps))


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
        moved = rotate(
            image, turned * rng.choice([-1, 1]), reshape=False, order=1, mode="grid-constant"
        )
        moved = np.where(
            rng.random(moved.shape) < rubbed, 0, moved + noise * rng.standard_normal(moved.shape)
        )
        out[i] = np.clip(moved, 0, 16).ravel()
    return out
