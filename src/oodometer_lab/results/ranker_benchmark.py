"""Ranker benchmark: how rankers ordered models on natural shifts from a few labels, beside the true order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from oodometer.plain import Plain, Strings
from oodometer.results.values import Record, counted, percent, points
from oodometer.results.view import Grid, Maker, Shown, Table, View, cell, interval_of, shows

from .benchmark import NO_SHIFT, SHIFTED, over_sources

_SAME = 1e-12  # accuracies and scores that differ by less are equal up to rounding


@dataclass(frozen=True)
class RankerTask(Record):
    """One target with ten labels: the accuracy of each model, and what every ranker said of it.

    task, source, kind : its name, its public data set, and the kind of shift. truths : model -> accuracy on the whole
    target. scores : ranker -> model -> score, the larger the better.
    """

    task: str
    source: str
    kind: str
    truths: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class RankerRow(Record):
    """One ranker on one kind of shift; sources count alike, tasks of a source alike.

    method, own : its name, and whether it is one of those that were asked about. kind : of shift; "shift" are all.
    pairs_right : share of the pairs of models in their true order, ties one half, pairs of equal accuracy left out,
    with Student's interval over the sources. regret : accuracy lost by taking the first model, the mean over those
    tied for it. tasks, sources : in which it answered.
    """

    method: str
    own: bool
    kind: str
    pairs_right: Mapping[str, Any]
    regret: Mapping[str, Any]
    tasks: int
    sources: int


def pairs_right(truths: Mapping[str, float], scores: Mapping[str, float]) -> float | None:
    """Share of the pairs of models that scores put in their true order, ties one half; None without a pair.

    >>> pairs_right({"a": 0.9, "b": 0.8, "c": 0.8}, {"a": 2.0, "b": 2.0, "c": 1.0})
    0.75
    """
    outcomes = []
    for a, b in combinations(truths, 2):
        truth, score = truths[a] - truths[b], scores[a] - scores[b]
        if abs(truth) > _SAME:
            outcomes.append(0.5 if abs(score) <= _SAME else float((truth > 0) == (score > 0)))
    return sum(outcomes) / len(outcomes) if outcomes else None


def regret(truths: Mapping[str, float], scores: Mapping[str, float]) -> float:
    """Accuracy of the best model less that of the first one, the mean over those tied for it.

    >>> round(regret({"a": 0.9, "b": 0.8}, {"a": 1.0, "b": 1.0}), 2)
    0.05
    """
    first = [name for name, score in scores.items() if score >= max(scores.values()) - _SAME]
    return max(truths.values()) - sum(truths[name] for name in first) / len(first)


@dataclass(frozen=True, repr=False)
class RankerBenchmark(Shown, Record):
    """What `oodometer benchmark` found of rankers.

    rankers : those that were asked about. level : of all intervals. labels : of each target. tasks : every target and
    drawing, with all scores. left_out : ranker -> reason -> in how many tasks it gave no answer for it. about : kind of
    shift -> what it is. argv : the command line; None of a call from Python. warnings : sentences to read before
    believing the table.
    """

    version: str
    rankers: Strings
    level: float
    labels: int
    tasks: tuple[RankerTask, ...]
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    warnings: Strings = ()
    argv: str | None = None
    _command = "benchmark"

    @property
    def rows(self) -> list[RankerRow]:
        """Rankers by kind of shift, all shifts first, those with most pairs right first."""
        kinds = (SHIFTED, *dict.fromkeys(task.kind for task in self.tasks))
        return [row for kind in kinds for row in self._rows_of(kind)]

    def _rows_of(self, kind: str) -> list[RankerRow]:
        tasks = [
            task
            for task in self.tasks
            if task.kind == kind or (kind == SHIFTED and task.kind != NO_SHIFT)
        ]
        methods = dict.fromkeys(method for task in tasks for method in task.scores)
        rows = [self._row(method, kind, tasks) for method in methods]
        return sorted(rows, key=lambda row: -row.pairs_right["value"])

    def _row(self, method: str, kind: str, tasks: Sequence[RankerTask]) -> RankerRow:
        answered = [task for task in tasks if method in task.scores]
        right = [(task.source, pairs_right(task.truths, task.scores[method])) for task in answered]
        lost = [(task.source, regret(task.truths, task.scores[method])) for task in answered]
        found = over_sources([(s, x) for s, x in right if x is not None], self.level)
        if found["upper"] is not None:
            found["upper"] = min(found["upper"], 1.0)
        return RankerRow(
            method=method,
            own=method in self.rankers,
            kind=kind,
            pairs_right=found,
            regret=over_sources(lost, self.level),
            tasks=len(answered),
            sources=len({task.source for task in answered}),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {**super().to_dict(), "rows": [row.to_dict() for row in self.rows]}

    def frames(self) -> dict[str, Maker]:
        """``rows``: a ranker on a kind of shift; ``scores``: what each said of each model."""

        def rows() -> Table:
            columns = ("method", "kind", "own", "value", "lower", "upper", "level")
            lines = [
                {**vars(row), **row.pairs_right, "kind": row.kind, "regret": row.regret["value"]}
                for row in self.rows
            ]
            return Table((*columns, "regret", "tasks", "sources"), lines, named="method")

        def scores() -> Table:
            columns = ("task", "source", "kind", "method", "model", "score", "truth")
            lines = [
                {**vars(task), "method": method, "model": name, "score": score, "truth": task.truths[name]}
                for task in self.tasks
                for method, said in task.scores.items()
                for name, score in said.items()
            ]  # fmt: skip
            return Table(columns, lines)

        return {"rows": rows, "scores": scores}


@shows(RankerBenchmark)
def ranker_benchmark_view(result: Plain) -> View:
    """What a benchmark of rankers says, from the mapping that JSON holds: the first own one, then all of them."""
    rows = [row for row in result["rows"] if row["kind"] == SHIFTED]
    rows = rows or result["rows"]  # of targets without a shift alone
    own = next(row for row in rows if row["method"] in result["rankers"])
    right, place = own["pairs_right"], 1 + rows.index(own)
    tasks = result["tasks"]
    targets = len({task["task"].rpartition("/")[0] for task in tasks})
    sources = len({task["source"] for task in tasks})
    return View(
        f"Pairs of models that {own['method']} puts in their true order",
        percent(right["value"]),
        interval_of(right),
        "over the data sets",
        sentences=(
            f"It is number {place} of {len(rows)} from {result['labels']} labels and a pool without; chance is 50 %",
            f"Taking its first model costs {points(own['regret']['value'])} of accuracy on average",
            *(
                f"{method} gave no answer in {counted(count, 'task')}: {why}"
                for method, reasons in result["left_out"].items()
                for why, count in reasons.items()
            ),
        ),
        grids=(_rankers_grid(result, rows), _kinds_grid(result)),
        notes=(
            f"{counted(len(tasks), 'task')} on {counted(targets, 'target')} of {counted(sources, 'public data set')}; "
            "data sets count alike, and intervals are over them",
        ),
        warnings=tuple(result.get("warnings") or ()),
        cells={"method": own["method"], "tasks": own["tasks"], "says": f"number {place} of {len(rows)}"},
    )  # fmt: skip


def _rankers_grid(result: Plain, rows: Sequence[Plain]) -> Grid:
    """All rankers on all shifts, most pairs right first; own ones are bold."""
    cells = []
    for row in rows:
        right, lost = row["pairs_right"], row["regret"]
        ends = [cell(right["lower"], "%"), cell(right["upper"], "%")]
        cells.append(
            [row["method"], percent(right["value"]), *ends, cell(100 * lost["value"], ".1f"), str(row["tasks"])]
        )  # fmt: skip
    columns = ["ranker", "pairs right", "lower", "upper", "first model costs", "tasks"]
    own = {i for i, row in enumerate(rows) if row["method"] in result["rankers"]}
    bold = frozenset((i, j) for i in own for j in range(len(columns)))
    title = "All rankers on all shifts; what the first model costs in points of accuracy"
    return Grid(title, columns, cells, noun="ranker", bold=bold)


def _kinds_grid(result: Plain) -> Grid:
    """Share of pairs right of every ranker on every kind of shift."""
    shares = {(row["method"], row["kind"]): row["pairs_right"]["value"] for row in result["rows"]}
    kinds = [*dict.fromkeys(row["kind"] for row in result["rows"])]
    methods = dict.fromkeys(row["method"] for row in result["rows"])
    cells = [[m, *(cell(shares.get((m, kind)), "%") for kind in kinds)] for m in methods]
    heads = ["all shifts" if kind == SHIFTED else kind for kind in kinds]
    heads = ["ranker", *(head.replace(NO_SHIFT, "no shift") for head in heads)]
    return Grid("Share of pairs right, by kind of shift", heads, cells, noun="", detail=True)
