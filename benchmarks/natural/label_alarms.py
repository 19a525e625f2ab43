"""Labels on natural shifts: proven falls, alarms, and when to stop; writes results/label_alarms.json and .md.

python -m benchmarks.natural.label_alarms     # every sixth case of results/natural.json, some minutes on one core

Nothing is estimated anew. The prior of each case is fitted without its whole source. A fall is proven where the exact
interval of the labels alone lies below the reference's accuracy minus the margin; the rule is `--fail-drop MARGIN`, and
the outputs are taken as unchanged, which is the hardest for an alarm. Figures of alarms are expectations over every
number of hits that so many random rows of the target can give. Looks: random rows of the target are labelled one after
the other, and `decide_by_labels` is asked after every five of them, up to 400 or all rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from statistics import mean, median
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from benchmarks import kit
from benchmarks.kit import RESULTS
from benchmarks.natural.prior import priors_without, source_of
from benchmarks.natural.tables import Shift, read_shifts
from oodometer.audits.judge import exact_interval
from oodometer.headline.alarms import Watched, alarm_rules, judge_alarms
from oodometer.headline.label_posterior import (
    LabelEvidence,
    LabelPosterior,
    cdf_without_labels,
    decide_by_labels,
    falls_by_labels,
    said_by_labels,
)
from oodometer.headline.natural_shifts import NaturalShifts

LEVEL = 0.95
LABELS = (10, 25, 50, 100)
MARGINS = (0.01, 0.03, 0.05)
LIKELY = 1e-5  # chance of a number of hits below which it is left out
STEP, MOST, RUNS = 5, 400, 10
WRONG = 0.05
PLANNED = 10  # labels at which the number of missing ones is compared with what it took
Line = dict[str, Any]


def posterior_of(shift: Shift, prior: NaturalShifts, hits: float, labels: int) -> LabelPosterior:
    """What is believed of a case after so many labels."""
    if _KEPT.get("key") != shift.key:
        first = LabelPosterior(
            cdf_without_labels(prior, shift.signs), LabelEvidence(0.0, 0.0, 0, shift.case.rows)
        )
        _KEPT.update(key=shift.key, first=first)
    made = replace(_KEPT["first"], evidence=LabelEvidence(hits, labels, labels, shift.case.rows))
    made.__dict__["spread"] = _KEPT["first"].spread  # it is the same for all labels of a case
    return made


_KEPT: dict[str, Any] = {}


@cache
def exact(hits: int, labels: int, rows: int) -> tuple[float, float]:
    """The exact interval of the labels alone."""
    return exact_interval(hits, labels, rows, LEVEL)


def alarms_of(shift: Shift, prior: NaturalShifts, labels: int) -> Iterator[Line]:
    """For each margin the chances that a fall is proven, that an alarm is raised, that both verbs' `fell` is one."""
    rows, truth, source = shift.case.rows, shift.case.truth, shift.signs.source
    if rows <= labels:
        return
    chance = hypergeom.pmf(np.arange(labels + 1), rows, round(truth * rows), labels)
    likely = np.flatnonzero(chance > LIKELY)
    weight = chance[likely] / chance[likely].sum()
    reference = (source * shift.signs.reference_rows, float(shift.signs.reference_rows))
    seen: dict[float, list[tuple[bool, bool, bool]]] = {margin: [] for margin in MARGINS}
    inside, width = [], []
    for hits in likely.tolist():
        posterior = posterior_of(shift, prior, hits, labels)
        made = posterior.interval(LEVEL)
        inside.append(made.lower - 1e-9 <= truth <= made.upper + 1e-9)
        width.append(made.upper - made.lower)
        for margin in MARGINS:
            (fell,) = falls_by_labels([posterior], [None], margin, [reference], "natural")
            assert fell is not None
            about = (
                {"name": "target"},
                rows,
                {"accuracy": made},
                {"accuracy": posterior.below},
                fell.changed,
                {},
            )
            watched = Watched(*about, {"accuracy": posterior.evidence.proof})
            found = judge_alarms(alarm_rules(None, margin), [watched], {"accuracy": source})
            proven = exact(hits, labels, rows)[1] < source - margin
            seen[margin].append((proven, found.raised, fell.alarm))
    for margin, some in seen.items():
        proven, rule, alarm = np.array(some).T
        shares = {"proven": weight @ proven, "rule": weight @ rule, "alarm": weight @ alarm}
        shares |= {"silent": weight @ (proven & ~rule), "silent_fell": weight @ (proven & ~alarm)}
        shares |= {"coverage": weight @ inside, "width": weight @ width}
        fell_so = source - truth >= margin
        yield {
            "labels": labels,
            "margin": margin,
            "fell": fell_so,
            **{k: float(v) for k, v in shares.items()},
        }


