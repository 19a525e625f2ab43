"""Run folder: finished parts of a pass are kept, so that a killed run goes on and a grown target costs its new part."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..engines import Engine
from ..errors import InputError, UsageError
from ..persistence import Archive, Damaged, Encoder, NotKept, archive_of, decoded
from ..predictions import Predictions
from ..registry import FAILURES
from ..runs import LOCK, MANIFEST, Kept, read_manifest, running
from ..store.artifact_cache import checksum, made_anew
from ..store.atomic import write_atomic
from ..store.files import KnownFiles, knowing
from ..store.memory import checksum_of_truth
from ..version import __version__

PARTS = "parts"
FACTS = "files.json"
_ENDING = ".state"
_DRAFT = "draft"  # a state that is being written
_EFFORT = (
    1  # of packing: most of a state is counts of few rows, which the quickest way packs to a sixth
)


@dataclass(frozen=True)
class _Numbered:
    """Work on parts with their places, so that a state says whose it is; it is packed where the work is done."""

    work: Callable[[Any], Any]

    def __call__(self, numbered: tuple[int, Any]) -> list[tuple[int, Any]]:
        i, part = numbered
        return [(i, pack_state(self.work(part)))]


@dataclass(frozen=True)
class PackedState:
    """A state as the bytes of its file."""

    content: bytes

    def state(self) -> Any:
        """The state again; `InputError`, `Damaged` or `zlib.error` where these are other bytes."""
        archive = Archive("a state", zlib.decompress(self.content))
        return decoded(archive.section("state"), archive.arrays)


def _unpacked(state: Any) -> Any:
    """The state that `pack_state` was given."""
    return state.state() if isinstance(state, PackedState) else state


def pack_state(state: Any) -> Any:
    """A state as bytes; the state itself where it is of a plugin, whose classes nobody knows how to read again."""
    encoder = Encoder()
    try:
        tree = encoder.encode(state, "the state")
    except NotKept:
        return state
    return PackedState(
        zlib.compress(archive_of({"content": "state"}, {"state": tree}, encoder.arrays), _EFFORT)
    )


class RunFolder(Kept):
    """States of parts in files of their own, each by what it is of: the part's rows and the fitted work."""

    def __init__(self, folder: Path, about: Mapping[str, str]) -> None:
        super().__init__(folder, about)
        self._used: set[str] = set()
        self.facts: KnownFiles | None = None  # what is known of files of text

    def begin(self) -> None:
        """Note that a run begins; `UsageError` where the folder is of another one."""
        before = read_manifest(self.path)
        # Where nothing is, a path may have been mistyped.
        has_states = any((self.path / PARTS).glob(f"*{_ENDING}")) or any(_foreign(self.path))
        if before is not None and has_states and before["about"] != self.about:
            was, now = before["about"], self.about
            key = next(name for name in {**was, **now} if was.get(name) != now.get(name))
            remedy = "give each job a folder of its own with --run-folder"
            text = f"{self.path} is of a run with the {key} {was.get(key)}, not {now.get(key)}; {remedy}"
            raise UsageError(text)
        if (self.path / PARTS).is_symlink():  # what is not used is removed from it
            raise UsageError(f"{self.path / PARTS} is a link, which is not followed; remove it")
        (self.path / PARTS).mkdir(exist_ok=True)
        super().begin()

    def end(self, status: str, why: str | None = None) -> None:
        """Note how the run ended; of one that was finished, only the parts that it used stay."""
        if status == "finished" and self._used:
            for path in (self.path / PARTS).iterdir():
                if path.name not in self._used:
                    path.unlink(missing_ok=True)
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
        if self.facts is not None:
            self.facts.save()  # a run that is killed later need not look at the files again
        rows, scales = getattr(work, "rows_in_all", None), self._scales()
        scale = 0 if rows is None else max(int(rows).bit_length() - 1, 0)
        files = [
            _that_serves(name, scale, scales.get(name or "", ())) for name in _files_of(work, parts)
        ]
        is_stored = self._counted(files)
        fresh = list[tuple[int, Any]]()
        unnamed: dict[int, Any] = {}  # states of parts that no file can stand for
        for i, part in enumerate(parts):
            if is_stored[i]:
                on_done(part)
            else:
                fresh.append((i, part))

        def keep(states: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
            for i, state in states:
                if not self._keep(files[i], state):
                    unnamed[i] = _unpacked(state)
                self.tell(self._manifest["done"] + 1, self._manifest["parts"], worked=1)
            return []

        if fresh:
            keep(engine.fold(fresh, _Numbered(work), lambda a, b: keep(a) + keep(b), on_done))
        total: Any = None
        for i, part in enumerate(parts):
            state = unnamed.pop(i) if i in unnamed else self._read(str(files[i]))
            if state is None:
                packed = pack_state(work(part))
                self._keep(files[i], packed)
                state = _unpacked(packed)
            total = state if i == 0 else merge(total, state)
        return total

    def _scales(self) -> dict[str, list[int]]:
        """What the states that are kept are of, and the scales at which they were made."""
        scales: dict[str, list[int]] = {}
        for path in (self.path / PARTS).glob(f"*{_ENDING}"):
            base, _, scale = path.name.removesuffix(_ENDING).partition("-")
            if not scale or scale.isdecimal():
                scales.setdefault(base, []).append(int(scale or 0))
        return scales

    def expect(self, keys: Sequence[str]) -> list[bool]:
        """Whether a piece is kept under each of these keys; all count as parts of the run."""
        return self._counted([f"{key}{_ENDING}" for key in keys])

    def get(self, key: str) -> Any:
        """The piece under a key that is expected; None where there is none, or, with a warning, where it is damaged."""
        exists = (self.path / PARTS / f"{key}{_ENDING}").exists()
        piece = self._read(f"{key}{_ENDING}")
        if exists and piece is None:
            self._manifest["done"] -= 1
        return piece

    def keep(self, key: str, piece: Any) -> None:
        """Keep a piece under a key that is expected."""
        self._keep(f"{key}{_ENDING}", pack_state(piece))
        self.tell(self._manifest["done"] + 1, self._manifest["parts"], worked=1)

    def _counted(self, files: Sequence[str | None]) -> list[bool]:
        """Whether each file of a state is there: all are parts of the run, those that are there are done."""
        are_stored = [name is not None and (self.path / PARTS / name).is_file() for name in files]
        self._used |= {name for name in files if name is not None}
        self._manifest["parts"] += len(files)
        self._manifest["done"] += sum(are_stored)
        self._write()
        return are_stored

    def _keep(self, name: str | None, state: Any) -> bool:
        if name is None or not isinstance(state, PackedState):
            return False
        whose = name.encode() + b"\n"  # a file that is copied over another's is seen
        write_atomic(self.path / PARTS / name, whose + state.content, draft=self.path / _DRAFT)
        return True

    def _read(self, name: str) -> Any:
        """The state in a file; None where there is none, or, with a warning, where it is damaged or another's."""
        path = self.path / PARTS / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError(f"{path} is a link or a pipe, which is not followed; remove it")
        why = "the state stored there is damaged or of another version"
        try:
            whose, _, content = path.read_bytes().partition(b"\n")
            if whose == name.encode():
                return PackedState(content).state()
            if whose.endswith(_ENDING.encode()):
                why = "the state stored there is of other rows or of another run"
        except FileNotFoundError:
            return None
        except (InputError, Damaged, OSError, zlib.error):
            pass
        made_anew(path, why)
        return None


@contextmanager
def run_folder(
    path: str | os.PathLike[str] | None, about: Mapping[str, str]
) -> Iterator[RunFolder | None]:
    """The folder of a run, locked while it is in use, or None; `UsageError` where it is in use or of another run."""
    if path is None:
        yield None
        return
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise UsageError(
            f"--run-folder needs a folder that can be written, {folder}: {why}"
        ) from None
    if not (folder / MANIFEST).exists() and any(_foreign(folder)):
        raise UsageError(
            f"{folder} holds other files and no {MANIFEST}; give --run-folder an empty or a new folder"
        )
    with running(RunFolder(folder, about)) as run, knowing(folder / FACTS) as run.facts:
        yield run


def _foreign(folder: Path) -> Iterator[Path]:
    """What no run folder holds, such as the results of `stress`, whose folder has a manifest, too."""
    return (
        path for path in folder.iterdir() if path.name not in (LOCK, MANIFEST, PARTS, FACTS, _DRAFT)
    )


def _files_of(work: Any, parts: Sequence[Any]) -> Iterator[str | None]:
    """The name of each part's state; None for parts in memory, and for works that cannot be told from others."""
    labels: Predictions | None = getattr(work, "labels", None)
    bare: Any = work  # of a pass its fields: what kind of pass it is, the name of its class tells
    # labels count part by part, the number of rows by its scale
    if is_dataclass(work) and not isinstance(work, type):
        names = [f.name for f in fields(work) if f.init]
        bare = {
            name: None if name in ("labels", "rows_in_all") else getattr(work, name)
            for name in names
        }
    encoder = Encoder()
    try:
        tree = encoder.encode(bare, "the work")
    except (NotKept, *FAILURES):
        yield from (None for _ in parts)
        return
    base = checksum(
        __version__, type(work).__qualname__, json.dumps(tree, sort_keys=True), *encoder.arrays
    )
    for part in parts:
        identity, truth = part.identity() if hasattr(part, "identity") else None, ""
        # of the part's rows; of all where nobody knows which these are
        if identity is not None and labels is not None:
            rows = part.span()
            subset = (
                labels
                if rows is None
                else labels.slice(rows[0] - work.first_row, rows[1] - work.first_row)
            )
            truth = checksum_of_truth(subset)
        yield None if identity is None else checksum(base, identity, truth)


def _that_serves(name: str | None, scale: int, scales: Sequence[int]) -> str | None:
    """The file of a state: one that is there and holds enough rows, which is of no larger data set; else a new one."""
    serving = max((stored for stored in scales if stored <= scale), default=scale)
    return None if name is None else f"{name}-{serving}{_ENDING}" if serving else f"{name}{_ENDING}"
