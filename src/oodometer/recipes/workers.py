"""Workers: steps that need nothing of each other, done side by side in processes of one or more threads each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, final

from ..errors import MissingExtraError, OodometerError, UsageError, WorkError
from ..kernels import cores, limited_to
from .base import Course, Recipe, Spent, Step, Workspace

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
    """One for each core, at most 8; on a GPU at most 4. Unlike threads, processes do not wait for each other on cores
    that others keep busy.

    >>> 1 <= usual_workers() <= 8
    True
    """
    from ..models.torch.library import choose_device

    return min(cores(), 4 if choose_device(None) == "cuda" else _MOST)


@final
class Workers:
    """Processes that do steps; ``many`` at a time.

    They share the cores among them. Where the run is interrupted, or a step fails, all are stopped: what a step has
    kept for itself, such as the checkpoint of a training, is there for the next run.
    """

    def __init__(self, origin: Origin, folder: Path, many: int) -> None:
        self.many = many
        self._origin, self._folder = origin, folder
        self._threads = max(1, cores() // many)
        self._futures: dict[Any, Step] = {}
        self._executor: Any = None

    def follow(self, course: Course) -> None:
        """Begin each step as soon as a worker is free and what it needs is there, the longest chain of steps first.

        One worker leaves all to this process.
        """
        if self.many == 1:
            return
        left = course.longest_first()
        with self.open():
            running = 0
            while left or running:
                ready = [step for step in left if all(name in course.runs for name in step.needs)]
                for step in ready:
                    if self.is_free:
                        course.begin(step)
                        self.begin(step)
                        left.remove(step)
                        running += 1
                if not running:
                    raise WorkError(f"the step {left[0].name} needs one that no run does; report it")
                for step, spent in self.finished():
                    course.end(step, spent)
                    running -= 1

    @contextmanager
    def open(self) -> Iterator[Workers]:
        """Inside, steps can be begun."""
        try:
            from joblib.externals.loky import get_reusable_executor
        except ImportError as error:
            raise MissingExtraError("several steps at a time (--workers)", "joblib", extra="hf") from error
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(self._threads))
        self._executor = get_reusable_executor(self.many, env=threads, reuse=False, timeout=600)
        try:
            yield self
        except BaseException:
            self._executor.shutdown(wait=False, kill_workers=True)
            raise
        else:
            self._executor.shutdown()

    @property
    def is_free(self) -> bool:
        """Whether another step can be begun."""
        return len(self._futures) < self.many

    def begin(self, step: Step) -> None:
        """Begin a step."""
        future = self._executor.submit(_do, self._origin, str(self._folder), step.name, step.described(), self._threads)
        self._futures[future] = step

    def finished(self) -> list[tuple[Step, Spent]]:
        """Wait until a step is finished; `WorkError` or `UsageError` with the words of one that failed."""
        from concurrent.futures import FIRST_COMPLETED, wait

        done, _ = wait(self._futures, return_when=FIRST_COMPLETED)
        running = ", ".join(sorted(step.name for step in self._futures.values()))
        out = []
        for future in done:
            step = self._futures.pop(future)
            try:
                spent, why = future.result()
            except OSError as error:
                raise WorkError(f"the step {step.name} failed: {error}") from error
            except RuntimeError as error:  # loky's for a process that ended, most often for want of memory
                said = f"a process ended while these steps were done: {running}"
                raise WorkError(f"{said}; fewer at a time may help (--workers 1)") from error
            if why is not None:
                raise (UsageError if why[0] == UsageError.exit_code else WorkError)(why[1])
            out.append((step, spent))
        return out


def _do(origin: Origin, folder: str, name: str, described: str, threads: int) -> tuple[Spent, tuple[int, str] | None]:
    """Do a step in this process: what it took, and the exit code and words of an error that is meant for the user."""
    started, used = time.monotonic(), time.process_time()
    with limited_to(threads):
        try:
            step = origin.steps()[name]
            if step.described() != described:
                said = f"the step {name} is another one in another process; --workers 1 does all in one"
                return {}, (WorkError.exit_code, said)
            step.work(Workspace(Path(folder)), quiet)
        except OodometerError as error:  # not all of them survive the way between processes
            return {}, (error.exit_code, str(error))
    return {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - used}, None


def quiet(done: int, of: int) -> None:
    """The bar moves with whole steps where several are done at a time."""
