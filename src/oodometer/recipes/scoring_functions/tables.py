"""Tables: the results of all finished tasks as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...version import __version__
from ..base import Workspace
from .study import FORM

_MORE = ("estimators", "published")


def combine(workspace: Workspace, scale: str, tasks: Sequence[str]) -> dict[str, Any]:
    """One result of the tasks that have one of this form, in the order given."""
    done = {name: one for name in tasks if (one := _read(workspace, f"{name}/result.json"))}
    if "clean" in done:
        done["clean"] |= {name: _read(workspace, f"clean/{name}.json") for name in _MORE}
    return {
        "form": FORM,
        "paper": "scoring-functions",
        "scale": scale,
        "version": __version__,
        "cores": os.cpu_count(),
        "tasks": done,
        "missing": [name for name in tasks if name not in done],
    }


def _read(workspace: Workspace, name: str) -> dict[str, Any] | None:
    """A result that is there and of this form; what has no form is taken as it is."""
    try:
        one = workspace.read_json(name)
    except (OSError, ValueError):
        return None
    return one if isinstance(one, dict) and one.get("form", FORM) == FORM else None
