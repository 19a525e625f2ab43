"""The command `evaluate`: labelled predictions in, every metric with its interval out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..options import argument
from ..verbs.options import EvaluateOptions
from . import output
from .commands import Written, command


class _Evaluate(EvaluateOptions):
    """The options of `evaluate`, and the files."""

    predictions: Sequence[Any] = argument(
        kw_only=False, path="read", metavar="PREDICTIONS...", help="Labelled predictions, one file or several."
    )


@command(_Evaluate, written=("json", "report", "out"))
def evaluate(given: dict[str, Any], to: Written) -> None:
    """Judge labelled predictions: accuracy, F1, ROC AUC and the like, calibration, risk-coverage."""
    from ..verbs.evaluate import evaluate as run

    with output.progress_bar("evaluating") as progress:
        found = run(*given.pop("predictions"), **given, progress=progress)
    found = replace(found, argv=output.command_line())
    if to.deliver(found.to_dict(), found):
        output.show(found)
