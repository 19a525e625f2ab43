"""Evaluation: the result of the verb `evaluate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..notes import file_name
from ..plain import Json, Plain, Strings, inside
from ..version import __version__
from .values import (
    Curve,
    Interval,
    Record,
    Skipped,
    counted,
    percent,
    plain,
    points,
    rounded_up,
    signed_points,
)
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
    "answered",
    "accuracy_answered",
    "mean_score",
    "macro_mean",
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
CURVES = {"pass_at_k": "pass@", "pass_hat_k": "pass^", "maj_at_k": "maj@"}
"""How the field writes curves of k answers, before k."""
_AMOUNTS = {"mean": "mean", "median": "median", "p95": "95 % quantile"}
_MEANS = {"pass@": "one is right", "pass^": "all are right", "maj@": "the most frequent is right"}
_WORTH_SAYING = 0.02  # of AUROC, by which another confidence orders errors better
_IN_SLICES = ("accuracy", "mean_score", "f1", "precision", "recall", "roc_auc")


@dataclass(frozen=True)
class Slice(Record):
    """The rows with one value of a column, and their metrics."""

    by: str
    value: Any
    rows: int
    metrics: Mapping[str, Interval]


@dataclass(frozen=True)
class SliceDifference(Record):
    """How far two slices of a column are apart: the ``metric`` of the rows with ``value`` minus that of those with
    ``other``, an asymptotic interval of independent rows.
    """

    by: str
    value: Any
    other: Any
    metric: str
    difference: Interval


@dataclass(frozen=True)
class Weights(Record):
    """What weights of rows are worth: as much as ``effective_rows`` of one weight, (sum w)^2 / sum w^2 (Kish 1965), of
    which there are ``design_effect`` times as many.
    """

    column: str
    effective_rows: float
    design_effect: float


@dataclass(frozen=True)
class Cost(Record):
    """What an answer takes by a column of costs, times or tokens, in the units of the column.

    rows : with a known amount. mean, median, p95 : with intervals, of rows like these; None where the rows are too few
    to bound a quantile.
    """

    column: str
    rows: int
    mean: Interval
    median: Interval | None
    p95: Interval | None


@dataclass(frozen=True, repr=False)
class Evaluation(Shown, Named[Interval]):
    """What `evaluate` found in one set of labelled predictions; ``evaluation["ece"]`` is the number of one metric.

    At a prompt and in a notebook it shows its summary.

    name : of the set, such as its file.
    rows : labelled rows that were used.
    unlabelled : rows of unknown truth that were left out.
    metrics : name -> number with its interval.
    curves : name -> `Curve`.
    tables : name -> plain data (``per_class``, ``confusion``).
    skipped : metrics that could not answer, and why.
    warnings : sentences to read before believing the numbers.
    level : nominal coverage of the intervals.
    seed : of what is drawn at random.
    slices : one for each value of the ``by`` column.
    argv : the command line; None of a call from Python.
    costs : what an answer takes, one for each column of costs, times or tokens.
    slice_difference : of two slices, how far they are apart; None where there are not two.
    weights : the column of sampling weights, and what they are worth; None where every row counts alike.
    """

    name: str
    rows: int
    unlabelled: int
    metrics: Mapping[str, Interval]
    curves: Mapping[str, Curve]
    tables: Plain
    skipped: tuple[Skipped, ...]
    warnings: Strings
    level: float
    seed: int
    slices: tuple[Slice, ...] = ()
    argv: str | None = None
    costs: tuple[Cost, ...] = ()
    slice_difference: SliceDifference | None = None
    weights: Weights | None = None
    _entries, _noun, _kind = ("metrics", ""), "metric", "metric"

    def frames(self) -> dict[str, Maker]:
        """Slices first where there are any, then metrics, classes and curves; ``name`` tells which file a row is of."""
        return _frames([self])

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out: Json = {
            "command": "evaluate",
            "version": __version__,
            "argv": self.argv,
            "name": self.name,
            "rows": self.rows,
            "unlabelled": self.unlabelled,
            "level": self.level,
            "seed": self.seed,
            "metrics": plain(self.metrics),
            "per_class": [],
            **plain(self.tables),
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
        if self.slice_difference is not None:
            out["slice_difference"] = self.slice_difference.to_dict()
        if self.weights is not None:
            out["weights"] = self.weights.to_dict()
        if self.costs:
            out["costs"] = [cost.to_dict() for cost in self.costs]
        return out


@dataclass(frozen=True, repr=False)
class Evaluations(Shown, Record, Named[Evaluation]):
    """Evaluations of several files, by their names in the order given; a number is a place in it."""

    files: tuple[Evaluation, ...]
    argv: str | None = field(default=None)
    _command, _first, _noun = "evaluate", "argv", "file"

    def entries(self) -> Mapping[str, Evaluation]:
        """The files by their names; a name that comes again has its number."""
        out: dict[str, Evaluation] = {}
        for number, item in enumerate(self.files, 1):
            out[f"{item.name} ({number})" if item.name in out else item.name] = item
        return out

    def frames(self) -> dict[str, Maker]:
        """The tables of one file, with the rows of all."""
        return _frames(self.files)

    def __getitem__(self, name: str | int) -> Evaluation:
        return self.files[name] if isinstance(name, int) else super().__getitem__(name)


@shows(Evaluation, Evaluations)
def evaluation_view(result: Plain) -> View:
    """What an evaluation says, from the mapping that JSON holds; of several files each one's accuracy comes first."""
    if result.get("files") is not None:
        return _files_view(result["files"])
    numbers = {
        name: metric
        for name, metric in (result.get("metrics") or {}).items()
        if interval_of(metric)
    }
    name = next((name for name in ("accuracy", "mean_score", *numbers) if name in numbers), "")
    share = name in ("accuracy", "")
    curves, costs = _curves_grid(numbers), _costs_grid(result.get("costs") or ())
    rows = counted(result.get("rows") or 0, "row")
    title = _title(name, numbers)
    return View(
        title or "Measured on labelled rows",
        cells_of(numbers[name], share=share)[0] if name else rows,
        interval_of(numbers.get(name)),
        share=share,
        sentences=tuple(_sentences(result, numbers)),
        details=tuple(_failure_cases(result)),
        grids=(
            *curves,
            *(costs if curves else ()),
            *_slices_grid(result.get("slices") or ()),
            *_metrics_grid(result, numbers),
            *_confidences_grid(result.get("confidences")),
            *(() if curves else costs),
            *_tasks_grid(numbers),
            *votes_grids(result),
            _skipped_grid(result),
        ),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        cells={"metric": name or None, "rows": result.get("rows")} if name else {},
        basis=_counted_on(name, rows),
    )


