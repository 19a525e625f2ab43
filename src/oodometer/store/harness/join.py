"""Join: logs of one or several tasks as one record, the task of each row as its group; which harness wrote a file."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...arrays import Ragged
from ...errors import InputError, UsageError
from ...fields import FIELDS
from ...predictions import Predictions
from ..files import opened, translated
from . import others
from .base import Answers, LogOptions, NoMetric
from .inspect_log import read_inspect, run_of
from .lm_eval import NAME, Totals, read_samples

LogKind = Literal[
    "lm_eval",
    "inspect",
    "helm",
    "lighteval",
    "opencompass",
    "alpaca_eval",
    "simple_evals",
    "uqlm",
    "squad",
    "chat",
]
_HEAD = 1 << 16
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".arrow", ".feather", ".npz", ".xlsx")
_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".eval", ".parquet")
# Names that stand in the first object of such a log; texts of the data may come between them.
_SAMPLES = (b'"doc_id"', b'"doc"')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')
_FORMS: dict[LogKind, re.Pattern[bytes]] = {  # of the other files of JSON, by what they begin with
    "simple_evals": re.compile(rb'(?s)\{(?=.*"score"\s*:)(?=.*"metrics"\s*:)(?=.*"htmls"\s*:)'),
    "uqlm": re.compile(rb'\{\s*"data"\s*:\s*\{\s*"(prompts|responses)"'),
    "opencompass": re.compile(
        rb'(?s)\{\s*"0"\s*:\s*\{|\{.*"details"\s*:\s*[{\[].*"(pred|predictions|references|(is_|cascade_)?correct)"\s*:'
    ),
    "alpaca_eval": re.compile(
        rb'(?s)[\[{](?=.*"instruction"\s*:)(?=.*"(preference|generator_2|generator)"\s*:)'
    ),
    "chat": re.compile(rb'(?s)[\[{].*"messages"\s*:\s*\[\s*\{[^}]*"role"\s*:'),
}


LOG_NAMES: dict[str, str] = {
    "lm_eval": "lm-evaluation-harness",
    "helm": "HELM",
    "opencompass": "OpenCompass",
    "squad": "SQuAD predictions",
    "alpaca_eval": "AlpacaEval",
    "simple_evals": "simple-evals",
    "chat": "a chat with roles",
}
_MOST_BESIDE = 200  # files of a folder that are looked at for what is left out


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
    if os.path.basename(path) == others.STATS:
        return "helm"
    if head.startswith(b"PAR1"):
        return "lighteval" if others.is_details(str(path)) else None
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"{", b"[")):
        return None
    if all(name in head for name in _SAMPLES):
        return "lm_eval"
    if start.startswith(b"{") and _INSPECT.search(head) and b'"version"' in head:
        return "inspect"
    kind = next((kind for kind, form in _FORMS.items() if form.match(start)), None)
    return kind or (
        "squad" if str(path).endswith(".json") and others.is_answers(str(path), start) else None
    )


def log_files(logs: Any) -> tuple[list[tuple[str, LogKind]], list[str]]:
    """The files of one path, a folder or several paths, each with its kind, and what of a folder was left out: older
    runs of a task. `InputError` for what is no log.
    """
    several = isinstance(logs, Sequence) and not isinstance(logs, (str, bytes))
    out, notes = list[tuple[str, LogKind]](), list[str]()
    for path in logs if several else [logs]:
        kind = log_kind(path)
        if os.path.isdir(path):
            inside = _inside(path)
            if not inside:
                below = sorted(
                    {str(log.parent) for log in Path(path).rglob("*") if log_kind(log) is not None}
                )
                inside = [log for folder in below for log in _inside(folder)]
                if len(below) != 1 and {kind for _, kind in inside} != {
                    "helm"
                }:  # of the model, or one for each task
                    expected = (
                        "logs of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json)"
                    )
                    got = f"{len(below)} folders with logs" if below else "a folder without one"
                    remedy = f"name one of its folders: {', '.join(f'`{read_command(each)}`' for each in below[:5])}"
                    remedy = remedy if below else "write them with --log_samples --output_path"
                    raise InputError(expected, got=got, file=str(path), remedy=remedy)
            newest, older = _newest(inside)
            out += newest
            if older:
                named = ", ".join(map(os.path.basename, older[:3])) + ", ..." * (len(older) > 3)
                notes.append(
                    f"{path}: the newest run of each task is read; {len(older)} older left out: {named}"
                )
        elif kind is None:
            empty = os.path.exists(path) and not os.path.getsize(path)
            got = (
                "an empty file"
                if empty
                else "another file"
                if os.path.exists(path)
                else "no such file"
            )
            raise InputError(
                "a log", got=got, remedy="check the path, and what wrote it", file=str(path)
            )
        else:
            out.append((str(path), kind))
    if not out:
        raise InputError("at least one log", got="none", remedy="name a log or a folder of logs")
    return out, notes


def _inside(folder: Any) -> list[tuple[str, LogKind]]:
    """The logs of a folder, by name."""
    files = sorted(file for file in Path(folder).iterdir() if file.name.lower().endswith(_ENDINGS))
    files = [file for file in files if file.name == others.STATS] or files
    return [(str(name), kind) for name in files if (kind := log_kind(name)) is not None]


def _newest(files: Sequence[tuple[str, LogKind]]) -> tuple[list[tuple[str, LogKind]], list[str]]:
    """The newest log of each task, of inspect those that came to their end first, and the others."""
    by_task: dict[Any, tuple[Any, str]] = {}
    older = []
    for file, kind in files:
        match = NAME.fullmatch(os.path.basename(file))
        task, when = (match["task"], (True, match["date"] or "")) if match else (file, (True, ""))
        if kind == "inspect":
            task, when = run_of(file)
        before = by_task.get((kind, task))
        totals = (
            [Totals.beside(log) for log in (file, before[1])]
            if before is not None and kind == "lm_eval"
            else []
        )
        if before is not None and (
            before[0] == when or len({each.model for each in totals if each}) > 1
        ):
            task = file  # which of them is meant is not known
        elif before is not None:
            older.append(file if when < before[0] else before[1])
        if before is None or not when < before[0]:
            by_task[kind, task] = (when, file)
    return [(file, kind) for file, kind in files if file not in older], older


def left_out_of(folder: str, files: Sequence[tuple[str, LogKind]]) -> list[str]:
    """What lies in a folder and is not read: logs of other kinds and in other folders, and tables; with what they are.
    Older runs of a task, which stand beside it, are named elsewhere.
    """
    read = {os.path.abspath(file) for file, _ in files}
    kinds = {(os.path.dirname(os.path.abspath(file)), kind) for file, kind in files}
    logs: dict[tuple[str, str], list[str]] = {}
    tables: list[str] = []
    for path in islice(_files_below(folder), _MOST_BESIDE):
        parent, kind = os.path.dirname(os.path.abspath(path)), log_kind(path)
        if os.path.abspath(path) in read or (parent, kind) in kinds or (parent, "helm") in kinds:
            continue
        name = os.path.relpath(path, folder)
        if kind is not None and kind != "squad":  # as many a file of settings looks
            logs.setdefault((os.path.dirname(name), LOG_NAMES.get(kind, kind)), []).append(name)
        elif kind is None and name.lower().endswith(_TABLES):
            tables.append(name)
    said = [
        f"{below or names[0]} ({kind}{f', {len(names)} logs' if len(names) > 1 else ''})"
        for (below, kind), names in logs.items()
    ]
    said += [f"{', '.join(tables[:3])}{', ...' * (len(tables) > 3)} (no log)"] if tables else []
    return [f"{folder}: left out: {', '.join(said)}; name one to read it"] if said else []


def _files_below(folder: str) -> Iterator[str]:
    """Files of a folder and of those in it, without hidden ones, in their order."""
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        yield from (
            os.path.join(at, name) for name in sorted(names) if not name.startswith((".", "_"))
        )


def read_command(log: str) -> str:
    """The command that makes a predictions file of a log, named after it."""
    stem = re.sub(r"(\.jsonl|\.json|\.eval)(\.gz)?$", "", os.path.basename(os.path.normpath(log)))
    return f"oodometer read {shlex.quote(log)} --out {shlex.quote(stem)}.parquet"


def refuse_logs(path: Any) -> None:
    """Raise `InputError` where a path, or one of several, is a log, or a folder of logs: it is to be read first."""
    for single in path if isinstance(path, Sequence) and not isinstance(path, str) else [path]:
        name = os.fspath(single)
        folder = os.path.isdir(name)
        inside = (
            [os.path.join(name, file) for file in sorted(os.listdir(name))] if folder else [name]
        )
        if any(log_kind(file) for file in inside if file.lower().endswith(_ENDINGS)):
            got = "a folder with logs of an evaluation" if folder else "the log of an evaluation"
            raise InputError(
                "a predictions file",
                got=got,
                file=name,
                remedy=f"read it first: `{read_command(name)}`",
            )


_READERS = {"lm_eval": read_samples, "inspect": read_inspect, **others.READERS}


@dataclass(frozen=True)
class LogRecord:
    """What logs hold: a record of all rows with the columns that all logs have, one of each task with all of its own,
    who answered (None where logs do not say), the metrics that tell how good an answer is, and what was left out.

    left_out : columns of some tasks that the joint record lacks -> their tasks. notes : what was chosen where a log
    leaves a choice.
    """

    record: Predictions
    parts: Mapping[str, Predictions]
    model: str | None
    metrics: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, in the order of the logs."""
        return tuple(self.parts)


