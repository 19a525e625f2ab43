"""Shifts of dialogues: how many contexts each severity keeps and how many words it changes, beside the paper's counts.

    python -m benchmarks.text_shifts            # everything; writes results/text_shifts.json and text_shifts.md

DailyDialog from $OODOMETER_DATA: its 1,000 test dialogues, every turn but the first a reply once; training words from
its 11,118 training dialogues. Words are exchanged with and without the pieces of contractions. The seconds are those of
whole typed commands in a fresh process, files in the page cache, and of one pass over contexts in memory.
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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
RATIOS = ("0.05", "0.10", "0.15", "0.20", "0.25", "0.30", "0.35", "0.40", "0.45", "0.50")
# Tables 1 and 2 of Lee et al. (2021): contexts, words changed in each
PAPER: dict[str, dict[str, tuple[int, float]]] = {
    "unknown-words": dict(
        zip(
            RATIOS,
            [
                *((5481, 3.82), (6229, 7.26), (6513, 10.63), (6609, 14.20), (6604, 17.88)),
                *((6550, 21.57), (6354, 25.50), (5831, 30.02), (4746, 33.30), (2787, 32.99)),
            ],
            strict=True,
        )
    ),
    "known-words": dict(
        zip(
            RATIOS,
            [
                *((5481, 3.82), (6229, 7.26), (6512, 10.64), (6611, 14.20), (6618, 17.85)),
                *((6561, 21.54), (6456, 25.38), (6060, 29.65), (5137, 33.41), (3130, 33.92)),
            ],
            strict=True,
        )
    ),
    "important-words": dict(
        zip("12345", [(5925, 6.58), (5925, 6.98), (5925, 6.98), (5925, 6.98), (5925, 7.39)], strict=True)
    ),
}
ROUNDS = 3


def data() -> Path:
    """DailyDialog as one file of JSON lines."""
    home = os.environ.get("OODOMETER_DATA")
    if not home:
        raise SystemExit("set OODOMETER_DATA to the folder of the data")
    return Path(home) / "dailydialog.jsonl.xz"


def contexts() -> tuple[list[tuple[str, ...]], Any]:
    """The contexts of the test dialogues, and the words of the training dialogues."""
    import lzma

    from oodometer.shifts.text import Vocabulary

    turns: dict[str, list[list[str]]] = {}
    with lzma.open(data(), "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            turns.setdefault(row["split"], []).append(row["turns"])
    training = Vocabulary.of(turn for one in turns["train"] for turn in one)
    return [tuple(one[:at]) for one in turns["test"] for at in range(1, len(one))], training


def counts(shift: Any, held: list[tuple[str, ...]], severity: str) -> dict[str, Any]:
    """Contexts kept, words changed in each, and seconds of one pass."""
    from oodometer.shifts.text import ShiftedText

    before = time.perf_counter()
    found = [shift.apply(turns, severity, row=row) for row, turns in enumerate(held, 1)]
    seconds = time.perf_counter() - before
    kept = [one.targets for one in found if isinstance(one, ShiftedText)]
    return {"rows": len(kept), "targets": statistics.fmean(kept) if kept else None, "seconds": seconds}


def tables() -> tuple[dict[str, Any], int]:
    """Counts of every condition of the paper's tables, ours and theirs; and the number of contexts."""
    import numpy as np

    from oodometer.shifts.text import ImportantWords, KnownWords, UnknownWords
    from oodometer.shifts.text.words import words_of

    held, training = contexts()

    def in_order(turns: Any) -> Any:  # whatever the importance, as many words are changed
        return np.arange(float(sum(len(words_of(one)) for one in turns)))

    out: dict[str, Any] = {}
    for cls, more in ((UnknownWords, {}), (KnownWords, {}), (ImportantWords, {"importance": in_order})):
        rows = []
        shifts = {pieces: cls(training, pieces=pieces, **more) for pieces in (False, True)}
        for severity, (paper_rows, paper_targets) in PAPER[cls.name].items():
            whole, pieces = (counts(shifts[one], held, severity) for one in (False, True))
            rows.append({"severity": severity, "paper": {"rows": paper_rows, "targets": paper_targets}, "ours": whole,
                "ours_with_pieces": pieces})  # fmt: skip
            print(cls.name, severity, whole, pieces, flush=True)
        out[cls.name] = rows
    often = KnownWords(training, pieces=True, least=5_001)
    out["known-words, more than 5,000 times"] = [
        {"severity": one, "ours_with_pieces": counts(often, held, one)} for one in ("0.05", "0.20")
    ]
    return out, len(held)


def typed() -> dict[str, Any]:
    """Seconds of the typed command: unknown words at one severity, and at all ten."""
    found = {}
    for name, severities in (("one severity", RATIOS[3:4]), ("ten severities", RATIOS)):
        taken = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as place:
                out = Path(place) / ("out" if len(severities) > 1 else "out.jsonl")
                words = [sys.executable, "-m", "oodometer", "shift", "dialogue", str(data()), "--where", "split=test"]
                words += ["--kind", "unknown-words", "--training", str(data()), "--training-where", "split=train"]
                words += [word for one in severities for word in ("--severity", one)] + ["--out", str(out)]
                before = time.perf_counter()
                subprocess.run(words, check=True, capture_output=True)
                taken.append(time.perf_counter() - before)
        found[name] = {"median": statistics.median(taken), "all": taken}
        print(name, found[name], flush=True)
    return found


def as_markdown(result: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "# Shifts of dialogues: counts beside the paper's",
        "",
        f"{result['date']}, {result['machine']['cpu']}, Python {result['machine']['python']}."
        f" {result['contexts']:,} contexts of 1,000 test"
        " dialogues (the paper: 6,639). Contexts kept, and words changed in each. *With pieces*: parts of contractions"
        " (don in don't) are exchanged, too. A fifth by importance changes as many words whatever their importance."
        " `python -m benchmarks.text_shifts`",
        "",
    ]
    for kind, rows in result["tables"].items():
        if "paper" not in rows[0]:
            continue
        lines += [f"## {kind}", "", "| severity | paper | ours | ours with pieces |", "|---|---|---|---|"]
        for row in rows:
            cells = [
                f"{one['rows']:,} of {one['targets']:.2f}"
                for one in (row["paper"], row["ours"], row["ours_with_pieces"])
            ]
            lines.append(f"| {row['severity']} | {' | '.join(cells)} |")
        lines.append("")
    often = result["tables"]["known-words, more than 5,000 times"]
    told = ", ".join(f"{one['ours_with_pieces']['rows']:,} at {one['severity']}" for one in often)
    lines += [f"With words that occur more than 5,000 times, as the paper says: {told}.", "", "## Time", ""]
    for name, one in result["typed"].items():
        lines.append(f"- the typed command, unknown words, {name}: {one['median']:.1f} s (median of {len(one['all'])})")
    passes = [row["ours"]["seconds"] for row in result["tables"]["unknown-words"][1:]]
    lines.append(f"- one pass over all contexts in memory, words looked up before: {statistics.median(passes):.2f} s")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    args = parser.parse_args()
    from benchmarks.run import machine, write

    found, many = tables()
    result = {"suite": "text_shifts", "date": time.strftime("%Y-%m-%d"), "machine": machine(), "contexts": many}
    result |= {"tables": found, "typed": typed()}
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "text_shifts.json", json.dumps(result, indent=1) + "\n")
    write(args.out / "text_shifts.md", as_markdown(result))
    print(as_markdown(result))


if __name__ == "__main__":
    main()
