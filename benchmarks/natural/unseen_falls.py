"""Falls that outputs do not show: which heavy tail the believed interval of an audit needs, and what it costs.

    python -m benchmarks.natural.unseen_falls     # from results/natural.json, some minutes

writes benchmarks/results/unseen_falls.json and .md. Each rule is judged three times. On natural cases under a prior
without their whole source: coverage of 90 % intervals over all, in the lowest tenth (those whose truth lies lowest in
what the prior alone leads one to expect), and what the labels are worth. On six references and shifts whose accuracy is
below the value by more than outputs say, at 95 %. On natural cases whose truth is put 20 points below the prior's 5 %
quantile, at 90 %. No draws: chances are summed over all counts of hits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks import kit
from benchmarks.kit import RESULTS
from benchmarks.natural.labels import Case, exact_widths, figures, labelled
from benchmarks.natural.prior import priors_without, source_of
from benchmarks.natural.tables import Shift, read_shifts
from oodometer.audits import judge
from oodometer.headline.natural_shifts import NaturalShifts, ShiftSigns, packaged_prior
from oodometer.intervals import clopper_pearson

SIX = [
    (0.9, 0.02),
    (0.9, 0.1),
    (0.8, 0.05),
    (0.95, 0.05),
    (0.7, 0.1),
    (0.9, 0.3),
]  # accuracy, how far outputs moved
ROWS, FALLS, LEVEL, LABELS = 5000, (0.04, 0.08, 0.15), 0.95, (25, 50, 100)
FAR, EVERY, LEAST = (
    0.2,
    15,
    0.05,
)  # a contradiction; of the natural cases every so many; no truth below it
NATURAL = (10, 25)  # labels
NOW = (judge.FALL, judge.RISE)
RULES = {
    "the prior as it is": (1e-4, 1e-4),
    "half as wide": (NOW[0] / 2, NOW[1] / 2),
    "twice as wide": (2 * NOW[0], 2 * NOW[1]),
    "both sides alike": (NOW[0], NOW[0]),
    "now": NOW,
}
Priors = dict[str, NaturalShifts]


def on_cases(
    shifts: Sequence[Shift], priors: Priors, widths: Sequence[np.ndarray]
) -> list[dict[str, Any]]:
    """Figures of natural cases and of those without a shift at each number of labels."""
    lines = []
    for labels in NATURAL:
        cases: dict[bool, list[Case]] = {True: [], False: []}
        for shift, width in zip(shifts, widths, strict=True):
            result = labelled(shift, priors[source_of(shift)], labels, margins=())
            if result is not None:
                cases[shift.group == "same"].append({"labels": labels, "widths": width, **result})
        natural, same = figures(cases[False]), figures(cases[True])
        lines.append({"labels": labels, **{name: natural[name] for name in ("coverage", "lowest", "highest", "worth")},
                      "same_coverage": same["coverage"], "same_width": same["width"]})  # fmt: skip
    return lines


def holding(cdf: np.ndarray, truths: Sequence[float], labels: int, level: float) -> list[float]:
    """Chance that the believed interval holds each truth."""
    ends = np.array(
        [
            judge.believed_interval(cdf, float(k), float(labels), level)[1:]
            for k in range(labels + 1)
        ]
    )
    chances = [binom.pmf(np.arange(labels + 1), labels, truth) for truth in truths]
    return [
        float(chance @ ((ends[:, 0] <= t) & (t <= ends[:, 1])))
        for t, chance in zip(truths, chances, strict=True)
    ]


def after_falls(prior: NaturalShifts) -> list[dict[str, Any]]:
    """Coverage after each fall from the value, of the six and the least of them."""
    lines = []
    for labels in LABELS:
        shares = []
        for source, moved in SIX:
            signs = ShiftSigns(source, source, ROWS, ROWS, moved, moved / 2, separation=moved)
            cdf, value = (
                judge.prior_cdf(prior.levels, prior.quantile(signs, prior.levels)),
                prior.value(signs),
            )
            shares.append(holding(cdf, [value - fall for fall in FALLS], labels, LEVEL))
        lines.append(
            {
                "labels": labels,
                "mean": np.mean(shares, axis=0).tolist(),
                "least": np.min(shares, axis=0).tolist(),
            }
        )
    return lines


def contradicted(shifts: Sequence[Shift], priors: Priors) -> dict[str, float]:
    """Coverage where the truth is far below the prior's 5 % quantile, by number of labels."""
    shares: dict[str, list[float]] = {str(labels): [] for labels in LABELS}
    for shift in [s for s in shifts if s.group != "same"][::EVERY]:
        prior = priors[source_of(shift)]
        cdf = judge.prior_cdf(prior.levels, prior.quantile(shift.signs, prior.levels))
        truth = float(prior.quantile(shift.signs, np.array([0.05]))[0]) - FAR
        if truth >= LEAST:
            for labels in LABELS:
                shares[str(labels)] += holding(cdf, [truth], labels, 0.9)
    return {labels: mean(some) for labels, some in shares.items()}


