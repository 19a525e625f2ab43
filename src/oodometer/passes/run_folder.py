"""Run folder: finished parts of a pass are kept, so that a killed run goes on and a grown target costs its new part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..engines import Engine
from ..errors import InputError, UsageError
from ..persistence import Archive, Damaged, Encoder, NotKept, decoded, write_archive
from ..plugins import FAILURES
from ..predictions import Predictions
from ..runs import LOCK, MANIFEST, Manifest, read_manifest, running
from ..store.artifact_cache import checksum, made_anew
from ..store.atomic import write_atomic
from ..store.labelled import checksum_of_truth
from ..version import __version__

__all__ = ["PARTS", "RunFolder", "run_folder"]

PARTS = "parts"
_ENDING = ".state"


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


class RunFolder(Manifest):
    """States of parts in files of their own, each by what it is the state of: the part's rows and the fitted work.

    ``home`` is the folder, ``about`` what the run is (texts by name), which another run in it must agree with. Used as
    a context, or by `run_folder`, which says how it ended. A state is read again where the file that its rows are in,
    and all that was learnt from the reference, are what they were; everything else is worked out anew.
    """

    def __init__(self, home: Path, about: Mapping[str, str]) -> None:
        super().__init__(home, about)
        self._used: set[str] = set()

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
        super().begin()

    def end(self, status: str, why: str | None = None) -> None:
        """Note how the run ended; of one that was finished, only the parts that it used stay."""
        if status == "finished" and self._used:
            for one in (self.home / PARTS).iterdir():
                if one.name not in self._used:
                    one.unlink(missing_ok=True)
        super().end(status, why)

    def fold(
        self,
        engine: Engine,
        work: Callable[[Any], Any],
        parts: Sequence[Any],
        merge: Callable[[Any, Any], Any],
        on_done: Callable[[Any], None],
    ) -> Any:
        """As `Engine.fold`; only parts whose state is not here are worked on."""
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
        write_archive(self.home / PARTS / name, {"content": "state"}, {"state": tree}, encoder.arrays, write_atomic)
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
        self._note()


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
    if not (home / MANIFEST).exists() and any(one.name not in (LOCK, PARTS) for one in home.iterdir()):
        raise UsageError(f"{home} holds other files and no {MANIFEST}; give --run-folder an empty or a new folder")
    with running(RunFolder(home, about)) as folder:
        yield folder


def _files_of(work: Any, parts: Sequence[Any]) -> Iterator[str | None]:
    """The name of each part's state; None for parts in memory, and for works that cannot be told from others."""
    labels: Predictions | None = getattr(work, "labels", None)
    bare: Any = work  # of a pass its fields: what kind of pass it is, the name of its class tells
    if is_dataclass(work) and not isinstance(work, type):
        bare = {f.name: None if f.name == "labels" else getattr(work, f.name) for f in fields(work) if f.init}
    encoder = Encoder()
    try:
        tree = encoder.encode(bare, "the work")
    except (NotKept, *FAILURES):
        yield from (None for _ in parts)
        return
    base = checksum(__version__, type(work).__qualname__, json.dumps(tree, sort_keys=True), *encoder.arrays)
    for part in parts:
        told = part.identity() if hasattr(part, "identity") else None
        yield None if told is None else f"{checksum(base, told, _truth(labels, work, part))}{_ENDING}"


def _truth(labels: Predictions | None, work: Any, part: Any) -> str:
    """The labels of a part's rows; of all rows where it is not known which are its own."""
    if labels is None:
        return ""
    rows = part.span()
    own = labels if rows is None else labels.slice(rows[0] - work.first_row, rows[1] - work.first_row)
    return checksum_of_truth(own)
