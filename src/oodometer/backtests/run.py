"""Run a backtest: trials that are kept are reused, the others are run and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..inference.row_sample import seeded_sample
from ..intervals import check_level
from ..kernels import limited_to
from ..passes.folding import Execution, Progress
from ..passes.plan import EstimationPlan, default_methods, fit_plan
from ..passes.slicing import Failed, guarded
from ..predictions import Predictions
from ..registry import broken, create, find, known, names
from ..results import Skipped
from ..results.backtest import Backtest
from ..store.artifact_cache import checksum
from .trials import (
    MOST_ROWS,
    SLOW_REPEATS,
    Key,
    Trial,
    TrialStore,
    cache_folder,
    fingerprint,
    run_trials,
    split_of,
    trial_keys,
)

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


_SAVE_EVERY = 20
REPEATS = 8


@dataclass(frozen=True)
class BacktestOptions:
    """What a backtest was asked for: methods and families (all that apply by default), trials, level, seed, cache.

    Without ``repeats`` there are 8 of each family and severity, and methods that are slow take part in the first 3 of
    them where no method was named.
    """

    methods: Sequence[str] | None = None
    families: Sequence[str] | None = None
    repeats: int | None = None
    level: float = 0.95
    calibrator: str = "auto"
    seed: int = 0
    cache: str | Path | None = "auto"

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"expected at least one repeat, got {self.repeats}")
        for name in self.methods or ():
            find("estimator", name)
        for name in self.families or ():
            find("simulation", name)


def run_backtest(
    record: Predictions, options: BacktestOptions | None = None, execution: Execution | None = None
) -> Backtest:
    """A backtest on a labelled record in memory, its trials on the engine of ``execution``.

    Its progress is called with (trials done, trials in all). In this process trials run one after another, slow ones
    side by side, and each is kept as it is done; elsewhere, and with a run folder, they run in tasks of a few, and so
    they are kept. The trials are the same to the last bit.
    """
    options = BacktestOptions() if options is None else options
    execution = Execution() if execution is None else execution
    methods = list(dict.fromkeys(options.methods or default_methods()))
    rows = len(record)
    if rows > MOST_ROWS:  # no trial looks at more
        record = record.take(seeded_sample(len(record), MOST_ROWS, options.seed))
    families = list(dict.fromkeys(options.families or names("simulation")))
    reasons = {name: _why_not(name, record) for name in families}
    skipped = [Skipped(name, why) for name, why in reasons.items() if why is not None]
    if not options.families:
        skipped += [Skipped(name, why) for name, why in broken("simulation").items()]
    unable = {s.method for s in skipped}
    families = [name for name in families if name not in unable]
    keys = trial_keys(families, options.repeats or REPEATS)
    slow_repeats = SLOW_REPEATS if options.repeats is None and options.methods is None else None
    how: dict[str, Any] = {
        "level": options.level,
        "calibrator": options.calibrator,
        "seed": options.seed,
        "slow_repeats": slow_repeats,
    }
    work = TrialWork(record, tuple(methods), **how)
    cache = cache_folder() if options.cache == "auto" else None if options.cache is None else Path(options.cache)
    kept = _Kept(TrialStore(cache, "" if cache is None else fingerprint(record, methods=methods, **how)), keys)
    reused = len(kept.done)
    if execution.engine == "local" and execution.folder is None:
        _here(work, kept, execution.progress)
    else:
        _in_tasks(work, kept, execution)
    trials = tuple(t for key in keys if (t := kept.done[key]) is not None)
    failed = [Skipped(one.family, one.why) for one in kept.failed.values()]
    left_out = (*skipped, *failed, *kept.unfitted.values())
    result = Backtest({"rows": len(record)}, tuple(families), trials, left_out, options.level, options.seed, reused)
    warnings = []
    if rows > MOST_ROWS:
        warnings.append(f"the trials read a seeded sample of {MOST_ROWS} of the {rows} labelled rows")
    slow = [m for m in result.methods if known("estimator", m).traits.cost == "slow"]
    if slow_repeats is not None and slow:
        warnings.append(
            f"methods that are slow were tried in {slow_repeats} of {REPEATS} repeats ({', '.join(slow)}); "
            f"--repeats {REPEATS} tries them in all"
        )
    return replace(result, warnings=tuple(warnings))


def _why_not(name: str, record: Predictions) -> str | None:
    """Why a family cannot be drawn from these rows, or None."""

    def ask() -> str | None:
        made = create("simulation", name)
        _ = [float(severity) for severity in made.severities]
        why: str | None = made.why_not(record)
        return why

    why = guarded(name, find("simulation", name), ask)
    return why.why if isinstance(why, Failed) else why


class _Kept:
    """What is known of the trials: those of the cache, and those that were done since; the cache gets these, too."""

    def __init__(self, store: TrialStore, keys: Sequence[Key]) -> None:
        self.store, self.keys = store, keys
        trials, unable = store.read()
        asked = set(keys)
        self.done: dict[Key, Trial | None] = {key: trial for key, trial in trials.items() if key in asked}
        self.unfitted = {s.method: s for s in unable}
        self.failed: dict[str, FailedFamily] = {}
        self._cached = set(self.done)
        self._noted = set(self.unfitted)
        self._waiting: list[tuple[Key, Trial | None]] = []

    def add(self, key: Key, trial: Trial | None) -> None:
        """A trial that is done."""
        self.done[key] = trial
        mended = trial is None and key[0] in self.failed  # a family that is mended is to be tried again
        if not mended and key not in self._cached:
            self._waiting.append((key, trial))

    def save(self, least: int = 1) -> None:
        """Put into the cache what waits for it, where so many trials do."""
        if len(self._waiting) >= least:
            fresh = [s for name, s in self.unfitted.items() if name not in self._noted]
            self.store.append(self._waiting, fresh)
            self._noted |= {s.method for s in fresh}
            self._waiting.clear()


def _here(work: TrialWork, kept: _Kept, progress: Progress | None) -> None:
    """The trials that are left, in this process."""
    left, before = [key for key in kept.keys if key not in kept.done], len(kept.done)
    try:
        for i, (key, trial) in enumerate(work.trials(left, kept.failed, kept.unfitted)):
            kept.add(key, trial)
            kept.save(_SAVE_EVERY)
            if progress is not None:
                progress(before + i + 1, len(kept.keys))
    finally:
        kept.save()  # also where the run is interrupted: what was done is not done again


def _in_tasks(work: TrialWork, kept: _Kept, execution: Execution) -> None:
    """The trials in tasks on an engine; a task is left out where the cache holds all of it."""
    every = tasks_of(kept.keys)
    tasks = [task for task in every if not all(key in kept.done for key in task.keys)]
    before, total = len(kept.keys) - sum(len(task.keys) for task in tasks), len(kept.keys)
    if execution.folder is not None:
        execution.folder.tell(len(every) - len(tasks), len(every) - len(tasks))
    if not tasks:
        return

    def keep(result: Done) -> None:
        for one in result["failed"]:
            kept.failed.setdefault(one.family, one)
        for one in result["unfitted"]:
            kept.unfitted.setdefault(one.method, one)
        for key, trial in result["trials"]:
            kept.add(key, trial)
        kept.save()

    first = True

    def merge(a: Done, b: Done) -> Done:
        """What is finished is kept as it arrives."""
        nonlocal first
        if first:
            keep(a)
        first = False
        keep(b)
        return {name: [*a[name], *b[name]] for name in a}

    def progress(done: int, of: int) -> None:
        if execution.progress is not None:
            execution.progress(before + (total - before) * done // of, total)

    result = replace(execution, progress=progress).fold(work, tasks, merge)
    if first:
        keep(result)
