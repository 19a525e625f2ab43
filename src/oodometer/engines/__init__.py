"""Engines: where summarize and merge run, on one core, on all cores, or on a cluster."""

from __future__ import annotations

from ..errors import UsageError
from .base import Engine
from .local import LocalEngine

__all__ = ["Engine", "LocalEngine", "create_engine"]


def create_engine(name: str, workers: int | None = None, *, processes: bool = False) -> Engine:
    """The engine under a name; `UsageError` for an unknown one.

    >>> type(create_engine("local")).__name__
    'LocalEngine'
    """
    if name == "local":
        return LocalEngine(workers, processes=processes)
    raise UsageError(f"unknown engine {name!r}; expected local")
