"""Judges of other kinds, tried on the finished tasks of the correctness discriminators: halves and cross-fitting.

python -m benchmarks.judges RUN [--task NAME ...] [--members N]     writes results/judges.json and .md

RUN is the folder of `oodometer reproduce correctness-discriminators`. Of each finished task in it the training set is
cut into two random halves, a parser is trained on each (`tried/` in the folder of the task keeps all that is done), and

- each parser says how probable the outputs of the task's own parser are, log p(output | input): another kind of judge;
- each parser decodes the other half: mistakes on sentences that it has not seen. Judges that learn from these
  (cross-fitted) stand beside the recipe's, which learn from early checkpoints on sentences of the training set.

The halves are cut by row, so a sentence that stands in the training set twice may be in both; the README of the recipe
says how many were. Every voter accepts from its own threshold on, set on the labelled development set as in the recipe.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from oodometer.discriminators import Examples
from oodometer.models.seq2seq import EncoderDecoder, exact_match
from oodometer.recipes.correctness_discriminators.choices import ENOUGH
from oodometer.recipes.correctness_discriminators.data import TaskData
from oodometer.recipes.correctness_discriminators.files import read_judged, read_pairs
from oodometer.recipes.correctness_discriminators.judge_thresholds import said_of
from oodometer.recipes.correctness_discriminators.tasks import tasks_of
from oodometer.recipes.correctness_discriminators.work import make_judge, new_parser
from oodometer.scores import natural_confidence

RESULTS = Path(__file__).parent / "results"
HALVES, SPLIT, SEED = (0, 1), 5, 11
# Who votes: a name, and which voters of which kind.
VOTERS: dict[str, dict[str, int]] = {
    "5 judges": {"judges": 5},
    "5 judges, confidence": {"judges": 5, "confidence": 1},
    "confidence, 2 parsers": {"confidence": 1, "parsers": 2},
    "2 judges, confidence, 2 parsers": {"judges": 2, "confidence": 1, "parsers": 2},
    "5 judges, confidence, 2 parsers": {"judges": 5, "confidence": 1, "parsers": 2},
    "2 cross-fitted judges, confidence, 2 parsers": {"crossed": 2, "confidence": 1, "parsers": 2},
    "2 judges, 2 cross-fitted ones, confidence": {"judges": 2, "crossed": 2, "confidence": 1},
}
Said = dict[str, Any]  # what the voters of each kind say of the outputs of a set, (voter, sample); and who is right


class Trial:
    """A finished task, and what is tried on it."""

    def __init__(self, run: Path, task: Any) -> None:
        self.task, self.run, self.data = task, run / task.name, TaskData(task)
        self.folder = self.run / "tried"
        self.folder.mkdir(exist_ok=True)
        self.sets = ("dev", *(test.name for test in task.tests))

    def halves(self) -> None:
        """Train a parser on each half; it scores the outputs of every set and decodes the other half."""
        inputs, targets = self.data.train.inputs, self.data.train.targets
        half = np.random.default_rng(SPLIT).permutation(len(inputs)) % 2
        for part in HALVES:
            if (self.folder / f"decoded-{part}.json").exists():
                continue
            mine = np.flatnonzero(half == part)
            parser = new_parser(self.data, self.task.config.seed + SEED + part)
            parser.fit([inputs[i] for i in mine], [targets[i] for i in mine])
            self._score(parser, part)
            self._decode(parser, part, {text: half[i] for i, text in enumerate(inputs)})

    def crossed(self, members: int) -> None:
        """Train judges on gold outputs and on the mistakes of the parsers on what they have not seen."""
        config = self.task.config
        pairs, outputs, correct = self._mistakes()
        dev = Examples.from_record(read_pairs(self.run, "dev"))
        start = None if config.pretraining is None else self.run / "pretrained"
        for seed in range(members):
            if all((self.folder / f"judge-{name}-{seed}.npy").exists() for name in self.sets):
                continue
            judge = make_judge(config, seed, start)
            held = *self.data.seen(dev.inputs, dev.outputs), dev.correct.tolist()
            judge.fit(*self.data.seen(pairs, outputs), correct, dev=held)
            for name in self.sets:
                record = read_judged(self.run, name)
                texts, found = self.data.seen(record.input.tolist(), record.output.tolist())
                found = [new if old.strip() else "" for new, old in zip(found, record.output.tolist(), strict=True)]
                np.save(self.folder / f"judge-{name}-{seed}.npy", judge.probabilities(texts, found))

    def said(self, name: str, members: int) -> Said:
        """What every voter says of a set."""
        record = read_judged(self.run, name)
        parsers = [np.load(self.folder / f"score-{name}-{part}.npz")["total"] for part in HALVES]
        return {
            "judges": said_of(record),
            "confidence": natural_confidence(record)(record)[None],
            "parsers": np.nan_to_num(np.array(parsers), neginf=-1e9),
            "crossed": np.array([np.load(self.folder / f"judge-{name}-{seed}.npy") for seed in range(members)]),
            "right": record.verdicts.astype(bool),
        }

    def _score(self, parser: EncoderDecoder, part: int) -> None:
        for name in self.sets:
            record = read_judged(self.run, name)
            outputs = [text if text.strip() else "." for text in record.output]
            found = parser.logprobs(list(record.input), outputs)
            np.savez(self.folder / f"score-{name}-{part}.npz", total=found.sums())

    def _decode(self, parser: EncoderDecoder, part: int, half: dict[str, int]) -> None:
        config = self.task.config
        drawn = self.data.train.sample(config.example_rows, config.seed + 3)
        other = [i for i, text in enumerate(drawn.inputs) if half[text] != part]
        texts, gold = [drawn.inputs[i] for i in other], [drawn.targets[i] for i in other]
        beams = parser.decode(texts, beams=config.beams).outputs
        kept = {"inputs": texts, "gold": gold, "beams": [list(one) for one in beams]}
        (self.folder / f"decoded-{part}.json").write_text(json.dumps(kept))

    def _mistakes(self) -> tuple[list[str], list[str], list[bool]]:
        """Gold pairs and as many wrong ones: best beams that are wrong first, then lower ones."""
        texts, gold, first, lower = [], [], [], []
        for part in HALVES:
            found = json.loads((self.folder / f"decoded-{part}.json").read_text())
            for text, target, beams in zip(found["inputs"], found["gold"], found["beams"], strict=True):
                right = exact_match(beams, [target] * len(beams), clean=self.data.clean)
                wrong = [
                    (len(texts), self.data.clean(one), at)
                    for at, (one, ok) in enumerate(zip(beams, right, strict=True))
                    if not ok and one.strip()
                ]
                texts.append(text)
                gold.append(target)
                best = wrong[:1] if wrong and wrong[0][2] == 0 else []
                first += best
                lower.append(wrong[len(best) :])
        lower = [one for one in lower if one]
        order = np.random.default_rng(0).permutation(len(lower))
        deepest = max((len(one) for one in lower), default=0)
        more = [lower[i][at] for at in range(deepest) for i in order if len(lower[i]) > at]
        wrong = [*first, *more][: max(len(texts), len(first))]
        outputs = [*gold, *(text for _, text, _ in wrong)]
        return [*texts, *(texts[row] for row, *_ in wrong)], outputs, [True] * len(gold) + [False] * len(wrong)


def areas(trial: Trial, members: int) -> Iterator[dict[str, Any]]:
    """The area under the ROC curve of each voter on each set, by kind."""
    for test in trial.task.tests:
        said = trial.said(test.name, members)
        right = said.pop("right")
        row: dict[str, Any] = {"task": trial.task.title, "set": test.title, "domain": test.domain, "rows": len(right)}
        for kind, of in said.items():
            row[kind] = [round(float(roc_auc_score(right, one)), 4) for one in of]
        yield row


def bounds(trial: Trial, members: int) -> Iterator[dict[str, Any]]:
    """Bounds on each set for each choice of voters and of how many must agree, each voter at its own threshold."""
    dev = trial.said("dev", members)
    count = int(dev["right"].sum())
    for test in trial.task.tests:
        said = trial.said(test.name, members)
        truth = float(said["right"].mean())
        accepts = {}
        for kind in ("judges", "confidence", "parsers", "crossed"):
            cuts = -np.sort(-dev[kind], axis=1)[:, count - 1]
            accepts[kind] = said[kind] >= cuts[:, None]
        for name, who in VOTERS.items():
            votes = np.vstack([accepts[kind][:number] for kind, number in who.items()]).sum(axis=0)
            of = sum(who.values())
            for agree in range(of, of // 2, -1):
                lower, upper = float((votes >= agree).mean()), float((votes > of - agree).mean())
                row = {"task": trial.task.title, "set": test.title, "domain": test.domain, "truth": round(truth, 6)}
                row |= {"choice": f"{name}: {agree} of {of}", "lower": round(lower, 6), "upper": round(upper, 6)}
                yield {**row, "inside": lower <= truth <= upper, "error": round(abs((lower + upper) / 2 - truth), 6)}


def fare(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sets that hold the truth, in distribution too; mean width; mean error of the middle, out of distribution too."""
    near = [row for row in rows if row["domain"] == "in"]
    away = [row["error"] for row in rows if row["domain"] == "out"]
    return {
        "inside": sum(row["inside"] for row in rows),
        "sets": len(rows),
        "inside_near": sum(row["inside"] for row in near),
        "near": len(near),
        "width": round(float(np.mean([row["upper"] - row["lower"] for row in rows])), 4),
        "error": round(float(np.mean([row["error"] for row in rows])), 4),
        "error_away": round(float(np.mean(away)), 4) if away else None,
    }


