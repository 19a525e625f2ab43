"""Thresholds that are proved: how much they answer and how often one is false, fixed sequences beside Bonferroni.

python -m benchmarks.operating_points [--draws N] [--sizes N ...]     writes results/operating_points.json and .md

Populations are known here: rows come with a depth u, uniform in [0, 1], the confidence is 1 - u / 2, and law(u) is
the chance to be right. The oracle knows which thresholds are true and tests each at the whole level: no procedure
that tests these thresholds by binomial tails answers more.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betainc

from oodometer.metrics import OperatingPoints
from oodometer.metrics.ranks import Ranks

RESULTS = Path(__file__).parent / "results"
SIZES, LEVEL = (500, 4_000), 0.95
REQUIRED = ((0.9, 0.95, 0.99), (0.95,))
GRID = 200_000


def _edges(u: Any) -> Any:
    """Selective accuracy just below 0.99, then just below 0.95, then just below 0.9: each claim there is false."""
    at, p = np.array([0, 0.4, 0.6, 0.75, 0.9, 1]), np.array([0.9899, 0.9899, 0.9499, 0.9499, 0.8999, 0.8999])
    slope = np.diff(p) / np.diff(at)
    return np.interp(u, at, p) + u * slope[np.clip(np.searchsorted(at, u, side="right") - 1, 0, 4)]


LAWS: dict[str, Callable[[Any], Any]] = {
    "calibrated, 0.75 to 1": lambda u: 1 - 0.25 * u,
    "calibrated, 0.5 to 1": lambda u: 1 - 0.5 * u,
    "right, then a steep fall": lambda u: 0.5 + 0.5 / (1 + np.exp((u - 0.7) / 0.06)),
    "errors among the surest 5 %": lambda u: np.where(u < 0.05, 0.85, 1 - 0.4 * u**2),
    "0.93 everywhere": lambda u: np.full_like(u, 0.93),
    "a dip from 20 to 30 %": lambda u: np.where((u > 0.2) & (u < 0.3), 0.6, np.where(u < 0.55, 0.99, 0.8)),
    "0.8999 everywhere": lambda u: np.full_like(u, 0.8999),
    "just below each accuracy": _edges,
}


def bonferroni(u: Any, right: Any, required: Sequence[float]) -> list[Any]:
    """What was done before: n / 100 coverages (5 to 100) and the thresholds 0.1 to 0.9, each at level / tests.

    The largest depth proved for each accuracy in each draw, (accuracy, draw); of sorted depths and running counts.
    """
    n, draws = u.shape[1], np.arange(len(u))[:, None]
    steps = int(np.clip(n // 100, 5, 100))
    ranks = np.broadcast_to(np.ceil(np.arange(1, steps + 1) * n / steps - 1e-9).astype(int), (len(u), steps))
    fixed = np.array([0.2, 0.4, 0.6, 0.8])  # confidences 0.9 to 0.6; 0.5 to 0.1 answer all, as the last rank does
    answered = np.concatenate([ranks, np.stack([(u < f).sum(axis=1) for f in fixed], axis=1)], axis=1)
    depth = np.concatenate(
        [u[draws, ranks[:, :-1]], np.ones((len(u), 1)), np.broadcast_to(fixed, (len(u), len(fixed)))], axis=1
    )
    return _farthest(answered, right, depth, required, (1 - LEVEL) / (steps + 9))


def oracle(u: Any, right: Any, required: Sequence[float], law: Callable[[Any], Any]) -> list[Any]:
    """The largest depth whose test alone rejects at the whole level, among the true ones; every coverage is tried."""
    n = u.shape[1]
    ranks = np.broadcast_to(np.unique(np.ceil(np.linspace(0, 1, 201)[1:] * n).astype(int)), (len(u), min(200, n)))
    depth = np.concatenate([u[np.arange(len(u))[:, None], ranks[:, :-1]], np.ones((len(u), 1))], axis=1)
    truth = selective(depth, law)
    return _farthest(ranks, right, depth, required, 1 - LEVEL, lambda a: truth >= a)


def _farthest(
    answered: Any, right: Any, depth: Any, required: Sequence[float], alpha: float, only: Any = lambda a: True
) -> list[Any]:
    hits = np.take_along_axis(right, np.maximum(answered - 1, 0), axis=1) * (answered > 0)
    out = []
    for a in required:
        tail = np.where(hits > 0, betainc(np.maximum(hits, 1e-9), answered - hits + 1, a), 1.0)
        out.append(np.where((tail <= alpha) & only(a), depth, 0.0).max(axis=1))
    return out


def sequences(u: Any, verdict: Any, required: Sequence[float]) -> list[Any]:
    """What the library does now, one draw after another; depths of its thresholds."""
    metric, found = OperatingPoints(required), np.zeros((len(required), len(u)))
    for i, (depth, right) in enumerate(zip(u, verdict, strict=True)):
        state = Ranks.of(1 - depth / 2, right.astype(np.int8))
        for j, point in enumerate(metric.finish(state, LEVEL)):
            if point["coverage"] is not None:
                found[j, i] = min(1.0, 2 * (1 - point["threshold"]))
    return list(found)


def selective(depth: Any, law: Callable[[Any], Any]) -> Any:
    """The accuracy of what is answered down to a depth, by the law."""
    grid = (np.arange(GRID) + 0.5) / GRID
    return np.interp(depth, grid + 0.5 / GRID, np.cumsum(law(grid)) / np.arange(1, GRID + 1))


def measured(name: str, rows: int, draws: int) -> list[dict[str, Any]]:
    """Mean coverage proved and the share of draws with a false claim, of each procedure."""
    law, rng = LAWS[name], np.random.default_rng([rows, list(LAWS).index(name)])
    found: dict[tuple[tuple[float, ...], str], list[Any]] = {}
    for part in np.array_split(np.arange(draws), max(1, draws * rows // 2_000_000)):
        u = np.sort(rng.random((len(part), rows)), axis=1)
        verdict = rng.random(u.shape) < law(u)
        right = np.cumsum(verdict, axis=1)
        for required in REQUIRED:
            for who, depths in (
                ("bonferroni", bonferroni(u, right, required)),
                ("sequences", sequences(u, verdict, required)),
                ("oracle", oracle(u, right, required, law)),
            ):
                found.setdefault((required, who), []).append(np.stack(depths))
    out = []
    for (required, who), parts in found.items():
        depth = np.concatenate(parts, axis=1)
        false = (selective(depth, law) < np.array(required)[:, None] - 1e-6) & (depth > 0)
        out.append(
            {
                "law": name,
                "rows": rows,
                "required": required,
                "procedure": who,
                "coverage": depth.mean(axis=1).round(4).tolist(),
                "false": round(float(false.any(axis=0).mean()), 4),
            }
        )
    return out


def page(found: list[dict[str, Any]], draws: int) -> str:
    """The results as a page."""
    lines = [
        "# Thresholds that are proved: fixed sequences beside Bonferroni",
        "",
        f"`python -m benchmarks.operating_points`; {draws:,} draws a line, level {LEVEL}. Mean coverage in percent at",
        "which each required accuracy is proved (0 where nothing is), and in how many percent of the draws any claim",
        "was false (promised: at most 5).",
    ]
    for required in REQUIRED:
        asked = ", ".join(f"{a:g}" for a in required)
        lines += ["", f"## Required: {asked}" + (" together" if len(required) > 1 else " alone"), ""]
        lines += ["| law | rows | Bonferroni | fixed sequences | oracle | false, Bonferroni | false, sequences |"]
        lines += ["|---|---:|---:|---:|---:|---:|---:|"]
        means: dict[str, list[float]] = {}
        for law in LAWS:
            for rows in dict.fromkeys(one["rows"] for one in found):
                of = {
                    one["procedure"]: one
                    for one in found
                    if (one["law"], one["rows"], tuple(one["required"])) == (law, rows, required)
                }
                told = [
                    " / ".join(f"{100 * x:.1f}" for x in of[who]["coverage"])
                    for who in ("bonferroni", "sequences", "oracle")
                ]
                for who, one in of.items():
                    means.setdefault(who, []).append(100 * float(np.mean(one["coverage"])))
                told += [f"{100 * of[who]['false']:.1f}" for who in ("bonferroni", "sequences")]
                lines.append(f"| {law} | {rows:,} | {' | '.join(told)} |")
        mean = " | ".join(f"{np.mean(means[who]):.1f}" for who in ("bonferroni", "sequences", "oracle"))
        lines.append(f"| mean of all | | {mean} | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run it all and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found: list[dict[str, Any]] = []
    for rows in asked.sizes:
        for law in LAWS:
            start = time.perf_counter()
            found += measured(law, rows, asked.draws)
            print(f"{law}, {rows:,} rows: {time.perf_counter() - start:.0f} s", flush=True)
    told = {"draws": asked.draws, "level": LEVEL, "found": found}
    (asked.out / "operating_points.json").write_text(json.dumps(told, indent=1) + "\n")
    (asked.out / "operating_points.md").write_text(page(found, asked.draws))


if __name__ == "__main__":
    main()
