"""Judge: all intervals that labels allow, the one to print, chosen without a look at labels, and the believed one."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from ..arrays import Array
from ..inference.betting import (
    LOOKS,
    Game,
    SampledRows,
    betting_interval,
    betting_p_value,
    sampled_game,
    sizes,
)
from ..inference.hypergeometric import chance_of_at_least, chance_of_at_most
from ..intervals import clopper_pearson, normal_quantile
from ..plain import Json, Strings
from ..results import Estimate, Interval, Kind
from ..results.alarms import Fall

SMALL_TARGET = 100  # target rows a label, up to which the target's own size is used


@lru_cache(maxsize=4096)  # the outlook of an audit asks for the same numbers many times
def hypergeometric(
    successes: int, trials: int, population: int, level: float
) -> tuple[float, float]:
    """Exact interval for the share of a finite target, from labels drawn without replacement. {M/N : P(X >= k | M) >
    a/2 and P(X <= k | M) > a/2}, X hypergeometric, a = 1 - level. It is within Clopper and Pearson's, and is a point
    once every row is labelled. Source: Clopper and Pearson (1934), for a finite population.
    """
    tail, fewest, largest = (1 - level) / 2, successes, population - (trials - successes)
    above = partial(chance_of_at_least, successes, population)
    below = partial(chance_of_at_most, successes, population)
    lower = fewest + bisect_left(
        range(fewest, largest), True, key=lambda m: above(m, trials) > tail
    )
    beyond = fewest + bisect_left(
        range(fewest, largest + 1), True, key=lambda m: below(m, trials) <= tail
    )
    return lower / population, max(beyond - 1, lower) / population


def exact_interval(
    successes: int, trials: int, population: int, level: float
) -> tuple[float, float]:
    """The hypergeometric interval for a target of at most 100 rows a label, else Clopper and Pearson's."""
    if population <= SMALL_TARGET * trials:
        return hypergeometric(successes, trials, population, level)
    return clopper_pearson(successes, trials, level)


def exact_p_value(
    successes: int, trials: int, population: int, lower: float, upper: float
) -> float:
    """Exact p-value of "the accuracy lies in [lower, upper]": the largest, over accuracies inside, of min(1, 2
    min(P(X <= k), P(X >= k))), attained at the end nearest to k/n. X is binomial, or for at most 100 rows a label
    hypergeometric, whose claim is rounded outwards to whole rows. Source: Clopper and Pearson (1934).
    """
    share = successes / trials
    if lower <= share <= upper:
        return 1.0
    if population > SMALL_TARGET * trials:
        from scipy.special import bdtr, bdtrc

        below = share < lower
        return float(
            min(
                1.0,
                2
                * (
                    bdtr(successes, trials, lower) if below else bdtrc(successes - 1, trials, upper)
                ),
            )
        )
    if share < lower:
        right = math.floor(lower * population + 1e-9)
        return min(1.0, 2 * chance_of_at_most(successes, population, right, trials))
    right = math.ceil(upper * population - 1e-9)
    return min(1.0, 2 * chance_of_at_least(successes, population, right, trials))


def effective_labels(value: float, width: float, level: float, most: float) -> float:
    """The number of random labels for which Clopper and Pearson's interval at ``value`` is so wide, up to ``most``."""
    lower, upper = 0.0, float(most)
    for _ in range(80):
        middle = (lower + upper) / 2
        low, high = clopper_pearson(middle * value, middle, level)
        lower, upper = (middle, upper) if high - low > width else (lower, middle)
    return upper


_MOST_ROUNDS = (
    20_000  # labels beyond which betting takes seconds and the large-sample interval is good
)
_LARGE = 200  # labels from which the large-sample interval is shown beside the others
_FEW_ERRORS = 50.0  # predicted errors (or hits) among the labels below which it is not

_RANDOM = "the labelled rows were drawn at random from the target"
_KNOWN = "the labelled rows were drawn from the target with the chances that --suggest wrote down"
ENOUGH = "and there are enough of them for the normal law"


