"""One case, what many amount to, the result JSON, its tables, and the short ones of the guide."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import oodometer
from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from oodometer import Predictions

LEVEL = 0.9
HEADLINE = "headline"
DIGITS = 7

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Case:
    """Estimates (value, lower, upper) by method on one target, and its true accuracy."""

    set: str
    shift: str
    name: str
    rows: int
    truth: float
    trust: str
    estimates: dict[str, Triple]

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping with numbers of seven digits."""
        found = {m: [round(x, DIGITS) for x in three] for m, three in self.estimates.items()}
        return {"set": self.set, "shift": self.shift, "case": self.name, "rows": self.rows,
                "truth": round(self.truth, DIGITS), "trust": self.trust, "estimates": found}  # fmt: skip


def run_methods(
    reference: Predictions, target: Predictions, methods: Sequence[str], level: float = LEVEL
) -> dict[str, Triple]:
    """Every method on one pair through `oodometer.estimate`, without diagnosis and backtest: no headline."""
    found = oodometer.estimate(reference, target, methods=methods, level=level, diagnosis=False)
    if found.skipped:
        raise RuntimeError(f"a method did not apply: {found.skipped}")
    return {e.method: (e.value, e.lower, e.upper) for e in found.estimates}


def run_case(
    reference: Predictions, target: Predictions, methods: Sequence[str], level: float = LEVEL
) -> tuple[dict[str, Triple], str]:
    """Every method and the headline on one pair through `oodometer.estimate`, and the headline's trust."""
    found = oodometer.estimate(reference, target, methods=methods, level=level)
    if found.skipped:
        raise RuntimeError(f"a method did not apply: {found.skipped}")
    out = {e.method: (e.value, e.lower, e.upper) for e in found.estimates}
    head = found.headline.interval
    return {**out, HEADLINE: (head.value, head.lower, head.upper)}, found.headline.trust


@dataclass(frozen=True)
class Line:
    """What one method did over several cases; all but `cases` and `coverage` in points of accuracy."""

    method: str
    cases: int
    mae: float
    bias: float
    worst: float
    coverage: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        """A plain mapping."""
        figures = {
            k: round(getattr(self, k), 4) for k in ("mae", "bias", "worst", "coverage", "width")
        }
        return {"method": self.method, "cases": self.cases, **figures}


def lines_of(cases: Sequence[Case]) -> list[Line]:
    """One line for each method, in the order of the first case."""
    return [
        line_of(method, [(c.estimates[method], c.truth) for c in cases])
        for method in cases[0].estimates
    ]


def line_of(method: str, results: Sequence[tuple[Triple, float]]) -> Line:
    """Mean absolute error, bias, worst error, coverage and width of estimates beside their truths.

    >>> line_of("ac", [((0.9, 0.8, 1.0), 0.85), ((0.7, 0.6, 0.8), 0.9)]).coverage
    0.5
    """
    gaps = [100 * (value - truth) for (value, _, _), truth in results]
    inside = [low - 1e-12 <= truth <= high + 1e-12 for (_, low, high), truth in results]
    widths = [100 * (high - low) for (_, low, high), _ in results]
    n = len(results)
    return Line(
        method,
        n,
        sum(map(abs, gaps)) / n,
        sum(gaps) / n,
        max(map(abs, gaps)),
        sum(inside) / n,
        sum(widths) / n,
    )


def grouped(cases: Iterable[Case], key: Callable[[Case], Any]) -> dict[Any, list[Case]]:
    """Cases by a key, in order of appearance."""
    out: dict[Any, list[Case]] = {}
    for case in cases:
        out.setdefault(key(case), []).append(case)
    return out


def median_rows(cases: Sequence[Case]) -> int:
    """Median number of target rows."""
    return int(median(c.rows for c in cases))


# Mean absolute errors measured before this code existed, straight from the same files, in points.
BEFORE = {("cifar10.1", "v6", "source"): 7.8, ("cifar10.1", "v6", "gde"): 2.8, ("imagenet-v2", "b-33", "source"): 11.9,
    ("imagenet-v2", "b-33", "gde"): 3.9}  # fmt: skip
TITLES = {"cifar10.1": "CIFAR-10 to CIFAR-10.1: 30 published models, their classes only",
    "imagenet-v2": "ImageNet to ImageNet-V2: 65 published models, their classes only",
    "cleanlab": "Class probabilities of four models under three kinds of re-drawn shift"}  # fmt: skip
SETUP = {
    "cifar10.1": "Reference: the CIFAR-10 test set (10,000 rows). Each model in turn is the judged one, the other 29"
    " are its members.",
    "imagenet-v2": "Reference: the ImageNet validation set (50,000 rows). Each model in turn is the judged one, the"
    " other 64 are its members.",
    "cleanlab": "Reference: a random half of the rows; target: drawn from the other half without replacement. `none`:"
    " all of that half; `label`: class shares from a Dirichlet distribution; `subgroup`: the same with the shares of"
    " ten k-means clusters of log-probabilities. A small alpha is a strong shift.",
}
HOW_TO_READ = (
    f"Nominal level {LEVEL:.0%}. MAE, bias (estimate minus truth), worst error and width are in points of accuracy;"
    " coverage is the share of cases whose interval holds the accuracy of the target rows. Cases of one target share"
    " its rows, so that they are not independent."
)


def file_name(name: str) -> str:
    """Stem of a set's result files."""
    return "real_" + name.replace(".", "_").replace("-", "_")


