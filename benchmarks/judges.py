"""What judges should learn from, on a finished run of the correctness discriminators: mistakes of which origin.

python -m benchmarks.judges RUN [--task NAME ...] [--members N]     writes results/judges.json and .md

RUN is the folder of `oodometer reproduce correctness-discriminators`. The recipe's judges learn from wrong lower beams
of early checkpoints and, in equal parts, from mistakes of parsers of halves on sentences that they have not seen. Here
judges of the same kind and size learn from the one alone and from the other alone (kept in `tried/` of each task), and
the table says how well each kind of voter ranks right outputs above wrong ones: the area under the ROC curve. MiniLM is
the packaged sentence encoder, frozen, with a linear layer that learns from 8,000 of the recipe's pairs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks import kit
from oodometer.scores import natural_confidence
from oodometer_lab.discriminators import ClassifierDiscriminator, Panel
from oodometer_lab.models import FrozenEncoder
from oodometer_lab.recipes.base import Workspace
from oodometer_lab.recipes.correctness_discriminators.study import (
    SHARE,
    TaskData,
    examples,
    make_judge,
    read_judged,
    said_of,
    said_of_parsers,
)
from oodometer_lab.recipes.correctness_discriminators.tasks import replicates_of, tasks_of
from oodometer_lab.recipes.kit.sources import packaged_minilm

ORIGINS = {"early": "examples", "unseen": "unseen"}
DOMAINS = {"out": "out of distribution", "in": "in distribution"}
FEW = 8_000  # pairs that the sentence encoder learns from
TITLES = {"early": "judges, early mistakes", "unseen": "judges, unseen sentences",
    "both": "judges, both (the recipe's)", "minilm": "MiniLM, both", "parsers": "parser of a half",
    "confidence": "confidence"}  # fmt: skip


class Trial:
    """A finished task, and the judges that are tried on it."""

    def __init__(self, run: Path, task: Any, members: int) -> None:
        self.task, self.run, self.data, self.members = (
            task,
            run / task.name,
            TaskData(task),
            members,
        )
        self.home = Workspace(self.run)
        self.folder = self.run / "tried"
        self.folder.mkdir(exist_ok=True)

    def train(self) -> None:
        """Train the judges that are not there yet, and keep what they say of each set."""
        dev = examples(self.home, "dev")
        held = *self.data.seen(dev.inputs, dev.outputs), dev.correct.tolist()
        start = (
            None
            if self.task.config.pretraining is None
            else self.run.parent / self.task.first / "pretrained"
        )
        early, unseen = (examples(self.home, "train", one) for one in ORIGINS.values())
        both = early.mixed(unseen, SHARE, self.task.config.seed)
        for origin, pairs in (("early", early), ("unseen", unseen), ("minilm", both)):
            rows: Any = np.arange(len(pairs))
            if origin == "minilm":
                rows = np.sort(np.random.default_rng(0).permutation(rows)[:FEW])
            seen = self.data.seen(
                [pairs.inputs[row] for row in rows], [pairs.outputs[row] for row in rows]
            )
            for seed in range(1 if origin == "minilm" else self.members):
                if all(self._place(origin, seed, test.name).is_file() for test in self.task.tests):
                    continue
                judge = make_judge(self.task.config, self.task.config.seed + seed, start)
                if origin == "minilm":
                    judge = ClassifierDiscriminator(model=FrozenEncoder(packaged_minilm()))
                judge.fit(*seen, pairs.correct[rows].tolist(), dev=held)
                for test in self.task.tests:
                    record = read_judged(self.run, test.name)
                    given, found = record.input.tolist(), record.output.tolist()
                    inputs, outputs = self.data.seen(given, found)
                    outputs = [
                        new if old.strip() else "" for new, old in zip(outputs, found, strict=True)
                    ]
                    np.save(
                        self._place(origin, seed, test.name),
                        Panel([judge]).probabilities(inputs, outputs)[0],
                    )

    def areas(self) -> Iterator[dict[str, Any]]:
        """The area under the ROC curve of each voter on each set, by kind."""
        for test in self.task.tests:
            record = read_judged(self.run, test.name)
            said: dict[str, Any] = {
                origin: [
                    np.load(self._place(origin, seed, test.name)) for seed in range(self.members)
                ]
                for origin in ORIGINS
            }
            said |= {"both": said_of(record), "parsers": said_of_parsers(record)}
            said["minilm"] = [np.load(self._place("minilm", 0, test.name))]
            said["confidence"] = natural_confidence(record)(record)[None]
            right = record.verdicts > 0
            row = {
                "task": self.task.title,
                "set": test.title,
                "domain": test.domain,
                "rows": len(record),
            }
            row["right"] = round(float(right.mean()), 4)
            yield row | {
                kind: [round(float(roc_auc_score(right, one)), 4) for one in said[kind]]
                for kind in TITLES
            }

    def _place(self, origin: str, seed: int, name: str) -> Path:
        return self.folder / f"{origin}-{seed}-{name}.npy"


def means(rows: list[dict[str, Any]], domain: str) -> dict[str, float]:
    """The mean area of each kind over the sets of a domain."""
    chosen = [row for row in rows if row["domain"] == domain]
    return {
        kind: round(float(np.mean([np.mean(row[kind]) for row in chosen])), 4) for kind in TITLES
    }


def page(result: kit.Result) -> str:
    rows = []
    for row in result["areas"]:
        where = [row["task"], f"{row['set']} ({row['domain']})", f"{100 * row['right']:.1f}"]
        rows.append([*where, *(f"{100 * np.mean(row[kind]):.1f}" for kind in TITLES)])
    for domain, found in result["means"].items():
        rows.append(["mean", DOMAINS[domain], "", *(f"{100 * found[kind]:.1f}" for kind in TITLES)])
    lines = ["# What judges learn from", "", f"`{result['command']}`", ""]
    lines += [
        "**Area under the ROC curve, right against wrong outputs, %**, mean over the voters of a kind.",
        "",
    ]
    return kit.joined(
        [*lines, *kit.table(["task", "set", "right, %", *TITLES.values()], rows, "l")]
    )


def measure(given: argparse.Namespace) -> kit.Result:
    rows: list[kit.Result] = []
    for task in (one for first in tasks_of("small") for one in (first, *replicates_of(first))):
        if not (given.RUN / task.name / "result.json").is_file() or task.name not in (
            given.task or [task.name]
        ):
            continue
        trial, began = Trial(given.RUN, task, given.members), time.process_time()
        trial.train()
        print(
            f"{task.title}: {time.process_time() - began:.0f} s of processor time",
            file=sys.stderr,
            flush=True,
        )
        rows += trial.areas()
    command = " ".join(
        ["python -m benchmarks.judges RUN", *(f"--task {name}" for name in given.task or [])]
    )
    domains = [domain for domain in ("out", "in") if any(row["domain"] == domain for row in rows)]
    return {
        "command": command,
        "areas": rows,
        "means": {domain: means(rows, domain) for domain in domains},
    }


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "judges",
            measure,
            page,
            members=(1, "judges of each origin"),
            RUN={"type": Path, "help": "the folder of the run"},
            task={"action": "append", "help": "this task only"},
        )
    )
