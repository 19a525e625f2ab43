"""Saved results: what a command wrote as JSON, read again, with its view, its page and its summary."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from ..options import checked
from ..results.shown import Shown
from ..results.view import Maker, View
from .sections import VIEWS


@dataclass(frozen=True, repr=False)
class SavedResult(Shown):
    """A result as its JSON holds it: shown, written and logged like the one that the command made.

    ``saved["headline"]`` is a part of the JSON. It has no tables of numbers: these are more than JSON holds.
    """

    told: Mapping[str, Any]

    def view(self) -> View:
        """What it says; see `Shown`."""
        return VIEWS[self.told["command"]](self.told)

    def frames(self) -> dict[str, Maker]:
        """Refused: raises `UsageError`."""
        raise UsageError(
            f"a result read from JSON has no tables of numbers; let {self.told['command']} write them "
            "(FILE.csv, to_frame()), or choose .html, .pdf, .md or .json"
        )

    def __getitem__(self, name: str) -> Any:
        return self.told[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping that was read."""
        return dict(self.told)


@checked()
def load_result(path: str | os.PathLike[str]) -> SavedResult:
    """Read a result that a command wrote with ``--json``, or a record with `save`; ``-`` is standard input.

    What it gives shows at a prompt and in a notebook what the result showed, and writes its page and its summary.
    Raises `InputError` where the file is absent, is no JSON, or is no result of a command that has a view.
    """
    name = str(path)
    try:
        text = sys.stdin.read() if name == "-" else Path(path).read_text(encoding="utf-8")
        told = json.loads(text)
    except json.JSONDecodeError as error:
        got = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise InputError(
            "JSON",
            got=got,
            file=name,
            remedy="name a file that `oodometer estimate ... --json FILE` or another command wrote",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        got = getattr(error, "strerror", None) or "bytes that are no text"
        raise InputError(
            "JSON",
            got=got,
            file=name,
            remedy="name a file that `oodometer estimate ... --json FILE` or another command wrote",
        ) from None
    command = told.get("command") if isinstance(told, dict) else None
    if command not in VIEWS:
        got = "no command" if command is None else f"one of {command!r}"
        remedy = "name a file that `oodometer estimate ... --json FILE` or another of them wrote"
        raise InputError(f"a result of {', '.join(sorted(VIEWS))}", got=got, file=name, remedy=remedy)
    saved = SavedResult(told)
    try:
        saved.view()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f"one that cannot be shown ({type(error).__name__}: {error})"
        raise InputError(f"a result of {command}", got=why, file=name, remedy="run the command again") from None
    return saved
