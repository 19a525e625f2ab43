"""Votes: how well judges tell right from wrong outputs, and whether the bounds made from their votes held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, NotApplicable, UsageError
from ..intervals import clopper_pearson, normal_quantile, wilson_from_variance
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import register
from ..results import Interval, Kind
from .base import VERDICT, Metric
from .resampling import clopper_pearson_many, generator

if TYPE_CHECKING:
    from jaxtyping import Int

RULES = ("any-incorrect", "any-correct", "majority", "single")


def agreements(judges: int) -> list[int]:
    """Every k for which k-of-n voting makes two-sided bounds, from n (the widest) down to a bare majority."""
    return list(range(judges, judges // 2, -1))


def check_agree(agree: int | None, judges: int) -> int:
    """The k of k-of-n voting: all judges by default; `UsageError` where it is no majority of them."""
    if agree is None:
        return judges
    if agree not in agreements(judges):
        span = f"{judges // 2 + 1} to {judges}" if judges > 1 else f"{judges}"
        expected = f"expected agree to be a majority of the {judges} judges, {span}"
        raise UsageError(
            f"{expected}, got {agree}; with fewer the lower bound would lie above the upper one"
        )
    return agree


def least_votes(rule: str, judges: int) -> int:
    """How many judges must say Correct for the rule to say so; `UsageError` for other rules."""
    counts = {"any-incorrect": judges, "any-correct": 1, "majority": judges // 2 + 1}
    if rule not in counts:
        raise UsageError(f"expected a rule of {', '.join(counts)}, got {rule!r}")
    return counts[rule]


def count_votes(votes: Array) -> Array:
    """How many judges say Correct, of votes with axes (judge, sample); int64, shape (sample,)."""
    return np.asarray(votes.sum(axis=0, dtype=np.int64))


def judged_correct(votes: Array, rule: str | int = "any-incorrect") -> Array:
    """Whether the judges together say Correct; votes have axes (judge, sample), the result is bool, (sample,).

    ``rule`` is one of `RULES`, or a number k: at least k judges say Correct. Source: Yao and Koller (2024), whose
    ensemble_incorrect is "any-incorrect" and whose ensemble_correct is "any-correct".

    >>> v = np.array([[1, 1, 0], [1, 0, 0]], dtype=np.int8)
    >>> judged_correct(v).tolist(), judged_correct(v, "any-correct").tolist(), judged_correct(v, 1).tolist()
    ([True, False, False], [True, True, False], [True, True, False])
    """
    if rule == "single":
        return np.asarray(votes[0] > 0)
    judges = len(votes)
    threshold = rule if isinstance(rule, int) else least_votes(rule, judges)
    if not 1 <= threshold <= judges:
        raise UsageError(f"expected a number of judges from 1 to {judges}, got {threshold}")
    return count_votes(votes) >= threshold


MEASURES = ("correct_recall", "correct_precision", "incorrect_recall", "incorrect_precision")


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """Labelled rows by (verdict, first judge's vote, number that say Correct), and those that each judge accepts."""

    names: Strings
    table: Int[Array, "2 2 count"]
    accepted: Int[Array, "judge 2"]

    @classmethod
    def of(cls, batch: Predictions) -> VoteCounts:
        """State of the rows of a record whose truth is known."""
        labelled = batch.known()
        if labelled.votes is None:
            raise NotApplicable("needs `votes`")
        votes, right = labelled.votes, labelled.verdicts > 0
        judges = len(votes)
        code = (2 * right + (votes[0] > 0)) * (judges + 1) + count_votes(votes)
        table = np.bincount(code, minlength=4 * (judges + 1)).reshape(2, 2, judges + 1)
        each = [
            np.count_nonzero(votes[:, ~right], axis=1),
            np.count_nonzero(votes[:, right], axis=1),
        ]
        names = batch.names.get("judge") or tuple(str(j + 1) for j in range(judges))
        return cls(tuple(names), table.astype(np.int64), np.stack(each, axis=1).astype(np.int64))

    def __add__(self, other: VoteCounts) -> VoteCounts:
        """Sum of both, of the same judges."""
        if self.judges != other.judges:
            raise InputError(
                "parts with the same judges",
                got=f"{self.judges} and {other.judges}",
                column="votes",
                remedy="give every row a vote of every judge",
            )
        return VoteCounts(self.names, self.table + other.table, self.accepted + other.accepted)

    @property
    def judges(self) -> int:
        """Number of judges."""
        return len(self.accepted)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.sum())

    @cached_property
    def by_count(self) -> Int[Array, "2 count"]:
        """Rows by verdict and number of votes for Correct."""
        return np.asarray(self.table.sum(axis=1))

    @cached_property
    def at_least(self) -> Int[Array, "2 count"]:
        """Rows by verdict with at least so many votes for Correct; column 0 holds all rows."""
        return self.by_count[:, ::-1].cumsum(axis=1)[:, ::-1]

    @cached_property
    def of_verdict(self) -> Int[Array, 2]:
        """Wrong rows and right rows."""
        return np.asarray(self.by_count.sum(axis=1))