def _counted_on(name: str, rows: str) -> str:
    """What a share of right rows was counted on."""
    return f"of {rows}" if name == "accuracy" else ""


def _title(name: str, numbers: Plain) -> str:
    """What the number on top is called; "" without one."""
    if name in CURVES:
        return _shown(name, numbers[name])
    return _called(name).capitalize() if name in ("accuracy", "mean_score") else name


def _files_view(files: Sequence[Plain]) -> View:
    """The accuracy or mean score of each file, then what each one's own view says under its name."""
    views = {str(file.get("name")): evaluation_view(file) for file in files}
    metrics = [file.get("metrics") or {} for file in files]
    scored = any("mean_score" in numbers and "accuracy" not in numbers for numbers in metrics)
    main = "mean_score" if scored else "accuracy"
    rows = []
    for file, numbers in zip(files, metrics, strict=True):
        cells = cells_of(numbers.get(main), share=not scored)
        rows.append([str(file.get("name")), f"{file.get('rows') or 0:,}", *cells])
    called = _called(main)
    columns = ["file", "rows", called, "lower", "upper"]
    grids, details, warnings = [Grid(f"{called} of each file", columns, rows, slot="files")], [], []
    for name, view in views.items():
        grids += [replace(grid, title=f"{name}: {grid.title}") for grid in view.grids]
        details += [f"{name}: {text}" for text in (*view.sentences[1:], *view.details)]
        warnings += [f"{name}: {text}" for text in view.warnings]
    return View(
        "Measured on labelled rows",
        counted(len(rows), "file"),
        details=tuple(details),
        grids=tuple(grids),
        warnings=tuple(warnings),
        seed=next((view.seed for view in views.values()), None),
    )


def _failure_cases(result: Plain) -> list[str]:
    """The failure cases that the curve shows, or that it shows none."""
    lines, cases = [], result.get("failure_cases") or ()
    for case in cases:
        share = case.get("share")
        often = "" if share is None else f" (in {percent(share, 0)} of replicates)"
        lines += [f"Failure case: {case['sentence']}{often}"] if case.get("seen") else []
    none = "None of the failure cases of the accuracy-coverage curve was found"
    return [none] if cases and not lines else lines


