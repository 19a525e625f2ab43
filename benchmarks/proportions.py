"""What exactness costs: intervals of a share of right answers, by exact sums, no draws; writes results/proportions.*.

python -m benchmarks.proportions

Width and coverage of nominal 95 % intervals of n independent rows: Clopper and Pearson (1934), the default; Blaker
(2000), which lies within it and keeps the level as well; the mid-p interval, that of Clopper and Pearson with half the
chance of what was met; and Wilson's (1927). The coverage at a share p is the sum of the binomial law over the counts
whose interval holds p. Between two ends of intervals it has no minimum, so that the lowest coverage is that just beside
an end.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.optimize
from scipy.stats import binom

from benchmarks import kit
from oodometer.intervals import clopper_pearson, wilson

LEVEL, COUNTS, SHARES, STEP = 0.95, (20, 50, 200), (0.5, 0.9, 0.97), 1e-5
Ends = tuple[float, float]


def acceptability(hits: int, rows: int, share: np.ndarray) -> np.ndarray:
    """Blaker's: the chance of the smaller tail from ``hits`` on, with as much of the other tail as is no likelier."""
    more, less = binom.sf(hits - 1, rows, share), binom.cdf(hits, rows, share)
    below = more + binom.cdf(binom.ppf(more, rows, share) - 1, rows, share)
    above = less + binom.sf(binom.ppf(1 - less, rows, share), rows, share)
    return np.minimum(below, above)


def blaker(hits: int, rows: int) -> Ends:
    """Ends of the shares whose acceptability is above 5 %, from outside, to 0.001 points."""
    low, high = clopper_pearson(hits, rows, LEVEL)
    middle = hits / rows
    ends = []
    for end in (low, high):
        shares = np.linspace(end, middle, int(abs(middle - end) / STEP) + 2)
        accepted = acceptability(hits, rows, shares) > 1 - LEVEL
        ends.append(float(shares[max(int(np.argmax(accepted)) - 1, 0)]))
    return ends[0], ends[1]


def mid_p(hits: int, rows: int) -> Ends:
    """Ends at which one tail, with half the chance of what was met, is 2.5 %."""

    def tail(share: float) -> float:
        return float(binom.sf(hits, rows, share) + binom.pmf(hits, rows, share) / 2)

    least, most = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low = (
        0.0
        if hits == 0
        else float(scipy.optimize.brentq(lambda p: tail(p) - least, 0, 1, xtol=1e-12))
    )
    high = (
        1.0
        if hits == rows
        else float(scipy.optimize.brentq(lambda p: tail(p) - most, 0, 1, xtol=1e-12))
    )
    return low, high


SIDES = {
    "Clopper-Pearson": lambda hits, rows: clopper_pearson(hits, rows, LEVEL),
    "Blaker": blaker,
    "mid-p": mid_p,
    "Wilson": lambda hits, rows: wilson(hits / rows, rows, LEVEL),
}


def measure(given: argparse.Namespace) -> kit.Result:
    """Widths and coverage of each interval at each number of rows."""
    cells = []
    for rows in COUNTS:
        hits = np.arange(rows + 1)
        for side, interval in SIDES.items():
            low, high = np.array([interval(int(k), rows) for k in hits]).T

            def covered(
                shares: np.ndarray, low: np.ndarray = low, high: np.ndarray = high
            ) -> np.ndarray:
                inside = (low[:, None] <= shares) & (shares <= high[:, None])
                return np.asarray(
                    (inside * binom.pmf(np.arange(len(low))[:, None], len(low) - 1, shares)).sum(
                        axis=0
                    )
                )

            ends = np.concatenate([low, high])
            beside = np.concatenate([ends - 1e-9, ends + 1e-9])
            cell = {
                "rows": rows,
                "side": side,
                "lowest": float(covered(beside[(beside > 0) & (beside < 1)]).min()),
            }
            under = (low[:, None] > low - 1e-9) * binom.pmf(
                hits[:, None], rows, np.maximum(low - 1e-9, 0)
            )
            cell["one side"] = float(under.sum(axis=0)[low > 0].max())
            cell["mean"] = float(covered((np.arange(4000) + 0.5) / 4000).mean())
            for share in SHARES:
                cell[f"width at {share:g}"] = float(binom.pmf(hits, rows, share) @ (high - low))
            cells.append(cell)
    return {"level": LEVEL, "cells": cells}


def page(result: kit.Result) -> str:
    """The result as Markdown."""
    rows = []
    for cell in result["cells"]:
        widths = [f"{100 * cell[f'width at {share:g}']:.1f}" for share in SHARES]
        shares = [f"{100 * cell[name]:.1f}" for name in ("lowest", "mean", "one side")]
        rows.append([str(cell["rows"]), cell["side"], *widths, *shares])
    widest = {cell["side"]: cell for cell in reversed(result["cells"])}
    first, sharp, plain = (
        100 * widest[name]["width at 0.5"] for name in ("Clopper-Pearson", "Blaker", "Wilson")
    )
    about = "`python -m benchmarks.proportions`. Nominal 95 % intervals of the share of right answers among so many "
    about += (
        "independent rows: mean width in points where 50, 90 and 97 % "
        "are right, the lowest coverage of all shares "
    )
    about += (
        "from 0 to 1 and the mean over them, and how often at most the "
        "share is below the interval, in %. Exact sums "
    )
    about += "over the binomial law, no draws."
    text = (
        f"At {COUNTS[0]} rows, half of them right, the level at every "
        f"share costs {first - plain:.1f} points of width "
    )
    text += "beside Wilson's interval, which has it on average alone; Blaker's, which keeps it too, would give back "
    text += (
        f"{first - sharp:.1f} of them. It is not the default: its ends "
        "are no limits of 2.5 % each, and what is asked "
    )
    text += "of one end, such as whether an accuracy is above a floor, rests on that."
    header = ["rows", "interval", *(f"width at {100 * share:g} %" for share in SHARES)]
    header += ["lowest coverage", "mean coverage", "share below, at most"]
    return kit.joined(
        ["# What exactness costs", "", about, "", *kit.table(header, rows, "rlr"), text]
    )


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "proportions", measure, page))