def of_labels(
    name: str,
    three: tuple[float, float, float],
    level: float,
    kind: Kind,
    assumes: str,
    key: str,
    labels: int,
) -> Estimate:
    """An estimate of value and ends, within 0 and 1 and in order."""
    value, lower, upper = (min(max(end, 0.0), 1.0) for end in three)
    return Estimate(
        name, min(max(value, lower), upper), lower, upper, level, kind, assumes, key, rows=labels
    )


@dataclass(frozen=True)
class Judgement:
    """Intervals from labels: the one to print, that of labels alone, all of them, and what the labels are worth."""

    estimate: Estimate
    label_only: Estimate
    intervals: tuple[Estimate, ...]
    effective_labels: float
    warnings: Strings

    def conditional(self, assumes: str) -> Judgement:
        """The same intervals, whose promise holds under an assumption alone."""
        change = partial(replace, kind="conditional", assumes=assumes)
        estimate_if_holds, alone = change(self.estimate), change(self.label_only)
        return replace(
            self,
            estimate=estimate_if_holds,
            label_only=alone,
            intervals=tuple(map(change, self.intervals)),
        )


def judge(
    sampled: SampledRows, score: Array, slope: float, level: float, seed: int = 0
) -> Judgement:
    """Intervals for the accuracy of the target rows. Drawn evenly: Clopper-Pearson, hypergeometric for at most 100 rows
    a label, betting with predictions, PPI++ from 200 labels with 50 predicted errors; printed is betting where
    `confidence_pays`, else labels alone, above 20,000 labels PPI++. Suggested: betting with and without predictions.
    The choice reads predictions and counts, never a label, so that the level holds. score is f on all target rows.
    """
    labels = len(sampled)
    rows = len(score)
    hits = int(sampled.correct.sum())
    gaps = len(sampled.gaps)
    rows_without_gaps, by_method = rows - gaps, dict[str, Estimate]()

    def add(
        name: str, three: tuple[float, float, float], assumes: str, key: str, kind: Kind = "exact"
    ) -> None:
        by_method[name] = of_labels(name, three, level, kind, assumes, key, labels)

    if sampled.weighted:
        for name, lean in (("betting", 0.0), ("ppi-betting", slope)):
            add(name, sampled.bet(score, lean, level), _KNOWN, "waudbysmith2024")
        label_only, chosen = by_method["betting"], by_method["ppi-betting"]
    else:
        alone = {"clopper-pearson": clopper_pearson(hits, labels, level)}
        if rows_without_gaps <= SMALL_TARGET * labels:
            alone["hypergeometric"] = hypergeometric(hits, labels, rows_without_gaps, level)
        for name, ends in alone.items():
            add(name, sampled.of_all(score, (hits / labels, *ends)), _RANDOM, "clopper1934")
        if slope > 0 and labels <= _MOST_ROUNDS:
            add("ppi-betting", sampled.bet(score, slope, level), _RANDOM, "waudbysmith2024")
        mean = float(score.mean())
        if slope > 0 and labels >= _LARGE and labels * min(mean, 1 - mean) >= _FEW_ERRORS:
            three = sampled.of_all(
                score, ppi_plus_plus(sampled.correct, score[sampled.row], mean, rows, level)
            )
            add("ppi++", three, f"{_RANDOM}, {ENOUGH}", "angelopoulos2023", "asymptotic")
        label_only = by_method["clopper-pearson"]
        chosen = by_method.get("hypergeometric", label_only)
        if labels > _MOST_ROUNDS:
            chosen = by_method.get("ppi++", chosen)
        elif confidence_pays(score, slope, labels, level, seed):
            chosen = by_method["ppi-betting"]
    warnings = []
    if gaps:
        warnings.append(
            f"{gaps} suggested rows were passed over; the interval allows for any truth in them"
        )
    if labels < 10:
        warnings.append(f"only {labels} labels: the interval is valid, and wide")
    worth = effective_labels(chosen.value, chosen.upper - chosen.lower, level, rows)
    if not sampled.weighted and chosen.method == "clopper-pearson" and not gaps:
        worth = float(labels)
    return Judgement(chosen, label_only, tuple(by_method.values()), worth, tuple(warnings))


