"""Join: logs of one or several tasks as one record, the task of each row as its group."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, UsageError
from ...predictions import Predictions
from ..files import translated
from .base import Answers, LogOptions
from .inspect_log import read_inspect
from .lm_eval import read_samples
from .open import LogKind, log_files, read_command

_READERS = {"lm_eval": read_samples, "inspect": read_inspect}


@dataclass(frozen=True)
class LogRecord:
    """A record, with the tasks it is of, who answered (None where logs do not say), the metrics that say what is right
    (none where no log has one), and what was left out and why.
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
        found = [_read(file, kind, options) for file, kind in files]
        _check_together(found)
    except InputError as error:
        if len(files) == 1:
            raise
        raise InputError(
            "logs that go into one file",
            got=f"{len(files)} logs; {error}",
            remedy=f"read each by itself: `{read_command(files[0][0])}`, and so "
            + ", ".join(shlex.quote(file) for file, _ in files[1:]),
        ) from None
    several = len(found) > 1
    columns = _columns(found)
    extra = {"metric": [one.metric for one in found for _ in one.ids]} if any(one.metric for one in found) else {}
    if "epoch" in columns:
        extra["epoch"] = columns.pop("epoch")
    # A plain list of rows as an array of objects: numbers of different tasks may be ids of one another.
    ids = [f"{one.task}/{name}" if several else name for one in found for name in one.ids]
    columns["group"] = _objects([one.task for one in found for _ in one.ids])
    warnings = [said for one in found for said in one.warnings]
    if not any(name in columns for name in ("candidate_scores", "confidence")):
        warnings.append(
            "nothing in the logs tells how sure the model was, so there is no confidence: `evaluate` gives accuracy, "
            "`discriminate` learns from `input` and `output`"
        )
    try:
        record = Predictions.from_arrays(**columns, columns={"id": _objects(ids), **extra}, source=found[0].file)
    except InputError as error:
        raise error.at(file=", ".join(one.file for one in found[:3])) from None
    return LogRecord(
        record=record,
        tasks=tuple(one.task for one in found),
        model=found[0].model,
        metrics=tuple(dict.fromkeys(one.metric for one in found if one.metric)),
        skipped=tuple((f"{one.task}/{name}" if several else name, why) for one in found for name, why in one.skipped),
        warnings=tuple(warnings),
    )


def _read(file: str, kind: LogKind, options: LogOptions) -> Answers:
    with translated(file, "log"):  # what holds a number where a list should be is no log, and no traceback
        return _READERS[kind](file, options)


def _columns(found: Sequence[Answers]) -> dict[str, Any]:
    """Columns that all logs have; where label == prediction says what is right, `correct` is not repeated."""
    names = [name for name in found[0].columns if all(name in one.columns for one in found)]
    if "label" in names and "correct" in names and all(one.label_decides for one in found):
        names.remove("correct")
    elif "label" in names and not all("prediction" in one.columns or one.label_decides for one in found):
        names.remove("label")
    out: dict[str, Any] = {}
    for name in names:
        values = [value for one in found for value in one.columns[name]]
        out[name] = _objects(values) if isinstance(values[0], str) else values
    return out


def _objects(values: Sequence[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _check_together(found: Sequence[Answers]) -> None:
    """Different tasks, one model, and the same kind of answer."""
    first, seen = found[0], {found[0].task: found[0].file}
    for one in found[1:]:
        if one.task in seen:
            raise InputError(
                "logs of different tasks",
                got=f"{one.task} as in {seen[one.task]}",
                file=one.file,
                remedy="name the log of one run",
            )
        seen[one.task] = one.file
        if one.model != first.model:
            raise InputError(
                f"answers of {first.model}, as in {first.file}",
                got=str(one.model),
                file=one.file,
                remedy="write a file for each model",
            )
        for name in ("candidate_scores", "output"):
            if (name in one.columns) != (name in first.columns):
                having, lacking = (one, first) if name in one.columns else (first, one)
                raise InputError(
                    f"`{name}` in each log, as in {having.file}",
                    got="none",
                    file=lacking.file,
                    remedy="write a file for each kind of task",
                )