def measure(given: argparse.Namespace) -> kit.Result:
    shifts, _ = read_shifts(RESULTS / "natural.json")
    priors = priors_without(shifts, source_of)
    widths = [exact_widths(s.case.truth) for s in shifts]
    rules = []
    for name, (judge.FALL, judge.RISE) in RULES.items():
        rules.append({"rule": name, "fall": judge.FALL, "rise": judge.RISE,
                      "natural": on_cases(shifts, priors, widths), "falls": after_falls(packaged_prior()),
                      "contradicted": contradicted(shifts, priors)})  # fmt: skip
    alone = []
    for labels in LABELS:
        ends = np.array([clopper_pearson(k, labels, LEVEL) for k in range(labels + 1)])
        truths = [source - fall for source, _ in SIX for fall in FALLS]
        chances = [binom.pmf(np.arange(labels + 1), labels, truth) for truth in truths]
        alone.append(
            mean(
                float(c @ ((ends[:, 0] <= t) & (t <= ends[:, 1])))
                for t, c in zip(truths, chances, strict=True)
            )
        )
    return {"cases": len(shifts), "labels": LABELS, "rules": rules, "alone": alone}


def page(result: kit.Result) -> str:
    percent = lambda shares: [f"{100 * share:.0f}" for share in shares]  # noqa: E731
    natural, falls = [], []
    for rule in result["rules"]:
        head = [rule["rule"], f"{100 * rule['fall']:.2g}, {100 * rule['rise']:.2g}"]
        for line in rule["natural"]:
            shares = [f"{100 * line[name]:.1f}" for name in ("coverage", "lowest", "highest")]
            same = [f"{100 * line[name]:.1f}" for name in ("same_coverage", "same_width")]
            natural.append([*head, str(line["labels"]), *shares, f"{line['worth']:.0f}", *same])
        for line in rule["falls"]:
            far = rule["contradicted"][str(line["labels"])]
            falls.append(
                [
                    *head[:1],
                    str(line["labels"]),
                    *percent(line["mean"]),
                    *percent(line["least"]),
                    *percent([far]),
                ]
            )
    alone = ", ".join(percent(result["alone"]))
    points = [f"{100 * fall:.0f} points" for fall in FALLS]
    lines = [
        "# Believed intervals and falls that outputs do not show",
        "",
        f"Made by `python -m benchmarks.natural.unseen_falls` from {result['cases']} cases of `natural.json`; the"
        " figures are in `unseen_falls.json`. All shares in percent, widths in points. A rule is the half widths in"
        " points of the unseen change that may come on top of the prior, downwards and upwards.",
        "",
        "## Natural cases, sources left out, intervals of 90 %",
        "",
        *kit.table(["rule", "half widths", "labels", "coverage", "lowest tenth", "highest tenth", "worth",
                    "no shift: coverage", "width"], natural),
        "## A fall from the value without a sign (95 %), and labels that contradict the prior by 20 points (90 %)",
        "",
        f"Mean of six shifts, and the least of them. Clopper and Pearson's interval of the labels alone holds {alone} %"
        f" of 25, 50 and 100 labels after any of these falls.",
        "",
        *kit.table(["rule", "labels", *points, *(f"least, {one}" for one in points), "contradicted"], falls),
    ]  # fmt: skip
    return kit.joined(lines)


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "unseen_falls", measure, page))
