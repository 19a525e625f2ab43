"""The verb `read`: a log, a folder of logs or a table of results: what it holds, and what can be asked of it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, UsageError
from ..fields import FIELDS
from ..options import verb
from ..results.reading import Question, Reading
from ..results.values import listed
from ..store import refuse_clashes, together
from ..store.harness import LOG_NAMES, LogOptions, log_files, read_logs
from ..store.record_table import as_table
from ..version import __version__
from .options import ReadOptions
from .read_content import About, Cells, Content, is_folder, plain_name, split_record
from .read_questions import questions_of
from .read_ratings import ratings_content
from .read_table import table_content

EXAMPLES = 3  # rows without an answer, which are named
_ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")


@verb(ReadOptions)
def read(options: ReadOptions) -> Reading:
    """Read a log of an evaluation, a folder of logs, or a table of results: its columns and what each is taken for, how
    good the answers are where that is known, and what can be asked of it, with the commands; and write it to a file
    that every other command reads. Raises `InputError` for what cannot be read, with what to do with it, for a row that
    is damaged, and for logs that do not belong together.

    >>> import json, pathlib, tempfile
    >>> row = {"doc_id": 0, "doc": {}, "target": "4", "arguments": {}, "resps": [["4"]], "filtered_resps": ["4"]}
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_sums.jsonl"
    >>> _ = path.write_text(json.dumps({**row, "exact_match": 1.0, "metrics": ["exact_match"]}))
    >>> result = read(path)
    >>> result.record.columns["id"].tolist(), [question.asks for question in result.questions][:2]
    (['0'], ['How good is it?', 'Is another better?'])
    """
    logs, out = options.logs, options.out
    paths = _paths(logs)
    refuse_clashes({"the file to write": out}, paths)
    check_out(out, folders=True)
    try:
        kinds = {str(kind) for _, kind in log_files(logs)[0]}
    except InputError as error:
        if len(paths) > 1:
            raise
        content = ratings_content(paths[0], options) or table_content(
            os.fspath(paths[0]), options.mapping or {}, error
        )
    else:
        content = _logs(kinds, options)
    files: list[str] = []
    if out is not None:
        with together():
            files = content.written(out)
        content.file, content.renamed = files[0], {}
    elif content.file is None:  # nothing else reads it as it is
        name = re.sub(
            r"\.(jsonl?|eval|parquet|csv)(\.gz)?$", "", os.path.basename(os.path.abspath(paths[0]))
        )
        content.file = f"{plain_name(name)}.parquet"
        if not content.of_models:  # each of several models has a file of its own
            command = _writing_command(paths, options, content.file)
            content.questions.append(Question("Write it for the others", command))
    return _result(content, None if out is None else str(out), tuple(files))


def _paths(logs: Any) -> Sequence[Any]:
    """The path, or the paths, that were given; `UsageError` for something else."""
    paths = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise UsageError(
            f"expected the path of a log or a table, or a list of logs, got {str(logs)[:60] or 'nothing'}; "
            "predictions in memory are read by oodometer.load"
        )
    return paths


def _writing_command(paths: Sequence[Any], options: ReadOptions, out: str) -> str:
    """The command that writes the file which all other commands read."""
    metrics = [options.metric] if isinstance(options.metric, str) else options.metric or ()
    words = ["oodometer", "read", *map(os.fspath, paths)]
    words += [f"--metric={metric}" for metric in metrics]
    words += [f"--map={theirs}={ours}" for theirs, ours in (options.mapping or {}).items()]
    words += [f"--filter={options.filter}"] if options.filter is not None else []
    words += ["--keep-input"] if options.keep_input else []
    return shlex.join([*words, "--out", out])


def _logs(kinds: set[str], options: ReadOptions) -> Content:
    """Logs as one record."""
    logs = options.logs
    read = read_logs(logs, LogOptions(options.metric, options.filter, options.keep_input))
    table = as_table(read.record)
    columns = {name: Cells(table.column(name), False) for name in table.column_names}
    taken = {
        column: name
        for name, field in FIELDS.items()
        for column in columns
        if column.startswith(field.prefix or name)
    }
    taken |= {name: name for name in (*FIELDS, "id", "epoch", "metric") if name in columns}
    more = [f"{len(read.tasks) - 3} more"] if len(read.tasks) > 3 else []
    about = About(
        data=listed([*read.tasks[:3], *more]),
        log=os.fspath(logs if isinstance(logs, (str, os.PathLike)) else Path(logs[0]).parent),
        format=listed(sorted(LOG_NAMES.get(kind, kind) for kind in kinds)),
        model=read.model or "",
        warnings=read.warnings,
        metrics=read.metrics,
        notes=read.notes,
        skipped=len(read.skipped),
        examples=read.skipped[:EXAMPLES],
        left_out=tuple(read.left_out),
    )
    several = len(read.models) > 1
    parts = split_record(read.record, read.record.columns["model"]) if several else read.parts
    if several:
        taken["model"] = "model"
    return Content(
        read.record,
        columns,
        taken,
        about,
        file=None if "chat" in kinds or several else _file_in_place(options),
        parts=parts,
        of_models=several,
    )


def _file_in_place(options: ReadOptions) -> str | None:
    """The log that other commands read as it is, None where they need a file: of several logs, and where options choose
    what is read.
    """
    is_chosen = options.metric or options.filter is not None or options.keep_input
    logs = options.logs
    return None if is_chosen or not isinstance(logs, (str, os.PathLike)) else os.fspath(logs)


def _result(content: Content, out: str | None, files: tuple[str, ...]) -> Reading:
    """The result: what is known of the columns, the number by task, and what can be asked."""
    record, about, columns = content.record, content.about, content.columns_read()
    number, repeated = content.number()
    rows = max((column.known for column in columns), default=0) if record is None else len(record)
    return Reading(
        __version__,
        about.model,
        about.data,
        out,
        rows,
        (),
        () if record is None else record.fields,
        accuracy=None if content.truth == "score" else number,
        skipped=about.skipped,
        examples=about.examples,
        warnings=(*about.warnings, *repeated),
        record=record if out is None else None,
        log=about.log,
        format=about.format,
        metrics=about.metrics,
        columns=columns,
        labelled=content.labelled,
        score=number if content.truth == "score" else None,
        tasks=content.tasks,
        macro=content.macro,
        ids=content.ids,
        clusters=content.clusters,
        judges=about.judges,
        human=about.human,
        questions=questions_of(content, files),
        files=files,
        left_out=about.left_out,
        notes=about.notes,
        truth=content.truth,
        agreed=about.agreed,
    )


def check_out(out: str | Path | None, folders: bool = False) -> None:
    """Say before the work that the file, or the file a task in a folder, could not be written."""
    if out is None:
        return
    path, parent = Path(out), Path(out).parent
    why = "" if parent.is_dir() else f"there is no folder {parent}; make it first"
    if path.is_dir() and not folders:
        why = "it is a folder; name a file"
    elif not (folders and is_folder(out)) and path.suffix.lower() not in _ENDINGS:
        why = f"end the name in {', '.join(_ENDINGS)}" + (
            ", or in / for a file a task" if folders else ""
        )
    if why:
        raise UsageError(f"cannot write {out}: {why}")
