"""How often the interval of each metric without labels holds the truth, and how wide it is, where the shift is known.

python -m benchmarks.metric_coverage                 # 200 draws: results/metric_coverage.json and .md
python -m benchmarks.metric_coverage --tables        # the page again

Logits of the positive class are normal, labels are drawn from the probabilities, so that these are calibrated. The
reference has N(-0.7, 2). Covariate shift draws other logits, label shift draws other shares of the classes from the
reference's own distribution. Every draw has its own reference and target, of equally many rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks import kit

LEVEL, NOMINAL, DRAWS, ROWS = 0.9, (0.86, 0.98), 200, (500, 5000)
TRIED = (
    20  # draws with all methods and their trials, which the default of the accuracy alone asks for
)
REFERENCE = (-0.7, 2.0)
# the logits of a target, or its share of the positive class, and the assumptions that hold
SHIFTS: dict[str, tuple[tuple[float, float] | float, tuple[str, ...]]] = {
    "no shift": (REFERENCE, ("none", "covariate", "label")),
    "covariate, down": ((-1.6, 1.6), ("covariate",)), "covariate, up": ((0.2, 2.4), ("covariate",)),
    "label, down": (0.2, ("label",)), "label, up": (0.65, ("label",))}  # fmt: skip
METRICS = ("f1", "precision", "recall", "specificity", "roc_auc", "average_precision", "balanced_accuracy", "mcc",
           "cohen_kappa", "macro_precision", "macro_recall", "macro_f1", "brier", "nll", "ece",
           "expected_value")  # fmt: skip
PAYOFF = {"0": {"0": 1, "1": -2}, "1": {"0": -5, "1": 3}}
ERRORS = ("error of the default", "of `--assume covariate`")
METHODS = ("source", "cbpe", "pape", "importance", "label-shift")


def drawn(
    rng: np.random.Generator, rows: int, shift: tuple[float, float] | float = REFERENCE
) -> dict[str, Any]:
    """A record: calibrated probabilities and labels, of logits N(mean, sd) or of this share of the positive class."""
    moments = REFERENCE if isinstance(shift, float) else shift
    p = 1 / (1 + np.exp(-rng.normal(*moments, 20 * rows if isinstance(shift, float) else rows)))
    label = (rng.random(len(p)) < p).astype(int)
    if isinstance(shift, float):
        positives = rng.binomial(rows, shift)
        parts = (
            np.flatnonzero(label == 1)[:positives],
            np.flatnonzero(label == 0)[: rows - positives],
        )
        chosen = rng.permutation(np.concatenate(parts))
        p, label = p[chosen], label[chosen]
    return {"probabilities": np.stack([1 - p, p], axis=1), "label": label}


def measured(shift: str, rows: int, draw: int) -> dict[str, Any]:
    """The truth of each metric, and value and ends of every answer: of the assumptions and of the methods alone."""
    import oodometer

    tried = draw < TRIED
    rng = np.random.default_rng([list(SHIFTS).index(shift), rows, draw])
    reference, target = drawn(rng, rows), drawn(rng, rows, SHIFTS[shift][0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = oodometer.estimate(
            reference, target, metrics=METRICS, payoff=PAYOFF, level=LEVEL,
            **({} if tried else {"backtest": None, "methods": [*METHODS, "leap"]}))  # fmt: skip
    truth = float(np.mean(target["probabilities"].argmax(axis=1) == target["label"]))
    made = {"accuracy": (truth, found.assumptions, found.estimates)}
    made |= {
        name: (one.truth.value, one.assumptions, one.estimates)
        for name, one in found.metrics.items()
        if one.truth
    }
    answers = {
        name: {
            "truth": truth,
            **{key: _three(one.interval) for key, one in assumptions.items() if one.interval},
            **{e.method: _three(e) for e in estimates if e.method in METHODS},
        }
        for name, (truth, assumptions, estimates) in made.items()
    }
    if not tried:
        del answers["accuracy"]["natural"]
    kind = found.diagnosis.kind if found.diagnosis else ""
    return {"shift": shift, "rows": rows, "draw": draw, "kind": kind, "answers": answers}


def _three(one: Any) -> list[float]:
    return [round(float(v), 5) for v in (one.value, one.lower, one.upper)]


def figures(draws: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Coverage and width by shift, rows, metric and answer."""
    cells: dict[tuple[str, int, str, str], list[tuple[bool, float, float]]] = defaultdict(list)
    for one in draws:
        for metric, answers in one["answers"].items():
            truth = answers["truth"]
            for answer, three in answers.items():
                if answer != "truth":
                    value, lower, upper = three
                    cells[one["shift"], one["rows"], metric, answer].append(
                        (
                            lower <= truth + 1e-5 and truth - 1e-5 <= upper,
                            upper - lower,
                            abs(value - truth),
                        )
                    )
    return [
        {"shift": shift, "rows": rows, "metric": metric, "answer": answer, "draws": len(some),
         "coverage": round(mean(h for h, _, _ in some), 4), "width": round(mean(w for _, w, _ in some), 4),
         "error": round(mean(e for _, _, e in some), 4)}
        for (shift, rows, metric, answer), some in cells.items()
    ]  # fmt: skip


