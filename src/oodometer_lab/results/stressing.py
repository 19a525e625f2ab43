"""Stressing: how good models are as a shift grows, and what the estimate without labels says at each severity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

from oodometer.results.estimation import Headline
from oodometer.results.values import Interval, Record, percent, plain, points
from oodometer.results.view import (
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
)

METRICS = ("accuracy", "brier", "ece")
"""What is judged at each severity; accuracy of a ranker is R@1."""


@dataclass(frozen=True)
class Spread(Record):
    """One number over several runs: models trained with other seeds, or repeated draws of the shift."""

    mean: float
    lowest: float
    highest: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of the values of all runs, at least one."""
        return cls(round(sum(values) / len(values), 12), min(values), max(values), len(values))


@dataclass(frozen=True)
class StressPoint(Record):
    """One model at one severity of one kind of shift; that of the data as they are has the severity None.

    rows : that could be shifted so far. dropped : reason -> how many could not. words, targets : mean number of words
    (or turns) and of those that the shift touched; None of the data as they are. predictions : the files, one for each
    run. truncated : inputs of the first run that the model cut. metrics : name -> number with its interval, of the
    first run, on all rows whose truth is known. common_rows, common : the same on the rows that every severity of the
    kind has. spread, common_spread : name -> spread over the runs, where there are several; ``estimate`` is among the
    names. estimate : accuracy without labels, of the first run. error : it minus the true accuracy, in fractions.
    """

    severity: str | None
    rows: int
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None
    predictions: tuple[str, ...]
    truncated: int
    metrics: Mapping[str, Interval]
    common_rows: int
    common: Mapping[str, Interval]
    spread: Mapping[str, Spread] = field(default_factory=dict)
    common_spread: Mapping[str, Spread] = field(default_factory=dict)
    estimate: Headline | None = None
    _untold = frozenset({"common", "common_rows", "common_spread"})

    @property
    def error(self) -> float | None:
        """Estimate minus truth; None where one of them is not known."""
        truth = self.metrics.get("accuracy")
        return None if self.estimate is None or truth is None else self.estimate.value - truth.value

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        common = {
            "rows": self.common_rows,
            "metrics": plain(self.common),
            "spread": plain(self.common_spread),
        }
        return {**super().to_dict(), "common": common, "error": self.error}


@dataclass(frozen=True)
class StressCurve(Record):
    """One model over the severities of one kind; ``points`` begin with the data as they are.

    about : what the kind does. counts : what its targets are. common_rows : rows that every severity has.
    """

    kind: str
    about: str
    counts: str
    common_rows: int
    points: tuple[StressPoint, ...]


@dataclass(frozen=True)
class StressedModel(Record):
    """One model, or several runs of one (``sources``), with a curve for each kind of shift.

    reference : accuracy on the labelled reference, which the estimates rest on, and its rows.
    """

    name: str
    sources: tuple[str, ...]
    reference: Mapping[str, Any]
    curves: tuple[StressCurve, ...]


