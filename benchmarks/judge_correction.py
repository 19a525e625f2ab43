"""Judges' votes as they are, and corrected by error rates on a labelled reference; results/judge_correction.*.

python -m benchmarks.judge_correction [--draws N]

Judges accept right outputs with a sensitivity and wrong ones with a rate of false alarms; three judges share half of
their errors. The reference has an accuracy of 0.75, the target 0.9 or 0.3 (2,000 rows). The rates carry over, or
drift: the target's false alarms rise by 10 points, as where judges meet errors of a new kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from benchmarks import kit
from oodometer import Predictions
from oodometer.estimators import CorrectedVotes, VotingBounds

LEVEL = 0.9
JUDGES = {"one, 0.90 and 0.30": (1, 0.9, 0.3), "one, 0.80 and 0.20": (1, 0.8, 0.2),
    "one, 0.60 and 0.55": (1, 0.6, 0.55), "three, 0.90 and 0.30": (3, 0.9, 0.3)}  # fmt: skip
SIDES = ("votes", "corrected")


def rows(
    count: int, accuracy: float, rates: tuple[int, float, float], rng: np.random.Generator
) -> Predictions:
    """Outputs with their truth and what the judges say of them."""
    judges, sensitivity, alarms = rates
    right, common = rng.random(count) < accuracy, rng.random(count)
    own = np.where(rng.random((judges, count)) < 0.5, common, rng.random((judges, count)))
    return Predictions.from_arrays(votes=own < np.where(right, sensitivity, alarms), correct=right)


def cells(draws: int) -> Iterator[dict[str, Any]]:
    """Error, coverage and width of both sides in each setting."""
    settings = product(JUDGES, (150, 500), (0.9, 0.3), (0.0, 0.1))
    for number, (judge, labelled, accuracy, drift) in enumerate(settings):
        rng = np.random.default_rng([number, 0x70])
        count, sensitivity, alarms = JUDGES[judge]
        seen: dict[str, list[tuple[float, bool, float]]] = {side: [] for side in SIDES}
        for _ in range(draws):
            reference = rows(labelled, 0.75, (count, sensitivity, alarms), rng)
            target = rows(2_000, accuracy, (count, sensitivity, alarms + drift), rng)
            for side, method in zip(SIDES, (VotingBounds, CorrectedVotes), strict=True):
                found = method(level=LEVEL).fit(reference).estimate(target)
                inside = found.lower <= target.accuracy <= found.upper
                seen[side].append(
                    (abs(found.value - target.accuracy), inside, found.upper - found.lower)
                )
        yield {
            "judges": judge, "labelled": labelled, "accuracy": accuracy, "drift": drift,
            **{side: dict(zip(("error", "coverage", "width"), np.mean(seen[side], axis=0).tolist(), strict=True))
               for side in SIDES},
        }  # fmt: skip


def page(result: kit.Result) -> str:
    lines = [
        "# Votes of judges, as they are and corrected by their error rates on a labelled reference",
        "",
        f"`python -m benchmarks.judge_correction --draws {result['draws']}`; judges are named by how often they accept "
        "right and wrong outputs; mean error in points, coverage of nominal 90 % intervals in %, mean width in points.",
    ]
    for drift, title in (
        (0.0, "The error rates carry over"),
        (0.1, "False alarms rise by 10 points on the target"),
    ):
        rows = []
        for one in (c for c in result["cells"] if c["drift"] == drift):
            sides = (
                f"{100 * one[s]['error']:.1f}, {100 * one[s]['coverage']:.0f} %, {100 * one[s]['width']:.0f}"
                for s in SIDES
            )
            rows.append([one["judges"], str(one["labelled"]), f"{one['accuracy']:g}", *sides])
        lines += [
            "",
            f"## {title}",
            "",
            *kit.table(["judges", "labelled rows", "accuracy", *SIDES], rows)[:-1],
        ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    return {"draws": given.draws, "level": LEVEL, "cells": list(cells(given.draws))}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "judge_correction", measure, page, draws=(200, "draws a cell"))
    )
