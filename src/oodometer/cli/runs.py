"""The command `runs`: runs of long commands, how far each came, and why it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..options import Options, option
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..verbs.runs import Run


_DATA = (
    "predictions",
    "data",
    "examples",
    "models",
    "outputs",
    "pairs",
    "paper",
    "reference",
)  # of commands without a target


class _Runs(Options):
    """The options of `runs`."""

    folders: Sequence[str] = option(
        default=(),
        path="read",
        metavar="FOLDER",
        positional=True,
        help="Folders of runs, or folders that hold some; by default this one.",
    )


@command(_Runs, written=("json",))
def runs(given: dict[str, Any], to: Written) -> None:
    """List runs of long commands: what each is, how far it came, and why it ended."""
    from ..verbs.runs import runs as run

    found = run(**given)
    if not to.deliver(found.to_dict()):
        return
    if not found.runs:
        output.say(
            "no run here; estimate --run-folder FOLDER makes one, and so do reproduce, stress, predict and the like"
        )
        return
    rows = [
        [
            one.folder,
            one.verb,
            one.status,
            f"{one.done} of {one.parts or '?'}",
            str(one.read),
            one.began.replace("+00:00", "").replace("T", " "),
            _target(one),
        ]
        for one in found.runs
    ]
    output.print_table(["folder", "command", "status", "parts done", "read", "began (UTC)", "target"], rows, "Runs")
    for one in found.runs:
        if one.why:
            output.say(f"{one.folder}: {one.why}")


def _target(run: Run) -> str:
    """The last part of the name of what a run is of: the target, or what the command has in its place."""
    places = [run.about[name] for name in ("target", *_DATA) if run.about.get(name)]
    return os.path.basename(places[0].rstrip("/")) if places else ""
