"""Elsewhere: shifted copies of texts as tasks of an engine, one a copy; a worker reads the files itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from ...datasets.images import file_stamp
from ...engines import Engine, run_tasks
from ...shifts import TextShift
from .copies import Asked, Elsewhere, TextJob
from .inputs import ShiftInputs

__all__ = ["copies_on"]


def copies_on(engine: Engine, job: TextJob, inputs: ShiftInputs) -> Elsewhere:
    """What writes copies of a job on an engine."""

    def write(asked: Sequence[Asked], part: Path, tell: Callable[[int], None]) -> None:
        done = iter(range(1, len(asked) + 1))
        what = [(type(one.shift), one.severity) for one in asked]
        run_tasks(engine, _Task(job.sent, inputs, part), what, on_done=lambda _: tell(next(done)))

    return write


@final
@dataclass(frozen=True)
class _Task:
    """Writes one copy: the kind of shift and its severity are the item."""

    job: TextJob
    inputs: ShiftInputs
    part: Path

    def __call__(self, what: tuple[type[TextShift], str]) -> None:
        kind, severity = what
        training = self.inputs.training
        stamp = None if training is None else file_stamp(Path(training))
        shift, told = _made(_Key(f"{self.inputs!r} {stamp}", self.inputs), kind)
        self.job.write_copy(Asked(shift, severity, told), self.part)


@final
class _Key:
    """Inputs as a key of what is kept: equal where they say the same of files that are the same."""

    def __init__(self, said: str, inputs: ShiftInputs) -> None:
        self.said, self.inputs = said, inputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.said == other.said

    def __hash__(self) -> int:
        return hash(self.said)


@lru_cache(maxsize=4)
def _made(key: _Key, kind: type[TextShift]) -> tuple[TextShift, Mapping[str, Any]]:
    """A shift of a kind; the training texts are read once by a worker that writes several copies of it."""
    ((shift, told),) = key.inputs.made([kind])
    return shift, told
