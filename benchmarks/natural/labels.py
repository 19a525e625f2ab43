"""What few random labels are worth beside the prior of natural shifts; writes results/labels.json and labels.md.

python -m benchmarks.natural.labels     # from results/natural.json, some minutes; no estimate is made anew

For each case of `python -m benchmarks.natural` and each number of labels, the believed interval and Clopper-Pearson's
are worked out for every number of hits that random rows of the target can give, and weighed by its chance
(hypergeometric). The prior is fitted without the whole source of the case.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from benchmarks import kit
from benchmarks.kit import RESULTS
from benchmarks.natural.prior import fit_prior, source_of
from benchmarks.natural.tables import GROUPS, LEVEL, Shift, read_shifts
from oodometer.audits.judge import SMALL_TARGET, believed_below, believed_interval, effective_labels, prior_cdf
from oodometer.headline.natural_shifts import NaturalShifts, verdict_of
from oodometer.intervals import clopper_pearson

LABELS = (10, 25, 50, 100)
PROMISED = {10: (0.55, 30), 25: (0.68, 50), 50: (0.77, 80)}  # width of Clopper-Pearson's; worth in labels
COVERAGE = 0.88
MARGINS = (0.01, 0.03, 0.05)
LIKELY = 1e-6  # chance of a number of hits below which it is left out
COUNTS = np.unique(np.round(np.geomspace(5, 2000, 60))).astype(int)  # of labels, for what a width is worth
Case = dict[str, Any]


@cache
def exact(hits: int, labels: int) -> tuple[float, float]:
    """Clopper-Pearson's interval."""
    return clopper_pearson(hits, labels, LEVEL)


def labelled(shift: Shift, prior: NaturalShifts, labels: int) -> Case | None:
    """Expected coverage and width of both intervals in a case; None where the target has no more rows than that."""
    rows, truth = shift.case.rows, shift.case.truth
    if rows <= labels:
        return None
    hits = np.arange(labels + 1)
    chance = hypergeom.pmf(hits, rows, round(truth * rows), labels)
    known = prior_cdf(prior.levels, prior.quantile(shift.signs, prior.levels))
    small = rows if rows <= SMALL_TARGET * labels else None
    out, said = np.zeros(4), 0.0
    for k in hits[chance > LIKELY].tolist():
        value, low, high = believed_interval(known, k, labels, LEVEL, small)
        least, most = exact(k, labels)
        inside = low - 1e-9 <= truth <= high + 1e-9
        out += chance[k] * np.array([inside, high - low, most - least, abs(value - truth)])
        if k == int(chance.argmax()):
            said = effective_labels(value, high - low, LEVEL, rows)
    names = ("coverage", "width", "exact_width", "error")
    told = {"said": said, "falls": falls(shift, known, labels, chance)}
    return {**dict(zip(names, (out / chance[chance > LIKELY].sum()).tolist(), strict=True)), **told}


def falls(shift: Shift, known: np.ndarray, labels: int, chance: np.ndarray) -> dict[float, tuple[float, float]]:
    """Margin -> chance that the labels decide whether the accuracy fell by so much, and that they decide it wrongly."""
    source, out = shift.signs.source, {}
    likely = np.flatnonzero(chance > LIKELY)
    for margin in MARGINS:
        fell = source - shift.case.truth >= margin
        said = [verdict_of(believed_below(known, int(k), labels, source - margin)) for k in likely]
        decided = np.array([one != "cannot say" for one in said])
        wrong = np.array([one == ("holds" if fell else "fell") for one in said])
        weight = chance[likely] / chance[likely].sum()
        out[margin] = (float(weight @ decided), float(weight @ wrong))
    return out


def exact_widths(truth: float) -> np.ndarray:
    """Expected width of Clopper-Pearson's interval at each of `COUNTS`."""
    out = []
    for n in COUNTS.tolist():
        chance = binom.pmf(np.arange(n + 1), n, truth)
        likely = np.flatnonzero(chance > LIKELY)
        out.append(sum(chance[k] * (exact(k, n)[1] - exact(k, n)[0]) for k in likely.tolist()) / chance[likely].sum())
    return np.array(out)


def of_source(task: tuple[str, Sequence[Shift], NaturalShifts]) -> list[Case]:
    """All cases of one source, at every number of labels, under a prior without it."""
    source, shifts, prior = task
    out = []
    for shift in shifts:
        widths = exact_widths(shift.case.truth)
        for labels in LABELS:
            found = labelled(shift, prior, labels)
            if found is not None:
                out.append({"source": source, "group": shift.group, "labels": labels, "widths": widths, **found})
    return out


