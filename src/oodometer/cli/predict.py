"""The command `predict`: a live model and data in, or a log of an evaluation harness, a predictions file out."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..verbs.model_options import PredictOptions
from . import output
from .commands import Written, command


@command(PredictOptions, written=("json",), kept=True)
def predict(given: dict[str, Any], to: Written) -> None:
    """Ask a model about data, or read a log of its answers, and write a predictions file."""
    from ..verbs.predict import predict as run

    if "out" not in given:
        raise UsageError("Missing option '--out'; name the file to write")
    with output.results(), output.progress_bar("predicting", lines=True) as progress:
        found = run(**given, progress=progress)
        shown = to.deliver({**found.to_dict(), "argv": output.command_line()})
    if shown:
        output.show(found)
