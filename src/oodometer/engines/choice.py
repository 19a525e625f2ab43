"""Choice: the engine of tasks, from what a caller said of engine and workers."""

from __future__ import annotations

from ..errors import UsageError
from ..registry import create
from .base import Engine
from .local import LocalEngine


def task_engine(engine: str | Engine | None, workers: int | None, *, gpu: bool = False) -> Engine | None:
    """Where tasks run; None where nothing was said: then the work is done in this process as it always is.

    Several ``workers`` without an engine are processes of this machine. The engine "local" does one task after
    another. ``gpu`` says that the tasks use the GPU of this machine: then one at a time, if nothing else is said,
    except on Ray, which shares out GPUs by itself. `UsageError` for several workers of the engine "local".

    >>> task_engine(None, None) is None
    True
    >>> task_engine(None, 4).name, task_engine("processes", None, gpu=True).workers
    ('processes', 1)
    """
    if engine is None and workers is None:
        return None
    if isinstance(engine, Engine) or (engine is not None and not isinstance(engine, str)):
        return engine
    name = engine or ("local" if workers == 1 else "processes")
    if name == LocalEngine.name:
        if workers not in (None, 1):
            raise UsageError(
                f"the engine local does one task after another in this process, not {workers} at a time; "
                "take --engine processes"
            )
        return LocalEngine(workers=1)
    if workers is None and gpu and name.partition(":")[0] != "ray":
        workers = 1
    found: Engine = create("engine", name, workers=workers)
    return found
