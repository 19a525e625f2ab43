"""Unseen falls: how often the believed interval of an audit holds the truth where accuracy fell without a sign.

    python -m benchmarks.natural.unseen_falls

writes benchmarks/results/unseen_falls.json and .md. Six references and shifts (accuracy and how far outputs moved), the
packaged prior of natural shifts, 25, 50 and 100 random labels; no draws: chances are summed over all counts of hits.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import binom

from benchmarks import kit
from oodometer.audits import judge as believed
from oodometer.headline.natural_shifts import ShiftSigns, packaged_prior
from oodometer.intervals import clopper_pearson

CASES = [(0.9, 0.02), (0.9, 0.1), (0.8, 0.05), (0.95, 0.05), (0.7, 0.1), (0.9, 0.3)]
ROWS, FALL, LEVEL = 5000, 0.08, 0.95
BEFORE, NOW = (0.03, 0.0), (believed.BLUR, believed.DOWN)


def held(prior: np.ndarray, truth: float, labels: int) -> tuple[float, float, float]:
    """Chance that the interval holds the truth, its mean width, and that of Clopper and Pearson."""
    chance = binom.pmf(np.arange(labels + 1), labels, truth)
    ends = [believed.believed_interval(prior, float(k), float(labels), LEVEL)[1:] for k in range(labels + 1)]
    exact = [clopper_pearson(k, labels, LEVEL) for k in range(labels + 1)]
    inside = np.array([low <= truth <= high for low, high in ends])
    widths = [float(chance @ [high - low for low, high in each]) for each in (ends, exact)]
    return float(chance @ inside), widths[0], widths[1]


def measured(blur: float, down: float) -> list[dict[str, float]]:
    """A row for each number of labels: means over the cases, and the least coverage of them."""
    believed.BLUR, believed.DOWN = blur, down
    natural, rows = packaged_prior(), []
    for labels in (25, 50, 100):
        fell, still = [], []
        for source, moved in CASES:
            signs = ShiftSigns(source, source, ROWS, ROWS, moved=moved, unexplained=moved / 2)
            prior = believed.prior_cdf(natural.levels, natural.quantile(signs, natural.levels))
            fell.append(held(prior, natural.value(signs) - FALL, labels))
            still.append(held(prior, natural.value(signs), labels))
        rows.append({
            "labels": labels,
            "coverage_after_a_fall": float(np.mean([one[0] for one in fell])),
            "least_after_a_fall": min(one[0] for one in fell),
            "coverage_without": float(np.mean([one[0] for one in still])),
            "width_without": float(np.mean([one[1] for one in still])),
            "width_of_labels_alone": float(np.mean([one[2] for one in still])),
        })  # fmt: skip
    return rows


def measure(given: argparse.Namespace) -> kit.Result:
    return {"before": measured(*BEFORE), "now": measured(*NOW), "fall": FALL, "level": LEVEL, "cases": CASES}


def page(result: kit.Result) -> str:
    rows = []
    for name, (blur, down) in (("before", BEFORE), ("now", NOW)):
        for row in result[name]:
            shares = [f"{100 * row[k]:.1f}" for k in list(row)[1:]]
            rows.append([f"{name}: {100 * blur:g}, {100 * down:g} points", str(row["labels"]), *shares])
    header = ["blur, moved down", "labels", "holds after it", "least of six", "holds without", "width without",
              "labels alone"]  # fmt: skip
    lines = [
        "# Believed intervals under an unseen fall",
        "",
        "`python -m benchmarks.natural.unseen_falls`: accuracy is 8 points below what outputs lead one to expect.",
        "Level 95 %, all numbers in percent or points.",
        "",
        *kit.table(header, rows),
    ]
    return kit.joined(lines)


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "unseen_falls", measure, page))
