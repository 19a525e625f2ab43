"""What few labels are worth for the accuracy of each of several models; writes results/mixture.*.

    python -m benchmarks.mixture            # 20 draws a suite, 9 minutes beside other work

Needs $OODOMETER_DATA (suites/*.npz: six or seven models each). Of each suite labelled rows are drawn at random, and up
to 1,000 others without labels; the truth is the accuracy on all rows. A method's labels are *worth* as many as counting
right answers needs for the same mean absolute error (binomial, exact). Beside `model_accuracies`: counting, the
reference's accuracy, confidence (temperature fitted on the reference), PPI++ (Angelopoulos et al. 2023) with each
model's confidence and with that of all models' mean, Dawid and Skene (1979) with labels, Dirichlet prior of 10 rows, or
the reference's confusions as 50 rows, and semi-supervised mixtures (Shanmugam et al. 2025) in log ratios, fitted by EM:
normal components, the same with 100 rows of the reference, and kernels of Scott's width.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks import kit
from oodometer.intervals import clopper_pearson
from oodometer.rankings import model_accuracies
from oodometer_lab.recipes.few_shot_ranking.study import powered_accuracy

POOL, FEW, NUMBERS = 1000, 25, (10, 25, 50, 100)
OURS = {"all models, reference": (True, True), "all models": (True, False), "classes, reference": (False, True),
    "classes": (False, False)}  # fmt: skip
_CHANGED = ({}, {"_SCALE": 0.15}, {"_SCALE": 0.6}, {"_SHIFTS": {0.7: 1.0}},
    {"_SHIFTS": {0.25: 0.8, 1.0: 0.2}}, {"_SHIFTS": {1.0: 0.8, 4.0: 0.2}}, {"_OWN": 0.015}, {"_OWN": 0.06},
    {"_WEIGHT": 0.025, "_WEIGHT_ALONE": 0.05}, {"_WEIGHT": 0.1, "_WEIGHT_ALONE": 0.2})  # fmt: skip


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def scaled(p: np.ndarray, known: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Probabilities at the temperature that suits a reference best."""
    rows, logs, grid = np.arange(len(truth)), np.log(known), np.exp(np.linspace(-2.5, 1.5, 41))
    loss = [-np.log(softmax(logs * t)[rows, truth]).mean() for t in grid]
    return softmax(np.log(p) * grid[int(np.argmin(loss))])


def em(q: np.ndarray, few: int, density: Any) -> np.ndarray:
    """Posterior of the classes, shape (row, class), the first few rows fixed; ``density``: q -> log p(row | class)."""
    fixed = q[:few].copy()
    for _ in range(60):
        prior = (q.sum(axis=0) + 1) / (len(q) + q.shape[1])
        new = softmax(density(q) + np.log(prior))
        new[:few] = fixed
        moved, q = np.abs(new - q).max(), new
        if moved < 1e-3:
            break
    return q


def dawid_skene(
    said: np.ndarray, q: np.ndarray, few: int, confusion: np.ndarray, weight: float
) -> np.ndarray:
    named = np.eye(q.shape[1])[said]

    def density(q: np.ndarray) -> np.ndarray:
        counts = np.einsum("nk,mnj->mkj", q, named) + weight * confusion + 0.1
        return np.einsum("mnj,mkj->nk", named, np.log(counts / counts.sum(axis=2, keepdims=True)))

    return em(q, few, density)


def normals(
    x: np.ndarray, q: np.ndarray, few: int, known: np.ndarray, truth: np.ndarray, weight: float
) -> np.ndarray:
    spread, columns = np.diag(x.var(axis=0)), x.shape[1]

    def density(q: np.ndarray) -> np.ndarray:
        out = []
        for k in range(q.shape[1]):
            w = np.r_[q[:, k], np.where(truth == k, weight / max((truth == k).sum(), 1), 0.0)]
            both, size = np.r_[x, known], max(w.sum(), 1e-6)
            mean = w @ both / size
            scatter = (both - mean).T @ ((both - mean) * w[:, None]) + 5 * columns * spread
            covariance = (
                scatter / (size + 5 * columns) + 1e-3 * np.eye(columns) * np.trace(spread) / columns
            )
            away = np.linalg.solve(np.linalg.cholesky(covariance), (x - mean).T)
            out.append(-np.square(away).sum(axis=0) / 2 - np.linalg.slogdet(covariance)[1] / 2)
        return np.stack(out, axis=1)

    return em(q, few, density)


def kernels(x: np.ndarray, q: np.ndarray, few: int) -> np.ndarray:
    z = x / (x.std(axis=0) + 1e-9) * len(x) ** (1 / (x.shape[1] + 4))
    near = np.exp(
        -np.maximum(np.square(z).sum(1)[:, None] + np.square(z).sum(1) - 2 * z @ z.T, 0) / 2
    )
    np.fill_diagonal(near, 0.0)
    return em(q, few, lambda q: np.log(near @ q / (q.sum(axis=0) + 1e-9) + 1e-12))


