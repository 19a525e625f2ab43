"""Tables: what the studies left as one result."""

from __future__ import annotations

import os
from typing import Any

from ...kernels import cores
from ..base import Workspace


def combine(workspace: Workspace, scale: str) -> dict[str, Any]:
    """One result of the study and of the estimators."""
    found: dict[str, Any] = workspace.read_json("study.json")
    about = {"form": found["form"], "paper": "dialogue-shift", "scale": scale, "cpus": cores() or os.cpu_count()}
    return {**about, **found, "estimators": workspace.read_json("estimators.json")}
