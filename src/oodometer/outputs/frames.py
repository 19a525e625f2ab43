"""Frames: a table of a result as a frame of pandas or polars, or as a table of pyarrow."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtraError, UsageError
from .tables import table_of, typed

LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(found: Any, what: str | None = None, library: str | None = None) -> Any:
    """One table of a result as a frame; see `Shown.to_frame`.

    >>> from oodometer.results.diagnosis import Diagnosis
    >>> frame_of(Diagnosis("none", (), "nothing moved"), library="pyarrow").num_rows
    0
    >>> frame_of(Diagnosis("none", (), "nothing moved"), library="excel")
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected library to be one of pandas, polars, pyarrow or None, got 'excel'
    """
    if library is not None and library not in LIBRARIES:
        raise UsageError(f"expected library to be one of {', '.join(LIBRARIES)} or None, got {library!r}")
    name: Any = _at_hand() if library is None else library
    if name is None or (name != "pyarrow" and not _there(name)):
        raise MissingExtraError("to_frame()", name or "pandas or polars", install=name or "pandas")
    table = typed(table_of(found, what))
    if name == "pyarrow":
        return table
    import narwhals as nw

    frame: Any = nw.from_arrow(table, backend=name).to_native()
    if name == "pandas":  # whose own booleans have no empty cell: `~frame["alarm"]` of objects would be -1 and -2
        truths = [field.name for field in table.schema if str(field.type) == "bool"]
        frame = frame.astype(dict.fromkeys(truths, "boolean"))
    return frame


def _at_hand() -> str | None:
    """The library that the program already uses, else the one that is installed; pandas before polars."""
    used = next((name for name in LIBRARIES[:2] if name in sys.modules), None)
    return used or next((name for name in LIBRARIES[:2] if _there(name)), None)


def _there(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ValueError:  # a module put there by hand, without a spec
        return False
