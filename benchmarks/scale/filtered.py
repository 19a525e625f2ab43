"""What `--where` and `--by` cost on CSV: `oodometer estimate` as typed, from a cold start, beside the files plain.

300,000 rows of three classes lie in five partitions, `day=2026-11-01` to `day=2026-11-05`. In each round all commands
run one after another; a ratio is the median over rounds of a command's time divided by that of the plain one beside it.

    python -m benchmarks.scale.filtered
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from benchmarks import kit

MOST = 1.5  # times the plain command
CASES = {
    "plain": (), "--where of a column": ("--where", "site in (A, B, C)"),
    "--where of a number": ("--where", "score < 2"), "--where of the folders": ("--where", "day >= 2026-11-01"),
    "--by of a column": ("--by", "site"), "--by of the folders": ("--by", "day"),
}  # fmt: skip


def table(rows: int, seed: int) -> pa.Table:
    """Probabilities, labels, a column of three values and a number."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, 3)) * 2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = np.array(["cat", "dog", "eel"])
    label = np.where(rng.random(rows) < 0.8, logits.argmax(axis=1), rng.integers(0, 3, rows))
    columns = {f"prob_{name}": p[:, i].round(6) for i, name in enumerate(names)}
    site, score = np.array(["A", "B", "C"])[rng.integers(0, 3, rows)], rng.random(rows).round(4)
    return pa.table({**columns, "label": names[label], "site": site, "score": score})


def measured(rounds: int, rows: int) -> dict[str, dict[str, float]]:
    """Case -> seconds, seconds of processor, and both against the plain command, by medians over rounds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as home:
        pacsv.write_csv(table(20_000, 1), f"{home}/reference.csv")
        for day in range(1, 6):
            folder = Path(home, "lake", f"day=2026-11-{day:02}")
            folder.mkdir(parents=True)
            pacsv.write_csv(table(rows // 5, 10 + day), folder / "part.csv")
        command = [
            sys.executable,
            "-m",
            "oodometer",
            "estimate",
            f"{home}/reference.csv",
            f"{home}/lake",
        ]
        for _ in range(rounds + 1):
            for name, options in CASES.items():
                before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                subprocess.run(
                    [*command, "--backtest", "none", *options],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                took, after = (
                    time.perf_counter() - start,
                    resource.getrusage(resource.RUSAGE_CHILDREN),
                )
                times[name].append(
                    (took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                )
    out = {}
    for name, all_of in times.items():
        pairs = list(
            zip(all_of[1:], times["plain"][1:], strict=True)
        )  # the first round warms the disk
        out[name] = {"seconds": statistics.median(one[0] for one, _ in pairs),
            "processor": statistics.median(one[1] for one, _ in pairs),
            "ratio": statistics.median(one[0] / plain[0] for one, plain in pairs),
            "processor_ratio": statistics.median(one[1] / plain[1] for one, plain in pairs)}  # fmt: skip
    return out


def page(result: kit.Result) -> str:
    rows = []
    for name, one in result["cases"].items():
        numbers = (one[key] for key in ("seconds", "ratio", "processor", "processor_ratio"))
        rows.append(
            [
                name,
                *(f"{number:.2f}" for number in numbers),
                "yes" if one["ratio"] <= MOST else "no",
            ]
        )
    lines = [
        f"# `--where` and `--by` on {result['rows']:,} rows of CSV in five partitions",
        "",
        f"At most {MOST} times the plain command was promised; {result['rounds']} rounds.",
        "",
        *kit.table(
            ["", "seconds", "against plain", "seconds of processor", "against plain", "holds"],
            rows,
            "lrrrrl",
        ),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    return {"rounds": given.rounds, "rows": given.rows, "cases": measured(given.rounds, given.rows)}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "filtered",
            measure,
            page,
            rounds=(5, "rounds of all commands"),
            rows=(300_000, "rows of the lake"),
        )
    )
