"""The short tables of docs/guides/real_input.md, taken from the result files.

python -m benchmarks.real.guide    # puts them into the guide again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from benchmarks.real.cases import Case, Line, grouped, lines_of
from benchmarks.real.tables import file_name, read_cases

GUIDE = ROOT / "docs" / "guides" / "real_input.md"


def _cell(line: Line) -> str:
    """Mean absolute error in points, and coverage."""
    return f"{line.mae:.2f} ({line.coverage:.0%})"


def _across(cases: Sequence[Case], key: Callable[[Case], str]) -> list[str]:
    """Methods down, groups of cases across."""
    columns = {name: {line.method: line for line in lines_of(few)} for name, few in grouped(cases, key).items()}
    methods = list(cases[0].estimates)
    return kit.table(["method", *columns], [[m, *(_cell(c[m]) for c in columns.values())] for m in methods])


def agreement_table(folder: Path = RESULTS) -> list[str]:
    """Methods that need other models' classes, on five targets."""
    cases = [c for name in ("cifar10.1", "imagenet-v2") for c in read_cases(folder / f"{file_name(name)}.json")]
    return _across(cases, lambda c: f"{c.set} {c.shift}")


def confidence_table(folder: Path = RESULTS) -> list[str]:
    """Methods that need probabilities, over the four sets, by shift."""
    return _across(read_cases(folder / f"{file_name('cleanlab')}.json"), lambda c: c.shift)


def coverage_table(folder: Path = RESULTS) -> list[str]:
    """Coverage of the drawn rows' accuracy without a shift, at some sizes."""
    cells = json.loads((folder / "coverage.json").read_text(encoding="utf-8"))["cells"]
    sizes = ((200, 200), (200, 5000), (1000, 1000), (5000, 5000))
    lines: list[str] = []
    for pools in (("cifar10", "20news"), ("cifar10-models",)):
        chosen = [c for c in cells if c["pool"] in pools and (c["n_S"], c["n_T"]) in sizes]
        header = ["method", *(f"{c['pool']} {c['n_S']}/{c['n_T']}" for c in chosen)]
        methods = list(chosen[0]["methods"])
        rows = [[m, *(f"{c['methods'][m]['rows']:.0%}" for c in chosen)] for m in methods]
        lines += kit.table(header, rows)
    return lines


def renewed(text: str) -> str:
    """The guide with its tables, found by their first lines, made again."""
    new: list[str] = []
    for line in [*agreement_table(), *confidence_table(), *coverage_table()]:
        new.append(line)
        if not line:  # the end of one table
            start = text.index(new[0])
            end = text.index("\n\n", start)
            text = text[:start] + "\n".join(new[:-1]) + text[end:]
            new = []
    return text


if __name__ == "__main__":
    GUIDE.write_text(renewed(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
