"""Join: logs of one or several tasks as one record, the task of each row as its group."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...errors import InputError, UsageError
from ...predictions import Predictions
from ..files import opened, translated
from .base import LogOptions
from .inspect_log import read_inspect
from .lm_eval import read_samples

LogKind = Literal["lm_eval", "inspect"]
_HEAD = 1 << 16
_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".eval")
# Names that stand in the first object of such a log; texts of the data may come between them.
_SAMPLES = (b'"doc_id"', b'"doc"')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')


def log_kind(path: Any) -> LogKind | None:
    """Which harness wrote a file; None for anything else."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return None
    try:
        with translated(str(path), "log"), opened(str(path)) as stream:
            head: bytes = stream.read(_HEAD)
    except InputError:
        return None
    if head.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as packed:
                is_log = bool({"header.json", "_journal/start.json"} & set(packed.namelist()))
        except (OSError, ValueError, zipfile.BadZipFile):
            is_log = str(path).endswith(".eval")  # cut off: the reader says so
        return "inspect" if is_log else None
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"{", b"[")):
        return None
    if all(name in head for name in _SAMPLES):
        return "lm_eval"
    return "inspect" if start.startswith(b"{") and _INSPECT.search(head) and b'"version"' in head else None


def log_files(logs: Any) -> list[tuple[str, LogKind]]:
    """The files of one path, a folder or several paths, each with its kind; `InputError` for what is no log."""
    several = isinstance(logs, Sequence) and not isinstance(logs, (str, bytes))
    out: list[tuple[str, LogKind]] = []
    for path in logs if several else [logs]:
        if os.path.isdir(path):
            files = sorted(file for file in Path(path).iterdir() if file.name.lower().endswith(_ENDINGS))
            inside = [(str(name), kind) for name in files if (kind := log_kind(name)) is not None]
            if not inside:
                below = sorted({str(log.parent) for log in Path(path).rglob("samples_*.jsonl")})
                expected = "logs of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json)"
                remedy = f"name {below[0]}" if below else "write them with --log_samples --output_path"
                raise InputError(expected, got="a folder without one", file=str(path), remedy=remedy)
            out += inside
            continue
        kind = log_kind(path)
        if kind is None:
            empty = os.path.exists(path) and not os.path.getsize(path)
            got = "an empty file" if empty else "another file" if os.path.exists(path) else "no such file"
            raise InputError("a log", got=got, remedy="check the path, and what wrote it", file=str(path))
        out.append((str(path), kind))
    if not out:
        raise InputError("at least one log", got="none", remedy="name a log or a folder of logs")
    return out


def read_command(log: str) -> str:
    """The command that makes a predictions file of a log, named after it."""
    stem = re.sub(r"(\.jsonl|\.json|\.eval)(\.gz)?$", "", os.path.basename(os.path.normpath(log)))
    return f"oodometer read {shlex.quote(log)} --out {shlex.quote(stem)}.parquet"


def refuse_logs(path: Any) -> None:
    """Raise `InputError` where a path, or one of several, is a log, or a folder of logs: it is to be read first."""
    for single in path if isinstance(path, Sequence) and not isinstance(path, str) else [path]:
        name = os.fspath(single)
        folder = os.path.isdir(name)
        inside = [os.path.join(name, file) for file in sorted(os.listdir(name))] if folder else [name]
        if any(log_kind(file) for file in inside if file.lower().endswith(_ENDINGS)):
            got = "a folder with logs of an evaluation" if folder else "the log of an evaluation"
            raise InputError("a predictions file", got=got, file=name, remedy=f"read it first: `{read_command(name)}`")


_READERS = {"lm_eval": read_samples, "inspect": read_inspect}


