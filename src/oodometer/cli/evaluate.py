"""The command `evaluate`: labelled predictions in, every metric with its interval out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import output

if TYPE_CHECKING:
    from ..verbs.evaluation import Evaluation

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="evaluate")(evaluate)


def evaluate(
    predictions: Annotated[list[str], typer.Argument(help="Labelled predictions, one file or several.")],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Only this metric; may be repeated.")
    ] = None,
    level: Annotated[float, typer.Option(help="Nominal coverage of the intervals.")] = 0.95,
    by: Annotated[str | None, typer.Option(help="Slice by this column.")] = None,
    rename: Annotated[list[str] | None, typer.Option("--map", help="Rename a column, theirs=ours.")] = None,
    classes: Annotated[
        str | None, typer.Option(help="Class names in the order of the probabilities: a,b,c.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where the passes run: local (threads) or processes.")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Number of workers; by default one for each core.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap in some intervals.")] = 0,
    json: Annotated[
        str | None, typer.Option("--json", help="Write JSON to this file, or - for standard output.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="Write a self-contained page to this .html file.")
    ] = None,
) -> None:
    """Judge labelled predictions: accuracy, calibration, risk-coverage."""
    from ..verbs.evaluate import Evaluations
    from ..verbs.evaluate import evaluate as run

    write_report = output.report_writer(report)
    with output.progress_bar("evaluating") as progress:
        found = run(
            *predictions,
            level=level,
            by=by,
            metrics=metric or None,
            seed=seed,
            classes=output.parse_classes(classes),
            mapping=output.parse_mapping(rename or []),
            engine=engine,
            workers=workers,
            progress=progress,
        )
    result = {**found.to_dict(), "argv": output.command_line()}
    if write_report is not None and report is not None:
        write_report(result, report)
    if json is not None:
        output.write_json(result, json)
    if json != "-":
        several: Evaluation | Evaluations = found
        for one in several if isinstance(several, Evaluations) else (several,):
            show(one)


def show(found: Evaluation) -> None:
    """Metrics with intervals, slices, what was skipped, warnings."""
    print(f"{found.name}: {found.rows} labelled rows")
    output.print_table(
        ["metric", "value", "lower", "upper", "kind"],
        [
            [name, *(f"{x:.4f}" for x in (m.value, m.lower, m.upper)), m.kind]
            for name, m in found.metrics.items()
        ],
    )
    if found.slices:
        names = [n for n in ("accuracy", "brier", "ece", "aurc") if n in found.slices[0].metrics]
        output.print_table(
            ["slice", "rows", *names],
            [
                [str(s.value), str(s.rows), *(f"{s.metrics[n].value:.4f}" for n in names)]
                for s in found.slices
            ],
            f"by {found.slices[0].by}",
        )
    for skipped in found.skipped:
        print(f"skipped {skipped.method}: {skipped.why}")
    for warning in found.warnings:
        print(f"warning: {warning}")
