"""How often nominal 95 % intervals hold the truth on simulated data without a shift; prints tables in Markdown.

python benchmarks/coverage_no_shift.py estimators|calibration|macro|auc [--draws N] [--sizes N ...]

Real outputs, drawn from one pool, are the matter of `benchmarks/real/coverage.py`; here the population is known.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from oodometer import Predictions
from oodometer.arrays import softmax
from oodometer.calibrators import choose_calibrator
from oodometer.estimators import CBPE, SourceAccuracy
from oodometer.estimators.base import Sums
from oodometer.estimators.expected_classes import placements
from oodometer.registry import create

LEVEL = 0.95
SIZES = (200, 2_000, 20_000)
_FRESH = 26  # draws that no rule was chosen on
# AC and GDE are left out: they are not corrected by the reference, so that a shift is not needed to mislead them.
ESTIMATORS = ("doc", "atc", "atc-entropy", "threshold-classwise", "im", "cbpe", "gde-difference", "bbse", "sld",
              "s-leap", "leap", "cot", "cott")  # fmt: skip
ERRORS = ("ece", "ece_equal_mass", "ece_debiased", "smece", "ks_calibration_error")
LAWS: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda c: c,
    "too sure by up to 3 points": lambda c: 0.03 + 0.94 * c,
    "too sure by 5 points above 0.6": lambda c: c - 0.05 * (c > 0.6),
    "too sure by 20 points": lambda c: np.clip(c - 0.2, 0, 1),
}
MACRO = ("macro_precision", "macro_recall", "macro_f1")
CLASSES = (
    (3, 0.0, 1.5),
    (5, 0.5, 1.5),
    (10, 0.0, 2.0),
    (10, 0.3, 2.0),
    (10, 0.5, 2.5),
    (20, 0.1, 2.5),
)


def table(header: list[str], rows: list[list[str]]) -> Iterator[str]:
    """A Markdown table, numbers to the right."""
    yield "| " + " | ".join(header) + " |"
    yield "|---|" + "---:|" * (len(header) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def outputs(rows: int, rng: np.random.Generator) -> Predictions:
    """An over-confident model of three classes, and two others that see less."""
    z = 1.8 * rng.standard_normal((rows, 3))
    label = (softmax(z).cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-9)).argmax(axis=1)
    others = (z + 1.2 * rng.standard_normal((2, rows, 3))).argmax(axis=2)
    return Predictions.from_arrays(probabilities=softmax(1.3 * z), label=label, members=others)


def estimators(draws: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """The share of draws in which the interval holds the accuracy of the target rows."""
    made: dict[str, Any] = {
        name: create("estimator", name, level=LEVEL).lighter() for name in ESTIMATORS
    }
    yield from table(["n_S / n_T", "source", *ESTIMATORS], [])
    for s, t in itertools.product(sizes, repeat=2):
        held: Counter[str] = Counter()
        for i in range(draws):
            rng = np.random.default_rng([i, s, t])
            reference, target = outputs(s, rng), outputs(t, rng)
            choice = choose_calibrator(reference)  # as `estimate` does
            reference, target = choice.apply(reference), choice.apply(target)
            for name, method in made.items():
                found = method.fit(reference).estimate(target)
                held[name] += found.lower <= target.accuracy <= found.upper
        cells = (f"{held[name] / draws:.0%}" for name in ESTIMATORS)
        yield f"| {s:,} / {t:,} | " + " | ".join([source_coverage(s, t, 20 * draws), *cells]) + " |"


def source_coverage(s: int, t: int, draws: int, accuracy: float = 0.9) -> str:
    """Source accuracy needs counts alone."""
    rng, held = np.random.default_rng([s, t]), 0
    method = SourceAccuracy(level=LEVEL).fit(Predictions.from_classes([0], label=[0]))
    for right, there in rng.binomial([s, t], accuracy, size=(draws, 2)).tolist():
        found = method.with_counts(right, s).finish(Sums(rows=t))
        held += found.lower <= there / t <= found.upper
    return f"{held / draws:.1%}"


def judged(law: Callable[[Any], Any], rows: int, rng: np.random.Generator) -> Predictions:
    """Confidences, and verdicts that follow a law."""
    confidence = rng.beta(4, 1.5, rows)
    return Predictions.from_confidence(confidence, correct=rng.random(rows) < law(confidence))


def calibration(draws: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """The share of draws in which the interval holds the error of the population: 0 for a calibrated model."""
    yield from table(["confidences", "rows", *(f"`{m}`" for m in ERRORS)], [])
    for name, law in LAWS.items():
        many = judged(law, 2_000_000, np.random.default_rng(0))
        truth = {
            m: 0.0 if name == "calibrated" else create("metric", m).compute(many).value
            for m in ERRORS
        }
        for n in sizes:
            held: Counter[str] = Counter()
            for i in range(draws):
                record = judged(law, n, np.random.default_rng([_FRESH, i, n]))
                for m in ERRORS:
                    found = create("metric", m).compute(record, level=LEVEL)
                    held[m] += found.lower <= truth[m] <= found.upper
            yield (
                f"| {name} | {n:,} | " + " | ".join(f"{held[m] / draws:.0%}" for m in ERRORS) + " |"
            )


def classes(
    kinds: int, skew: float, sharp: float, rows: int, rng: np.random.Generator
) -> Predictions:
    """Classes whose shares fall by exp(-skew) from one to the next; the rare ones are seldom predicted."""
    share = np.exp(-skew * np.arange(kinds))
    label = rng.choice(kinds, rows, p=share / share.sum())
    seen = sharp * np.eye(kinds)[label] + rng.standard_normal((rows, kinds)) + 0.7 * np.log(share)
    return Predictions.from_classes(seen.argmax(axis=1), label=label, classes=list(range(kinds)))


def macro(draws: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """The share of draws in which the interval holds the population's mean over the classes that the sample holds."""
    rows = []
    for kinds, skew, sharp in CLASSES:
        draw = partial(classes, kinds, skew, sharp)
        per_class = create("metric", "per_class").compute(draw(1_000_000, np.random.default_rng(0)))
        truth = {
            m: np.array([row[m[6:]].value if row[m[6:]] else 0.0 for row in per_class])
            for m in MACRO
        }
        for n in sizes:
            held: Counter[str] = Counter()
            for i in range(draws):
                record = draw(n, np.random.default_rng([_FRESH, i, n]))
                true = np.bincount(record.label, minlength=kinds) > 0
                either = true | (np.bincount(record.predicted, minlength=kinds) > 0)
                for m in MACRO:
                    found = create("metric", m).compute(record, level=LEVEL)
                    mean = truth[m][true if m == "macro_recall" else either].mean()
                    held[m] += found.lower <= mean <= found.upper
            rows.append(
                [
                    str(kinds),
                    f"{np.exp(-skew):.2f}",
                    str(n),
                    *(f"{held[m] / draws:.0%}" for m in MACRO),
                ]
            )
    yield from table(["classes", "each rarer by", "rows", *(f"`{m}`" for m in MACRO)], rows)


