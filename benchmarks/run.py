"""Runs the benchmarks: `python benchmarks/run.py speed` writes benchmarks/results/speed.json and speed.md.

Standard library only: this process stays small, because a child's peak memory can never read smaller than its
parent's. Every measurement is a fresh process; the sides of a case take turns, in a rotating order, so that a
slow minute of the machine hits all of them; ratios are medians of the ratios of each round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for `python benchmarks/run.py`

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT, Result, bench_dir

PYTHON = sys.executable
FIGURES = ("seconds", "process_seconds", "cpu_seconds", "peak_mb")


HOW_TO_READ = (
    "Median (minimum-maximum) over fresh processes that take turns. Seconds: the job alone, data loaded,"
    " after one run thrown away where a run is short; beside ours: the same divided by ours; process:"
    " interpreter, imports and loading too; CPU: user and system seconds of that process;"
    " MB: peak resident memory of the process."
)


@dataclass(frozen=True)
class Side:
    """One contestant of a case: a module of ours run in an environment, or a bare command."""

    module: str = ""
    job: str = ""
    env: str = (
        ""  # a folder made by peers/make_envs.sh; empty means the interpreter that runs this file
    )
    options: tuple[str, ...] = ()
    runs: int = (
        5  # timed runs inside one process, after one that is thrown away; 1 means one cold run
    )
    rounds: int = 99  # at most this many processes: for sides that take minutes
    threads: int = 1  # of numerical libraries; 0 leaves it to them
    command: tuple[
        str, ...
    ] = ()  # instead of module and job; only the whole process is timed; {folder}: the data
    note: str = ""
    cache: bool = (
        False  # whether what runs before have kept is there: backtests, what draws, templates
    )


@dataclass(frozen=True)
class Limit:
    """A promise: `figure` of `left`, over that of `right` if there is one, is at most or at least `bound`."""

    figure: str
    left: str
    sign: str
    bound: float
    right: str = ""


@dataclass(frozen=True)
class Case:
    """One row of the benchmark: data, sides and what we promise about them."""

    name: str
    what: str
    data: str
    sides: dict[str, Side]
    limits: tuple[Limit, ...] = ()
    rounds: int = 5
    rows: int = 0  # rows read by our side, for rows per second


def ours(job: str, *options: str, runs: int = 5) -> Side:
    return Side("benchmarks.ours", job, options=options, runs=runs)


def plain(job: str, runs: int = 5) -> Side:
    return Side("benchmarks.lean_numpy", job, runs=runs)


def nannyml(*options: str, rounds: int = 99) -> Side:
    return Side("benchmarks.peers.jobs", "cbpe", "nannyml", options, runs=1, rounds=rounds)


def command(*words: str, env: str = "", note: str = "", cache: bool = False) -> Side:
    return Side(command=words, env=env, note=note, cache=cache)


NETCAL = Side("benchmarks.peers.jobs", "ece-netcal", "netcal")
TORCHMETRICS, TORCHMETRICS_2 = (
    Side("benchmarks.peers.jobs", "ece-torchmetrics", "torchmetrics", threads=n) for n in (1, 2)
)
UNCERTAINTY, UNCERTAINTY_2 = (
    Side("benchmarks.peers.jobs", "aurc", "torch-uncertainty", threads=n) for n in (1, 2)
)
AUDIT, ESTIMATE = (
    ("-m", "oodometer", verb, "--sample", "car-loan") for verb in ("audit", "estimate")
)
PAGE = str(bench_dir() / "page.html")
LOANS = str(ROOT / "src/oodometer/datasets/tables/car-loan/target.parquet")
FIVE = ("source", "ac", "doc", "atc", "cbpe")


def typed(form: str, *options: str) -> Side:
    """`oodometer estimate` as it is typed, in a fresh interpreter."""
    files = [f"{{folder}}/{name}.{form}" for name in ("reference", "target")]
    return Side(command=("-m", "oodometer", "estimate", *files, *options, "--json", "-"), threads=0)


def typed_sides(form: str) -> dict[str, Side]:
    """Five methods by name, everything by default, and the lean pass over the same files."""
    return {"five methods": typed(form, *(w for name in FIVE for w in ("--method", name)), "--backtest", "none"),
        "default": typed(form),
        "plain": Side(command=("-m", "benchmarks.lean_numpy", "whole", "{folder}", form), threads=0)}  # fmt: skip


TYPED_LIMITS = (Limit("process_seconds", "five methods", "<=", 3, "plain"),
    Limit("process_seconds", "default", "<=", 2))  # fmt: skip

SPEED = (
    Case("typed-1m-10-npz",
         "the command as it is typed, a whole process in a fresh interpreter, files in the page cache, no backtest "
         "kept: `oodometer estimate reference.npz target.npz --json -`, 1,000,000 + 1,000,000 rows of 10 classes, with "
         "five methods (source, ac, doc, atc, cbpe, `--backtest none`) and by default (every method, diagnosis, "
         "backtest, headline); beside it a lean numpy pass over the same files, a whole process too",
         "1m-10", typed_sides("npz"), TYPED_LIMITS, rounds=9),
    Case("typed-1m-10-parquet", "the same from Parquet", "1m-10", typed_sides("parquet"), TYPED_LIMITS, rounds=9),
    Case("typed-2k-10-csv", "the same from two CSV files of 2,000 rows", "2k-10",
         {name: side for name, side in typed_sides("csv").items() if name != "plain"}, rounds=9),
    Case("estimate-100k-10",
         "every first-wave estimator with its interval, 100,000 + 100,000 rows, 10 classes, in memory", "100k-10",
         {"ours": ours("estimate"), "plain": plain("estimate"), "nannyml": nannyml()}),
    Case("estimate-1m-10", "the same, 1,000,000 + 1,000,000 rows", "1m-10",
         {"ours": ours("estimate"), "plain": plain("estimate"), "nannyml": nannyml(rounds=3)},
         (Limit("seconds", "ours", "<=", 2, "plain"), Limit("seconds", "nannyml", ">=", 40, "ours"),
          Limit("peak_mb", "nannyml", ">=", 3, "ours"))),
    Case("whole-1m-10",
         "what a user gets by default on the same rows: every method, the diagnosis, and a headline weighed by "
         "a backtest (from nothing, and with the backtest of the run before)", "1m-10",
         {"ours": ours("estimate-whole", runs=1),
          "ours, backtest kept": ours("estimate-whole", "cache=whole", runs=2)},
         (Limit("seconds", "ours", "<=", 10), Limit("seconds", "ours, backtest kept", "<=", 10)), rounds=3),
    Case("estimate-50k-1000", "the same, 50,000 + 50,000 rows, 1,000 classes (NannyML does not fit in 24 GB)",
         "50k-1000", {"ours": ours("estimate", runs=3), "plain": plain("estimate", runs=3)},
         (Limit("seconds", "ours", "<=", 10), Limit("peak_mb", "ours", "<=", 2, "plain"))),
    Case("files-1m-10", "the same from two Parquet files, 1,000,000 + 1,000,000 rows", "1m-10",
         {"ours": ours("estimate-files", runs=3), "plain": plain("stream", runs=3)}, rounds=3, rows=2_000_000),
    Case("files-10m-10", "the same, a reference of 1,000,000 and a target of 10,000,000 rows", "10m-10",
         {"ours": ours("estimate-files", runs=1), "ours, 2 workers": ours("estimate-files", "workers=2", runs=1),
          "plain": plain("stream", runs=1)},
         (Limit("peak_mb", "ours", "<=", 600), Limit("seconds", "ours", ">=", 1.5, "ours, 2 workers")),
         rounds=9, rows=11_000_000),
    Case("ece-1m-10", "expected calibration error, 15 equal-width bins, 1,000,000 rows, 10 classes, in memory", "1m-10",
         {"ours": ours("ece"), "plain": plain("ece"), "netcal": NETCAL, "torchmetrics": TORCHMETRICS,
          "torchmetrics, 2 threads": TORCHMETRICS_2},
         tuple(Limit("seconds", peer, ">=", 1, "ours")
               for peer in ("netcal", "torchmetrics", "torchmetrics, 2 threads"))),
    Case("aurc-1m-10", "area under the risk-coverage curve, 1,000,000 rows, 10 classes, in memory", "1m-10",
         {"ours": ours("aurc"), "plain": plain("aurc"), "torch-uncertainty": UNCERTAINTY,
          "torch-uncertainty, 2 threads": UNCERTAINTY_2},
         (Limit("seconds", "torch-uncertainty", ">=", 1, "ours"),
          Limit("seconds", "torch-uncertainty, 2 threads", ">=", 1, "ours"))),
    Case("selective-1m-10",
         "every selective metric with its band (areas, DiSCA, coverage at risk, risk at coverage, both curves), "
         "1,000,000 rows, 10 classes, in memory; beside it the peer's AURC alone, without a band", "1m-10",
         {"ours": ours("selective"), "torch-uncertainty": UNCERTAINTY, "torch-uncertainty, 2 threads": UNCERTAINTY_2,
          "plain bootstrap": Side("benchmarks.lean_numpy", "aurc-bootstrap", runs=1, rounds=1,
              note="500 samples of all rows, for AURC alone: what fd-shifts does, which is not on PyPI")},
         (Limit("seconds", "torch-uncertainty", ">=", 1, "ours"),
          Limit("seconds", "plain bootstrap", ">=", 50, "ours"))),
    Case("compare-50k-10",
         "ten models on the same 50,000 rows: every metric with its band, paired rankings, failure cases, findings",
         "100k-10",
         {"ours": ours("compare", runs=2), "ours, the metrics alone": ours("selective", "models=10", runs=2)},
         rounds=3),
    Case("start", "a fresh interpreter: import, and the command's help", "",
         {"import oodometer": command("-c", "import oodometer"),
          "oodometer --help": command("-m", "oodometer", "--help"),
          "oodometer methods": command("-m", "oodometer", "methods"),
          "nothing": command("-c", "pass", note="the interpreter alone"),
          "import numpy": command("-c", "import numpy"),
          "import nannyml": command("-c", "import nannyml", env="nannyml")},
         (Limit("process_seconds", "import oodometer", "<=", 0.3),
          Limit("process_seconds", "oodometer --help", "<=", 0.5)), rounds=7),
)  # fmt: skip


WAITING = (
    Case("page",
         "what a person waits for, whole processes: ten labels of 50,000 car loans audited, with its page and without; "
         "what runs before have kept (what draws, templates) is there", "",
         {"audit with its page": command(*AUDIT, "--report", PAGE, cache=True),
          "audit": command(*AUDIT, cache=True),
          "estimate with its page": command(*ESTIMATE, "--report", PAGE, cache=True)},
         (Limit("process_seconds", "audit with its page", "<=", 2.5),), rounds=7),
    Case("fitted-50k",
         "a fitted file asked about 50,000 car loans, every method that applies; beside it NannyML's CBPE, which "
         "fits the 50,000 loans of the reference first, as it keeps no file that another process asks", "2k-10",
         {"fit, once": command("-m", "oodometer", "fit", "--sample", "car-loan", "--out", "{folder}/loan.oodo"),
          "fitted file asked": command("-m", "oodometer", "estimate", "{folder}/loan.oodo", LOANS),
          "NannyML CBPE, one method": command("-m", "benchmarks.peers.loan", env="nannyml")},
         (Limit("process_seconds", "fitted file asked", "<=", 0.7),), rounds=7),
)  # fmt: skip


def cbpe_sides() -> dict[str, Side]:
    return {"nannyml, 10 chunks (default)": nannyml(), "nannyml, 1 chunk": nannyml("chunks=1"),
        "nannyml, accuracy + f1 + auc": nannyml("metrics=accuracy,f1,roc_auc"),
        "plain": plain("estimate")}  # fmt: skip


METRIC_SIDES = {"netcal ece": NETCAL, "torchmetrics ece": TORCHMETRICS, "torchmetrics ece, 2 threads": TORCHMETRICS_2,
    "plain ece": plain("ece"), "torch-uncertainty aurc": UNCERTAINTY,
    "torch-uncertainty aurc, 2 threads": UNCERTAINTY_2, "plain aurc": plain("aurc")}  # fmt: skip

PEERS = (Case("cbpe-100k-10", "CBPE, fit on 100,000 rows, estimate 100,000", "100k-10", cbpe_sides(), rounds=3),
    Case("cbpe-1m-10", "CBPE, fit on 1,000,000 rows, estimate 1,000,000", "1m-10", cbpe_sides(), rounds=3),
    Case("metrics-100k-10", "calibration error and risk-coverage, 100,000 rows", "100k-10", METRIC_SIDES),
    Case("metrics-1m-10", "calibration error and risk-coverage, 1,000,000 rows", "1m-10", METRIC_SIDES),
    Case("metrics-50k-1000", "the same, 50,000 rows, 1,000 classes", "50k-1000", METRIC_SIDES, rounds=3))  # fmt: skip

SUITES = {
    "speed": ("Speed and memory beside the peers", SPEED),
    "waiting": ("What a person waits for", WAITING),
    "peers": ("The peers alone", PEERS),
}


def interpreter(side: Side) -> str:
    return str(bench_dir() / "envs" / side.env / "bin" / "python") if side.env else PYTHON


def run_once(side: Side, folder: str, timeout: float) -> Result:
    """One fresh process of one side: its own JSON line plus wall time and peak memory seen from outside."""
    if not Path(interpreter(side)).exists():
        return {
            "pending": f"no environment {side.env!r}: run benchmarks/peers/make_envs.sh {side.env}"
        }
    if side.command:
        words = [word.replace("{folder}", folder) for word in side.command]
    else:
        words = ["-m", side.module, side.job, folder, "--runs", str(side.runs)]
        words += [word for option in side.options for word in ("--option", option)]
    # as installed: with compiled modules kept on disk, not compiled anew in every process
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS") if side.threads else ()
    threads = dict.fromkeys(names, str(side.threads))
    # no backtest of a round before, unless that is what is asked
    fresh = {"OODOMETER_CACHE": str(bench_dir() / "cache") if side.cache else ""}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen([interpreter(side), *words], cwd=ROOT,
            env={**environment, **threads, **fresh, "NML_DISABLE_USAGE_LOGGING": "1"}, stdout=out,
            stderr=err)  # fmt: skip
        killer = threading.Timer(timeout, child.kill)
        killer.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        lines, complaint = out.read().decode().splitlines(), err.read().decode().splitlines()
    if child.returncode != 0:
        why = complaint[-1] if complaint else f"exit {child.returncode}"
        missing = "No module named" in why and "oodometer" in why
        return {"pending" if missing else "failed": why}
    found: Result = {} if side.command else json.loads(lines[-1])
    if "pending" in found:
        return found
    outside = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    cpu = usage.ru_utime + usage.ru_stime
    return {
        **found,
        "process_seconds": wall,
        "cpu_seconds": cpu,
        "peak_mb": found.get("peak_mb", outside),
    }


def run_case(case: Case, only_sides: set[str], rounds: int, timeout: float) -> Result:
    """All rounds of one case, and its limits."""
    folder = ""
    if case.data:
        made = subprocess.run(
            [PYTHON, "-m", "benchmarks.data", case.data],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        folder = made.stdout.strip()
    names = [name for name in case.sides if not only_sides or name in only_sides]
    measured: dict[str, list[Result]] = {name: [] for name in names}
    stopped: dict[str, Result] = {}
    for turn in range(rounds):
        shift = turn % len(names) if names else 0
        for name in names[shift:] + names[:shift]:
            if name in stopped or turn >= case.sides[name].rounds:
                continue
            found = run_once(case.sides[name], folder, timeout)
            if "pending" in found or "failed" in found:
                stopped[name] = found
                say(f"  {name}: {found}")
                continue
            measured[name].append(found)
            spent = found.get("seconds", found["process_seconds"])
            say(f"  {name}: {spent:.4f} s, {found['peak_mb']:.0f} MB")
    sides = {name: stopped.get(name) or summarize(measured[name], case.rows) for name in names}
    for name in names:
        if name != "ours" and measured[name] and measured.get("ours"):
            sides[name]["beside_ours"] = ratio(measured[name], measured["ours"], "seconds")
    limits = [judge(limit, measured) for limit in case.limits]
    return {
        "name": case.name,
        "what": case.what,
        "data": case.data,
        "sides": sides,
        "limits": limits,
    }


def summarize(rounds: list[Result], rows: int) -> Result:
    """Median, minimum and maximum of every figure over the rounds; the rest from the last round."""
    if not rounds:
        return {"pending": "not run"}
    figures = (*FIGURES, "loaded_mb", "first_seconds", "fit_seconds", "estimate_seconds")
    summary: Result = {
        name: kit.spread([one[name] for one in rounds])
        for name in figures
        if all(name in one for one in rounds)
    }
    if rows:
        summary["rows_per_second"] = rows / summary["seconds"]["median"]
    rest = {key: value for key, value in rounds[-1].items() if key not in summary and key != "runs"}
    runs = [one["runs"] for one in rounds if "runs" in one]
    return {**summary, **rest, "rounds": len(rounds), "runs": runs}


def judge(limit: Limit, measured: dict[str, list[Result]]) -> Result:
    """The limit in words, what was measured, and whether it holds (null: not measured)."""
    words = f"{limit.figure} of {limit.left} {limit.sign} {limit.bound:g}"
    if limit.right:
        words = f"{limit.figure}: {limit.left} / {limit.right} {limit.sign} {limit.bound:g}"
    left, right = (
        measured.get(limit.left) or [],
        (measured.get(limit.right) or []) if limit.right else None,
    )
    if not left or right == []:
        return {"limit": words, "value": None, "holds": None}
    if right is None:
        value = statistics.median(one[limit.figure] for one in left)
    else:
        value = ratio(left, right, limit.figure)
    holds = value <= limit.bound if limit.sign == "<=" else value >= limit.bound
    return {"limit": words, "value": value, "holds": holds}


def ratio(left: list[Result], right: list[Result], figure: str) -> float:
    """Round by round, then the median; a side with fewer rounds is paired with the other's first ones."""
    return float(
        statistics.median(a[figure] / b[figure] for a, b in zip(left, right, strict=False))
    )


