"""The command `evaluate`: labelled predictions in, every metric with its interval out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..results import percent
from ..results.evaluation import metric_rows, positive_said
from . import options, output, places

if TYPE_CHECKING:
    from ..results import Interval
    from ..results.evaluation import Evaluation

__all__ = ["add_to", "threshold_text"]


# Columns of the table of slices, where they were asked for.
_IN_SLICES = ("accuracy", "f1", "precision", "recall", "roc_auc")


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="evaluate")(evaluate)


def evaluate(
    predictions: Annotated[
        list[str],
        typer.Argument(help="Labelled predictions, one file or several.", metavar="PREDICTIONS..."),
        places.READ,
    ],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Only this metric, such as f1 or auc; may be repeated.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Order rows by this score in metrics of risk and coverage.")] = None,
    level: options.Level = 0.95,
    by: Annotated[str | None, typer.Option(help="Slice by this column.")] = None,
    labels: options.Truth = None,
    key: options.Key = None,
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    payoff: options.Payoff = None,
    classes: options.Classes = None,
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: options.IntervalSeed = 0,
    json: options.Json = None,
    report: options.Report = None,
    out: options.Out = None,
) -> None:
    """Judge labelled predictions: accuracy, F1, ROC AUC and the like, calibration, risk-coverage."""
    from ..results.evaluation import Evaluations
    from ..verbs.evaluate import evaluate as run

    output.check_files(report, out)
    with output.progress_bar("evaluating") as progress:
        found = run(
            *predictions,
            level=level,
            by=by,
            labels=labels,
            key=key,
            metrics=metric or None,
            score=score,
            seed=seed,
            classes=output.parse_classes(classes),
            mapping=output.parse_mapping(rename or []),
            positive=positive,
            threshold=threshold,
            payoff=payoff,
            engine=engine,
            workers=workers,
            progress=progress,
        )
    result = {**found.to_dict(), "argv": output.command_line()}
    output.deliver(result, json=json, report=report, found=found, files=out)
    if json != "-":
        several: Evaluation | Evaluations = found
        for one in several if isinstance(several, Evaluations) else (several,):
            show(one)


def show(found: Evaluation) -> None:
    """Metrics with intervals, slices, what was skipped, warnings."""
    output.say(f"{found.name}: {found.rows} labelled rows")
    output.print_table(["metric", "value", "lower", "upper", "kind"], metric_rows(found))
    for line in positive_said(found):
        output.say(line)
    if "disca" in found.metrics:
        output.say(f"disca is that of {found.rows} rows: it does not compare with that of another number of rows")
    if found.slices:
        there = {name: None for one in found.slices for name in one.metrics}
        names = [n for n in _IN_SLICES if n in there] or list(there)[:5]
        output.print_table(
            ["slice", "rows", *names],
            [[str(s.value), str(s.rows), *(_cell(s.metrics.get(n)) for n in names)] for s in found.slices],
            f"by {found.slices[0].by}",
        )
    for point in found.tables.get("operating_points", []):
        output.say(f"to be right {percent(point['accuracy'], 0)} of the time: {_rule(point)}")
    for case in found.tables.get("failure_cases", []):
        if case["seen"]:
            output.say(f"failure case: {case['sentence']}")
    for skipped in found.skipped:
        output.say(f"skipped {skipped.method}: {skipped.why}")
    for warning in found.warnings:
        output.say(f"warning: {warning}")


def _cell(number: Interval | None) -> str:
    """A number of a slice, a hyphen where it has none."""
    return "-" if number is None else f"{number.value:.4f}"


def _rule(point: dict[str, Any]) -> str:
    """What to do for a required accuracy, or why nothing is proved."""
    if point["coverage"] is None:
        return str(point["why"])
    proved = point["selective_accuracy"]["lower"]
    share = point["coverage"]["value"]
    if share == 1:
        return f"answer everything (proved {percent(proved)})"
    threshold = threshold_text(point["threshold"])
    return f"answer from a threshold of {threshold} up, {percent(share)} of the rows (proved {percent(proved)})"


def threshold_text(threshold: float) -> str:
    """A threshold with four digits, rounded up: no row is answered that the unrounded one would not; near 1 more.

    >>> threshold_text(0.75), threshold_text(0.66811), threshold_text(0.99998765)
    ('0.7500', '0.6682', '0.99998765')
    """
    if 0.9995 < threshold < 1:
        return f"{threshold:.8g}"
    return f"{math.ceil(threshold * 10_000 - 1e-9) / 10_000:.4f}"
