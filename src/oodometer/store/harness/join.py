"""Join: logs of one or several tasks as one record, the task of each row as its group; which harness wrote a file."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Ragged
from ...errors import InputError, UsageError
from ...fields import FIELDS
from ...plain import Json, Plain, Strings
from ...predictions import Predictions
from ..files import opened, translated
from ..shapes import SHAPES, is_details, shape_of, shape_of_table
from . import others
from .base import Answers, LogOptions, NoMetric
from .inspect_log import read_inspect, run_of
from .lm_eval import NAME, Totals, read_samples
from .shaped import read_shape

_HEAD = 1 << 16
_TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".arrow", ".feather", ".npz", ".xlsx")
_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".eval", ".parquet")
# Names that stand in the first object of such a log; texts of the data may come between them.
_SAMPLES = (b'"doc_id"', b'"doc"')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')
# of the other files of JSON, by what they begin with
_FORMS: dict[str, re.Pattern[bytes]] = {
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
    **{shape.kind: shape.tool for shape in SHAPES.values()},
}
_JOINED = {"helm"} | {shape.kind for shape in SHAPES.values() if shape.joined}
"""Kinds of which a folder of folders is one run."""
_FIRST_FILES = 5  # of a folder, by which it is taken for one of logs: totals may stand before them
# such rows, the latter in JSON Lines, may have columns of a table
_MAY_BE_TABLE = ("chat", "alpaca_eval")
_MOST_BESIDE = 200  # files of a folder that are looked at for what is left out


def log_kind(path: Any) -> str | None:
    """Which harness wrote a file; None for anything else, and for ratings of people."""
    kind = file_kind(path)
    return None if kind in SHAPES and SHAPES[str(kind)].rater else kind


def file_kind(path: Any) -> str | None:
    """Which tool wrote a file of answers or ratings; None for anything else."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return None
    try:
        with translated(str(path), "log"), opened(str(path)) as stream:
            head: bytes = stream.read(_HEAD)
    except InputError:
        return None
    if head.startswith(b"PK"):
        return "inspect" if _is_packed_log(path) else None
    if os.path.basename(path) == others.STATS:
        return "helm"
    if head.startswith(b"PAR1"):
        return _table_kind(others.columns_of(str(path)))
    if str(path).lower().endswith(".csv"):
        line = head.partition(b"\n")[0].decode("utf-8", "replace")
        return _table_kind([name.strip('" \r') for name in line.split(",")])
    return _json_kind(str(path), head)


def _table_kind(columns: Sequence[str]) -> str | None:
    """Which tool wrote a table with these columns."""
    if is_details(columns):
        return "lighteval"
    shape = shape_of_table(columns)
    return shape.kind if shape else None


def _is_packed_log(path: Any) -> bool:
    """Whether a zip archive is a log of inspect; the reader says of one that was cut off."""
    try:
        with zipfile.ZipFile(path) as packed:
            return bool({"header.json", "_journal/start.json"} & set(packed.namelist()))
    except (OSError, ValueError, zipfile.BadZipFile):
        return str(path).endswith(".eval")


