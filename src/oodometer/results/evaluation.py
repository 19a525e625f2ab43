"""Evaluation: the result of the verb `evaluate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..errors import UsageError
from ..registry import canonical
from ..version import __version__
from .values import Curve, Interval, Record, Skipped, counted, listed, percent, plain, points, rounded_up
from .view import INTERVAL, Grid, Maker, Shown, Table, View, cells_of, ends, interval_of, shows, with_ends

# Metrics that are shown at first, where there are more than so many, and the columns of the table of slices.
_MAIN = (
    "accuracy", "balanced_accuracy", "precision", "recall", "f1", "macro_f1", "roc_auc", "average_precision", "mcc",
    "log_loss", "nll", "brier", "ece", "auc_coverage", "aurc", "recall_at_k", "top_k_accuracy",
)  # fmt: skip
_MANY = 12
_IN_SLICES = ("accuracy", "f1", "precision", "recall", "roc_auc")


@dataclass(frozen=True)
class Slice(Record):
    """The rows with one value of a column, and their metrics."""

    by: str
    value: Any
    rows: int
    metrics: Mapping[str, Interval]


@dataclass(frozen=True, repr=False)
class Evaluation(Shown):
    """What `evaluate` found in one set of labelled predictions; ``evaluation["ece"]`` is the number of one metric.

    At a prompt and in a notebook it shows its summary.

    rows : labelled rows that were used; unlabelled : rows of unknown truth that were left out.
    metrics : name -> number with its interval. curves : name -> `Curve`. tables : name -> plain data (``per_class``,
    ``confusion``). skipped : metrics that could not answer, and why. slices : one for each value of the ``by`` column.
    """

    name: str
    rows: int
    unlabelled: int
    metrics: Mapping[str, Interval]
    curves: Mapping[str, Curve]
    tables: Mapping[str, Any]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    slices: tuple[Slice, ...] = ()
    argv: str | None = None

    def frames(self) -> dict[str, Maker]:
        """Slices first where there are any, then metrics, classes and curves; ``name`` tells which file a row is of."""
        return _frames([self])

    def __getitem__(self, metric: str) -> Interval:
        if metric in self.metrics:
            return self.metrics[metric]
        name = canonical("metric", metric, [*self.metrics, *(s.method for s in self.skipped)])
        if name in self.metrics:
            return self.metrics[name]
        why = next((s.why for s in self.skipped if s.method == name), "it was not asked for")
        raise UsageError(f"there is no {metric!r}: {why}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"command": "evaluate", "version": __version__, "argv": self.argv, "name": self.name}
        out |= {"rows": self.rows, "unlabelled": self.unlabelled, "level": self.level, "seed": self.seed}
        out |= {"metrics": plain(self.metrics), "per_class": [], **plain(self.tables)}
        out |= {"skipped": [{"metric": s.method, "why": s.why} for s in self.skipped], "warnings": list(self.warnings)}
        for name, curve in self.curves.items():
            out[name] = curve.to_dict()
        if "reliability" in self.curves:  # also under the names that `estimate` gives them
            out["reliability"] |= {"confidence": out["reliability"]["x"], "accuracy": out["reliability"]["y"]}
        if self.slices:
            out["slices"] = [s.to_dict() for s in self.slices]
        return out


@dataclass(frozen=True, repr=False)
class Evaluations(Shown):
    """Evaluations of several files, in the order given."""

    files: tuple[Evaluation, ...]
    argv: str | None = field(default=None)

    def frames(self) -> dict[str, Maker]:
        """The tables of one file, with the rows of all."""
        return _frames(self.files)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, position: int) -> Evaluation:
        return self.files[position]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON: ``files`` holds what a single file would give, each with its name."""
        out: dict[str, Any] = {"command": "evaluate", "version": __version__, "argv": self.argv}
        return out | {"files": [file.to_dict() for file in self.files]}


