"""MLflow: a result into a run: numbers as metrics, chunks as steps, options as parameters, files as artifacts."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

from ..errors import MissingExtraError
from . import Entries, entries_of

_MOST = 1000  # metrics that one request takes


def log(
    result: Any, *, prefix: str = "", page: bool | None = None, run_name: str | None = None
) -> str:
    """Log what a verb found to the run of MLflow that is open, or to a new one; returns its id.

    Metrics: ``accuracy``, ``accuracy.lower``, ``accuracy.upper`` and whatever else the result holds; by chunk
    ``chunk.accuracy``, with the number of the chunk as step and its first day as time. Parameters begin with
    ``oodometer.``; a run keeps one value of each, so give results of one run their own ``prefix``, which stands before
    every name. Artifacts in a folder ``oodometer``: JSON, Markdown and the page (``page=False``: without charts).

    A run that is started here is called ``run_name`` (by default after the command) and is ended here; where it is
    kept is MLflow's own setting. Raises `MissingExtraError` without MLflow.
    """
    try:
        import mlflow
        from mlflow.entities import Metric, Param
    except ImportError as error:
        raise MissingExtraError("logging to MLflow", "mlflow", extra="mlflow") from error
    entries = entries_of(result, page)
    active = mlflow.active_run()
    begun = (
        mlflow.start_run(run_name=run_name or f"oodometer {entries.command}")
        if active is None
        else None
    )
    with begun if begun is not None else nullcontext():
        run: str = (begun or active).info.run_id
        client = mlflow.MlflowClient()
        metrics = [Metric(*item) for item in _metrics(entries, prefix)]
        params = [
            Param(f"{prefix}oodometer.{name}", value) for name, value in entries.options.items()
        ]
        client.log_batch(run, metrics=metrics[:_MOST], params=params)
        for first in range(_MOST, len(metrics), _MOST):
            client.log_batch(run, metrics=metrics[first : first + _MOST])
        for name, text in entries.files.items():
            client.log_text(run, text, f"{prefix}oodometer/{name}")
    return run


def _metrics(entries: Entries, prefix: str) -> list[tuple[str, float, int, int]]:
    """Key, value, time in milliseconds, step."""
    now = int(1000 * time.time())
    out = [(prefix + name, value, now, 0) for name, value in entries.numbers.items()]
    for step in entries.steps:
        at = now if step.time is None else int(1000 * step.time)
        out += [(prefix + name, value, at, step.number) for name, value in step.numbers.items()]
    return out