@dataclass(frozen=True)
class LogRecord:
    """A record, its tasks, who answered (None where logs do not say), the metrics that say what is right, and what was
    left out.
    """

    record: Predictions
    tasks: tuple[str, ...]
    model: str | None
    metrics: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def read_logs(logs: Any, options: LogOptions | None = None) -> LogRecord:
    """Read a log, a folder of logs, or a list of them, each of one task.

    ``logs`` are ``samples_*.jsonl`` of lm-evaluation-harness or ``.eval`` and ``.json`` of inspect. Rows stand in the
    order of the logs. The column ``id`` has their names, behind the task where there are several: a sample that was
    answered in several epochs has one name, and ``epoch`` tells them apart. ``metric`` names what `correct` rests on.
    Raises `InputError` for what is no log, a row that cannot be read, and logs that do not belong together.
    """
    options, files = options or LogOptions(), log_files(logs)
    without = next((file for file, kind in files if kind != "lm_eval"), None)
    if options.filter is not None and without is not None:
        raise UsageError(f"--filter is of lm-evaluation-harness; {without} is a log of inspect: use --metric")
    try:
        read = []
        for file, kind in files:
            with translated(file, "log"):  # what holds a number where a list should be is no log, and no traceback
                read.append(_READERS[kind](file, options))
        first, seen = read[0], {read[0].task: read[0].file}
        for answers in read[1:]:
            if answers.task in seen:
                remedy = "name the log of one run"
                got = f"{answers.task} as in {seen[answers.task]}"
                raise InputError("logs of different tasks", got=got, file=answers.file, remedy=remedy)
            seen[answers.task] = answers.file
            if answers.model != first.model:
                remedy = "write a file for each model"
                expected = f"answers of {first.model}, as in {first.file}"
                raise InputError(expected, got=str(answers.model), file=answers.file, remedy=remedy)
            for name in ("candidate_scores", "output"):
                if (name in answers.columns) != (name in first.columns):
                    having, lacking = (answers, first) if name in answers.columns else (first, answers)
                    expected, remedy = (
                        f"`{name}` in each log, as in {having.file}",
                        "write a file for each kind of task",
                    )
                    raise InputError(expected, got="none", file=lacking.file, remedy=remedy)
    except InputError as error:
        if len(files) == 1:
            raise
        others = ", ".join(shlex.quote(file) for file, _ in files[1:])
        remedy = f"read each by itself: `{read_command(files[0][0])}`, and so {others}"
        raise InputError("logs that go into one file", got=f"{len(files)} logs; {error}", remedy=remedy) from None
    several = len(read) > 1
    # columns that all logs have; where label == prediction says what is right, `correct` is not repeated
    names = [name for name in read[0].columns if all(name in answers.columns for answers in read)]
    if "label" in names and "correct" in names and all(answers.label_decides for answers in read):
        names.remove("correct")
    elif "label" in names and not all("prediction" in answers.columns or answers.label_decides for answers in read):
        names.remove("label")
    columns: dict[str, Any] = {}
    for name in names:
        values = [value for answers in read for value in answers.columns[name]]
        columns[name] = _objects(values) if isinstance(values[0], str) else values
    metrics = [answers.metric for answers in read for _ in answers.ids]
    extra: dict[str, Any] = {"metric": metrics} if any(metrics) else {}
    if "epoch" in columns:
        extra["epoch"] = columns.pop("epoch")
    # A plain list of rows as an array of objects: numbers of different tasks may be ids of one another.
    ids = [f"{answers.task}/{name}" if several else name for answers in read for name in answers.ids]
    columns["group"] = _objects([answers.task for answers in read for _ in answers.ids])
    warnings = [warning for answers in read for warning in answers.warnings]
    if not any(name in columns for name in ("candidate_scores", "confidence")):
        warnings.append(
            "nothing in the logs tells how sure the model was, so there is no confidence: `evaluate` gives accuracy, "
            "`discriminate` learns from `input` and `output`"
        )
    try:
        record = Predictions.from_arrays(**columns, columns={"id": _objects(ids), **extra}, source=read[0].file)
    except InputError as error:
        raise error.at(file=", ".join(answers.file for answers in read[:3])) from None
    left_out = [(answers.task, *pair) for answers in read for pair in answers.skipped]
    skipped = tuple((f"{task}/{name}" if several else name, why) for task, name, why in left_out)
    tasks, named = tuple(answers.task for answers in read), tuple(dict.fromkeys(filter(None, metrics)))
    return LogRecord(record, tasks, read[0].model, named, skipped, tuple(warnings))


def _objects(values: Sequence[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
