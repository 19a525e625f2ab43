"""The command `audit`: a few labels on the target in, a valid interval and a verdict on the label-free one out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options, output, places

if TYPE_CHECKING:
    pass


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="audit")(audit)


def audit(
    reference: options.Reference,
    target: options.Target,
    where: options.Where = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Truth of some target rows: joined by id, by a column `row` that counts them from 0, or a row each, "
            "null where unknown. May be repeated, in the order of labelling. By default the target's own labels.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    key: options.Key = None,
    cluster: options.Cluster = None,
    level: options.Level = 0.95,
    suggest: Annotated[int, typer.Option(help="Draw so many unlabelled rows to label next.")] = 0,
    suggest_by: Annotated[
        str,
        typer.Option(
            help="How they are drawn: random (all rows alike) or confidence (more often where the model is unsure, if "
            "that is predicted to make the exact interval narrower)."
        ),
    ] = "random",
    out: Annotated[
        str | None,
        typer.Option(
            help="Write the suggested rows, with the target's columns and an empty label, to this .csv (for a "
            "spreadsheet), .parquet or .jsonl file, or to this .html page, on which they are labelled in a browser.",
            metavar="FILE",
        ),
        places.WRITTEN,
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Say whether the accuracy is believed to have fallen by at least this much.")
    ] = 0.01,
    method: Annotated[
        list[str] | None, typer.Option("--method", help="Label-free methods to hear; may be repeated.")
    ] = None,
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    features: options.Features = None,
    classes: options.Classes = None,
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: Annotated[int, typer.Option(help="Seed of the suggestion and of the order of bets.")] = 0,
    run_folder: options.RunFolder = None,
    json: options.Json = None,
    report: options.Report = None,
    save: options.Save = None,
) -> None:
    """Check a model on the target by a few labels."""
    from ..errors import UsageError
    from ..verbs.audit import audit as run

    if suggest and out is None:
        raise UsageError("say where to write the suggested rows: --suggest N --out FILE.csv")
    output.check_files(report, save)
    if report is not None:
        _check_place(report)
    with output.results(), output.progress_bar("auditing") as progress:
        found = run(
            reference,
            target,
            where=where or None,
            labels=labels or None,
            key=key,
            cluster=cluster,
            suggest=suggest,
            suggest_by=suggest_by,
            out=out,
            level=level,
            margin=margin,
            methods=method or None,
            mapping=output.parse_mapping(rename or []),
            positive=positive,
            threshold=threshold,
            features=features,
            classes=output.parse_classes(classes),
            engine=engine,
            workers=workers,
            seed=seed,
            run_folder=run_folder,
            expected_widths=report is not None,
            progress=progress,
        )
        found = replace(found, argv=output.command_line())
        output.deliver(found.to_dict(), json=json, report=report, found=found, files=save)
    if json != "-":
        output.show(found)
        if found.suggestion is not None:
            output.tell(f"Wrote {len(found.suggestion.row)} rows to label to {out}")
            if str(out).lower().endswith(".html"):
                output.tell("Open it in a browser, label, save the CSV there, and give that with --labels")


def _check_place(report: str) -> None:
    """Say before the work, not after it, that there is no place for the page."""
    from ..errors import UsageError

    path = Path(report)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        why = "it is a folder" if path.is_dir() else f"{path.parent} is no folder that may be written"
        raise UsageError(f"cannot write {report}: {why}; choose a file in a folder that exists")
