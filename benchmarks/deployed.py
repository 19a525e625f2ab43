"""A deployed binary model: our label-free metrics beside NannyML's CBPE, chunk by chunk, with the truth; and the time.

python -m benchmarks.deployed --peer VENV/bin/python    # results/deployed.json and deployed.md

The data are NannyML's own sample of car loans (`deployed/` in OODOMETER_DATA): 50,000 labelled rows, and 50,000 later
ones in chunks of 5,000, whose labels arrive later. Both sides read the raw CSV and know the same. NannyML is run by the
Python of an environment of its own. Times are of whole processes, cold, what a person types; ours without any cache.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.kit import data_folder

METRICS = ("accuracy", "f1", "precision", "recall", "specificity", "roc_auc")
ROWS = 5_000  # of a chunk
MARGIN = 0.01  # of accuracy, or of another metric: what counts as a fall
LARGE = 1_000_000
PEER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd, nannyml as nml
reference, target, metrics, size, out = sys.argv[1:]
read = pd.read_parquet if reference.endswith("parquet") else pd.read_csv
r, t, metrics = read(reference), read(target), json.loads(metrics)
start = time.perf_counter()
est = nml.CBPE(problem_type="classification_binary", y_pred_proba="y_pred_proba", y_pred="y_pred", y_true="repaid",
               metrics=metrics, chunk_size=int(size)).fit(r)
fitted = time.perf_counter()
found = est.estimate(t)
seconds = [fitted - start, time.perf_counter() - fitted]
found = found.filter(period="analysis").to_df()
rows = [{m: [float(row[(m, "value")]), bool(row[(m, "alert")])] for m in metrics} for _, row in found.iterrows()]
json.dump({"rows": rows, "seconds": seconds}, open(out, "w"))
"""
OURS = """
import json, sys, time
import pandas as pd, oodometer
reference, target, metrics, size, out = sys.argv[1:]
r, t = pd.read_parquet(reference), pd.read_parquet(target)
metrics = [m for m in json.loads(metrics) if m != "accuracy"]
how = dict(methods=["cbpe"], positive="y_pred_proba", mapping={"repaid": "label", "y_pred": "prediction"})
# once with few rows: what is loaded at the first call is loaded then
oodometer.Oodometer(metrics=metrics, **how).fit(r.head(2000)).estimate(t.head(2000), every="1000rows")
start = time.perf_counter()
model = oodometer.Oodometer(metrics=metrics, **how).fit(r)
fitted = time.perf_counter()
model.estimate(t, every=size + "rows")
json.dump({"seconds": [fitted - start, time.perf_counter() - fitted]}, open(out, "w"))
"""


def unpacked(folder: Path) -> dict[str, Path]:
    """The three raw files of the car loans."""
    out = {}
    for name in ("reference", "analysis", "analysis_target"):
        out[name] = folder / f"car_loan_{name}.csv"
        with (
            lzma.open(data_folder() / "deployed" / f"car_loan_{name}.csv.xz") as packed,
            out[name].open("wb") as file,
        ):
            shutil.copyfileobj(packed, file)
    return out


def asked(
    reference: Path, target: Path, metrics: Sequence[str], out: Path, *more: str
) -> list[str]:
    """What a person types."""
    named = [part for m in metrics if m != "accuracy" for part in ("--metric", m)]
    return [sys.executable, "-m", "oodometer", "estimate", str(reference), str(target), "--map", "repaid=label",
            "--map", "y_pred=prediction", "--positive", "y_pred_proba", "--json", str(out), *named, *more]  # fmt: skip


