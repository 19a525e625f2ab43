"""Evaluation: the result of the verb `evaluate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..version import __version__
from .values import Curve, Interval, Record, Skipped, counted, percent, plain, points, rounded_up
from .view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cell,
    cells_of,
    ends,
    interval_of,
    shows,
    with_ends,
)

# Metrics that are shown at first, where there are more than so many, and the columns of the table of slices.
_MAIN = (
    "accuracy",
    "mean_score",
    "macro_mean",
    "pass_at_k",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "mcc",
    "log_loss",
    "nll",
    "brier",
    "ece",
    "auc_coverage",
    "aurc",
    "recall_at_k",
    "top_k_accuracy",
)
_MANY = 12
_WORTH_SAYING = 0.02  # of AUROC, by which another confidence orders errors better
_IN_SLICES = ("accuracy", "mean_score", "f1", "precision", "recall", "roc_auc")


@dataclass(frozen=True)
class Slice(Record):
    """The rows with one value of a column, and their metrics."""

    by: str
    value: Any
    rows: int
    metrics: Mapping[str, Interval]


@dataclass(frozen=True, repr=False)
class Evaluation(Shown, Named[Interval]):
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
    _entries, _noun, _kind = ("metrics", ""), "metric", "metric"

    def frames(self) -> dict[str, Maker]:
        """Slices first where there are any, then metrics, classes and curves; ``name`` tells which file a row is of."""
        return _frames([self])

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {
            "command": "evaluate",
            "version": __version__,
            "argv": self.argv,
            "name": self.name,
        }
        out |= {
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "level": self.level,
            "seed": self.seed,
        }
        out |= {"metrics": plain(self.metrics), "per_class": [], **plain(self.tables)}
        out |= {
            "skipped": [{"metric": s.method, "why": s.why} for s in self.skipped],
            "warnings": list(self.warnings),
        }
        for name, curve in self.curves.items():
            out[name] = curve.to_dict()
        if "reliability" in self.curves:  # also under the names that `estimate` gives them
            out["reliability"] |= {
                "confidence": out["reliability"]["x"],
                "accuracy": out["reliability"]["y"],
            }
        if self.slices:
            out["slices"] = [s.to_dict() for s in self.slices]
        return out


@dataclass(frozen=True, repr=False)
class Evaluations(Shown, Record):
    """Evaluations of several files, in the order given."""

    files: tuple[Evaluation, ...]
    argv: str | None = field(default=None)
    _command, _first = "evaluate", "argv"

    def frames(self) -> dict[str, Maker]:
        """The tables of one file, with the rows of all."""
        return _frames(self.files)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, position: int) -> Evaluation:
        return self.files[position]


@shows(Evaluation, Evaluations)
def evaluation_view(result: Mapping[str, Any]) -> View:
    """What an evaluation says, from the mapping that JSON holds; of several files each one's accuracy comes first."""
    if result.get("files") is not None:
        # the accuracy or mean score of each file, then what each one's own view says under its name
        views = {str(file.get("name")): evaluation_view(file) for file in result["files"]}
        of_files = [file.get("metrics") or {} for file in result["files"]]
        main = (
            "mean_score"
            if any("mean_score" in m and "accuracy" not in m for m in of_files)
            else "accuracy"
        )
        cells_of_files = [
            cells_of(numbers.get(main), share=main == "accuracy") for numbers in of_files
        ]
        rows = [
            [str(file.get("name")), f"{file.get('rows') or 0:,}", *cells]
            for file, cells in zip(result["files"], cells_of_files, strict=True)
        ]
        each = [(f"{name}: ", view) for name, view in views.items()]
        grids = [
            Grid(
                f"{_called(main)} of each file",
                ["file", "rows", _called(main), "lower", "upper"],
                rows,
            )
        ]
        grids += [
            replace(grid, title=start + grid.title) for start, view in each for grid in view.grids
        ]
        details = tuple(
            start + text for start, view in each for text in (*view.sentences[1:], *view.details)
        )
        warnings = tuple(start + warning for start, view in each for warning in view.warnings)
        about: dict[str, Any] = {
            "seed": next((view.seed for view in views.values()), None),
            "warnings": warnings,
        }
        about |= {"details": details, "grids": tuple(grids)}
        return View("Measured on labelled rows", counted(len(rows), "file"), **about)
    numbers = {
        name: metric
        for name, metric in (result.get("metrics") or {}).items()
        if interval_of(metric)
    }
    name = next((name for name in ("accuracy", "mean_score", *numbers) if name in numbers), "")
    share = name in ("accuracy", "")
    skipped = [
        [item.get("metric") or item["method"], item["why"]] for item in result.get("skipped") or ()
    ]
    cases = []
    for item in result.get("failure_cases") or ():
        often = (
            "" if item.get("share") is None else f" (in {percent(item['share'], 0)} of replicates)"
        )
        cases += [f"Failure case: {item['sentence']}{often}"] if item.get("seen") else []
    if result.get("failure_cases") and not cases:
        cases = ["None of the failure cases of the accuracy-coverage curve was found"]
    # the main metrics of each slice
    slices = result.get("slices") or []
    there = list(dict.fromkeys(name for item in slices for name in item["metrics"]))
    names = [name for name in _IN_SLICES if name in there] or there[:5]
    rows = []
    for item in slices:
        cells = (cells_of(item["metrics"].get(x), share=False)[0] or "-" for x in names)
        rows.append([str(item["value"]), f"{item['rows']:,}", *cells])
    return View(
        _called(name).capitalize()
        if name in ("accuracy", "mean_score")
        else name or "Measured on labelled rows",
        cells_of(numbers[name], share=share)[0]
        if name
        else counted(result.get("rows") or 0, "row"),
        interval_of(numbers.get(name)),
        share=share,
        sentences=tuple(_sentences(result, numbers)),
        details=tuple(cases),
        grids=(
            *_metrics_grid(result, numbers),
            *([Grid(f"by {slices[0]['by']}", ["slice", "rows", *names], rows)] if rows else []),
            *_confidences_grid(result.get("confidences")),
            *_answers_grids(numbers),
            *votes_grids(result),
            Grid(
                "metrics that were left out",
                ["metric", "why"],
                skipped,
                noun="skipped metric",
                detail=True,
            ),
        ),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
    )


