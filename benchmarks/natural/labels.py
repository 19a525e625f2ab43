"""What few random labels are worth beside the prior of natural shifts; writes results/labels.json and labels.md.

python -m benchmarks.natural.labels     # from results/natural.json, some minutes; no estimate is made anew

For each case of `python -m benchmarks.natural` and each number of labels, the believed interval and Clopper-Pearson's
are worked out for every number of hits that random rows of the target can give, and weighed by its chance
(hypergeometric). The prior is fitted without the whole source of the case. The lowest tenth are the cases whose truth
lies lowest in what the prior alone leads one to expect of them: where it is most wrong, and outputs showed too little.
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
from benchmarks.natural.prior import domain_of, priors_without, source_of
from benchmarks.natural.tables import GROUPS, LEVEL, Shift, read_shifts
from oodometer.audits.judge import (
    SMALL_TARGET,
    believed_below,
    believed_interval,
    effective_labels,
    prior_cdf,
)
from oodometer.headline.natural_shifts import NaturalShifts, verdict_of
from oodometer.intervals import clopper_pearson

LABELS = (10, 25, 50, 100)
WORTH = {10: 30, 25: 50, 50: 80}  # in labels
COVERAGE, LOWEST = 0.88, 0.8  # of all cases, and of the lowest tenth
MARGINS = (0.01, 0.03, 0.05)
VERDICTS = ("fell", "holds")
LIKELY = 1e-6  # chance of a number of hits below which it is left out
COUNTS = np.unique(np.round(np.geomspace(5, 2000, 60))).astype(
    int
)  # of labels, for what a width is worth
Case = dict[str, Any]


@cache
def exact(hits: int, labels: int) -> tuple[float, float]:
    """Clopper-Pearson's interval."""
    return clopper_pearson(hits, labels, LEVEL)


def labelled(
    shift: Shift, prior: NaturalShifts, labels: int, margins: Sequence[float] = MARGINS
) -> Case | None:
    """Expected coverage and width of both intervals in a case; None where the target has no more rows than that."""
    rows, truth = shift.case.rows, shift.case.truth
    if rows <= labels:
        return None
    hits = np.arange(labels + 1)
    chance = hypergeom.pmf(hits, rows, round(truth * rows), labels)
    known = prior_cdf(prior.levels, prior.quantile(shift.signs, prior.levels))
    small = rows if rows <= SMALL_TARGET * labels else None
    out, said = np.zeros(5), 0.0
    for k in hits[chance > LIKELY].tolist():
        value, low, high = believed_interval(known, k, labels, LEVEL, small)
        least, most = exact(k, labels)
        inside = low - 1e-9 <= truth <= high + 1e-9
        out += chance[k] * np.array(
            [inside, high - low, most - least, abs(value - truth), abs(k / labels - truth)]
        )
        if k == int(chance.argmax()):
            said = effective_labels(value, high - low, LEVEL, rows)
    names = ("coverage", "width", "exact_width", "error", "exact_error")
    place = prior.share_below(shift.signs, truth)
    more = {"place": place, "said": said, "falls": falls(shift, known, labels, chance, margins)}
    return {**dict(zip(names, (out / chance[chance > LIKELY].sum()).tolist(), strict=True)), **more}


def falls(
    shift: Shift, known: np.ndarray, labels: int, chance: np.ndarray, margins: Sequence[float]
) -> dict[float, dict[str, float]]:
    """Margin -> chance of each verdict on whether the accuracy fell by so much, and of its being right."""
    source, out = shift.signs.source, {}
    likely = np.flatnonzero(chance > LIKELY)
    weight = chance[likely] / chance[likely].sum()
    for margin in margins:
        fell = source - shift.case.truth >= margin
        said = [verdict_of(believed_below(known, int(k), labels, source - margin)) for k in likely]
        share = {word: float(weight @ [one == word for one in said]) for word in VERDICTS}
        right = {f"{word}_right": share[word] * (fell == (word == "fell")) for word in VERDICTS}
        out[margin] = share | right
    return out


@cache
def exact_widths(truth: float) -> np.ndarray:
    """Expected width of Clopper-Pearson's interval at each of `COUNTS`."""
    out = []
    for n in COUNTS.tolist():
        chance = binom.pmf(np.arange(n + 1), n, truth)
        likely = np.flatnonzero(chance > LIKELY)
        out.append(
            sum(chance[k] * (exact(k, n)[1] - exact(k, n)[0]) for k in likely.tolist())
            / chance[likely].sum()
        )
    return np.array(out)


def of_group(task: tuple[str, Sequence[Shift], NaturalShifts, Sequence[float]]) -> list[Case]:
    """All cases of one source or domain, at every number of labels, under a prior without it."""
    name, shifts, prior, margins = task
    out = []
    for shift in shifts:
        widths = exact_widths(shift.case.truth)
        for labels in LABELS if margins else LABELS[:2]:
            case = labelled(shift, prior, labels, margins)
            if case is not None:
                out.append(
                    {"name": name, "group": shift.group, "labels": labels, "widths": widths, **case}
                )
    return out


