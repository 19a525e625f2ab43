"""The domain classifier: tells target rows from reference rows, and so gives their density ratio and their overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import NormalDist
from threading import Lock
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..intervals import wilson_from_variance
from ..kernels import grow_tree, one_thread
from ..predictions import Predictions
from ..results import percent
from .row_sample import RowSample, content_order, sample_limit

_NEWTON_STEPS, _HALVINGS = 100, 20
_FLAT = 1e-4  # of the largest slope of the mean loss, and of half the squared Newton decrement: then it has converged
_ENOUGH = 2.0**-11  # of the fall that the slope promises, which a step must bring


def fit_logistic(x: Array, y: Array, c: float) -> Callable[[Array], Array]:
    """x -> log-odds that minimise sum log-loss + ||w||^2 / (2 c); the numbers are those of scikit-learn."""
    rows, columns = x.shape
    penalty = np.append(np.full(columns, 1 / (c * rows)), 0.0)
    ones = np.column_stack([x, np.ones(rows)])
    weights, odds = np.zeros(columns + 1), np.zeros(rows)

    def loss(weights: Array, odds: Array) -> float:
        return float((np.logaddexp(0.0, odds) - y * odds).mean() + penalty @ np.square(weights) / 2)

    def slope(weights: Array, odds: Array) -> tuple[Array, Array]:
        small = np.exp(-np.abs(odds))
        # 1 / (1 + exp(-odds)), without overflow
        chance: Array = np.where(odds >= 0, 1.0, small) / (1 + small)
        return ones.T @ (chance - y) / rows + penalty * weights, chance

    before = loss(weights, odds)
    falling, chance = slope(weights, odds)
    for _ in range(_NEWTON_STEPS):
        bend = (ones.T * (chance * (1 - chance))) @ ones / rows + np.diag(penalty)
        try:
            step = -np.linalg.solve(bend, falling)
        except np.linalg.LinAlgError:
            # the shortest of many, where the intercept alone is no longer determined
            step = -np.linalg.lstsq(bend, falling, rcond=None)[0]
        along, promised = ones @ step, float(falling @ step)
        length = 1.0
        for _ in range(_HALVINGS):
            after = loss(weights + length * step, odds + length * along)
            # differences as small as rounding say nothing about a step
            if after - before <= max(
                length * _ENOUGH * promised, 16 * np.finfo(float).eps * abs(before)
            ):
                break
            length /= 2
        weights, odds, before = weights + length * step, odds + length * along, after
        falling, chance = slope(weights, odds)
        if np.abs(falling).max() <= _FLAT and step @ bend @ step / 2 <= _FLAT:
            break
    return lambda new_x: new_x @ weights[:-1] + weights[-1]


_TREES, _DEPTH, _BINS = 50, 3, 64
_RULE = 20, 1e-3, 1e-15, 0.1  # rows and curvature of a leaf, added to every divisor, learning rate


def fit_boosting(x: Array, y: Array) -> Callable[[Array], Array]:
    """x -> log-odds by 50 trees of depth 3 on 64 bins, with the numbers of scikit-learn's
    HistGradientBoostingClassifier.
    """
    cuts = [_cuts(column) for column in x.T]
    codes = _binned(x, cuts)
    share = y.mean()
    start = float(np.log(share / (1 - share)))
    odds = np.full(len(y), start)
    trees = []
    for _ in range(_TREES):
        chance = 1 / (1 + np.exp(-odds))
        # single precision as in the library: sums of halves and quarters would tie in another way
        sides = (chance - y).astype(np.float32), (chance * (1 - chance)).astype(np.float32)
        gradient, curvature = (side.astype(np.float64) for side in sides)
        trees.append(
            grow_tree(codes, gradient, curvature, odds, bins=_BINS, depth=_DEPTH, rule=_RULE)
        )

    def log_odds(new_x: Array) -> Array:
        out, codes = np.full(len(new_x), start), _binned(new_x, cuts)
        every = np.arange(len(new_x))
        for split, value in trees:
            node = np.zeros(len(new_x), dtype=np.intp)
            for _ in range(_DEPTH):
                column, bin_ = split[node].T
                child = 2 * node + 1 + (codes[every, column] > bin_)
                node = np.where(column < 0, node, child)
            out += value[node]
        return out

    return log_odds


def _cuts(column: Array) -> Array:
    """Between all values where there are few of them, else quantiles, averaged where they fall between two rows."""
    ordered = np.sort(column)
    distinct = np.unique(ordered)
    if len(distinct) <= _BINS:
        return np.asarray((distinct[:-1] + distinct[1:]) / 2)
    at = np.linspace(0, 1, _BINS + 1)[1:-1] * len(ordered)
    floors = np.floor(at).astype(int)
    upper = ordered[np.minimum(floors, len(ordered) - 1)]
    return np.asarray(np.unique(np.where(at == floors, (ordered[floors - 1] + upper) / 2, upper)))


def _binned(x: Array, cuts: list[Array]) -> Array:
    """The bin of each value, int32, shape (sample, column)."""
    bins = [np.searchsorted(c, column) for c, column in zip(cuts, x.T, strict=True)]
    return np.stack(bins, axis=1).astype(np.int32, order="C")


FIELDS = ("features", "probabilities", "confidence")
_FOLDS = 3
# rows that all ways to cut them have together: few rows are cut in more ways
_ROWS_OF_WAYS, _MOST_WAYS = (
    12_000,
    6,
)
_NEGLIGIBLE = 0.02  # share of a learner that is not worth asking again
_LEAST_ROWS = 30  # of either sample, for three folds to learn anything
_MOST_COLUMNS = 50  # of each block; wider ones are reduced to their principal components
_OVERSAMPLED = 10  # columns of the random projection beyond those that are wanted
_FARTHEST = 5.0  # standard deviations: squares of outliers would rule the fit
_WIDEST_RATIO = 100.0
_CHOICE_ROWS = 6_000  # above this many one fold is enough to choose a learner
_BOOSTING_ROWS = (1_000, 6_000)  # with fewer it only overfits, more it need not see
_LOGISTIC_ROWS = 14_000  # more teach a classifier of at most 200 columns nothing
_NO_OVERLAP = 0.99
_LEAST_EFFECTIVE, _FEW_EFFECTIVE = 30, 100
_LEAST_COVERED, _HALF_COVERED = 0.1, 0.5

# rows and their domain -> log-odds of others
Learner = Callable[[Array, Array], Callable[[Array], Array]]


_Kept = tuple[Lock, dict[Any, "DomainComparison"]]
_comparisons: ContextVar[_Kept | None] = ContextVar("oodometer_comparisons", default=None)


@dataclass(frozen=True, eq=False)
class DomainComparison:
    """How a cross-fitted classifier tells target from reference.

    auc, auc_error, p_value : out of fold, mean over folds; DeLong's error; of AUC = 0.5 against a higher one.
    weights, effective_rows : density ratio target over reference, mean 1, (reference row,); (sum w)^2 / sum w^2.
    covered : about 1 where the reference covers the target, the share of the target that it covers otherwise.
    learner : the one with the largest weight, "none", "logistic", "logistic-shrunk" or "boosting".
    """

    auc: float
    auc_error: float
    p_value: float
    weights: Array
    effective_rows: float
    covered: float
    learner: str


def domain_sample(record: Predictions, *fields: str, seed: int = 0) -> RowSample:
    """Bounded sample of what a domain classifier may see, and of other fields."""
    names = [name for name in FIELDS if getattr(record, name) is not None]
    if "probabilities" in names and "confidence" in names:
        names.remove("confidence")
    width = sum(np.prod(getattr(record, name).shape[1:], dtype=int) for name in names)
    return RowSample.of(record, [*names, *fields], sample_limit(int(width)), seed)


def why_no_domains(
    reference: RowSample, target: Predictions, names: Sequence[str] = FIELDS
) -> str | None:
    """The reason why the rows of a record cannot be compared with a reference sample by these fields, or None."""
    shared = [name for name in names if name in reference.arrays and target.has(name)]
    if not shared:
        return f"needs {' or '.join(f'`{n}`' for n in names if n in reference.arrays)} as in the reference"
    for name in shared:
        expected, got = reference.arrays[name].shape[1:], getattr(target, name).shape[1:]
        if expected != got:
            return f"needs {name} of {expected[0]} numbers as in the reference, got {got[0]}"
    return None


def representation(
    reference: Mapping[str, Array], target: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Rows of both samples as columns: `features`, log-odds of probabilities or confidence; only what both have."""
    blocks: list[Array] = []
    for name in FIELDS:
        if name not in reference or name not in target:
            continue
        if name == "confidence" and len(blocks) > 1:
            continue  # a distribution was there already
        both = np.concatenate([reference[name], target[name]]).astype(np.float64)
        if name == "features":
            blocks.append(narrow(both))
        else:
            p = np.clip(both.reshape(len(both), -1), 1e-6, 1 - 1e-6)
            odds = np.log(p) - np.log1p(-p)
            blocks += [narrow(odds), odds.max(axis=1, keepdims=True)][: min(odds.shape[1], 2)]
    if not blocks:
        raise NotApplicable("needs `features`, `probabilities` or `confidence` on both sides")
    joined = np.hstack(blocks)
    cut = len(joined) - len(next(iter(target.values())))
    return joined[:cut], joined[cut:]


