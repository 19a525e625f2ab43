"""Job: what is shifted, how and where to; what every copy has in common: its place, its manifest, going on."""

from __future__ import annotations

import json
import os
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from oodometer.engines import Engine, run_tasks
from oodometer.errors import InputError, UsageError, WorkError
from oodometer.runs import JOB, LOCK, Kept, places_said, running
from oodometer.runs import MANIFEST as RUN
from oodometer.store import together, write_atomic, write_result

MANIFEST = "manifest.json"


def deviations(shifts: Iterable[Any]) -> tuple[str, ...]:
    """What differs from the published form of each kind."""
    return tuple(
        dict.fromkeys(f"{shift.name}: {shift.deviation}" for shift in shifts if shift.deviation)
    )


@dataclass(eq=False)
class Job:
    """One call of a command with its options; ``copies`` are pairs of a shift, or of its kind, and a severity."""

    command: str
    options: Any
    copies: tuple[tuple[Any, Any], ...]

    def __post_init__(self) -> None:
        self.source, self.out = Path(self.options.data), Path(self.options.out)
        self.layout = self.options.layout

    @property
    def alone(self) -> bool:
        """Whether there is one copy, which has the name that was given."""
        return len(self.copies) == 1 and self.layout is None

    @property
    def sent(self) -> Self:
        """The job as it travels to a worker."""
        return replace(
            self, options=replace(self.options, progress=None, engine=None, workers=None)
        )

    def name(self, number: int) -> str:
        """The name of a copy among several."""
        shift, severity = self.copies[number]
        return f"{shift.name}{'/' if self.layout else '-'}{str(severity).replace('/', '-of-')}"

    def tell(self, done: int, total: int) -> None:
        """Say how far the work is."""
        if self.options.progress is not None:
            self.options.progress(done, total)

    def check_out(self, clash: str | None) -> None:
        """Say before the work that the place is taken or cannot be written; ``clash``: how the source is in its way."""
        out, why = self.out.resolve(), f"{clash}; choose another place" if clash else None
        if why is None and not out.parent.is_dir():
            why = f"there is no folder {self.out.parent}; make it first"
        if why is None and (any(out.iterdir()) if out.is_dir() else out.exists()):
            why = "it is there already and not empty; choose another place"
        if why is not None:
            raise UsageError(f"cannot write {self.out}: {why}")

    @contextmanager
    def filling(self, fingerprint: str) -> Iterator[Kept]:
        """A folder beside the result to fill; it becomes the result at the end of the block. What the same job left
        there when it was interrupted is still in it; input that is refused leaves nothing.
        """
        out = self.out.resolve()
        part = out.with_name(f".{out.name}.part")
        mine = False
        try:
            part.mkdir(exist_ok=True)
            about = {"verb": self.command, **places_said(data=self.source, out=self.out)}
            with running(Kept(part, about, fingerprint)) as kept:
                mine = True
                yield kept
            for name in (RUN, LOCK):
                (part / name).unlink(missing_ok=True)
            if out.is_dir():
                out.rmdir()  # it was empty
            os.replace(part, out)
            (out / JOB).unlink()
        except (InputError, UsageError):
            if mine:
                shutil.rmtree(part, ignore_errors=True)
            raise
        except OSError as error:
            reason = error.strerror or error
            raise WorkError(
                f"cannot write {self.out}: {reason}; free some space or choose another place"
            ) from error


@dataclass(eq=False)
class FileJob(Job):
    """A job whose copies are files; ``written`` is what the manifests of finished ones say, in their order."""

    written: list[dict[str, Any]] = field(default_factory=list, init=False)

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A short name of source and settings."""

    @abstractmethod
    def paths_in(self, folder: Path, number: int) -> tuple[Path, Path]:
        """Where one of several copies and its manifest lie below a folder."""

    @abstractmethod
    def write(
        self, number: int, path: Path, beside: Path, write: Callable[[Path, Any], Any]
    ) -> dict[str, Any]:
        """Write a copy and, last, its manifest, with a function of a path and what it is to hold."""

    def paths(self, number: int) -> tuple[Path, Path]:
        """Where a copy and its manifest are in the end."""
        if self.alone:
            return self.out, self.out.with_suffix(f".{MANIFEST}")
        return self.paths_in(self.out, number)

    def run(self, engine: Engine | None, unit: int = 1) -> list[dict[str, Any]]:
        """Write all copies, those of several that are not there yet; a copy that a task has written is ``unit``
        progress.
        """
        every = len(self.copies)
        if self.alone:
            with together():
                return [self.write(0, *self.paths(0), write_result)]
        with self.filling(self.fingerprint) as kept:
            part = kept.path
            rest = [
                number for number in range(every) if not self.paths_in(part, number)[1].is_file()
            ]
            done = iter(range(every - len(rest) + 1, every + 1))

            def tell(_: int) -> None:
                copies = next(done)
                self.tell(copies * unit, every * unit)
                kept.tell(copies, every, 1)

            if engine is not None:
                run_tasks(engine, _Task(self.sent, part, self.fingerprint), rest, on_done=tell)
            for number in range(every):
                path, beside = self.paths_in(part, number)
                is_local = engine is None and number in rest
                manifest = self.write(number, path, beside, write_atomic) if is_local else None
                if engine is None:
                    kept.tell(number + 1, every, int(is_local))
                self.written.append(manifest or json.loads(beside.read_text(encoding="utf-8")))
        return self.written


@dataclass(frozen=True)
class _Task:
    """Writes one of several copies, on whatever machine; what the job has read serves the next copy there, too."""

    job: FileJob = field(compare=False)
    part: Path
    fingerprint: str

    def __call__(self, number: int) -> None:
        job = _latest(self)
        job.write(number, *job.paths_in(self.part, number), write_atomic)


_latest: Callable[[_Task], FileJob] = lru_cache(maxsize=1)(attrgetter("job"))