def figure(cell: dict[str, float] | None, digits: int) -> str:
    """A median with its range, or nothing."""
    if cell is None:
        return ""
    low, mid, high = (f"{cell[key]:,.{digits}f}" for key in ("min", "median", "max"))
    return mid if low == high else f"{mid} ({low}-{high})"


def page(title: str, result: Result) -> str:
    about = result["machine"]
    lines = [
        f"# {title}",
        "",
        f"{result['date']}, {about['cores']} cores ({about['cpu']}), Python {about['python']},"
        f" load {about['load_at_start']:.1f} at the start. {HOW_TO_READ}",
        "",
    ]
    for case in result["cases"]:
        lines += [f"## {case['name']}", "", f"{case['what'][0].upper()}{case['what'][1:]}.", ""]
        lines += [
            "| side | seconds | beside ours | process | CPU | MB | value |",
            "|---|---|---|---|---|---|---|",
        ]
        for name, side in case["sides"].items():
            if "pending" in side or "failed" in side:
                lines.append(
                    f"| {name} | {'pending' if 'pending' in side else 'failed'} | | | | | |"
                )
                continue
            value = side.get("value")
            if isinstance(value, dict):
                value = value.get("binned", next(iter(value.values())))
            beside = f"{side['beside_ours']:.3g}" if "beside_ours" in side else ""
            cells = [figure(side.get("seconds"), 4), beside, figure(side["process_seconds"], 2),
                figure(side.get("cpu_seconds"), 2), figure(side["peak_mb"], 0),
                "" if value is None else f"{value:.5f}"]  # fmt: skip
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
        speeds = {
            name: side["rows_per_second"]
            for name, side in case["sides"].items()
            if "rows_per_second" in side
        }
        if speeds:
            lines += [
                "Rows per second: "
                + ", ".join(f"{n} {v / 1e6:.1f} million" for n, v in speeds.items()),
                "",
            ]
        if any(limit["value"] is not None for limit in case["limits"]):
            verdicts = {None: "", True: "yes", False: "NO"}
            rows = [
                [
                    one["limit"],
                    "" if one["value"] is None else f"{one['value']:.3g}",
                    verdicts[one["holds"]],
                ]
                for one in case["limits"]
            ]
            lines += kit.table(["limit", "measured", "holds"], rows, "l")
    return kit.joined(lines)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--only", action="append", default=[], metavar="CASE",
        help="this case only, the others as they were measured before; repeatable")  # fmt: skip
    parser.add_argument(
        "--sides", action="append", default=[], metavar="SIDE", help="this side only; repeatable"
    )
    parser.add_argument(
        "--rounds", type=int, default=0, help="processes a side, instead of the case's own number"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, help="seconds after which a process is ended"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 if a measured limit does not hold"
    )
    args = parser.parse_args()
    title, cases = SUITES[args.suite]
    unknown = set(args.only) - {case.name for case in cases}
    if unknown:
        parser.error(f"no case {sorted(unknown)}; there are {[case.name for case in cases]}")
    result: Result = {
        "suite": args.suite,
        "date": time.strftime("%Y-%m-%d"),
        "machine": kit.machine(),
    }
    before = args.out / f"{args.suite}.json"
    kept = json.loads(before.read_text())["cases"] if args.only and before.exists() else []
    measured = {one["name"]: one for one in kept}
    for case in cases:
        if args.only and case.name not in args.only:
            continue
        say(f"{case.name}: {case.what}")
        measured[case.name] = run_case(
            case, set(args.sides), args.rounds or case.rounds, args.timeout
        )
        result["cases"] = [measured[one.name] for one in cases if one.name in measured]
        kit.save(args.out / args.suite, result, partial(page, title))
    print(page(title, result))
    broken = [
        limit["limit"]
        for case in result["cases"]
        for limit in case["limits"]
        if limit["holds"] is False
    ]
    return int(args.check and bool(broken))


if __name__ == "__main__":
    sys.exit(main())
