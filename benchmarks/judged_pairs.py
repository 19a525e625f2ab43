"""Two systems under one judge, labels on rows of either: coverage of the corrected difference; results/judged_pairs.*.

python -m benchmarks.judged_pairs [--draws N]

Two versions of one system whose answers differ on 5 % or 10 % of the rows, or on all; a judge that passes good answers
with 0.85 and bad ones with 0.2, the same on the same answers; 30 labels of either file among 60, 300 and 1,000 rows: on
the same rows, on rows drawn for each file apart, or on 7 rows of both and 23 of each alone. The new version is as good,
or better; in the last table every change is a loss and the judge knows little (0.6 and 0.4). "bare" is the interval of
the systems without the rows that ours makes up, as prediction-powered inference has it. The truth of "system" is the
difference of the laws that rows are drawn from, that of "rows" the difference on these rows. A wrong decision is an
interval without zero on the wrong side of the truth, or where there is no difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks import kit
from oodometer.audits.judged_pairs import paired_rates
from oodometer.audits.judges import Judged

LEVEL, LABELS, BOTH = 0.95, 30, 7
ROWS, DESIGNS = (60, 300, 1_000), ("same", "apart", "few of both")
SIDES = ("system", "rows", "labels", "bare")


@dataclass(frozen=True)
class Setting:
    """How many rows differ, how good answers to them are before and after, and how often the judge passes good ones and
    bad ones.
    """

    changed: float
    before: float = 0.6
    after: float = 0.6
    judge: tuple[float, float] = (0.85, 0.2)

    @property
    def truth(self) -> float:
        """By how much the new version is better."""
        return self.changed * (self.after - self.before)


VERSIONS = [Setting(0.05), Setting(0.05, after=0.9), Setting(0.1), Setting(0.1, after=0.9), Setting(1.0)]  # fmt: skip
LOSSES = [Setting(c, before=1.0, after=0.0, judge=(0.6, 0.4)) for c in (0.03, 0.05, 0.08, 0.11)]


def labelled(rows: int, design: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a label in the first file and in the second."""
    order = rng.permutation(rows)
    first = order[:LABELS]
    if design == "same":
        return np.sort(first), np.sort(first)
    if design == "apart":
        return np.sort(first), np.sort(rng.permutation(rows)[:LABELS])
    return np.sort(first), np.sort(order[LABELS - BOTH : 2 * LABELS - BOTH])


def drawn(
    setting: Setting, rows: int, design: str, rng: np.random.Generator
) -> tuple[Judged, Judged, float]:
    """Both versions with their verdicts and labels, and by how much the new one is better on these rows."""
    passes = setting.judge
    good = rng.random(rows) < setting.before
    said = rng.random(rows) < np.where(good, *passes)
    changed = rng.random(rows) < setting.changed
    again = np.where(changed, rng.random(rows) < setting.after, good)
    said_again = np.where(changed, rng.random(rows) < np.where(again, *passes), said)
    first, second = (
        Judged(verdict[None].astype(float), row, truth[row].astype(float), ("judge",))
        for verdict, truth, row in zip(
            (said, said_again), (good, again), labelled(rows, design, rng), strict=True
        )
    )
    return first, second, float(again.mean() - good.mean())


def cells(draws: int) -> Iterator[kit.Result]:
    """Coverage, width and wrong decisions of each setting; of labels alone, for the systems, the same."""
    jobs = [("versions", *job) for job in product(VERSIONS, ROWS, DESIGNS)]
    jobs += [("losses", *job) for job in product(LOSSES, ROWS, DESIGNS[::2])]
    for number, (kind, setting, rows, design) in enumerate(jobs):
        rng = np.random.default_rng([number, 0x9A1])
        seen: dict[str, list[tuple[bool, float, bool]]] = {side: [] for side in SIDES}
        for _ in range(draws):
            first, second, here = drawn(setting, rows, design, rng)
            for side in SIDES:
                population = "rows" if side == "rows" else "system"
                truth = here if side == "rows" else setting.truth
                found = paired_rates(first, second, population, leaning=side != "labels")
                if side == "bare":
                    found = replace(found, variance=found.variance - found.unseen)
                _, low, high = found.interval(LEVEL)
                wrong = (low > 0 >= truth) or (high < 0 <= truth)
                seen[side].append((low - 1e-12 <= truth <= high + 1e-12, high - low, wrong))
        about = {
            "changed": setting.changed,
            "better": setting.truth,
            "files": rows,
            "design": design,
        }
        yield {"kind": kind, **about, **{
            side: dict(zip(("coverage", "width", "wrong"), np.mean(values, axis=0).tolist(), strict=True))
            for side, values in seen.items()
        }}  # fmt: skip


def page(result: kit.Result) -> str:
    lines = [
        "# Two systems under one judge: coverage of nominal 95 % intervals, mean width, wrong decisions",
        "",
        f"`python -m benchmarks.judged_pairs --draws {result['draws']}`; 30 labels of either file; coverage and wrong "
        "decisions in %, width in points. Of the systems, of these rows, and of the systems by labels alone and "
        "without the rows that are made up (bare): these are narrower, and hold the truth in "
        f"{100 * result['bare']:.0f} % of draws in the worst setting, as luck may have met no change; ours covers more "
        "than 99 % where nearly nothing was met, as an interval must that holds there, too.",
        "",
    ]
    for kind, title in (
        ("versions", "Versions of one system"),
        ("losses", "Every change is a loss, and the judge knows little"),
    ):
        rows = []
        for cell in (cell for cell in result["cells"] if cell["kind"] == kind):
            numbers = [
                f"{100 * cell[side][name]:.1f}"
                for side in SIDES
                for name in ("coverage", "width", "wrong")
            ]
            start = [f"{cell['changed']:.0%}", f"{100 * cell['better']:+.1f}"]
            rows.append([*start, f"{cell['files']:,}", cell["design"], *numbers])
        head = ["changed", "better by", "rows", "labels"]
        head += [f"{side}{name}" for side in SIDES for name in ("", " width", " wrong")]
        lines += [f"## {title}", "", *kit.table(head, rows, "rrrlr")]
    return kit.joined([*lines, *kit.promises(result["limits"])])


def measure(given: argparse.Namespace) -> kit.Result:
    out = list(cells(given.draws))
    sides = [cell[side] for cell in out for side in SIDES[:2]]
    lowest, wrong = min(s["coverage"] for s in sides), max(s["wrong"] for s in sides)
    limits = [
        {"limit": "lowest coverage, at least 0.93", "value": lowest, "holds": lowest >= 0.93},
        {"limit": "most wrong decisions, at most 0.05", "value": wrong, "holds": wrong <= 0.05},
    ]
    bare = min(cell["bare"]["coverage"] for cell in out)
    return {"draws": given.draws, "bare": bare, "level": LEVEL, "limits": limits, "cells": out}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "judged_pairs", measure, page, draws=(600, "draws a cell"))
    )
