"""How often nominal 90 % intervals hold the truth when nothing has shifted; writes results/coverage.json and .md.

python benchmarks/real/coverage.py

A pool of real outputs plays the population: reference and target are drawn from it at random with replacement, so
that its own accuracy is the true accuracy of the population. An interval is held against that, and against the accuracy
of the very rows that were drawn as the target.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))  # for `python benchmarks/real/coverage.py`

import numpy as np

import oodometer
from benchmarks.real.cases import DIGITS, LEVEL, Line, Triple, line_of, run_methods
from benchmarks.real.data import RESULTS, data_folder, load_cifar, load_outputs
from benchmarks.real.run import AGREEMENT_METHODS, CONFIDENCE_METHODS
from benchmarks.real.tables import markdown
from oodometer import Predictions

SIZES = (200, 1000, 5000)
REPETITIONS = 400
JUDGED = "resnet_basic_110"  # of the 30 models; its accuracy, 93.5 %, is about their mean
POOLS = {"cifar10": CONFIDENCE_METHODS, "20news": CONFIDENCE_METHODS, "cifar10-models": AGREEMENT_METHODS}
WHAT = {
    "cifar10": "one CIFAR-10 model, 10 classes, 10,000 rows of probabilities",
    "20news": "one 20news model, 20 classes, 7,532 rows of probabilities",
    "cifar10-models": f"`{JUDGED}` with the 29 other published CIFAR-10 models as members, 10,000 rows of classes",
}


@dataclass(frozen=True)
class Cell:
    """Results of all methods in one pool at one pair of sizes; the first draw's estimates are kept for a check."""

    pool: str
    reference_rows: int
    target_rows: int
    repetitions: int
    against_pool: list[Line]
    against_rows: list[Line]
    first: dict[str, Triple]

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping."""
        methods = {
            p.method: {"pool": round(p.coverage, 4), "rows": round(r.coverage, 4), "width": round(p.width, 4),
                       "bias": round(p.bias, 4), "mae_rows": round(r.mae, 4)}
            for p, r in zip(self.against_pool, self.against_rows, strict=True)
        }  # fmt: skip
        first = {m: [round(x, DIGITS) for x in three] for m, three in self.first.items()}
        return {"pool": self.pool, "n_S": self.reference_rows, "n_T": self.target_rows,
                "repetitions": self.repetitions, "methods": methods, "first": first}  # fmt: skip


@cache
def pool_of(name: str) -> Predictions:
    """The labelled record of a whole pool."""
    folder = data_folder()
    if name == "cifar10-models":
        models, _ = load_cifar(folder)
        return models.record(models.names.index(JUDGED), labelled=True)
    outputs = load_outputs(folder, name)
    return outputs.record(np.arange(len(outputs.label)), labelled=True)


def measure(task: tuple[str, int, int, int]) -> Cell:
    """One cell: pool, rows of the reference, rows of the target, repetitions."""
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
    return Cell(
        name, n_s, n_t, repetitions,
        [line_of(m, [(three, truth) for three, _ in rows]) for m, rows in results.items()],
        [line_of(m, rows) for m, rows in results.items()],
        {m: rows[0][0] for m, rows in results.items()})  # fmt: skip


def tables(cells: Sequence[Cell], command: str) -> Iterator[str]:
    """The page: for each pool, coverage of the drawn rows, of the pool, and width."""
    repetitions = cells[0].repetitions
    error = math.sqrt(LEVEL * (1 - LEVEL) / repetitions)
    low = LEVEL - 2 * error
    yield "# Coverage of nominal 90 % intervals without a shift"
    yield ""
    yield f"Made by `{command}`; the figures are in `coverage.json`."
    yield ""
    yield (
        "Reference (n_S rows) and target (n_T rows) are drawn with replacement from one pool of real outputs, through"
        f" `oodometer.estimate` with its defaults but for the level. Share of {repetitions} draws whose interval holds"
        f" the accuracy; its standard error is {100 * error:.1f} points where coverage is 90 %, and figures below"
        f" {low:.0%} are bold. The headline is judged in `quality.md`."
        " Columns are n_S / n_T. `source` states the accuracy of the population and leaves out the"
        " chance of the target's own rows. `ac` and `gde` are not corrected by the reference's accuracy: they are"
        " biased wherever confidence or agreement is not calibrated, shift or not."
    )
    yield ""
    for pool in dict.fromkeys(c.pool for c in cells):
        few = [c for c in cells if c.pool == pool]
        yield f"## {pool}: {WHAT[pool]}"
        yield ""
        header = ["method", *(f"{c.reference_rows} / {c.target_rows}" for c in few)]
        for title, of_rows in (("Coverage of the accuracy of the drawn rows", True),
                               ("Coverage of the accuracy of the pool", False)):  # fmt: skip
            yield f"### {pool}: {title[0].lower()}{title[1:]}"
            yield ""
            rows = []
            for i, line in enumerate(few[0].against_rows):
                found = [(c.against_rows if of_rows else c.against_pool)[i].coverage for c in few]
                rows.append([line.method, *(f"**{x:.0%}**" if x < low else f"{x:.0%}" for x in found)])
            yield from markdown(header, rows)
        for title, figure in (("mean width in points", "width"), ("bias in points", "bias")):
            sign = "+" if figure == "bias" else ""
            yield f"### {pool}: {title}"
            yield ""
            rows = [[line.method, *(f"{getattr(c.against_pool[i], figure):{sign}.1f}" for c in few)]
                    for i, line in enumerate(few[0].against_pool)]  # fmt: skip
            yield from markdown(header, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every cell, on several processes, and write the JSON and the page."""
    parser = argparse.ArgumentParser(prog="python benchmarks/real/coverage.py")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="draws for each pair of sizes")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for coverage.json and coverage.md")
    chosen = parser.parse_args(arguments)
    tasks = [(pool, n_s, n_t, chosen.repetitions) for pool in POOLS for n_s in SIZES for n_t in SIZES]
    start = time.perf_counter()
    cells: list[Cell] = []
    with ProcessPoolExecutor(chosen.workers) as workers:
        for cell in workers.map(measure, tasks):
            cells.append(cell)
            passed = time.perf_counter() - start
            print(f"{len(cells)} of {len(tasks)} cells, {passed:.0f} s", file=sys.stderr)
    command = "python benchmarks/real/coverage.py"
    if chosen.repetitions != REPETITIONS:
        command += f" --repetitions {chosen.repetitions}"
    chosen.out.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join("    " + json.dumps(c.to_dict()) for c in cells)
    head = {"command": command, "version": oodometer.__version__, "level": LEVEL}
    parts = [f'  "{k}": {json.dumps(v)}' for k, v in head.items()]
    text = "{\n" + ",\n".join([*parts, f'  "cells": [\n{rows}\n  ]']) + "\n}\n"
    (chosen.out / "coverage.json").write_text(text, encoding="utf-8")
    page = "\n".join(tables(cells, command)).rstrip() + "\n"
    (chosen.out / "coverage.md").write_text(page, encoding="utf-8")
    print(chosen.out / "coverage.json", chosen.out / "coverage.md", sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
