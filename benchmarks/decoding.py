"""Decoding and voting: speed and memory beside a plain `generate` loop, one input at a time and batched.

    python -m benchmarks.decoding            # everything; writes results/decoding.json and decoding.md
    python -m benchmarks.decoding --check    # exit 1 if a promise does not hold
    python -m benchmarks.decoding --rounds 1 # quick

A small T5 learns a synthetic language of brackets first (two minutes; kept in $OODOMETER_BENCH_DIR), because a
model that was not trained never ends an output. Then all sides answer the same inputs in one process, one thread,
and take turns in a rotating order. Figures are processor seconds of this process, so that a busy neighbour does not
count; ratios are taken within a round, the median over rounds is reported. Every side turns strings into strings.
Judges of the outputs are asked in the same way (see `benchmarks.voting`).
Ours also gives the log-probability of every beam and token; the plain sides do not.

Memory is measured apart, each budget in a fresh process: the peak resident size less that just before decoding.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voting import KINDS, judge_of, judged_pairs, voting_sides

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
VERSION = 1  # raise it when the language or the training changes: old models are then ignored

ROWS, LOOP_ROWS, LONGEST = 600, 60, 128
MEMORY_ROWS = (2_400, 9_600)
BEAMS = (1, 4)
PLAIN_BATCHES = (8, 32, 64, 128, 256)
BUDGETS = (4_096, 16_384, 65_536)
LIMITS = {"loop": 5.0, "batched": 1 / 1.1}


# --------------------------------------------------------------------------- the language and the model


def sentence(rng: np.random.Generator) -> tuple[str, str]:
    """Words with phrases inside phrases, and its parse; 2 to about 30 words."""

    def phrase(depth: int) -> tuple[list[str], list[str]]:
        noun = f"noun{rng.integers(60)}"
        if depth == 0 or rng.random() < 0.4:
            return ["the", noun], ["*", noun]
        relation = ("on", "in", "beside")[int(rng.integers(3))]
        words, parsed = phrase(depth - 1)
        return ["the", noun, relation, *words], ["*", noun, "(", relation, "=", *parsed, ")"]

    verb = int(rng.integers(40))
    subject, subject_parsed = phrase(int(rng.integers(0, 4)))
    words, parsed = [*subject, f"verb{verb}ed"], [f"verb{verb}", "(", "agent", "=", *subject_parsed]
    if rng.random() < 0.6:
        thing, thing_parsed = phrase(int(rng.integers(0, 4)))
        words, parsed = [*words, *thing], [*parsed, ",", "theme", "=", *thing_parsed]
    return " ".join([*words, "."]), " ".join([*parsed, ")"])


def language(rows: int, seed: int) -> tuple[list[str], list[str]]:
    """Seeded sentences and their parses."""
    rng = np.random.default_rng(seed)
    pairs = [sentence(rng) for _ in range(rows)]
    return [one for one, _ in pairs], [parsed for _, parsed in pairs]


def bench_home() -> Path:
    """Where models are kept between runs."""
    return Path(os.environ.get("OODOMETER_BENCH_DIR") or Path(tempfile.gettempdir()) / "oodometer-bench")


def trained() -> Path:
    """The folder of the model, trained where it is not there yet."""
    from oodometer.models import EncoderDecoder
    from oodometer.models.torch.training import TrainingConfig

    home = bench_home()
    folder = home / f"decoding-{VERSION}"
    if not (folder / "oodometer_model.json").is_file():
        say("training the model that is to decode")
        plan = TrainingConfig(epochs=12, batch_size=64, learning_rate=1e-3, warmup=0.1)
        model = EncoderDecoder(config={}, training=plan, max_output_length=LONGEST)
        model.fit(*language(6000, 0), checkpoint=home / f"decoding-{VERSION}-training")
        model.save(folder)
    return folder


# --------------------------------------------------------------------------- the sides


def plain(model: Any, texts: list[str], beams: int, size: int) -> list[str]:
    """What a person writes: the tokenizer pads batch after batch in the order given, `generate`, decode."""
    import torch

    out: list[str] = []
    for start in range(0, len(texts), size):
        some = texts[start : start + size]
        given = model.tokenizer(some, return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.inference_mode():
            found = model.net.generate(
                **given, num_beams=beams, max_new_tokens=LONGEST, do_sample=False, length_penalty=0.0
            )
        out += model.tokenizer.batch_decode(found, skip_special_tokens=True)
    return out


def voting(kind: str, texts: list[str], golds: list[str], rounds: int) -> dict[str, Any]:
    """The case of one kind of judge."""
    judge = judge_of(kind, bench_home() / f"voting-{VERSION}-{kind}", judged_pairs(*language(3000, 0), 0))
    inputs, outputs, right = judged_pairs(texts, golds, 1)
    few = sample(list(range(len(inputs))))
    case = measure(f"voting, {KINDS[kind]}", voting_sides(judge, inputs, outputs, few, PLAIN_BATCHES), ROWS, rounds)
    return {**case, "accuracy": float((judge.judge(inputs, outputs) == np.array(right)).mean())}


def sample(rows: list[Any]) -> list[Any]:
    """The inputs that the slow loop answers, spread over all of them."""
    return rows[:: len(rows) // LOOP_ROWS][:LOOP_ROWS]


def decoding_sides(model: Any, texts: list[str], beams: int) -> dict[str, Callable[[], list[str]]]:
    """Everybody decodes; the loop a sample."""
    found: dict[str, Callable[[], list[str]]] = {
        "ours": lambda: model.decode(texts, beams=beams).best,
        "loop of one": lambda: plain(model, sample(texts), beams, 1),
    }
    for size in PLAIN_BATCHES:
        found[f"batches of {size}"] = lambda size=size: plain(model, texts, beams, size)
    return found


def measure(what: str, jobs: dict[str, Callable[[], list[str]]], rows: int, rounds: int) -> dict[str, Any]:
    """Seconds per 1,000 inputs of every side, in rounds, and whether the answers agree."""
    names = list(jobs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    answers: dict[str, list[str]] = {}
    for name in ("ours", "batches of 256"):
        jobs[name]()  # the first call of everything is slower
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start = time.process_time()
            answers[name] = jobs[name]()
            seconds[name].append((time.process_time() - start) * 1000 / len(answers[name]))
            say(f"  {what}, {name}: {seconds[name][-1]:.2f} s for 1,000")
    best = min((name for name in names if name.startswith("batches")), key=lambda one: statistics.median(seconds[one]))
    ratios = {
        name: statistics.median(a / b for a, b in zip(seconds[name], seconds["ours"], strict=True))
        for name in names
        if name != "ours"
    }
    return {
        "what": what,
        "generates": not what.startswith("voting, an encoder"),
        "inputs": rows,
        "seconds_per_1000": {name: _middle(values) for name, values in seconds.items()},
        "beside_ours": ratios,
        "best_batched": best,
        "same_answers": {
            "loop of one": _agreement(answers["loop of one"], sample(answers["ours"])),
            best: _agreement(answers[best], answers["ours"]),
        },
    }


def _agreement(a: list[str], b: list[str]) -> float:
    return float(np.mean([x == y for x, y in zip(a, b, strict=True)]))


def memory(folder: Path) -> list[dict[str, Any]]:
    """Peak memory of decoding by budget and by number of inputs, and of plain batches; fresh processes."""
    found = []
    cases = [("ours", budget, rows) for budget in BUDGETS for rows in MEMORY_ROWS]
    cases += [("plain", size, MEMORY_ROWS[0]) for size in (64, 256)]
    for side, size, rows in cases:
        words = ["-m", "benchmarks.decoding", "--memory-of", side, str(size), str(rows), str(folder)]
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
        )  # fmt: skip
        found.append({"side": side, "size": size, "inputs": rows, **json.loads(done.stdout.splitlines()[-1])})
        say(f"  memory of {side}, {size}, {rows} inputs: {found[-1]['added_mb']:.0f} MB")
    return found


def memory_of(side: str, size: int, rows: int, folder: Path) -> None:
    """One process: decode with 4 beams and print how much the peak rose."""
    from benchmarks.probe import peak_mb

    model = load(folder)
    texts, _ = language(rows, 1)
    shortest = sorted(texts, key=len)[:8]
    model.decode(shortest, beams=4)
    plain(model, shortest, 4, 8)
    before = peak_mb()
    if side == "ours":
        model.batch_tokens = size
        model.decode(texts, beams=4)
    else:
        plain(model, texts, 4, size)
    print(json.dumps({"added_mb": peak_mb() - before, "peak_mb": peak_mb()}))


def load(folder: Path) -> Any:
    """The model, with one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        from oodometer.models import EncoderDecoder

        torch.set_num_threads(1)
        return EncoderDecoder.load(folder)


