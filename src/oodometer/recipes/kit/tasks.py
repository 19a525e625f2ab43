"""Tasks: results of tasks that were finished at different times, as one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def joined(old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The new result with those tasks of an old one of the same form that it lacks, in the order of ``names``."""
    kept = old["tasks"] if old is not None and old["form"] == new["form"] else {}
    both = {**kept, **new["tasks"]}
    done = {name: both[name] for name in names if name in both}
    return {**new, "tasks": done, "missing": [name for name in names if name not in both]}
