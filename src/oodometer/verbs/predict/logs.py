"""Logs: a log of an evaluation harness, in which a model has answered already, into a predictions file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError, OodometerError, UsageError
from ...inference.clusters import Clusters, cluster_keys, clustered_share
from ...intervals import clopper_pearson
from ...predictions import Predictions
from ...results import Interval
from ...results.prediction import Prediction
from ...store import as_source, write_predictions
from ...store.harness import LogOptions, log_kind, read_command, read_logs
from ...version import __version__
from .asking import Asked

EXAMPLES = 3  # rows without an answer, which are named


def is_log(model: Any, data: Any, log: LogOptions) -> bool:
    """Whether a log, not a live model, is meant; `UsageError` for what does not go together.

    >>> is_log("model", "data.csv", LogOptions())
    False
    """
    if data is None:
        paths = model if isinstance(model, Sequence) and not isinstance(model, str) else [model]
        if all(isinstance(one, (str, os.PathLike)) and os.path.exists(one) for one in paths) and len(paths):
            for one in paths:
                if os.path.isfile(one) and log_kind(one) is None:
                    _refuse(os.fspath(one))
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


def _refuse(file: str) -> None:
    """Say of a file that is no log what it is, and what can be done with it."""
    if os.path.getsize(file) == 0:
        raise InputError("a log", got="an empty file", remedy="check what wrote it", file=file)
    if file.lower().endswith((".eval.xz", ".eval.gz", ".eval.zst", ".eval.bz2")):
        raise InputError("a log of inspect as it was written", got="a packed one", remedy="unpack it first", file=file)
    if os.path.basename(file).startswith("results_"):
        folder = os.path.dirname(file) or "."
        beside = sorted(one for one in os.listdir(folder) if one.startswith("samples_"))
        first = os.path.join(os.path.dirname(file), beside[0]) if beside else ""
        remedy = f"read the samples beside it: `{read_command(first)}`" if first else "run it again with --log_samples"
        raise InputError("a log with answers", got="the results alone", remedy=remedy, file=file)
    try:
        fields = as_source(file).fields
    except OodometerError:
        fields = ()
    quoted = shlex.quote(file)
    raise InputError(
        "a log of lm-evaluation-harness (samples_*.jsonl) or of inspect (.eval, .json)",
        got=f"a predictions file ({', '.join(fields[:4])})" if fields else "another file",
        remedy=f"it needs no reading: `oodometer evaluate {quoted}`"
        if {"label", "correct"} & set(fields)
        else "estimate with it: oodometer estimate REFERENCE " + quoted
        if fields
        else f"a model has to answer first: oodometer predict MODEL {quoted} --out FILE",
        file=file,
    )


def _is_folder_of_logs(model: Any) -> bool:
    if not isinstance(model, (str, os.PathLike)) or not os.path.isdir(model):
        return False
    names = os.listdir(model)
    return not any(one.endswith("config.json") for one in names) and any(
        one.endswith(".eval") or (one.startswith("samples_") and ".jsonl" in one) for one in names
    )


def known_accuracy(record: Predictions) -> tuple[Interval | None, tuple[str, ...]]:
    """The accuracy where labels are known, and a warning where rows of one id make its interval one of clusters."""
    known = record.known()
    rows, right = len(known), int(known.verdicts.sum())
    if not rows:
        return None, ()
    ids = known.columns.get("id")
    samples = None if ids is None else Clusters.of(cluster_keys(ids), known.verdicts == 1)
    if samples is None or not samples.repeated:
        return Interval(right / rows, *clopper_pearson(right, rows, 0.95), 0.95, "exact"), ()
    limits = clustered_share(samples, rows, right / rows, 0.95)
    said = f"ids repeat: the interval is that of {samples.count} ids, not of {rows} independent rows"
    return Interval(right / rows, *limits, 0.95, "asymptotic"), (said,)


def predicted_in_log(logs: Any, out: str | os.PathLike[str] | None, options: Asked, log: LogOptions) -> Prediction:
    """Read logs, write the predictions file, and say what came of it."""
    if options.named("model", "data", "out", "keep_input", "metric", "filter", "engine", "workers", "progress"):
        raise UsageError("a log holds the answers already: only --metric, --filter and --keep-input go with it")
    found = read_logs(logs, log)
    record = found.record
    if out is not None:
        write_predictions(record, out)
    tasks = ", ".join(found.tasks[:3]) + (f" and {len(found.tasks) - 3} more" if len(found.tasks) > 3 else "")
    accuracy, repeated = known_accuracy(record)
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
        warnings=(*found.warnings, *repeated),
        log=_named(logs),
        metrics=found.metrics,
        record=record if out is None else None,
    )


def _named(logs: Any) -> str:
    """The path, or the folder of several."""
    return str(logs) if isinstance(logs, (str, os.PathLike)) else str(Path(str(logs[0])).parent)