def looks_of(shift: Shift, prior: NaturalShifts, margin: float, seed: int) -> Line:
    """One random order of labels: when it was decided, whether wrongly, and how many labels were said to be missing."""
    rows, bound = shift.case.rows, shift.signs.source - margin
    right = np.arange(rows) < round(shift.case.truth * rows)
    order = np.random.default_rng([seed, rows]).permutation(rows)[:MOST]
    hits = np.cumsum(right[order])
    below = shift.case.truth < bound - 1e-12
    planned = None
    for labels in range(STEP, min(MOST, rows - 1) + 1, STEP):
        posterior = posterior_of(shift, prior, float(hits[labels - 1]), labels)
        says = said_by_labels(posterior, bound)
        if says is not None:
            return {
                "margin": margin,
                "labels": labels,
                "wrong": (says == "below") != below,
                "planned": planned,
            }
        if labels == PLANNED:
            planned = decide_by_labels(posterior, bound).needed
    return {"margin": margin, "labels": None, "wrong": False, "planned": planned}


def measured(shifts: Sequence[Shift]) -> tuple[list[Line], list[Line]]:
    """Lines of alarms and of looks, over all cases."""
    every, _ = read_shifts(RESULTS / "natural.json")
    priors = priors_without(every, source_of)
    alarms, looks = [], []
    for i, shift in enumerate(shifts):
        prior, about = priors[source_of(shift)], {"source": source_of(shift), "group": shift.group}
        for labels in LABELS:
            alarms += [{**about, **line} for line in alarms_of(shift, prior, labels)]
        for margin in MARGINS:
            looks += [
                {**about, **looks_of(shift, prior, margin, 1000 * i + run)} for run in range(RUNS)
            ]
    return alarms, looks


def summary(alarms: Sequence[Line], looks: Sequence[Line]) -> dict[str, list[Line]]:
    """Figures by labels and margin, and of looks by margin."""
    by_labels, by_margin = [], []
    for labels in LABELS:
        for margin in MARGINS:
            some = [
                a
                for a in alarms
                if (a["labels"], a["margin"]) == (labels, margin) and a["group"] != "same"
            ]
            fell, held = ([a for a in some if a["fell"] is side] for side in (True, False))
            raised = sum(a["rule"] for a in some)
            line = {"labels": labels, "margin": margin, "cases": len(some)}
            line |= {what: mean(a[what] for a in some) for what in ("coverage", "width", "proven")}
            line |= {
                "silent": max(a["silent"] for a in some),
                "silent_fell": max(a["silent_fell"] for a in some),
            }
            line |= {"found": mean(a["rule"] for a in fell), "false": mean(a["rule"] for a in held)}
            line |= {"right": sum(a["rule"] for a in fell) / raised if raised else None}
            same = [
                a
                for a in alarms
                if (a["labels"], a["margin"]) == (labels, margin) and a["group"] == "same"
            ]
            still = [a for a in same if not a["fell"]]  # some of these targets are worse by chance
            line["unshifted"] = mean(a["rule"] for a in still) if still else None
            by_labels.append(line)
    for margin in MARGINS:
        some = [one for one in looks if one["margin"] == margin]
        groups = [
            [o["wrong"] for o in some if o["source"] == source]
            for source in {o["source"] for o in some}
        ]
        both = [o for o in some if o["planned"] is not None and o["labels"] is not None]
        line = {"margin": margin, "runs": len(some), "wrong": mean(o["wrong"] for o in some)}
        line["worst_source"] = max(mean(group) for group in groups)
        for labels in (25, 50, 100, 200, MOST):
            line[f"decided_{labels}"] = mean(
                o["labels"] is not None and o["labels"] <= labels for o in some
            )
        ratio = [(o["labels"] - PLANNED) / o["planned"] for o in both]
        line |= {"planned": len(both), "took": median(ratio) if ratio else None}
        by_margin.append(line)
    return {"alarms": by_labels, "looks": by_margin}