def others(
    p: np.ndarray, labels: np.ndarray, known: np.ndarray, truth: np.ndarray
) -> dict[str, np.ndarray]:
    """The accuracies of all models by methods that are not ours; labelled rows come first."""
    (models, rows, classes), few = p.shape, len(labels)
    said, right = p.argmax(axis=2), (p.argmax(axis=2)[:, :few] == labels).astype(float)
    own = np.stack([scaled(a, b, truth).max(axis=1) for a, b in zip(p, known, strict=True)])
    mean = scaled(p.mean(axis=0), known.mean(axis=0), truth)
    proxy = np.stack([mean[np.arange(rows), classes] for classes in said])
    start = np.r_[np.eye(classes)[labels], p.mean(axis=0)[few:]]
    confusion = np.stack([[np.bincount(m[truth == k], minlength=classes) + 1.0 for k in range(classes)]
        for m in known.argmax(axis=2)])  # fmt: skip
    confusion /= confusion.sum(axis=2, keepdims=True)
    plain = np.broadcast_to(
        np.where(np.eye(classes) > 0, 0.7, 0.3 / (classes - 1)), confusion.shape
    )
    x, there = (np.concatenate(np.log(a[:, :, 1:] / a[:, :, :1]), axis=1) for a in (p, known))
    found = {"Dawid-Skene": dawid_skene(said, start, few, plain, 10.0),
        "Dawid-Skene, reference": dawid_skene(said, start, few, confusion, 50.0),
        "mixture of normals": normals(x, start, few, there, truth, 0.0),
        "mixture of normals, reference": normals(x, start, few, there, truth, 100.0),
        "mixture of kernels": kernels(x, start, few)}  # fmt: skip
    out = {
        "counting": right.mean(axis=1),
        "reference accuracy": (known.argmax(axis=2) == truth).mean(axis=1),
    }
    out["confidence, no labels"] = own[:, few:].mean(axis=1)
    for name, sure in (("PPI++, own confidence", own), ("PPI++, all models' mean", proxy)):
        out[name] = powered_accuracy(right, sure[:, :few], sure[:, few:])(np.arange(few)[None])[0]
    alone = [model_accuracies(p[m : m + 1], labels, range(few), reference=(known[m : m + 1], truth))[0].value
        for m in range(models)]  # fmt: skip
    out |= {
        name: np.array([q[np.arange(rows), one].mean() for one in said])
        for name, q in found.items()
    }
    return out | {"each model alone, reference": np.array(alone)}


def worth(error: float, accuracies: Sequence[np.ndarray]) -> float:
    """Labels with which counting errs as much: E|X/n - p| = 2 k (1 - p) P(X = k) / n, k = [np] + 1 (de Moivre)."""
    p = np.concatenate(accuracies)
    of_suite = np.concatenate(
        [np.full(len(one), 1 / len(one) / len(accuracies)) for one in accuracies]
    )
    sizes = np.unique(np.geomspace(1, 3000, 150).astype(int))
    errors = [
        of_suite @ (2 * k * (1 - p) * binom.pmf(k, n, p) / n)
        for n in sizes
        for k in [np.floor(n * p) + 1]
    ]
    return float(np.interp(-error, -np.array(errors), sizes))


def of_suite(path: Any, draws: int) -> dict[str, Any]:
    """Errors of all methods, coverage and widths of ours by number of labels, errors of ours with other constants."""
    with np.load(path) as file:
        p, known = (
            np.maximum(file[f"{name}_probabilities"].astype(float), 1e-4)
            for name in ("target", "reference")
        )
        truth, answers, source = (
            file["target_labels"].astype(int),
            file["reference_labels"].astype(int),
            file["source"],
        )
    p, known = p / p.sum(axis=2, keepdims=True), known / known.sum(axis=2, keepdims=True)
    accuracy, own = (
        (p.argmax(axis=2) == truth).mean(axis=1),
        importlib.import_module("oodometer.rankings.accuracies"),
    )
    errors: dict[str, list[Any]] = {}
    for draw, few in ((draw, few) for draw in range(draws) for few in NUMBERS):
        rows = np.random.default_rng([draw, *path.stem.encode()]).permutation(len(truth))[
            : few + POOL
        ]
        some, labels = p[:, rows], truth[rows[:few]]
        if few == FEW:
            for name, value in others(some, labels, known, answers).items():
                errors.setdefault(name, []).append([np.abs(value - accuracy).mean()])
        for name, (full, referenced) in OURS.items():
            given, there = (some, known) if full else (some.argmax(axis=2), known.argmax(axis=2))
            for number, changed in enumerate(
                _CHANGED if few == FEW and full and draw < draws / 2 else _CHANGED[:1]
            ):
                before = {constant: getattr(own, constant) for constant in changed}
                vars(own).update(changed)
                found = model_accuracies(
                    given, labels, range(few), reference=(there, answers) if referenced else None
                )
                vars(own).update(before)
                value, low, high = np.array([[one.value, one.lower, one.upper] for one in found]).T
                inside = (low <= accuracy) & (accuracy <= high)
                numbers = [np.abs(value - accuracy).mean(), inside.mean(), (high - low).mean()]
                errors.setdefault(
                    f"{name}, {few}" if not number else f"{name}: {number}", []
                ).append(numbers)
        right = (some.argmax(axis=2)[:, :few] == labels).sum(axis=1)
        ends = np.array([clopper_pearson(int(k), few, 0.95) for k in right]).T
        inside = (ends[0] <= accuracy) & (accuracy <= ends[1])
        numbers = [np.abs(right / few - accuracy).mean(), inside.mean(), (ends[1] - ends[0]).mean()]
        errors.setdefault(f"counting, {few}", []).append(numbers)
    means = {name: np.mean(values, axis=0).round(5).tolist() for name, values in errors.items()}
    return {"suite": path.stem, "kind": path.stem.split("_")[0], "source": str(source), "accuracy": accuracy.tolist(),
        "methods": means}  # fmt: skip


