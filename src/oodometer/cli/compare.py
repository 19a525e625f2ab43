"""The command `compare`: labelled predictions of several models in, rankings, disagreements and thresholds out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..verbs.options import CompareOptions
from . import output
from .commands import Written, command


@command(CompareOptions, written=("json", "report", "out"))
def compare(given: dict[str, Any], to: Written) -> None:
    """Compare models that may abstain: which one answers best, and where the metrics disagree."""
    from ..verbs.compare import compare as run

    with output.progress_bar("comparing") as progress:
        found = run(**given, progress=progress)
    found = replace(found, argv=output.command_line())
    if to.deliver(found.to_dict(), found):
        output.show(found)
