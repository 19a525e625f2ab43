"""Tables: the results of all finished tasks as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...version import __version__
from ..base import Workspace
from .study import FORM

__all__ = ["combine"]


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
    return {
        "form": FORM,
        "paper": "correctness-discriminators",
        "scale": scale,
        "version": __version__,
        "cores": os.cpu_count(),
        "tasks": done,
        "missing": [name for name in tasks if name not in done],
    }
