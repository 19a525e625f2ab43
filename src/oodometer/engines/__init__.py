"""Engines: where summarize and merge, and tasks, run: on one core, on all cores, or on a cluster."""

from __future__ import annotations

from ..registry import create
from .base import Engine, LocalEngine, run_tasks, task_engine
from .processes import ProcessEngine
from .ray import RayEngine
from .spark import SparkEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "ProcessEngine",
    "RayEngine",
    "SparkEngine",
    "create_engine",
    "run_tasks",
    "task_engine",
]


def create_engine(name: str, workers: int | None = None) -> Engine:
    """The engine under a name.

    name : "local" (threads), "processes", "ray", "spark" or that of another package. An address follows a colon:
        ``ray:HOST:PORT``, ``spark:spark://HOST:PORT``.
    workers : how many work at a time; None takes as many as there are.

    Raises `UsageError` for an unknown name and for fewer than one worker.

    >>> type(create_engine("local")).__name__, create_engine("ray:head:6379").address
    ('LocalEngine', 'head:6379')
    """
    return create("engine", name, workers=workers)  # type: ignore[no-any-return]
