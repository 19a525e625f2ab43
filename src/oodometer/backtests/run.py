"""Run a backtest: trials that are kept are reused, the others are run and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..inference.folds import seeded_sample
from ..intervals import check_level
from ..passes.fitting import default_methods, fit_plan
from ..passes.folding import Progress
from ..passes.guarding import Failed, guarded
from ..passes.metrics import MetricsAsked
from ..passes.plan import EstimationPlan
from ..predictions import Predictions
from ..registry import broken, create, find, known, names
from ..results import Skipped
from ..results.backtest import Backtest, Trial
from .trial_store import TrialStore, cache_folder, fingerprint
from .trials import MOST_ROWS, SLOW_REPEATS, Key, run_trials, trial_keys

__all__ = ["REPEATS", "BacktestOptions", "run_backtest"]

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
    metrics: MetricsAsked | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"expected at least one repeat, got {self.repeats}")
        for name in self.methods or ():
            find("estimator", name)
        for name in self.families or ():
            find("simulation", name)

    @property
    def slow_repeats(self) -> int | None:
        """Repeats in which slow methods take part; None for all."""
        return SLOW_REPEATS if self.repeats is None and self.methods is None else None

    def store(self, record: Predictions, methods: Sequence[str]) -> TrialStore:
        """Where trials of these methods on this record are kept."""
        folder = cache_folder() if self.cache == "auto" else None if self.cache is None else Path(self.cache)
        if folder is None:
            return TrialStore(None, "")
        asked = {name: getattr(self, name) for name in ("level", "calibrator", "seed", "slow_repeats")}
        more = {} if self.metrics is None else {"metrics": self.metrics.fingerprint}
        return TrialStore(folder, fingerprint(record, methods=methods, **asked, **more))


def run_backtest(
    record: Predictions, options: BacktestOptions | None = None, progress: Progress | None = None
) -> Backtest:
    """A backtest on a labelled record in memory; ``progress`` is called with (trials done, trials in all)."""
    options = BacktestOptions() if options is None else options
    methods = list(dict.fromkeys(options.methods or default_methods()))
    rows = len(record)
    if rows > MOST_ROWS:  # no trial looks at more
        record = record.take(seeded_sample(len(record), MOST_ROWS))
    families, skipped = _families(record, options.families)
    keys = trial_keys(families, options.repeats or REPEATS)
    store = options.store(record, methods)
    kept, unable = store.read()
    asked = set(keys)
    done = {key: trial for key, trial in kept.items() if key in asked}
    reused = len(done)
    unfitted = {s.method: s for s in unable}
    noted: list[Skipped] = []

    def fit(part: Predictions) -> EstimationPlan:
        plan, left_out = fit_plan(
            part,
            methods,
            level=options.level,
            seed=options.seed,
            calibrator=options.calibrator,
            metrics=options.metrics,
        )
        fresh = {s.method: s for s in left_out if s.method not in unfitted}
        unfitted.update(fresh)
        noted.extend(fresh.values())
        return plan.lighter()

    failed: dict[str, Skipped] = {}

    def on_failure(family: str, why: str) -> None:
        failed.setdefault(family, Skipped(family, why))

    waiting: list[tuple[Key, Trial | None]] = []
    left = [key for key in keys if key not in done]
    try:
        trials_left = run_trials(
            record, fit, left, seed=options.seed, slow_repeats=options.slow_repeats, on_failure=on_failure
        )
        for i, (key, trial) in enumerate(trials_left):
            done[key] = trial
            if trial is not None or key[0] not in failed:  # a family that is mended is to be tried again
                waiting.append((key, trial))
            if len(waiting) >= _SAVE_EVERY:
                store.append(waiting, noted)
                waiting.clear()
                noted.clear()
            if progress is not None:
                progress(reused + i + 1, len(keys))
    finally:
        store.append(waiting, noted)  # also where the run is interrupted: what was done is not done again
    trials = tuple(t for key in keys if (t := done[key]) is not None)
    left_out = (*skipped, *failed.values(), *unfitted.values())
    found = Backtest({"rows": len(record)}, tuple(families), trials, left_out, options.level, options.seed, reused)
    return replace(found, warnings=tuple(_sampled(found, rows, options)))


def _sampled(found: Backtest, rows: int, options: BacktestOptions) -> list[str]:
    """What is to be said of what the trials did not read, and of the methods that were not tried in all of them."""
    said = []
    if rows > MOST_ROWS:
        said.append(f"the trials read a seeded sample of {MOST_ROWS} of the {rows} labelled rows")
    slow = [m for m in found.methods if known("estimator", m).cost == "slow"]
    if options.slow_repeats is not None and slow:
        said.append(
            f"methods that are slow were tried in {options.slow_repeats} of {REPEATS} repeats ({', '.join(slow)}); "
            f"--repeats {REPEATS} tries them in all"
        )
    return said


def _families(record: Predictions, asked: Sequence[str] | None) -> tuple[list[str], list[Skipped]]:
    """The families that can be drawn from these rows, and why the others cannot."""
    families = list(dict.fromkeys(asked or names("simulation")))
    skipped = [Skipped(name, why) for name in families if (why := _why_not(name, record)) is not None]
    if not asked:
        skipped += [Skipped(name, why) for name, why in broken("simulation").items()]
    unable = {s.method for s in skipped}
    return [name for name in families if name not in unable], skipped


def _why_not(name: str, record: Predictions) -> str | None:
    """Why a family cannot be drawn from these rows, or None."""
    made: Any = find("simulation", name)

    def ask() -> str | None:
        made = create("simulation", name)
        _ = [float(severity) for severity in made.severities]
        why: str | None = made.why_not(record)
        return why

    found = guarded(name, made, ask)
    return found.why if isinstance(found, Failed) else found