def truths(files: dict[str, Path]) -> list[dict[str, float]]:
    """The metrics of each chunk once its labels are there, by scikit-learn; the first is that of the reference."""
    import pandas as pd
    from sklearn import metrics as sk

    reference, target = pd.read_csv(files["reference"]), pd.read_csv(files["analysis"])
    labels = pd.read_csv(files["analysis_target"])
    target = target.merge(labels, on="id", validate="one_to_one")
    column = next(c for c in labels.columns if c not in ("id", "Unnamed: 0"))
    parts = [
        (reference, "repaid"),
        *((target.iloc[i : i + ROWS], column) for i in range(0, len(target), ROWS)),
    ]
    out = []
    for part, name in parts:
        y, h, p = part[name], part["y_pred"], part["y_pred_proba"]
        out.append({
            "accuracy": sk.accuracy_score(y, h), "f1": sk.f1_score(y, h), "precision": sk.precision_score(y, h),
            "recall": sk.recall_score(y, h), "specificity": sk.recall_score(y, h, pos_label=0),
            "roc_auc": sk.roc_auc_score(y, p),
        })  # fmt: skip
    return out


def ours(plain: dict[str, Any]) -> list[dict[str, dict[str, Any]]]:
    """Of each chunk and metric: value, interval, and whether the rule raised an alarm about it."""
    raised = {(one["start"], one["metric"]) for one in plain["alarms"]["where"]}
    out = []
    for chunk in plain["chunks"]:
        said = {"accuracy": chunk["headline"], **chunk["metrics"]}
        here = {
            name: {
                **{k: one[k] for k in ("value", "lower", "upper")},
                "alarm": (chunk["start"], name) in raised,
            }
            for name, one in said.items()
        }
        here["accuracy"]["cbpe"] = next(
            one["value"] for one in chunk["estimates"] if one["method"] == "cbpe"
        )
        out.append(here)
    return out


class Bench:
    """The files of one run in a folder of its own, and the commands on them."""

    def __init__(self, folder: Path, peer: str) -> None:
        self.folder, self.peer, self.files = folder, peer, unpacked(folder)
        self.script, self.out, self.theirs = (
            folder / "peer.py",
            folder / "ours.json",
            folder / "theirs.json",
        )
        self.script.write_text(PEER)
        self.every = ["--every", f"{ROWS}rows"]
        reference, target = self.files["reference"], self.files["analysis"]
        watch = [
            part
            for m in METRICS
            for part in ("--fail-drop", str(MARGIN) if m == "accuracy" else f"{m}={MARGIN}")
        ]
        self.run = asked(reference, target, METRICS, self.out, *self.every, *watch)
        self.other = [peer, str(self.script), str(reference), str(target), json.dumps(METRICS), str(ROWS),
                      str(self.theirs)]  # fmt: skip

    def values(self) -> dict[str, Any]:
        """What both sides, or without a peer ours alone, say of each chunk, and the truth."""
        kit.timed(self.run, OODOMETER_CACHE="")
        said: dict[str, Any] = {
            "truth": truths(self.files),
            "ours": ours(json.loads(self.out.read_text())),
        }
        if self.peer:
            kit.timed(self.other)
            said["theirs"] = json.loads(self.theirs.read_text())["rows"]
        return said

    def seconds(self, rounds: int) -> dict[str, Any]:
        """Medians of the times of all commands, which take turns."""
        reference, target = self.files["reference"], self.files["analysis"]
        model, bare = self.folder / "model.oodo", self.folder / "bare.oodo"
        fit = [sys.executable, "-m", "oodometer", "fit", str(reference), "--map", "repaid=label", "--map",
               "y_pred=prediction", "--positive", "y_pred_proba", "--out"]  # fmt: skip
        for out, metrics in ((model, METRICS[1:]), (bare, ())):
            kit.timed([*fit, str(out), *(part for m in metrics for part in ("--metric", m))])
        ask = [sys.executable, "-m", "oodometer", "estimate"]
        said = [str(target), "--json", str(self.folder / "said.json")]
        commands = {"ours, six metrics": self.run,
            "ours, accuracy alone": asked(reference, target, [], self.folder / "alone.json", *self.every),
            "ours, from a fitted file: six metrics, no chunks": [*ask, str(model), *said],
            "ours, from a fitted file: accuracy, no chunks": [*ask, str(bare), *said],
            "NannyML, CBPE alone, six metrics": self.other}  # fmt: skip
        times = kit.in_turns({k: partial(_seconds, v) for k, v in commands.items()}, rounds)
        large, inside = large_times(self.folder, self.peer, self.script, rounds)
        return {
            "seconds": {k: round(statistics.median(v), 2) for k, v in times.items()},
            "seconds_1M": {k: round(statistics.median(v), 2) for k, v in large.items()},
            "seconds_1M_in_memory": {
                k: [round(statistics.median(one), 3) for one in zip(*v, strict=True)]
                for k, v in inside.items()
            },
        }