def page(plain: dict[str, Any]) -> str:
    by = {(f["shift"], f["rows"], f["metric"], f["answer"]): f for f in plain["figures"]}
    metrics = list(dict.fromkeys(f["metric"] for f in plain["figures"]))
    lines = ["# Coverage of metrics without labels under known shifts", "",
             f"Made by `{plain['command']}`. Coverage and mean width, in points, of intervals of {LEVEL:.0%}; the best "
             f"single method is the narrowest of {', '.join(f'`{m}`' for m in METHODS)} that covers at least "
             f"{NOMINAL[0]:.0%}. The standard error of a coverage is about 2 points. The default of the accuracy is "
             f"that of {TRIED} draws.", ""]  # fmt: skip
    for shift, (_, holds) in SHIFTS.items():
        for rows in sorted({f["rows"] for f in plain["figures"]}):
            kinds = ", ".join(
                f"{kind} {n}" for kind, n in plain["kinds"][f"{shift}, {rows}"].items()
            )
            table = []
            for metric in metrics:
                able = [
                    f
                    for m in METHODS
                    if (f := by.get((shift, rows, metric, m))) and f["coverage"] >= NOMINAL[0]
                ]
                best = min(able, key=lambda f: f["width"], default=None)
                cells = [by[shift, rows, metric, one] for one in (*holds, "natural")]
                least = ["", ""] if best is None else [best["answer"], f"{100 * best['width']:.1f}"]
                errors = [
                    f"{100 * by[shift, rows, metric, one]['error']:.1f}"
                    for one in ("natural", "covariate")
                ]
                table.append(
                    [metric, *(x for c in cells for x in _cells(c, best)), *least, *errors]
                )
            header = ["metric"]
            for one in (*holds, "natural"):
                header += [
                    f"`--assume {one}`" if one != "natural" else "default",
                    "width",
                    "of the best",
                ]
            lines += [f"## {shift}, {rows:,} rows on either side (diagnosis: {kinds})", "",
                      *kit.table([*header, "best method", "width", *ERRORS], table)]  # fmt: skip
    return kit.joined(lines)


def _cells(cell: dict[str, Any], best: dict[str, Any] | None) -> list[str]:
    ratio = "" if best is None else f"{cell['width'] / best['width']:.2f}"
    return [f"{cell['coverage']:.1%}", f"{100 * cell['width']:.1f}", ratio]


def measure(given: argparse.Namespace) -> kit.Result:
    start, draws = time.process_time(), []
    for draw in range(given.draws):
        draws += [measured(shift, rows, draw) for rows in given.rows for shift in SHIFTS]
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for one in draws:
        kinds[f"{one['shift']}, {one['rows']}"][one["kind"]] += 1
    few = "" if given.draws == DRAWS else f" --draws {given.draws}"
    return {"command": f"python -m benchmarks.metric_coverage{few}", "cpu_seconds": round(time.process_time() - start),
        "kinds": {name: dict(count.most_common()) for name, count in kinds.items()},
        "figures": figures(draws)}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "metric_coverage",
            measure,
            page,
            draws=(DRAWS, "of each shift and number of rows"),
            rows={"type": int, "nargs": "*", "default": ROWS, "help": "of reference and target"},
        )
    )