def figures(cases: Sequence[Case]) -> dict[str, Any]:
    """Means over cases; ``worth`` is how many labels Clopper-Pearson needs for so short a mean width."""
    width, whole = mean(c["width"] for c in cases), mean(c["exact_width"] for c in cases)
    curve = np.mean([c["widths"] for c in cases], axis=0)
    worth = float(np.exp(np.interp(-width, -curve, np.log(COUNTS))))
    coverage, error = (round(mean(c[what] for c in cases), 4) for what in ("coverage", "error"))
    said = round(float(np.median([c["said"] for c in cases])), 1)
    falls = {
        f"{what}_{100 * margin:.0f}": round(mean(c["falls"][margin][i] for c in cases), 4)
        for margin in MARGINS
        for i, what in enumerate(("decided", "wrong"))
    }
    return {"cases": len(cases), "coverage": coverage, "width": round(width, 4), "exact_width": round(whole, 4),
        "ratio": round(width / whole, 4), "worth": round(worth, 1), "said": said, "error": error, **falls}  # fmt: skip


def summary(cases: Sequence[Case]) -> dict[str, list[dict[str, Any]]]:
    """Lines by group of beds and by source."""
    natural = [c for c in cases if c["group"] != "same"]
    few = {"natural shifts": natural} | {g: [c for c in cases if c["group"] == g] for g in GROUPS}
    sources = {one: [c for c in natural if c["source"] == one] for one in sorted({c["source"] for c in natural})}
    return {
        title: [
            {"cases of": name, "labels": n, **figures([c for c in some if c["labels"] == n])}
            for name, some in found.items()
            for n in LABELS
            if any(c["labels"] == n for c in some)
        ]
        for title, found in (("groups", few), ("sources", sources))
    }


def promises(groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is promised of natural shifts."""
    out = []
    for line in groups:
        if line["cases of"] == "natural shifts" and line["labels"] in PROMISED:
            n, (ratio, worth) = line["labels"], PROMISED[line["labels"]]
            for figure, found, promise, holds in (
                ("coverage", f"{line['coverage']:.3f}", f"at least {COVERAGE}", line["coverage"] >= COVERAGE),
                ("width of Clopper-Pearson's", f"{line['ratio']:.3f}", f"at most {ratio}", line["ratio"] <= ratio),
                ("worth", f"{line['worth']:.0f}", f"at least {worth}", line["worth"] >= worth),
            ):
                out.append({"figure": f"{figure}, {n} labels", "found": found, "promise": promise, "holds": holds})
    return out


def page(result: kit.Result) -> str:
    held = [
        [one["figure"], one["found"], one["promise"], "yes" if one["holds"] else "**NO**"]
        for one in promises(result["groups"])
    ]
    lines = [
        "# Few labels beside the prior of natural shifts",
        "",
        f"Made by `python -m benchmarks.natural.labels` from {result['cases']} cases of `natural.json`; the figures are"
        f" in `labels.json`. Believed intervals of {LEVEL:.0%} from n random rows, beside Clopper-Pearson's of the same"
        " rows: expectations over every number of hits that the rows of the target can give. The prior is fitted"
        " without the whole source of a case. `worth`: how many random labels Clopper-Pearson needs for the same"
        " mean width; `said`: the median over cases of what an audit with the likeliest number of hits says; `error`:"
        " of the median of the posterior, in points. Cases whose target has no more rows than labels are left out.",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
    ]
    header = ["cases of", "labels", "cases", "coverage", "width in points", "of Clopper-Pearson's", "worth", "said",
              "error"]  # fmt: skip
    for title, name in (("By group of beds", "groups"), ("Natural shifts, by source", "sources")):
        rows = [
            [c["cases of"], str(c["labels"]), str(c["cases"]), f"{c['coverage']:.1%}", f"{100 * c['width']:.1f}",
             f"{c['ratio']:.2f}", f"{c['worth']:.0f}", f"{c['said']:.0f}", f"{100 * c['error']:.1f}"]
            for c in result[name]
        ]  # fmt: skip
        lines += [f"## {title}", "", *kit.table(header, rows)]
    pairs = [(what, m) for m in MARGINS for what in ("decided", "wrong")]
    rows = [
        [c["cases of"], str(c["labels"]), *(f"{c[f'{what}_{100 * m:.0f}']:.1%}" for what, m in pairs)]
        for c in result["groups"]
    ]
    header = ["cases of", "labels", *(f"{what}, {100 * m:.0f} points" for what, m in pairs)]
    return kit.joined(
        [*lines, "## Did the accuracy fall by a margin: decided with labels", "", *kit.table(header, rows)]
    )


def measure(given: argparse.Namespace) -> kit.Result:
    shifts, _ = read_shifts(RESULTS / "natural.json")
    tasks = [
        (one, [s for s in shifts if source_of(s) == one], fit_prior([s for s in shifts if source_of(s) != one]))
        for one in sorted(set(map(source_of, shifts)))
    ]
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        found = summary([c for some in pool.map(of_source, tasks) for c in some])
    return {"level": LEVEL, "cases": len(shifts), **found, "limits": promises(found["groups"])}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "labels", measure, page, workers=(1, "processes")))
