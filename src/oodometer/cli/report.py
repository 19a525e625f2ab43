"""The command `report`: the JSON of a finished command in; what it says, as a page or as Markdown, out."""

from __future__ import annotations

from typing import Any

from ..options import Options, argument
from . import output
from .commands import Written, command


class _Report(Options):
    """The file that is shown."""

    path: str = argument(kw_only=False, path="read", metavar="FILE", help="JSON of a command; - is standard input.")


@command(_Report, written=("report", "out"))
def report(given: dict[str, Any], to: Written) -> None:
    """Show a saved result again: on the terminal, as a page, as Markdown."""
    from ..reports.saved import load_result, shown_whole

    found = load_result(given["path"])
    with shown_whole(given["path"]):
        if to.deliver(found.to_dict(), found):
            output.show(found)
