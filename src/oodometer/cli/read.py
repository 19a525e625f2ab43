"""The command `read`: what a log or a table holds, and what to ask of it."""

from __future__ import annotations

from typing import Any

from ..verbs.options import ReadOptions
from . import output
from .commands import Written, command


@command(ReadOptions, written=("json", "report"))
def read(arguments: dict[str, Any], to: Written) -> None:
    """Say what a log or a table holds and what to ask of it; write predictions."""
    from oodometer.verbs.read import read as run

    with output.results():
        result = run(**arguments)
        visible = to.deliver({**result.to_dict(), "argv": output.command_line()}, result)
    if visible:
        output.show(result)