def _slices_grid(slices: Sequence[Plain]) -> list[Grid]:
    """The main metrics of each slice."""
    available = list(dict.fromkeys(name for item in slices for name in item["metrics"]))
    names = [name for name in _IN_SLICES if name in available] or available[:5]
    rows = []
    for item in slices:
        cells = (cells_of(item["metrics"].get(name), share=False)[0] or "-" for name in names)
        rows.append([str(item["value"]), f"{item['rows']:,}", *cells])
    return (
        [Grid(f"by {slices[0]['by']}", ["slice", "rows", *names], rows, slot="slices")]
        if rows
        else []
    )


def _skipped_grid(result: Plain) -> Grid:
    """The metrics that were left out, and why."""
    skipped = [
        [item.get("metric") or item["method"], item["why"]] for item in result.get("skipped") or ()
    ]
    title, slot = "metrics that were left out", "left out"
    return Grid(title, ["metric", "why"], skipped, noun="skipped metric", detail=True, slot=slot)


def _called(name: str) -> str:
    return name.replace("_", " ")


def _tasks_grid(numbers: Plain) -> list[Grid]:
    """Each task, whose means the macro mean is of."""
    tasks = [
        [item["task"], f"{item['rows']:,}", *cells_of(item, share=False), str(item["kind"])]
        for item in inside(numbers, "macro_mean", "by_task") or []
    ]
    columns = ["task", "rows", "mean", "lower", "upper", "kind"]
    return [Grid("by task", columns, tasks, slot="tasks")] if len(tasks) > 1 else []


def _curves_grid(numbers: Plain) -> list[Grid]:
    """The curves of k answers to a question, side by side; none of a single k."""
    curves = {short: inside(numbers, name, "by_k") or [] for name, short in CURVES.items()}
    several = {short: {row["k"]: row for row in rows} for short, rows in curves.items() if rows}
    shown = sorted({k for rows in several.values() for k in rows})
    if len(shown) < 2:
        return []
    lines = [
        [str(k), *(cell for rows in several.values() for cell in _curve_cells(rows.get(k)))]
        for k in shown
    ]
    heads = [head for short in several for head in (f"{short}k", "lower", "upper")]
    title = "of k answers to a question"
    said = ", ".join(f"{short}k: {_MEANS[short]}" for short in several)
    return [Grid(title, ["k", *heads], lines, notes=(said,), slot="curves")]


def _costs_grid(costs: Sequence[Plain]) -> list[Grid]:
    """What an answer takes by each column: mean, median and 95 % quantile with their ends; of many the means first."""
    rows = []
    for cost in costs:
        for name, called in _AMOUNTS.items():
            if cost[name] is not None:
                numbers = (f"{cost[name][end]:.3g}" for end in ("value", "lower", "upper"))
                rows.append([cost["column"], called, *numbers])
    few = [i for i, row in enumerate(rows) if row[1] == "mean"] if len(costs) > 1 else None
    heads = ["column", "of", "value", "lower", "upper"]
    title = "what an answer takes"
    return [Grid(title, heads, rows, noun="amount", few=few, slot="costs")] if rows else []


def _curve_cells(item: Plain | None) -> list[str]:
    """A point of a curve with its ends; dashes where the curve has none at this k."""
    return ["-"] * 3 if item is None else cells_of(item, share=False)


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


def votes_grids(result: Plain) -> list[Grid]:
    """What judges say: bounds by how many must agree, how many accept, how well they tell right from wrong."""
    judged = panel(result)
    if judged is None:
        return []
    table = result.get("votes") or {}
    several = judged["judges"] != 1
    grids = (
        _bounds_grid(judged, bool(table.get("rules"))),
        _ladder_grid(judged["ladder"]),
        _rules_grid(table, several),
        _fewer_judges_grid(table.get("by_number") or []),
        _draws_grid((table.get("subsets") or []) if several else []),
    )
    return [replace(grid, noun="", detail=True) for grid in grids if grid.rows]


_BOUNDS = ["lower bound", "upper bound", "width"]


def _bounds_grid(judged: Plain, with_truth: bool) -> Grid:
    """Bounds of the accuracy by how many of several judges must agree, and whether they hold the truth."""
    judges, rows = judged["judges"], []
    for bound in judged["bounds"] if judges != 1 else []:
        low, high = bound["lower"], bound["upper"]
        if low is not None and high is not None:
            position = ("inside" if bound.get("inside") else "outside") if with_truth else ""
            cells = [percent(low), percent(high), points(high - low), position]
            rows.append([agreement(bound["agree"], judges), *cells])
    return Grid.used("bounds by the judges", ["judges", *_BOUNDS, "truth"], rows, {4})


