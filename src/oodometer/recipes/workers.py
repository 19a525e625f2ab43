"""Workers: steps that need nothing of each other, done side by side as tasks of an engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import final
from uuid import uuid4

from ..engines import Engine, run_tasks
from ..errors import OodometerError, WorkError
from ..kernels import cores, limited_to
from ..models.torch.library import one_torch_thread
from ..runs import Lock
from ..store import write_atomic
from .base import Course, Recipe, Step, Workspace, do_step, marks

_MOST = 8  # each holds a network and the training data


@final
@dataclass(frozen=True)
class Origin:
    """Where another process finds the steps of a run: module and name of the recipe, scale, models or tasks."""

    module: str
    attribute: str
    scale: str
    only: tuple[str, ...]

    def steps(self) -> Mapping[str, Step]:
        """The steps by name; made once in a process, so that data they have read stay read."""
        if self not in _known:
            recipe: Recipe = getattr(import_module(self.module), self.attribute)
            _known[self] = {step.name: step for step in recipe.steps(self.scale, self.only)}
        return _known[self]

    @contextmanager
    def known(self, steps: Sequence[Step]) -> Iterator[None]:
        """Inside, these are the steps in this process, which need not be made a second time."""
        _known[self] = {step.name: step for step in steps}
        try:
            yield
        finally:
            _known.pop(self, None)


_known: dict[Origin, Mapping[str, Step]] = {}


def usual_workers() -> int:
    """One for each core, at most 8; on a GPU at most 4.

    Unlike threads, processes do not wait for each other on cores that others keep busy.

    >>> 1 <= usual_workers() <= 8
    True
    """
    from ..models.torch.library import choose_device

    return min(cores(), 4 if choose_device(None) == "cuda" else _MOST)


_PLACE, _RUN, _STOPPED = ".engine", "run", "stopped"
_FIRST, _LONGEST = 0.1, 5.0  # seconds between two looks of a task that waits
_GRACE = 60.0  # seconds after which a network disk shows everywhere what was written elsewhere


@final
class Tickets:
    """Does steps as tasks of one thread, or of some, on an engine, which needs to know nothing of steps.

    There are as many tickets as steps, and any ticket is good for any step: a task takes the first step whose needs
    are done and that nobody has, does it, and remembers it in the folder itself. So no step waits until all others of
    a wave are done, in whatever order the engine begins its tasks, and a run that is killed has lost what was under
    way. A step is held by a lock of the system, which ends with its process: where a worker dies, another task takes
    the step; what a killed run has left running on a cluster finishes its step, and the next run waits for it.

    Workers must share the folder; `WorkError` where one does not see it.
    """

    def __init__(self, origin: Origin, folder: Path, engine: Engine, threads: int = 1) -> None:
        self._origin, self._folder, self._engine, self._threads = origin, folder.absolute(), engine, threads

    def follow(self, course: Course) -> None:
        """Do all steps that are left, those that are done in every run aside; the longest chain is begun first."""
        left = course.longest_first()
        done = tuple(course.runs)
        known = {*done, *(step.name for step in left)}
        lost = next((step.name for step in left if not known.issuperset(step.needs)), None)
        if lost is not None:
            raise WorkError(f"the step {lost} needs one that no run does; report it")
        for step in left:
            course.workspace.forget(step.name)  # its files are gone, or are of other settings
        place = self._folder / _PLACE
        run = uuid4().hex
        write_atomic(Workspace(self._folder) / f"{_PLACE}/{_RUN}", run)
        names = tuple(step.name for step in left)
        task = Task(self._origin, self._folder, run, course.marks, done, names, self._threads)
        called = getattr(self._engine, "name", type(self._engine).__name__)
        course.say(f"{len(left)} steps on the engine {called}", course.share)

        def look(_: int) -> None:
            self._look(course, left)

        try:
            with self._origin.known(course.steps):
                run_tasks(self._engine, task, range(len(left)), on_done=look)
            end = time.monotonic() + _GRACE
            while (hidden := self._look(course, left)) and time.monotonic() < end:
                time.sleep(_FIRST)
            if hidden:
                raise _not_shared(f"workers did the step {hidden[0]}, and {self._folder} does not hold all its files")
        except BaseException:
            for name in (_RUN, _STOPPED):
                (place / name).unlink(missing_ok=True)
            with suppress(OSError):  # a lock is held by a worker that is still at it
                place.rmdir()
            raise
        rmtree(place, ignore_errors=True)

    def _look(self, course: Course, left: Sequence[Step]) -> list[str]:
        """Take note of the steps that workers have done since the last look, in whatever order; names of the others."""
        for step in left:
            if step.name in course.runs:
                continue
            known = course.workspace.stamp(step.name)
            if known.get("mark") == course.marks[step.name] and _are_there(course.workspace, step):
                course.is_behind(step, known)
                course.say(step.about, course.share)
        return [step.name for step in left if step.name not in course.runs]


@final
@dataclass(frozen=True)
class Task:
    """Does one step of those that are left, on a worker.

    Parameters
    ----------
    origin : where the steps are found.
    folder : the workspace, which all workers see.
    run : name of this run, which stands in the folder as long as it lasts.
    marks : of all steps, by which a worker knows that its steps are those of the sender.
    done : names of steps that were done before.
    left : names of the others, in the order in which they are begun.
    threads : of a task.
    gpu : a task takes a GPU, where there is one.
    """

    origin: Origin
    folder: Path
    run: str
    marks: Mapping[str, str]
    done: tuple[str, ...]
    left: tuple[str, ...]
    threads: int = 1
    gpu: bool = True

    def __call__(self, ticket: int) -> None:
        """Wait for a step and do it; end without one where none is left, or where another task has failed."""
        try:
            with one_torch_thread(), limited_to(self.threads):
                self._check_shared()
                steps = self.origin.steps()
                pause = _FIRST
                while not self._does_one(steps):
                    time.sleep(pause)
                    pause = min(2 * pause, _LONGEST)
        except BaseException:
            with suppress(OodometerError):  # or the others wait for what this one would have left
                write_atomic(self.folder / _PLACE / _STOPPED, self.run)
            raise

    def _does_one(self, steps: Mapping[str, Step]) -> bool:
        """Do the first step that is ready and that nobody has; True, too, where there is nothing to wait for."""
        self._check_shared()
        if _read(self.folder / _PLACE / _STOPPED) == self.run:
            return True
        workspace = Workspace(self.folder)
        rest = [name for name in self.left if not self._is_done(workspace, name)]
        behind = {*self.done, *self.left}.difference(rest)
        for name in rest:
            needs = steps[name].needs
            if not behind.issuperset(needs) or not all(_are_there(workspace, steps[one]) for one in needs):
                continue
            lock = Lock(workspace / f"{_PLACE}/{name}.lock", self.folder)
            if not lock.take():
                continue
            try:
                if self._is_done(workspace, name):  # meanwhile
                    continue
                if marks(list(steps.values())).get(name) != self.marks[name]:
                    said = f"the step {name} is another one to a worker"
                    raise WorkError(f"{said}: all need the same data, settings and packages as here")
                try:
                    do_step(steps[name], workspace, self.marks[name], lambda done, of: None)
                except OSError as error:
                    raise WorkError(f"the step {name} failed: {error}") from error
                return True
            finally:
                lock.release(remove=True)
        return not rest

    def _is_done(self, workspace: Workspace, name: str) -> bool:
        return bool(workspace.stamp(name).get("mark") == self.marks[name])

    def _check_shared(self) -> None:
        found = _read(self.folder / _PLACE / _RUN)
        if found is None:
            raise _not_shared(f"a worker does not see the run in {self.folder}")
        if found != self.run:  # the one who sent this was killed
            raise WorkError(f"another run has begun in {self.folder}")


def _are_there(workspace: Workspace, step: Step) -> bool:
    """Whether the files of a step that is done are seen here; a network disk may show them later than its stamp."""
    return all((workspace.folder / name).is_file() for name in step.files)


def _read(path: Path) -> str | None:
    """A short text; None where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


def _not_shared(said: str) -> WorkError:
    return WorkError(f"{said}: all workers must share the folder; name one of a shared disk with --out")
