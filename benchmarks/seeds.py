"""How far `--seed` moves each number of `estimate`, beside the width of its interval; results/seeds.json and seeds.md.

python -m benchmarks.seeds [--seeds 20] [--natural 60] [--only NAME]

Real references and targets of 500 and of 5,000 rows (or as many as there are); all that `estimate` says by default, and
metrics. The seed deals out folds, draws samples and replicates. A move is the farthest that a value lies from the
median over the seeds, in half widths of its 95 % interval (the median one).

Beside them the headline, as it is by default, of one case of each of so many natural sources (all of which are shuffled
once): how far ten seeds move its value and its ends, and how far trials do that are drawn anew, which `estimate` draws
by content and not by its seed.
"""

from __future__ import annotations

import argparse
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks import kit
from benchmarks.kit import data_folder
from benchmarks.real.data import Models

ROWS = (500, 5_000)
BOUND = 0.1  # of a half width
_TWENTIETH = 0.05  # of a width
METRICS = (
    "precision",
    "recall",
    "f1",
    "specificity",
    "roc_auc",
    "average_precision",
    "balanced_accuracy",
)
OF_CLASSES = ("macro_f1", "macro_recall", "balanced_accuracy")


def cases(only: str | None) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Name, reference and target, larger than is asked for, and how `estimate` is asked."""
    deployed = data_folder() / "deployed"

    def csv(name: str) -> Any:
        with lzma.open(deployed / f"{name}.csv.xz") as packed:
            return pa.csv.read_csv(packed)

    if only in (None, "car loans"):
        how = {"mapping": {"repaid": "label", "y_pred": "prediction"}, "positive": "y_pred_proba"}
        yield (
            "car loans",
            csv("car_loan_reference"),
            csv("car_loan_analysis"),
            {**how, "metrics": METRICS},
        )
    if only in (None, "credit cards"):
        how = {"mapping": {"y_true": "label", "y_pred": "prediction"}}
        yield (
            "credit cards",
            csv("mc_reference"),
            csv("mc_analysis"),
            {**how, "metrics": [*OF_CLASSES, "roc_auc"]},
        )
    if only in (None, "CIFAR-10.1"):
        held = np.load(data_folder() / "outputs" / "cifar10_1_predictions.npz")
        sides = (("preds_original", "labels_original_test"), ("preds_v6", "labels_v6"))
        here, there = (
            Models((), held[said], held[label], 10).record(4, labelled=True)
            for said, label in sides
        )
        yield "CIFAR-10.1", here, there.without_labels(), {"metrics": OF_CLASSES}
    if only in (None, "census by age"):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(data_folder() / "natural" / "adult-age.tar.xz") as packed:
                packed.extractall(folder, filter="data")
            case = Path(folder) / "adult-age" / "25-29-lr-10000"
            here, there = (
                pa.parquet.read_table(case / f"{side}.parquet") for side in ("reference", "target")
            )
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
    return {
        name: [float(one.value), float(one.lower), float(one.upper)] for name, one in out.items()
    }


def moves(seeds: list[dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """Median value and half width of each number, and how far its values lie from it, in half widths."""
    out = {}
    for name in seeds[0]:
        found = np.array([one[name] for one in seeds if name in one])
        half = max(float(np.median(found[:, 2] - found[:, 1])) / 2, 1e-4)
        away = np.abs(found - np.median(found, axis=0)) / half
        out[name] = {"value": round(float(np.median(found[:, 0])), 5), "half": round(half, 5), "said": len(found),
                     "sd": round(float(found[:, 0].std()) / half, 4), "farthest": round(float(away[:, 0].max()), 4),
                     "ends": round(float(away[:, 1:].max()), 4)}  # fmt: skip
    return out


def measure(given: argparse.Namespace) -> kit.Result:
    cache = tempfile.TemporaryDirectory()
    os.environ["OODOMETER_CACHE"] = cache.name  # trials do not depend on the seed
    import oodometer

    warnings.simplefilter("ignore")
    natural = []
    with tempfile.TemporaryDirectory() as folder:
        for place in natural_cases(given.natural, Path(folder)):
            try:
                natural.append(natural_moves(place))
            except oodometer.errors.OodometerError as error:
                print(place, error, file=sys.stderr)
                continue
            print(natural[-1], file=sys.stderr, flush=True)
    rows = []
    for name, here, there, how in cases(given.only or None):
        for count in ROWS:
            reference, target = drawn(here, count, 1), drawn(there, count, 2)
            seeds = [
                numbers(oodometer.estimate(reference, target, seed=seed, workers=1, **how))
                for seed in range(given.seeds)
            ]
            rows.append(
                {
                    "case": name,
                    "rows": [len(reference), len(target)],
                    "seed 0": seeds[0],
                    "moves": moves(seeds),
                }
            )
            print(name, count, file=sys.stderr, flush=True)
    command = f"python -m benchmarks.seeds --natural {given.natural} --seeds {given.seeds}"
    return {
        "command": command,
        "version": oodometer.__version__,
        "bound": BOUND,
        "cases": rows,
        "natural": natural,
    }


_NATURAL_SEEDS, _DRAWS = 10, 4


def natural_cases(count: int, folder: Path) -> Iterator[Path]:
    """A case of each of so many natural sources, drawn by their names."""
    packed = sorted(
        (data_folder() / "natural").glob("*.tar.xz"),
        key=lambda path: sha256(path.name.encode()).digest(),
    )
    for path in packed[:count]:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        found = sorted(
            place.parent
            for place in folder.glob(f"{path.name.removesuffix('.tar.xz')}/*/reference.parquet")
        )
        if found:
            yield found[int(sha256(path.name.encode()).hexdigest(), 16) % len(found)]
        shutil.rmtree(folder / path.name.removesuffix(".tar.xz"), ignore_errors=True)


def natural_moves(case: Path) -> dict[str, Any]:
    """How far seeds, and other trials, move value and ends of the headline, in widths of its interval."""
    import oodometer
    from oodometer.passes.plan import quick_methods

    sides = [str(case / f"{side}.parquet") for side in ("reference", "target")]

    def said(**how: Any) -> list[float]:
        one = oodometer.estimate(*sides, workers=1, **how).headline
        return [float(one.value), float(one.lower), float(one.upper)]

    def apart(found: list[list[float]]) -> list[float]:
        table = np.array(found)
        width = max(float(np.median(table[:, 2] - table[:, 1])), 1e-4)
        return [
            round(float(x), 4) for x in np.abs(table - np.median(table, axis=0)).max(axis=0) / width
        ]

    seeds = [said(seed=seed) for seed in range(_NATURAL_SEEDS)]
    out: dict[str, Any] = {
        "case": f"{case.parent.name}/{case.name}",
        "width": round(seeds[0][2] - seeds[0][1], 4),
    }
    out["seeds"] = apart(seeds)
    methods = quick_methods(None)
    draws = range(1, _DRAWS + 1)
    try:
        trials = [
            oodometer.backtest(sides[0], methods=methods, repeats=8, seed=seed, cache=None)
            for seed in draws
        ]
    except oodometer.errors.OodometerError:  # too few rows for any trial
        return out
    return out | {"trials": apart([said(backtest=one) for one in trials])}


def page(result: kit.Result) -> str:
    rows = []
    for case in result["cases"]:
        where = [case["case"], " / ".join(f"{n:,}" for n in case["rows"])]
        for name, one in case["moves"].items():
            if " by " not in name or one["farthest"] > BOUND:
                rows.append([*where, name, f"{100 * one['value']:.2f}", f"{100 * one['half']:.2f}",
                             f"{100 * one['farthest']:.1f}", f"{100 * one['sd']:.1f}"])  # fmt: skip
    every = [
        one for case in result["cases"] for name, one in case["moves"].items() if " by " in name
    ]
    still = sum(one["farthest"] <= BOUND for one in every)
    lines = [
        "# How far the seed moves a number",
        "",
        f"`{result['command']}`: values over {result['command'].split()[-1]} seeds, beside the half width of their "
        "95 % interval; the farthest from the median, and the standard deviation, in % of the half width. "
        f"Headlines first, then the methods that move by more than {BOUND:.0%}.",
        "",
        *kit.table(
            [
                "data",
                "rows (reference / target)",
                "number",
                "median %",
                "half width",
                "farthest %",
                "sd %",
            ],
            rows,
        ),
        f"{still} of {len(every)} numbers of single methods move by at most {BOUND:.0%} of their half width.",
    ]
    if result["natural"]:
        lines += ["", *of_natural(result["natural"])]
    return kit.joined(lines)


def of_natural(cases: list[dict[str, Any]]) -> list[str]:
    """The page's part on natural sources."""
    rows = []
    for what, text in (
        ("seeds", f"{_NATURAL_SEEDS} seeds"),
        ("trials", f"{_DRAWS} other draws of the trials"),
    ):
        table = np.array([case[what] for case in cases if what in case])
        for k, end in enumerate(("value", "lower end", "upper end")):
            own = table[:, k]
            rows.append([text, end, str(len(own)), *(f"{100 * np.quantile(own, q):.1f}" for q in (0.5, 0.9, 1.0)),
                         f"{100 * np.mean(own <= _TWENTIETH):.0f}"])  # fmt: skip
    said = f"The headline of {len(cases)} cases, each of another natural source: the farthest from the median, in % of "
    return [
        "## Natural sources",
        "",
        f"{said}the width of the interval, and in how many % of the cases it is at most a twentieth. `estimate` draws "
        "its trials by content, so that no seed redraws them; what another draw would change is shown beside it.",
        "",
        *kit.table(["drawn anew", "number", "cases", "median", "90 %", "most", "<= 5 %"], rows),
    ]


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "seeds",
            measure,
            page,
            seeds=(20, "seeds of each case"),
            natural=(60, "sources of natural cases"),
            only=("", "one case by its name"),
        )
    )
