"""Trials: every method fitted on one part of the reference and tried on shifted draws of the other; kept and reused."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Ragged
from ..diagnoses import ShiftStatistics
from ..errors import UsageError, WorkError
from ..estimators import Estimator
from ..estimators.base import Pieces
from ..fields import FIELDS
from ..inference.domain_classifier import compared_once
from ..inference.row_sample import canonical_order, content_sample
from ..intervals import check_level
from ..kernels import cores, limited_to, one_thread, side_by_side
from ..passes.folding import Execution, Progress
from ..passes.plan import EstimationPlan, checked_estimate, default_methods, fit_plan
from ..passes.slicing import WHOLE
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import (
    FAILURES,
    Failed,
    broken,
    create,
    find,
    guarded,
    is_foreign,
    known,
    names,
    unless_failed,
    why_failed,
)
from ..results import Skipped
from ..results.backtest import Backtest, Key, Trial, Triple
from ..simulations import Simulation
from ..store.artifact_cache import checksum, made_anew
from ..store.atomic import open_unfollowed, write_atomic
from ..version import __version__

LEAST_REFERENCE = 80  # labelled rows; with fewer, half of them say too little about any method
_FITTED_SHARE = 0.5
MOST_ROWS = 5_000  # of the reference: half is fitted on, half is drawn from
SLOW_REPEATS = 3  # of each family and severity in which methods that are slow take part, unless more are asked for
_SPLITS = 4
_BLOCK_BYTES = 1 << 25  # of targets that are read as one batch


def trial_keys(families: Sequence[str], repeats: int) -> list[Key]:
    """All trials of these families, in the order in which they run: split by split."""
    simulations: list[Simulation] = [create("simulation", name) for name in families]
    return [
        (s.name, severity, repeat)
        for part in range(_SPLITS)
        for s in simulations
        for severity in s.severities
        for repeat in range(part, repeats, _SPLITS)
    ]


def split_of(key: Key) -> int:
    """Which of the four splits of the reference a trial is on."""
    return key[2] % _SPLITS


@dataclass(frozen=True)
class FailedFamily:
    """A family that failed, and why; a run folder can hold none, so that its tasks are done again once it is mended."""

    family: str
    why: str


def _bytes_of(record: Predictions) -> int:
    """About what the fields of a record take."""
    values = (getattr(record, name) for name in record.fields)
    return sum((v.values if isinstance(v, Ragged) else v).nbytes for v in values)


def run_trials(
    record: Predictions,
    fit: Callable[[Predictions], EstimationPlan],
    keys: Sequence[Key],
    *,
    seed: int = 0,
    slow_repeats: int | None = None,
    on_failure: Callable[[str, str], None] | None = None,
) -> Iterator[tuple[Key, Trial | None]]:
    """Run these trials; None where a family cannot be drawn. Of each of four splits one half is fitted on, the other
    drawn from; each trial has its own seed, so that it does not matter which ran before.
    """
    import scipy.linalg  # noqa: F401  # its library is there before it is told to use one thread

    for part, split_keys in groupby(keys, split_of):
        order = np.random.default_rng([seed, 0x51, part]).permutation(len(record))[:MOST_ROWS]
        half = int(len(order) * _FITTED_SHARE)
        fitting, pool = (record.take(np.sort(rows)) for rows in (order[:half], order[half:]))
        # so that a fit is the same to the last bit on every machine of a cluster
        with one_thread():
            plan = fit(fitting)
            statistics = ShiftStatistics().fit(plan.choice.apply(fitting))
        draws = _Draws(pool, seed, on_failure)
        bench = _Bench(plan, statistics, fitting.accuracy, slow_repeats)
        for block in bench.blocks(split_keys, max(_BLOCK_BYTES // max(_bytes_of(pool), 1), 1)):
            with one_thread():  # set once for all: who asks inside pays nothing
                trials = bench.tried([(key, draws(*key)) for key in block])
            yield from zip(block, trials, strict=True)


class _Draws:
    """Targets drawn from the pool of one split."""

    def __init__(
        self, pool: Predictions, seed: int, on_failure: Callable[[str, str], None] | None
    ) -> None:
        self._pool, self._seed, self._on_failure = pool, seed, on_failure
        self._made: dict[str, Simulation] = {}
        self._usable: dict[str, bool] = {}
        _ = pool.verdicts  # worked out once: what is drawn from it knows its own

    def __call__(self, family: str, severity: float, repeat: int) -> Predictions | None:
        """The target of a trial; None where the family cannot be drawn, or failed."""
        if family not in self._made:
            self._made[family] = create("simulation", family)
        try:
            return self._drawn(family, severity, repeat)
        except FAILURES as error:
            why = why_failed(family, self._made[family], error)
            if self._on_failure is not None:
                self._on_failure(family, why)
            return None

    def _drawn(self, family: str, severity: float, repeat: int) -> Predictions | None:
        simulation, pool = self._made[family], self._pool
        if family not in self._usable:
            self._usable[family] = not simulation.why_not(pool)
        signed = [1] if severity < 0 else []
        salt = [self._seed, repeat, round(1000 * abs(severity)), *family.encode(), *signed]
        rng = np.random.default_rng(salt)
        target = simulation.draw(pool, severity, rng) if self._usable[family] else None
        if target is not None and not isinstance(target, Predictions):
            raise TypeError(f"draw gave no record but {type(target).__name__}")
        # of no rows, or none of known truth, it is NaN
        return target if target is not None and np.isfinite(target.accuracy) else None


# what targets share that are read as one batch
_KIND = attrgetter("fields", "calibrated", "rounded", "is_argmax")


@dataclass(frozen=True)
class _Bench:
    """What drawn targets of one split are tried with: fitted methods, and the accuracy of the rows they know."""

    plan: EstimationPlan
    statistics: ShiftStatistics
    source: float
    slow_repeats: int | None

    def blocks(self, keys: Iterable[Key], limit: int) -> Iterator[list[Key]]:
        """Trials that are worked on together: so many, or fewer where each core has a trial with slow methods."""
        workers, block, slow = cores(), list[Key](), 0
        for key in keys:
            block.append(key)
            slow += self._slowly(key)
            if len(block) == limit or slow == workers:
                yield block
                block, slow = [], 0
        if block:
            yield block

    @cached_property
    def _ours(self) -> Mapping[str, Estimator]:
        return {name: m for name, m in self.plan.methods.items() if not is_foreign(m)}

    @cached_property
    def _any_slow(self) -> bool:
        return any(method.traits.cost == "slow" for method in self.plan.methods.values())

    def _slowly(self, key: Key) -> bool:
        """Whether slow methods take part in a trial."""
        return self._any_slow and (self.slow_repeats is None or key[2] < self.slow_repeats)

    def tried(self, simulated: Sequence[tuple[Key, Predictions | None]]) -> list[Trial | None]:
        """What every method says of each target: many targets at a time where methods can, else one after another."""
        targets = [
            (key, target, replace(target.without_labels(), first_row=0))
            for key, target in simulated
            if target is not None
        ]
        answers: dict[Key, dict[str, Triple]] = {key: {} for key, _, _ in targets}
        signs: dict[Key, dict[str, float]] = {}
        for _, alike in groupby(targets, lambda each: _KIND(each[2])):
            keys, _, hidden = zip(*alike, strict=True)
            batch = Predictions.concat(hidden)
            rows = np.array([record.rows for record in hidden])
            raw, pieces = Pieces(batch, rows), Pieces(self.plan.choice.apply(batch), rows)
            signs |= zip(keys, self.statistics.signs_of(pieces), strict=True)
            for name, method in self._ours.items():
                read = raw if self.plan.takes_raw(method) else pieces
                for key, triple in zip(keys, _ends_of(method, batch, read), strict=False):
                    answers[key][name] = triple
        jobs = [partial(self._one_by_one, key, hidden, answers[key]) for key, _, hidden in targets]
        every = side_by_side(jobs, threads=self._any_slow)
        trials = {
            key: Trial(*key, target.rows, target.accuracy, self.source, estimates, signs[key])
            for (key, target, _), estimates in zip(targets, every, strict=True)
        }
        return [trials.get(key) for key, _ in simulated]

    def _one_by_one(
        self, key: Key, hidden: Predictions, answers: Mapping[str, Triple]
    ) -> dict[str, Triple]:
        """What is said of a target, with what other methods say of it, in the order of the methods."""
        remaining = {
            name: method
            for name, method in self.plan.methods.items()
            if name not in answers and (method.traits.cost == "quick" or self._slowly(key))
        }
        plan = replace(self.plan, methods=remaining)
        if remaining:
            plan, _ = plan.restricted_to(hidden)
        if not plan.methods:
            return dict(answers)
        state = plan.summarize(hidden)[WHOLE]
        more: dict[str, Triple] = {}
        with compared_once():
            for name, method in plan.methods.items():
                try:
                    estimate = checked_estimate(method, method.finish(unless_failed(state[name])))
                except FAILURES as error:
                    why_failed(name, method, error)  # raises what is meant for the user
                    continue
                more[name] = (estimate.value, estimate.lower, estimate.upper)
        every = {**answers, **more}
        return {name: every[name] for name in self.plan.methods if name in every}


def _ends_of(method: Estimator, batch: Predictions, pieces: Pieces) -> list[Triple]:
    """Value and interval of each piece by a method of ours that reads many at a time; none where something is odd:
    then each target is tried by itself, and who fails is left out there alone.
    """
    try:
        ends = None if method.why_not(batch) is not None else method.ends_of(pieces)
    except FAILURES:
        return []
    if ends is None:
        return []
    value, low, high = ends
    fine = (low >= 0) & (low <= value) & (value <= high) & (high <= 1)  # NaN is not
    return list(zip(value.tolist(), low.tolist(), high.tolist(), strict=True)) if fine.all() else []


_FORMAT = 4  # raise it when trials of before can no longer be compared


def cache_folder() -> Path | None:
    """Where backtests are kept: ``$OODOMETER_CACHE`` (empty: nowhere), else the user's cache folder."""
    named = os.environ.get("OODOMETER_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "oodometer"
    except RuntimeError:  # a user without a home
        return None


def fingerprint(record: Predictions, **options: Any) -> str:
    """A hash of everything that a backtest depends on: the rows, the options and the version of the program."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([_FORMAT, __version__, options], sort_keys=True, default=str).encode())
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if value is None or field.on_request:
            continue
        digest.update(name.encode())
        for array in (value.values, value.offsets) if isinstance(value, Ragged) else (value,):
            plain = (
                array if array.dtype.kind in "iufbM" else np.array([str(v) for v in array.tolist()])
            )
            digest.update(str((plain.dtype, plain.shape)).encode())
            digest.update(np.ascontiguousarray(plain).view(np.uint8).data)
    return digest.hexdigest()


class TrialStore:
    """Trials of one backtest, a line of JSON each with a checksum; a bad line is left out, and its trial run again."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.name = name
        self.path = None if folder is None else folder / "backtests" / f"{name}.jsonl"

    def read(self) -> tuple[dict[Key, Trial | None], list[Skipped]]:
        """The trials that are there, and the methods that could not be fitted, in the order of being noted."""
        trials: dict[Key, Trial | None] = {}
        skipped: dict[str, Skipped] = {}
        good, bad, text = [], 0, ""
        if self.path is not None:
            with suppress(OSError):
                text = self.path.read_bytes().decode("utf-8", "replace")
        for line in filter(None, text.split("\n")):
            try:
                seal, _, content = line.partition(" ")
                if seal != checksum(str(_FORMAT), self.name, content):
                    raise ValueError("another checksum")
                plain = json.loads(content)
                if "skipped" in plain:
                    method, why = map(str, plain["skipped"])
                    skipped.setdefault(method, Skipped(method, why))
                else:
                    key = (str(plain["key"][0]), float(plain["key"][1]), int(plain["key"][2]))
                    trials[key] = (
                        None if plain["trial"] is None else Trial.from_dict(plain["trial"])
                    )
                good.append(line)
            except (
                ValueError,
                LookupError,
                TypeError,
                AttributeError,
                OverflowError,
                RecursionError,
            ):
                bad += 1
        if bad and self.path is not None:
            made_anew(
                self.path, f"{bad} of {bad + len(good)} cached trials there are damaged or cut off"
            )
            try:
                write_atomic(self.path, "".join(f"{line}\n" for line in good))
            except (UsageError, WorkError):
                self.path = None
        return trials, list(skipped.values())

    def append(
        self, trials: Iterable[tuple[Key, Trial | None]], skipped: Iterable[Skipped] = ()
    ) -> None:
        """Add trials and skipped methods; a folder that cannot be written to is no reason to fail."""
        if self.path is None:
            return
        entries: list[Json] = [{"skipped": [skip.method, skip.why]} for skip in skipped]
        entries += [
            {"key": [*key], "trial": None if trial is None else trial.to_dict()}
            for key, trial in trials
        ]
        if not entries:
            return
        lines = [json.dumps(skip) for skip in entries]  # each with its checksum in front
        block = "".join(
            f"{checksum(str(_FORMAT), self.name, line)} {line}\n" for line in lines
        ).encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b", buffering=0, opener=open_unfollowed) as file:
                if file.tell() and file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":
                    # a line that an interrupted run left unfinished must not swallow the next
                    block = b"\n" + block
                file.write(block)  # one call of the system, behind what others wrote
        except OSError:
            self.path = None


A_TASK = (
    8  # trials, which share a fit: seconds with slow methods, and a fit is some hundredths of that
)

Done = dict[str, list[Any]]
"""What became of trials: `trials`, pairs of a key and a trial or None; `failed` families and `unfitted` methods."""


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
    methods: Strings
    level: float
    calibrator: str
    seed: int
    slow_repeats: int | None

    def fingerprint(self) -> str:
        """`fingerprint` of the record and of all that trials depend on."""
        return fingerprint(
            self.record,
            methods=self.methods,
            level=self.level,
            calibrator=self.calibrator,
            seed=self.seed,
            slow_repeats=self.slow_repeats,
        )

    def __call__(self, task: TrialTask) -> Done:
        """The trials of a task, one after another, in one thread: tasks are what runs side by side."""
        with limited_to(1):
            failed: dict[str, FailedFamily] = {}
            unfitted: dict[str, Skipped] = {}
            trials = list(self.trials(task.keys, failed, unfitted))
        return {
            "trials": trials,
            "failed": list(failed.values()),
            "unfitted": list(unfitted.values()),
        }

    def trials(
        self, keys: Sequence[Key], failed: dict[str, FailedFamily], unfitted: dict[str, Skipped]
    ) -> Iterator[tuple[Key, Trial | None]]:
        """These trials; families that failed and methods that cannot be fitted are added where they are not yet."""

        def fit(part: Predictions) -> EstimationPlan:
            plan, left_out = fit_plan(
                part, self.methods, level=self.level, seed=self.seed, calibrator=self.calibrator
            )
            for skip in left_out:
                unfitted.setdefault(skip.method, skip)
            return plan.lighter()

        def on_failure(family: str, why: str) -> None:
            failed.setdefault(family, FailedFamily(family, why))

        return run_trials(
            self.record,
            fit,
            keys,
            seed=self.seed,
            slow_repeats=self.slow_repeats,
            on_failure=on_failure,
        )


def tasks_of(keys: Iterable[Key]) -> list[TrialTask]:
    """Groups of at most eight trials that share a split; the same keys make the same tasks."""
    groups = [tuple(group) for _, group in groupby(keys, split_of)]
    return [
        TrialTask(group[at : at + A_TASK])
        for group in groups
        for at in range(0, len(group), A_TASK)
    ]


_SAVE_EVERY = 20
REPEATS = 8


@dataclass(frozen=True)
class BacktestOptions:
    """What a backtest was asked; without ``repeats`` 8 of each, unnamed slow methods in 3 of them."""

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
    """A backtest on a labelled record: here, or in tasks on the engine or folder of ``execution``, to the same bit."""
    options = BacktestOptions() if options is None else options
    execution = Execution() if execution is None else execution
    methods = list(dict.fromkeys(options.methods or default_methods()))
    rows = len(record)
    # no trial looks at more rows, and none sees in which order they came
    record = record.take(
        content_sample(record, MOST_ROWS, options.seed)
        if rows > MOST_ROWS
        else canonical_order(record)
    )
    families, skipped = _usable_families(record, options.families)
    keys = trial_keys(families, options.repeats or REPEATS)
    slow_repeats = SLOW_REPEATS if options.repeats is None and options.methods is None else None
    work = TrialWork(
        record,
        tuple(methods),
        level=options.level,
        calibrator=options.calibrator,
        seed=options.seed,
        slow_repeats=slow_repeats,
    )
    cache = None if options.cache is None else Path(options.cache)
    cache = cache_folder() if options.cache == "auto" else cache
    ledger = _Kept(TrialStore(cache, "" if cache is None else work.fingerprint()), keys)
    reused = len(ledger.done)
    if execution.engine == "local" and execution.folder is None:
        _here(work, ledger, execution.progress)
    else:
        _in_tasks(work, ledger, execution)
    trials = tuple(t for key in keys if (t := ledger.done[key]) is not None)
    failed = [Skipped(failure.family, failure.why) for failure in ledger.failed.values()]
    left_out = (*skipped, *failed, *ledger.unfitted.values())
    result = Backtest(
        {"rows": len(record)},
        tuple(families),
        trials,
        left_out,
        options.level,
        options.seed,
        reused,
    )
    return replace(result, warnings=_warnings(result, rows, slow_repeats))


def _warnings(result: Backtest, rows: int, slow_repeats: int | None) -> Strings:
    """What is to be said of rows and trials that were left out."""
    warnings = []
    if rows > MOST_ROWS:
        warnings.append(
            f"the trials read a seeded sample of {MOST_ROWS:,} of the {rows:,} labelled rows"
        )
    slow = [m for m in result.methods if known("estimator", m).traits.cost == "slow"]
    if slow_repeats is not None and slow:
        warnings.append(
            f"methods that are slow were tried in {slow_repeats} of {REPEATS} repeats ({', '.join(slow)}); "
            f"--repeats {REPEATS} tries them in all"
        )
    return tuple(warnings)


def _usable_families(
    record: Predictions, requested: Sequence[str] | None
) -> tuple[list[str], list[Skipped]]:
    """The families of simulated shifts, of those asked for or all, that a record can feed; and why others cannot."""

    def why_not(name: str) -> str | None:
        simulation = create("simulation", name)
        _ = [float(severity) for severity in simulation.severities]
        why: str | None = simulation.why_not(record)
        return why

    families, skipped = list[str](), list[Skipped]()
    for name in dict.fromkeys(requested or names("simulation")):
        why = guarded(name, find("simulation", name), partial(why_not, name))
        if why is None:
            families.append(name)
        else:
            skipped.append(Skipped(name, why.why if isinstance(why, Failed) else why))
    if not requested:
        skipped += [Skipped(name, why) for name, why in broken("simulation").items()]
    unable = {skip.method for skip in skipped}
    return [name for name in families if name not in unable], skipped


class _Kept:
    """What is known of the trials: those of the cache, and those that were done since; the cache gets these, too."""

    def __init__(self, store: TrialStore, keys: Sequence[Key]) -> None:
        self.store, self.keys = store, keys
        trials, unable = store.read()
        requested = set(keys)
        self.done: dict[Key, Trial | None] = {
            key: trial for key, trial in trials.items() if key in requested
        }
        self.unfitted = {s.method: s for s in unable}
        self.failed: dict[str, FailedFamily] = {}
        self._cached = set(self.done)
        self._noted = set(self.unfitted)
        self._waiting: list[tuple[Key, Trial | None]] = []

    def add(self, key: Key, trial: Trial | None) -> None:
        """A trial that is done."""
        self.done[key] = trial
        mended = (
            trial is None and key[0] in self.failed
        )  # a family that is mended is to be tried again
        if not mended and key not in self._cached:
            self._waiting.append((key, trial))

    def save(self, threshold: int = 1) -> None:
        """Put into the cache what waits for it, where so many trials do."""
        if len(self._waiting) >= threshold:
            fresh = [s for name, s in self.unfitted.items() if name not in self._noted]
            self.store.append(self._waiting, fresh)
            self._noted |= {s.method for s in fresh}
            self._waiting.clear()


def _here(work: TrialWork, ledger: _Kept, progress: Progress | None) -> None:
    pending, before = [key for key in ledger.keys if key not in ledger.done], len(ledger.done)
    try:
        for i, (key, trial) in enumerate(work.trials(pending, ledger.failed, ledger.unfitted)):
            ledger.add(key, trial)
            ledger.save(_SAVE_EVERY)
            if progress is not None:
                progress(before + i + 1, len(ledger.keys))
    finally:
        ledger.save()  # also where the run is interrupted: what was done is not done again


def _in_tasks(work: TrialWork, ledger: _Kept, execution: Execution) -> None:
    """The trials in tasks on an engine; a task is left out where the cache holds all of it."""
    every = tasks_of(ledger.keys)
    tasks = [task for task in every if not all(key in ledger.done for key in task.keys)]
    before, total = len(ledger.keys) - sum(len(task.keys) for task in tasks), len(ledger.keys)
    if execution.folder is not None:
        execution.folder.tell(len(every) - len(tasks), len(every) - len(tasks))
    if not tasks:
        return

    def keep(result: Done) -> None:
        for failure in result["failed"]:
            ledger.failed.setdefault(failure.family, failure)
        for failure in result["unfitted"]:
            ledger.unfitted.setdefault(failure.method, failure)
        for key, trial in result["trials"]:
            ledger.add(key, trial)
        ledger.save()

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
