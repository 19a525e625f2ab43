"""How often nominal 90 % intervals hold the truth when nothing has shifted; writes results/coverage.json and .md.

python benchmarks/real/coverage.py

A pool of real outputs plays the population: reference and target are drawn from it at random with replacement, so
that its own accuracy is the true accuracy of the population. An interval is held against that, and against the accuracy
of the very rows that were drawn as the target.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent.parent)
)  # for `python benchmarks/real/coverage.py`

import numpy as np

import oodometer
from benchmarks import kit
from benchmarks.kit import data_folder
from benchmarks.real.cases import DIGITS, LEVEL, Triple, line_of, run_methods
from benchmarks.real.data import load_cifar, load_outputs
from benchmarks.real.run import AGREEMENT_METHODS, CONFIDENCE_METHODS
from oodometer import Predictions

SIZES = (200, 1000, 5000)
REPETITIONS = 400
JUDGED = "resnet_basic_110"  # of the 30 models; its accuracy, 93.5 %, is about their mean
POOLS = {
    "cifar10": CONFIDENCE_METHODS,
    "20news": CONFIDENCE_METHODS,
    "cifar10-models": AGREEMENT_METHODS,
}
WHAT = {
    "cifar10": "one CIFAR-10 model, 10 classes, 10,000 rows of probabilities",
    "20news": "one 20news model, 20 classes, 7,532 rows of probabilities",
    "cifar10-models": f"`{JUDGED}` with the 29 other published CIFAR-10 models as members, 10,000 rows of classes",
}


@cache
def pool_of(name: str) -> Predictions:
    """The labelled record of a whole pool."""
    folder = data_folder()
    if name == "cifar10-models":
        models, _ = load_cifar(folder)
        return models.record(models.names.index(JUDGED), labelled=True)
    outputs = load_outputs(folder, name)
    return outputs.record(np.arange(len(outputs.label)), labelled=True)


def cell(task: tuple[str, int, int, int]) -> kit.Result:
    """One cell: pool, rows of the reference, rows of the target, repetitions; the first draw is kept for a check."""
    name, n_s, n_t, repetitions = task
    pool, right = pool_of(name), pool_of(name).verdicts
    truth = float(right.mean())
    results: dict[str, list[tuple[Triple, float]]] = {}
    for repetition in range(repetitions):
        rng = np.random.default_rng([repetition, n_s, n_t, 0xC0])
        reference, target = rng.integers(len(pool), size=n_s), rng.integers(len(pool), size=n_t)
        found = run_methods(pool.take(reference), pool.take(target).without_labels(), POOLS[name])
        for method, three in found.items():
            results.setdefault(method, []).append((three, float(right[target].mean())))
    methods = {}
    for method, rows in results.items():
        of_pool, of_rows = (
            line_of(method, [(three, truth) for three, _ in rows]),
            line_of(method, rows),
        )
        methods[method] = {"pool": round(of_pool.coverage, 4), "rows": round(of_rows.coverage, 4),
            "width": round(of_pool.width, 4), "bias": round(of_pool.bias, 4),
            "mae_rows": round(of_rows.mae, 4)}  # fmt: skip
    first = {m: [round(x, DIGITS) for x in rows[0][0]] for m, rows in results.items()}
    return {
        "pool": name,
        "n_S": n_s,
        "n_T": n_t,
        "repetitions": repetitions,
        "methods": methods,
        "first": first,
    }


def page(result: kit.Result) -> str:
    cells = result["cells"]
    error = math.sqrt(LEVEL * (1 - LEVEL) / cells[0]["repetitions"])
    low = LEVEL - 2 * error
    lines = [
        "# Coverage of nominal 90 % intervals without a shift",
        "",
        f"Made by `{result['command']}`; the figures are in `coverage.json`.",
        "",
        "Reference (n_S rows) and target (n_T rows) are drawn with replacement from one pool of real outputs, through"
        f" `oodometer.estimate` with its defaults but for the level. Share of {cells[0]['repetitions']} draws whose"
        f" interval holds the accuracy; its standard error is {100 * error:.1f} points where coverage is 90 %, and"
        f" figures below {low:.0%} are bold. The headline is judged in `quality.md`."
        " Columns are n_S / n_T. `source` states the accuracy of the population and leaves out the"
        " chance of the target's own rows. `ac` and `gde` are not corrected by the reference's accuracy: they are"
        " biased wherever confidence or agreement is not calibrated, shift or not.",
        "",
    ]
    for pool in dict.fromkeys(c["pool"] for c in cells):
        few = [c for c in cells if c["pool"] == pool]
        lines += [f"## {pool}: {WHAT[pool]}", ""]
        header = ["method", *(f"{c['n_S']} / {c['n_T']}" for c in few)]
        for title, figure, digits in (
            ("coverage of the accuracy of the drawn rows", "rows", ".0%"),
            ("coverage of the accuracy of the pool", "pool", ".0%"),
            ("mean width in points", "width", ".1f"),
            ("bias in points", "bias", "+.1f"),
        ):
            rows = []
            for method in few[0]["methods"]:
                values = [c["methods"][method][figure] for c in few]
                marks = ["**" if digits == ".0%" and value < low else "" for value in values]
                rows.append(
                    [method, *(f"{m}{v:{digits}}{m}" for m, v in zip(marks, values, strict=True))]
                )
            lines += [f"### {pool}: {title}", "", *kit.table(header, rows)]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    tasks = [
        (pool, n_s, n_t, given.repetitions) for pool in POOLS for n_s in SIZES for n_t in SIZES
    ]
    with ProcessPoolExecutor(given.workers) as workers:
        cells = list(workers.map(cell, tasks))
    command = "python benchmarks/real/coverage.py"
    if given.repetitions != REPETITIONS:
        command += f" --repetitions {given.repetitions}"
    return {"command": command, "version": oodometer.__version__, "level": LEVEL, "cells": cells}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "coverage",
            measure,
            page,
            repetitions=(REPETITIONS, "draws for each pair of sizes"),
            workers=(2, "processes"),
        )
    )
