"""How far `--seed` moves each number of `estimate`, beside the width of its interval; results/seeds.json and seeds.md.

python -m benchmarks.seeds [--seeds 20] [--only NAME]

Real references and targets of 500 and of 5,000 rows (or as many as there are); all that `estimate` says by default, and
metrics. The seed deals out folds, draws samples, splits of trials and replicates. A move is the farthest that a value
lies from the median over the seeds, in half widths of its 95 % interval (the median one).
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.real.data import RESULTS, Models, data_folder
from benchmarks.real.tables import markdown

__all__ = ["main"]

ROWS = (500, 5_000)
BOUND = 0.1  # of a half width
METRICS = ("precision", "recall", "f1", "specificity", "roc_auc", "average_precision", "balanced_accuracy")
OF_CLASSES = ("macro_f1", "macro_recall", "balanced_accuracy")


def cases(only: str | None) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Name, reference and target, larger than is asked for, and how `estimate` is asked."""
    deployed = data_folder() / "deployed"

    def csv(name: str) -> Any:
        with lzma.open(deployed / f"{name}.csv.xz") as packed:
            return pa.csv.read_csv(packed)

    if only in (None, "car loans"):
        how = {"mapping": {"repaid": "label", "y_pred": "prediction"}, "positive": "y_pred_proba"}
        yield "car loans", csv("car_loan_reference"), csv("car_loan_analysis"), {**how, "metrics": METRICS}
    if only in (None, "credit cards"):
        how = {"mapping": {"y_true": "label", "y_pred": "prediction"}}
        yield "credit cards", csv("mc_reference"), csv("mc_analysis"), {**how, "metrics": [*OF_CLASSES, "roc_auc"]}
    if only in (None, "CIFAR-10.1"):
        held = np.load(data_folder() / "outputs" / "cifar10_1_predictions.npz")
        sides = (("preds_original", "labels_original_test"), ("preds_v6", "labels_v6"))
        here, there = (Models((), held[said], held[label], 10).record(4, labelled=True) for said, label in sides)
        yield "CIFAR-10.1", here, there.without_labels(), {"metrics": OF_CLASSES}
    if only in (None, "census by age"):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(data_folder() / "natural" / "adult-age.tar.xz") as packed:
                packed.extractall(folder, filter="data")
            case = Path(folder) / "adult-age" / "25-29-lr-10000"
            here, there = (pa.parquet.read_table(case / f"{side}.parquet") for side in ("reference", "target"))
        yield "census by age", here, there, {"metrics": METRICS}


def drawn(data: Any, rows: int, seed: int) -> Any:
    """So many random rows, in their order."""
    some = np.sort(np.random.default_rng(seed).permutation(len(data))[:rows])
    return data.take(some)


def numbers(found: Any) -> dict[str, list[float]]:
    """Value and ends of everything that is said, by what it is."""
    out = {"accuracy": found.headline, **{f"accuracy by {e.method}": e for e in found.estimates}}
    for name, one in found.metrics.items():
        out |= {name: one.headline, **{f"{name} by {e.method}": e for e in one.estimates}}
    return {name: [float(one.value), float(one.lower), float(one.upper)] for name, one in out.items()}


def moves(seeds: list[dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """Median value and half width of each number, and how far its values lie from it, in half widths."""
    out = {}
    for name in seeds[0]:
        told = np.array([one[name] for one in seeds if name in one])
        half = max(float(np.median(told[:, 2] - told[:, 1])) / 2, 1e-4)
        away = np.abs(told - np.median(told, axis=0)) / half
        out[name] = {"value": round(float(np.median(told[:, 0])), 5), "half": round(half, 5), "said": len(told),
                     "sd": round(float(told[:, 0].std()) / half, 4), "farthest": round(float(away[:, 0].max()), 4),
                     "ends": round(float(away[:, 1:].max()), 4)}  # fmt: skip
    return out


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=RESULTS / "seeds.json")
    asked = parser.parse_args()
    os.environ["OODOMETER_CACHE"] = ""
    import oodometer

    warnings.simplefilter("ignore")
    rows = []
    for name, here, there, how in cases(asked.only):
        for count in ROWS:
            reference, target = drawn(here, count, 1), drawn(there, count, 2)
            told = [
                numbers(oodometer.estimate(reference, target, seed=seed, workers=1, **how))
                for seed in range(asked.seeds)
            ]
            rows.append({"case": name, "rows": [len(reference), len(target)], "seed 0": told[0], "moves": moves(told)})
            print(name, count, {k: v["farthest"] for k, v in rows[-1]["moves"].items() if v["farthest"] > BOUND})
    command = f"python -m benchmarks.seeds --seeds {asked.seeds}"
    head = json.dumps({"command": command, "version": oodometer.__version__, "bound": BOUND})
    lines = ",\n".join(json.dumps(row) for row in rows)
    asked.out.write_text(f'{head[:-1]}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    asked.out.with_suffix(".md").write_text(text(command, asked.seeds, rows), encoding="utf-8")


def text(command: str, seeds: int, rows: list[dict[str, Any]]) -> str:
    """The result in Markdown."""
    lines = [
        "# How far the seed moves a number",
        "",
        f"`{command}`: values over {seeds} seeds, beside the half width of their 95 % interval; the farthest from the"
        " median, and the standard deviation, in % of the half width. Headlines first, then the methods that move by"
        f" more than {BOUND:.0%}.",
        "",
    ]
    table = []
    for row in rows:
        where = [row["case"], " / ".join(f"{n:,}" for n in row["rows"])]
        for name, one in row["moves"].items():
            if " by " in name and one["farthest"] <= BOUND:
                continue
            table.append([*where, name, f"{100 * one['value']:.2f}", f"{100 * one['half']:.2f}",
                          f"{100 * one['farthest']:.1f}", f"{100 * one['sd']:.1f}"])  # fmt: skip
    heads = ["data", "rows (reference / target)", "number", "median %", "half width", "farthest %", "sd %"]
    every = [one for row in rows for name, one in row["moves"].items() if " by " in name]
    still = sum(one["farthest"] <= BOUND for one in every)
    said = f"{still} of {len(every)} numbers of single methods move by at most {BOUND:.0%} of their half width."
    return "\n".join([*lines, *markdown(heads, table), said, ""])


if __name__ == "__main__":
    main()
