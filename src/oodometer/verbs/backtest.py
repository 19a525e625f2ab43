"""The verb `backtest`: which estimator would have been right on shifts simulated from the reference?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import checked
from ..calibrators.base import seeded_sample
from ..errors import InputError, UsageError
from ..intervals import check_level
from ..predictions import Predictions
from ..registry import broken, create, find, names
from ..results import Skipped, plain
from .below_chance import label_warnings
from .fitting import default_methods, fit_plan
from .guarding import Failed, guarded
from .opening import Opener
from .plan import Plan
from .reference import read_reference
from .summary import summary_of_backtest
from .trial_store import TrialStore, cache_folder, fingerprint
from .trials import LEAST_REFERENCE, MOST_ROWS, Key, Trial, run_trials, trial_keys

__all__ = ["Backtest", "BacktestRow", "backtest", "run_backtest"]

_SAVE_EVERY = 20
_REPEATS = 8


@dataclass(frozen=True)
class BacktestRow:
    """One method on one family at one severity: errors in accuracy (fractions), over ``cases`` trials.

    error : mean absolute error; bias : mean error; coverage : share of trials whose truth its interval held;
    width : mean width of the interval.
    """

    method: str
    family: str
    severity: float
    error: float
    bias: float
    coverage: float
    width: float
    cases: int

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {k: plain(getattr(self, k)) for k in self.__dataclass_fields__}


@dataclass(frozen=True, repr=False)
class Backtest:
    """What `backtest` found: every trial, and a table by method, family and severity.

    ``reused`` trials came from the cache.
    """

    reference: Mapping[str, Any]
    families: tuple[str, ...]
    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...]
    level: float
    seed: int
    reused: int = 0
    argv: str | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return summary_of_backtest(self)

    @property
    def methods(self) -> list[str]:
        """Methods that answered at least once, in the order of presentation."""
        return list(dict.fromkeys(m for t in self.trials for m in t.estimates))

    @property
    def rows(self) -> list[BacktestRow]:
        """The table."""
        cells: dict[tuple[str, str, float], list[tuple[float, float, float, float]]] = defaultdict(list)
        for t in self.trials:
            for method, three in t.estimates.items():
                cells[method, t.family, t.severity].append((*three, t.truth))
        return [_row(key, np.array(found)) for key, found in cells.items()]

    def overall(self) -> list[BacktestRow]:
        """Each method over all trials in which it answered, best first; families count alike."""
        by_method: dict[str, list[BacktestRow]] = defaultdict(list)
        for row in self.rows:
            by_method[row.method].append(row)
        out = []
        for method, rows in by_method.items():
            families: dict[str, list[BacktestRow]] = defaultdict(list)
            for row in rows:
                families[row.family].append(row)

            def mean(name: str, families: dict[str, list[BacktestRow]] = families) -> float:
                return float(np.mean([np.mean([getattr(r, name) for r in f]) for f in families.values()]))

            out.append(
                BacktestRow(method, "all", 0.0, mean("error"), mean("bias"), mean("coverage"), mean("width"),
                            sum(r.cases for r in rows))
            )  # fmt: skip
        return sorted(out, key=lambda r: r.error)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        return {
            "command": "backtest",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "reference": plain(self.reference),
            "families": list(self.families),
            "trials": len(self.trials),
            "reused": self.reused,
            "overall": [r.to_dict() for r in self.overall()],
            "rows": [r.to_dict() for r in self.rows],
            "skipped": [s.to_dict() for s in self.skipped],
            "warnings": list(self.warnings),
        }


def _row(key: tuple[str, str, float], found: Any) -> BacktestRow:
    value, lower, upper, truth = found.T
    held = (lower <= truth + 1e-12) & (truth <= upper + 1e-12)
    return BacktestRow(
        *key, float(np.abs(value - truth).mean()), float((value - truth).mean()), float(held.mean()),
        float((upper - lower).mean()), len(found),
    )  # fmt: skip


@checked()
def backtest(
    reference: Any,
    *,
    methods: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    repeats: int = _REPEATS,
    level: float = 0.95,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    seed: int = 0,
    cache: str | Path | None = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Try every method on shifts simulated from a labelled reference, where the truth is known.

    One half of the reference is fitted on, targets are drawn from the other: other class shares, other shares of
    clusters, tilts of inputs and of confidence, noise and temperature on the logits, the user's own groups and
    stretches of time.

    Parameters
    ----------
    reference :
        A labelled file, `Predictions`, a frame or a dict of arrays.
    methods, families :
        Names; all that apply by default.
    repeats :
        Trials of each family and severity.
    level :
        Nominal coverage of the intervals that are judged.
    classes, mapping :
        As in `estimate`.
    seed :
        Seed of splits and draws.
    cache :
        Folder that keeps trials, so that an interrupted backtest goes on and a finished one is reused; "auto" for
        ``$OODOMETER_CACHE`` or the user's cache folder, None for none.
    progress :
        Called with (trials done, trials in all).

    Raises `InputError` for a reference of fewer than 80 labelled rows, `UsageError` for unknown names.

    >>> from oodometer.testing import example_record
    >>> found = backtest(example_record(), methods=["source", "atc"], families=["none"], repeats=2, cache=None)
    >>> [(r.method, r.cases) for r in found.rows]
    [('source', 2), ('atc', 2)]
    """
    check_level(level)
    if repeats < 1:
        raise UsageError(f"expected at least one repeat, got {repeats}")
    for name in methods or ():
        find("estimator", name)
    for name in families or ():
        find("simulation", name)
    opener = Opener(mapping)
    source = opener.references([reference], classes)[0]
    opener.check()
    read = read_reference(source)
    if len(read.record) < LEAST_REFERENCE:
        raise InputError(
            f"at least {LEAST_REFERENCE} labelled rows to backtest on", got=f"{len(read.record)}", file=source.name,
            remedy="label more, or use `oodometer estimate`, which then says what it cannot know",
        )  # fmt: skip
    about = {"name": source.name, "rows": read.rows, "accuracy": read.correct / read.rows}
    found = run_backtest(
        read.record, methods=methods, families=families, repeats=repeats, level=level, seed=seed, cache=cache,
        progress=progress,
    )  # fmt: skip
    warnings = label_warnings("the reference", [read.record], read.record.accuracy)
    return replace(found, reference=about, warnings=tuple(warnings))


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


def run_backtest(
    record: Predictions,
    *,
    methods: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    repeats: int = _REPEATS,
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
