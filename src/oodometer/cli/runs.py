"""The command `runs`: run folders, how far each came, and why it ended."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import options, output, places

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="runs")(runs)


def runs(
    folders: Annotated[
        list[str] | None,
        typer.Argument(help="Run folders, or folders that hold some; by default this one.", metavar="FOLDER"),
        places.READ,
    ] = None,
    json: options.Json = None,
) -> None:
    """List run folders: what each run is, how far it came, and why it ended."""
    from ..verbs.runs import runs as run

    found = run(folders or ["."])
    output.deliver(found.to_dict(), json=json)
    if json == "-":
        return
    if not found.runs:
        output.say("no run folder here; estimate makes one with --run-folder FOLDER")
        return
    rows = [
        [
            one.folder,
            one.status,
            f"{one.done} of {one.parts}",
            str(one.read),
            one.began.replace("+00:00", "").replace("T", " "),
            os.path.basename(one.target.rstrip("/")),
        ]
        for one in found.runs
    ]
    output.print_table(["folder", "status", "parts done", "read", "began (UTC)", "target"], rows, "Runs")
    for one in found.runs:
        if one.why:
            output.say(f"{one.folder}: {one.why}")