def share(part: float, rows: float, level: float) -> Interval | None:
    """A share with the exact interval of Clopper and Pearson; None of no rows."""
    return (
        None
        if not rows
        else _within(part / rows, clopper_pearson(part, rows, level), level, "exact")
    )


def _within(value: float, ends: tuple[float, float], level: float, kind: Kind) -> Interval:
    """An interval whose ends are moved, by rounding only, so that they hold the value."""
    return Interval(value, min(ends[0], value), max(ends[1], value), level, kind)


def discrimination(accepted: Array, of_verdict: Array, level: float) -> list[Json]:
    """Exact ``accepted``, recall and precision of Correct and Incorrect for each line of counts (line, verdict)."""
    wrong, right = accepted[:, 0], accepted[:, 1]
    rejected = of_verdict - accepted
    every, all_right, all_wrong = (
        np.full(len(accepted), n) for n in (of_verdict.sum(), of_verdict[1], of_verdict[0])
    )
    pairs = {
        "accepted": (wrong + right, every),
        "correct_recall": (right, all_right),
        "correct_precision": (right, wrong + right),
        "incorrect_recall": (rejected[:, 0], all_wrong),
        "incorrect_precision": (rejected[:, 0], rejected.sum(axis=1)),
    }
    columns: dict[str, Sequence[Interval | None]] = {}
    for name, (hits, trials) in pairs.items():
        lower, upper = clopper_pearson_many(hits, trials, level)
        columns[name] = [
            _within(h / n, (float(a), float(b)), level, "exact") if n else None
            for h, n, a, b in zip(hits.tolist(), trials.tolist(), lower, upper, strict=True)
        ]
    return [{name: columns[name][line] for name in pairs} for line in range(len(accepted))]


def paired_gap(total: float, squares: float, rows: int, level: float) -> Interval:
    """Mean of a difference on the same rows from its sum and sum of squares, plus one squared unit; asymptotic."""
    mean = total / rows
    variance = (max(squares - rows * mean * mean, 0.0) + 1) / (rows + 1) / rows
    half = normal_quantile(level) * variance**0.5
    return Interval(mean, max(mean - half, -1.0), min(mean + half, 1.0), level, "asymptotic")


def absolute(gap: Interval) -> Interval:
    """The size of a signed difference with its interval; one that may be 0 begins there."""
    ends = sorted((abs(gap.lower), abs(gap.upper)))
    low = 0.0 if gap.lower <= 0 <= gap.upper else ends[0]
    return Interval(abs(gap.value), low, ends[1], gap.level, gap.kind)


def bounds_of(at_least: Array, agree: int, level: float) -> Json:
    """The bounds of k-of-n voting from the rows with at least so many votes (count,): lower, upper, mean, width."""
    rows, judges = int(at_least[0]), len(at_least) - 1
    every, some = int(at_least[agree]), int(at_least[judges - agree + 1])
    mean = mean_of((every + some) / 2, every + (some - every) / 4, rows, level)
    lower, upper, width = (share(part, rows, level) for part in (every, some, some - every))
    return {"agree": agree, "lower": lower, "upper": upper, "mean": mean, "width": width}


def mean_of(total: float, squares: float, rows: int, level: float) -> Interval:
    """Mean of numbers in [0, 1] from sum and sum of squares, plus one squared unit, in Wilson's form; asymptotic."""
    value = total / rows
    variance = (max(squares - rows * value * value, 0.0) + 1) / (rows + 1) / rows
    return _within(value, wilson_from_variance(value, variance, rows, level), level, "asymptotic")


