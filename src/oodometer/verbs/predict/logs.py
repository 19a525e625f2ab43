"""Logs: a log of an evaluation harness, in which a model has answered already, into a predictions file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...intervals import clopper_pearson
from ...results import Interval
from ...results.prediction import Prediction
from ...store import write_predictions
from ...store.harness import LogOptions, log_kind, read_logs
from ...version import __version__
from .options import PredictOptions

__all__ = ["is_log", "predicted_in_log"]

EXAMPLES = 3  # rows without an answer, which are named


def is_log(model: Any, data: Any, log: LogOptions) -> bool:
    """Whether a log, not a live model, is meant; `UsageError` for what does not go together.

    >>> is_log("model", "data.csv", LogOptions())
    False
    """
    if data is None:
        paths = model if isinstance(model, Sequence) and not isinstance(model, str) else [model]
        if all(isinstance(one, (str, os.PathLike)) and os.path.exists(one) for one in paths) and len(paths):
            return True
        said = model if isinstance(model, (str, os.PathLike)) else type(model).__name__
        raise UsageError(
            f"{said} is no log that is there, and a live model needs DATA: oodometer predict MODEL DATA --out FILE"
        )
    if log_kind(model) is not None or _is_folder_of_logs(model):
        raise UsageError(
            f"{model} holds the answers already: leave {data if isinstance(data, str) else 'DATA'} out; "
            "several logs go in as a folder"
        )
    if log.metric is not None or log.filter is not None:
        raise UsageError("--metric and --filter are of logs; a live model is judged by its labels")
    return False


def _is_folder_of_logs(model: Any) -> bool:
    if not isinstance(model, (str, os.PathLike)) or not os.path.isdir(model):
        return False
    names = os.listdir(model)
    return not any(one.endswith("config.json") for one in names) and any(
        one.endswith(".eval") or (one.startswith("samples_") and ".jsonl" in one) for one in names
    )


def predicted_in_log(
    logs: Any, out: str | os.PathLike[str] | None, options: PredictOptions, log: LogOptions
) -> Prediction:
    """Read logs, write the predictions file, and say what came of it."""
    if options != PredictOptions(keep_input=options.keep_input):
        raise UsageError("a log holds the answers already: only --metric, --filter and --keep-input go with it")
    found = read_logs(logs, log)
    record = found.record
    if out is not None:
        write_predictions(record, out)
    verdicts = record.verdicts
    right, rows = int((verdicts == 1).sum()), int((verdicts >= 0).sum())
    samples = len(set(record.columns["id"].tolist()))
    epochs, accuracy, warnings = rows / samples, None, found.warnings
    if epochs > 1:
        warnings += (f"{samples} samples were answered {epochs:g} times each: the interval is that of so many samples",)
    if rows:
        limits = clopper_pearson(right / epochs, rows / epochs, 0.95)
        accuracy = Interval(right / rows, *limits, 0.95, "exact" if epochs == 1 else "asymptotic")
    tasks = ", ".join(found.tasks[:3]) + (f" and {len(found.tasks) - 3} more" if len(found.tasks) > 3 else "")
    return Prediction(
        __version__,
        found.model or _named(logs),
        tasks,
        None if out is None else str(out),
        len(record),
        (),
        record.fields,
        accuracy,
        len(found.skipped),
        found.skipped[:EXAMPLES],
        warnings=warnings,
        log=_named(logs),
        metrics=found.metrics,
        record=record if out is None else None,
    )


def _named(logs: Any) -> str:
    """The path, or the folder of several."""
    return str(logs) if isinstance(logs, (str, os.PathLike)) else str(Path(str(logs[0])).parent)
