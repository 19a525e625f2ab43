"""What giving the features changes: headline, trust and methods with and without them, on the same real shifts.

python -m benchmarks.features            # the deployed models and natural shifts; results/features.json and .md
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import shutil
import statistics
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import oodometer
from benchmarks import kit
from benchmarks.kit import data_folder
from oodometer.results.estimation import Estimation

PARTS = 4  # of a deployed model's target, in the order of time, each a target of its own
CASES = 2  # of each natural bed
BEDS = (
    "adult-age",
    "adult-group",
    "bank-time",
    "bikes-season",
    "elec2",
    "flights-airport",
    "heart",
    "wine",
)
METHODS = ("importance", "pape")
DEPLOYED: Mapping[str, Mapping[str, Any]] = {
    "car_loan": {"truth": ("car_loan_analysis_target.csv", "repaid"), "positive": "y_pred_proba",
        "mapping": {"repaid": "label", "y_pred": "prediction", "timestamp": "time"}},
    "mc": {"truth": ("mc_analysis_gt.csv", "y_true"),
        "mapping": {"y_true": "label", "y_pred": "prediction", "timestamp": "time",
            **{f"y_pred_proba_{one}_card": f"prob_{one}_card" for one in ("prepaid", "highstreet", "upmarket")}}},
}  # fmt: skip


def told(found: Estimation, truth: float) -> dict[str, Any]:
    """What a result says, beside the truth."""
    head, values = found.headline, {one.method: one.value for one in found.estimates}
    columns = () if found.diagnosis is None else found.diagnosis.columns
    kind = None if found.diagnosis is None else found.diagnosis.kind
    methods = {name: values[name] - truth for name in METHODS if name in values}
    return {"error": head.value - truth, "width": head.upper - head.lower, "holds": head.lower <= truth <= head.upper,
        "trust": head.trust, "kind": kind, "methods": methods,
        "moved": [one.name for one in columns if one.moved]}  # fmt: skip


def both(truth: float, **sides: Callable[[], Estimation]) -> dict[str, Any]:
    """The same estimate without and with features, and how long each took."""
    out: dict[str, Any] = {"truth": truth}
    for name, ask in sides.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ask()
        out[name] = told(found, truth) | {"seconds": time.perf_counter() - start}
    return out


def verdicts(folder: Path, name: str, how: Mapping[str, Any]) -> dict[str, bool]:
    """Whether a deployed model was right, by the id of the row."""
    file, column = how["truth"]
    with (
        (folder / f"{name}_analysis.csv").open(newline="") as said,
        (folder / file).open(newline="") as true,
    ):
        truth = {row["id"]: row[column].removesuffix(".0") for row in csv.DictReader(true)}
        return {row["id"]: row["y_pred"] == truth[row["id"]] for row in csv.DictReader(said)}


def deployed(folder: Path) -> Iterator[dict[str, Any]]:
    """Stretches of the deployed models' targets, features by ``features="auto"``."""
    for name, how in DEPLOYED.items():
        for path in (data_folder() / "deployed").glob(f"{name}_*.csv.xz"):
            with lzma.open(path) as packed, (folder / path.stem).open("wb") as file:
                shutil.copyfileobj(packed, file)
        right = verdicts(folder, name, how)
        head, *lines = (folder / f"{name}_analysis.csv").read_text(encoding="utf-8").splitlines()
        options = {key: value for key, value in how.items() if key != "truth"}
        for k, rows in enumerate(np.array_split(np.arange(len(lines)), PARTS)):
            part = folder / f"{name}_{k}.csv"
            part.write_text("\n".join([head, *(lines[i] for i in rows)]) + "\n", encoding="utf-8")
            ask = partial(oodometer.estimate, folder / f"{name}_reference.csv", part, **options)
            truth = statistics.fmean(right[lines[i].partition(",")[0]] for i in rows)
            found = both(truth, without=ask, **{"with": partial(ask, features="auto")})
            yield {"bed": name, "case": f"part {k + 1} of {PARTS}", **found}


def natural(folder: Path) -> Iterator[dict[str, Any]]:
    """Cases of natural shifts whose features are known, and the same with the features taken away."""
    rng = np.random.default_rng(0)
    for bed in BEDS:
        with tarfile.open(data_folder() / "natural" / f"{bed}+features.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        cases = sorted(path.parent for path in (folder / f"{bed}+features").glob("*/truth.json"))
        for i in sorted(rng.permutation(len(cases))[:CASES]):
            full = [
                oodometer.load(cases[i] / f"{side}.parquet") for side in ("reference", "target")
            ]
            bare = [replace(record, features=None, names={}, _cache={}) for record in full]
            truth = json.loads((cases[i] / "truth.json").read_text(encoding="utf-8"))["accuracy"]
            sides = {
                "without": partial(oodometer.estimate, *bare),
                "with": partial(oodometer.estimate, *full),
            }
            yield {"bed": bed, "case": cases[i].name, **both(truth, **sides)}


def summary(cases: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row of the table for each bed, one for all: without features, then with them."""
    beds = [*dict.fromkeys(case["bed"] for case in cases)]
    rows = []
    for bed in [*beds, "all"]:
        some = [case for case in cases if bed in ("all", case["bed"])]
        row = [bed, str(len(some))]
        for name in ("error", "width"):
            row += [
                f"{100 * statistics.fmean(abs(c[side][name]) for c in some):.1f}"
                for side in ("without", "with")
            ]
        row += [str(sum(c[side]["holds"] for c in some)) for side in ("without", "with")]
        row += [str(sum(c[side]["trust"] == "high" for c in some)) for side in ("without", "with")]
        for method in METHODS:
            own = [
                c for c in some if all(method in c[side]["methods"] for side in ("without", "with"))
            ]
            errors = [
                [abs(c[side]["methods"][method]) for c in own] for side in ("without", "with")
            ]
            both_said = " / ".join(f"{100 * statistics.fmean(each):.1f}" for each in errors if own)
            row.append(
                (both_said or "-") + ("" if len(own) in (0, len(some)) else f" (of {len(own)})")
            )
        rows.append(row)
    return rows


def page(result: kit.Result) -> str:
    cases = result["cases"]
    heads = ["shifts", "cases", "error", "error, features", "width", "width, features", "holds", "holds, features",
        "trust high", "trust high, features", *(f"{m}: error without / with" for m in METHODS)]  # fmt: skip
    ratio = statistics.median(c["with"]["seconds"] / c["without"]["seconds"] for c in cases)
    kinds = sum(c["with"]["kind"] != c["without"]["kind"] for c in cases)
    lines = [
        "# What giving the features changes",
        "",
        "`python -m benchmarks.features`. The same estimates, defaults otherwise, without and with the features. Mean "
        "absolute errors and widths of 95 % intervals in points of accuracy; `holds`: cases whose truth lies in the "
        "interval.",
        "",
        *(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *summary(cases))),
        "",
        f"The kind of shift is another one with features in {kinds} of {len(cases)} cases. Time with features over "
        f"time without, median of the cases: {ratio:.2f}.",
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    start, cases = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OODOMETER_CACHE"] = str(Path(folder) / "cache")
        for case in chain(deployed(Path(folder)), natural(Path(folder))):
            cases.append(case)
            print(
                case["bed"],
                case["case"],
                f"{time.perf_counter() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    return {"seconds": round(time.perf_counter() - start), "cases": cases}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "features", measure, page))
