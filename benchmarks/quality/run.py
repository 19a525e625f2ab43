"""Measures every default method and the headline on every bed; one command, the same numbers every time.

python -m benchmarks.quality                  # all beds: results/quality.json and .md, and the guide's tables
python -m benchmarks.quality --only tables    # one group again, the others as they stand in the JSON
python -m benchmarks.quality --tables         # nothing is measured: tables from the JSON
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.kit import RESULTS, data_folder
from benchmarks.quality.beds import BEDS, Job, Situation, make_jobs
from benchmarks.quality.tables import GUIDE, LEVEL, Case, Triple, limits, read_cases, renew_guide, write_results

__all__ = ["main", "measure"]

GROUPS = tuple(dict.fromkeys(job.group for job in make_jobs()))


def measure(situation: Situation, cache: Path) -> Case:
    """What `oodometer.estimate` says with its defaults, beside the truth."""
    import oodometer

    found = oodometer.estimate(situation.reference, situation.target, level=LEVEL, backtest=cache, workers=1)
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


def measure_all(jobs: Sequence[Job], workers: int) -> tuple[list[Case], list[str]]:
    """The cases of all jobs in the order of the jobs, and what failed; counted on standard error."""
    start = time.perf_counter()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # one process a core: more threads would stand in one another's way
    cases: list[Case] = []
    failed: list[str] = []
    with TemporaryDirectory() as folder:
        work = partial(do_job, cache=Path(folder))
        # spawned, so that the numerical libraries start with one thread
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = [pool.submit(work, job) for job in jobs]
            for done, _ in enumerate(as_completed(waiting), 1):
                if done % 5 == 0 or done == len(jobs):
                    print(f"{done} of {len(jobs)} references, {time.perf_counter() - start:.0f} s", file=sys.stderr)
            for job, future in zip(jobs, waiting, strict=True):
                if error := future.exception():
                    failed.append(f"{job.make.__name__}{job.arguments}: {type(error).__name__}: {error}")
                else:
                    cases += future.result()
    processor = sum(os.times()[:4])
    print(f"{time.perf_counter() - start:.0f} s, {processor:.0f} s of processor time", file=sys.stderr)
    return cases, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for, write the tables, and say which limits hold."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=GROUPS, help="measure this group alone (repeatable)")
    parser.add_argument("--tables", action="store_true", help="measure nothing, make the tables again")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for quality.json and quality.md")
    parser.add_argument("--check", action="store_true", help="exit 1 if a limit does not hold")
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    cases: list[Case] = []
    failed: list[str] = []
    before = chosen.out / "quality.json"
    if chosen.tables or (chosen.only and before.exists()):
        cases = read_cases(before)
    if not chosen.tables:
        data_folder()  # said before minutes are spent
        fresh, failed = measure_all(make_jobs(chosen.only), chosen.workers)
        again = {c.bed for c in fresh}
        cases = [c for c in cases if c.bed not in again] + fresh
    order = {b.name: i for i, b in enumerate(BEDS)}
    cases.sort(key=lambda c: order[c.bed])  # stable: within a bed as drawn
    for path in write_results(cases, chosen.out):
        print(path)
    if chosen.out == RESULTS and GUIDE.exists():
        print(renew_guide(cases))
    held = limits(read_cases(before))
    for limit in held:
        print(f"{'yes' if limit.holds else 'NO ':3s}  {limit.text}: {limit.found}")
    for failure in failed:
        print(f"failed and left out: {failure}", file=sys.stderr)
    return int(bool(failed)) or int(chosen.check and not all(limit.holds for limit in held))
