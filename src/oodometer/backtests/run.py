"""Run a backtest: trials that are kept are reused, the others are run and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..inference.folds import seeded_sample
from ..passes.fitting import default_methods, fit_plan
from ..passes.guarding import Failed, guarded
from ..passes.plan import Plan
from ..predictions import Predictions
from ..registry import broken, create, find, names
from ..results import Skipped
from ..results.backtest import Backtest, Trial
from .trial_store import TrialStore, cache_folder, fingerprint
from .trials import MOST_ROWS, Key, run_trials, trial_keys

__all__ = ["REPEATS", "run_backtest"]

_SAVE_EVERY = 20
REPEATS = 8


def run_backtest(
    record: Predictions,
    *,
    methods: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    repeats: int = REPEATS,
    level: float = 0.95,
    calibrator: str = "auto",
    seed: int = 0,
    cache: str | Path | None = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """The same for a labelled record in memory."""
    wanted = list(dict.fromkeys(methods or default_methods()))
    if len(record) > MOST_ROWS:  # no trial looks at more
        record = record.take(seeded_sample(len(record), MOST_ROWS))
    chosen = list(dict.fromkeys(families or names("simulation")))
    skipped = [Skipped(name, why) for name in chosen if (why := _why_not(name, record)) is not None]
    if not families:
        skipped += [Skipped(name, why) for name, why in broken("simulation").items()]
    chosen = [name for name in chosen if name not in {s.method for s in skipped}]
    keys = trial_keys(chosen, repeats)
    folder = cache_folder() if cache == "auto" else None if cache is None else Path(cache)
    name = (
        fingerprint(record, methods=wanted, level=level, calibrator=calibrator, seed=seed) if folder else ""
    )
    store = TrialStore(folder, name)
    kept, unable = store.read()
    wanted_keys = set(keys)
    done = {key: trial for key, trial in kept.items() if key in wanted_keys}
    reused = len(done)
    unfitted = {s.method: s for s in unable}
    noted: list[Skipped] = []

    def fit(part: Predictions) -> Plan:
        plan, left_out = fit_plan(part, wanted, level=level, seed=seed, calibrator=calibrator)
        fresh = {s.method: s for s in left_out if s.method not in unfitted}
        unfitted.update(fresh)
        noted.extend(fresh.values())
        return plan.lighter()

    failed: dict[str, Skipped] = {}

    def on_failure(family: str, why: str) -> None:
        failed.setdefault(family, Skipped(family, why))

    waiting: list[tuple[Key, Trial | None]] = []
    try:
        for i, (key, trial) in enumerate(
            run_trials(record, fit, [k for k in keys if k not in done], seed=seed, on_failure=on_failure)
        ):
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
    return Backtest(
        {"rows": len(record)},
        tuple(chosen),
        trials,
        (*skipped, *failed.values(), *unfitted.values()),
        level,
        seed,
        reused,
    )


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
