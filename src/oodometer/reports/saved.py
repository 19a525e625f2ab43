"""Saved results: what a command wrote as JSON, read again, with its view, its page and its summary."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, OodometerError, UsageError
from ..options import checked
from ..plain import Json, Plain
from ..results.view import Maker, Named, Shown, View
from .sections import commands_with, view_of

_HOLDS = {
    "audit": ("headline", "intervals"),
    "backtest": ("overall", "families"),
    "compare": ("models", "pairs", "difference"),
    "demo": ("estimate",),
    "diagnose": ("kind", "findings"),
    "estimate": ("headline", "estimates", "reference", "target"),
    "evaluate": ("metrics", "rows"),
    "plan": ("runs", "assumed"),
    "stress": ("models", "rows"),
}
"""What the answer stands in: a file that was cut down must not read as a result that has none."""


@dataclass(frozen=True, repr=False)
class SavedResult(Shown, Named[Any]):
    """A result as its JSON holds it: shown, written and logged like the one that the command made.

    ``saved["headline"]`` is a part of the JSON. It has no tables of numbers: these are more than JSON holds.
    """

    told: Plain
    _entries = "told", ""

    def view(self) -> View:
        """What it says; see `Shown`."""
        make_view = view_of(self.told["command"])
        assert make_view is not None  # `load_result` has looked
        return make_view(self.told)

    def frames(self) -> dict[str, Maker]:
        """Refused: raises `UsageError`."""
        remedy = f"let {self.told['command']} write them (FILE.csv, to_frame()), or choose .html, .pdf, .md or .json"
        raise UsageError(f"a result read from JSON has no tables of numbers; {remedy}")

    def to_dict(self) -> Json:
        """Return the mapping that was read."""
        return dict(self.told)


@checked()
def load_result(path: str | os.PathLike[str]) -> SavedResult:
    """Read a result that a command wrote with ``--json``, or a record with `save`.

    path : of the file; ``-`` is standard input.

    What it gives shows at a prompt and in a notebook what the result showed, and writes its page and its summary.
    Raises `InputError` where the file is absent, is no JSON, or is no whole result of a command that has a view.

    >>> load_result("nightly.json")
    Traceback (most recent call last):
    oodometer.errors.InputError: nightly.json: expected the JSON of a result, got no such file; name a file that ...
    """
    name = str(path)
    remedy = "name a file that `oodometer estimate ... --json FILE` or another command wrote"
    try:
        result = json.loads(
            sys.stdin.read() if name == "-" else Path(path).read_text(encoding="utf-8")
        )
    except (OSError, ValueError, RecursionError) as error:
        got = (
            "no such file"
            if isinstance(error, FileNotFoundError)
            else " ".join(str(error).split())[:120]
        )
        raise InputError("the JSON of a result", got=got, file=name, remedy=remedy) from None
    command = result.get("command") if isinstance(result, dict) else None
    if not isinstance(command, str) or view_of(command) is None:
        got = "no command" if command is None else f"one of {command!r}"
        raise InputError(
            f"a result of {', '.join(sorted(commands_with('views')))}",
            got=got,
            file=name,
            remedy=remedy,
        )
    lacking = [key for key in _HOLDS.get(command, ()) if key not in result]
    if lacking and "files" not in result:
        got = f"one without {lacking[0]!r}"
        raise InputError(
            f"a whole result of {command}", got=got, file=name, remedy="run the command again"
        )
    saved = SavedResult(result)
    with shown_whole(name):
        saved.view()
    return saved


@contextmanager
def shown_whole(file: str) -> Iterator[None]:
    """Inside, what a damaged result cannot show is an `InputError` that names its file."""
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:  # views and pages trust what commands wrote
        raise InputError(
            "a result as it was written",
            got=f"one that cannot be shown ({type(error).__name__}: {error})",
            file=file,
            remedy="run the command again",
        ) from error
