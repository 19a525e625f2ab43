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
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.data import RESULTS, data_folder
from benchmarks.real.tables import markdown

__all__ = ["main"]

METRICS = ("accuracy", "f1", "precision", "recall", "specificity", "roc_auc")
ROWS = 5_000  # of a chunk
MARGIN = 0.01  # of accuracy, or of another metric: what counts as a fall
LARGE = 1_000_000
PEER = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import pandas as pd, nannyml as nml
try:
    nml.usage_logging.disable_usage_logging() if hasattr(nml, "usage_logging") else None
except Exception:
    pass
reference, target, metrics, size, out = sys.argv[1:]
read = pd.read_parquet if reference.endswith("parquet") else pd.read_csv
r, t = read(reference), read(target)
est = nml.CBPE(problem_type="classification_binary", y_pred_proba="y_pred_proba", y_pred="y_pred", y_true="repaid",
               metrics=json.loads(metrics), chunk_size=int(size)).fit(r)
found = est.estimate(t).filter(period="analysis").to_df()
rows = []
for _, row in found.iterrows():
    rows.append({m: [float(row[(m, "value")]), bool(row[(m, "alert")])] for m in json.loads(metrics)})
json.dump(rows, open(out, "w"))
"""


def unpacked(folder: Path) -> dict[str, Path]:
    """The three raw files of the car loans."""
    out = {}
    for name in ("reference", "analysis", "analysis_target"):
        out[name] = folder / f"car_loan_{name}.csv"
        with lzma.open(data_folder() / "deployed" / f"car_loan_{name}.csv.xz") as packed, out[name].open("wb") as file:
            shutil.copyfileobj(packed, file)
    return out


def asked(reference: Path, target: Path, metrics: Sequence[str], out: Path, *more: str) -> list[str]:
    """What a person types."""
    named = [part for m in metrics if m != "accuracy" for part in ("--metric", m)]
    return [sys.executable, "-m", "oodometer", "estimate", str(reference), str(target), "--map", "repaid=label",
            "--map", "y_pred=prediction", "--positive", "y_pred_proba", "--json", str(out), *named, *more]  # fmt: skip


def timed(command: Sequence[str]) -> float:
    """Seconds of a whole process; what it printed is shown where it failed."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OODOMETER_CACHE": ""})
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr[-2000:])
    return time.perf_counter() - start


def truths(files: dict[str, Path]) -> list[dict[str, float]]:
    """The metrics of each chunk once its labels are there, by scikit-learn; the first is that of the reference."""
    import pandas as pd
    from sklearn import metrics as sk

    reference, target = pd.read_csv(files["reference"]), pd.read_csv(files["analysis"])
    labels = pd.read_csv(files["analysis_target"])
    target = target.merge(labels, on="id", validate="one_to_one")
    column = next(c for c in labels.columns if c not in ("id", "Unnamed: 0"))
    parts = [(reference, "repaid"), *((target.iloc[i : i + ROWS], column) for i in range(0, len(target), ROWS))]
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
    """Of each chunk and metric: value, interval, and whether the interval lies below the reference."""
    out = []
    for chunk in plain["chunks"]:
        said = {"accuracy": {**chunk["headline"], "alarm": chunk["fell"]["alarm"]}}
        for name, one in chunk["metrics"].items():
            said[name] = {k: one[k] for k in ("value", "lower", "upper")}
        out.append(said)
    return out


