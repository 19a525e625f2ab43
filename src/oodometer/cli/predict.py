"""The command `predict`: a live model and data in, or a log of an evaluation harness, a predictions file out."""

from __future__ import annotations

from typing import Any

import typer

from ..errors import UsageError
from ..verbs.model_options import PredictOptions
from . import output
from .commands import Written, command
from .places import going_on


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, PredictOptions, written=("json",))(predict)


def predict(given: dict[str, Any], to: Written) -> None:
    """Ask a model about data, or read a log of its answers, and write a predictions file."""
    from ..verbs.predict import predict as run

    if "out" not in given:
        raise UsageError("Missing option '--out'; name the file to write")
    with going_on(output.KEPT), output.results(), output.progress_bar("predicting", lines=True) as progress:
        found = run(**given, progress=progress)
        shown = to.deliver({**found.to_dict(), "argv": output.command_line()})
    if shown:
        output.say(*found.summary().splitlines())