def on_other_tasks(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the narrowest choice that holds on enough of the other tasks' sets would have given on each task."""
    tasks, names = (list(dict.fromkeys(row[key] for row in rows)) for key in ("task", "choice"))
    kept, chosen = [], {}
    for task in tasks if len(tasks) > 2 else ():
        others = {n: fare([row for row in rows if row["choice"] == n and row["task"] != task]) for n in names}
        enough = [n for n in names if others[n]["inside"] >= ENOUGH * others[n]["sets"]]
        best = min(enough or names, key=lambda n: (0 if enough else -others[n]["inside"], others[n]["width"]))
        chosen[task] = best
        kept += [row for row in rows if row["choice"] == best and row["task"] == task]
    return {"chosen": chosen, **(fare(kept) if kept else {})}


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    head = "| task | set | judges | cross-fitted judges | parser of a half | confidence |\n|---|---|---|---|---|---|"
    lines = ["# Judges of other kinds", "", f"`{result['command']}`; one training of each.", ""]
    lines += ["**Area under the ROC curve for right against wrong outputs**, mean over the voters of a kind.", "", head]
    for row in result["areas"]:
        cells = [f"{100 * np.mean(row[kind]):.1f}" for kind in ("judges", "crossed", "parsers", "confidence")]
        lines.append(f"| {row['task']} | {row['set']} ({row['domain']}) | {' | '.join(cells)} |")
    lines += ["", "**Bounds at thresholds from the development set, by who votes and how many must agree**", ""]
    lines += [
        "| choice | truth inside | in distribution | mean width | mean error of the middle | out of distribution |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    for name, one in [*result["fares"].items(), ("chosen on the other tasks", result["on_other_tasks"])]:
        if "sets" in one:
            numbers = " | ".join(f"{100 * one[key]:.1f}" for key in ("width", "error", "error_away"))
            inside = f"{one['inside']} of {one['sets']} | {one['inside_near']} of {one['near']}"
            lines.append(f"| {name} | {inside} | {numbers} |")
    chosen = [f"{task}: {name}" for task, name in result["on_other_tasks"]["chosen"].items()]
    return "\n".join([*lines, "", f"Chosen on the other tasks: {'; '.join(chosen)}.", ""])


def main() -> int:
    """Do what is not done yet, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--task", action="append")
    parser.add_argument("--members", type=int, default=2, help="cross-fitted judges")
    given = parser.parse_args()
    tasks = [t for t in tasks_of("small") if (given.run / t.name / "result.json").is_file()]
    found: dict[str, list[dict[str, Any]]] = {"areas": [], "bounds": []}
    for task in tasks if given.task is None else [t for t in tasks if t.name in given.task]:
        trial, began = Trial(given.run, task), time.process_time()
        trial.halves()
        trial.crossed(given.members)
        print(f"{task.title}: {time.process_time() - began:.0f} s of processor time", flush=True)
        found["areas"] += areas(trial, given.members)
        found["bounds"] += bounds(trial, given.members)
    rows = found["bounds"]
    names = list(dict.fromkeys(row["choice"] for row in rows))
    result: dict[str, Any] = {"command": "python -m benchmarks.judges RUN", **found}
    result["fares"] = {name: fare([row for row in rows if row["choice"] == name]) for name in names}
    result["on_other_tasks"] = on_other_tasks(rows)
    text = table(result)
    print(text)
    (RESULTS / "judges.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "judges.md").write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
