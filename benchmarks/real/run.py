"""Measures every first-wave method on real model outputs; one command, the same numbers every time.

python -m benchmarks.real                    # all sets: results/real_*.json and real_*.md
python -m benchmarks.real --only cleanlab    # one set
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent.parent)
)  # for `python benchmarks/real/run.py`

from benchmarks.kit import RESULTS, data_folder
from benchmarks.real.cases import Case, file_name, run_case, write_results
from benchmarks.real.data import (
    OUTPUTS,
    SHIFTS,
    Models,
    draws,
    load_cifar,
    load_imagenet,
    load_outputs,
)

AGREEMENT_METHODS = ("source", "gde", "gde-difference", "agreement")
CONFIDENCE_METHODS = ("source", "ac", "doc", "atc", "atc-entropy", "threshold:margin", "threshold-classwise", "im",
    "cbpe")  # fmt: skip
SETS = ("cifar10.1", "imagenet-v2", "cleanlab")
SEEDS = 20


def models_cases(
    name: str, reference: Models, targets: dict[str, Models], which: Sequence[int] | None = None
) -> Iterator[Case]:
    """Each model as the judged one, the others as its members, on every target; its records are built once."""
    for j in range(len(reference.names)) if which is None else which:
        base = reference.record(j, labelled=True)
        for shift, target in targets.items():
            found, trust = run_case(base, target.record(j, labelled=False), AGREEMENT_METHODS)
            rows, truth = len(target.label), float(target.accuracy[j])
            yield Case(name, shift, reference.names[j], rows, truth, trust, found)


def outputs_cases(folder: Path, name: str, seeds: range = range(SEEDS)) -> Iterator[Case]:
    """Every shift and seed on the probabilities of one model."""
    outputs = load_outputs(folder, name)
    for shift in SHIFTS:
        for seed, draw in draws(outputs, shift, seeds):
            found, trust = run_case(draw.reference, draw.target, CONFIDENCE_METHODS)
            yield Case(name, shift.name, f"seed {seed}", len(draw.target), draw.truth, trust, found)


def cases_of(name: str, folder: Path) -> Iterator[Case]:
    """All cases of one of SETS."""
    if name == "cifar10.1":
        yield from models_cases(name, *load_cifar(folder))
    elif name == "imagenet-v2":
        yield from models_cases(name, *load_imagenet(folder))
    else:
        for outputs in OUTPUTS:
            yield from outputs_cases(folder, outputs)


def with_progress(name: str, cases: Iterator[Case]) -> Iterator[Case]:
    """The same cases, counted on standard error."""
    start = time.perf_counter()
    done = 0
    for case in cases:
        done += 1
        if done % 25 == 0:
            print(f"{name}: {done} cases, {time.perf_counter() - start:.0f} s", file=sys.stderr)
        yield case
    print(f"{name}: {done} cases done in {time.perf_counter() - start:.0f} s", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=SETS, help="measure this set alone (repeatable)"
    )
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for real_*.json and real_*.md"
    )
    chosen = parser.parse_args(arguments)
    folder = data_folder()
    for name in chosen.only or SETS:
        cases = list(with_progress(name, cases_of(name, folder)))
        write_results(name, cases, chosen.out)
        print(chosen.out / f"{file_name(name)}.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