def _ladder_grid(ladder: Sequence[Plain]) -> Grid:
    """The share of the outputs that each number of judges accepts."""
    rows = [
        [str(item["at_least"]), *cells_of(item["share"]), str(item["share"].get("kind") or "")]
        for item in ladder
        if interval_of(item["share"])
    ]
    columns = ["at least", "of the outputs", "lower", "upper", "kind"]
    note = "The interval of a share covers chance in the rows; it says nothing of whether the judges are right"
    return Grid("how many judges accept", columns, rows, notes=(note,))


def _rules_grid(table: Plain, several: bool) -> Grid:
    """How well each rule, and each of several judges, tells right from wrong outputs."""
    called = _RULES if several else {"single": "the judge"}
    named = [
        (called[row["rule"]], row) for row in table.get("rules") or [] if row["rule"] in called
    ]
    if several:
        named += [(f"judge {row['judge']}", row) for row in table.get("by_judge") or []]
    rows = [[name, *(with_ends(row.get(measure)) for measure in _MEASURES)] for name, row in named]
    title = "how well the judges tell right from wrong outputs"
    return Grid(title, ["rule", *_MEASURES.values()], rows)


def _fewer_judges_grid(numbers: Sequence[Plain]) -> Grid:
    """The bounds to expect of each number of judges, where there is more than one."""
    rows = []
    for item in numbers if len(numbers) > 1 else ():
        width = points(item["upper"]["value"] - item["lower"]["value"])
        rows.append(
            [str(item["judges"]), with_ends(item["lower"]), with_ends(item["upper"]), width]
        )
    return Grid("bounds to expect of fewer judges", ["judges", *_BOUNDS], rows)


def _draws_grid(draws: Sequence[Plain]) -> Grid:
    """How often the bounds held in smaller draws of the rows."""
    rows = []
    for draw in draws:
        cells = [with_ends(draw.get(name)) for name in ("gold", "lower", "upper", "mean")]
        reliability = with_ends((draw.get("bounds") or [{}])[0].get("reliability"))
        rows.append([f"{draw['rows']:,}", *cells, reliability])
    columns = ["rows", "truth", *_BOUNDS[:2], "mean of both", "bounds held in"]
    return Grid("bounds in smaller draws", columns, rows, slot="smaller draws")


def agreement(agree: Any, judges: Any) -> str:
    """A k of k-of-n voting in words."""
    if judges == 1:
        return "the one judge"
    return f"all {judges} agree" if agree == judges else f"{agree} of {judges} agree"


def panel(result: Plain) -> Json | None:
    """What an estimate or an evaluation says of judges, in one form; None where it says nothing.

    judges, agree : their number, and how many had to agree. bounds : agree, lower, upper (fractions), inside. ladder :
    at_least and share (an interval). alone : the share that each judge accepts, intervals. truth : an accuracy.
    reference : how the judges did where labels are known.
    """
    votes = result.get("votes") or {}
    if votes.get("bounds"):
        return _panel_of_evaluation(votes)
    details = next(_votes_of_estimates(result), None)
    if details is None:
        return None
    truth = inside(result, "target", "accuracy")
    return {
        "judges": details.get("judges"),
        "agree": details.get("agree"),
        "bounds": [dict(item) for item in details["bounds"]],
        "alone": [(str(at), item) for at, item in enumerate(details.get("by_judge") or [], 1)],
        "ladder": [
            {"at_least": item.get("at_least"), "share": item}
            for item in details.get("ladder") or []
        ],
        "truth": _value(truth),
        "reference": details.get("reference"),
    }


def _panel_of_evaluation(votes: Plain) -> Json:
    """What an evaluation says of judges; see `panel`."""
    return {
        "judges": votes.get("judges"),
        "agree": votes.get("judges"),
        "bounds": [
            {**item, "lower": _value(item["lower"]), "upper": _value(item["upper"])}
            for item in votes["bounds"]
        ],
        "alone": [
            (str(item.get("judge")), item.get("accepted") or {})
            for item in votes.get("by_judge") or []
        ],
        "ladder": [
            {"at_least": item.get("at_least"), "share": item.get("accepted")}
            for item in votes.get("ladder") or []
        ],
        "truth": _value(votes.get("accuracy")),
        "reference": votes.get("reference"),
    }