# --------------------------------------------------------------------------- judging and writing


def judge(cases: list[dict[str, Any]], used: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The promises, what was measured, and whether they hold."""
    found = []
    for case in cases:
        loop, batched = case["beside_ours"]["loop of one"], case["beside_ours"][case["best_batched"]]
        name = case["what"]
        if case["generates"]:  # the promise is about loops of `generate`; an encoder is asked once
            found.append(_limit(f"{name}: loop of one / ours >= {LIMITS['loop']:g}", loop, loop >= LIMITS["loop"]))
        words = f"{name}: best plain batches / ours >= 0.91"
        found.append(_limit(words, batched, batched >= LIMITS["batched"]))
        for side, share in case["same_answers"].items():
            found.append(_limit(f"{name}: answers equal to those of {side} >= 0.99", share, share >= 0.99))
    by = {(one["side"], one["size"], one["inputs"]): one["added_mb"] for one in used}
    for budget in BUDGETS:
        few, many = (by["ours", budget, rows] for rows in MEMORY_ROWS)
        growth, allowed = many - few, max(25.0, 0.25 * few)
        words = f"memory at {budget:,} tokens: 4 times the inputs add at most 25 MB or a quarter"
        found.append(_limit(words, growth, growth <= allowed))
    return found


def _limit(words: str, value: float, holds: bool) -> dict[str, Any]:
    return {"limit": words, "value": value, "holds": bool(holds)}


def _middle(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def table(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    about = result["machine"]
    lines = [
        "# Decoding beside plain generate",
        "",
        f"{result['date']}, {about['cores']} cores ({about['cpu']}), Python {about['python']}, torch"
        f" {result['versions']['torch']}, transformers {result['versions']['transformers']}. A T5 of"
        f" {result['parameters']:,} parameters, {ROWS} inputs ({LOOP_ROWS} of them for the loop), one thread."
        " Processor seconds for 1,000 inputs, median (minimum-maximum) over rounds in one process, the sides taking"
        " turns. Beside ours: the same divided by ours, within a round. The model's exact match on these inputs is"
        f" {result['exact_match']:.3f}. The judges' plain sides: `generate` of one word, or one forward pass of the"
        " encoder, of which a loop has little overhead. `python -m benchmarks.decoding`",
    ]
    for case in result["cases"]:
        lines += ["", f"## {case['what'][0].upper()}{case['what'][1:]}", ""]
        lines += ["| side | seconds for 1,000 | beside ours |", "|---|---|---|"]
        for name, cell in case["seconds_per_1000"].items():
            beside = "" if name == "ours" else f"{case['beside_ours'][name]:.2f}"
            mark = " (best)" if name == case["best_batched"] else ""
            lines.append(f"| {name}{mark} | {cell['median']:.2f} ({cell['min']:.2f}-{cell['max']:.2f}) | {beside} |")
    lines += ["", "## Memory, 4 beams", "", "| side | inputs | added MB |", "|---|---|---|"]
    for one in result["memory"]:
        what = f"ours, {one['size']:,} tokens" if one["side"] == "ours" else f"plain batches of {one['size']}"
        lines.append(f"| {what} | {one['inputs']:,} | {one['added_mb']:.0f} |")
    lines += ["", "## Promises", "", "| promise | measured | holds |", "|---|---|---|"]
    for one in result["limits"]:
        lines.append(f"| {one['limit']} | {one['value']:.3g} | {'yes' if one['holds'] else 'NO'} |")
    return "\n".join(lines) + "\n"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Measure, write, print; with --check the exit status tells whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--check", action="store_true", help="exit 1 if a promise does not hold")
    parser.add_argument("--memory-of", nargs=4, metavar=("SIDE", "SIZE", "ROWS", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        side, size, rows, folder = args.memory_of
        memory_of(side, int(size), int(rows), Path(folder))
        return 0
    from importlib.metadata import version

    from benchmarks.run import machine, write

    folder = trained()
    model = load(folder)
    texts, golds = language(ROWS, 1)
    outputs = model.decode(texts).best
    cases = [
        measure(f"decoding, {beams} beam{'s' * (beams > 1)}", decoding_sides(model, texts, beams), ROWS, args.rounds)
        for beams in BEAMS
    ]
    cases += [voting(kind, texts, golds, args.rounds) for kind in KINDS]
    used = memory(folder)
    result = {
        "suite": "decoding",
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "parameters": model.parameters,
        "exact_match": float(np.mean([a == b for a, b in zip(outputs, golds, strict=True)])),
        "cases": cases,
        "memory": used,
        "limits": judge(cases, used),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "decoding.json", json.dumps(result, indent=1) + "\n")
    write(args.out / "decoding.md", table(result))
    print(table(result))
    return int(args.check and not all(one["holds"] for one in result["limits"]))


if __name__ == "__main__":
    sys.exit(main())