def _called(name: str) -> str:
    return name.replace("_", " ")


def _answers_grids(numbers: Mapping[str, Any]) -> list[Grid]:
    """Each task, whose means the macro mean is of, and pass@k by k."""
    tables = (
        ("by_task", "macro_mean", "task", "by task"),
        ("by_k", "pass_at_k", "k", "pass@k: one of k is right"),
    )
    grids = []
    for key, metric, column, title in tables:
        items = (numbers.get(metric) or {}).get(key) or []
        more = ["rows"] if key == "by_task" else []
        rows = [
            [
                str(item[column]),
                *(f"{item[name]:,}" for name in more),
                *cells_of(item, share=False),
                str(item["kind"]),
            ]
            for item in items
        ]
        grids += (
            [Grid(title, [column, *more, "mean", "lower", "upper", "kind"], rows)]
            if len(rows) > 1
            else []
        )
    return grids


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
    """What judges say: bounds by how many must agree, how many accept, how well they tell right from wrong."""
    judged = panel(result)
    if judged is None:
        return []
    table, judges = result.get("votes") or {}, judged["judges"]
    rules, several = table.get("rules") or [], judges != 1
    called = _RULES if several else {"single": "the judge"}
    bounds = []
    for bound in judged["bounds"] if several else []:
        low, high = bound["lower"], bound["upper"]
        if low is not None and high is not None:
            held = "" if not rules else "inside" if bound.get("inside") else "outside"
            bounds.append(
                [
                    agreement(bound["agree"], judges),
                    percent(low),
                    percent(high),
                    points(high - low),
                    held,
                ]
            )
    named = [(called[row["rule"]], row) for row in rules if row["rule"] in called]
    named += [(f"judge {row['judge']}", row) for row in (table.get("by_judge") or []) if several]
    measures = [[title, *(with_ends(row.get(name)) for name in _MEASURES)] for title, row in named]
    fewer = []
    for row in table.get("by_number") or []:
        width = points(row["upper"]["value"] - row["lower"]["value"])
        fewer.append([str(row["judges"]), with_ends(row["lower"]), with_ends(row["upper"]), width])
    draws = []
    for row in table.get("subsets") or [] if several else []:
        cells = [with_ends(row.get(name)) for name in ("gold", "lower", "upper", "mean")]
        draws.append(
            [
                f"{row['rows']:,}",
                *cells,
                with_ends((row.get("bounds") or [{}])[0].get("reliability")),
            ]
        )
    ladder = [
        [str(item["at_least"]), *cells_of(item["share"]), str(item["share"].get("kind") or "")]
        for item in judged["ladder"]
        if interval_of(item["share"])
    ]
    heads = ["lower bound", "upper bound", "width"]
    note = "The interval of a share covers chance in the rows; it says nothing of whether the judges are right"
    grids = (
        Grid.used("bounds by the judges", ["judges", *heads, "truth"], bounds, {4}),
        Grid(
            "how many judges accept",
            ["at least", "of the outputs", "lower", "upper", "kind"],
            ladder,
            notes=(note,),
        ),
        Grid(
            "how well the judges tell right from wrong outputs",
            ["rule", *_MEASURES.values()],
            measures,
        ),
        Grid(
            "bounds to expect of fewer judges", ["judges", *heads], fewer if len(fewer) > 1 else []
        ),
        Grid(
            "bounds in smaller draws",
            ["rows", "truth", *heads[:2], "mean of both", "bounds held in"],
            draws,
        ),
    )
    return [replace(grid, noun="", detail=True) for grid in grids if grid.rows]


