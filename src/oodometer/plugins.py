"""Plugins: what another installed package adds to this one, found by its entry points and loaded when it is used.

The lab (``oodometer_lab``: live models, shifts of inputs, judges, attributions, corpora, recipes) is such a package.
Groups: ``oodometer.commands`` (a module that registers a command), ``oodometer.kinds`` (the package of a kind of
method) and ``oodometer.parts`` (what a verb or a page of the core asks for). Methods of others stand in groups of
their kind (`oodometer.registry`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def plugged(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, ``oodometer.`` left out of its name, by their names.

    >>> sorted(plugged("kinds"))
    ['attribution', 'factor', 'shift']
    """
    from importlib.metadata import entry_points  # to find them takes as long as to import numpy

    return {entry.name: entry for entry in entry_points(group=f"oodometer.{group}")}


def load(group: str, name: str, what: str = "") -> Any:
    """What a package gives under a name of a group; ``what`` says it in words.

    Raises `UsageError` where no package does, or where the package that is said to is not there.

    >>> load("kinds", "shift").__name__
    'oodometer_lab.shifts'
    >>> load("kinds", "smell")
    Traceback (most recent call last):
    oodometer.errors.UsageError: smell needs a package that is not installed here; pip install oodometer brings ...
    """
    entry = plugged(group).get(name)
    if entry is not None:
        try:
            return entry.load()
        except ModuleNotFoundError as error:
            if not entry.module.startswith(error.name or "?"):
                raise
    package = "a package" if entry is None else entry.module.partition(".")[0]
    raise UsageError(
        f"{what or name} needs {package} that is not installed here; "
        "pip install oodometer brings the lab with live models, shifts, judges and recipes"
    )
