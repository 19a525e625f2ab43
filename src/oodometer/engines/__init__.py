"""Engines: where summarize and merge run, on one core, on all cores, or on a cluster."""

from __future__ import annotations

from ..errors import UsageError
from .base import Engine
from .local import LocalEngine

__all__ = ["Engine", "LocalEngine", "create_engine"]


def create_engine(name: str, workers: int | None = None) -> Engine:
    """The engine under a name: "local" (threads) or "processes"; `UsageError` for an unknown one.

    Separate processes start slower and then share nothing, which pays for many tens of millions of rows; a script that
    asks for them needs the usual ``if __name__ == "__main__":``.

    >>> type(create_engine("local")).__name__
    'LocalEngine'
    """
    if name == "local":
        return LocalEngine(workers)
    if name == "processes":
        return LocalEngine(workers, processes=True)
    raise UsageError(f"unknown engine {name!r}; expected local or processes")
