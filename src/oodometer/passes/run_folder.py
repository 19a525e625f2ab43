"""Run folder: finished parts of a pass are kept, so that a killed run goes on and a grown target costs its new part."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..engines import Engine
from ..errors import InputError, OodometerError, UsageError
from ..persistence import Archive, Damaged, Encoder, NotKept, decoded, write_archive
from ..plugins import FAILURES
from ..predictions import Predictions
from ..store import Part
from ..store.artifact_cache import checksum, made_anew
from ..store.atomic import write_atomic
from ..store.known_files import KnownFiles, knowing
from ..store.places import is_remote
from ..version import __version__
from .locking import Lock

__all__ = ["LOCK", "MANIFEST", "PARTS", "RunFolder", "places_of_run", "read_manifest", "run_folder"]

MANIFEST = "run.json"
_FORMAT = 1
PARTS = "parts"
FACTS = "files.json"
LOCK = "lock"
_ENDING = ".state"
_PAUSE = 1.0  # seconds between two notes of how far a run is


@dataclass(frozen=True)
class _Finished:
    """A part's place in the order and its state, on the way from a worker to the folder."""

    states: tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class _Numbered:
    """Work on parts with their places, so that a state says whose it is."""

    work: Callable[[Any], Any]

    def __call__(self, numbered: tuple[int, Any]) -> _Finished:
        return _Finished(((numbered[0], self.work(numbered[1])),))


class RunFolder:
    """States of parts in files of their own, each by what it is the state of: the part's rows and the fitted work.

    ``home`` is the folder, ``about`` what the run is (texts by name), which another run in it must agree with. Used as
    a context, or by `run_folder`, which says how it ended. A state is read again where the file that its rows are in,
    and all that was learnt from the reference, are what they were; everything else is worked out anew.
    """

    def __init__(self, home: Path, about: Mapping[str, str]) -> None:
        self.home, self.about = home, dict(about)
        self._told: dict[str, Any] = {}
        self._noted = 0.0
        self._used: set[str] = set()
        self.known: KnownFiles | None = None  # what is known of files of text

    def begin(self) -> None:
        """Note that a run begins; `UsageError` where the folder is of another one."""
        before = read_manifest(self.home)
        kept = any((self.home / PARTS).glob(f"*{_ENDING}"))  # where nothing is, a path may have been mistyped
        if before is not None and kept and before["about"] != self.about:
            was, now = before["about"], self.about
            other = next(name for name in {**was, **now} if was.get(name) != now.get(name))
            raise UsageError(
                f"{self.home} is of a run with the {other} {was.get(other)}, not {now.get(other)}; give each job a "
                "folder of its own with --run-folder"
            )
        (self.home / PARTS).mkdir(exist_ok=True)
        self._told = {
            "format": _FORMAT,
            "oodometer": __version__,
            "about": self.about,
            "status": "running",
            "began": _now(),
            "ended": None,
            "why": None,
            "parts": 0,
            "done": 0,
            "read": 0,
        }
        self._write()

    def end(self, status: str, why: str | None = None) -> None:
        """Note how the run ended; of one that was finished, only the parts that it used stay."""
        self._told |= {"status": status, "why": why, "ended": _now()}
        if status == "finished" and self._used:
            for one in (self.home / PARTS).iterdir():
                if one.name not in self._used:
                    one.unlink(missing_ok=True)
        self._write()

    def fold(
        self,
        engine: Engine,
        work: Callable[[Any], Any],
        parts: Sequence[Any],
        merge: Callable[[Any, Any], Any],
        on_done: Callable[[Any], None],
    ) -> Any:
        """As `Engine.fold`; only parts whose state is not here are worked on."""
        if self.known is not None:
            self.known.save()  # a run that is killed later need not look at the files again
        files = list(_files_of(work, parts))
        there = [one is not None and (self.home / PARTS / one).is_file() for one in files]
        self._used |= {one for one in files if one is not None}
        fresh = [(i, part) for i, part in enumerate(parts) if not there[i]]
        held: dict[int, Any] = {}  # states of parts that no file can stand for
        self._told |= {"parts": self._told["parts"] + len(parts), "done": self._told["done"] + sum(there)}
        self._write()
        for i, part in enumerate(parts):
            if there[i]:
                on_done(part)

        def keep(found: _Finished) -> _Finished:
            for i, state in found.states:
                if not self._keep(files[i], state):
                    held[i] = state
                self._note_part()
            return _Finished(())

        if fresh:
            last = engine.fold(
                fresh, _Numbered(work), lambda a, b: _Finished((*keep(a).states, *keep(b).states)), on_done
            )
            keep(last)
        total: Any = None
        for i, part in enumerate(parts):
            state = held.pop(i) if i in held else self._recall(files[i], work, part)
            total = state if i == 0 else merge(total, state)
        return total

    def _keep(self, name: str | None, state: Any) -> bool:
        """Write a state to its file; False where it can have none."""
        if name is None:
            return False
        encoder = Encoder()
        try:
            tree = encoder.encode(state, "the state")
        except NotKept:  # of a plugin
            return False
        write_archive(self.home / PARTS / name, {"content": "state"}, {"state": tree}, encoder.arrays)
        return True

    def _recall(self, name: str | None, work: Callable[[Any], Any], part: Any) -> Any:
        """The state in a file; made anew where the file is damaged."""
        path = self.home / PARTS / str(name)
        try:
            archive = Archive.open(path)
            return decoded(archive.section("state"), archive.arrays)
        except (InputError, Damaged):
            made_anew(path, "what was kept there (a state) is damaged or of another version")
        state = work(part)
        self._keep(name, state)
        return state

    def _note_part(self) -> None:
        self._told["done"] += 1
        self._told["read"] += 1
        if time.monotonic() - self._noted > _PAUSE:
            self._write()

    def _write(self) -> None:
        self._noted = time.monotonic()
        write_atomic(self.home / MANIFEST, json.dumps(self._told, indent=1, ensure_ascii=False) + "\n")