def read_logs(logs: Any, options: LogOptions | None = None) -> LogRecord:
    """Read a log, a folder of logs, or a list of them, each of one task.

    ``logs`` are ``samples_*.jsonl`` of lm-evaluation-harness or ``.eval`` and ``.json`` of inspect. Rows stand in the
    order of the logs. The column ``id`` has their names, behind the task where there are several: a sample that was
    answered in several epochs has one name, and ``epoch`` tells them apart. ``metric`` names what `correct` or `score`
    rests on. Of several logs, those without a number for each row are left out, with a warning. Raises `InputError` for
    what is no log, a row that cannot be read, and logs that do not belong together.
    """
    options, (files, notes) = options or LogOptions(), log_files(logs)
    given = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    options = replace(options, several=len(files) > 1)
    without = next((file for file, kind in files if kind != "lm_eval"), None)
    if options.filter is not None and without is not None:
        raise UsageError(
            f"--filter is of lm-evaluation-harness; {without} is of another kind: use --metric"
        )
    beside = [
        text
        for path in given
        if os.path.isdir(path)
        for text in left_out_of(os.fspath(path), files)
    ]
    read, warnings, without_metric = list[Answers](), beside, list[NoMetric]()
    for file, kind in files:
        try:
            with translated(
                file, "log"
            ):  # what holds a number where a list should be is no log, and no traceback
                read.append(_READERS[kind](file, options))
        except NoMetric as error:
            without_metric.append(error)
            warnings.append(f"left out: {error}")
    if not read:
        raise without_metric[0]
    _check(read, options)
    several, record = len(read) > 1, _record(read, several=len(read) > 1)
    parts = {
        answers.task: _record([answers], several=False) if several else record for answers in read
    }
    lacks = {
        task: {*part.fields, *part.columns} - {*record.fields, *record.columns}
        for task, part in parts.items()
    }
    lacking = sorted(set().union(*lacks.values()))
    left_out = {name: tuple(task for task in parts if name in lacks[task]) for name in lacking}
    notes += [note for answers in read for note in answers.notes]
    warnings += [warning for answers in read for warning in answers.warnings]
    if (
        record.confidence is None
        and record.probabilities is None
        and not {"epoch", "samples"} & {*record.columns}
    ):
        text = "nothing in the logs tells how sure the model was, so there is no confidence"
        notes.append(
            f"{text}: `evaluate` gives accuracy, `discriminate` learns from `input` and `output`"
        )
    model = next((answers.model for answers in read if answers.model), None)
    metrics = tuple(dict.fromkeys(answers.metric for answers in read if answers.metric))
    skipped = (
        (f"{each.task}/{name}" if several else name, why)
        for each in read
        for name, why in each.skipped
    )
    return LogRecord(
        record, parts, model, metrics, tuple(skipped), tuple(notes), tuple(warnings), left_out
    )


