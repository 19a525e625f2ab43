"""Tasks: what two workers bring beside one, and beside no tasks at all, on whole processes as they are typed.

    python -m benchmarks.tasks                  # both jobs; writes results/tasks.json and tasks.md
    python -m benchmarks.tasks --rounds 1       # quick

Two jobs: `train_deep_ensemble` of four small encoders on 2,000 sentences, in a script of its own, and `oodometer shift`
of 2,000 images of 128 x 128. Each is done without tasks (all threads of the machine), with `workers=1` and with
`workers=2`, in turns; figures are seconds on the clock from start to end of the process, ratios are taken within a
round, the median over rounds is reported. What comes out with one worker and with two is compared to the last bit.
Needs $OODOMETER_DATA (sentences of sst_mr_cr_etc.tsv.xz, test images of CIFAR-10).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from .run import machine

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SIDES: dict[str, int | None] = {"no tasks": None, "workers 1": 1, "workers 2": 2}
MEMBERS, SENTENCES, IMAGES, SIDE = 4, 2_000, 2_000, 128

TRAINING = """
import json, sys
from oodometer.datasets import Dataset
from oodometer.models import Encoder, train_deep_ensemble
from oodometer.models.torch.training import TrainingConfig

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}

def make(seed):
    training = TrainingConfig(epochs=1, batch_size=32, learning_rate=5e-4, seed=seed)
    return Encoder(config=SIZES, vocab_size=4000, max_length=48, training=training, device="cpu")

if __name__ == "__main__":
    texts, labels = json.load(open(sys.argv[1]))
    workers = json.loads(sys.argv[3])
    data = Dataset("sentences", tuple(texts), tuple(labels))
    train_deep_ensemble(make, data, seeds=range(MEMBERS), checkpoint=sys.argv[2], workers=workers)
""".replace("MEMBERS", str(MEMBERS))


def prepare(home: Path) -> None:
    """The sentences and the images."""
    from PIL import Image

    data = os.environ.get("OODOMETER_DATA")
    if not data:
        raise SystemExit("set OODOMETER_DATA to the folder of the data")
    with lzma.open(Path(data) / "sst_mr_cr_etc.tsv.xz", "rt", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row[0] == "rt-polarity.all"]
    chosen = np.random.default_rng(0).permutation(len(rows))[:SENTENCES]
    told = [rows[i][2] for i in chosen], [rows[i][1] for i in chosen]
    (home / "sentences.json").write_text(json.dumps(told))
    (home / "train.py").write_text(TRAINING)
    with lzma.open(Path(data) / "images" / "test_jpegs.npz.xz") as packed:
        held = np.load(io.BytesIO(packed.read()))
    (home / "images").mkdir()
    files, offset = held["jpeg"], held["offset"]
    for i in range(IMAGES):
        with Image.open(io.BytesIO(files[offset[i] : offset[i + 1]].tobytes())) as image:
            image.convert("RGB").resize((SIDE, SIDE)).save(home / "images" / f"{i:04}.png")


def train(home: Path, out: Path, workers: int | None) -> list[str]:
    """The command that trains the members."""
    return [sys.executable, str(home / "train.py"), str(home / "sentences.json"), str(out), json.dumps(workers)]


def shift(home: Path, out: Path, workers: int | None) -> list[str]:
    """The command that shifts the images."""
    words = ["shift", str(home / "images"), "--kind", "snow", "--severity", "3", "--out", str(out), "--quiet"]
    return [sys.executable, "-m", "oodometer", *words, *([] if workers is None else ["--workers", str(workers)])]


JOBS: dict[str, Callable[[Path, Path, int | None], list[str]]] = {f"train {MEMBERS} members": train,
    f"shift {IMAGES:,} images": shift}  # fmt: skip


def digest(out: Path) -> str:
    """Of the weights, or of the images."""
    found = hashlib.sha256()
    for one in sorted(out.rglob("*")):
        if one.suffix in (".safetensors", ".png"):
            found.update(one.relative_to(out).as_posix().encode() + one.read_bytes())
    return found.hexdigest()


def measure(home: Path, job: str, rounds: int) -> dict[str, Any]:
    """Seconds of each side, taking turns, and whether one worker and two give the same."""
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    digests: dict[str, set[str]] = {side: set() for side in SIDES}
    for number in range(rounds):
        order = list(SIDES)[number % 3 :] + list(SIDES)[: number % 3]
        for side in order:
            out = home / f"{job.split()[0]}-{number}-{side.replace(' ', '-')}"
            before = time.perf_counter()
            subprocess.run(JOBS[job](home, out, SIDES[side]), check=True, stdout=subprocess.DEVNULL)
            seconds[side].append(time.perf_counter() - before)
            digests[side].add(digest(out))
            print(f"{job}, round {number + 1}, {side}: {seconds[side][-1]:.1f} s", flush=True)
    one, two, none = (seconds[side] for side in ("workers 1", "workers 2", "no tasks"))
    return {
        "job": job,
        "seconds": {side: statistics.median(values) for side, values in seconds.items()},
        "times_one_worker": spread([a / b for a, b in zip(one, two, strict=True)]),
        "times_no_tasks": spread([a / b for a, b in zip(none, two, strict=True)]),
        "equal": len(digests["workers 1"] | digests["workers 2"]) == 1,
        "equal_to_no_tasks": len(set.union(*digests.values())) == 1,
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def table(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    about = result["machine"]
    lines = [
        "# Tasks: two workers beside one",
        "",
        f"{result['date']}, {about['cpu']}, {about['cores']} cores, Python {about['python']}; load of others at the"
        f" start {about['load_at_start']:.1f}. {MEMBERS} encoders (2 layers of 64) on {SENTENCES:,} sentences, one"
        f" epoch; {IMAGES:,} images of {SIDE} x {SIDE}, snow. Seconds on the clock of whole processes, median of"
        f" {result['rounds']} rounds in turns; times: the ratio within a round (minimum-maximum). A task has one"
        " thread; without tasks torch has all threads. `python -m benchmarks.tasks`",
        "",
        "| job | no tasks | 1 worker | 2 workers | 2 beside 1 | 2 beside no tasks | 1 and 2 equal |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for case in result["cases"]:
        s, one, none = case["seconds"], case["times_one_worker"], case["times_no_tasks"]
        lines.append(
            f"| {case['job']} | {s['no tasks']:.1f} s | {s['workers 1']:.1f} s | {s['workers 2']:.1f} s |"
            f" {one['median']:.2f} ({one['min']:.2f}-{one['max']:.2f}) |"
            f" {none['median']:.2f} ({none['min']:.2f}-{none['max']:.2f}) |"
            f" {'to the last bit' if case['equal'] else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    about = machine()
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        cases = [measure(Path(place), job, given.rounds) for job in JOBS]
    result = {"date": date.today().isoformat(), "machine": about, "rounds": given.rounds, "cases": cases}
    (RESULTS / "tasks.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "tasks.md").write_text(table(result))
    print(table(result))
    return 0 if all(case["equal"] for case in cases) else 1


if __name__ == "__main__":
    raise SystemExit(main())