def figures(cases: Sequence[Case]) -> dict[str, Any]:
    """Means over cases; ``worth`` is how many labels Clopper-Pearson needs for so short a mean width."""
    width, whole = mean(c["width"] for c in cases), mean(c["exact_width"] for c in cases)
    curve = np.mean([c["widths"] for c in cases], axis=0)
    worth = float(np.exp(np.interp(-width, -curve, np.log(COUNTS))))
    coverage, error, plain = (
        mean(c[what] for c in cases) for what in ("coverage", "error", "exact_error")
    )
    said = round(float(np.median([c["said"] for c in cases])), 1)
    order = sorted(cases, key=lambda c: c["place"])
    tenth = max(round(len(cases) / 10), 1)
    lowest, highest = (mean(c["coverage"] for c in few) for few in (order[:tenth], order[-tenth:]))
    verdicts = {}
    for margin in cases[0]["falls"]:
        for word in VERDICTS:
            given, right = (
                mean(c["falls"][margin][what] for c in cases) for what in (word, f"{word}_right")
            )
            verdicts[f"{word}_{100 * margin:.0f}"] = round(given, 4)
            verdicts[f"{word}_right_{100 * margin:.0f}"] = (
                round(right / given, 4) if given > LIKELY else None
            )
    shares = {"coverage": coverage, "lowest": lowest, "highest": highest, "width": width, "exact_width": whole,
        "ratio": width / whole, "error": error, "exact_error": plain}  # fmt: skip
    return {"cases": len(cases), **{name: round(share, 4) for name, share in shares.items()},
        "worth": round(worth, 1), "worth_by_error": round(cases[0]["labels"] * (plain / error) ** 2, 1), "said": said,
        **verdicts}  # fmt: skip


def summary(
    cases: Sequence[Case], without_domain: Sequence[Case]
) -> dict[str, list[dict[str, Any]]]:
    """Lines by group of beds, by source and by domain."""
    natural, others = (
        [c for c in some if c["group"] != "same"] for some in (cases, without_domain)
    )
    few = {"natural shifts": natural} | {g: [c for c in cases if c["group"] == g] for g in GROUPS}
    sources, domains = (
        {name: [c for c in some if c["name"] == name] for name in sorted({c["name"] for c in some})}
        for some in (natural, others)
    )
    domains = {"natural shifts": others, **domains}
    return {
        title: [
            {"cases of": name, "labels": n, **figures([c for c in some if c["labels"] == n])}
            for name, some in found.items()
            for n in LABELS
            if any(c["labels"] == n for c in some)
        ]
        for title, found in (("groups", few), ("sources", sources), ("domains", domains))
    }


def promises(groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is promised of natural shifts."""
    out = []
    for line in groups:
        if line["cases of"] == "natural shifts" and line["labels"] in WORTH:
            for figure, key, least in (("coverage", "coverage", COVERAGE), ("coverage, lowest tenth", "lowest", LOWEST),
                                       ("worth", "worth", WORTH[line["labels"]])):  # fmt: skip
                got = f"{line[key]:.0f}" if key == "worth" else f"{line[key]:.3f}"
                row = {
                    "figure": f"{figure}, {line['labels']} labels",
                    "found": got,
                    "promise": f"at least {least}",
                }
                out.append({**row, "holds": line[key] >= least})
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
        " without the whole source of a case. `lowest tenth`, `highest tenth`: of the cases by where the truth lies in"
        " the prior alone. `worth`: how many random labels Clopper-Pearson needs for the same mean width; `by error`:"
        " how many make the rate of hits err as little as the median of the posterior does; `said`: the median over"
        " cases of what an audit with the likeliest number of hits says; `error`: of that median, in points. Cases"
        " whose target has no more rows than labels are left out.",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
    ]
    header = ["cases of", "labels", "cases", "coverage", "lowest tenth", "highest tenth", "width in points",
              "of Clopper-Pearson's", "worth", "by error", "said", "error"]  # fmt: skip
    titles = {"groups": "By group of beds", "sources": "Natural shifts, by source",
              "domains": "Natural shifts, by domain, of which the prior had seen no source"}  # fmt: skip
    for name, title in titles.items():
        rows = [
            [c["cases of"], str(c["labels"]), str(c["cases"]), f"{c['coverage']:.1%}", f"{c['lowest']:.1%}",
             f"{c['highest']:.1%}", f"{100 * c['width']:.1f}", f"{c['ratio']:.2f}", f"{c['worth']:.0f}",
             f"{c['worth_by_error']:.0f}", f"{c['said']:.0f}", f"{100 * c['error']:.1f}"]
            for c in result[name]
        ]  # fmt: skip
        lines += [f"## {title}", "", *kit.table(header, rows)]
    pairs = [(word, f"{100 * margin:.0f}") for margin in MARGINS for word in VERDICTS]
    rows = []
    for c in result["groups"]:
        shares = [(c[f"{word}_{m}"], c[f"{word}_right_{m}"]) for word, m in pairs]
        cells = [
            f"{given:.0%}, {'-' if right is None else f'{right:.0%}'}" for given, right in shares
        ]
        rows.append([c["cases of"], str(c["labels"]), *cells])
    header = ["cases of", "labels", *(f"{word}, {m} points" for word, m in pairs)]
    lines += ["## Did the accuracy fall by a margin", "", "How often labels and prior together decide it, and how often"
              " that is right.", "", *kit.table(header, rows)]  # fmt: skip
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    shifts, _ = read_shifts(RESULTS / "natural.json")
    cases = []
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for group, margins in ((source_of, MARGINS), (domain_of, ())):
            priors = priors_without(shifts, group)
            tasks = [
                (name, [s for s in shifts if group(s) == name], prior, margins)
                for name, prior in priors.items()
            ]
            cases.append([case for some in pool.map(of_group, tasks) for case in some])
    lines = summary(*cases)
    return {"level": LEVEL, "cases": len(shifts), **lines, "limits": promises(lines["groups"])}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "labels", measure, page, workers=(1, "processes")))
