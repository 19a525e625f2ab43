"""Rows to label next: does any way to choose them beat random rows on natural shifts? Writes results/suggested.*.

python -m benchmarks.natural.suggested     # 100 cases, some minutes; the cases are drawn by a fixed seed

Real target rows with their truth are labelled again and again: at random; by confidence, as `--suggest-by confidence`
draws them, and with a fixed even share of one half; and spread, one row of each n-th part of the target in the order of
its confidence. The believed interval is worked out each time, under a prior without the whole source of the case.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.kit import RESULTS
from benchmarks.natural.prior import fit_prior, source_of
from benchmarks.natural.run import unpack, work_folder
from benchmarks.natural.tables import LEVEL, Shift, read_shifts
from benchmarks.real.data import Floats, Ints
from oodometer.audits.judge import SMALL_TARGET, believed_interval, likelihood_labels, prior_cdf
from oodometer.audits.proxy import Correctness
from oodometer.audits.suggestion import choose_share
from oodometer.inference.betting import SampledRows, sizes
from oodometer.store import as_source

LABELS = (10, 25, 50, 100, 200)
AUDITS = 40
SEED = 0
BOLD = 0.5
DESIGNS = ("random", "by confidence", "by confidence, share 0.5", "spread")


def rows_of(case: Path) -> tuple[Correctness, Floats, Floats]:
    """What the reference taught, f on the target rows, and which of them are right."""
    reference = as_source(case / "reference.parquet")
    target, labels = (
        as_source(case / f"{name}.parquet", axes=reference.axes) for name in ("target", "labels")
    )
    learnt, rows = Correctness.fit(reference.read()), target.read()
    truth = labels.read(["label", "correct"])
    right = rows.predicted == truth.label if truth.correct is None else truth.correct
    return learnt, learnt(rows), np.asarray(right, dtype=np.float64)


def drawn(score: Floats, share: float, labels: int, rng: np.random.Generator) -> Ints:
    """Rows in the order of drawing, each with a chance in proportion to its size."""
    keys = np.log(sizes(score, share)) + rng.gumbel(size=len(score))
    row = np.argpartition(-keys, labels - 1)[:labels]
    return row[np.argsort(-keys[row])]


def spread(score: Floats, labels: int, rng: np.random.Generator) -> Ints:
    """A row at random of each of so many equal parts of the target in the order of f: every row has the same chance."""
    order = np.lexsort((rng.random(len(score)), score))
    edges = np.linspace(0, len(score), labels + 1)
    place = (edges[:-1] + rng.random(labels) * np.diff(edges)).astype(int)
    return order[np.minimum(place, len(score) - 1)]


def explained(score: Floats, right: Floats) -> float:
    """The share of a label's variance between tenths of the target by f: what no choice by f can take away more of."""
    whole = right.var()
    tenth = np.argsort(np.argsort(score, kind="stable")) * 10 // len(score)
    inner = np.mean([right[tenth == t].var() for t in range(10)])
    return float(1 - inner / whole) if whole > 0 else 0.0


def of_case(shift: Shift, case: Path, prior: Floats, seed: int) -> Iterator[dict[str, Any]]:
    """Coverage and width of the believed interval in every design, at every number of labels."""
    learnt, score, right = rows_of(case)
    rng = np.random.default_rng([seed, 0x50])
    truth, known = float(right.mean()), explained(score, right)
    for labels in LABELS:
        if len(score) < 4 * labels:
            continue
        share = choose_share(score, learnt.slope, labels, LEVEL) if learnt.slope > 0 else 1.0
        ways: dict[str, tuple[float, Callable[[], Ints]]] = {
            "random": (1.0, lambda n=labels: drawn(score, 1.0, n, rng)),
            "by confidence": (share, lambda n=labels, s=share: drawn(score, s, n, rng)),
            "by confidence, share 0.5": (BOLD, lambda n=labels: drawn(score, BOLD, n, rng)),
            "spread": (1.0, lambda n=labels: spread(score, n, rng)),
        }
        for name, (even, way) in ways.items():
            held, wide = [], []
            for _ in range(AUDITS):
                row, shares = way(), np.full(labels, even)
                rows = SampledRows(
                    row, right[row], shares, shares * np.nan, np.zeros(0, dtype=np.int64)
                )
                few = even == 1 and len(score) <= SMALL_TARGET * labels
                hits, worth, _ = likelihood_labels(rows, score)
                _, low, high = believed_interval(
                    prior, hits, worth, LEVEL, len(score) if few else None
                )
                held.append(low - 1e-9 <= truth <= high + 1e-9)
                wide.append(high - low)
            yield {"case": "/".join(shift.key), "group": shift.group, "labels": labels, "design": name, "share": even,
                   "coverage": float(np.mean(held)), "width": float(np.mean(wide)), "explained": known}  # fmt: skip