def refutes(
    sampled: SampledRows, score: Array, slope: float, lower: float, upper: float, level: float
) -> float:
    """p-value of "the accuracy lies in [lower, upper]": exact for even draws, betting for suggested rows."""
    rows, gaps = len(score), len(sampled.gaps)
    if gaps:
        rows_without_gaps = rows - gaps
        lower, upper = (
            max((lower * rows - gaps) / rows_without_gaps, 0.0),
            min(upper * rows / rows_without_gaps, 1.0),
        )
    upper = max(upper, lower)
    if not sampled.weighted:
        return exact_p_value(int(sampled.correct.sum()), len(sampled), rows - gaps, lower, upper)
    return betting_p_value(sampled.game(score, slope), lower, upper, level)


_IMAGINED_FIRST = 48  # audits that are played on imagined labels before the real ones are looked at
MOST_PLAYED = (
    1000  # labels beyond which imagined audits take too long and the predicted variance decides
)
_CLEAR = 0.9


def ppi_plus_plus(
    correct: Array, score: Array, mean_score: float, rows: int, level: float
) -> tuple[float, float, float]:
    """Value and asymptotic interval of the accuracy: v = lam mean_T f + mean_n (Y - lam f), lam = cov(Y, f)/((1 + n/N)
    var f), variance = var(Y - lam f)/n + lam^2 var f/N; far too short with few errors among the labels. correct and
    score (label,). Source: Angelopoulos, Duchi and Zrnic (2023).
    """
    labels = len(correct)
    spread = float(np.var(score, ddof=1)) if labels > 1 else 0.0
    lean = 0.0
    if spread > 1e-12:
        lean = float(np.cov(correct, score, ddof=1)[0, 1]) / ((1 + labels / rows) * spread)
    rest = correct - lean * score
    value = lean * mean_score + float(rest.mean())
    variance = (
        float(np.var(rest, ddof=1)) if labels > 1 else 0.25
    ) / labels + lean**2 * spread / rows
    half = normal_quantile(level) * math.sqrt(variance)
    clipped = min(max(value, 0.0), 1.0)
    return clipped, min(max(value - half, 0.0), clipped), max(min(value + half, 1.0), clipped)


def imagined_audits(
    pool: Array,
    chance: Array,
    slope: float,
    labels: int,
    share: float,
    draws: tuple[int, np.random.Generator],
) -> tuple[Game, Array]:
    """Games of so many imagined audits, and their hits: row i of the pool is right with this chance."""
    audits, rng = draws
    keys = np.log(sizes(pool, share)) + rng.gumbel(size=(audits, len(pool)))
    row = np.argpartition(-keys, labels - 1, axis=-1)[:, :labels]
    row = np.take_along_axis(row, np.argsort(-np.take_along_axis(keys, row, 1), axis=-1), 1)
    correct = (rng.random(row.shape) < chance[row]).astype(np.float64)
    return sampled_game(row, correct, np.full(labels, share), pool, slope), correct.sum(axis=-1)


def predicted_widths(
    score: Array,
    slope: float,
    labels: int,
    level: float,
    share: float = 1.0,
    seed: int = 0,
    looks: int = LOOKS,
) -> Mapping[str, float]:
    """Mean widths to expect of ``labels`` labels, alone and by betting, if row i is right with chance f_i; ``looks`` as
    of `betting_interval`.
    """
    game, hits = _first_audits(score, slope, labels, share, seed)
    low, high = betting_interval(game, level, looks=looks)
    return {
        "alone": _alone(hits, game.value.shape[-1], len(score), level),
        "ppi-betting": float(np.mean(high - low)),
    }


def predicted_width_alone(score: Array, slope: float, labels: int, level: float) -> float:
    """The first of `predicted_widths`, without a bet: of labels that are read alone."""
    game, hits = _first_audits(score, slope, labels, 1.0, 0)
    return _alone(hits, game.value.shape[-1], len(score), level)


