"""Shifts of dialogues: how many contexts each severity keeps and how many words it changes, beside the paper's counts.

    python -m benchmarks.text_shifts            # everything; writes results/text_shifts.json and text_shifts.md

DailyDialog from $OODOMETER_DATA: its 1,000 test dialogues, every turn but the first a reply once; training words from
its 11,118 training dialogues. Function words and pieces of contractions are exchanged, or not. The seconds are those of
whole typed commands in a fresh process, files in the page cache, and of one pass over contexts in memory.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit

RATIOS = ("0.05", "0.10", "0.15", "0.20", "0.25", "0.30", "0.35", "0.40", "0.45", "0.50")
# Tables 1 and 2 of Lee et al. (2021): contexts, words changed in each
PAPER: dict[str, dict[str, tuple[int, float]]] = {
    "unknown-words": dict(zip(RATIOS, [
        (5481, 3.82), (6229, 7.26), (6513, 10.63), (6609, 14.20), (6604, 17.88),
        (6550, 21.57), (6354, 25.50), (5831, 30.02), (4746, 33.30), (2787, 32.99)], strict=True)),
    "known-words": dict(zip(RATIOS, [
        (5481, 3.82), (6229, 7.26), (6512, 10.64), (6611, 14.20), (6618, 17.85),
        (6561, 21.54), (6456, 25.38), (6060, 29.65), (5137, 33.41), (3130, 33.92)], strict=True)),
    "important-words": dict(
        zip("12345", [(5925, 6.58), (5925, 6.98), (5925, 6.98), (5925, 6.98), (5925, 7.39)], strict=True)),
}  # fmt: skip
ROUNDS = 3


def data() -> Path:
    """DailyDialog as one file of JSON lines."""
    return kit.data_folder() / "dailydialog.jsonl.xz"


def contexts() -> tuple[list[tuple[str, ...]], Any]:
    """The contexts of the test dialogues, and the words of the training dialogues."""
    from oodometer_lab.shifts.text import Vocabulary

    turns: dict[str, list[list[str]]] = {}
    with lzma.open(data(), "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            turns.setdefault(row["split"], []).append(row["turns"])
    training = Vocabulary.of(turn for one in turns["train"] for turn in one)
    return [tuple(one[:at]) for one in turns["test"] for at in range(1, len(one))], training


def counts(shift: Any, held: list[tuple[str, ...]], severity: str) -> dict[str, Any]:
    """Contexts kept, words changed in each, and processor seconds of one pass."""
    from oodometer_lab.shifts.text import ShiftedText

    before = time.process_time()
    found = [shift.apply(turns, severity, row=row) for row, turns in enumerate(held, 1)]
    seconds = time.process_time() - before
    kept = [one.targets for one in found if isinstance(one, ShiftedText)]
    return {
        "rows": len(kept),
        "targets": statistics.fmean(kept) if kept else None,
        "seconds": seconds,
    }


def tables() -> tuple[dict[str, Any], int]:
    """Counts of every condition of the paper's tables, ours and theirs; and the number of contexts."""
    from oodometer_lab.shifts.text import ImportantWords, KnownWords, UnknownWords
    from oodometer_lab.shifts.text.words import words_of

    held, training = contexts()

    def in_order(turns: Any) -> Any:  # whatever the importance, as many words are changed
        return np.arange(float(sum(len(words_of(one)) for one in turns)))

    out: dict[str, Any] = {}
    for cls, more in (
        (UnknownWords, {}),
        (KnownWords, {}),
        (ImportantWords, {"importance": in_order}),
    ):
        rows = []
        shifts = {
            paper: cls(training, pieces=paper, function_words=paper, **more)
            for paper in (False, True)
        }
        for severity, (paper_rows, paper_targets) in PAPER[cls.name].items():
            usual, paper = (counts(shifts[one], held, severity) for one in (False, True))
            rows.append({"severity": severity, "paper": {"rows": paper_rows, "targets": paper_targets}, "ours": usual,
                "ours_as_the_paper": paper})  # fmt: skip
            print(cls.name, severity, usual, paper, flush=True)
        out[cls.name] = rows
    often = KnownWords(training, pieces=True, function_words=True, least=5_001)
    out["known-words, more than 5,000 times"] = [
        {"severity": one, "ours_as_the_paper": counts(often, held, one)} for one in ("0.05", "0.20")
    ]
    return out, len(held)


def typed() -> kit.Result:
    """Seconds of the typed command: unknown words at one severity, and at all ten."""
    found = {}
    for name, severities in (("one severity", RATIOS[3:4]), ("ten severities", RATIOS)):
        taken = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as place:
                out = Path(place) / ("out" if len(severities) > 1 else "out.jsonl")
                words = [
                    sys.executable,
                    "-m",
                    "oodometer",
                    "shift",
                    "dialogue",
                    str(data()),
                    "--where",
                    "split=test",
                ]
                words += [
                    "--kind",
                    "unknown-words",
                    "--training",
                    str(data()),
                    "--training-where",
                    "split=train",
                ]
                words += [word for one in severities for word in ("--severity", one)] + [
                    "--out",
                    str(out),
                ]
                taken.append(kit.timed(words)[0])
        found[name] = {"median": statistics.median(taken), "all": taken}
    return found


def page(result: kit.Result) -> str:
    lines = [
        "# Shifts of dialogues: counts beside the paper's",
        "",
        f"{result['date']}, {result['machine']['cpu']}, Python {result['machine']['python']}."
        f" {result['contexts']:,} contexts of 1,000 test"
        " dialogues (the paper: 6,639). Contexts kept, and words changed in each. *As the paper*: function words and"
        " parts of contractions (don in don't) are exchanged, too. A fifth by importance changes as many words whatever"
        " their importance."
        " `python -m benchmarks.text_shifts`",
        "",
    ]
    for kind, cases in result["tables"].items():
        if "paper" in cases[0]:
            sides = ("paper", "ours", "ours_as_the_paper")
            rows = [
                [
                    case["severity"],
                    *(f"{case[side]['rows']:,} of {case[side]['targets']:.2f}" for side in sides),
                ]
                for case in cases
            ]
            lines += [
                f"## {kind}",
                "",
                *kit.table(["severity", "paper", "ours", "ours, as the paper"], rows, "l"),
            ]
    often = result["tables"]["known-words, more than 5,000 times"]
    kept = ", ".join(f"{one['ours_as_the_paper']['rows']:,} at {one['severity']}" for one in often)
    lines += [
        f"With words that occur more than 5,000 times, as the paper says: {kept}.",
        "",
        "## Time",
        "",
    ]
    for name, one in result["typed"].items():
        lines.append(
            f"- the typed command, unknown words, {name}: {one['median']:.1f} s (median of {len(one['all'])})"
        )
    passes = [row["ours"]["seconds"] for row in result["tables"]["unknown-words"][1:]]
    lines.append(
        f"- one pass over all contexts in memory, words looked up before: {statistics.median(passes):.2f} s"
    )
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    found, many = tables()
    about = {
        "suite": "text_shifts",
        "date": time.strftime("%Y-%m-%d"),
        "machine": kit.machine(),
        "contexts": many,
    }
    return {**about, "tables": found, "typed": typed()}


if __name__ == "__main__":
    sys.exit(kit.command(__doc__, "text_shifts", measure, page))