@shows(Evaluation, Evaluations)
def evaluation_view(result: Mapping[str, Any]) -> View:
    """What an evaluation says, from the mapping that JSON holds; of several files each one's accuracy comes first.

    >>> accuracy = {"value": 0.8, "lower": 0.7, "upper": 0.9, "level": 0.95, "kind": "exact"}
    >>> view = evaluation_view({"name": "a.csv", "rows": 50, "metrics": {"accuracy": accuracy}})
    >>> view.title, view.number, view.sentences
    ('Accuracy', '80.0 %', ('Measured on 50 labelled rows of a.csv',))
    """
    if result.get("files") is not None:
        # the accuracy of each file, then what each one's own view says under its name
        views = {str(file.get("name")): evaluation_view(file) for file in result["files"]}
        rows = [
            [
                str(file.get("name")),
                f"{file.get('rows') or 0:,}",
                *cells_of((file.get("metrics") or {}).get("accuracy")),
            ]
            for file in result["files"]
        ]
        each = [(f"{name}: ", view) for name, view in views.items()]
        return View(
            "Measured on labelled rows",
            counted(len(rows), "file"),
            details=tuple(start + text for start, view in each for text in (*view.sentences[1:], *view.details)),
            grids=(
                Grid("accuracy of each file", ["file", "rows", "accuracy", "lower", "upper"], rows),
                *(replace(grid, title=start + grid.title) for start, view in each for grid in view.grids),
            ),
            warnings=tuple(start + warning for start, view in each for warning in view.warnings),
            seed=next((view.seed for view in views.values()), None),
        )
    metrics = result.get("metrics") or {}
    numbers = {name: metric for name, metric in metrics.items() if interval_of(metric)}
    name = next(iter(numbers), "") if "accuracy" not in numbers else "accuracy"
    skipped = [[item.get("metric") or item["method"], item["why"]] for item in result.get("skipped") or ()]
    looked = result.get("failure_cases") or ()
    cases = [item for item in looked if item.get("seen")]
    none = ("None of the failure cases of the accuracy-coverage curve was seen",) if looked and not cases else ()
    share = name in ("accuracy", "")
    # the main metrics of each slice
    slices = result.get("slices") or []
    there = list(dict.fromkeys(name for item in slices for name in item["metrics"]))
    names = [name for name in _IN_SLICES if name in there] or there[:5]
    rows = [
        [
            str(item["value"]),
            f"{item['rows']:,}",
            *(cells_of(item["metrics"].get(x), share=False)[0] or "-" for x in names),
        ]
        for item in slices
    ]
    return View(
        "Accuracy" if name == "accuracy" else name or "Measured on labelled rows",
        cells_of(numbers[name], share=share)[0] if name else counted(result.get("rows") or 0, "row"),
        interval_of(numbers.get(name)),
        share=share,
        sentences=tuple(_sentences(result, numbers)),
        details=(*map(_case, cases), *none),
        grids=(
            *_metrics_grid(result, numbers),
            *([Grid(f"by {slices[0]['by']}", ["slice", "rows", *names], rows)] if rows else []),
            *votes_grids(result),
            Grid("metrics that were left out", ["metric", "why"], skipped, noun="skipped metric", detail=True),
        ),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
    )


_RULES = {
    "any-incorrect": "all judges accept (lower bound)",
    "any-correct": "some judge accepts (upper bound)",
    "majority": "more than half accept",
    "single": "the first judge alone",
}
_MEASURES = {
    "accepted": "accepted",
    "correct_recall": "right ones found",
    "correct_precision": "accepted and right",
    "incorrect_recall": "wrong ones found",
    "incorrect_precision": "rejected and wrong",
}