def summary(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each number of labels and design: means over cases, and the widths beside those of random rows."""
    out = []
    for natural in (True, False):
        for labels in LABELS:
            some = [f for f in found if f["labels"] == labels and (f["group"] != "same") == natural]
            random = {f["case"]: f["width"] for f in some if f["design"] == "random"}
            for design in DESIGNS:
                few = [f for f in some if f["design"] == design]
                if not few:
                    continue
                ratio = np.array([f["width"] / random[f["case"]] for f in few])
                out.append({
                    "cases of": "natural shifts" if natural else "same", "labels": labels, "design": design,
                    "cases": len(few), "uneven": round(float(np.mean([f["share"] < 1 for f in few])), 4),
                    "coverage": round(float(np.mean([f["coverage"] for f in few])), 4),
                    "width": round(float(np.mean([f["width"] for f in few])), 4),
                    "of_random": round(float(np.mean([f["width"] for f in few]) / np.mean(list(random.values()))), 4),
                    "worst_tenth": round(float(np.quantile(ratio, 0.9)), 4), "worst": round(float(ratio.max()), 4),
                })  # fmt: skip
    return out


def page(result: kit.Result) -> str:
    tenth, half, most = result["explained"]
    rows = [
        [c["cases of"], str(c["labels"]), c["design"], str(c["cases"]), f"{c['uneven']:.0%}", f"{c['coverage']:.1%}",
         f"{100 * c['width']:.1f}", f"{c['of_random']:.3f}", f"{c['worst_tenth']:.2f}", f"{c['worst']:.2f}"]
        for c in result["lines"]
    ]  # fmt: skip
    header = ["cases of", "labels", "rows", "cases", "uneven", "coverage", "width in points", "of random",
              "worst tenth", "worst"]  # fmt: skip
    lines = [
        "# Rows to label next, beside random rows",
        "",
        f"Made by `{result['command']}`; the figures are in `suggested.json`. Believed intervals of {LEVEL:.0%} from"
        f" {AUDITS} audits of each case's real rows. On natural shifts the tenths of a target by confidence explain"
        f" {half:.0%} of a label's variance in the median case ({tenth:.0%} and {most:.0%} at the outer tenths of"
        " cases): labels spread evenly over these tenths can gain at most about half of that in width. `uneven`: cases"
        " in which some rows were more likely than others; `worst tenth`, `worst`: of cases, with the chance of so few"
        " audits in them.",
        "",
        *kit.table(header, rows),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    work_folder().mkdir(parents=True, exist_ok=True)
    beds = unpack(work_folder())
    shifts, _ = read_shifts(RESULTS / "natural.json")
    able = [s for s in shifts if s.group != "classes"]
    chosen = [able[i] for i in np.random.default_rng(SEED).permutation(len(able))[: given.cases]]
    found: list[dict[str, Any]] = []
    for one in sorted(set(map(source_of, chosen))):
        prior = fit_prior([s for s in shifts if source_of(s) != one])
        for i, shift in enumerate(s for s in chosen if source_of(s) == one):
            cdf = prior_cdf(prior.levels, prior.quantile(shift.signs, prior.levels))
            found += of_case(shift, beds / shift.key[0] / shift.key[1], cdf, i)
    known = list({f["case"]: f["explained"] for f in found if f["group"] != "same"}.values())
    command = "python -m benchmarks.natural.suggested" + (
        "" if given.cases == 100 else f" --cases {given.cases}"
    )
    return {"command": command, "level": LEVEL, "explained": np.quantile(known, [0.1, 0.5, 0.9]).round(4).tolist(),
        "lines": summary(found)}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__, "suggested", measure, page, cases=(100, "how many, drawn by a fixed seed")
        )
    )