def _check(read: Sequence[Answers], options: LogOptions) -> None:
    """Raise `InputError` where logs do not belong together, or none has what was asked for."""
    seen: dict[str, Answers] = {}
    named = [answers for answers in read if answers.model is not None]
    for answers in read:
        if answers.model is not None and answers.model != named[0].model:
            remedy = f"read each by itself: `{read_command(named[0].file)}`, `{read_command(answers.file)}`"
            expected = f"answers of {named[0].model}, as in {named[0].file}"
            raise InputError(expected, got=str(answers.model), file=answers.file, remedy=remedy)
        before = seen.setdefault(answers.task, answers)
        if before is not answers:
            remedy = f"they are two runs; read each by itself: `{read_command(before.file)}`"
            got = f"{answers.task} as in {before.file}"
            raise InputError("logs of different tasks", got=got, file=answers.file, remedy=remedy)
    names = f"the tasks are {', '.join(seen)}"
    for task, metric in options.table.items():
        plain = [
            answers
            for answers in read
            if answers.metric.partition(",")[0].partition(">=")[0] in metric
        ]
        if (task not in seen) if task is not None else (len(read) > 1 and not plain):
            got = f"{metric}, which none has" if task is None else task
            raise InputError(
                "a task=metric of these logs", got=got, file=read[0].file, remedy=names
            )
    if (
        options.filter is not None
        and options.several
        and all(answers.filter != options.filter for answers in read)
    ):
        got, remedy = (
            f"{options.filter!r}, which none has",
            "name that of a task: `--metric task=metric:filter`",
        )
        raise InputError(
            "a filter of these logs", got=got, file=read[0].file, remedy=f"{remedy}; {names}"
        )


