"""The verb `read_log`: logs of an evaluation harness, in which a model has answered already, as predictions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, OodometerError, UsageError
from ..inference.clusters import Clusters, cluster_keys, clustered_share
from ..intervals import clopper_pearson
from ..options import verb
from ..predictions import Predictions
from ..results import Interval
from ..results.prediction import Prediction
from ..store import as_source, refuse_clashes, write_predictions
from ..store.harness import LogOptions, log_kind, read_command, read_logs
from ..version import __version__
from .model_options import ReadOptions

EXAMPLES = 3  # rows without an answer, which are named


@verb(ReadOptions)
def read_log(options: ReadOptions) -> Prediction:
    """Read a log of an evaluation harness into predictions, and write them to a file that every other command reads.
    Raises `InputError` for what is no log, with what to do with it, for a row that cannot be read, and for logs that do
    not belong together.

    >>> import json, pathlib, tempfile
    >>> row = {"doc_id": 0, "doc": {}, "target": "4", "arguments": {}, "resps": [["4"]], "filtered_resps": ["4"]}
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_sums.jsonl"
    >>> _ = path.write_text(json.dumps({**row, "exact_match": 1.0, "metrics": ["exact_match"]}))
    >>> read_log(path).record.columns["id"].tolist()
    ['0']
    """
    logs, out = options.logs, options.out
    paths = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    if not paths or not all(isinstance(one, (str, os.PathLike)) for one in paths):
        raise UsageError(f"expected the path of a log, or a list of them, got {str(logs)[:60] or 'nothing'}")
    refuse_clashes({"the file to write": out}, paths)
    check_out(out)
    for path in paths:
        if os.path.isfile(path) and log_kind(path) is None:
            raise _no_log(os.fspath(path))
    read = read_logs(logs, LogOptions(options.metric, options.filter, options.keep_input))
    record = read.record
    if out is not None:
        write_predictions(record, out)
    tasks = ", ".join(read.tasks[:3]) + (f" and {len(read.tasks) - 3} more" if len(read.tasks) > 3 else "")
    accuracy, repeated = known_accuracy(record)
    name = str(logs) if isinstance(logs, (str, os.PathLike)) else str(Path(str(logs[0])).parent)
    about = (__version__, read.model or name, tasks, None if out is None else str(out), len(record), (), record.fields)
    more: dict[str, Any] = {"log": name, "metrics": read.metrics, "record": record if out is None else None}
    left_out = (len(read.skipped), read.skipped[:EXAMPLES])
    return Prediction(*about, accuracy, *left_out, warnings=(*read.notes, *read.warnings, *repeated), **more)


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


def check_out(out: str | Path | None) -> None:
    """Say before the work that the file could not be written."""
    place, endings = Path(out or ".parquet"), (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
    if out is not None and place.suffix.lower() not in endings:
        raise UsageError(f"cannot write {out}: end the name in {', '.join(endings)}")
    if out is not None and (place.is_dir() or not place.parent.is_dir()):
        why = "it is a folder; name a file" if place.is_dir() else f"there is no folder {place.parent}; make it first"
        raise UsageError(f"cannot write {out}: {why}")
