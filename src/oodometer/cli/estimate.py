"""The command `estimate`: two prediction files in, a table, JSON and a page out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from ..verbs.options import EstimateOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..histories import Store


ALARM = 3  # exit code: done, and an alarm that was asked for is raised


@command(EstimateOptions, written=("json", "report", "out"))
def estimate(given: dict[str, Any], to: Written) -> None:
    """Estimate a model's accuracy on data without labels."""
    from ..verbs.estimate import estimate as run

    with _kept(given.pop("store", None)) as kept:
        with output.progress_bar("estimate", lines=True) as progress:
            found = run(**given, store=kept, progress=progress)
        found = replace(found, argv=output.command_line())
        if to.deliver(found.to_dict(), found):
            asked = ("Threshold", "Do not rely on this threshold") if "target_accuracies" in given else ()
            output.show(found, asked=asked)
        raised = found.alarms is not None and found.alarms.raised
        if found.alarms is not None and raised and (to.json == "-" or output.quiet()):
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