def _json_kind(path: str, head: bytes) -> str | None:
    """Which harness wrote a file of JSON that begins so."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"{", b"[")):
        return None
    if all(name in head for name in _SAMPLES):
        return "lm_eval"
    if start.startswith(b"{") and _INSPECT.search(head) and b'"version"' in head:
        return "inspect"
    if shape := shape_of(head):
        return shape.kind
    for kind, form in _FORMS.items():
        if form.match(start):
            return kind
    return "squad" if path.endswith(".json") and others.is_answers(path, start) else None


def log_files(logs: Any) -> tuple[list[tuple[str, str]], list[str]]:
    """The files of one path, a folder or several paths, each with its kind, and what of a folder was left out: older
    runs of a task. `InputError` for what is no log.
    """
    several = isinstance(logs, Sequence) and not isinstance(logs, (str, bytes))
    out, notes = list[tuple[str, str]](), list[str]()
    for path in logs if several else [logs]:
        if not os.path.isdir(path):
            out.append((str(path), _known_kind(path)))
            continue
        newest, older = _newest(_logs_in(path) or _below(path))
        out += newest
        if older:
            named = ", ".join(map(os.path.basename, older[:3])) + ", ..." * (len(older) > 3)
            notes.append(
                f"{path}: the newest run of each task is read; {len(older)} older left out: {named}"
            )
    if not out:
        raise InputError("at least one log", got="none", remedy="name a log or a folder of logs")
    return out, notes


def _known_kind(path: Any) -> str:
    """Which harness wrote a file; `InputError` where none did."""
    kind = log_kind(path)
    if kind is None:
        got = "no such file"
        if os.path.exists(path):
            got = "another file" if os.path.getsize(path) else "an empty file"
        raise InputError(
            "a log", got=got, remedy="check the path, and what wrote it", file=str(path)
        )
    return kind


def _below(path: Any) -> list[tuple[str, str]]:
    """The logs in the folders of a folder: of one model, or of HELM, which has a folder for each task."""
    folders = {str(log.parent) for log in Path(path).rglob("*") if log_kind(log) is not None}
    below = sorted(folders)
    logs = [log for folder in below for log in _logs_in(folder)]
    kinds = {kind for _, kind in logs}
    if len(below) != 1 and not (len(kinds) == 1 and kinds <= _JOINED):
        commands = ", ".join(f"`{read_command(each)}`" for each in below[:5])
        raise InputError(
            "logs of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json)",
            got=f"{len(below)} folders with logs" if below else "a folder without one",
            remedy=f"name one of its folders: {commands}"
            if below
            else "write them with --log_samples --output_path",
            file=str(path),
        )
    return logs


def _logs_in(folder: Any) -> list[tuple[str, str]]:
    """The logs of a folder, by name."""
    files = sorted(file for file in Path(folder).iterdir() if file.name.lower().endswith(_ENDINGS))
    files = [file for file in files if file.name == others.STATS] or files
    return [(str(name), kind) for name in files if (kind := log_kind(name)) is not None]


def _newest(files: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """The newest log of each task, of inspect those that came to their end first, and the others."""
    by_task: dict[Any, tuple[tuple[bool, str], str]] = {}
    older = []
    for file, kind in files:
        task, when = run_of(file) if kind == "inspect" else _task_and_time(file)
        before = by_task.get((kind, task))
        if before is not None:
            if before[0] == when or (kind == "lm_eval" and _are_of_two_models(file, before[1])):
                task = file  # which of them is meant is not known
            else:
                older.append(file if when < before[0] else before[1])
        if before is None or not when < before[0]:
            by_task[kind, task] = (when, file)
    return [(file, kind) for file, kind in files if file not in older], older


def _task_and_time(file: str) -> tuple[str, tuple[bool, str]]:
    """The task of a log by its name, that it came to its end, and when it ran."""
    match = NAME.fullmatch(os.path.basename(file))
    return (match["task"], (True, match["date"] or "")) if match else (file, (True, ""))


def _are_of_two_models(*files: str) -> bool:
    return len({totals.model for file in files if (totals := Totals.beside(file))}) > 1


def left_out_of(folder: str, files: Sequence[tuple[str, str]]) -> list[str]:
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
    entries = [
        f"{below or names[0]} ({kind}{f', {len(names)} logs' if len(names) > 1 else ''})"
        for (below, kind), names in logs.items()
    ]
    entries += [f"{', '.join(tables[:3])}{', ...' * (len(tables) > 3)} (no log)"] if tables else []
    return [f"{folder}: left out: {', '.join(entries)}; name one to read it"] if entries else []


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


def log_at(path: Any, unless_table: bool = False) -> LogRecord | None:
    """What a log, or a folder of logs, holds; None for anything else. ``unless_table`` : leave out what may as well be
    a table: chats, annotations as JSON Lines, and folders whose first files are no logs.

    Raises `InputError` for ratings of people and answers of several models, which are no record of one model's answers.
    """
    if not isinstance(path, (str, os.PathLike)):
        return None
    name = os.fspath(path)
    is_folder = os.path.isdir(name)
    files = [*islice(_files_below(name), _MOST_BESIDE)] if is_folder else [name]
    looked_at = files
    if is_folder and unless_table:
        looked_at = [file for file in files if file.lower().endswith(_ENDINGS[:4])]
        looked_at = looked_at[:_FIRST_FILES]
    kinds = {file_kind(file) for file in looked_at} - {None}
    unsure = _MAY_BE_TABLE if name.endswith("l") else _MAY_BE_TABLE[:1]
    if not kinds - {*(unsure if unless_table else ())}:
        return None
    _refuse_ratings(kinds, name)
    stats = [(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, files)]
    log = _read_once(name, tuple(stats))
    if len(log.models) > 1:
        folder = f"{re.sub('[^A-Za-z0-9._-]+', '_', Path(name).stem)}-models/"
        raise InputError(
            "answers of one model",
            got=f"{len(log.models)}: {', '.join(log.models[:3])}",
            file=name,
            remedy=f"write a file for each: `oodometer read {shlex.quote(name)} --out {folder}`",
        )
    return log


def _refuse_ratings(kinds: Collection[str | None], name: str) -> None:
    """Raise `InputError` for what people said of answers, where a model's answers are asked for."""
    rated = [str(kind) for kind in kinds if kind in SHAPES and SHAPES[str(kind)].rater]
    if rated and len(rated) == len(kinds):
        raise InputError(
            "what a model answered",
            got=f"what people said of it ({LOG_NAMES[rated[0]]})",
            file=name,
            remedy=f"`oodometer read {shlex.quote(name)}` says how far they agree",
        )


