"""Tasks: the trials of a backtest in small groups, which any engine works on; each needs nothing of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..kernels import limited_to
from ..passes.fitting import fit_plan
from ..passes.folding import Execution
from ..passes.plan import EstimationPlan
from ..predictions import Predictions
from ..results import Skipped
from ..store.artifact_cache import checksum
from .trials import Key, Trial, run_trials, split_of

A_TASK = 8  # trials, which share a fit: seconds with slow methods, and a fit is some hundredths of that

Done = dict[str, list[Any]]
"""What became of trials: `trials`, pairs of a key and a trial or None; `failed` families and `unfitted` methods."""


@dataclass(frozen=True)
class FailedFamily:
    """A family that failed, and why; a run folder can hold none, so that its tasks are done again once it is mended."""

    family: str
    why: str


@dataclass(frozen=True)
class TrialTask:
    """Trials on one split of the reference."""

    keys: tuple[Key, ...]

    def identity(self) -> str:
        """What tells these trials from any others."""
        return checksum(repr(self.keys))


@dataclass(frozen=True)
class TrialWork:
    """What a task is worked on with: the (sampled) reference itself, and how methods are fitted and tried."""

    record: Predictions
    methods: tuple[str, ...]
    level: float
    calibrator: str
    seed: int
    slow_repeats: int | None

    def __call__(self, task: TrialTask) -> Done:
        """The trials of a task, one after another, in one thread: tasks are what runs side by side."""
        with limited_to(1):
            failed: dict[str, FailedFamily] = {}
            unfitted: dict[str, Skipped] = {}
            trials = list(self.trials(task.keys, failed, unfitted))
        return {"trials": trials, "failed": list(failed.values()), "unfitted": list(unfitted.values())}

    def trials(
        self, keys: Sequence[Key], failed: dict[str, FailedFamily], unfitted: dict[str, Skipped]
    ) -> Iterator[tuple[Key, Trial | None]]:
        """These trials; families that failed and methods that cannot be fitted are added where they are not yet."""

        def fit(part: Predictions) -> EstimationPlan:
            plan, left_out = fit_plan(part, self.methods, level=self.level, seed=self.seed, calibrator=self.calibrator)
            for one in left_out:
                unfitted.setdefault(one.method, one)
            return plan.lighter()

        def on_failure(family: str, why: str) -> None:
            failed.setdefault(family, FailedFamily(family, why))

        return run_trials(self.record, fit, keys, seed=self.seed, slow_repeats=self.slow_repeats, on_failure=on_failure)


def tasks_of(keys: Iterable[Key]) -> list[TrialTask]:
    """Groups of at most eight trials that share a split; the same keys make the same tasks.

    >>> [len(task.keys) for task in tasks_of([("none", 0.0, repeat) for repeat in (*range(0, 40, 4), 1)])]
    [8, 2, 1]
    """
    groups = [tuple(own) for _, own in groupby(keys, split_of)]
    return [TrialTask(own[at : at + A_TASK]) for own in groups for at in range(0, len(own), A_TASK)]


def fold_trials(
    work: TrialWork, tasks: Sequence[TrialTask], execution: Execution, keep: Callable[[Done], None]
) -> Done:
    """What became of all tasks, wherever they run; ``keep`` is given what is finished as it arrives."""
    first = True

    def merge(a: Done, b: Done) -> Done:
        nonlocal first
        if first:
            keep(a)
        first = False
        keep(b)
        return {name: [*a[name], *b[name]] for name in a}

    found = execution.fold(work, tasks, merge)
    if first:
        keep(found)
    return found
