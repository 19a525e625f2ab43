"""The verb `runs`: the runs of long commands below a place, how far each came, and why it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..passes.run_folder import PARTS
from ..runs import LOCK, MANIFEST, is_locked, read_manifest

_DEEP = 6  # folders in folders that are looked through


@dataclass(frozen=True)
class Run:
    """A run: its folder, what it is, and how it stands.

    ``status`` is "running", "finished", "failed" or "killed" (it ended without a word); ``verb`` the command, ``about``
    the data that it is of, among them ``reference`` and ``target``; ``parts`` that it has, how many of them are
    ``done``, and how many the last run had to ``read`` or to work on; ``why`` it failed, or what is wrong with the
    folder ("unreadable"). Parts are files and row groups, tasks of a backtest, steps of a paper, or batches, images,
    copies, answers, attributions and judges.
    """

    folder: str
    status: str
    verb: str = ""
    reference: str = ""
    target: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    began: str = ""
    ended: str | None = None
    parts: int = 0
    done: int = 0
    read: int = 0
    why: str | None = None


@dataclass(frozen=True)
class Runs:
    """All runs that were found, the one that began last at the end."""

    runs: tuple[Run, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"runs": [asdict(one) for one in self.runs]}


def runs(folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ".") -> Runs:
    """The runs whose folders these are, or hold, up to six folders deep.

    They are run folders (``run_folder=``), folders of `reproduce` and `stress`, and what `predict`, `shift` and
    `discriminate` keep beside their results until these are finished. Raises `InputError` for a folder that is not
    there. A folder whose manifest is damaged or of another version is listed as unreadable, with the reason.

    >>> import tempfile
    >>> runs(tempfile.mkdtemp()).runs
    ()
    """
    given = [folders] if isinstance(folders, (str, os.PathLike)) else folders
    found: dict[str, Run] = {}
    for one in given:
        if not os.path.isdir(one):
            raise InputError("a folder", got="no such folder", remedy="check the path", file=os.fspath(one))
        for home in _homes(Path(one)):
            found.setdefault(os.path.realpath(home), _run(home))
    return Runs(tuple(sorted(found.values(), key=lambda run: (run.began, run.folder))))


def _homes(top: Path) -> list[Path]:
    """Folders with a manifest; what lies in them is theirs."""
    out = []
    deepest = len(top.parts) + _DEEP
    for place, names, files in os.walk(top):
        if MANIFEST in files and (LOCK in files or _is_ours(Path(place))):
            out.append(Path(place))
            names.clear()
        elif len(Path(place).parts) >= deepest:
            names.clear()
        hidden = [name for name in names if name.startswith(".")]  # unfinished results lie in such ones
        out += [Path(place, name) for name in hidden if _is_ours(Path(place, name))]
        names[:] = [name for name in names if name not in hidden]
    return out


def _is_ours(home: Path) -> bool:
    """Whether the manifest is one of ours: other programs have files of this name, too."""
    try:
        return read_manifest(home) is not None
    except InputError:
        return False


def _run(home: Path) -> Run:
    try:
        told = read_manifest(home)
    except InputError as error:
        return Run(str(home), "unreadable", why=str(error))
    assert told is not None
    status = str(told.get("status"))
    if status == "running" and not is_locked(home / LOCK):
        status = "killed"
    about: Mapping[str, Any] = told["about"]
    values: dict[str, Any] = {name: str(about.get(name, "")) for name in ("verb", "reference", "target")}
    values |= {name: int(told.get(name) or 0) for name in ("parts", "done", "read")}
    if status == "killed" and (home / PARTS).is_dir():  # before it could note its last parts
        values["done"] = min(values["parts"], sum(one.suffix == ".state" for one in (home / PARTS).iterdir()))
    values["about"] = {str(name): str(one) for name, one in about.items() if name != "verb"}
    values |= {"began": str(told.get("began", "")), "ended": told.get("ended"), "why": told.get("why")}
    return Run(str(home), status, **values)