LIES: dict[str, Callable[[Any], Any]] = {
    "calibrated": softmax,
    "too sure, temperature 3": lambda z: softmax(3 * z),
    "one-sided": lambda z: softmax(z + np.eye(z.shape[1])[0] * (1.5 + (z[:, :1] > 0))),
    "not monotone": lambda z: softmax(2 * z + 3 * np.sin(3 * z)),
    "swings with one class": lambda z: softmax(z * (1.5 + np.sin(2 * z[:, :1]))),
}


def believed(
    lie: Callable[[Any], Any], rows: int, kinds: int, rng: np.random.Generator
) -> Predictions:
    """Labels drawn from the true probabilities, and what the model states."""
    z = 1.8 * rng.standard_normal((rows, kinds)) + np.linspace(0, 1, kinds)
    label = (softmax(z).cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-9)).argmax(axis=1)
    return Predictions.from_probabilities(lie(z), label=label)


def auc(draws: int, sizes: tuple[int, ...]) -> Iterator[str]:
    """The share of draws in which the interval holds the macro AUC of the target's own scores; mean error in points."""
    yield from table(["classes", "rows on each side", *LIES], [])
    for kinds, n in itertools.product((2, 3, 10), sizes):
        cells = []
        for lie in LIES.values():
            held, errors = 0, []
            for i in range(draws):
                rng = np.random.default_rng([_FRESH, i, kinds, n])
                reference, target = believed(lie, n, kinds, rng), believed(lie, n, kinds, rng)
                choice = choose_calibrator(reference)
                fitted = CBPE(level=LEVEL).fit(choice.apply(reference))
                found = fitted.estimate(choice.apply(target)).details["metrics"]["macro_auc"]
                scores, label = target.probabilities, target.label
                truth = np.mean([
                    placements(scores[:, k], label == k)[label == k].mean()
                    for k in range(kinds) if 0 < (label == k).sum() < n
                ])  # fmt: skip
                held += found["lower"] <= truth <= found["upper"]
                errors.append(100 * (found["value"] - truth))
            cells.append(f"{held / draws:.1%} ({np.mean(errors):+.2f})")
        yield f"| {kinds} | {n:,} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("estimators", "calibration", "macro", "auc"))
    parser.add_argument(
        "--draws", type=int, default=100, help="draws a cell (source: 20 times as many)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="rows of a sample")
    options = parser.parse_args()
    run = {"estimators": estimators, "calibration": calibration, "macro": macro, "auc": auc}[
        options.what
    ]
    for line in run(options.draws, tuple(options.sizes)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
