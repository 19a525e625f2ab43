"""How often 95 % intervals hold the truth where rows depend on each other; writes results/clusters.json and .md.

python -m benchmarks.clusters [--draws N] [--falls N] [--only-falls]

A share of right rows in 5 to 100 clusters, equal (10 rows), mildly uneven (1 + Poisson(9)) or very uneven (rounded
exp(N(1.8, 1))), with correlations 0 to 1 inside clusters (beta-binomial). The sides: Clopper and Pearson's interval
as if rows were independent; the mean of clusters with Student's quantile; ours.

Then the chance of a fall that `estimate` says without labels, with and without --cluster: a reference and a target of
passages of ten rows with one class and one difficulty each. The mean difficulty of the target's population differs by
N(0, 5 points), and it fell where it is a point or more below; and how often an unmoved target seems to have changed at
the level 5 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np

from benchmarks import kit
from oodometer import estimate
from oodometer.inference.clusters import Clusters, clustered_share, student_quantile
from oodometer.intervals import clopper_pearson

LEVEL = 0.95
SIDES = ("rows", "clusters, t", "ours")


def sizes_of(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of each cluster."""
    if kind == "equal":
        return np.full(count, 10)
    if kind == "mild":
        return rng.poisson(9, count) + 1
    return np.maximum(1, np.round(np.exp(rng.normal(1.8, 1.0, count)))).astype(int)


def intervals(hits: np.ndarray, sizes: np.ndarray) -> dict[str, tuple[float, float]]:
    """Ends of each side for the hits of clusters of these sizes."""
    rows, count = int(sizes.sum()), len(sizes)
    value = hits.sum() / rows
    spread = (hits - value * sizes) / rows
    half = student_quantile(LEVEL, count - 1) * float(
        np.sqrt(count / (count - 1) * np.square(spread).sum())
    )
    clusters = Clusters(
        np.arange(count, dtype=np.uint64), np.stack([sizes, hits, hits]).astype(float)
    )
    return {"rows": clopper_pearson(int(hits.sum()), rows, LEVEL),
        "clusters, t": (max(value - half, 0.0), min(value + half, 1.0)),
        "ours": clustered_share(clusters, rows, float(value), LEVEL)}  # fmt: skip


def cells(draws: int) -> Iterator[dict[str, object]]:
    """Coverage and mean width of each side in each setting."""
    settings = product(
        ("equal", "mild", "uneven"), (5, 10, 20, 30, 100), (0.0, 0.3, 1.0), (0.5, 0.9)
    )
    for number, (kind, count, correlation, accuracy) in enumerate(settings):
        rng = np.random.default_rng([number, 0xC1])
        inside, width = dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0.0)
        for _ in range(draws):
            sizes = sizes_of(kind, count, rng)
            if correlation in (0, 1):
                easy = (
                    np.full(count, accuracy)
                    if correlation == 0
                    else (rng.random(count) < accuracy).astype(float)
                )
            else:
                total = 1 / correlation - 1
                easy = rng.beta(accuracy * total, (1 - accuracy) * total, count)
            for side, (low, high) in intervals(rng.binomial(sizes, easy), sizes).items():
                inside[side] += low <= accuracy <= high
                width[side] += high - low
        sides = {s: {"coverage": inside[s] / draws, "width": width[s] / draws} for s in SIDES}
        yield {
            "sizes": kind,
            "clusters": count,
            "correlation": correlation,
            "accuracy": accuracy,
            **sides,
        }