@lru_cache(maxsize=4)
def _read_once(path: str, stamps: Any) -> LogRecord:
    """A log that commands open more than once; ``stamps`` tell it from a later one in its place."""
    return read_logs(path)


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
    metrics: Strings
    skipped: tuple[tuple[str, str], ...]
    notes: Strings
    warnings: Strings
    left_out: Mapping[str, Strings]

    @property
    def told(self) -> Strings:
        """What has to be said of how the logs were read: the metric, and the warnings."""
        return (*(f"graded by {metric}" for metric in self.metrics), *self.warnings)

    @property
    def models(self) -> Strings:
        """Names of the models, where there are several in one file; else none."""
        names = self.record.columns.get("model")
        return () if names is None else tuple(dict.fromkeys(map(str, names)))

    @property
    def tasks(self) -> Strings:
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
    files, notes = log_files(logs)
    options = replace(options or LogOptions(), several=len(files) > 1)
    without = next((file for file, kind in files if kind != "lm_eval"), None)
    if options.filter is not None and without is not None:
        raise UsageError(
            f"--filter is of lm-evaluation-harness; {without} is of another kind: use --metric"
        )
    paths = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    folders = [os.fspath(path) for path in paths if os.path.isdir(path)]
    warnings = [text for folder in folders for text in left_out_of(folder, files)]
    read, failures = _read_each(files, options)
    warnings += [f"left out: {failure}" for failure in failures]
    _check(read, options)
    return _log_record(read, notes, warnings)