def _votes_of_estimates(result: Plain) -> Iterator[Plain]:
    """The details of the estimates by votes that have bounds."""
    for item in result.get("estimates") or []:
        details = item.get("details") or {}
        if str(item["method"]).partition(":")[0] == "votes" and details.get("bounds"):
            yield details


def _value(item: Any) -> float | None:
    """The number of an interval."""
    return item.get("value") if isinstance(item, Mapping) else None


def weighted_by(weights: Plain) -> str:
    """Which column weighs the rows, and what they are worth."""
    worth = f"{weights['effective_rows']:,.4g}"
    return f"Weighted by {weights['column']}: as much as {worth} rows of one weight"


def _sentences(result: Plain, numbers: Plain) -> list[str]:
    """On which rows, how far confidence is off, which class is the positive one, and what may be answered."""
    name = file_name(str(result.get("name") or "this table"))
    rows = f"Measured on {counted(result.get('rows') or 0, 'labelled row')} of {name}"
    unknown = result.get("unlabelled") or 0
    lines = [f"{rows}; {counted(unknown, 'row')} of unknown truth left out" if unknown else rows]
    lines += [weighted_by(weights)] if (weights := result.get("weights")) else []
    lines += _answered_sentence(numbers)
    lines += _mean_sentences(numbers.get("mean_score") or {})
    lines += _difference_sentence(result.get("slice_difference"))
    if "ece" in numbers:
        lines.append(f"The confidence is off by {points(numbers['ece']['value'])} on average")
    positive = [number.get("positive") for number in numbers.values()]
    lines += [f"Positive class: {name}" for name in positive if name is not None][:1]
    lines += _confidence_to_take(result.get("confidences"))
    if "operating_points" not in result:  # conformal risk control was asked for by name
        lines += _controlled_risks(result.get("conformal_risk") or ())
    return lines + [_operating_point(at) for at in result.get("operating_points") or ()]


def _answered_sentence(numbers: Plain) -> list[str]:
    """Which share was answered, and how many of the answers are right."""
    if not {"answered", "accuracy_answered"} <= numbers.keys():
        return []
    share, right = (with_ends(numbers[name]) for name in ("answered", "accuracy_answered"))
    return [
        f"{share} were answered, and {right} of these answers are right; the others count as wrong"
    ]


def _difference_sentence(apart: Plain | None) -> list[str]:
    """How far two slices are apart."""
    if apart is None:
        return []
    gap, share = apart["difference"], apart["metric"] == "accuracy"
    say = signed_points if share else "{:+.3g}".format
    value, lower, upper = (say(gap[end]) for end in ("value", "lower", "upper"))
    ends = f"{lower.removesuffix(' points')} to {upper.removesuffix(' points')}"
    where = f"{apart['by']} {apart['value']} - {apart['other']}"
    return [f"Difference in {_called(apart['metric'])}, {where}: {value} ({ends})"]


def _mean_sentences(mean: Plain) -> list[str]:
    """The scale of the scores, another interval of their mean, and how far rows depend on each other."""
    if not mean.get("t"):
        return []
    low, high = (f"{end:.4g}" for end in mean["scale"])
    student = " to ".join(f"{end:.4g}" for end in mean["t"])
    text = f"Scores lie between {low} and {high}; Student's t interval of their mean is {student}"
    effect = mean.get("design_effect") or 1
    if effect <= 1.005:
        return [text]
    dependent = "so many dependent rows are worth one independent"
    return [text, f"Design effect {effect:.3g}: {dependent}"]


def _confidence_to_take(compared: Plain | None) -> list[str]:
    """The confidence that orders errors clearly better than the one that is taken, or that none is."""
    if not compared:
        return []
    ranking, used, best = compared["ranking"], compared["used"], compared["best"]
    taken = next((row for row in ranking if used in (row["name"], *row["alike"])), None)
    if taken and not taken["tied"] and taken["difference"]["value"] < -_WORTH_SAYING:
        areas = f"AUROC {ranking[0]['auroc']['value']:.2f} against {taken['auroc']['value']:.2f}"
        return [f"{best} orders errors better than {used}, which is taken ({areas}): -v"]
    if used is None:
        of = f"of {len(ranking)} confidences {best} orders errors best"
        return [f"No confidence was chosen; {of}: {ranking[0]['take']}"]
    return []