@dataclass(frozen=True, repr=False)
class StressTest(Shown, Record, Named[StressedModel]):
    """What `stress` found; at a prompt and in a notebook it shows its summary.

    data, out : what was shifted, and the folder of the predictions. modality : "text", "dialogue" or "image". rows :
    what was shifted. refused : reason -> rows of the file that hold none. labelled : whether their truth is known.
    reference : where the labelled rows come from that the estimates rest on: ``source`` and ``rows``. level : of every
    interval. seed : of the halves, the candidates and the first draw. repeats : draws of each shift.
    """

    version: str
    data: str
    out: str
    modality: str
    rows: int
    refused: Mapping[str, int]
    labelled: bool
    reference: Mapping[str, Any]
    level: float
    seed: int
    repeats: int
    models: tuple[StressedModel, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    argv: str | None = None
    _command, _noun, _entries = "stress", "model", ("models", "name")

    def frames(self) -> dict[str, Maker]:
        """``points``; ``step`` is the severity, empty without a shift."""
        rows: list[dict[str, Any]] = []
        for model, curve, point in self.points():
            about = {
                "model": model.name,
                "shift": curve.kind,
                "step": point.severity,
                "rows": point.rows,
            }
            if point.estimate is not None:
                estimate = {
                    "metric": "estimated accuracy",
                    **ends(point.estimate),
                    "trust": point.estimate.trust,
                }
                rows.append({**about, **estimate, "error": point.error})
            rows += [
                {**about, "metric": name, **ends(metric)} for name, metric in point.metrics.items()
            ]
        columns = ("model", "shift", "step", "rows", "metric", *INTERVAL, "trust", "error")
        return {"points": lambda: Table(columns, rows, named="model")}

    def points(self) -> Iterator[tuple[StressedModel, StressCurve, StressPoint]]:
        """Every point with its curve and model, in their order."""
        for model in self.models:
            for curve in model.curves:
                for point in curve.points:
                    yield model, curve, point


class _Condition(NamedTuple):
    """A point of the curve of a model, with the first point, which has no shift."""

    model: str
    kind: str
    point: Mapping[str, Any]
    first: Mapping[str, Any]
    is_of_several: bool  # models

    @property
    def where(self) -> str:
        """The shift in words, with the model where there are several."""
        model = f", {self.model}" if self.is_of_several else ""
        return f"{self.kind} at severity {self.point['severity']}{model}"


@shows(StressTest)
def stress_view(result: Mapping[str, Any]) -> View:
    """What a stress test says, from the mapping that JSON holds: the worst condition, and where models are to fall."""
    conditions = _conditions(result.get("models") or ())
    shifted = [item for item in conditions if item.point["severity"] is not None]
    guessed = [item for item in shifted if interval_of(item.point.get("estimate"))]
    worst = min(guessed, key=lambda item: item.point["estimate"]["value"], default=None)
    head = {} if worst is None else worst.point["estimate"]
    measure = "R@1" if result.get("modality") == "dialogue" else "accuracy"
    unknown = "The rows have no labels: the truth is not known"
    return View(
        f"Lowest estimated {measure}",
        "none" if worst is None else percent(head["value"]),
        interval_of(head),
        "" if worst is None else worst.where,
        trust=head.get("trust"),
        sentences=(
            _expected_falls(guessed),
            *_true_falls(shifted, measure, result.get("level") or 0.95),
            "" if result.get("labelled", True) else unknown,
            _rows_shifted(result),
            *(
                f"{count:,} rows hold none: {why}"
                for why, count in (result.get("refused") or {}).items()
            ),
            *_assumptions(guessed),
            _runs(conditions),
        ),
        details=tuple(_left_out(conditions)),
        grids=(_points_grid(conditions, measure),),
        notes=tuple(result.get("notes") or ()),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        assumes=head.get("assumes"),
        cells={
            "metric": f"estimated {measure}",
            "says": "" if worst is None else f"the lowest: {worst.where}",
        },
    )


def _conditions(models: Sequence[Mapping[str, Any]]) -> list[_Condition]:
    """Every point of every curve of every model."""
    return [
        _Condition(model["name"], curve["kind"], point, curve["points"][0], len(models) > 1)
        for model in models
        for curve in model.get("curves") or ()
        for point in curve.get("points") or ()
    ]


def _expected_falls(guessed: Sequence[_Condition]) -> str:
    """From which severity on the whole interval of the estimate lies below the estimate without a shift."""
    falls: dict[tuple[str, str], str] = {}
    for item in guessed:
        before = interval_of(item.first.get("estimate"))
        if before is not None and item.point["estimate"]["upper"] < before.value:
            falls.setdefault((item.model, item.kind), f"from {item.where} on")
    if falls:
        where = "; ".join(falls.values())
        return f"Expected to fall {where}: the whole interval lies below that without a shift"
    none = "At no severity does the whole interval lie below the estimate without a shift"
    return none if guessed else ""


def _rows_shifted(result: Mapping[str, Any]) -> str:
    """What was shifted, and what the reference is."""
    if not result.get("rows"):
        return ""
    of = {"text": "texts", "image": "images"}
    what = of.get(str(result.get("modality")), "contexts of dialogues")
    text, reference = (
        f"{result['rows']:,} {what} of {result['data']} shifted; ",
        result.get("reference"),
    )
    if reference:
        text += f"{reference['rows']:,} labelled ones are the reference ({reference['source']})"
    return text


def _assumptions(guessed: Sequence[_Condition]) -> list[str]:
    """What the intervals of the estimates assume."""
    estimates = [item.point["estimate"] for item in guessed]
    kinds = dict.fromkeys((item["kind"], item.get("assumes")) for item in estimates)
    return [
        f"Intervals of estimates are {kind} and assume: {assumes}"
        for kind, assumes in kinds
        if assumes
    ]


def _runs(conditions: Sequence[_Condition]) -> str:
    """How many runs or draws of a point there are at most."""
    runs = max((len(item.point.get("predictions") or ()) for item in conditions), default=1)
    what = "runs or draws of each point: intervals are of the first, spreads of all"
    return f"Up to {runs} {what}" if runs > 1 else ""


def fall_of(
    point: Any, first: Any, level: float, looks: int
) -> tuple[float, float, int, bool] | None:
    """Accuracy before and after a shift, on how many rows (those that every severity has, if any), and whether it fell
    by more than chance: a one-sided z-test of two shares, corrected for so many looks; cautious, as rows are the same.
    """
    for now, then in ((point.get("common") or {}, first.get("common") or {}), (point, first)):
        before, after = (
            interval_of((part.get("metrics") or {}).get("accuracy")) for part in (then, now)
        )
        count, rows = now.get("rows") or 0, then.get("rows") or 0
        if before is not None and after is not None and count and rows:
            pooled = (before.value * rows + after.value * count) / (rows + count)
            spread = (pooled * (1 - pooled) * (1 / rows + 1 / count)) ** 0.5
            sure = (
                before.value - after.value > NormalDist().inv_cdf(1 - (1 - level) / looks) * spread
            )
            return before.value, after.value, count, sure
    return None


def _true_falls(shifted: Sequence[_Condition], measure: str, level: float) -> list[str]:
    """The deepest fall that is no chance, and how often the interval of the estimate held the truth; nothing without
    labels.
    """
    falls = [
        (fall, item.where)
        for item in shifted
        if (fall := fall_of(item.point, item.first, level, len(shifted)))
    ]
    labelled = [item.point for item in shifted if item.point.get("error") is not None]
    lines = []
    if falls:
        (before, truth, count, sure), where = max(
            falls, key=lambda fall: (fall[0][3], fall[0][0] - fall[0][1])
        )
        text = f"{where}, {measure} {percent(truth)} after {percent(before)} without a shift, on {count:,} rows"
        start = "Deepest true fall: " if sure else "No true fall is more than chance; the lowest: "
        lines.append(start + text)
    if labelled:
        heads = [(point["estimate"], point["metrics"]["accuracy"]["value"]) for point in labelled]
        covered = sum(e["lower"] <= truth <= e["upper"] for e, truth in heads)
        off = points(fmean(abs(point["error"]) for point in labelled))
        text = f"Estimates were off by {off} on average; their intervals held the truth at {covered} of "
        lines.append(f"{text}{len(labelled)} severities")
    return lines


def _left_out(conditions: Sequence[_Condition]) -> Iterator[str]:
    """Rows that could not be shifted, those of the first model alone since all have the same; inputs that were cut."""
    for name, kind, item, *_ in conditions:
        where = "without a shift" if item["severity"] is None else f"{kind} {item['severity']}"
        reasons = "; ".join(
            f"{count:,} ({why})" for why, count in (item.get("dropped") or {}).items()
        )
        if reasons and name == conditions[0].model:
            yield f"Rows left out of {where}: {reasons}"
        if item.get("truncated"):
            yield f"{name} reads less than some inputs hold, {where}: {item['truncated']:,} were cut"


def _points_grid(conditions: Sequence[_Condition], measure: str) -> Grid:
    """Estimate, truth and other metrics at each point; the model where there are several."""
    rows = []
    for name, kind, item, _, of_several in conditions:
        metrics, common = item.get("metrics") or {}, (item.get("common") or {}).get("metrics") or {}
        estimate, truth = item.get("estimate") or {}, cells_of(metrics.get("accuracy"))
        error = "" if item.get("error") is None else f"{item['error'] * 100:+.1f}"
        row = [name] if of_several else []
        row += [kind, item["severity"] or "none", f"{item['rows']:,}", *cells_of(estimate)]
        row += [truth[0], error, estimate.get("trust") or ""]
        row += [cell((metrics.get(key) or {}).get("value"), ".3f") for key in METRICS[1:]]
        rows.append([*row, cells_of(common.get("accuracy"))[0], *truth[1:]])
    columns = ["model"] if any(item.is_of_several for item in conditions) else []
    columns += ["shift", "severity", "rows", "estimate", "lower", "upper", measure]
    columns += ["error", "trust", "Brier", "ECE", "same rows", "true lower", "true upper"]
    return Grid(
        "Quality as the shift grows", columns, rows, main=range(len(columns) - 5), slot="quality"
    )
