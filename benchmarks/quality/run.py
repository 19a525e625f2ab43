"""Measures every default method and the headline on every bed; one command, the same numbers every time.

python -m benchmarks.quality                  # all beds: results/quality.json and .md, and the guide's tables
python -m benchmarks.quality --only tables    # one group again, the others as they stand in the JSON
python -m benchmarks.quality --tables         # nothing is measured: tables from the JSON
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import kit
from benchmarks.kit import RESULTS, data_folder
from benchmarks.quality.beds import BEDS, Job, Situation, make_jobs
from benchmarks.quality.tables import (
    GUIDE,
    LEVEL,
    Case,
    Triple,
    limits,
    read_cases,
    renewed,
    write_results,
)

GROUPS = tuple(dict.fromkeys(job.group for job in make_jobs()))


def measure(situation: Situation, cache: Path) -> Case:
    import oodometer

    found = oodometer.estimate(
        situation.reference, situation.target, level=LEVEL, backtest=cache, workers=1
    )
    head = found.headline
    three: Triple = (head.interval.value, head.interval.lower, head.interval.upper)
    return Case(
        situation.bed,
        situation.name,
        len(situation.reference),
        len(situation.target),
        situation.truth,
        three,
        head.trust,
        "none given" if found.diagnosis is None else found.diagnosis.kind,
        head.method,
        {e.method: (e.value, e.lower, e.upper) for e in found.estimates},
    )


def do_job(job: Job, cache: Path) -> list[Case]:
    """Every case of one job; its reference is tried once and the trials are found again in the cache."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [measure(situation, cache) for situation in job.situations()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", choices=GROUPS, help="measure this group alone (repeatable)"
    )
    parser.add_argument(
        "--tables", action="store_true", help="measure nothing, make the tables again"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for quality.json and quality.md"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 if a limit does not hold")
    chosen = parser.parse_args(arguments)
    cases: list[Case] = []
    failed: list[str] = []
    before = chosen.out / "quality.json"
    if chosen.tables or (chosen.only and before.exists()):
        cases = read_cases(before)
    if not chosen.tables:
        data_folder()  # said before minutes are spent
        jobs, fresh = make_jobs(chosen.only), dict[Job, list[Case]]()
        with TemporaryDirectory() as folder:
            for job, found, why in kit.spawned(
                partial(do_job, cache=Path(folder)), jobs, chosen.workers
            ):
                fresh[job] = found or []
                failed += [why] if why else []
        ours = [case for job in jobs for case in fresh[job]]
        again = {case.bed for case in ours}
        cases = [case for case in cases if case.bed not in again] + ours
    order = {b.name: i for i, b in enumerate(BEDS)}
    cases.sort(key=lambda c: order[c.bed])  # stable: within a bed as drawn
    write_results(cases, chosen.out)
    cases = read_cases(before)
    if chosen.out == RESULTS and GUIDE.exists():
        GUIDE.write_text(renewed(GUIDE.read_text(encoding="utf-8"), cases), encoding="utf-8")
    held = limits(cases)
    for limit in held:
        print(f"{'yes' if limit.holds else 'NO ':3s}  {limit.text}: {limit.found}")
    for failure in failed:
        print(f"failed and left out: {failure}", file=sys.stderr)
    return int(bool(failed)) or int(chosen.check and not all(limit.holds for limit in held))
