"""Came true: how often the model that was called the likeliest best one was it, on public suites; P(best) after it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Self

import numpy as np

from ..arrays import Array
from ..plain import Plain
from .posterior import Posterior

GROUPS = {"two": 2, "three or four": 4, "five or more": math.inf}
"""How many models that differ there are, at most."""


def group_of(models: int) -> str:
    """The name of the group of `GROUPS` that so many models are in."""
    return next(name for name, limit in GROUPS.items() if models <= limit)


@dataclass(frozen=True)
class CameTrue:
    """What came true of P(best) of the leader, and of orders, on public suites.

    curves : (with a reference, labels, group of models) -> P(best) of the leader as the evidence has it, ascending, and
        how often it was the best, ascending and nowhere larger than the first. orders : what is said of orders without
        a label. about : command, date, suites, sources.

    Source: `benchmarks/rank_suites.py --fit`; isotonic regression by pooling adjacent violators. There is a curve where
    one made P(best) truer in whole sources that were left out: without a reference, of five models or more.

    >>> kept = packaged()
    >>> kept.of(0.3, labels=10, models=6, referenced=False) <= 0.3
    True
    >>> kept.of(0.95, labels=10, models=6, referenced=False) < 0.6
    True
    >>> kept.of(0.95, labels=10, models=6, referenced=True)  # there is no curve
    0.95
    """

    curves: Mapping[tuple[bool, int, str], tuple[Array, Array]]
    orders: Plain
    about: Plain

    def measured(self, referenced: bool, group: str) -> list[int]:
        """The numbers of labels that a curve is of, ascending."""
        return sorted(
            labels
            for with_one, labels, name in self.curves
            if (with_one, name) == (referenced, group)
        )

    def of(self, p_best: float, *, labels: int, models: int, referenced: bool) -> float:
        """How often a leader of this P(best) was the best, at most P(best) itself.

        Between numbers of labels that were measured it is interpolated in log(1 + labels), beyond them the last counts.
        """
        group = group_of(models)
        measured = self.measured(referenced, group)
        if not measured:
            return p_best
        true = []
        for count in measured:
            knots, rates = self.curves[referenced, count, group]
            lost = np.interp(p_best, [0.0, *knots], [0.0, *(knots - rates)])
            highest = rates[-1] if len(knots) and p_best > knots[-1] else 1.0
            true.append(min(p_best - float(lost), float(highest)))
        return float(np.interp(math.log1p(labels), np.log1p(measured), true))

    @classmethod
    def from_dict(cls, plain: Plain) -> Self:
        """Read what `benchmarks/rank_suites.py --fit` wrote."""
        curves = {
            (bool(row["reference"]), int(row["labels"]), str(row["models"])): (
                np.array([knot["said"] for knot in row["knots"]]),
                np.array([knot["true"] for knot in row["knots"]]),
            )
            for row in plain["curves"]
        }
        about = {name: value for name, value in plain.items() if name not in ("curves", "orders")}
        return cls(curves, plain["orders"], about)


@cache
def packaged() -> CameTrue:
    """What came true, as it comes with the package."""
    text = files("oodometer.rankings").joinpath("came_true.json").read_text(encoding="utf-8")
    return CameTrue.from_dict(json.loads(text))


def curve_of(
    said: Sequence[float], true: Sequence[float], sources: Sequence[str]
) -> tuple[Array, Array]:
    """Knots of what came true of P(best) of leaders: by tenths, never falling.

    said, true, sources : Of each case P(best) of its leader, whether that was the best, and where it is from.

    In a tenth cases of one source count together by the square root of their number. None says more than was said, and
    more than one half only as far as what came true exceeds it by a standard error over sources.

    >>> knots, kept = curve_of([0.9] * 8, [0, 0, 0, 1] * 2, list("abcdefgh"))
    >>> knots.round(2).tolist(), kept.round(2).tolist()
    ([0.9], [0.25])
    """
    p, hit = np.asarray(said, dtype=np.float64), np.asarray(true, dtype=np.float64)
    _, source = np.unique(np.asarray(sources), return_inverse=True)
    tenth = np.minimum((10 * p).astype(int), 9)
    tenths, at = np.unique(tenth, return_inverse=True)
    share = np.zeros(len(p))
    for index in range(len(tenths)):
        in_pool = at == index
        share[in_pool] = 1 / np.sqrt(np.bincount(source[in_pool])[source[in_pool]])
    size = np.bincount(at, share)
    means = np.bincount(at, share * p) / size
    rates = _rising(np.bincount(at, share * hit) / size, size)
    capped = np.minimum(rates, means)
    for index, rate in enumerate(rates):
        in_pool = np.isin(at, np.flatnonzero(rates == rate))  # tenths that were pooled
        away = np.bincount(source[in_pool], share[in_pool] * (hit[in_pool] - rate))
        error = float(np.sqrt(np.square(away).sum()) / share[in_pool].sum())
        capped[index] = min(capped[index], max(0.5, rate - error))
    return means, np.maximum.accumulate(capped)


def _rising(values: Array, weights: Array) -> Array:
    """The nearest sequence that never falls, by pooling adjacent violators."""
    pools: list[list[float]] = []  # mean, weight, how many
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size, count = pools.pop()
            before = pools[-1]
            total = before[1] + size
            pools[-1] = [(before[0] * before[1] + mean * size) / total, total, before[2] + count]
    return np.concatenate([np.full(int(count), mean) for mean, _, count in pools])


def as_came_true(result: Posterior, public: CameTrue, *, referenced: bool) -> Posterior:
    """The posterior with P(best) of the leader no larger than what came true of such.

    Of all joint distributions with this P(best) of the leader the one that is nearest to ``result``: what holds where
    the leader is the best counts less, all else counts more, in proportion. So P(best) of the others, P(a beats b) and
    what a choice costs go with it, and a leader stays the leader. Beyond the most labels that a curve was measured with
    P(best) is not lowered below what labels alone say.

    Source: Csiszar (1975) for the nearest distribution, whose two parts are weighted anew.
    """
    chances = result.p_best
    leader = int(chances.argmax())
    p_leader = float(chances[leader])
    models = len(np.unique((result.disagreement == 0).argmax(axis=1)))
    true = public.of(p_leader, labels=result.labels, models=models, referenced=referenced)
    if result.labels > max(public.measured(referenced, group_of(models)), default=0) and len(
        result.by_labels
    ):
        true = max(true, min(p_leader, float(result.by_labels[leader])))
    rivals = np.delete(chances, leader)
    second = float(rivals.max())
    if p_leader < 1:
        true = max(true, second / (1 - p_leader + second) + _AHEAD)
    if true > p_leader - _NOTHING:
        return result
    p_best = chances * (1 - true) / (1 - p_leader)
    p_best[leader] = true
    best = result.draws.argmax(axis=1) == leader
    first, rest = result.draws[best], result.draws[~best]
    if not len(first) or not len(rest):
        return replace(result, p_best=p_best, as_said=p_leader)
    moved = _beats(rest) - _beats(first)
    p_better = np.clip(result.p_better + (p_leader - true) * moved, p_best[:, None], 1 - p_best)
    differ = result.disagreement > 0
    p_better = np.where(differ, p_better, 0.5)
    draw_count = len(result.draws)
    kept_first = round(draw_count * min(true, len(first) / draw_count))
    draws = np.concatenate([_spread(first, kept_first), _spread(rest, draw_count - kept_first)])
    return replace(result, p_best=p_best, p_better=p_better, draws=draws, as_said=p_leader)


_AHEAD = 1e-6  # by which a leader stays ahead of the next one
_NOTHING = 1e-3  # a change of P(best) that is not worth a word


def _beats(draws: Array) -> Array:
    """Share of draws in which a is above b, ties one half, shape (model, model)."""
    return np.stack([(np.sign(column[:, None] - draws).mean(axis=0) + 1) / 2 for column in draws.T])


def _spread(draws: Array, count: int) -> Array:
    """So many of the draws, each as often as any other, give or take one."""
    return draws[np.arange(count) * len(draws) // max(count, 1)]