@contextmanager
def run_folder(path: str | os.PathLike[str] | None, about: Mapping[str, str]) -> Iterator[RunFolder | None]:
    """The folder of a run, locked while it is in use; None for None.

    Raises `UsageError` where another process is in it, and where it is of another run or no folder of a run at all.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp()) / "nightly"
    >>> with run_folder(home, {"verb": "estimate"}) as first:
    ...     with run_folder(home, {"verb": "estimate"}) as second: pass
    Traceback (most recent call last):
    oodometer.errors.UsageError: ...nightly is in use by another run (process ...); wait until it has ended, or give ...
    >>> read_manifest(home)["status"]
    'failed'
    """
    if path is None:
        yield None
        return
    home = Path(path)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--run-folder needs a folder that can be written, {home}: {error.strerror or error}"
        ) from None
    if not (home / MANIFEST).exists() and any(one.name not in (LOCK, PARTS, FACTS) for one in home.iterdir()):
        raise UsageError(f"{home} holds other files and no {MANIFEST}; give --run-folder an empty or a new folder")
    with Lock(home / LOCK, home):
        folder = RunFolder(home, about)
        folder.begin()
        try:
            with knowing(home / FACTS) as folder.known:
                yield folder
        except BaseException as error:
            said = "interrupted" if isinstance(error, (KeyboardInterrupt, GeneratorExit)) else f"{error}"
            with suppress(OodometerError):  # the first error is the one to tell
                folder.end("failed", " ".join(said.split())[:500])
            raise
        folder.end("finished")


def places_of_run(**data: Any) -> dict[str, str]:
    """Where the data of a run lie, by what they are to it; `UsageError` for what is in memory and found by nobody.

    >>> places_of_run(target="s3://lake/predictions")
    {'target': 's3://lake/predictions'}
    >>> places_of_run(target={"label": [0]})
    Traceback (most recent call last):
    oodometer.errors.UsageError: a run folder is for files, and the target is a dict in memory; write it to a file, ...
    """
    out = {}
    for name, one in data.items():
        paths = list(one) if isinstance(one, (list, tuple)) else [one]
        other = next((path for path in paths if not isinstance(path, (str, os.PathLike)) or path == "-"), None)
        if other is not None:
            said = "standard input" if other == "-" else f"a {type(other).__name__} in memory"
            raise UsageError(
                f"a run folder is for files, and the {name} is {said}; write it to a file, or leave it out"
            )
        places = [os.fspath(path) for path in paths]
        out[name] = ", ".join(one if is_remote(one) else os.path.abspath(one) for one in places)
    return out


def read_manifest(home: Path) -> dict[str, Any] | None:
    """What a run folder says of its run, None where there is none; `InputError` for a damaged or foreign manifest."""
    path = home / MANIFEST
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            "the manifest of a run", got=" ".join(str(error).split())[:160], remedy="remove the folder", file=str(path)
        ) from None
    if not isinstance(told, dict) or told.get("format") != _FORMAT or not isinstance(told.get("about"), dict):
        got = f"format {told.get('format')}" if isinstance(told, dict) else "something else"
        raise InputError(
            f"the manifest of a run (format {_FORMAT})",
            got=got,
            remedy=f"remove the folder, or use the version of oodometer that wrote it (here is {__version__})",
            file=str(path),
        )
    return told


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _files_of(work: Any, parts: Sequence[Any]) -> Iterator[str | None]:
    """The name of each part's state; None for parts in memory, and for works that cannot be told from others."""
    labels: Predictions | None = getattr(work, "labels", None)
    bare = (
        replace(work, labels=None) if is_dataclass(work) and not isinstance(work, type) and labels is not None else work
    )
    encoder = Encoder()
    try:
        tree = encoder.encode(bare, "the work")
    except (NotKept, *FAILURES):
        yield from (None for _ in parts)
        return
    base = checksum(__version__, type(work).__qualname__, json.dumps(tree, sort_keys=True), *encoder.arrays)
    for part in parts:
        told = part.identity() if isinstance(part, Part) else None
        yield None if told is None else f"{checksum(base, told, _truth(labels, work, part))}{_ENDING}"


def _truth(labels: Predictions | None, work: Any, part: Any) -> str:
    """The labels of a part's rows; of all rows where it is not known which are its own."""
    if labels is None:
        return ""
    rows = part.span()
    own = labels if rows is None else labels.slice(rows[0] - work.first_row, rows[1] - work.first_row)
    arrays = [one for one in (own.label, own.correct) if one is not None]
    return checksum(repr(labels.classes), str(len(own)), *(one.tobytes() for one in arrays))