def votes_grids(result: Mapping[str, Any]) -> list[Grid]:
    """What judges say: bounds by how many must agree, how many accept, how well they tell right from wrong; all wait.

    >>> votes_grids({})
    []
    """
    judged = panel(result)
    if judged is None:
        return []
    table, judges = result.get("votes") or {}, judged["judges"]
    rules = table.get("rules") or []
    called = {"single": "the judge"} if judges == 1 else _RULES
    bounds = [
        [
            agreement(bound["agree"], judges),
            *(percent(bound[end]) for end in ("lower", "upper")),
            points(bound["upper"] - bound["lower"]),
            *(["inside" if bound.get("inside") else "outside"] if rules else []),
        ]
        for bound in judged["bounds"]
        if judges != 1 and bound["lower"] is not None and bound["upper"] is not None
    ]
    measures = [
        [title, *(with_ends(row.get(name)) for name in _MEASURES)]
        for title, row in (
            *((called[row["rule"]], row) for row in rules if row["rule"] in called),
            *((f"judge {row['judge']}", row) for row in (table.get("by_judge") or []) if judges != 1),
        )
    ]
    fewer = [
        [
            str(row["judges"]),
            *(with_ends(row[end]) for end in ("lower", "upper")),
            points(row["upper"]["value"] - row["lower"]["value"]),
        ]
        for row in table.get("by_number") or []
    ]
    draws = [
        [
            f"{row['rows']:,}",
            *(with_ends(row.get(name)) for name in ("gold", "lower", "upper", "mean")),
            with_ends((row.get("bounds") or [{}])[0].get("reliability")),
        ]
        for row in (table.get("subsets") or [] if judges != 1 else [])
    ]
    ladder = [
        [str(item["at_least"]), *cells_of(item["share"]), str(item["share"].get("kind") or "")]
        for item in judged["ladder"]
        if interval_of(item["share"])
    ]
    heads = ["lower bound", "upper bound", "width"]
    grids = {
        "bounds by the judges": (["judges", *heads, *(["truth"] if rules else [])], bounds),
        "how many judges accept": (["at least", "of the outputs", "lower", "upper", "kind"], ladder),
        "how well the judges tell right from wrong outputs": (["rule", *_MEASURES.values()], measures),
        "bounds to expect of fewer judges": (["judges", *heads], fewer if len(fewer) > 1 else []),
        "bounds in smaller draws": (["rows", "truth", *heads[:2], "mean of both", "bounds held in"], draws),
    }
    note = "The interval of a share covers chance in the rows; it says nothing of whether the judges are right"
    return [
        Grid(title, columns, rows, noun="", detail=True, notes=(note,) if rows is ladder else ())
        for title, (columns, rows) in grids.items()
        if rows
    ]


def _number(item: Any) -> float | None:
    return None if not isinstance(item, Mapping) else item.get("value")


def agreement(agree: Any, judges: Any) -> str:
    """A k of k-of-n voting in words.

    >>> agreement(5, 5), agreement(3, 5), agreement(1, 1)
    ('all 5 agree', '3 of 5 agree', 'the one judge')
    """
    if judges == 1:
        return "the one judge"
    return f"all {judges} agree" if agree == judges else f"{agree} of {judges} agree"


