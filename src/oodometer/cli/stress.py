"""The command `stress`: models and data in, their quality and the estimates without labels as a shift grows, out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options, output, places
from .places import going_on
from .shift import (
    Training,
    TrainingWhere,
    Where,
    WordNetPath,
)


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="stress")(stress)


def stress(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Labelled texts (JSONL, CSV, TSV), or for a ranker dialogues (JSONL: turns, or a context with a "
            "response or candidates); plain or packed.",
        ),
        places.READ,
    ],
    out: Annotated[
        str,
        typer.Option(
            help="A folder, new or of the same job: predictions, stress.json, .csv, report.html.", metavar="OUT"
        ),
        places.FOLDER,
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="What `predict` takes, or NAME=MODEL; may be repeated. Models of one NAME are runs of one model: the "
            "spread over them is the band.",
        ),
        places.READ,
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind of shift, such as casing, or with severities: casing=0.1,0.3; may be repeated."),
    ] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="For kinds without their own; by default those of the paper.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of the truth; by default label.")] = None,
    column: Annotated[str | None, typer.Option(help="Where the text or the turns stand.")] = None,
    where: Where = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Labelled rows that the estimates rest on; by default a half of DATA.", metavar="FILE"),
        places.READ,
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Only so many rows of DATA, drawn by the seed.")] = None,
    repeats: Annotated[int, typer.Option(help="Draws of each shift; their spread is the band.")] = 1,
    training: Training = None,
    training_where: TrainingWhere = None,
    wordnet: WordNetPath = None,
    turns: Annotated[
        int | None, typer.Option(help="For insufficient-context: the last so many turns of contexts that have them.")
    ] = None,
    gives: Annotated[str | None, typer.Option(help="What a model from outside gives: logits or probabilities.")] = None,
    classes: options.Classes = None,
    level: options.Level = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of halves, rows, candidates, draws and bootstraps.")] = 0,
    engine: options.TaskEngine = None,
    workers: options.TaskWorkers = None,
    json: options.Json = None,
    report: options.Report = None,
) -> None:
    """Ask models about data whose shift grows: accuracy, Brier, ECE, and the estimate without labels beside them."""
    _run({name: value for name, value in locals().items() if name not in ("json", "report")}, json, report)


def _run(given: dict[str, Any], json: str | None, report: str | None) -> None:
    from ..verbs.stress import stress as run

    output.check_page(report)
    for name in ("kind", "severity", "where", "training_where"):
        given[name] = given[name] or []
    models, classes = given.pop("model") or [], output.parse_classes(given.pop("classes"))
    with going_on(output.KEPT), output.results(), output.progress_bar("predicting", lines=True) as progress:
        found = run(models=models, classes=classes, **given, argv=output.command_line(), progress=progress)
        told = found.to_dict()
        page, why = _page(Path(given["out"]))
        output.deliver(told, report=page)
        output.deliver(told, json=json, report=report)
    if json == "-":
        return
    output.tell(*found.opening())
    output.print_table(*found.table(), "Quality as the shift grows")
    output.tell(*found.closing(), *why)
    output.say(f"predictions, stress.json and stress.csv: {found.out}")


def _page(out: Path) -> tuple[str | None, list[str]]:
    """Where the page of the folder goes, and what is to be said of it; None where what draws it is absent."""
    from ..errors import MissingExtraError

    page = str(out / "report.html")
    try:
        output.check_page(page)
    except MissingExtraError as error:
        return None, [f"no report: {error}"]
    return page, [f"report: {page}"]