def promises(found: dict[str, list[Line]]) -> list[Line]:
    """What is promised."""
    silent = max(line["silent"] for line in found["alarms"] if line["labels"] >= 25)
    wrong = max(line["wrong"] for line in found["looks"])
    coverage = min(line["coverage"] for line in found["alarms"] if line["labels"] >= 25)
    return [
        {"figure": "largest chance of a proven fall without an alarm", "found": f"{silent:.1%}", "promise": "0.0%",
         "holds": silent == 0},
        {"figure": "decisions that were wrong, a look every five labels", "found": f"{wrong:.1%}",
         "promise": "at most 5.0%", "holds": wrong <= WRONG},
        {"figure": "coverage of believed intervals at 95 %, 25 labels or more", "found": f"{coverage:.1%}",
         "promise": "at least 92%", "holds": coverage >= 0.92},
    ]  # fmt: skip


def page(result: kit.Result) -> str:
    held = [
        [o["figure"], o["found"], o["promise"], "yes" if o["holds"] else "**NO**"]
        for o in result["limits"]
    ]
    lines = [
        "# Labels on natural shifts: alarms, and when to stop",
        "",
        f"Made by `python -m benchmarks.natural.label_alarms` from {result['cases']} cases of `natural.json`, the "
        "prior fitted without the whole source of a case. A fall is proven where the exact 95 % interval of the labels "
        "alone lies below the bound; `silent`: the largest chance over cases that it is and no alarm is raised, by the "
        "rule, and by `fell`. Alarms are those of `--fail-drop` at the margin, by value and a change beyond chance.",
        "",
        *kit.table(["figure", "found", "promise", "holds"], held),
        "## Alarms with labels",
        "",
    ]
    rows = [
        [f"{a['labels']}", f"{100 * a['margin']:.0f}", f"{a['cases']}", f"{a['coverage']:.1%}",
         f"{100 * a['width']:.1f}", f"{a['proven']:.0%}", f"{a['silent']:.1%}", f"{a['silent_fell']:.1%}",
         f"{a['found']:.0%}", f"{a['false']:.0%}", "-" if a["right"] is None else f"{a['right']:.0%}",
         "-" if a["unshifted"] is None else f"{a['unshifted']:.1%}"] for a in result["alarms"]
    ]  # fmt: skip
    heads = ["labels", "margin", "cases", "coverage", "width", "proven", "silent", "silent `fell`", "falls found",
             "false alarms", "alarms that are right", "unshifted, not fallen: alarms"]  # fmt: skip
    lines += [
        *kit.table(heads, rows),
        f"## A look every five labels, {RUNS} orders of each case",
        "",
    ]
    counts = [25, 50, 100, 200, MOST]
    rows = [
        [f"{100 * a['margin']:.0f}", f"{a['runs']}", f"{a['wrong']:.1%}", f"{a['worst_source']:.1%}",
         *(f"{a[f'decided_{n}']:.0%}" for n in counts), "-" if a["took"] is None else f"{a['took']:.2f}"]
        for a in result["looks"]
    ]  # fmt: skip
    heads = ["margin", "orders", "decided wrongly", "worst source", *(f"decided by {n}" for n in counts),
             f"labels it took, of those said at {PLANNED}"]  # fmt: skip
    return kit.joined([*lines, *kit.table(heads, rows)])


def measure(given: argparse.Namespace) -> kit.Result:
    shifts, _ = read_shifts(RESULTS / "natural.json")
    some = shifts[:: given.every]
    found = summary(*measured(some))
    return {"level": LEVEL, "cases": len(some), **found, "limits": promises(found)}


if __name__ == "__main__":
    every = (6, "take every so many-th case")
    raise SystemExit(kit.command(__doc__, "label_alarms", measure, page, every=every))
