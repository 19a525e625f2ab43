"""Writes a set's result JSON (one case a line) and its tables in Markdown, with the command that makes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import oodometer
from benchmarks import kit

from .cases import LEVEL, Case, Line, grouped, lines_of, median_rows

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
    """The tables of one set."""
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
    return [f"{line.mae:.2f}", f"{line.bias:+.2f}", f"{line.worst:.1f}", f"{line.coverage:.0%}", f"{line.width:.1f}"]


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
        yield from kit.table(["method", "MAE", "bias", "worst", "coverage", "width", "MAE before"], rows)


def _probability_tables(cases: Sequence[Case]) -> Iterator[str]:
    methods, few_of = list(cases[0].estimates), grouped(cases, lambda c: (c.set, c.shift))
    for i, title in enumerate(
        ("Mean absolute error in points", "Bias in points", "", "Coverage", "Mean width in points")
    ):
        if title:
            rows = []
            for (name, shift), few in few_of.items():
                moved = [f"{median_rows(few):,}", f"{100 * _moved(few):.2f}"]
                rows.append([f"{name}, {shift}", *moved, *(figures(line)[i] for line in lines_of(few))])
            yield from (f"## {title}", "", *kit.table(["set, shift", "rows", "moved", *methods], rows))
    yield "`rows` is the median size of the target; `moved` is the mean absolute difference between target and"
    yield from ("reference accuracy, in points.", "", "## By shift, the four sets together", "")
    for shift, few in grouped(cases, lambda c: c.shift).items():
        none = f"{len(few)} cases; the headline had trust `none` in {_no_trust(few):.0%} of them."
        header = ["method", "MAE", "bias", "worst", "coverage", "width"]
        table = kit.table(header, [[line.method, *figures(line)] for line in lines_of(few)])
        yield from (f"### {shift}", "", none, "", *table)