def _log_record(
    read: Sequence[Answers], notes: Sequence[str], warnings: Sequence[str]
) -> LogRecord:
    """The records of what was read, with its notes and warnings behind those of the files."""
    several = len(read) > 1
    record = _record(read, several=several)
    parts = {each.task: _record([each], several=False) if several else record for each in read}
    notes = [*notes, *(note for answers in read for note in answers.notes)]
    warnings = [*warnings, *(warning for answers in read for warning in answers.warnings)]
    if _has_no_confidence(record):
        text = "nothing in the logs tells how sure the model was, so there is no confidence"
        notes.append(
            f"{text}: `evaluate` gives accuracy, `discriminate` learns from `input` and `output`"
        )
    skipped = [
        (f"{answers.task}/{name}" if several else name, why)
        for answers in read
        for name, why in answers.skipped
    ]
    return LogRecord(
        record=record,
        parts=parts,
        model=next((answers.model for answers in read if answers.model), None),
        metrics=tuple(dict.fromkeys(answers.metric for answers in read if answers.metric)),
        skipped=tuple(skipped),
        notes=tuple(notes),
        warnings=tuple(warnings),
        left_out=_left_out(record, parts),
    )


def _read_each(
    files: Sequence[tuple[str, str]], options: LogOptions
) -> tuple[list[Answers], list[NoMetric]]:
    """What logs hold, and why others, not all, have no number for each row."""
    read, failures = list[Answers](), list[NoMetric]()
    for kind, names in _runs(files):
        try:
            # what holds a number where a list should be is no log, and no traceback
            with translated(names[0], "log"):
                if kind in SHAPES:
                    read += read_shape(SHAPES[kind], names, options)
                else:
                    read.append(_READERS[kind](names[0], options))
        except NoMetric as error:
            failures.append(error)
    if not read:
        raise failures[0]
    return read, failures