def passages(count: int, accuracy: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Rows of passages of a class and a difficulty each; the confidence sees seven tenths of the difficulty."""
    easy = rng.beta(4 * accuracy, 4 * (1 - accuracy), count).repeat(10)
    truth = rng.integers(0, 2, count).repeat(10)
    predicted = np.where(rng.random(len(easy)) < easy, truth, 1 - truth)
    sure = np.clip(0.3 * 0.85 + 0.7 * easy + 0.05 * rng.standard_normal(len(easy)), 0.5, 0.99)
    one = np.where(predicted == 1, sure, 1 - sure)
    return {
        "probabilities": np.stack([1 - one, one], axis=1),
        "label": truth,
        "passage": np.arange(len(easy)) // 10,
    }


def falls(draws: int) -> Iterator[dict[str, object]]:
    """What is said of falls, and what is true, in each setting."""
    for number, (here, there) in enumerate(((30, 15), (60, 30), (200, 60))):
        rng = np.random.default_rng([number, 0xFA])
        said: dict[str, list[tuple[float, float]]] = {"rows": [], "clusters": []}
        changed = dict.fromkeys(said, 0)
        for _ in range(draws):
            moved = 0.05 * rng.standard_normal()
            home, away, same = (
                passages(*one, rng) for one in ((here, 0.85), (there, 0.85 + moved), (there, 0.85))
            )
            for side, cluster in (("rows", None), ("clusters", "passage")):
                targets = (
                    {name: some for name, some in one.items() if name != "label"}
                    for one in (away, same)
                )
                plan = {
                    "methods": ["source", "doc", "ac", "atc"],
                    "backtest": None,
                    "cluster": cluster,
                }
                found, unmoved = (estimate(home, one, **plan).fell for one in targets)
                assert found is not None
                assert unmoved is not None
                said[side].append((found.p, moved <= -0.01))
                changed[side] += (unmoved.changed or 0) <= 0.05
        out: dict[str, object] = {"reference": here, "target": there}
        for side, some in said.items():
            p, fell = np.array(some).T
            sure = (p >= 0.8) | (p <= 0.2)
            out[side] = {
                "sure": float(sure.mean()),
                "said": float(np.where(p >= 0.5, p, 1 - p)[sure].mean()) if sure.any() else None,
                "true": float(((p >= 0.5) == fell)[sure].mean()) if sure.any() else None,
                "brier": float(np.square(p - fell).mean()),
                "changed": changed[side] / draws,
            }
        yield out


def page(result: kit.Result) -> str:
    cells = []
    for one in result["cells"]:
        sides = (f"{100 * one[s]['coverage']:.1f} ({100 * one[s]['width']:.0f})" for s in SIDES)
        cells.append(
            [
                one["sizes"],
                str(one["clusters"]),
                f"{one['correlation']:g}",
                f"{one['accuracy']:g}",
                *sides,
            ]
        )
    moves = []
    for one in result["falls"]["settings"]:
        for side, asked in (("rows", "no"), ("clusters", "yes")):
            shares = (
                "-"
                if one[side][name] is None
                else f"{one[side][name] * (1 if name == 'brier' else 100):{digits}}"
                for name, digits in (
                    ("sure", ".0f"),
                    ("said", ".0f"),
                    ("true", ".0f"),
                    ("brier", ".3f"),
                    ("changed", ".0f"),
                )
            )
            moves.append([str(one["reference"]), str(one["target"]), asked, *shares])
    lines = [
        "# Rows that depend on each other: coverage of nominal 95 % intervals, and mean width",
        "",
        f"`python -m benchmarks.clusters --draws {result['draws']}`; coverage in %, width in points. `rows` takes rows "
        "as independent.",
        "",
        *kit.table(["sizes", "clusters", "correlation", "accuracy", *SIDES], cells),
        "## The chance of a fall without labels",
        "",
        f"`--falls {result['falls']['draws']}`; in %. `sure`: how often the chance is 80 % and more or 20 % and less; "
        "`said`: how sure it is then on average, `true`: how often it is right; `Brier`: mean squared error of the "
        "chance; `changed`: how often a target in which nothing moved seems to have changed at the level 5 %.",
        "",
        *kit.table(
            [
                "passages: reference",
                "target",
                "--cluster",
                "sure",
                "said",
                "true",
                "Brier",
                "changed",
            ],
            moves,
            "rrlr",
        ),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    draws = given.before["draws"] if given.only_falls else given.draws
    found = given.before["cells"] if given.only_falls else list(cells(draws))
    moved = {"draws": given.falls, "settings": list(falls(given.falls))}
    return {"draws": draws, "level": LEVEL, "cells": found, "falls": moved}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "clusters",
            measure,
            page,
            draws=(1000, "draws a cell"),
            falls=(200, "draws of falls"),
            only_falls=(False, "keep the intervals of the result that is there"),
        )
    )