def bounds_by_agreement(counts: VoteCounts, level: float) -> list[Json]:
    """The bounds for every k, widest first, beside the truth (`against_truth`)."""
    at_least, every = counts.at_least.sum(axis=0), agreements(counts.judges)
    return [
        bounds_of(at_least, agree, level) | against_truth(counts, agree, level) for agree in every
    ]


def against_truth(counts: VoteCounts, agree: int, level: float) -> Json:
    """Whether the truth lies inside the bounds of k-of-n voting, its distances from them, and the error of the mean."""
    rows, right = counts.rows, int(counts.of_verdict[1])
    every, some = (counts.at_least[:, k].tolist() for k in (agree, counts.judges - agree + 1))
    # each a difference that is 1 in some rows, -1 in others and else 0
    pairs = (right - every[1], every[0]), (some[0], right - some[1])
    below, above = (
        paired_gap(float(plus - minus), float(plus + minus), rows, level) for plus, minus in pairs
    )
    votes = np.arange(counts.judges + 1)
    bound = np.add(votes >= agree, votes >= counts.judges - agree + 1, dtype=np.float64) / 2
    off = np.array([[0.0], [1.0]]) - bound
    distance = absolute(paired_gap(*_sums(counts.by_count, off), rows, level))
    is_inside = sum(every) <= right <= sum(some)
    return {"inside": is_inside, "above_lower": below, "below_upper": above, "error": distance}


def _sums(rows: Array, values: Array) -> tuple[float, float]:
    return float((rows * values).sum()), float((rows * np.square(values)).sum())


def bounds_by_judges(by_count: Sequence[int] | Array, level: float) -> list[Json]:
    """The bounds to expect of m = 1 ... n judges, all agreeing, mean over every choice of m; by number of votes."""
    counts = np.asarray(by_count, dtype=np.float64)
    judges, rows = len(counts) - 1, int(counts.sum())
    out = []
    for size in range(1, judges + 1):
        chance = np.array([math.comb(v, size) / math.comb(judges, size) for v in range(judges + 1)])
        lower, upper = (mean_of(*_sums(counts, p), rows, level) for p in (chance, 1 - chance[::-1]))
        out.append({"judges": size, "lower": lower, "upper": upper})
    return out


_FEWEST, _STEPS = 20, (1, 2, 5)


def check_draws(sizes: Sequence[int] | None, draws: int, rows: int) -> tuple[int, ...]:
    """Numbers of rows to draw, by default 20, 50, 100, 200, 500, ... and all; `UsageError` for ones that cannot be."""
    if draws < 1:
        raise UsageError(f"expected at least one draw of each size, got {draws}; 50 are usual")
    series = [step * 10**power for power in range(1, 10) for step in _STEPS]
    usual = (*(size for size in series if _FEWEST <= size < rows), rows)
    chosen = usual if sizes is None else tuple(sorted(set(sizes)))
    if not chosen or chosen[0] < 1 or chosen[-1] > rows:
        listing = ", ".join(map(str, chosen)) or "none"
        raise UsageError(
            f"expected sizes from 1 to {rows}, the labelled rows with votes, got {listing}"
        )
    return chosen


def draw_subsets(table: Array, size: int, draws: int, rng: np.random.Generator) -> Array:
    """Counts of so many rows drawn without replacement, int64, (draw, *cells)."""
    flat = rng.multivariate_hypergeometric(table.ravel(), size, size=draws, method="marginals")
    return flat.reshape(draws, *table.shape)