def _runs(files: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The kind and the files of each run: of most tools one, of others one for each answer."""
    runs: dict[str, tuple[str, list[str]]] = {}
    for file, kind in files:
        is_joined = kind in SHAPES and SHAPES[kind].joined
        runs.setdefault(kind if is_joined else file, (kind, []))[1].append(file)
    return [*runs.values()]


def _left_out(record: Predictions, parts: Mapping[str, Predictions]) -> dict[str, Strings]:
    """Columns of tasks that the joint record lacks, with their tasks."""
    lacks = {
        task: {*part.fields, *part.columns} - {*record.fields, *record.columns}
        for task, part in parts.items()
    }
    lacking = sorted(set().union(*lacks.values()))
    return {name: tuple(task for task in parts if name in lacks[task]) for name in lacking}


def _has_no_confidence(record: Predictions) -> bool:
    """Whether nothing in a record tells how sure the model was, not even further answers."""
    is_told = record.confidence is not None or record.probabilities is not None
    return not is_told and not {"epoch", "samples"} & {*record.columns}


def _check(read: Sequence[Answers], options: LogOptions) -> None:
    """Raise `InputError` where logs do not belong together, or none has what was asked for."""
    seen: dict[str, Answers] = {}
    named = [answers for answers in read if answers.model is not None]
    for answers in read:
        if answers.model is not None and answers.model != named[0].model:
            remedy = f"read each by itself: `{read_command(named[0].file)}`, `{read_command(answers.file)}`"
            raise InputError(
                f"answers of {named[0].model}, as in {named[0].file}",
                got=str(answers.model),
                file=answers.file,
                remedy=remedy,
            )
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
        got = f"{options.filter!r}, which none has"
        remedy = "name that of a task: `--metric task=metric:filter`"
        raise InputError(
            "a filter of these logs", got=got, file=read[0].file, remedy=f"{remedy}; {names}"
        )


def _record(read: Sequence[Answers], *, several: bool) -> Predictions:
    """One record of logs, with the columns that all of them have."""
    columns = _joined_columns(read)
    classes = read[0].classes or None
    if "label" not in columns or any(answers.classes != classes for answers in read):
        classes = None
    if classes:
        columns = _by_class(columns, classes)
    beside = {
        **_ids_and_metrics(read, several=several),
        **{name: values for name, values in columns.items() if name not in FIELDS},
        **_further_columns(read),
    }
    try:
        return Predictions.from_arrays(
            **_fields(columns, read), classes=classes, columns=beside, source=read[0].file
        )
    except InputError as error:
        raise error.at(file=", ".join(answers.file for answers in read[:3])) from None


def _fields(columns: Plain, read: Sequence[Answers]) -> Json:
    """The columns that are fields of a record; the task of each row is its group."""
    tasks = [answers.task for answers in read for _ in answers.ids]
    return {name: columns[name] for name in columns if name in FIELDS} | {"group": _objects(tasks)}


def _ids_and_metrics(read: Sequence[Answers], *, several: bool) -> Json:
    """Names of the rows, behind the task where there are several, and the metric of each where one is known."""
    pairs = [(answers.task, name) for answers in read for name in answers.ids]
    # numbers of different tasks may be ids of one another
    out = {"id": _objects([f"{task}/{name}" if several else name for task, name in pairs])}
    if any(answers.metric for answers in read):
        out["metric"] = [answers.metric for answers in read for _ in answers.ids]
    return out


def _further_columns(read: Sequence[Answers]) -> Json:
    """The numbers by other metrics that all logs have, and what questions share; a row without it is by itself."""
    out: Json = {}
    for name in read[0].more:
        if all(name in answers.more for answers in read):
            out[name] = [value for answers in read for value in answers.more[name]]
    for name in dict.fromkeys(name for answers in read for name in answers.shared):
        parts = (answers.shared.get(name, [None] * len(answers.ids)) for answers in read)
        out[name] = _objects([value for part in parts for value in part])
    return out


def _joined_columns(read: Sequence[Answers]) -> Json:
    """The columns that all logs have, end to end."""
    parts = _in_one_measure(read)
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    redundant = _redundant(shared, read)
    names = [name for name in shared if name not in redundant]
    return {name: _end_to_end([part[name] for part in parts]) for name in names}


def _in_one_measure(read: Sequence[Answers]) -> list[Json]:
    """The columns of each log: `score` where others have it, and `confidence` where not all have scores of options."""
    parts = [dict(answers.columns) for answers in read]
    if any("score" in part for part in parts):  # what is right is 1, of what is graded elsewhere
        for part in parts:
            if "score" not in part and "correct" in part:
                part["score"] = [float(right) for right in part["correct"]]
    unscored = [part for part in parts if "candidate_scores" not in part]
    if unscored and all("confidence" in part for part in unscored):
        for part in parts:
            if "confidence" not in part:
                part["confidence"] = _best_probabilities(part["candidate_scores"])
            part["confidence"] = part.pop("confidence")
    return parts


def _best_probabilities(scores: Any) -> list[float]:
    """The probability of the best option of each row."""
    return [float(1 / np.exp(np.subtract(row, max(row))).sum()) for row in scores]


def _redundant(names: Sequence[str], read: Sequence[Answers]) -> set[str]:
    """Columns that are not taken: `correct` where label == prediction tells it, and labels that tell nothing."""
    if "candidate_scores" not in names:
        return {"label", "prediction"}
    if "label" not in names:
        return set()
    if all(answers.label_decides for answers in read):
        return {"correct"}
    is_told = all("prediction" in answers.columns or answers.label_decides for answers in read)
    return set() if is_told else {"label"}


def _end_to_end(parts: Sequence[Any]) -> Any:
    """The values of a column in several logs."""
    if all(isinstance(part, Ragged) for part in parts):
        return Ragged.concat(parts)
    values = [value for part in parts for value in part]
    return _objects(values) if isinstance(values[0], str) else values


def _by_class(columns: Plain, classes: Sequence[str]) -> Json:
    """Columns of options as those of classes: logits, and names in the place of positions."""
    out = {name: values for name, values in columns.items() if name != "candidate_scores"}
    scores = columns["candidate_scores"]
    cells = scores.values if isinstance(scores, Ragged) else scores
    out["logits"] = np.reshape(cells, (-1, len(classes)))
    for name in {"label", "prediction"} & {*out}:
        out[name] = _objects([classes[position] for position in out[name]])
    return out


def _objects(values: Sequence[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
