"""Kept: the folder of a long work, alone in it, with what the work is, how far it came, and its finished pieces."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError, OodometerError, UsageError, WorkError
from ..plain import Json
from ..store.artifact_cache import made_anew, read_artifact, write_artifact
from ..store.atomic import open_unfollowed, when_written, write_atomic
from ..store.places import is_remote
from ..version import __version__


class Lock:
    """Held from entering to leaving; `UsageError` where another holder is in ``folder``."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self._file: Any = None

    def __enter__(self) -> Lock:
        if not self.take():
            try:
                holder = self.path.read_bytes()[:100].decode(errors="replace").strip()
            except OSError:  # gone meanwhile
                holder = ""
            raise UsageError(
                f"{self.folder} is in use by another run (process {holder or 'unknown'}); wait until it has ended, or "
                "give this one a folder of its own"
            )
        return self

    def take(self) -> bool:
        """Whether nobody held the lock, so that it is held from here on; a file that was removed meanwhile is opened
        anew.
        """
        on_disk = mine = None
        try:
            while on_disk is None or on_disk != mine:
                self._file = open(self.path, "a+b", opener=open_unfollowed)  # noqa: SIM115
                if not _take(self._file):
                    self._file.close()
                    return False
                state = os.fstat(self._file.fileno())
                mine, on_disk = (state.st_dev, state.st_ino), None
                with suppress(FileNotFoundError):
                    state = os.stat(self.path)
                    on_disk = state.st_dev, state.st_ino
                if on_disk != mine:
                    self._file.close()
        except OSError as error:
            if error.errno == errno.ELOOP:  # truncated, it would be another's file
                raise UsageError(
                    f"{self.path} is a link or a pipe, which is not followed; remove it"
                ) from None
            reason = error.strerror or error
            raise UsageError(
                f"{self.folder} cannot be written: {reason}; choose another folder"
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n".encode())
        self._file.flush()
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let go of it; with ``remove`` its file goes, too."""
        if remove:  # while it is held: whoever opened the file before sees that it is gone, and opens a new one
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        self._file.close()

    def __exit__(self, *_: object) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock, the file ``path``, now; False where there is none."""
    try:
        with path.open("r+b") as file:
            return not _take(file)
    except OSError:
        return False


def _take(file: Any) -> bool:
    """Take the lock of a file without waiting."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        file.seek(1 << 30)  # past what is written, which others may read
        with suppress(OSError):  # it does not tell a lock that is taken from one that cannot be
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return True
        return False
    with suppress(BlockingIOError, PermissionError):  # any other error is a disk without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


MANIFEST = "run.json"
LOCK = "lock"
JOB = "job.json"
_FORMAT = 1
_PAUSE = 1.0  # seconds between two notes of how far a run is


class Kept:
    """What a work has in its folder: a manifest, and the pieces that are finished, each whole or not there.
    folder : None keeps pieces in memory and notes nothing. about : what the run is, for `oodometer runs`: texts by
    name, verb first. question : fingerprint of all that pieces depend on, where their keys do not say it: those of
    another are none. The manifest is written inside `running` alone.
    """

    def __init__(
        self, folder: Path | None, about: Mapping[str, str] | None = None, question: str = ""
    ) -> None:
        self.folder, self.about, self.question = folder, dict(about or {}), question
        self._memory: Json = {}
        self._manifest: Json = {}
        self._noted = 0.0

    @property
    def path(self) -> Path:
        """The folder, where there is one."""
        assert self.folder is not None
        return self.folder

    @property
    def sent(self) -> Kept:
        """As it travels to workers, which see the folder, keep pieces in it, and note nothing."""
        return Kept(self.path.absolute(), question=self.question)

    def get(self, key: str) -> Any:
        """The piece under a key; None where there is none, or, with a warning, where it is damaged or another."""
        if self.folder is None:
            return self._memory.get(key)
        path = self.folder / f"{key}.json"
        piece = read_artifact(path, f"{self.question} {key}", warn=False)
        if piece is None and path.exists():
            made_anew(path, "what is stored there is damaged or of another run")
        return piece

    def keep(self, key: str, piece: Any) -> None:
        """Keep what JSON can hold; what belongs to it is to be there before."""
        if self.folder is None:
            self._memory[key] = piece
            return
        path = self.folder / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_artifact(path, f"{self.question} {key}", piece)

    def piece(self, key: str, make: Callable[[], Any]) -> Any:
        """The piece under a key, made and kept where there is none."""
        piece = self.get(key)
        if piece is None:
            piece = make()
            self.keep(key, piece)
        return piece

    def claim(self, what: str, *results: str) -> None:
        """Make a folder of results, or find it with pieces of this question; `UsageError` for one that holds anything
        else than ``what``.
        """
        folder = self.path
        try:
            if folder.exists() and not folder.is_dir():
                raise UsageError(f"cannot write {folder}: it is a file; name a folder")
            link = next(
                (path for name in (JOB, *results) if (path := folder / name).is_symlink()), None
            )
            if link is not None:
                raise UsageError(
                    f"cannot write {link}: it is a link, which is not followed; remove it"
                )
            if not folder.resolve().parent.is_dir():
                raise UsageError(
                    f"cannot write {folder}: there is no folder {folder.parent}; make it first"
                )
            question = read_artifact(folder / JOB, JOB, warn=False)
            if question is None and (folder / JOB).exists():
                raise UsageError(
                    f"cannot go on in {folder}: its {JOB} is damaged or of another version, and does not say what the "
                    "rest is of; remove the folder or choose another place"
                )
            taken = folder.is_dir() and any(
                not path.name.endswith(".part") for path in folder.iterdir()
            )  # of a killed run
            if taken and question != self.question:
                raise UsageError(
                    f"cannot write {folder}: it is not empty, and holds no {what}; choose another place"
                )
            folder.mkdir(exist_ok=True)
            if question is None:
                write_artifact(folder / JOB, JOB, self.question)
        except OSError as error:
            raise WorkError(
                f"cannot write {folder}: {error.strerror or error}; choose another place"
            ) from error

    def begin(self) -> None:
        """Note that the run begins; pieces of another question are removed."""
        self._manifest = {
            "format": _FORMAT,
            "oodometer": __version__,
            "about": self.about,
            "status": "running",
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "ended": None,
            "why": None,
            "parts": 0,
            "done": 0,
            "read": 0,
        }
        self._write()
        if self.question and read_artifact(self.path / JOB, JOB) != self.question:
            for path in self.path.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name not in (LOCK, MANIFEST):
                    with suppress(OSError):
                        path.unlink()
            write_artifact(self.path / JOB, JOB, self.question)

    def tell(self, done: int, parts: int, worked: int = 0) -> None:
        """How many parts are done and how many there are, 0 where nobody knows; ``worked`` of them were just done."""
        if self._manifest:
            first = not self._manifest["parts"]
            self._manifest |= {
                "done": done,
                "parts": parts,
                "read": self._manifest["read"] + worked,
            }
            self._write(at_once=first)

    def end(self, status: str, why: str | None = None) -> None:
        """Note how the run ended."""
        ended = datetime.now(UTC).isoformat(timespec="seconds")
        self._manifest |= {"status": status, "why": why, "ended": ended}
        self._write()

    def _write(self, at_once: bool = True) -> None:
        if at_once or time.monotonic() - self._noted > _PAUSE:
            self._noted = time.monotonic()
            write_atomic(
                self.path / MANIFEST,
                json.dumps(self._manifest, indent=1, ensure_ascii=False) + "\n",
            )


def read_manifest(folder: Path) -> Json | None:
    """What a folder says of its run, None where there is none; `InputError` for a damaged or foreign manifest."""
    path = folder / MANIFEST
    try:
        if path.exists() and not path.is_file():
            raise OSError("a folder, pipe or device")
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            "the manifest of a run",
            got=" ".join(str(error).split())[:160],
            remedy="remove the folder",
            file=str(path),
        ) from None
    form = manifest.get("format") if isinstance(manifest, dict) else None
    if form != _FORMAT or not isinstance(manifest.get("about"), dict):
        got = f"format {form}" if isinstance(manifest, dict) else "something else"
        remedy = f"remove the folder, or use the version of oodometer that wrote it (here is {__version__})"
        raise InputError(
            f"the manifest of a run (format {_FORMAT})", got=got, remedy=remedy, file=str(path)
        )
    return dict(manifest)


K = TypeVar("K", bound=Kept)


@contextmanager
def running(run_folder: K, *, passing: bool = False) -> Iterator[K]:
    """Inside, ``run_folder`` is held by this process alone: `UsageError` where another works there. A run that fails
    before anything is kept leaves neither manifest nor lock. A ``passing`` folder is made, lasts as long as its job is
    not finished, such as the parts of a file, and goes in the end with all that is in it.
    """
    if run_folder.folder is None:
        yield run_folder
        return
    folder = run_folder.folder
    if passing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkError(
                f"cannot write {folder}: {error.strerror or error}; choose another place"
            ) from None
    with Lock(folder / LOCK, folder):
        run_folder.begin()
        try:
            yield run_folder
        except BaseException as error:
            reason = (
                "interrupted"
                if isinstance(error, (KeyboardInterrupt, GeneratorExit))
                else f"{error}"
            )
            with suppress(OodometerError):  # the first error is the one to tell
                run_folder.end("failed", " ".join(reason.split())[:500])
            with suppress(OSError):  # of a run that kept nothing there is nothing to go on from
                own_files = {LOCK, MANIFEST, JOB} if passing else {LOCK, MANIFEST}
                if {path.name for path in folder.iterdir()} <= own_files:
                    for name in own_files:
                        (folder / name).unlink(missing_ok=True)
                    if passing:
                        folder.rmdir()
            raise
        run_folder.end("finished")
    if passing:
        when_written(
            partial(shutil.rmtree, folder, ignore_errors=True)
        )  # not before the result is in its place


def places_said(**data: Any) -> dict[str, str]:
    """What a run is of: for each of its ``data``, by what it is to it, a path or several, where these are, else the
    kind of thing. What is None is left out.

    >>> places_said(reference=["a", "b"], target=3, labels=None)
    {'reference': 'a, b', 'target': 'a int'}
    """

    def reason(path: Any) -> str:
        if not isinstance(path, (str, os.PathLike)):
            return str(getattr(path, "__name__", f"a {type(path).__name__}"))
        name = os.fspath(path)
        return (
            os.path.abspath(name) if os.path.exists(name) else name
        )  # else a name of a hub, or a URL

    several = {
        name: path if isinstance(path, (list, tuple)) else [path]
        for name, path in data.items()
        if path is not None
    }
    return {name: ", ".join(map(reason, paths)) for name, paths in several.items()}


def places_of_run(**data: Any) -> dict[str, str]:
    """Where the data of a run lie, by what they are to it; `UsageError` for what is in memory and found by nobody."""
    out = {}
    for name, path in data.items():
        paths = list(path) if isinstance(path, (list, tuple)) else [path]
        invalid = next(
            (path for path in paths if not isinstance(path, (str, os.PathLike)) or path == "-"),
            None,
        )
        if invalid is not None:
            reason = "standard input" if invalid == "-" else f"a {type(invalid).__name__} in memory"
            verb = "are" if name.endswith("s") else "is"
            remedy = "write it to a file, or leave the run folder out"
            raise UsageError(f"a run folder is for files, and the {name} {verb} {reason}; {remedy}")
        out[name] = ", ".join(
            path if is_remote(path) else os.path.abspath(path) for path in map(os.fspath, paths)
        )
    return out
