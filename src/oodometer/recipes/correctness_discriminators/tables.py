"""Tables: the results of all finished tasks as one, with the claims that they bear out, and as a page of Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...store import write_atomic
from ...version import __version__
from ..base import Tick, Workspace
from .findings import claims_of
from .markdown import markdown
from .study import FORM

__all__ = ["PAPER", "combine", "markdown", "paper_tables", "tabulate"]

PAPER = Path(__file__).with_name("paper_tables.json")


def paper_tables() -> dict[str, Any]:
    """The paper's Table 1 and its Tables 2 to 4 by data set, in percent.

    >>> paper_tables()["tables_2_to_4"]["COGS"]["gold"]
    91.4
    """
    found: dict[str, Any] = json.loads(PAPER.read_text(encoding="utf-8"))
    return found


def tabulate(workspace: Workspace, scale: str, tasks: Sequence[str], tick: Tick) -> None:
    """Gather what is finished in the folder; writes ``result.json`` and ``result.md``."""
    found = combine(workspace, scale, tasks)
    workspace.write_json("result.json", found)
    write_atomic(workspace / "result.md", markdown(found))
    tick(1, 1)


def combine(workspace: Workspace, scale: str, tasks: Sequence[str]) -> dict[str, Any]:
    """One result of the tasks that have one of this form, in the order given."""
    done = {}
    for name in tasks:
        try:
            one = workspace.read_json(f"{name}/result.json")
        except (OSError, ValueError):
            continue
        if isinstance(one, dict) and one.get("form") == FORM:
            done[name] = one
    result: dict[str, Any] = {
        "form": FORM,
        "paper": "correctness-discriminators",
        "scale": scale,
        "version": __version__,
        "cores": os.cpu_count(),
        "tasks": done,
        "missing": [name for name in tasks if name not in done],
    }
    result["claims"] = claims_of(result)
    return result