def _first_audits(
    score: Array, slope: float, labels: int, share: float, seed: int
) -> tuple[Game, Array]:
    """Imagined audits before any label is looked at, and their hits, shape (audit,)."""
    rng = np.random.default_rng([seed, 0x1A6, labels])
    pool = score if len(score) <= 20_000 else rng.choice(score, 20_000, replace=False)
    draws = _IMAGINED_FIRST, rng
    return imagined_audits(pool, pool, slope, min(labels, len(pool)), share, draws)


def _alone(hits: Array, labels: int, rows: int, level: float) -> float:
    """Mean width of the exact interval over these numbers of hits."""
    counts, times = np.unique(hits, return_counts=True)
    exact = [np.diff(exact_interval(int(k), labels, rows, level))[0] for k in counts]
    return float(np.dot(exact, times) / len(hits))


def confidence_pays(
    score: Array, slope: float, labels: int, level: float, seed: int = 0, looks: int = LOOKS
) -> bool:
    """Whether betting with predictions is to be expected narrower than labels alone; no label is looked at."""
    if slope <= 0:
        return False
    if labels <= MOST_PLAYED:
        widths = predicted_widths(score, slope, labels, level, seed=seed, looks=looks)
        return widths["ppi-betting"] < widths["alone"]
    # most of the target is known by then, which helps labels alone more
    if 2 * labels > len(score):
        return False
    first = np.zeros((1, 1), dtype=np.int64)
    return float(sampled_game(first, first, np.ones(1), score, slope).spread[0]) < _CLEAR


# Of accuracy: half widths of the unseen change that may come on top of the prior, downwards and upwards, since outputs
# that look as ever may hide a fall. Chosen on cases whose source the prior had not seen: the lowest tenth of them is to
# hold 80 % at 90, at no more width than that of 30 labels from 10 (`benchmarks/natural/unseen_falls.py`).
FALL, RISE = 0.018, 0.006
_CELLS = 1000  # of equal width over all accuracies
EVEN = np.linspace(0.0, 1.0, _CELLS + 1)
_FINE = 400  # more of them where the labels point to
_POINT = 1e-8  # chance left outside the finer cells


@dataclass(frozen=True)
class Believed:
    """The believed interval (None: ``why``), how many random labels would make it as short, and whether the accuracy
    fell. by_history : whether own history takes part, in the place of public shifts.
    """

    interval: Interval | None
    assumes: str = ""
    effective_labels: float | None = None
    why: str | None = None
    fell: Fall | None = None
    by_history: bool = False

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        interval_fields = {} if self.interval is None else self.interval.to_dict()
        fell = None if self.fell is None else self.fell.to_dict()
        return {
            **interval_fields,
            "assumes": self.assumes,
            "effective_labels": self.effective_labels,
            "why": self.why,
            "fell": fell,
        } | ({"by_history": True} if self.by_history else {})


def prior_cdf(levels: Array, quantiles: Array) -> Array:
    """`heavy_tailed` of a prior that is linear between its quantiles q_p; (level,) rising."""
    return heavy_tailed(linear_cdf(levels, quantiles))


def linear_cdf(levels: Array, quantiles: Array) -> Array:
    """The distribution function of accuracy at 1,001 even ones, linear between quantiles."""
    at = np.concatenate([[0.0], np.maximum.accumulate(np.clip(quantiles, 0.0, 1.0)), [1.0]])
    # quantiles that coincide are a step, which interpolation does not like
    at += 1e-9 * np.arange(len(at))
    out: Array = np.interp(EVEN, at, [0.0, *levels, 1.0])
    return out