def vote_subsets(
    counts: VoteCounts,
    sizes: Sequence[int] | None = None,
    draws: int = 50,
    level: float = 0.95,
    seed: int = 0,
    agree: int | None = None,
) -> list[Json]:
    """For each size what chance makes of truth and bounds in so many rows: Yao and Koller (2024), Figure 4."""
    rng, threshold, judges = (
        generator(seed, "votes"),
        check_agree(agree, counts.judges),
        counts.judges,
    )
    rows = []
    for size in check_draws(sizes, draws, counts.rows):
        # (draw, verdict, first judge's vote, count)
        subsets = draw_subsets(counts.table, size, draws, rng)
        # (draw, at least so many votes)
        reached = subsets.sum(axis=(1, 2))[:, ::-1].cumsum(axis=1)[:, ::-1]
        gold, single = subsets[:, 1].sum(axis=(1, 2)), subsets[:, :, 1].sum(axis=(1, 2))
        every, some = reached[:, threshold], reached[:, judges - threshold + 1]
        series = {
            "gold": gold,
            "single": single,
            "lower": every,
            "upper": some,
            "mean": (every + some) / 2,
        }
        row: Json = {"rows": size, "draws": len(subsets)}
        row |= {name: _central(values / size, level) for name, values in series.items()}
        row["bounds"] = []
        for k in agreements(judges):
            low, high = reached[:, k], reached[:, judges - k + 1]
            hits = int(((low <= gold) & (gold <= high)).sum())
            width = _central((high - low) / size, level)
            row["bounds"].append(
                {"agree": k, "reliability": share(hits, len(subsets), level), "width": width}
            )
        rows.append(row)
    return rows


def _central(values: Array, level: float) -> Interval:
    """Mean of the draws and their central part."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return _within(float(values.mean()), (low, high), level, "empirical")


@register("metric")
class Votes(Metric[VoteCounts, dict[str, Any]]):
    """A table of tables about the column `votes`, against the truth; Correct is what a judge says of an output.

    judges, rows, accuracy : their number, the labelled rows, the exact share that is right.
    rules : recall and precision of Correct and Incorrect and the share ``accepted`` under four rules: any-incorrect
        (all must accept: the lower bound), any-correct (the upper one), majority, single (the first judge).
    ladder, by_judge : the same for "at least j judges accept", j = 1 ... n, and for each judge alone.
    bounds, by_number : k-of-n voting for every k beside the truth; the bounds to expect of fewer judges.
    subsets : truth, bounds and reliability in smaller draws of the rows.

    sizes, draws : numbers of rows to draw, by default 20, 50, 100, ... and all of them; draws of each size.
    agree : how many judges must agree on the bounds of the subsets; None for all.

    Left out without a word where there are no votes and nobody asked. Source: Yao and Koller (2024), section 4.3.

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]], correct=[1, 1, 0, 0])
    >>> found = Votes().compute(p)
    >>> [(r["rule"], r["accepted"].value, r["correct_recall"].value) for r in found["rules"][:2]]
    [('any-incorrect', 0.25, 0.5), ('any-correct', 0.5, 1.0)]
    >>> found["accuracy"].value, found["bounds"][0]["inside"]
    (0.5, True)
    """

    name = "votes"
    needs = tuple(("votes", *group) for group in VERDICT)
    bigger_is_better = None
    citation = "yao2024"
    gives = "table"
    quiet = True

    def __init__(
        self, sizes: Sequence[int] | None = None, draws: int = 1000, agree: int | None = None
    ) -> None:
        self.sizes, self.draws, self.agree = sizes, draws, agree

    def summarize(self, batch: Predictions) -> VoteCounts:
        """Rows by verdict and votes."""
        return VoteCounts.of(batch)

    def _finish(self, state: VoteCounts, level: float, seed: int) -> Json:
        judges, verdict = state.judges, state.of_verdict
        ladder = discrimination(state.at_least[:, 1:].T, verdict, level)
        single = discrimination(state.accepted, verdict, level)
        by_rule = {rule: ladder[least_votes(rule, judges) - 1] for rule in RULES[:3]} | {
            "single": single[0]
        }
        return {
            "judges": judges,
            "rows": state.rows,
            "accuracy": share(int(verdict[1]), state.rows, level),
            "rules": [{"rule": rule, **figures} for rule, figures in by_rule.items()],
            "ladder": [{"at_least": j + 1, **figures} for j, figures in enumerate(ladder)],
            "by_judge": [
                {"judge": n, **figures} for n, figures in zip(state.names, single, strict=True)
            ],
            "bounds": bounds_by_agreement(state, level),
            "by_number": bounds_by_judges(np.asarray(state.by_count.sum(axis=0)), level),
            "subsets": vote_subsets(state, self.sizes, self.draws, level, seed, self.agree),
        }