def _operating_point(at: Plain) -> str:
    """What may be answered to be right as often as required, or why nothing is proven."""
    text = str(at.get("why") or "")
    if interval_of(at.get("coverage")):
        share, text = at["coverage"]["value"], "answer everything"
        if share != 1:
            text = f"answer from a threshold of {rounded_up(at['threshold'])} up, {percent(share)} of the rows"
        text += f" (proven: {percent(at['selective_accuracy']['lower'])})"
    return f"To be right {percent(at['accuracy'], None)} of the time: {text}"


def _controlled_risks(risks: Sequence[Plain]) -> list[str]:
    """From which threshold on wrong answers are as few as allowed, or why no row may be answered."""
    lines = []
    for at in risks:
        text = str(at["why"] or "")
        if at["threshold"] is not None:
            share, seen = percent(at["coverage"]["value"]), percent(at["observed"])
            text = (
                f"answer from a threshold of {rounded_up(at['threshold'])} up, {share} of the rows"
            )
            text += f" ({seen} wrong here)"
        lines.append(
            f"Wrong in at most {percent(at['risk'], None)} of all rows, on average: {text}"
        )
    return [*lines, *(f"That holds where {at['assumes']}" for at in risks[:1])]


def _confidences_grid(compared: Plain | None) -> list[Grid]:
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
            slot="confidences",
            detail=True,
        )
    ]


def _shown(name: str, item: Plain) -> str:
    """A metric with what it is read at, or the mean of."""
    if name in CURVES:
        return f"{CURVES[name]}{item['k']}"
    if "average" in item:
        return f"{name} ({str(item['average']).partition(',')[0]})"
    at = next((item[key] for key in ("risk", "coverage") if key in item and name.endswith(key)), "")
    return name if at == "" else f"{name} {at:g}"


def _metrics_grid(result: Plain, numbers: Plain) -> list[Grid]:
    """A row for each metric but curves; a mean over classes stands there once; at first the main ones."""
    twice = {
        f"macro_{name}" for name, number in numbers.items() if number.get("average") == "macro"
    }
    curves = {name for name in CURVES if len(inside(numbers, name, "by_k") or ()) > 1}
    names = [name for name in numbers if name not in twice | curves]
    if curves and len(names) < 2:  # which stands above
        return []
    rows = []
    for name in names:
        cells = cells_of(numbers[name], share=False)
        rows.append([_shown(name, numbers[name]), *cells, str(numbers[name].get("kind") or "")])
    few = [i for i, name in enumerate(names) if name in _MAIN] if len(names) > _MANY else []
    disca = f"disca is that of {result.get('rows')} rows: it does not compare with that of another number of rows"
    notes = (disca,) if "disca" in numbers and not few else ()
    columns = ["metric", "value", "lower", "upper", "kind"]
    return (
        [
            Grid(
                "metrics",
                columns,
                rows,
                noun="metric",
                few=few or None,
                notes=notes,
                slot="metrics",
            )
        ]
        if rows
        else []
    )


def _frames(several: Sequence[Evaluation]) -> dict[str, Maker]:
    interval, about = ("metric", *INTERVAL), ("curve", "x_name", "y_name", "x", *INTERVAL)
    makers: list[tuple[str, Strings, Callable[[Evaluation], list[Json]], bool]] = [
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

    def table(columns: Strings, rows: Callable[[Evaluation], list[Json]], named: str) -> Table:
        return Table(
            ("name", *columns),
            [{"name": item.name, **row} for item in several for row in rows(item)],
            named=named,
        )

    return {
        name: partial(table, columns, rows, "name" if name in ("slices", "metrics") else "")
        for name, columns, rows, is_present in makers
        if is_present
    }


def _metric_rows(item: Evaluation) -> list[Json]:
    return [
        {"rows": item.rows, "metric": name, **ends(metric)} for name, metric in item.metrics.items()
    ]


def _task_rows(item: Evaluation) -> list[Json]:
    macro = item.metrics.get("macro_mean")
    return [*macro.to_dict()["by_task"]] if macro is not None else []


def _slice_rows(item: Evaluation) -> list[Json]:
    return [
        {"by": part.by, "slice": part.value, "rows": part.rows, "metric": name, **ends(metric)}
        for part in item.slices
        for name, metric in part.metrics.items()
    ]


def _class_rows(item: Evaluation) -> list[Json]:
    return [
        {"class": row["class"], "metric": name, **ends(cell), "support": row.get("support")}
        for row in item.tables.get("per_class", [])
        for name, cell in row.items()
        if ends(cell)["value"] is not None
    ]


def _curve_rows(item: Evaluation) -> list[Json]:
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