def heavy_tailed(cdf: Array) -> Array:
    """The distribution function that is believed before labels, of the one F0 without them; both at 1,001 accuracies.

    It is F0 with an unseen change d of Cauchy's density on top,

        F(x) ~ integral F0(x - d) / (1 + (d / s)^2) dd,    s = `FALL` for d < 0, `RISE` for d > 0,

    folded at 0 and 1: no accuracy is impossible, falls are likelier than rises, and labels that contradict the prior
    win, since its tails are heavier than those of a likelihood. Source: O'Hagan (1979) for heavy tails and conflict.
    """
    change = np.arange(-_CELLS, _CELLS + 1) / _CELLS
    unseen = 1 / (1 + np.square(change / np.where(change < 0, FALL, RISE)))
    below, within, above = np.convolve(np.diff(cdf), unseen).reshape(3, _CELLS)
    total = np.concatenate([[0.0], np.cumsum(below[::-1] + within + above[::-1])])
    out: Array = total / total[-1]
    return out


def likelihood_labels(sampled: SampledRows, score: Array) -> tuple[float, float, int | None]:
    """Hits and labels as a likelihood may count them, and the target's rows where they are few: even draws as they are,
    suggested ones with weights w = 1/(chance x rows left), as m = sum(w)^2/sum(w^2). Source: Kish (1965) for m.
    """
    rows_without_gaps = len(score) - len(sampled.gaps)
    if not sampled.weighted:
        small = rows_without_gaps <= SMALL_TARGET * len(sampled)
        return (
            float(sampled.correct.sum()),
            float(len(sampled)),
            rows_without_gaps if small else None,
        )
    weight = 1 / (sampled.chances(score) * (rows_without_gaps - np.arange(len(sampled))))
    labels = float(weight.sum() ** 2 / np.square(weight).sum())
    return labels * float(weight @ sampled.correct / weight.sum()), labels, None


def believed_interval(
    prior: Array, hits: float, labels: float, level: float, rows: int | None = None
) -> tuple[float, float, float]:
    """Median and central interval of the accuracy given a `prior_cdf` and ``hits`` right among ``labels`` random rows.
    Posterior = prior x likelihood on a grid: binomial, or for a target of ``rows`` rows hypergeometric.
    """
    edges, total = _posterior(prior, hits, labels, rows)
    value, lower, upper = map(
        float, np.interp([0.5, (1 - level) / 2, (1 + level) / 2], total, edges)
    )
    if rows is not None:  # what is labelled is certain
        certain = (hits / rows, (rows - labels + hits) / rows)
        value, lower, upper = (min(max(x, certain[0]), certain[1]) for x in (value, lower, upper))
    return value, min(lower, value), max(upper, value)


def believed_below(
    prior: Array, hits: float, labels: float, accuracy: float, rows: int | None = None
) -> float:
    """Share of the posterior of `believed_interval` below an accuracy: how likely the truth lies there."""
    edges, total = _posterior(prior, hits, labels, rows)
    return float(np.interp(accuracy, edges, total))


def _posterior(prior: Array, hits: float, labels: float, rows: int | None) -> tuple[Array, Array]:
    """Edges of cells of accuracy, and the posterior's distribution function there, both of shape (cell + 1,)."""
    from scipy.special import gammaln, xlog1py, xlogy

    # cells from 0 to 1, finer where the labels point to
    low, high = clopper_pearson(hits, labels, 1 - _POINT)
    edges = np.union1d(np.linspace(0.0, 1.0, _CELLS + 1), np.linspace(low, high, _FINE + 1))
    if rows is None:
        points = (edges[1:] + edges[:-1]) / 2
        logs = xlogy(hits, points) + xlog1py(labels - hits, -points)
    else:
        right = np.unique(np.rint(edges * rows))
        points = right / rows
        edges = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2, [1.0]])
        wrong, misses = rows - right, labels - hits
        a, b = np.maximum(right, hits), np.maximum(wrong, misses)
        ways = gammaln(a + 1) - gammaln(a - hits + 1) + gammaln(b + 1) - gammaln(b - misses + 1)
        logs = np.where((right >= hits) & (wrong >= misses), ways, -np.inf)
    mass = np.diff(np.interp(edges, np.linspace(0.0, 1.0, len(prior)), prior))
    weight = mass * np.exp(logs - logs.max())
    return edges, np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
