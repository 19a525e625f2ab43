"""Every command of the command line by its name, those of groups too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Names, with those of the groups before them, and commands."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command
