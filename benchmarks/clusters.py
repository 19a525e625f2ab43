"""How often 95 % intervals hold the truth where rows depend on each other; writes results/clusters.json and .md.

python -m benchmarks.clusters [--draws N]

A share of right rows in 5 to 100 clusters, equal (10 rows), mildly uneven (1 + Poisson(9)) or very uneven (rounded
exp(N(1.8, 1))), with correlations 0 to 1 inside clusters (beta-binomial). The sides: Clopper and Pearson's interval
as if rows were independent; the mean of clusters with Student's quantile; ours.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from oodometer.inference.clusters import Clusters, clustered_share, student_quantile
from oodometer.intervals import clopper_pearson

LEVEL = 0.95
HOME = Path(__file__).parent / "results"
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
    half = student_quantile(LEVEL, count - 1) * float(np.sqrt(count / (count - 1) * np.square(spread).sum()))
    clusters = Clusters(np.arange(count, dtype=np.uint64), np.stack([sizes, hits, hits]).astype(float))
    return {
        "rows": clopper_pearson(int(hits.sum()), rows, LEVEL),
        "clusters, t": (max(value - half, 0.0), min(value + half, 1.0)),
        "ours": clustered_share(clusters, rows, float(value), LEVEL),
    }


def cells(draws: int) -> Iterator[dict[str, object]]:
    """Coverage and mean width of each side in each setting."""
    settings = product(("equal", "mild", "uneven"), (5, 10, 20, 30, 100), (0.0, 0.3, 1.0), (0.5, 0.9))
    for number, (kind, count, correlation, accuracy) in enumerate(settings):
        rng = np.random.default_rng([number, 0xC1])
        inside, width = dict.fromkeys(SIDES, 0), dict.fromkeys(SIDES, 0.0)
        for _ in range(draws):
            sizes = sizes_of(kind, count, rng)
            if correlation in (0, 1):
                easy = np.full(count, accuracy) if correlation == 0 else (rng.random(count) < accuracy).astype(float)
            else:
                total = 1 / correlation - 1
                easy = rng.beta(accuracy * total, (1 - accuracy) * total, count)
            for side, (low, high) in intervals(rng.binomial(sizes, easy), sizes).items():
                inside[side] += low <= accuracy <= high
                width[side] += high - low
        sides = {s: {"coverage": inside[s] / draws, "width": width[s] / draws} for s in SIDES}
        yield {"sizes": kind, "clusters": count, "correlation": correlation, "accuracy": accuracy, **sides}


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    found = list(cells(draws))
    lines = [
        "# Rows that depend on each other: coverage of nominal 95 % intervals, and mean width",
        "",
        f"`python -m benchmarks.clusters --draws {draws}`; coverage in %, width in points. `rows` takes rows as "
        "independent.",
        "",
        "| sizes | clusters | correlation | accuracy | " + " | ".join(SIDES) + " |",
        "|---|---:|---:|---:|" + "---:|" * len(SIDES),
    ]
    for one in found:
        said = (f"{100 * one[s]['coverage']:.1f} ({100 * one[s]['width']:.0f})" for s in SIDES)  # type: ignore[index]
        lines.append(
            f"| {one['sizes']} | {one['clusters']} | {one['correlation']:g} | {one['accuracy']:g} | "
            + " | ".join(said)
            + " |"
        )
    (HOME / "clusters.json").write_text(json.dumps({"draws": draws, "level": LEVEL, "cells": found}, indent=1) + "\n")
    (HOME / "clusters.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