def large_times(
    folder: Path, peer: str, script: Path, rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[list[float]]]]:
    """Seconds for a million target rows: of whole processes; of the work alone on frames in memory, (fit, estimate)."""
    import pandas as pd

    rng = np.random.default_rng(0)

    def made(rows: int, moved: float) -> Any:
        z = rng.normal(moved, 1.5, rows)
        label = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)
        p = 1 / (1 + np.exp(-1.5 * z))
        return pd.DataFrame({"y_pred_proba": p, "y_pred": (p >= 0.5).astype(int), "repaid": label})

    sizes = {"50,000": made(50_000, 0.0), "1,000,000": made(LARGE, 0.0)}
    references = {rows: folder / f"reference_{rows}.parquet" for rows in sizes}
    for rows, table in sizes.items():
        table.to_parquet(references[rows])
    target = folder / "large_target.parquet"
    made(LARGE, 0.5).drop(columns="repaid").to_parquet(target)
    reference, method = references["50,000"], ["--method", "cbpe"]
    out, found, memory = folder / "large.json", folder / "seconds.json", folder / "memory.py"
    memory.write_text(OURS)

    def inside(python: str, file: Path, reference: Path, metrics: Sequence[str]) -> list[str]:
        return [
            python,
            str(file),
            str(reference),
            str(target),
            json.dumps(metrics),
            str(LARGE // 10),
            str(found),
        ]

    commands = {"ours, CBPE, six metrics": asked(reference, target, METRICS, out, *method),
        "ours, CBPE, accuracy alone": asked(reference, target, [], out, *method),
        "ours, everything, six metrics": asked(reference, target, METRICS, out),
        "ours, everything, accuracy alone": asked(reference, target, [], out),
        "NannyML, CBPE, six metrics": inside(peer, script, reference, METRICS)}  # fmt: skip
    works = {}
    for rows, file in references.items():
        works[f"ours, CBPE, six metrics | {rows}"] = inside(sys.executable, memory, file, METRICS)
        works[f"ours, CBPE, accuracy alone | {rows}"] = inside(
            sys.executable, memory, file, METRICS[:1]
        )
        works[f"NannyML, CBPE, six metrics | {rows}"] = inside(peer, script, file, METRICS)
    whole = kit.in_turns({k: partial(_seconds, v) for k, v in commands.items()}, rounds)

    def alone(command: Sequence[str]) -> list[float]:
        kit.timed(command)
        return list(json.loads(found.read_text())["seconds"])

    return whole, kit.in_turns({k: partial(alone, v) for k, v in works.items()}, rounds)


def _seconds(command: Sequence[str]) -> float:
    return kit.timed(command, OODOMETER_CACHE="")[0]


def page(found: kit.Result) -> str:
    reference, truth = found["truth"][0], found["truth"][1:]
    rows = []
    for m in METRICS:
        mine = [100 * abs(o[m]["value"] - t[m]) for o, t in zip(found["ours"], truth, strict=True)]
        other = [100 * abs(o[m][0] - t[m]) for o, t in zip(found["theirs"], truth, strict=True)]
        inside = sum(
            o[m]["lower"] <= t[m] <= o[m]["upper"]
            for o, t in zip(found["ours"], truth, strict=True)
        )
        rows.append([m, f"{statistics.mean(mine):.2f}", f"{max(mine):.2f}", f"{statistics.mean(other):.2f}",
                     f"{max(other):.2f}", f"{inside} of {len(truth)}"])  # fmt: skip
    single = [
        100 * abs(o["accuracy"]["cbpe"] - t["accuracy"])
        for o, t in zip(found["ours"], truth, strict=True)
    ]
    alarms = []
    for m in METRICS:
        fell = [reference[m] - t[m] >= MARGIN for t in truth]
        cells = [m, str(sum(fell))]
        for said in ([o[m]["alarm"] for o in found["ours"]], [o[m][1] for o in found["theirs"]]):
            right = sum(a and f for a, f in zip(said, fell, strict=True))
            cells += [f"{right} / {sum(said) - right} / {sum(fell) - right}"]
        alarms.append(cells)
    chunks = []
    for i, (o, n, t) in enumerate(zip(found["ours"], found["theirs"], truth, strict=True)):
        cells = [f"{o[m]['value']:.3f} / {n[m][0]:.3f} / {t[m]:.3f}" for m in METRICS]
        chunks.append([str(i * ROWS), *cells])
    seconds = [[told, f"{s:.1f}"] for told, s in found["seconds"].items()]
    large = [[told, f"{s:.1f}"] for told, s in found["seconds_1M"].items()]
    inside = [[*told.split(" | "), *(f"{s:.2f}" for s in both), f"{sum(both):.2f}"]
              for told, both in found["seconds_1M_in_memory"].items()]  # fmt: skip
    lines = [
        "# A deployed binary model, without labels",
        "",
        "Made by `python -m benchmarks.deployed --peer PYTHON`. Errors in points (hundredths) over "
        f"{len(truth)} chunks of {ROWS:,} car loans; the last column says how often the truth lay in our "
        "95 % interval.",
        "",
        *kit.table(["metric", "ours: mean error", "largest", "NannyML: mean error", "largest", "truth in our interval"],
                  rows),
        "Ours are headlines: the mean of many methods that did best on public natural shifts, where a fall is often "
        f"larger than one method says. Our CBPE alone errs by {statistics.mean(single):.2f} points of accuracy here "
        f"(at most {max(single):.2f}).",
        "",
        f"## Alarms: right / wrong / missed, where a metric fell by {100 * MARGIN:.0f} point or more",
        "",
        f"Ours: `--fail-drop METRIC={MARGIN}`. NannyML: `alert`, outside three standard deviations of the reference's "
        "chunks, its default.",
        "",
        *kit.table(["metric", "chunks that fell", "ours", "NannyML"], alarms),
        "## Chunk by chunk: ours / NannyML's / the truth",
        "",
        *kit.table(["first row", *METRICS], chunks),
        "## Seconds, whole processes, 50,000 + 50,000 rows of CSV",
        "",
        *kit.table(["what is typed", "seconds"], seconds),
        "## Seconds, whole processes, 50,000 + 1,000,000 rows of Parquet",
        "",
        *kit.table(["what is typed", "seconds"], large),
        "## Seconds, the work alone on frames in memory, imports done, 1,000,000 target rows in 10 chunks",
        "",
        *kit.table(["what is called", "reference rows", "fit", "estimate", "together"], inside),
    ]  # fmt: skip
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    if not given.peer and not given.values:
        raise SystemExit("name the python of an environment with nannyml: --peer VENV/bin/python")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given.peer)
        return given.before | bench.values() | ({} if given.values else bench.seconds(given.rounds))


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "deployed",
            measure,
            page,
            peer=("", "python of an environment with nannyml"),
            rounds=(3, "times that each command is timed"),
            values=(
                False,
                "time nothing, keep the times of the file; without --peer its values, too",
            ),
        )
    )
