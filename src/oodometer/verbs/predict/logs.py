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
                    raise _no_log(os.fspath(one))
            return True
        said = model if isinstance(model, (str, os.PathLike)) else type(model).__name__
        raise UsageError(
            f"{said} is no log that is there, and a live model needs DATA: oodometer predict MODEL DATA --out FILE"
        )
    folder = isinstance(model, (str, os.PathLike)) and os.path.isdir(model)
    names = os.listdir(model) if folder else []
    logs = any(one.endswith(".eval") or (one.startswith("samples_") and ".jsonl" in one) for one in names)
    if log_kind(model) is not None or (logs and not any(one.endswith("config.json") for one in names)):
        raise UsageError(
            f"{model} holds the answers already: leave {data if isinstance(data, str) else 'DATA'} out; "
            "several logs go in as a folder"
        )
    if log.metric is not None or log.filter is not None:
        raise UsageError("--metric and --filter are of logs; a live model is judged by its labels")
    return False


def _no_log(file: str) -> InputError:
    """The error for a file that is no log: what it is, and what can be done with it."""
    if os.path.getsize(file) == 0:
        return InputError("a log", got="an empty file", remedy="check what wrote it", file=file)
    if file.lower().endswith((".eval.xz", ".eval.gz", ".eval.zst", ".eval.bz2")):
        return InputError("a log of inspect as it was written", got="a packed one", remedy="unpack it first", file=file)
    if os.path.basename(file).startswith("results_"):
        folder = os.path.dirname(file) or "."
        beside = sorted(one for one in os.listdir(folder) if one.startswith("samples_"))
        first = os.path.join(os.path.dirname(file), beside[0]) if beside else ""
        remedy = f"read the samples beside it: `{read_command(first)}`" if first else "run it again with --log_samples"
        return InputError("a log with answers", got="the results alone", remedy=remedy, file=file)
    try:
        fields = as_source(file).fields
    except OodometerError:
        fields = ()
    quoted = shlex.quote(file)
    remedy = f"a model has to answer first: oodometer predict MODEL {quoted} --out FILE"
    if {"label", "correct"} & set(fields):
        remedy = f"it needs no reading: `oodometer evaluate {quoted}`"
    elif fields:
        remedy = f"estimate with it: oodometer estimate REFERENCE {quoted}"
    got = f"a predictions file ({', '.join(fields[:4])})" if fields else "another file"
    expected = "a log of lm-evaluation-harness (samples_*.jsonl) or of inspect (.eval, .json)"
    return InputError(expected, got=got, remedy=remedy, file=file)


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


def predicted_in_log(logs: Any, out: str | os.PathLike[str] | None, log: LogOptions) -> Prediction:
    """Read logs, write the predictions file, and say what came of it."""
    found = read_logs(logs, log)
    record = found.record
    if out is not None:
        write_predictions(record, out)
    tasks = ", ".join(found.tasks[:3]) + (f" and {len(found.tasks) - 3} more" if len(found.tasks) > 3 else "")
    accuracy, repeated = known_accuracy(record)
    name = str(logs) if isinstance(logs, (str, os.PathLike)) else str(Path(str(logs[0])).parent)
    return Prediction(
        __version__,
        found.model or name,
        tasks,
        None if out is None else str(out),
        len(record),
        (),
        record.fields,
        accuracy,
        len(found.skipped),
        found.skipped[:EXAMPLES],
        warnings=(*found.warnings, *repeated),
        log=name,
        metrics=found.metrics,
        record=record if out is None else None,
    )
