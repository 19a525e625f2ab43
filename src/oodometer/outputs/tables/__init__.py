"""Tables: every result as tidy tables, one row for each number."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from ...errors import UsageError
from .base import Maker, Table, typed

__all__ = ["Table", "table_of", "tables_of", "typed"]

# Class of a result -> the file, and the function in it, that knows its tables; loaded when one is asked for.
_HOMES = {
    "Audit": "others.audit",
    "Backtest": "others.backtest",
    "Comparison": "others.comparison",
    "Diagnosis": "diagnosis",
    "Estimation": "estimation",
    "Evaluation": "evaluation",
    "Evaluations": "evaluation",
}


def tables_of(found: Any) -> Mapping[str, Maker]:
    """Name of each table of a result -> what makes it; the first is the one that is meant where none is named."""
    home = next((_HOMES[cls.__name__] for cls in type(found).__mro__ if cls.__name__ in _HOMES), None)
    if home is None:
        raise UsageError(f"expected a result of a verb, got {type(found).__name__}")
    module, _, name = home.partition(".")
    made: Mapping[str, Maker] = getattr(importlib.import_module(f".{module}", __package__), name or "tables")(found)
    return made


def table_of(found: Any, what: str | None = None) -> Table:
    """One table of a result; `UsageError` names those that there are.

    >>> from oodometer.results.diagnosis import Diagnosis
    >>> table_of(Diagnosis("none", (), "nothing moved")).columns[:3]
    ('finding', 'says', 'statistic')
    >>> table_of(Diagnosis("none", (), "nothing moved"), "parts")
    Traceback (most recent call last):
    oodometer.errors.UsageError: a Diagnosis has no table 'parts'; it has findings
    """
    makers: Mapping[str, Maker] = found.frames()
    name = next(iter(makers)) if what is None else what
    if name not in makers:
        raise UsageError(f"a {type(found).__name__} has no table {name!r}; it has {', '.join(makers)}")
    return makers[name]()
