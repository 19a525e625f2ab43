"""Weights & Biases: a result into a run: a summary, chunks as steps, a table, the page, and a versioned artifact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import MissingExtraError
from . import Step, entries_of


def log(
    result: Any, *, prefix: str = "", page: bool | None = None, run: Any = None, **init: Any
) -> str:
    """Log what a verb found to ``run``, to the run that is open, or to a new one; returns its id.

    A new one is that of ``wandb.init(**init)``. The summary holds ``accuracy``, ``accuracy.lower``, ``accuracy.upper``
    and whatever else the result holds; chunks are logged as ``chunk.accuracy`` over ``chunk``, so that they draw a line
    of their own. The first table of the result is a `wandb.Table`, the page a `wandb.Html` (``page=False``: without
    charts), options go to the configuration under ``oodometer``, and an artifact of type "oodometer" keeps JSON,
    Markdown and page. ``prefix`` stands before every name. A run that is started here is finished here. Raises
    `MissingExtraError` without the library.
    """
    try:
        import wandb
    except ImportError as error:
        raise MissingExtraError("logging to Weights & Biases", "wandb", extra="wandb") from error
    entries = entries_of(result, page)
    into = run if run is not None else wandb.run
    starts_run = into is None
    if starts_run:
        into = wandb.init(**{"job_type": f"oodometer {entries.command}", **init})
    try:
        into.config.update({f"{prefix}oodometer": dict(entries.options)}, allow_val_change=True)
        _log_steps(into, entries.steps, prefix)
        columns = list(entries.table.columns)
        cells = [[_cell(row.get(name)) for name in columns] for row in entries.table.rows]
        html = next(text for name, text in entries.files.items() if name.endswith(".html"))
        media = {
            f"{prefix}oodometer.table": wandb.Table(columns=columns, data=cells),
            f"{prefix}oodometer.page": wandb.Html(html, inject=False),
        }
        into.log(media)
        into.summary.update({prefix + name: value for name, value in entries.numbers.items()})
        name = re.sub(
            r"[^\w.-]", "-", f"{prefix}oodometer-{entries.command}-{into.id}", flags=re.ASCII
        )
        artifact = wandb.Artifact(name, type="oodometer", metadata=dict(entries.options))
        for file_name, text in entries.files.items():
            with artifact.new_file(file_name, encoding="utf-8") as file:
                file.write(text)
        into.log_artifact(artifact)
        return str(into.id)
    finally:
        if starts_run:
            into.finish()


def _log_steps(into: Any, steps: Sequence[Step], prefix: str) -> None:
    """Log each chunk with its numbers, which are drawn over the chunks."""
    if steps:
        into.define_metric(f"{prefix}chunk")
    for name in dict.fromkeys(name for step in steps for name in step.numbers):
        into.define_metric(f"{prefix}{name}", step_metric=f"{prefix}chunk")
    for step in steps:
        numbers = {prefix + name: value for name, value in step.numbers.items()}
        into.log({f"{prefix}chunk": step.number, f"{prefix}chunk.name": step.name, **numbers})


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float)) else str(value)
