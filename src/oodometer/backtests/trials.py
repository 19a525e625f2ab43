"""Trials: every method fitted on one part of the reference and tried on shifted draws of the other part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .. import plugins
from ..diagnoses import ShiftStatistics
from ..inference.domain_classifier import compared_once
from ..kernels import cores, one_thread, side_by_side
from ..passes.guarding import Failed, checked_estimate, guarded, unless_failed
from ..passes.plan import EstimationPlan
from ..passes.slicing import WHOLE
from ..predictions import Predictions
from ..registry import create
from ..results.backtest import Key, Trial, Triple
from ..simulations import Simulation

__all__ = ["LEAST_REFERENCE", "MOST_ROWS", "SLOW_REPEATS", "Key", "Trial", "run_trials", "split_of", "trial_keys"]

LEAST_REFERENCE = 80  # labelled rows; with fewer, half of them say too little about any method
_FITTED_SHARE = 0.5
MOST_ROWS = 5_000  # of the reference: half is fitted on, half is drawn from
SLOW_REPEATS = 3  # of each family and severity in which methods that are slow take part, unless more are asked for
_SPLITS = 4


def trial_keys(families: Sequence[str], repeats: int) -> list[Key]:
    """All trials of these families, in the order in which they run: split by split.

    >>> trial_keys(["none"], 2)
    [('none', 0.0, 0), ('none', 0.0, 1)]
    """
    simulations: list[Simulation] = [create("simulation", name) for name in families]
    return [
        (s.name, severity, repeat)
        for part in range(_SPLITS)
        for s in simulations
        for severity in s.severities
        for repeat in range(part, repeats, _SPLITS)
    ]


def split_of(key: Key) -> int:
    """Which of the four splits of the reference a trial is on.

    >>> split_of(("none", 0.0, 6))
    2
    """
    return key[2] % _SPLITS


def run_trials(
    record: Predictions,
    fit: Callable[[Predictions], EstimationPlan],
    keys: Sequence[Key],
    *,
    seed: int = 0,
    slow_repeats: int | None = None,
    on_failure: Callable[[str, str], None] | None = None,
) -> Iterator[tuple[Key, Trial | None]]:
    """Run these trials, one after another; None where a family cannot be drawn from this reference.

    The reference is split in four ways (by the number of the repeat); of each, one half is fitted on and the other is
    drawn from. A trial has a seed of its own, so that it does not matter which were run before: an interrupted run goes
    on with the keys that are left. Slow methods take part in the first ``slow_repeats`` of each family and severity, in
    all by default. A family that fails is told to ``on_failure`` (its name, why).
    """
    import scipy.linalg  # noqa: F401  # its library is there before it is told to use one thread

    simulations: dict[str, Simulation] = {}
    part, pool, begun, slow_waiting = -1, None, None, 0
    waiting: list[tuple[Key, Callable[[], Trial | None]]] = []
    for key in keys:
        family, severity, repeat = key
        if split_of(key) != part:
            part = split_of(key)
            fitting, pool = _split(record, np.random.default_rng([seed, 0x51, part]))
            with one_thread():  # so that a fit is the same to the last bit on every machine of a cluster
                plan = fit(fitting)
                begun = _Begun(plan, ShiftStatistics().fit(plan.choice.apply(fitting)), fitting.accuracy)
        assert begun is not None
        assert pool is not None
        simulation = simulations.setdefault(family, create("simulation", family))
        rng = np.random.default_rng([seed, repeat, round(1000 * abs(severity)), *family.encode(), *[1][: severity < 0]])
        with one_thread():
            target = guarded(family, simulation, partial(_drawn, simulation, pool, severity, rng))
        if isinstance(target, Failed):
            if on_failure is not None:
                on_failure(family, target.why)
            target = None
        slowly = slow_repeats is None or repeat < slow_repeats
        waiting.append((key, partial(_try, begun if slowly else begun.quick, target, key)))
        slow_waiting += slowly and begun.is_slow
        # quick trials wait with slow ones, so that it is slow ones that run side by side
        if not slow_waiting or slow_waiting == cores():
            yield from _tried(waiting)
            slow_waiting = 0
    yield from _tried(waiting)


class _Begun(NamedTuple):
    """What was fitted on one part of the reference, and the accuracy of that part."""

    plan: EstimationPlan
    statistics: ShiftStatistics
    source: float

    @property
    def is_slow(self) -> bool:
        """Whether trials take so long that threads pay."""
        return any(method.cost == "slow" for method in self.plan.methods.values())

    @property
    def quick(self) -> _Begun:
        """The same without the slow methods."""
        methods = {name: method for name, method in self.plan.methods.items() if method.cost == "quick"}
        return self._replace(plan=replace(self.plan, methods=methods))


def _tried(waiting: list[tuple[Key, Callable[[], Trial | None]]]) -> Iterator[tuple[Key, Trial | None]]:
    """The trials that wait, side by side where there are several; the list is empty afterwards."""
    keys, jobs = [key for key, _ in waiting], [job for _, job in waiting]
    waiting.clear()
    # set once for all jobs: who asks inside pays nothing
    with one_thread():
        found = side_by_side(jobs)
    yield from zip(keys, found, strict=True)


def _drawn(simulation: Simulation, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions | None:
    """A shifted target whose accuracy is known, or None."""
    if simulation.why_not(pool):
        return None
    target = simulation.draw(pool, severity, rng)
    if target is None:
        return None
    if not isinstance(target, Predictions):
        raise TypeError(f"draw gave no record but {type(target).__name__}")
    return target if len(target) and np.isfinite(target.accuracy) else None


def _split(record: Predictions, rng: np.random.Generator) -> tuple[Predictions, Predictions]:
    """Rows to fit on and rows to draw targets from, both bounded."""
    order = rng.permutation(len(record))[:MOST_ROWS]
    cut = int(len(order) * _FITTED_SHARE)
    fitted, pool = order[:cut], order[cut:]
    return record.take(np.sort(fitted)), record.take(np.sort(pool))


def _try(begun: _Begun, target: Predictions | None, key: Key) -> Trial | None:
    if target is None:
        return None
    truth = target.accuracy
    hidden = replace(target.without_labels(), first_row=0)
    plan, _ = begun.plan.restricted_to(hidden)
    state = plan.summarize(hidden)[WHOLE]
    estimates: dict[str, Triple] = {}
    with compared_once():
        for name, method in plan.methods.items():
            try:
                found = checked_estimate(method, method.finish(unless_failed(state[name])))
            except plugins.FAILURES as error:
                plugins.why_failed(name, method, error)  # raises what is meant for the user
                continue
            estimates[name] = (found.value, found.lower, found.upper)
    seen = begun.statistics.finish(begun.statistics.summarize(plan.choice.apply(hidden)))
    return Trial(*key, len(target), truth, begun.source, estimates, seen)
