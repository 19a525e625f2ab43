"""How often the intervals of an audit hold the truth, and how wide they are; writes results/audit.json and audit.md.

python -m benchmarks.quality.audit

Real outputs are split in half: one half is the reference, the target is drawn from the other, with and without another
mix of classes. In each of 2,000 audits some target rows are labelled, at random or as `suggest` draws them, and the
intervals are held against the accuracy of all target rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

import numpy as np

import oodometer
from benchmarks import kit
from benchmarks.kit import data_folder
from benchmarks.real.data import OUTPUTS, Floats, Ints, Shift, load_outputs, redraw
from oodometer.audits.judge import confidence_pays, hypergeometric, ppi_plus_plus
from oodometer.audits.proxy import Correctness
from oodometer.audits.suggestion import choose_share
from oodometer.inference.betting import betting_interval, sampled_game, sampled_mean, sizes
from oodometer.intervals import clopper_pearson

LEVEL = 0.9
LABELS = (10, 25, 50, 200)
AUDITS = 2000
SPLITS = 10
SHIFTS = (Shift("none"), Shift("label, alpha 1", "label", 1.0))
LOWEST = 0.89
RANDOM = ("clopper-pearson", "hypergeometric", "ppi-betting", "printed")
SUGGESTED = ("suggested, betting", "suggested, ppi-betting", "suggested, printed")
CONTRAST = "ppi++"
METHODS = (*RANDOM, *SUGGESTED, CONTRAST)
Pair = tuple[Floats, Floats]


def targets(name: str, shift: Shift) -> Iterator[tuple[Correctness, Floats, Floats]]:
    """Of each split: what the reference taught, f on the target, and which target rows are right."""
    outputs = load_outputs(data_folder(), name)
    for seed in range(SPLITS):
        rng = np.random.default_rng([seed, 0xA0D])
        rows = rng.permutation(len(outputs.label))
        half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        chosen = rest if not shift.by else rest[redraw(outputs.label[rest], shift.alpha, rng)]
        learnt = Correctness.fit(outputs.record(half, labelled=True))
        yield (
            learnt,
            learnt(outputs.record(chosen, labelled=False)),
            outputs.right[chosen].astype(float),
        )


def draw(score: Floats, share: float, audits: int, labels: int, rng: np.random.Generator) -> Ints:
    """Rows of each audit in the order of drawing, shape (audit, label)."""
    keys = np.log(sizes(score, share)) + rng.gumbel(size=(audits, len(score)))
    row = np.argpartition(-keys, labels - 1, axis=1)[:, :labels]
    order = np.argsort(-np.take_along_axis(keys, row, axis=1), axis=1)
    return np.take_along_axis(row, order, axis=1)


@cache
def exact(hits: int, labels: int, rows: int) -> tuple[float, float, float, float]:
    """Clopper-Pearson's ends and the hypergeometric ones."""
    return *clopper_pearson(hits, labels, LEVEL), *hypergeometric(hits, labels, rows, LEVEL)


def betting(row: Ints, right: Floats, score: Floats, share: float, slope: float) -> Pair:
    hits, rows = right[row].sum(axis=1), len(score)
    game = sampled_game(row, right[row], np.full(row.shape[1], share), score, slope)
    return betting_interval(game, LEVEL, hits / rows, (hits + rows - row.shape[1]) / rows)


def audits_of(
    learnt: Correctness, score: Floats, right: Floats, labels: int, seed: int
) -> dict[str, Any]:
    """The ends of every interval in the audits of one split, and the suggested estimate's mean error."""
    rng = np.random.default_rng([seed, labels, 0xA0E])
    audits, rows, slope = AUDITS // SPLITS, len(score), learnt.slope
    row = draw(score, 1.0, audits, labels, rng)
    ends = np.array([exact(int(k), labels, rows) for k in right[row].sum(axis=1)])
    found: dict[str, Any] = {"clopper-pearson": (ends[:, 0], ends[:, 1]), "hypergeometric": (ends[:, 2], ends[:, 3]),
        "ppi-betting": betting(row, right, score, 1.0, slope)}  # fmt: skip
    alone = "hypergeometric" if rows <= 100 * labels else "clopper-pearson"
    found["printed"] = found[
        "ppi-betting" if confidence_pays(score, slope, labels, LEVEL) else alone
    ]
    plus = [ppi_plus_plus(right[r], score[r], float(score.mean()), rows, LEVEL) for r in row]
    found[CONTRAST] = (np.array([p[1] for p in plus]), np.array([p[2] for p in plus]))
    share = choose_share(score, slope, labels, LEVEL)
    row = draw(score, share, audits, labels, rng)
    for name, lean in zip(SUGGESTED[:2], (0.0, slope), strict=True):
        found[name] = betting(row, right, score, share, lean)
    printed = found["suggested, ppi-betting"]
    if share == 1 and not confidence_pays(score, slope, labels, LEVEL):
        ends = np.array([exact(int(k), labels, rows) for k in right[row].sum(axis=1)])
        printed = (
            (ends[:, 2], ends[:, 3]) if alone == "hypergeometric" else (ends[:, 0], ends[:, 1])
        )
    found["suggested, printed"] = printed
    shares = np.full(labels, share)
    found["error"] = sampled_mean(row, right[row], shares, score, slope) - right.mean()
    return found


