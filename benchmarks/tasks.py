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
import hashlib
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks import kit

SIDES: dict[str, int | None] = {"no tasks": None, "workers 1": 1, "workers 2": 2}
MEMBERS, SENTENCES, IMAGES, SIDE = 4, 2_000, 2_000, 128

TRAINING = """
import json, sys
from oodometer_lab.datasets import Dataset
from oodometer_lab.models import Encoder, train_deep_ensemble
from oodometer_lab.models.torch.training import TrainingConfig

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
    import csv
    import lzma

    from PIL import Image

    from oodometer_lab.datasets import cifar10

    with lzma.open(kit.data_folder() / "sst_mr_cr_etc.tsv.xz", "rt", encoding="utf-8") as file:
        rows = [
            row
            for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row[0] == "rt-polarity.all"
        ]
    chosen = np.random.default_rng(0).permutation(len(rows))[:SENTENCES]
    (home / "sentences.json").write_text(
        json.dumps(([rows[i][2] for i in chosen], [rows[i][1] for i in chosen]))
    )
    (home / "train.py").write_text(TRAINING)
    (home / "images").mkdir()
    for i, pixels in enumerate(cifar10("test").inputs[:IMAGES]):
        Image.fromarray(pixels).resize((SIDE, SIDE)).save(home / "images" / f"{i:04}.png")


def train(home: Path, out: Path, workers: int | None) -> list[str]:
    """The command that trains the members."""
    return [
        sys.executable,
        str(home / "train.py"),
        str(home / "sentences.json"),
        str(out),
        json.dumps(workers),
    ]


def shift(home: Path, out: Path, workers: int | None) -> list[str]:
    """The command that shifts the images."""
    words = [
        "shift",
        str(home / "images"),
        "--kind",
        "snow",
        "--severity",
        "3",
        "--out",
        str(out),
        "--quiet",
    ]
    return [
        sys.executable,
        "-m",
        "oodometer",
        *words,
        *([] if workers is None else ["--workers", str(workers)]),
    ]


JOBS: dict[str, Callable[[Path, Path, int | None], list[str]]] = {f"train {MEMBERS} members": train,
    f"shift {IMAGES:,} images": shift}  # fmt: skip


def digest(out: Path) -> str:
    """Of the weights, or of the images."""
    found = hashlib.sha256()
    for one in sorted(out.rglob("*")):
        if one.suffix in (".safetensors", ".png"):
            found.update(one.relative_to(out).as_posix().encode() + one.read_bytes())
    return found.hexdigest()


def compared(home: Path, job: str, rounds: int) -> kit.Result:
    """Seconds of each side, taking turns, and whether one worker and two give the same."""
    done: list[tuple[str, str]] = []

    def run(side: str) -> float:
        out = home / f"{job.split()[0]}-{len(done)}"
        seconds, _ = kit.timed(JOBS[job](home, out, SIDES[side]))
        done.append((side, digest(out)))
        return seconds

    seconds = kit.in_turns({side: lambda side=side: run(side) for side in SIDES}, rounds)
    two = seconds["workers 2"]
    return {"job": job, "seconds": {side: statistics.median(values) for side, values in seconds.items()},
        "times_one_worker": kit.spread(kit.ratios(seconds["workers 1"], two)),
        "times_no_tasks": kit.spread(kit.ratios(seconds["no tasks"], two)),
        "equal": len({of for side, of in done if side != "no tasks"}) == 1,
        "equal_to_no_tasks": len({of for _, of in done}) == 1}  # fmt: skip


def page(result: kit.Result) -> str:
    about, rows = result["machine"], []
    for case in result["cases"]:
        rows.append([case["job"], *(f"{case['seconds'][side]:.1f} s" for side in SIDES),
            *(kit.ranged(case[name], 2) for name in ("times_one_worker", "times_no_tasks")),
            "to the last bit" if case["equal"] else "no"])  # fmt: skip
    lines = [
        "# Tasks: two workers beside one",
        "",
        f"{result['date']}, {about['cpu']}, {about['cores']} cores, Python {about['python']}; load of others at the"
        f" start {about['load_at_start']:.1f}. {MEMBERS} encoders (2 layers of 64) on {SENTENCES:,} sentences, one"
        f" epoch; {IMAGES:,} images of {SIDE} x {SIDE}, snow. Seconds on the clock of whole processes, median of"
        f" {result['rounds']} rounds in turns; times: the ratio within a round (minimum-maximum). A task has one"
        " thread; without tasks torch has all threads. `python -m benchmarks.tasks`",
        "",
        *kit.table(
            [
                "job",
                "no tasks",
                "1 worker",
                "2 workers",
                "2 beside 1",
                "2 beside no tasks",
                "1 and 2 equal",
            ],
            rows,
            "lrrrrrl",
        ),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    about = kit.machine()
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place))
        cases = [compared(Path(place), job, given.rounds) for job in JOBS]
    limits = [
        {"limit": f"{case['job']}: equal", "value": 1, "holds": case["equal"]} for case in cases
    ]
    return {"date": date.today().isoformat(), "machine": about, "rounds": given.rounds, "cases": cases,
        "limits": limits}  # fmt: skip


if __name__ == "__main__":
    sys.exit(
        kit.command(
            __doc__,
            "tasks",
            measure,
            page,
            ["--check", *sys.argv[1:]],
            rounds=(3, "rounds of all sides"),
        )
    )
