"""Open: whether a path is the log of a harness, told by what it holds, and which files of a folder are."""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ...errors import InputError
from ..files import opened, translated

LogKind = Literal["lm_eval", "inspect"]
_HEAD = 1 << 16
_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".eval")
# Names that stand in the first object of such a log; texts of the data may come between them.
_SAMPLES = (b'"doc_id"', b'"doc"')
_INSPECT = re.compile(rb'"eval"\s*:\s*\{')


def log_kind(path: Any) -> LogKind | None:
    """Which harness wrote a file; None for anything else.

    >>> log_kind("no_such_file.jsonl") is None
    True
    """
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return None
    try:
        with translated(str(path), "log"), opened(str(path)) as stream:
            head: bytes = stream.read(_HEAD)
    except InputError:
        return None
    if head.startswith(b"PK"):
        return "inspect" if _is_eval(path) else None
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"{", b"[")):
        return None
    if all(name in head for name in _SAMPLES):
        return "lm_eval"
    return "inspect" if start.startswith(b"{") and _INSPECT.search(head) and b'"version"' in head else None


def _is_eval(path: str | os.PathLike[str]) -> bool:
    try:
        with zipfile.ZipFile(path) as packed:
            names = set(packed.namelist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return str(path).endswith(".eval")  # cut off: the reader says so
    return bool(names & {"header.json", "_journal/start.json"})


def log_files(logs: Any) -> list[tuple[str, LogKind]]:
    """The files of one path, a folder or several paths, each with its kind.

    Raises `InputError` for what is no log.
    """
    several = isinstance(logs, Sequence) and not isinstance(logs, (str, bytes))
    out: list[tuple[str, LogKind]] = []
    for path in logs if several else [logs]:
        if os.path.isdir(path):
            out += _in_folder(Path(path))
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
    """The command that makes a predictions file of a log, named after it.

    >>> read_command("logs/samples_quiz_2026-01-02.jsonl")
    'oodometer predict logs/samples_quiz_2026-01-02.jsonl --out samples_quiz_2026-01-02.parquet'
    """
    stem = re.sub(r"(\.jsonl|\.json|\.eval)(\.gz)?$", "", os.path.basename(os.path.normpath(log)))
    return f"oodometer predict {shlex.quote(log)} --out {shlex.quote(stem)}.parquet"


def refuse_logs(path: Any) -> None:
    """Raise `InputError` where a path, or one of several, is a log, or a folder of logs: it is to be read first."""
    for one in path if isinstance(path, Sequence) and not isinstance(path, str) else [path]:
        name = os.fspath(one)
        folder = os.path.isdir(name)
        inside = [os.path.join(name, file) for file in sorted(os.listdir(name))] if folder else [name]
        if any(log_kind(file) for file in inside if file.lower().endswith(_ENDINGS)):
            raise InputError(
                "a predictions file",
                got="a folder with logs of an evaluation" if folder else "the log of an evaluation",
                file=name,
                remedy=f"read it first: `{read_command(name)}`",
            )


def _in_folder(folder: Path) -> list[tuple[str, LogKind]]:
    files = sorted(one for one in folder.iterdir() if one.name.lower().endswith(_ENDINGS))
    found = [(str(one), kind) for one in files if (kind := log_kind(one)) is not None]
    if not found:
        below = sorted({str(one.parent) for one in folder.rglob("samples_*.jsonl")})
        raise InputError(
            "logs of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json)",
            got="a folder without one",
            file=str(folder),
            remedy=f"name {below[0]}" if below else "write them with --log_samples --output_path",
        )
    return found