def agreement(agree: Any, judges: Any) -> str:
    """A k of k-of-n voting in words."""
    if judges == 1:
        return "the one judge"
    return f"all {judges} agree" if agree == judges else f"{agree} of {judges} agree"


def panel(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an estimate or an evaluation says of judges, in one form; None where it says nothing.

    judges, agree : their number, and how many had to agree. bounds : agree, lower, upper (fractions), inside. ladder :
    at_least and share (an interval). alone : the share that each judge accepts, intervals. truth : an accuracy.
    reference : how the judges did where labels are known.
    """

    def number(item: Any) -> float | None:
        return item.get("value") if isinstance(item, Mapping) else None

    source: Mapping[str, Any] = result.get("votes") or {}
    if source.get("bounds"):
        bounds = [
            {**item, "lower": number(item["lower"]), "upper": number(item["upper"])}
            for item in source["bounds"]
        ]
        ladder = [
            (item.get("at_least"), item.get("accepted")) for item in source.get("ladder") or []
        ]
        alone = [
            (str(item.get("judge")), item.get("accepted") or {})
            for item in source.get("by_judge") or []
        ]
        agree, truth = source.get("judges"), number(source.get("accuracy"))
    else:
        of_votes = (
            item
            for item in result.get("estimates") or []
            if str(item["method"]).partition(":")[0] == "votes"
        )
        source = next(
            (item["details"] for item in of_votes if (item.get("details") or {}).get("bounds")), {}
        )
        if not source:
            return None
        bounds, agree = [dict(item) for item in source["bounds"]], source.get("agree")
        ladder = [(item.get("at_least"), item) for item in source.get("ladder") or []]
        alone = [(str(at), item) for at, item in enumerate(source.get("by_judge") or [], 1)]
        truth = number((result.get("target") or {}).get("accuracy"))
    out: dict[str, Any] = {
        "judges": source.get("judges"),
        "agree": agree,
        "bounds": bounds,
        "alone": alone,
    }
    out["ladder"] = [{"at_least": count, "share": share} for count, share in ladder]
    return out | {"truth": truth, "reference": source.get("reference")}


def _sentences(result: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[str]:
    """On which rows, how far confidence is off, which class is the positive one, and what may be answered."""
    rows = f"Measured on {counted(result.get('rows') or 0, 'labelled row')} of {result.get('name') or 'this table'}"
    unknown = result.get("unlabelled") or 0
    lines = [f"{rows}; {counted(unknown, 'row')} of unknown truth left out" if unknown else rows]
    mean = numbers.get("mean_score") or {}
    if mean.get("t"):
        low, high = (f"{end:.4g}" for end in mean["scale"])
        student = " to ".join(f"{end:.4g}" for end in mean["t"])
        lines.append(
            f"Scores lie between {low} and {high}; Student's t interval of their mean is {student}"
        )
        if (mean.get("design_effect") or 1) > 1.005:
            lines.append(
                f"Design effect {mean['design_effect']:.3g}: so many dependent rows are worth one independent"
            )
    if "ece" in numbers:
        lines.append(f"The confidence is off by {points(numbers['ece']['value'])} on average")
    about = {
        name: number["positive"]
        for name, number in numbers.items()
        if number.get("positive") is not None
    }
    lines += [f"Positive class: {next(iter(about.values()))}"] if about else []
    compared = result.get("confidences")
    worse = (
        [r for r in compared["ranking"] if compared["used"] in (r["name"], *r["alike"])]
        if compared
        else []
    )
    if (
        compared
        and worse
        and not worse[0]["tied"]
        and worse[0]["difference"]["value"] < -_WORTH_SAYING
    ):
        areas = f"AUROC {compared['ranking'][0]['auroc']['value']:.2f} against {worse[0]['auroc']['value']:.2f}"
        lines.append(
            f"{compared['best']} orders errors better than {compared['used']}, which is taken ({areas}): -v"
        )
    elif compared and compared["used"] is None:
        of = f"of {len(compared['ranking'])} confidences {compared['best']} orders errors best"
        lines.append(f"No confidence was chosen; {of}: {compared['ranking'][0]['take']}")
    for at in result.get("operating_points") or ():
        text = str(at.get("why") or "")
        if interval_of(at.get("coverage")):
            share, proven = (
                at["coverage"]["value"],
                f"(proven: {percent(at['selective_accuracy']['lower'])})",
            )
            from_ = f"answer from a threshold of {rounded_up(at['threshold'])} up, {percent(share)} of the rows"
            text = f"{'answer everything' if share == 1 else from_} {proven}"
        lines.append(f"To be right {percent(at['accuracy'], None)} of the time: {text}")
    return lines


def _confidences_grid(compared: Mapping[str, Any] | None) -> list[Grid]:
    """All that says how sure the model was, by how well it puts right answers before wrong ones."""
    if not compared:
        return []
    rows = []
    for row in compared["ranking"]:
        verdict = "best"
        if row["difference"] is not None:
            low, high = (cell(row["difference"][end], ".2f") for end in ("lower", "upper"))
            verdict = f"{'tied' if row['tied'] else 'worse'} ({low} to {high})"
        numbers = [*[*ends(row["auroc"]).values()][:3], ends(row["auc_coverage"])["value"]]
        cells = (cell(number, ".3f") for number in numbers)
        rows.append([" = ".join([row["name"], *row["alike"]]), *cells, verdict])
    columns = ["confidence", "AUROC", "lower", "upper", "auc_coverage", "against the best"]
    on = (
        ""
        if compared["rows"] == compared["of_rows"]
        else f" (on {compared['rows']:,} of {compared['of_rows']:,} rows)"
    )
    notes = (
        f"AUROC: how often a right answer has more confidence than a wrong one{on}; --map COLUMN=confidence or "
        "--score NAME takes another confidence",
    )
    return [
        Grid(
            "which confidence orders errors best",
            columns,
            rows,
            noun="confidence",
            notes=notes,
            detail=True,
        )
    ]


def _metrics_grid(result: Mapping[str, Any], numbers: Mapping[str, Any]) -> list[Grid]:
    """A row for each metric; a mean over classes stands there once; at first the main ones."""
    twice = {
        f"macro_{name}" for name, number in numbers.items() if number.get("average") == "macro"
    }
    names = [name for name in numbers if name not in twice]
    rows = []
    for name in names:
        item, about = numbers[name], ""
        read_at = next(
            (item[key] for key in ("risk", "coverage") if key in item and name.endswith(key)), None
        )
        if "average" in item:
            about = f" ({str(item['average']).partition(',')[0]})"
        elif read_at is not None:
            about = f" {read_at:g}"
        rows.append([f"{name}{about}", *cells_of(item, share=False), str(item.get("kind") or "")])
    few = [i for i, name in enumerate(names) if name in _MAIN] if len(names) > _MANY else []
    disca = f"disca is that of {result.get('rows')} rows: it does not compare with that of another number of rows"
    notes = (disca,) if "disca" in numbers and not few else ()
    columns = ["metric", "value", "lower", "upper", "kind"]
    return (
        [Grid("metrics", columns, rows, noun="metric", few=few or None, notes=notes)]
        if rows
        else []
    )


def _frames(several: Sequence[Evaluation]) -> dict[str, Maker]:
    interval, about = ("metric", *INTERVAL), ("curve", "x_name", "y_name", "x", *INTERVAL)
    made: list[tuple[str, tuple[str, ...], Callable[[Evaluation], list[dict[str, Any]]], bool]] = [
        (
            "slices",
            ("by", "slice", "rows", *interval),
            _slice_rows,
            any(item.slices for item in several),
        ),
        ("metrics", ("rows", *interval), _metric_rows, True),
        (
            "tasks",
            ("task", "rows", *INTERVAL),
            _task_rows,
            any("macro_mean" in e.metrics for e in several),
        ),
        (
            "per_class",
            ("class", *interval, "support"),
            _class_rows,
            any(e.tables.get("per_class") for e in several),
        ),
        ("curves", about, _curve_rows, any(item.curves for item in several)),
    ]

    def table(
        columns: tuple[str, ...], rows: Callable[[Evaluation], list[dict[str, Any]]]
    ) -> Table:
        return Table(
            ("name", *columns),
            [{"name": item.name, **row} for item in several for row in rows(item)],
        )

    return {name: partial(table, columns, rows) for name, columns, rows, there in made if there}


def _metric_rows(item: Evaluation) -> list[dict[str, Any]]:
    return [
        {"rows": item.rows, "metric": name, **ends(metric)} for name, metric in item.metrics.items()
    ]


def _task_rows(item: Evaluation) -> list[dict[str, Any]]:
    macro = item.metrics.get("macro_mean")
    return [*macro.to_dict()["by_task"]] if macro is not None else []


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
        for point in zip(curve.x, curve.y, curve.lower, curve.upper, strict=True):
            out.append(
                {
                    "curve": name,
                    **about,
                    **dict(zip(("x", "value", "lower", "upper"), point, strict=True)),
                }
            )
    return out
