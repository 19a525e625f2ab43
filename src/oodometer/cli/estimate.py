"""The command `estimate`: two prediction files in, a table, JSON and a page out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, output, places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..histories import Store


ALARM = 3  # exit code: done, and an alarm that was asked for is raised


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="estimate")(estimate)


def estimate(
    reference: options.Reference,
    target: options.Target,
    method: options.Methods = None,
    level: options.Level = 0.95,
    by: Annotated[str | None, typer.Option(help="Slice the target by this column.")] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="Cut the target into chunks: month (or day, week, quarter, year, as in the calendar), 7d or 1000rows."
        ),
    ] = None,
    cluster: options.Cluster = None,
    where: options.Where = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Truth of target rows (null where unknown), printed beside the estimates; joined by id, by a column "
            "row that counts them from 0, or one row each.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    key: options.Key = None,
    target_accuracy: options.TargetAccuracies = None,
    calibrator: Annotated[str, typer.Option(help="auto, none, temperature, isotonic or histogram.")] = "auto",
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    features: options.Features = None,
    classes: options.Classes = None,
    backtest: Annotated[
        str,
        typer.Option(
            help="What the headline is weighed by: auto (a quick backtest, kept in the cache), none, or a folder that "
            "keeps backtests."
        ),
    ] = "auto",
    assume: Annotated[
        str,
        typer.Option(
            help="What is believed of the shift: natural (like those of public data), none, label (P(x | y) stood "
            "still) or covariate (P(y | x) did)."
        ),
    ] = "natural",
    prior: Annotated[
        str | None,
        typer.Option(help="Another prior of natural shifts than the packaged one.", metavar="FILE"),
        places.READ,
    ] = None,
    metric: options.ClassMetrics = None,
    payoff: options.Payoff = None,
    margin: Annotated[
        float,
        typer.Option(help="Say whether the accuracy fell by at least this much: target, slices and chunks."),
    ] = 0.01,
    fail_below: options.FailBelow = None,
    fail_drop: options.FailDrop = None,
    fail_when: options.FailWhen = "value",
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: options.IntervalSeed = 0,
    run_folder: options.RunFolder = None,
    store: options.Store = None,
    job: options.Job = None,
    alarms: options.Alarms = "all",
    json: options.Json = None,
    report: options.Report = None,
    out: options.Out = None,
) -> None:
    """Estimate a model's accuracy on data without labels."""
    from ..verbs.estimate import estimate as run

    output.check_files(report, out)
    with _kept(store) as kept:
        with output.progress_bar("estimate", lines=True) as progress:
            found = run(
                reference,
                target,
                methods=method or None,
                level=level,
                by=by,
                every=every,
                cluster=cluster,
                where=where or None,
                labels=labels,
                key=key,
                target_accuracies=tuple(target_accuracy or (0.95,)),
                calibrator=calibrator,
                mapping=output.parse_mapping(rename or []),
                positive=positive,
                threshold=threshold,
                features=features,
                classes=output.parse_classes(classes),
                backtest=backtest,
                assume=assume,
                prior=prior,
                metrics=tuple(metric or ()),
                payoff=payoff,
                margin=margin,
                fail_below=output.parse_bounds(fail_below or [], "--fail-below"),
                fail_drop=output.parse_bounds(fail_drop or [], "--fail-drop"),
                fail_when=fail_when,
                engine=engine,
                workers=workers,
                seed=seed,
                run_folder=run_folder,
                store=kept,
                job=job,
                alarms=alarms,
                progress=progress,
            )
        found = replace(found, argv=output.command_line())
        output.deliver(found.to_dict(), json=json, report=report, found=found, files=out)
        if json != "-":
            output.show(found, asked=("Threshold", "Do not rely on this threshold") if target_accuracy else ())
        raised = found.alarms is not None and found.alarms.raised
        if found.alarms is not None and raised and (json == "-" or output.quiet()):
            output.say(*found.alarms.lines(), error=True)  # whoever is woken by an alarm reads why
    if raised:
        raise typer.Exit(ALARM)


@contextmanager
def _kept(store: str | None) -> Iterator[Store | None]:
    """The store of past runs; what is told to it inside is written at the end, after the answer and its alarms."""
    if store is None:
        yield None
        return
    from ..histories import open_store

    with open_store(store, output.command_line()).afterwards() as kept:
        yield kept