def of_set(task: tuple[str, Shift, int]) -> dict[str, Any]:
    """Coverage and mean width of each interval in one set, under one shift, with so many labels."""
    name, shift, labels = task
    held: dict[str, list[Floats]] = {m: [] for m in METHODS}
    wide: dict[str, list[Floats]] = {m: [] for m in METHODS}
    truths, errors = [], []
    for seed, (learnt, score, right) in enumerate(targets(name, shift)):
        found = audits_of(learnt, score, right, labels, seed)
        truth = float(right.mean())
        truths.append(truth)
        errors.append(found["error"])
        for m in METHODS:
            low, high = found[m]
            held[m].append((low <= truth + 1e-9) & (truth - 1e-9 <= high))
            wide[m].append(high - low)
    error = np.concatenate(errors)
    return {
        "set": name, "shift": shift.name, "labels": labels, "accuracy": round(float(np.mean(truths)), 4),
        "coverage": {m: round(float(np.mean(np.concatenate(held[m]))), 4) for m in METHODS},
        "width": {m: round(float(np.mean(np.concatenate(wide[m]))), 4) for m in METHODS},
        "suggested_bias": round(float(error.mean()), 5),
        "suggested_bias_error": round(float(error.std(ddof=1) / np.sqrt(len(error))), 5),
    }  # fmt: skip


def page(result: kit.Result) -> str:
    cells = result["cells"]
    lowest = min(c["coverage"][m] for c in cells for m in (*RANDOM, *SUGGESTED))
    bias = max(
        abs(c["suggested_bias"] / c["suggested_bias_error"])
        for c in cells
        if c["suggested_bias_error"]
    )
    lines = [
        "# Audits: coverage and width of nominal 90 % intervals",
        "",
        f"Made by `{result['command']}`; the figures are in `audit.json`.",
        "",
        f"{AUDITS:,} audits in each line, spread over {SPLITS} random halves of real outputs. `printed` is the interval"
        " that `audit` shows for labels drawn at random; `suggested` labels were drawn as `--suggest` draws them."
        " `ppi++` is an asymptotic interval, computed here at every number of labels for contrast; `audit` shows it"
        " from 200 labels and 50 predicted errors on, and never as its estimate below 20,000 labels.",
        "",
        f"Lowest coverage of the intervals called exact: {lowest:.1%}. The mean error of the estimate from suggested"
        f" labels is at most {bias:.1f} of its own standard errors away from 0, in {len(cells)} lines.",
        "",
    ]
    for title, key in (("Coverage", "coverage"), ("Mean width in points", "width")):
        rows = []
        for c in cells:
            shown = [f"{100 * c[key][m]:.1f}" for m in METHODS]
            if key == "coverage":
                shown = [
                    s if c[key][m] >= LOWEST else f"**{s}**"
                    for s, m in zip(shown, METHODS, strict=True)
                ]
            rows.append(
                [
                    f"{c['set']}, {c['shift']}",
                    f"{100 * c['accuracy']:.1f}",
                    str(c["labels"]),
                    *shown,
                ]
            )
        lines += [
            f"## {title}",
            "",
            *kit.table(["set, shift", "accuracy", "labels", *METHODS], rows),
        ]
    return kit.joined([*lines, f"Coverage in percent; below {LOWEST:.0%} it is bold."])


def measure(given: argparse.Namespace) -> kit.Result:
    tasks = [(name, shift, n) for name in OUTPUTS for shift in SHIFTS for n in LABELS]
    with ProcessPoolExecutor(given.workers) as workers:
        cells = list(workers.map(of_set, tasks))
    return {"command": "python -m benchmarks.quality.audit", "version": oodometer.__version__, "level": LEVEL,
        "audits": AUDITS, "cells": cells}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "audit", measure, page, workers=(2, "processes")))