def measure(peer: str, rounds: int) -> dict[str, Any]:
    """Values of both sides, the truth, and times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = unpacked(folder)
        script, out, theirs = folder / "peer.py", folder / "ours.json", folder / "theirs.json"
        script.write_text(PEER)
        every = ["--every", f"{ROWS}rows"]
        run = asked(files["reference"], files["analysis"], METRICS, out, *every)
        other = [peer, str(script), str(files["reference"]), str(files["analysis"]), json.dumps(METRICS), str(ROWS),
                 str(theirs)]  # fmt: skip
        alone = asked(files["reference"], files["analysis"], [], folder / "alone.json", *every)
        model = folder / "model.oodo"
        fit = [sys.executable, "-m", "oodometer", "fit", str(files["reference"]), "--out", str(model), "--map",
               "repaid=label", "--map", "y_pred=prediction", "--positive", "y_pred_proba",
               *(part for m in METRICS if m != "accuracy" for part in ("--metric", m))]  # fmt: skip
        timed(fit)
        fitted = [sys.executable, "-m", "oodometer", "estimate", str(model), str(files["analysis"]), *every, "--json",
                  str(folder / "fitted.json")]  # fmt: skip
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            for told, command in (("ours, six metrics", run), ("ours, accuracy alone", alone),
                                  ("ours, from a fitted file", fitted), ("NannyML", other)):  # fmt: skip
                times.setdefault(told, []).append(timed(command))
        large = large_times(folder, peer, script, rounds)
        return {
            "truth": truths(files), "ours": ours(json.loads(out.read_text())), "theirs": json.loads(theirs.read_text()),
            "seconds": {k: round(statistics.median(v), 2) for k, v in times.items()},
            "seconds_1M": {k: round(statistics.median(v), 2) for k, v in large.items()},
        }  # fmt: skip


def large_times(folder: Path, peer: str, script: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds for a million target rows: whole processes, and the work alone without what stays the same."""
    import pandas as pd

    rng = np.random.default_rng(0)

    def made(rows: int, moved: float) -> Any:
        z = rng.normal(moved, 1.5, rows)
        label = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)
        p = 1 / (1 + np.exp(-1.5 * z))
        return pd.DataFrame({"y_pred_proba": p, "y_pred": (p >= 0.5).astype(int), "repaid": label})

    reference, target = folder / "large_reference.parquet", folder / "large_target.parquet"
    made(50_000, 0.0).to_parquet(reference)
    made(LARGE, 0.5).drop(columns="repaid").to_parquet(target)
    method = ["--method", "cbpe"]
    out, theirs = folder / "large.json", folder / "large_theirs.json"
    commands = {
        "ours, CBPE, six metrics": asked(reference, target, METRICS, out, *method),
        "ours, CBPE, accuracy alone": asked(reference, target, [], out, *method),
        "ours, everything, six metrics": asked(reference, target, METRICS, out),
        "ours, everything, accuracy alone": asked(reference, target, [], out),
        "NannyML, CBPE, six metrics": [peer, str(script), str(reference), str(target), json.dumps(METRICS),
                                       str(LARGE // 10), str(theirs)],
    }  # fmt: skip
    return {told: [timed(command) for _ in range(rounds)] for told, command in commands.items()}


def page(found: dict[str, Any], command: str) -> str:
    """The whole of deployed.md."""
    reference, truth = found["truth"][0], found["truth"][1:]
    rows = []
    for m in METRICS:
        mine = [100 * abs(o[m]["value"] - t[m]) for o, t in zip(found["ours"], truth, strict=True)]
        other = [100 * abs(o[m][0] - t[m]) for o, t in zip(found["theirs"], truth, strict=True)]
        inside = sum(o[m]["lower"] <= t[m] <= o[m]["upper"] for o, t in zip(found["ours"], truth, strict=True))
        rows.append([m, f"{statistics.mean(mine):.2f}", f"{max(mine):.2f}", f"{statistics.mean(other):.2f}",
                     f"{max(other):.2f}", f"{inside} of {len(truth)}"])  # fmt: skip
    fell = [reference["accuracy"] - t["accuracy"] >= MARGIN for t in truth]
    alarms = []
    for name, said in (("ours (`fell`)", [o["accuracy"]["alarm"] for o in found["ours"]]),
                       ("NannyML (alert on accuracy)", [o["accuracy"][1] for o in found["theirs"]])):  # fmt: skip
        right = sum(a and f for a, f in zip(said, fell, strict=True))
        wrong = sum(a and not f for a, f in zip(said, fell, strict=True))
        alarms.append([name, str(right), str(wrong), str(sum(fell) - right)])
    chunks = []
    for i, (o, n, t) in enumerate(zip(found["ours"], found["theirs"], truth, strict=True)):
        cells = [f"{o[m]['value']:.3f} / {n[m][0]:.3f} / {t[m]:.3f}" for m in METRICS]
        chunks.append([str(i * ROWS), *cells])
    seconds = [[told, f"{s:.1f}"] for told, s in found["seconds"].items()]
    large = [[told, f"{s:.1f}"] for told, s in found["seconds_1M"].items()]
    lines = [
        "# A deployed binary model, without labels",
        "",
        f"Made by `{command}`. Errors in points (hundredths) over {len(truth)} chunks of {ROWS:,} car loans; the last "
        "column says how often the truth lay in our 95 % interval.",
        "",
        *markdown(["metric", "ours: mean error", "largest", "NannyML: mean error", "largest", "truth in our interval"],
                  rows),
        f"## Alarms: chunks whose accuracy fell by {100 * MARGIN:.0f} point or more: {sum(fell)} of {len(fell)}",
        "",
        *markdown(["whose", "right", "wrong", "missed"], alarms),
        "## Chunk by chunk: ours / NannyML's / the truth",
        "",
        *markdown(["first row", *METRICS], chunks),
        "## Seconds, whole processes, 50,000 + 50,000 rows of CSV",
        "",
        *markdown(["what is typed", "seconds"], seconds),
        "## Seconds, whole processes, 50,000 + 1,000,000 rows of Parquet",
        "",
        *markdown(["what is typed", "seconds"], large),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both sides and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deployed", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--peer", help="python of an environment with nannyml")
    parser.add_argument("--rounds", type=int, default=3, help="times that each command is timed")
    parser.add_argument("--tables", action="store_true", help="measure nothing, make the page again")
    options = parser.parse_args(arguments)
    path = RESULTS / "deployed.json"
    if not options.tables:
        if options.peer is None:
            parser.error("name the python of an environment with nannyml: --peer VENV/bin/python")
        path.write_text(json.dumps(measure(options.peer, options.rounds), indent=1) + "\n", encoding="utf-8")
    text = page(json.loads(path.read_text(encoding="utf-8")), "python -m benchmarks.deployed --peer PYTHON")
    (RESULTS / "deployed.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
