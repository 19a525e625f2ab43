"""Reading logs of lm-evaluation-harness and inspect: time beside plain JSON, and memory where prompts grow.

    python -m benchmarks.logs            # 40 MB a log, about a minute
    python -m benchmarks.logs --mb 200

Each log is made twice with the same answers, once with prompts of a quarter of the length. `oodometer read LOG
--out FILE` runs as typed, in a process of its own, beside a process that parses the same JSON and keeps nothing.
Seconds are those of the processor: other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .kit import Result, command, joined, machine, promises, ranged, spread, table

MOST_TIMES, MOST_GROWTH = 3.0, 1.1
ROUNDS = 3
KINDS = {  # characters of a prompt in the larger log, and what is read
    "options": (2000, "four options, 0.4.9: JSONL"),
    "options, short prompts": (100, "four options, 0.4.9: JSONL"),
    "options, an array": (2000, "four options, 0.4.2: an indented array"),
    "texts": (4000, "answers of 400 characters, two filters, 0.4.9: JSONL"),
    "inspect .eval": (4000, "answers of 400 characters with messages and events, packed"),
    "inspect .json": (4000, "the same in one JSON text"),
}
PLAIN = {
    "lines": "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)",
    "whole": "import json, sys\njson.loads(open(sys.argv[1], 'rb').read())",
    "zip": "import json, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as z:\n"
    "    for name in z.namelist(): name.startswith('samples/') and json.loads(z.read(name))",
}


def rows(kind: str, prompt: int, count: int) -> Iterator[dict[str, Any]]:
    """Rows of a log, the same whatever the length of the prompts."""
    rng = np.random.default_rng(0)
    words = [
        "the",
        "river",
        "carries",
        "old",
        "leaves",
        "under",
        "a",
        "bridge",
        "of",
        "stone",
        "and",
        "counts",
        "them",
    ]
    filler = " ".join(words[i] for i in rng.integers(len(words), size=prompt // 3))[:prompt]
    for number in range(count):
        question, right = f"{number}: {filler}", bool(rng.random() < 0.6)
        text = (f"answer {number} " * 40)[:400]
        if kind.startswith("inspect"):
            messages = [
                {"role": "user", "content": question},
                {"role": "assistant", "content": text},
            ]
            output = {
                "model": "m",
                "choices": [{"message": messages[1], "stop_reason": "stop"}],
                "completion": text,
            }
            events = [
                {"event": "model", "input": messages[:1], "output": output, "timestamp": number}
            ]
            yield {"id": number, "epoch": 1, "input": question, "target": "yes", "messages": messages, "output": output,
                "scores": {"match": {"value": "C" if right else "I", "answer": text[:20]}}, "events": events,
                "attachments": {}}  # fmt: skip
        elif kind == "texts":
            for name in ("strict", "flexible"):
                yield {"doc_id": number, "doc": {"question": question}, "target": "yes", "arguments": {"gen_args_0":
                    {"arg_0": question, "arg_1": {"until": []}}}, "resps": [[text]], "filtered_resps": [text],
                    "filter": name, "metrics": ["exact_match"], "exact_match": float(right)}  # fmt: skip
        else:
            scores = (-rng.random(4) * 9).tolist()
            gold = int(np.argmax(scores)) if right else int(np.argmin(scores))
            answers = [[str(score), "False"] for score in scores]
            asked = {
                f"gen_args_{i}": {"arg_0": question, "arg_1": f" choice {i} of {number}"}
                for i in range(4)
            }
            yield {"doc_id": number, "doc": {"question": question}, "target": str(gold), "arguments": asked,
                "resps": [[answer] for answer in answers], "filtered_resps": answers, "filter": "none",
                "metrics": ["acc", "acc_norm"], "acc": float(right), "acc_norm": float(right)}  # fmt: skip


def make(kind: str, folder: Path, prompt: int, count: int) -> Path:
    """The log as a file."""
    about = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}}
    samples = rows(kind, prompt, count)
    name = f"samples_t_{prompt}"
    if kind == "inspect .eval":
        path = folder / f"{name}.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for sample in samples:
                packed.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
            packed.writestr("header.json", json.dumps(about))
        return path
    path = folder / f"{name}.json{'' if 'json' in kind else 'l'}"
    with path.open("w") as file:
        if kind == "inspect .json":
            file.write(json.dumps(about)[:-1] + ', "samples": [')
            file.writelines(
                (", " if i else "") + json.dumps(sample) for i, sample in enumerate(samples)
            )
            file.write("]}")
        elif kind == "options, an array":
            file.write("[\n")
            file.writelines(
                (",\n" if i else "") + json.dumps(sample, indent=2)
                for i, sample in enumerate(samples)
            )
            file.write("\n]")
        else:
            file.writelines(json.dumps(sample) + "\n" for sample in samples)
    return path


def watched(words: list[str]) -> tuple[float, float]:
    """Seconds of the processor and peak memory in MB of a process."""
    here = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }  # as if installed
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=here)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: {said.decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def measure(given: argparse.Namespace) -> Result:
    """Each kind of log, large and with short prompts."""
    out, limits = [], []
    cli = [
        sys.executable,
        "-c",
        "import sys; from oodometer.cli.main import main; sys.exit(main())",
        "read",
    ]
    for kind, (prompt, what) in KINDS.items():
        if given.only and given.only not in kind:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            one = (
                len(make(kind, place, prompt, 50).read_bytes()) / 50
                if kind != "inspect .eval"
                else 3 * prompt + 2500
            )
            count = int(given.mb * 1e6 / one)
            large, small = make(kind, place, prompt, count), make(kind, place, prompt // 4, count)
            plain = PLAIN[
                "zip"
                if "eval" in kind
                else "whole"
                if kind in ("options, an array", "inspect .json")
                else "lines"
            ]
            ours, theirs, peaks = [], [], []
            for _ in range(ROUNDS):
                theirs.append(watched([sys.executable, "-c", plain, str(large)]))
                ours.append(watched([*cli, str(large), "--out", str(place / "p.parquet")]))
                peaks.append(watched([*cli, str(small), "--out", str(place / "p.parquet")])[1])
            times = [a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]
            growth = min(peak for _, peak in ours) / min(peaks)
            cell = {"kind": kind, "what": what, "rows": count, "mb": large.stat().st_size / 1e6}
            cell |= {
                "short_prompts_mb": small.stat().st_size / 1e6,
                "short_prompts_peak_mb": min(peaks),
            }
            for side, runs in (("plain", theirs), ("read", ours)):
                cell |= {
                    f"{side}_seconds": spread([run[0] for run in runs]),
                    f"{side}_mb": min(run[1] for run in runs),
                }
            out.append(cell | {"times": spread(times)})
        limits += [
            {"limit": f"{kind}: at most {MOST_TIMES:g} times plain JSON", "value": min(times),
                "holds": min(times) <= MOST_TIMES},
            {"limit": f"{kind}: memory with prompts four times as long, at most {MOST_GROWTH:g} times", "value": growth,
                "holds": growth <= MOST_GROWTH},
        ]  # fmt: skip
    return {"machine": machine(), "mb": given.mb, "logs": out, "limits": limits}


def page(result: Result) -> str:
    """The result as Markdown."""
    cells = []
    for log in result["logs"]:
        speeds = [ranged(log[name], 2) for name in ("plain_seconds", "read_seconds", "times")]
        peaks = [f"{log[name]:.0f}" for name in ("plain_mb", "read_mb", "short_prompts_peak_mb")]
        cells.append([log["kind"], f"{log['rows']:,}", f"{log['mb']:.0f}", *speeds, *peaks])
    header = ["log", "rows", "MB", "plain JSON, s", "`oodometer read`, s", "times"]
    header += ["plain JSON, peak MB", "peak MB", "peak MB, short prompts"]
    about = (
        "`python -m benchmarks.logs`. Seconds of the processor of whole "
        "processes, the start of Python and the written "
    )
    about += (
        "file included; median (range) of three rounds. Short prompts are "
        "a quarter as long. Plain JSON parses a line, "
    )
    about += "a member or the whole text and keeps nothing."
    lines = ["# Reading logs", "", about, "", *table(header, cells), *promises(result["limits"])]
    kinds = [f"- {log['kind']}: {log['what']}." for log in result["logs"]]
    machine_of = result["machine"]
    return joined(
        [
            *lines,
            *kinds,
            "",
            f"{machine_of['cpu']}, {machine_of['cores']} cores, Python {machine_of['python']}.",
        ]
    )


if __name__ == "__main__":
    sys.exit(
        command(
            __doc__,
            "logs",
            measure,
            page,
            mb=(40, "megabytes of each log"),
            only=("", "kinds with this word"),
        )
    )