def _record(read: Sequence[Answers], *, several: bool) -> Predictions:
    """One record of logs, with the columns that all of them have."""
    own: list[dict[str, Any]] = [dict(answers.columns) for answers in read]
    for part in (
        own if any("score" in part for part in own) else ()
    ):  # what is right is 1, of what is graded elsewhere
        if "score" not in part and "correct" in part:
            part["score"] = [float(right) for right in part["correct"]]
    shared = [name for name in own[0] if all(name in columns for columns in own)]
    if "candidate_scores" not in shared and all(
        {"candidate_scores", "confidence"} & {*columns} for columns in own
    ):
        for part in own:  # of options that some logs have, the probability of the best one
            if "confidence" not in part:
                scores = part["candidate_scores"]
                part["confidence"] = [
                    float(1 / np.exp(np.subtract(row, max(row))).sum()) for row in scores
                ]
        shared = [*(name for name in shared if name != "confidence"), "confidence"]
    # where label == prediction tells what is right, `correct` is not repeated
    if "candidate_scores" not in shared:
        shared = [name for name in shared if name not in ("label", "prediction")]
    elif (
        "label" in shared and "correct" in shared and all(answers.label_decides for answers in read)
    ):
        shared.remove("correct")
    elif "label" in shared and not all(
        "prediction" in answers.columns or answers.label_decides for answers in read
    ):
        shared.remove("label")
    columns: dict[str, Any] = {}
    for name in shared:
        packed = [part[name] for part in own]
        if all(isinstance(each, Ragged) for each in packed):
            columns[name] = Ragged.concat(packed)
            continue
        values = [value for each in packed for value in each]
        columns[name] = _objects(values) if isinstance(values[0], str) else values
    classes = read[0].classes
    if classes and "label" in columns and all(answers.classes == classes for answers in read):
        scores = columns.pop("candidate_scores")
        columns["logits"] = np.reshape(
            scores.values if isinstance(scores, Ragged) else scores, (-1, len(classes))
        )
        for name in {"label", "prediction"} & {*columns}:
            columns[name] = _objects([classes[position] for position in columns[name]])
    else:
        classes = None
    more: dict[str, Any] = {"metric": [answers.metric for answers in read for _ in answers.ids]}
    more = more if any(more["metric"]) else {}
    more |= {name: columns.pop(name) for name in shared if name not in FIELDS}
    # A plain list of rows as an array of objects: numbers of different tasks may be ids of one another.
    ids = [
        f"{answers.task}/{name}" if several else name for answers in read for name in answers.ids
    ]
    columns["group"] = _objects([answers.task for answers in read for _ in answers.ids])
    for name in read[0].more:
        if all(name in answers.more for answers in read):
            more[name] = [value for answers in read for value in answers.more[name]]
    for name in dict.fromkeys(
        name for answers in read for name in answers.shared
    ):  # a row without it is by itself
        values = [
            value
            for answers in read
            for value in answers.shared.get(name, [None] * len(answers.ids))
        ]
        more[name] = _objects(values)
    try:
        more = {"id": _objects(ids), **more}
        return Predictions.from_arrays(
            **columns, classes=classes, columns=more, source=read[0].file
        )
    except InputError as error:
        raise error.at(file=", ".join(answers.file for answers in read[:3])) from None


def _objects(values: Sequence[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
