"""Plugins: what another installed package adds to this one, found by its entry points and loaded when it is used.

The lab (``oodometer_lab``: live models, shifts of inputs, judges, attributions, corpora, recipes) is such a package.
Groups: ``oodometer.commands`` (a module that registers a command), ``oodometer.kinds`` (the package of a kind of
method) and ``oodometer.parts`` (what a verb or a page of the core asks for). Methods of others stand in groups of
their kind (`oodometer.registry`).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def _entries(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by their names, also those of packages that are not there any more."""
    from importlib.metadata import entry_points  # to find them takes as long as to import numpy

    return {entry.name: entry for entry in entry_points(group=f"oodometer.{group}")}


def plugged(group: str) -> tuple[str, ...]:
    """The names of a group (``oodometer.`` left out of its name) whose packages are here.

    >>> sorted(plugged("kinds"))
    ['attribution', 'factor', 'shift']
    """
    return tuple(name for name, entry in _entries(group).items() if find_spec(_package(entry)))


def load(group: str, name: str, what: str = "") -> Any:
    """What a package gives under a name of a group; ``what`` says it in words.

    Raises `UsageError` where no package does, or where the one that would is not installed.

    >>> load("kinds", "shift").__name__
    'oodometer_lab.shifts'
    >>> load("kinds", "smell")
    Traceback (most recent call last):
    oodometer.errors.UsageError: smell needs a package that is not installed here; install oodometer whole, lab and all
    """
    entry = _entries(group).get(name)
    if entry is not None and find_spec(_package(entry)):
        return entry.load()
    package = "a package that" if entry is None else f"{_package(entry)}, which"
    raise UsageError(
        f"{what or name} needs {package} is not installed here; install oodometer whole, lab and all"
    )


def _package(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]