def standardised(x: Array) -> Array:
    """Columns with mean 0 and standard deviation 1, cut to [-5, 5]; a constant column becomes 0."""
    spread = x.std(axis=0)
    return np.asarray(
        np.clip(
            (x - x.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf), -_FARTHEST, _FARTHEST
        )
    )


def narrow(x: Array) -> Array:
    """The columns themselves, or the first 50 principal components of more (standardised) columns."""
    if x.shape[1] <= _MOST_COLUMNS:
        return x
    width = min(_MOST_COLUMNS, len(x))
    plain = standardised(x)
    if not plain.any():
        return plain[:, :width]
    with one_thread():
        return principal_components(plain - plain.mean(axis=0), width)


def principal_components(centred: Array, width: int) -> Array:
    """Scores on the first components: scikit-learn's randomized PCA with one power iteration and random_state=0."""
    wide = centred.shape[0] < centred.shape[1]
    tall = centred.T if wide else centred
    sketch = np.random.RandomState(0).normal(size=(tall.shape[1], width + _OVERSAMPLED))
    basis = np.linalg.qr(tall @ (tall.T @ (tall @ sketch)))[0]
    left, sizes, right = np.linalg.svd(basis.T @ tall, full_matrices=False)
    rows, axes = (right.T, (basis @ left).T) if wide else (basis @ left, right)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray((rows * sizes * np.sign(largest))[:, :width])