def measure(given: argparse.Namespace) -> kit.Result:
    suites = []
    for path in sorted((kit.data_folder() / "suites").glob("*.npz"))[:: given.only or 1]:
        suites.append(of_suite(path, given.draws))
        print(
            path.stem,
            suites[-1]["methods"]["all models, reference, 25"],
            file=sys.stderr,
            flush=True,
        )
    sources = sorted({one["source"] for one in suites})
    left_out: dict[str, Any] = {}
    for name in list(OURS)[:2]:  # constants that are best on all other sources
        keys = [f"{name}, {FEW}", *(f"{name}: {number}" for number in range(1, len(_CHANGED)))]
        table = np.array([[np.mean([one["methods"][key][0] for one in suites if one["source"] == source])
            for source in sources] for key in keys])  # fmt: skip
        best = [
            int(np.delete(table, at, axis=1).mean(axis=1).argmin()) for at in range(len(sources))
        ]
        chosen = [table[k, at] for at, k in enumerate(best)]
        settings = {
            ", ".join(f"{key[1:].lower()} {one}" for key, one in changed.items())
            or "shipped": float(row.mean())
            for changed, row in zip(_CHANGED, table, strict=True)
        }
        left_out[name] = {"settings": settings, "left out": float(np.mean(chosen))}
    command = f"python -m benchmarks.mixture --draws {given.draws}"
    return {"command": command, "constants": left_out, "suites": suites}


def page(found: Mapping[str, Any]) -> str:
    suites = found["suites"]
    kinds = {
        name: [one for one in suites if name in ("all", one["kind"])]
        for name in ["all", *dict.fromkeys(one["kind"] for one in suites)]
    }
    sources = {
        name: [one for one in suites if one["source"] == name]
        for name in sorted({s["source"] for s in suites})
    }

    def cell(some: Sequence[Mapping[str, Any]], name: str) -> str:
        error = float(np.mean([one["methods"][name][0] for one in some]))
        return (
            f"{100 * error:.1f} ({worth(error, [np.array(one['accuracy']) for one in some]):.0f})"
        )

    methods = [
        name
        for name in suites[0]["methods"]
        if name.rsplit(", ", 1)[-1] not in map(str, NUMBERS) and ":" not in name
    ]
    methods += [f"{name}, {FEW}" for name in OURS]
    lines = ["# Accuracy of each of several models from few labels", "",
        f"`{found['command']}`. Mean absolute error in points, in brackets the labels that counting needs for it.", "",
        f"## {FEW} labels", ""]  # fmt: skip
    lines += kit.table(
        ["method", *kinds],
        [[name, *(cell(some, name) for some in kinds.values())] for name in methods],
    )
    lines += [f"## By source, {FEW} labels", ""]
    shown = [f"counting, {FEW}", *(f"{name}, {FEW}" for name in OURS)]
    lines += kit.table(
        ["source", *shown],
        [[n, *(cell(some, name) for name in shown)] for n, some in sources.items()],
    )
    lines += [
        "## By number of labels, and 95 % intervals",
        "",
        "Coverage of the least covered source in brackets.",
        "",
    ]
    rows = []
    for name, few in ((name, few) for name in ("counting", *OURS) for few in NUMBERS):
        key = f"{name}, {few}"
        cover, width = (
            100 * float(np.mean([one["methods"][key][at] for one in suites])) for at in (1, 2)
        )
        least = min(
            100 * float(np.mean([one["methods"][key][1] for one in some]))
            for some in sources.values()
        )
        rows.append(
            [name, str(few), cell(suites, key), f"{cover:.1f} ({least:.0f})", f"{width:.1f}"]
        )
    lines += kit.table(
        ["method", "labels", "error (worth)", "covered in %", "width in points"], rows
    )
    lines += [
        "## Constants",
        "",
        f"Mean error over sources at {FEW} labels, in points; the last row chooses them on all other sources.",
        "",
    ]
    settings = {
        name: {**one["settings"], "chosen, source left out": one["left out"]}
        for name, one in found["constants"].items()
    }
    first = next(iter(settings.values()))
    lines += kit.table(
        ["constants", *settings],
        [[key, *(f"{100 * one[key]:.2f}" for one in settings.values())] for key in first],
    )
    return kit.joined(lines)


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "mixture", measure, page, draws=(20, "draws a suite"),
            only=(0, "each n-th suite alone, for a quick look; nothing is kept"))
    )  # fmt: skip
