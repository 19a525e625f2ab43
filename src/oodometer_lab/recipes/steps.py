"""Steps: those that a folder has are kept, the rest is done here in order, or side by side as tasks of an engine."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import final

from oodometer.engines import Engine, run_tasks
from oodometer.errors import UsageError, WorkError
from oodometer.kernels import cores, limited_to
from oodometer.runs import Kept, Lock
from oodometer.store.artifact_cache import checksum_of_files, made_anew, write_artifact

from ..models.torch.library import one_torch_thread
from .base import Progress, Recipe, Report, Spent, Step, StepRun, Workspace, check_all, stamp_of

_MOST = 8  # each holds a network and the training data
_LOCKS = ".engine"
_PAUSE = 0.1  # seconds between two looks
_GRACE = 60.0  # seconds after which a network disk shows everywhere what was written elsewhere


def run_steps(
    steps: Sequence[Step],
    workspace: Workspace,
    report: Report | None = None,
    workers: Workers | None = None,
    kept: Kept | None = None,
) -> list[StepRun]:
    """Do the steps that are not done yet, with ``workers`` side by side; interrupted, the next run goes on behind the
    last one finished. What is missing is said before, in one line; ``kept`` is told of each step that is done.
    """
    names = [step.name for step in steps]
    if len(set(names)) < len(names):
        raise UsageError(f"two steps have the same name among {', '.join(names)}")
    run = _Run(steps, workspace, report, kept)
    pending = [step for step in steps if not run.keep(step)]
    run.check(pending)
    side_by_side = [step for step in pending if not step.always]
    if workers is not None and side_by_side:
        run.do_with(workers, side_by_side)
    for step in pending:
        if step.name not in run.runs:
            run.do_here(step)
    if report is not None:
        report("done", 1.0)
    return [run.runs[name] for name in names]


class _Run:
    """A run under way: its steps and their marks, what became of those that are done, and who is told of it."""

    def __init__(
        self,
        steps: Sequence[Step],
        workspace: Workspace,
        report: Report | None,
        kept: Kept | None,
    ) -> None:
        self.steps, self.workspace, self.report, self.kept = steps, workspace, report, kept
        self.marks = fingerprints(steps)
        self.total_weight = sum(step.weight for step in steps) or 1.0
        self.done_weight = 0.0
        self.runs: dict[str, StepRun] = {}

    def say(self, what: str, more: float = 0.0) -> None:
        """Report what is being done; ``more`` weight than that of the finished steps is behind."""
        if self.report is not None:
            self.report(what, (self.done_weight + more) / self.total_weight)

    def finish(self, step: Step, spent: Spent, before: bool = False) -> None:
        """Remember that a step is done, or was done by a run ``before``."""
        seconds, cpu_seconds = float(spent["seconds"]), float(spent["cpu_seconds"])
        self.runs[step.name] = StepRun(step.name, before, seconds, cpu_seconds)
        self.done_weight += step.weight
        if self.kept is not None:
            self.kept.tell(len(self.runs), len(self.steps), int(not before))

    def is_there(self, step: Step) -> bool:
        """Whether the workspace remembers this very step and has all its files."""
        mark = self.workspace.stamp(step.name).get("mark")
        return mark == self.marks[step.name] and _are_there(self.workspace, step)

    def keep(self, step: Step) -> bool:
        """Whether an earlier run left the step unchanged, which then counts as finished."""
        if step.always or not self.is_there(step):
            return False
        stamp, folder = self.workspace.stamp(step.name), self.workspace.folder
        if checksum_of_files(folder, step.files) != stamp["files"]:
            made_anew(
                folder / stamp_of(step.name), f"a file of the step {step.name} has changed since"
            )
            return False
        self.finish(step, stamp, before=True)
        return True

    def check(self, pending: Sequence[Step]) -> None:
        """Do every check of the steps that are to be done."""
        checks = {name: check for step in pending for name, check in step.checks.items()}
        if checks:
            self.say("looking for what the run needs", -self.done_weight)
            check_all(checks.items())

    def do_here(self, step: Step) -> None:
        """Do a step in this process."""

        def progress(part: int, of: int) -> None:
            if of:
                self.say(step.about, step.weight * part / of)

        self.say(step.about)
        self.finish(step, do_step(step, self.workspace, self.marks[step.name], progress))

    def do_with(self, workers: Workers, pending: Sequence[Step]) -> None:
        """Do steps as tasks of an engine, those with the heaviest chain behind them first."""
        chains, folder = _chains(self.steps), self.workspace.folder
        ordered = {s.name: s for s in sorted(pending, key=lambda step: -chains[step.name])}
        for step in ordered.values():
            if not {*ordered, *self.runs}.issuperset(step.needs):
                raise WorkError(f"the step {step.name} needs one that no run does; report it")
        for name in ordered:
            self.workspace.forget(name)  # its files are gone, or are of other settings
        engine = getattr(workers.engine, "name", type(workers.engine).__name__)
        self.say(f"{len(ordered)} steps on the engine {engine}")

        def arrived(name: str, _: None) -> None:
            step = ordered[name]
            lost = f"workers did the step {name}, and {folder} does not hold all its files"
            _wait_for(lambda: self.is_there(step), lost)
            self.finish(step, self.workspace.stamp(name))
            self.say(step.about)

        folder.mkdir(parents=True, exist_ok=True)  # who does not see it is on another disk
        task = Task(workers.origin, folder.absolute(), self.marks, workers.threads)
        indices = {name: index for index, name in enumerate(ordered)}
        needs = {
            indices[name]: [indices[need] for need in step.needs if need in indices]
            for name, step in ordered.items()
        }
        try:
            with workers.origin.known(self.steps):
                run_tasks(workers.engine, task, list(ordered), needs=needs, on_result=arrived)
        finally:
            with suppress(OSError):  # a lock is held by a worker that is still at it
                (folder / _LOCKS).rmdir()


def _chains(steps: Sequence[Step]) -> dict[str, float]:
    """The weight of each step together with the heaviest chain of steps that wait for it."""
    weights = {step.name: float(step.weight) for step in steps}
    chains = dict(weights)
    for step in reversed(steps):  # whoever needs a step stands behind it
        for name in step.needs:
            chains[name] = max(chains[name], weights[name] + chains[step.name])
    return chains


def do_step(step: Step, workspace: Workspace, mark: str, progress: Progress) -> Spent:
    """Do a step and remember it; what it took. `WorkError` where it did not leave its files."""
    started, used = time.monotonic(), time.process_time()
    step.work(workspace, progress)
    spent = {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - used}
    missing = [name for name in step.files if not (workspace.folder / name).is_file()]
    if missing:
        raise WorkError(f"the step {step.name} did not leave {', '.join(missing)}; report it")
    files = checksum_of_files(workspace.folder, step.files)
    write_artifact(workspace / stamp_of(step.name), "step", {"mark": mark, **spent, "files": files})
    return spent


def fingerprints(steps: Sequence[Step]) -> dict[str, str]:
    """For each step, by name, what stands for all that its files depend on; whoever needs a step stands behind it."""
    out: dict[str, str] = {}
    for step in steps:
        needs = [out[name] for name in step.needs]
        settings = json.dumps(
            [step.name, step.files, dict(step.settings), needs], sort_keys=True, default=str
        )
        out[step.name] = hashlib.sha256(settings.encode()).hexdigest()[:24]
    return out


def _are_there(workspace: Workspace, step: Step) -> bool:
    """Whether the files of a step are seen here; a network disk may show them later than its stamp."""
    return all((workspace.folder / name).is_file() for name in step.files)


def _wait_for(is_there: Callable[[], bool], lost: str) -> None:
    """Wait for what was written elsewhere; `WorkError` where it does not come."""
    end = time.monotonic() + _GRACE
    while not is_there():
        if time.monotonic() > end:
            raise _not_shared(lost)
        time.sleep(_PAUSE)


def _not_shared(what: str) -> WorkError:
    return WorkError(
        f"{what}: all workers must share the folder; name one of a shared disk with --out"
    )


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


@final
@dataclass(frozen=True)
class Workers:
    """What does steps side by side: tasks of an engine, each of one thread or of some. They must share the folder."""

    origin: Origin
    engine: Engine
    threads: int = 1


def usual_workers() -> int:
    """One for each core, at most 8, on a GPU 4: unlike threads, processes do not wait for each other on busy cores."""
    from ..models.torch.library import choose_device

    return min(cores(), 4 if choose_device(None) == "cuda" else _MOST)


@final
@dataclass(frozen=True)
class Task:
    """Does a step on a worker under a lock, and remembers it; by ``marks`` it knows that its steps are the sender's."""

    origin: Origin
    folder: Path
    marks: Mapping[str, str]
    threads: int = 1
    gpu: bool = True

    def __call__(self, name: str) -> None:
        """Do the step of this name, unless somebody else has done it meanwhile."""
        if not self.folder.is_dir():
            raise _not_shared(f"a worker does not see the run in {self.folder}")
        with one_torch_thread(), limited_to(self.threads):
            steps, workspace = self.origin.steps(), Workspace(self.folder)
            if fingerprints(list(steps.values())).get(name) != self.marks[name]:
                need = "all need the same data, settings and packages as here"
                raise WorkError(f"the step {name} is another one to a worker: {need}")
            for need in steps[name].needs:
                lost = f"a worker does not see the files of the step {need} in {self.folder}"
                _wait_for(lambda need=need: _are_there(workspace, steps[need]), lost)  # type: ignore[misc]
            lock = Lock(workspace / f"{_LOCKS}/{name}.lock", self.folder)
            while not lock.take():
                time.sleep(_PAUSE)
            try:
                # else done by whoever held the lock
                if workspace.stamp(name).get("mark") != self.marks[name]:
                    do_step(steps[name], workspace, self.marks[name], lambda done, of: None)
            except OSError as error:
                raise WorkError(f"the step {name} failed: {error}") from error
            finally:
                lock.release(remove=True)