def panel(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an estimate or an evaluation says of judges, in one form; None where it says nothing.

    judges, agree : their number, and how many had to agree. bounds : agree, lower, upper (fractions), inside. ladder :
    at_least and share (an interval). alone : the share that each judge accepts, intervals. truth : an accuracy.
    reference : how the judges did where labels are known.
    """
    table, estimates = result.get("votes") or {}, result.get("estimates") or []
    judged = bool(table.get("bounds"))
    of_votes = (
        estimate.get("details") or {}
        for estimate in estimates
        if str(estimate.get("method")).partition(":")[0] == "votes"
    )
    source = table if judged else next((of_vote for of_vote in of_votes if of_vote.get("bounds")), {})
    if not source:
        return None
    alone = source.get("by_judge") or []
    return {
        "judges": source.get("judges"),
        "agree": source.get("judges" if judged else "agree"),
        "bounds": [
            {**bound, **{end: _number(bound.get(end)) for end in ("lower", "upper")}} if judged else dict(bound)
            for bound in source["bounds"]
        ],
        "ladder": [{"at_least": item.get("at_least"), "share": item.get("accepted") if judged else item}
                   for item in source.get("ladder") or []],
        "alone": [(str(item.get("judge")), item.get("accepted") or {}) for item in alone] if judged
        else [(str(at), item) for at, item in enumerate(alone, 1)],
        "truth": _number(table.get("accuracy") if judged else (result.get("target") or {}).get("accuracy")),
        "reference": source.get("reference"),
    }  # fmt: skip


def _sentences(result: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    """On which rows, how far confidence is off, which class is the positive one, and what may be answered."""
    rows = f"Measured on {counted(result.get('rows') or 0, 'labelled row')} of {result.get('name') or 'this table'}"
    unknown = result.get("unlabelled") or 0
    lines = [f"{rows}; {counted(unknown, 'row')} of unknown truth left out" if unknown else rows]
    if "ece" in numbers:
        lines.append(f"The confidence is off by {points(numbers['ece']['value'])} on average")
    about = {name: number["positive"] for name, number in numbers.items() if number.get("positive") is not None}
    lines += [f"Positive class: {next(iter(about.values()))} ({listed(list(about))})"] if about else []
    for at in result.get("operating_points") or ():
        text = str(at.get("why") or "")
        if interval_of(at.get("coverage")):
            share, proven = at["coverage"]["value"], f"(proven: {percent(at['selective_accuracy']['lower'])})"
            from_ = f"answer from a threshold of {rounded_up(at['threshold'])} up, {percent(share)} of the rows"
            text = f"{'answer everything' if share == 1 else from_} {proven}"
        lines.append(f"To be right {percent(at['accuracy'], None)} of the time: {text}")
    return lines


def _case(item: Mapping[str, Any]) -> str:
    often = "" if item.get("share") is None else f" (in {percent(item['share'], 0)} of replicates)"
    return f"Failure case: {item['sentence']}{often}"


def _metrics_grid(result: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[Grid]:
    """A row for each metric; a mean over classes stands there once; at first the main ones."""
    twice = {f"macro_{name}" for name, number in numbers.items() if number.get("average") == "macro"}
    names = [name for name in numbers if name not in twice]
    rows = []
    for name in names:
        item, title = numbers[name], name
        read_at = next((item[key] for key in ("risk", "coverage") if key in item and name.endswith(key)), None)
        if "average" in item:
            title = f"{name} ({str(item['average']).partition(',')[0]})"
        elif read_at is not None:
            title = f"{name} {read_at:g}"
        rows.append([title, *cells_of(item, share=False), str(item.get("kind") or "")])
    few = [i for i, name in enumerate(names) if name in _MAIN] if len(names) > _MANY else []
    disca = f"disca is that of {result.get('rows')} rows: it does not compare with that of another number of rows"
    notes = (disca,) if "disca" in numbers and not few else ()
    columns = ["metric", "value", "lower", "upper", "kind"]
    return [Grid("metrics", columns, rows, noun="metric", few=few or None, notes=notes)] if rows else []


def _frames(several: Sequence[Evaluation]) -> dict[str, Maker]:
    makers: dict[str, tuple[tuple[str, ...], Callable[[Evaluation], list[dict[str, Any]]]]] = {}
    if any(item.slices for item in several):
        makers["slices"] = ("by", "slice", "rows", "metric", *INTERVAL), _slice_rows
    makers["metrics"] = ("rows", "metric", *INTERVAL), _metric_rows
    if any(item.tables.get("per_class") for item in several):
        makers["per_class"] = ("class", "metric", *INTERVAL, "support"), _class_rows
    if any(item.curves for item in several):
        makers["curves"] = ("curve", "x_name", "y_name", "x", *INTERVAL), _curve_rows

    def made(columns: tuple[str, ...], rows: Callable[[Evaluation], list[dict[str, Any]]]) -> Table:
        return Table(("name", *columns), [{"name": item.name, **row} for item in several for row in rows(item)])

    return {name: partial(made, *how) for name, how in makers.items()}


def _metric_rows(item: Evaluation) -> list[dict[str, Any]]:
    return [{"rows": item.rows, "metric": name, **ends(metric)} for name, metric in item.metrics.items()]


def _slice_rows(item: Evaluation) -> list[dict[str, Any]]:
    return [
        {"by": part.by, "slice": part.value, "rows": part.rows, "metric": name, **ends(metric)}
        for part in item.slices
        for name, metric in part.metrics.items()
    ]


def _class_rows(item: Evaluation) -> list[dict[str, Any]]:
    return [
        {"class": row["class"], "metric": name, **ends(cell), "support": row.get("support")}
        for row in item.tables.get("per_class", [])
        for name, cell in row.items()
        if ends(cell)["value"] is not None
    ]


def _curve_rows(item: Evaluation) -> list[dict[str, Any]]:
    out = []
    for name, curve in item.curves.items():
        about = {column: getattr(curve, column) for column in ("x_name", "y_name", "level", "kind")}
        for x, value, lower, upper in zip(curve.x, curve.y, curve.lower, curve.upper, strict=True):
            out.append({"curve": name, **about, "x": x, "value": value, "lower": lower, "upper": upper})
    return out
