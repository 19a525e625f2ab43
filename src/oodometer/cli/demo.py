"""The command `demo`: the main job on real data, and a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..results import percent
from . import output, places


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="demo")(demo)


def demo(
    out: Annotated[
        str,
        typer.Option(help="Folder for the prediction files and the report.", metavar="FOLDER"),
        places.FOLDER,
    ] = "demo",
) -> None:
    """Run the main job on handwritten digits that drift; no files needed."""
    from ..errors import MissingExtraError
    from ..verbs.demo import demo as run

    with output.progress_bar("training and estimating") as progress:
        found = run(out, progress=progress)
    rows = []
    for step in found.steps:
        i, truth = step.estimation.headline.interval, step.estimation.target["accuracy"]
        rows.append(
            [
                str(step.severity),
                step.name,
                percent(i.value),
                f"[{percent(i.lower)}, {percent(i.upper)}]",
                percent(truth["value"]),
                step.estimation.headline.trust,
            ]
        )
    output.print_table(
        ["severity", "drift", "estimate", "interval", "truth", "trust"],
        rows,
        "Accuracy without labels, and the truth",
    )
    output.deliver(found.to_dict(), json=str(Path(out) / "demo.json"))
    shown = found.steps[3]
    output.say(f"Try it yourself: oodometer estimate {found.reference} {shown.files[0]} --labels {shown.files[1]}")
    try:
        from ..reports import write_report

        write_report(found.to_dict(), Path(out) / "report.html")
    except MissingExtraError as error:
        output.say(f"no report: {error}")
        return
    output.say(f"report: {Path(out) / 'report.html'}")