def write_results(name: str, cases: Sequence[Case], folder: Path) -> None:
    """Write the JSON and the tables of one set."""
    few_of = grouped(cases, lambda c: (c.set, c.shift))
    summary = [
        {"set": s, "shift": shift, "rows": median_rows(few), "truth": round(mean(c.truth for c in few), 6),
         "moved": round(_moved(few), 6), "no_trust": round(_no_trust(few), 6),
         "methods": [line.to_dict() for line in lines_of(few)]}
        for (s, shift), few in few_of.items()
    ]  # fmt: skip
    result = {"command": f"python -m benchmarks.real --only {name}", "version": oodometer.__version__, "level": LEVEL,
        "methods": list(cases[0].estimates), "summary": summary, "cases": [c.to_dict() for c in cases]}  # fmt: skip
    kit.save(folder / file_name(name), result, lambda plain: page(name, plain))


def page(name: str, result: kit.Result) -> str:
    cases = _as_written(result["cases"])
    return kit.joined([
        f"# {TITLES[name]}", "", f"Made by `{result['command']}`; every case is in `{file_name(name)}.json`.", "",
        f"{SETUP[name]} {HOW_TO_READ}", "",
        *(_probability_tables(cases) if name == "cleanlab" else _model_tables(name, cases)),
    ])  # fmt: skip


def read_cases(path: Path) -> list[Case]:
    """The cases of a result JSON."""
    return _as_written(json.loads(path.read_text(encoding="utf-8"))["cases"])


def _as_written(cases: Sequence[dict[str, Any]]) -> list[Case]:
    return [
        Case(c["set"], c["shift"], c["case"], c["rows"], c["truth"], c["trust"],
             {m: (v[0], v[1], v[2]) for m, v in c["estimates"].items()})
        for c in cases
    ]  # fmt: skip


def _no_trust(cases: Sequence[Case]) -> float:
    return mean(c.trust == "none" for c in cases)


def _moved(cases: Sequence[Case]) -> float:
    """Mean absolute difference between the target's accuracy and the reference's."""
    return mean(abs(c.truth - c.estimates["source"][0]) for c in cases)


def figures(line: Line) -> list[str]:
    """Cells of one method: MAE, bias, worst, coverage, width."""
    return [
        f"{line.mae:.2f}",
        f"{line.bias:+.2f}",
        f"{line.worst:.1f}",
        f"{line.coverage:.0%}",
        f"{line.width:.1f}",
    ]


def _model_tables(name: str, cases: Sequence[Case]) -> Iterator[str]:
    for shift, few in grouped(cases, lambda c: c.shift).items():
        truth = mean(c.truth for c in few)
        source = mean(c.estimates["source"][0] for c in few)
        yield f"## {shift}"
        yield ""
        yield (
            f"{few[0].rows:,} rows, {len(few)} models; mean accuracy {truth:.1%}, on the reference {source:.1%};"
            f" the headline had trust `none` in {_no_trust(few):.0%} of the cases."
        )
        yield ""
        rows = []
        for line in lines_of(few):
            before = BEFORE.get((name, shift, line.method))
            rows.append([line.method, *figures(line), "" if before is None else f"{before:.1f}"])
        yield from kit.table(
            ["method", "MAE", "bias", "worst", "coverage", "width", "MAE before"], rows
        )


def _probability_tables(cases: Sequence[Case]) -> Iterator[str]:
    methods, few_of = list(cases[0].estimates), grouped(cases, lambda c: (c.set, c.shift))
    for i, title in enumerate(
        ("Mean absolute error in points", "Bias in points", "", "Coverage", "Mean width in points")
    ):
        if title:
            rows = []
            for (name, shift), few in few_of.items():
                moved = [f"{median_rows(few):,}", f"{100 * _moved(few):.2f}"]
                rows.append(
                    [f"{name}, {shift}", *moved, *(figures(line)[i] for line in lines_of(few))]
                )
            yield from (
                f"## {title}",
                "",
                *kit.table(["set, shift", "rows", "moved", *methods], rows),
            )
    yield "`rows` is the median size of the target; `moved` is the mean absolute difference between target and"
    yield from ("reference accuracy, in points.", "", "## By shift, the four sets together", "")
    for shift, few in grouped(cases, lambda c: c.shift).items():
        none = f"{len(few)} cases; the headline had trust `none` in {_no_trust(few):.0%} of them."
        header = ["method", "MAE", "bias", "worst", "coverage", "width"]
        table = kit.table(header, [[line.method, *figures(line)] for line in lines_of(few)])
        yield from (f"### {shift}", "", none, "", *table)


PAGE = ROOT / "docs" / "real_outputs.md"


def _cell(line: Line) -> str:
    return f"{line.mae:.2f} ({line.coverage:.0%})"


def _across(cases: Sequence[Case], key: Callable[[Case], str]) -> list[str]:
    columns = {
        name: {line.method: line for line in lines_of(few)}
        for name, few in grouped(cases, key).items()
    }
    methods = list(cases[0].estimates)
    return kit.table(
        ["method", *columns], [[m, *(_cell(c[m]) for c in columns.values())] for m in methods]
    )


def agreement_table(folder: Path = RESULTS) -> list[str]:
    """Methods that need other models' classes, on five targets."""
    cases = [
        c
        for name in ("cifar10.1", "imagenet-v2")
        for c in read_cases(folder / f"{file_name(name)}.json")
    ]
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
    """The page with its tables, found by their first lines, made again."""
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
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