def _cross_fit(
    x: Array, y: Array, fold: Array, learners: Mapping[str, Learner]
) -> tuple[Array, dict[str, float]]:
    """Held-out log-odds, and each learner's weight in them: how sure it is that its log-loss is the lower one."""
    squared = np.hstack([x, np.square(x)])
    share = float(np.log(y.sum() / (len(y) - y.sum())))
    odds_of = {name: np.full(len(y), share) for name in (*learners, "none")}
    shares, mixed = dict.fromkeys(odds_of, 1.0), np.empty(0)
    for folds in [range(_FOLDS)] if len(y) <= _CHOICE_ROWS else [range(1), range(1, _FOLDS)]:
        for name, f in product(learners, folds):
            if shares[name] > _NEGLIGIBLE:
                trees = name == "boosting"
                columns, train = x if trees else squared, np.flatnonzero(fold != f)
                step = -(-len(train) // (_BOOSTING_ROWS[1] if trees else _LOGISTIC_ROWS))
                train = train[::step]  # rows lie in an order without meaning: every so many will do
                odds_of[name][fold == f] = learners[name](columns[train], y[train])(
                    columns[fold == f]
                )
        seen = fold <= max(folds)
        sign, mixed, before = np.where(y[seen] == 1, -1, 1), np.empty(0), shares
        shares = dict.fromkeys(odds_of, 0.0)
        for name in (n for n in odds_of if before[n] > _NEGLIGIBLE or n == "none"):
            odds, sure = odds_of[name][seen], 1.0
            if len(mixed):
                gain = np.logaddexp(0.0, sign * mixed) - np.logaddexp(0.0, sign * odds)
                error = float(gain.std()) / np.sqrt(len(gain))
                # the ratios of trees are coarse: only where they are better beyond chance
                sure = (
                    NormalDist().cdf(float(gain.mean()) / error - (name == "boosting"))
                    if error > 0
                    else 0.5
                )
                odds = (1 - sure) * mixed + sure * odds
            mixed, shares = (
                odds,
                {n: (1 - sure) * weight for n, weight in shares.items()} | {name: sure},
            )
    return mixed, shares


def area_under_curve(low: Array, high: Array) -> tuple[float, float]:
    """P(high > low) + P(tie)/2 over all pairs, and its standard error from placements (DeLong et al. 1988)."""
    lows, highs = np.sort(low), np.sort(high)
    above = (np.searchsorted(lows, high) + np.searchsorted(lows, high, "right")) / (2 * len(low))
    below = 1 - (np.searchsorted(highs, low) + np.searchsorted(highs, low, "right")) / (
        2 * len(high)
    )
    variance = above.var() / max(len(high) - 1, 1) + below.var() / max(len(low) - 1, 1)
    # no pair out of order does not mean that none ever will be
    return float(above.mean()), float(np.sqrt(variance + (0.5 / min(len(low), len(high))) ** 2))


def compare_domains(x_reference: Array, x_target: Array) -> DomainComparison:
    """Cross-fit a classifier in three folds: p / (1 - p) * n_S / n_T over its mean, in [0.01, 100], is the density
    ratio.
    """
    reference_rows, target_rows = len(x_reference), len(x_target)
    if min(reference_rows, target_rows) < _LEAST_ROWS:
        raise NotApplicable(
            f"needs {_LEAST_ROWS} rows on both sides to tell them apart, got {reference_rows} and {target_rows}"
        )
    x = standardised(np.concatenate([x_reference, x_target]))
    y = np.repeat([0, 1], [reference_rows, target_rows])
    penalties = {"logistic": 1.0, "logistic-shrunk": 0.01}
    learners: dict[str, Learner] = {
        name: partial(fit_logistic, c=c) for name, c in penalties.items()
    }
    learners |= {"boosting": fit_boosting} if len(y) >= _BOOSTING_ROWS[0] else {}
    rng = np.random.default_rng([reference_rows, target_rows])
    log_odds, areas, weights_of = np.zeros(len(y)), [], dict.fromkeys([*learners, "none"], 0.0)
    ways = int(np.clip(_ROWS_OF_WAYS // len(y), 1, _MOST_WAYS))
    with one_thread():
        for way in range(ways):
            orders = [
                rng.permutation(n) if way else np.arange(n) for n in (reference_rows, target_rows)
            ]
            fold = np.concatenate(orders) % _FOLDS
            odds, shares = _cross_fit(x, y, fold, learners)
            log_odds += odds / ways
            sides = [
                (odds[(fold == f) & (y == 0)], odds[(fold == f) & (y == 1)]) for f in range(_FOLDS)
            ]
            areas += [area_under_curve(*side) for side in sides]
            weights_of = {name: weights_of[name] + shares.get(name, 0.0) for name in weights_of}
            learners = {
                n: learn
                for n, learn in learners.items()
                if shares[n] > _NEGLIGIBLE * (1 - shares["none"])
            }
    auc, error = (
        float(np.mean([a for a, _ in areas])),
        float(np.sqrt(np.mean([e * e for _, e in areas]) / _FOLDS)),
    )
    learner = max(weights_of, key=lambda name: weights_of[name])
    weights, mean = _ratio(log_odds[:reference_rows])
    covered = min(mean * reference_rows / target_rows, 1.0)
    # where nothing moved, each pair of folds meets twice, once either way round: half as much evidence as it looks
    p_value = NormalDist().cdf((0.5 - auc) / (error * np.sqrt(2)))
    return DomainComparison(auc, error, p_value, weights, effective_rows(weights), covered, learner)


def _ratio(log_odds: Array) -> tuple[Array, float]:
    """Odds scaled to mean 1 and then cut, and their mean."""
    top = float(log_odds.max())
    odds = np.exp(log_odds - top)
    mean = float(odds.mean())
    cut = np.clip(odds / mean, 1 / _WIDEST_RATIO, _WIDEST_RATIO)
    return cut / cut.mean(), float(np.exp(min(top, 50.0))) * mean


def compare_samples(reference: RowSample, target: RowSample) -> DomainComparison:
    """`compare_domains` of two samples of `domain_sample`; inside `compared_once` all who ask share the work."""
    shared = [name for name in FIELDS if name in reference.arrays and name in target.arrays]
    shared_reference, shared_target = reference.only(shared), target.only(shared)
    lock, cache = _comparisons.get() or (Lock(), {})
    key = (tuple(shared), shared_reference.seed, shared_reference.digest(), shared_target.digest())
    with lock:  # who comes second waits, and finds it done
        comparison = cache.get(key)
        if comparison is None:
            rows = (
                {n: s.arrays[n][coarse_order(s)] for n in shared}
                for s in (shared_reference, shared_target)
            )
            comparison = compare_domains(*representation(*rows))
            cache[key] = comparison
    weights = np.empty_like(comparison.weights)
    weights[coarse_order(shared_reference)] = comparison.weights
    return replace(comparison, weights=weights[reference.content_order])


def coarse_order(sample: RowSample) -> Array:
    """The content order to three decimals, and where rows are alike so far by their numbers: the last digits of
    probabilities deal no row into another fold.
    """
    flat = [np.asarray(a, dtype=np.float64).reshape(len(a), -1) for a in sample.arrays.values()]
    fine_order = np.argsort(
        sum(a @ np.cos(1.0 + np.arange(a.shape[1])) for a in flat), kind="stable"
    )
    coarse = [
        np.round(a.astype(np.float64), 3) if a.dtype.kind == "f" else a
        for a in sample.arrays.values()
    ]
    return fine_order[content_order(*(a[fine_order] for a in coarse), seed=sample.seed)]


@contextmanager
def compared_once() -> Iterator[None]:
    """Inside, the same two samples are compared once, however many methods ask."""
    token = _comparisons.set((Lock(), {}))
    try:
        yield
    finally:
        _comparisons.reset(token)


def effective_rows(weights: Array) -> float:
    """Effective sample size of Kish: (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


def check_overlap(effective: float, auc: float = 0.5, covered: float = 1.0) -> tuple[str, ...]:
    """Warnings about a poor overlap of the samples; `NotApplicable` below 30 effective rows or a tenth covered."""
    if covered < _LEAST_COVERED:
        share = f"the reference covers about {percent(covered, 0)} of the target"
        finding = f"a classifier tells them apart with an AUC of {auc:.3f}"
        raise NotApplicable(f"{share} ({finding}): the samples hardly overlap")
    if effective < _LEAST_EFFECTIVE:
        size = f"an effective sample size of {effective:.0f} is below {_LEAST_EFFECTIVE}"
        raise NotApplicable(f"{size}: the samples hardly overlap")
    out = []
    if effective < _FEW_EFFECTIVE:
        out.append(
            f"the effective sample size is {effective:.0f}: few reference rows resemble the target"
        )
    if covered < _HALF_COVERED:
        out.append(f"the reference covers about {percent(covered, 0)} of the target")
    if auc > _NO_OVERLAP:
        finding = f"a classifier tells target from reference with an AUC of {auc:.3f}: they do not overlap"
        out.append(f"{finding}, and no reweighting of the reference can stand for the target")
    return tuple(out)


def weighted_accuracy(
    weights: Array, verdicts: Array, rows: int, level: float
) -> tuple[float, float, float]:
    """v = sum w c / sum w over reference rows, with the ends of an interval for a target of ``rows`` rows."""
    total, effective = float(weights.sum()), effective_rows(weights)
    value = float(weights @ verdicts) / total
    variance = float(np.square(weights * (verdicts - value)).sum()) / total**2 + effective**-2.0
    variance += max(value * (1 - value), 0.0) / rows
    return value, *wilson_from_variance(value, variance, min(effective, rows), level)
