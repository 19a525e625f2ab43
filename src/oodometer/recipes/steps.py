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

from ..engines import Engine, run_tasks
from ..errors import UsageError, WorkError
from ..kernels import cores, limited_to
from ..models.torch.library import one_torch_thread
from ..runs import Kept, Lock
from ..store.artifact_cache import checksum_of_files, made_anew, write_artifact
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
    marks, total = fingerprints(steps), sum(step.weight for step in steps) or 1.0
    runs: dict[str, StepRun] = {}
    done = 0.0

    def say(what: str, more: float = 0.0) -> None:
        if report is not None:
            report(what, (done + more) / total)

    def finished(step: Step, spent: Spent, before: bool = False) -> None:
        nonlocal done
        runs[step.name] = StepRun(
            step.name, before, float(spent["seconds"]), float(spent["cpu_seconds"])
        )
        done += step.weight
        if kept is not None:
            kept.tell(len(runs), len(steps), int(not before))

    pending = []
    for step in steps:
        stamp = {} if step.always else workspace.stamp(step.name)
        same = stamp.get("mark") == marks[step.name] and _are_there(workspace, step)
        if same and checksum_of_files(workspace.folder, step.files) != stamp["files"]:
            made_anew(
                workspace.folder / stamp_of(step.name),
                f"a file of the step {step.name} has changed since",
            )
            same = False
        if same:
            finished(step, stamp, before=True)
        else:
            pending.append(step)
    checks = {name: check for step in pending for name, check in step.checks.items()}
    if checks:
        say("looking for what the run needs", -done)
        check_all(checks.items())
    side_by_side = [step for step in pending if not step.always]
    if workers is not None and side_by_side:
        weights = {step.name: float(step.weight) for step in steps}
        chains = dict(
            weights
        )  # weight of each step and of the heaviest chain of steps that wait for it
        for step in reversed(steps):  # whoever needs a step stands behind it
            for name in step.needs:
                chains[name] = max(chains[name], weights[name] + chains[step.name])
        side_by_side.sort(
            key=lambda step: -chains[step.name]
        )  # the order of the list where chains are as long
        indices = {step.name: index for index, step in enumerate(side_by_side)}
        lost = next(
            (step.name for step in side_by_side if not {*indices, *runs}.issuperset(step.needs)),
            None,
        )
        if lost is not None:
            raise WorkError(f"the step {lost} needs one that no run does; report it")
        for step in side_by_side:
            workspace.forget(step.name)  # its files are gone, or are of other settings
        say(
            f"{len(side_by_side)} steps on the engine {getattr(workers.engine, 'name', type(workers.engine).__name__)}"
        )

        def arrived(name: str, _: None) -> None:
            step = side_by_side[indices[name]]

            def is_there() -> bool:
                return workspace.stamp(name).get("mark") == marks[name] and _are_there(
                    workspace, step
                )

            _wait_for(
                is_there,
                f"workers did the step {name}, and {workspace.folder} does not hold all its files",
            )
            finished(step, workspace.stamp(name))
            say(step.about)

        workspace.folder.mkdir(
            parents=True, exist_ok=True
        )  # a worker that does not see it is on another disk
        task = Task(workers.origin, workspace.folder.absolute(), marks, workers.threads)
        awaited = (
            [indices[name] for name in step.needs if name in indices] for step in side_by_side
        )
        needs = dict(enumerate(awaited))
        try:
            with workers.origin.known(steps):
                run_tasks(workers.engine, task, list(indices), needs=needs, on_result=arrived)
        finally:
            with suppress(OSError):  # a lock is held by a worker that is still at it
                (workspace.folder / _LOCKS).rmdir()
    for step in pending:
        if step.name not in runs:
            say(step.about)

            def progress(part: int, of: int, step: Step = step) -> None:
                if of:
                    say(step.about, step.weight * part / of)

            finished(step, do_step(step, workspace, marks[step.name], progress))
    if report is not None:
        report("done", 1.0)
    return [runs[name] for name in names]


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
                if (
                    workspace.stamp(name).get("mark") != self.marks[name]
                ):  # else done by whoever held the lock
                    do_step(steps[name], workspace, self.marks[name], lambda done, of: None)
            except OSError as error:
                raise WorkError(f"the step {name} failed: {error}") from error
            finally:
                lock.release(remove=True)
