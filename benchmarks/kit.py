"""What benchmarks share: where things lie, their command line, results as JSON and Markdown, tables and turns.

Standard library only at its top, so that `run.py` stays a small process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
Result = dict[str, Any]


def data_folder() -> Path:
    """The folder named by OODOMETER_DATA, else the shared one beside the checkout; `SystemExit` without either."""
    named = os.environ.get("OODOMETER_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        raise SystemExit(
            "the real data are missing: set OODOMETER_DATA to the folder that holds outputs/"
        )
    return folder


def bench_dir() -> Path:
    """Where made data and peers' environments are: $OODOMETER_BENCH_DIR or a folder under the temporary one."""
    return Path(
        os.environ.get("OODOMETER_BENCH_DIR") or Path(tempfile.gettempdir()) / "oodometer-bench"
    )


def machine() -> Result:
    """What a result was measured on."""
    model = ""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), ""
        )
    except OSError:
        pass
    return {"cpu": model or platform.processor(), "cores": os.cpu_count(), "system": platform.system(),
        "python": platform.python_version(), "load_at_start": os.getloadavg()[0]}  # fmt: skip


def as_json(result: Mapping[str, Any]) -> str:
    """The result as JSON, a line for each entry of its lists of mappings."""
    parts = []
    for name, value in result.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n" + ",\n".join("    " + json.dumps(row) for row in value) + "\n  ]"
        parts.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def save(path: Path, result: Mapping[str, Any], page: Callable[[Any], str]) -> str:
    """Write PATH.json, and PATH.md from the digits that the JSON keeps; the page."""
    data = as_json(result)
    text = page(json.loads(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    write(Path(f"{path}.json"), data)
    write(Path(f"{path}.md"), text)
    return text


def write(path: Path, text: str) -> None:
    """The text whole, or the file of before."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def command(
    doc: str | None, name: str, measure: Callable[[argparse.Namespace], Result], page: Callable[[Result], str],
    arguments: Sequence[str] | None = None, after: Callable[[argparse.Namespace, Result], None] | None = None,
    **options: Any,
) -> int:  # fmt: skip
    """The command of a benchmark: measure, write results/NAME.json and NAME.md, print the page; the exit status.

    ``measure`` gets the options that were given and, as ``before``, the result that is there; ``after`` does more.
    An option is ``name=(default, help)``, or a mapping as `add_argument` takes it; in capitals it is an argument.
    With --only nothing is written into the committed results.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option, about in options.items():
        if not isinstance(about, Mapping):
            default, text = about
            kind = (
                {"action": "store_true"}
                if default is False
                else {"type": type(default), "default": default}
            )
            about = {**kind, "help": text}
        parser.add_argument(
            option if option.isupper() else f"--{option.replace('_', '-')}", **about
        )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--tables", action="store_true", help="measure nothing, make the page again"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 if a promise does not hold")
    given = parser.parse_args(arguments)
    kept = given.out / f"{name}.json"
    given.before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    start = time.perf_counter()
    result = given.before if given.tables else measure(given)
    if getattr(given, "only", None) and given.out == RESULTS:  # a part does not replace the whole
        print(page(json.loads(as_json(result))))
    else:
        print(save(given.out / name, result, page))
    if after:
        after(given, result)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(given.check and not all(one["holds"] for one in result.get("limits", ())))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], align: str = "lr") -> list[str]:
    """A table and a blank line; ``align`` of the columns, the last letter for all that follow."""
    marks = {"l": "---|", "r": "---:|"}
    line = "".join(marks[align[min(i, len(align) - 1)]] for i in range(len(header)))
    cells = ["| " + " | ".join(row) + " |" for row in rows]
    head = "|".join(f" {name} " if name else " " for name in header)
    return [f"|{head}|", f"|{line}", *cells, ""]


def joined(lines: Sequence[str]) -> str:
    """The lines of a page, without blank ones at its end."""
    return "\n".join(lines).rstrip() + "\n"


def renewed(text: str, begin: str, end: str, block: Callable[[str], Sequence[str]]) -> str:
    """A text whose blocks, between `<!-- BEGIN: name -->` and `<!-- END -->`, are made again."""

    def again(match: re.Match[str]) -> str:
        lines = "\n".join(block(match[1])).strip("\n")
        return f"<!-- {begin}: {match[1]} -->\n\n{lines}\n\n<!-- {end} -->"

    return re.sub(rf"<!-- {begin}: (\w+) -->.*?<!-- {end} -->", again, text, flags=re.DOTALL)


def promises(limits: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of promises, what was measured, and whether they hold."""
    rows = [
        [one["limit"], f"{one['value']:.3g}", "yes" if one["holds"] else "NO"] for one in limits
    ]
    return ["## Promises", "", *table(["promise", "measured", "holds"], rows, "l")]


def spawned(
    work: Callable[[Any], Any], jobs: Sequence[Any], workers: int
) -> Iterator[tuple[Any, Any, str]]:
    """Each job with what ``work`` makes of it, or why it failed, as they are done; counted on standard error.

    One process a core: more threads would stand in one another's way. Spawned, so that numerical libraries start with
    one thread.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    start = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(work, job): job for job in jobs}
        for done, future in enumerate(as_completed(waiting), 1):
            if done % 20 == 0 or done == len(jobs):
                seconds = time.perf_counter() - start
                print(f"{done} of {len(jobs)}, {seconds:.0f} s", file=sys.stderr, flush=True)
            error = future.exception()
            why = f"{waiting[future]}: {type(error).__name__}: {error}" if error else ""
            yield waiting[future], None if error else future.result(), why


@contextlib.contextmanager
def argv(arguments: Sequence[str]) -> Iterator[None]:
    """Inside, the process looks as if it had been started with these words behind `oodometer`."""
    before = sys.argv
    sys.argv = ["oodometer", *arguments]
    try:
        yield
    finally:
        sys.argv = before


def in_turns(sides: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[Any]]:
    """What each side gives in each round; the order rotates, so that a slow minute of the machine hits all of them."""
    out: dict[str, list[Any]] = {side: [] for side in sides}
    for turn in range(rounds):
        start = turn % len(sides)
        for side in [*sides][start:] + [*sides][:start]:
            out[side].append(sides[side]())
    return out


def timed(words: Sequence[str], **settings: str) -> tuple[float, str]:
    """Seconds of a whole process and what it printed; what it complained of is shown where it failed."""
    # an installed package is compiled; a message that finds no network costs a peer time
    here = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False,
        env={**here, "NML_DISABLE_USAGE_LOGGING": "1", **settings})  # fmt: skip
    seconds = time.perf_counter() - start
    print(
        f"{seconds:6.1f} s  {' '.join(Path(word).name for word in words[1:7])} ...",
        file=sys.stderr,
        flush=True,
    )
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return seconds, done.stdout


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Theirs over ours, round by round."""
    return [a / b for a, b in zip(theirs, ours, strict=True)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, minimum and maximum."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ranged(cell: Mapping[str, float], digits: int) -> str:
    """A median with its range."""
    return f"{cell['median']:.{digits}f} ({cell['min']:.{digits}f}-{cell['max']:.{digits}f})"
