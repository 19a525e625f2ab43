"""DiSCA: how well confidence alone tells when a model must not answer; DiDMA and NiDMA, which build on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable, UsageError
from ..registry import register
from ..results import plain
from .base import Measure, checked_pair, measure
from .ranks import Groups, RankMetric, Ranks
from .resampling import (
    FEW_ROWS,
    MOST_BINS,
    REPLICATES,
    Points,
    RankBins,
    interval_of,
    rank_bins,
    resampled,
)

if TYPE_CHECKING:
    from jaxtyping import Float


def computation_score(
    *,
    energy: float | None = None,
    parameters: float | None = None,
    optimal_parameters: float | None = None,
) -> float:
    """1 / energy, or optimal parameters / parameters; more is better, and nothing bounds it from above.

    ``energy`` in any unit, the same for all models that are compared; the unit sets how much the score weighs, so
    choose one in which the models are near 1. ``optimal_parameters``: as many as the device runs well.

    Raises `UsageError` unless exactly one form is given, with values above 0. Source: Mishra, Arunkumar and Baral
    (2022); Henderson et al. (2020) for how to measure the energy.

    >>> computation_score(energy=4.0), computation_score(parameters=2e6, optimal_parameters=1e6)
    (0.25, 0.5)
    """
    if (energy is None) == (parameters is None):
        raise UsageError("give either the energy of a model or its number of parameters")
    if energy is None and optimal_parameters is None:
        raise UsageError(
            "a score by parameters needs the optimal number of parameters for the device"
        )
    costs = {"energy": energy, "optimal parameters": optimal_parameters, "parameters": parameters}
    for name, value in costs.items():
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"expected {name} above 0, got {value:g}")
    return 1 / energy if energy is not None else present(optimal_parameters) / present(parameters)


def didma(disca: float, computation: float, weights: Sequence[float] = (0.5, 0.5)) -> float:
    """DiDMA = p DiSCA + q computation, p + q = 1.

    ``disca`` from `disca`, ``computation`` from `computation_score`. Raises `UsageError` for weights that do not sum
    to 1. Source: Mishra, Arunkumar and Baral (2022).

    >>> round(didma(0.7, 0.5, weights=(0.75, 0.25)), 3)
    0.65
    """
    p, q = check_weights("p and q", weights)
    return p * disca + q * computation


def check_weights(names: str, weights: Sequence[float], slack: float = 1e-6) -> tuple[float, ...]:
    """Weights that are not negative and sum to 1; `UsageError` otherwise."""
    numbers, count = tuple(float(w) for w in weights), "three" if "," in names else "two"
    if (
        len(numbers) != ("two", "three").index(count) + 2
        or not min(numbers) >= 0
        or abs(sum(numbers) - 1) > slack
    ):
        raise UsageError(
            f"expected {count} weights {names} that sum to 1, got {', '.join(f'{w:g}' for w in numbers)}"
        )
    return numbers


GRIDS = ("coverage", "samples", "thresholds")
TOLERANCES = (0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.65, 0.60, 0.55)  # those of the paper's Table 2
WEIGHTS = (1 / 3, 1 / 3, 1 / 3)
STEPS = 100
LEAST = 1e-150  # a confidence whose inverse, and its square, are still numbers
_FLOOR = 0.001  # of confidence; the paper's floor


@dataclass(frozen=True)
class Disca:
    """The score and its parts.

    value : x / a + y / b - z penalty.
    a : confidence where accuracy first drops below 1.
    b : confidence where it first drops below ``tolerance``.
    fluctuations : how often accuracy rises with coverage.
    penalty : their weighted mean size.
    tolerance : the accuracy that defines b.
    weights : x, y, z.
    a_coverage, b_coverage, b_accuracy : where on the curve a and b are.
    never_wrong, never_below : whether a (b) is the lowest confidence because accuracy never drops so far.
    """

    value: float
    a: float
    b: float
    fluctuations: int
    penalty: float
    tolerance: float
    weights: tuple[float, float, float]
    a_coverage: float
    b_coverage: float
    b_accuracy: float
    never_wrong: bool
    never_below: bool


@dataclass(frozen=True, eq=False)
class Terms:
    """Parts of the score for each replicate, and for each tolerance where b enters."""

    a: Float[Array, " replicate"]
    b: Float[Array, "replicate tolerance"]
    fluctuations: Float[Array, " replicate"]
    penalty: Float[Array, " replicate"]
    a_at: Array
    b_at: Array
    never_wrong: Array
    never_below: Array
    points: Points

    def values(self, weights: tuple[float, float, float]) -> Float[Array, "replicate tolerance"]:
        """The score; NaN where a or b is not above 0."""
        x, y, z = weights
        with np.errstate(all="ignore"):
            score = x / self.a[:, None] + y / self.b - z * self.penalty[:, None]
        return np.where((self.a[:, None] > LEAST) & (self.b > LEAST), score, np.nan)


def disca(
    confidence: Any,
    correct: Any,
    *,
    tolerance: float = 0.95,
    weights: Sequence[float] = WEIGHTS,
    grid: str = "coverage",
    steps: int = STEPS,
) -> Disca:
    """DiSCA = x / a + y / b - z sum_i (n - i + 1) (d2 - d1)_i / max(c1 - c2, 0.001) / sum_i (n - i + 1).

    The most confident samples are answered first. a is the confidence at which the accuracy of the answered first
    drops below 1, b that at which it first drops below ``tolerance`` (1.00 to 0.50); each is the lowest confidence
    where that never happens. The sum runs over the n places, in order of coverage, where accuracy rises from d1 to d2
    between neighbouring points of the grid whose confidences are c1 >= c2. ``weights`` are x, y, z and sum to 1.
    ``grid``: "coverage", ``steps`` (100) equal steps of coverage; "samples", every distinct confidence; "thresholds",
    equal steps of confidence from 1 down to 0; the paper does not state its grid, and the score depends on it. Ties
    count in expectation over their order.

    ``confidence`` of shape (sample,), in (0, 1]; ``correct``, booleans or 0/1, of the same shape. Raises
    `InputError` for values that are no confidences, `UsageError` for options out of range, `NotApplicable` where a
    or b is 0, since 1 / 0 is no number. Source: Mishra, Arunkumar and Baral (2022).

    >>> d = disca([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], tolerance=0.6, grid="samples")
    >>> d.a, d.b, d.fluctuations, round(d.penalty, 4)  # accuracy 1, 1/2, 2/3, 1/2; the rise: (2/3 - 1/2) / 0.1
    (0.8, 0.8, 1, 1.6667)
    >>> round(d.value, 4)  # (1/0.8 + 1/0.8 - 1.6667) / 3
    0.2778
    """
    table = disca_by_tolerance(
        confidence, correct, tolerances=(tolerance,), weights=weights, grid=grid, steps=steps
    )
    return table[tolerance]


def disca_by_tolerance(
    confidence: Any,
    correct: Any,
    *,
    tolerances: Sequence[float] = TOLERANCES,
    weights: Sequence[float] = WEIGHTS,
    grid: str = "coverage",
    steps: int = STEPS,
) -> dict[float, Disca]:
    """`disca` at several tolerances in one pass over the curve; tolerance -> score.

    tolerances : accuracies from 0.5 to 1, by default those of the paper's Table 2.

    The others, ``confidence``, ``correct``, ``weights``, ``grid`` and ``steps``, and errors are as in `disca`.

    >>> found = disca_by_tolerance([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], tolerances=(0.9, 0.6), grid="samples")
    >>> {tolerance: round(score.value, 4) for tolerance, score in found.items()}
    {0.9: 0.2778, 0.6: 0.2778}
    """
    options = check_options(tolerances, weights, grid, steps)
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    terms = disca_terms(rank_bins(groups), grid, steps, tolerances)
    check_defined(terms, groups)
    return {t: parts_of(terms, i, t, options) for i, t in enumerate(tolerances)}


def disca_terms(bins: RankBins, grid: str, steps: int, tolerances: Sequence[float]) -> Terms:
    """The parts of the score on cells of ranks, replicate by replicate."""
    if grid == "samples":
        points = bins.ends
    elif grid == "thresholds":
        points = bins.at_confidences((np.arange(steps - 1, -1, -1) / steps).astype(bins.high.dtype))
    else:
        points = bins.at_coverages(np.arange(1, steps + 1) / steps)
    accuracy, confidence = points.accuracy, points.confidence
    last = bins.at_ranks(bins.rows[:, None]).confidence[:, 0]
    erred = points.wrong > bins.least_error
    a, a_at, never_wrong = _first(erred, confidence, last)
    firsts = [
        _first(erred if t >= 1 else accuracy < t - 1e-12, confidence, last) for t in tolerances
    ]
    b, b_at, never_below = (np.stack(parts, axis=1) for parts in zip(*firsts, strict=True))
    rise = np.diff(accuracy, axis=1)
    up = np.flatnonzero(rise > 1e-12)  # places of all replicates in one line
    replicate = up // rise.shape[1]
    count = np.bincount(replicate, minlength=len(rise)).astype(np.float64)
    # the early rises weigh most: n for the first, 1 for the last
    weight = np.cumsum(count)[replicate] - np.arange(len(up))
    at = up + replicate  # in the line of points, which has one more for each replicate
    line = confidence.ravel()
    step = np.maximum(line[at] - line[at + 1], _FLOOR)
    total = np.bincount(replicate, weights=weight * rise.ravel()[up] / step, minlength=len(rise))
    penalty: Array = total / np.maximum(count * (count + 1) / 2, 1)
    return Terms(a, b, count, penalty, a_at, b_at, never_wrong, never_below, points)


def _first(below: Array, confidence: Array, last: Array) -> tuple[Array, Array, Array]:
    """Confidence and number of the first point that is below, or the lowest confidence and the last point."""
    at, never = below.argmax(axis=1), ~below.any(axis=1)
    at = np.where(never, below.shape[1] - 1, at)
    value = np.take_along_axis(confidence, at[:, None], axis=1)[:, 0].astype(np.float64)
    return np.where(never, last, value), np.asarray(at), np.asarray(never)


def check_options(
    tolerances: Sequence[float], weights: Sequence[float], grid: str, steps: int
) -> tuple[float, float, float]:
    """The weights, after a look at all options; `UsageError` where one is out of range."""
    if grid not in GRIDS:
        raise UsageError(f"unknown grid {grid!r}; expected coverage, samples or thresholds")
    if steps < 2:
        raise UsageError(f"expected at least 2 steps of the grid, got {steps}; 100 is usual")
    for tolerance in tolerances:
        if not 0.5 <= tolerance <= 1:
            raise UsageError(
                f"expected a tolerance from 0.5 to 1, an accuracy, got {tolerance}; 0.95 is usual"
            )
    x, y, z = check_weights("x, y, z", weights, 0.0101)
    return x, y, z


def check_defined(terms: Terms, groups: Groups) -> None:
    """`NotApplicable` where the order is none of confidences, or where a or b is 0."""
    if groups.highest[0] > 1 or groups.lowest[-1] < 0:
        raise NotApplicable(
            "needs an ordering in (0, 1], such as a probability; this score leaves it"
        )
    for name, value in (("a", terms.a[0]), ("b", terms.b[0].min())):
        if not value > LEAST:
            why = f"{name}, a confidence, is {value:g}; it needs to be above {LEAST:g}"
            raise NotApplicable(f"1/{name} is undefined: {why}")


def parts_of(terms: Terms, i: int, tolerance: float, weights: tuple[float, float, float]) -> Disca:
    """The score and its parts in the first replicate, at the i-th tolerance of the terms."""
    points, a_at, b_at = terms.points, int(terms.a_at[0]), int(terms.b_at[0, i])
    a_coverage, b_coverage = (
        float(points.answered[0, at] / points.answered[0, -1]) for at in (a_at, b_at)
    )
    value, a, b = float(terms.values(weights)[0, i]), float(terms.a[0]), float(terms.b[0, i])
    rises = int(terms.fluctuations[0])
    penalty = float(terms.penalty[0])
    accuracy = float(points.accuracy[0, b_at])
    never = bool(terms.never_wrong[0]), bool(terms.never_below[0, i])
    return Disca(
        value, a, b, rises, penalty, tolerance, weights, a_coverage, b_coverage, accuracy, *never
    )


_SHOWN = (1.0, *TOLERANCES, 0.5)
_WORK = 4_000_000  # cells times replicates where every sample is a point of the grid


@register("metric")
class DiscaScore(RankMetric[Measure]):
    """DiSCA (see `disca`) with its parts as extras, at tolerances 1.00, 0.95, ..., 0.50 and on the other grids.

    The interval comes from a seeded bootstrap and is empirical, of samples of the same size, since a first error is met
    sooner in a larger sample. Larger is better, but only among models on one scale of confidence: 1 / a and 1 / b grow
    as confidences shrink. Source: Mishra, Arunkumar and Baral (2022).

    >>> from oodometer import Predictions
    >>> r = Predictions.from_confidence([0.9, 0.8, 0.7, 0.6], correct=[1, 0, 1, 0])
    >>> round(DiscaScore(tolerance=0.6).compute(r).value, 4)
    0.2778
    """

    name = "disca"
    bigger_is_better = True
    citation = "mishra2022"
    bounds = (-np.inf, np.inf)

    def __init__(
        self,
        tolerance: float = 0.95,
        weights: Sequence[float] = WEIGHTS,
        grid: str = "coverage",
        steps: int = STEPS,
    ) -> None:
        self.weights = check_options((tolerance,), weights, grid, steps)
        self.tolerance, self.grid, self.steps = tolerance, grid, steps

    def _finish(self, state: Ranks, level: float, seed: int) -> Measure:
        groups = state.groups
        tolerances, (x, y, z) = (self.tolerance, *_SHOWN), self.weights
        bins = rank_bins(groups)
        terms = disca_terms(bins, self.grid, self.steps, tolerances)
        check_defined(terms, groups)
        size = (MOST_BINS, REPLICATES)
        if self.grid == "samples":  # every sample is a point of it, so that no samples are joined
            group_count = len(groups.answered)
            size = (max(group_count, MOST_BINS), int(np.clip(_WORK // group_count, 20, REPLICATES)))
        again = disca_terms(resampled(groups, seed, *size), self.grid, self.steps, tolerances)
        values, draws = terms.values(self.weights)[0], again.values(self.weights)
        ends = [interval_of(float(v), d, level) for v, d in zip(values, draws.T, strict=True)]
        lasts = bins.at_ranks(np.array([[max(groups.rows - 4, 1), groups.rows]])).confidence[0]
        higher, lowest = float(lasts[0]), float(lasts[1])
        # moved out where the lowest confidence stands for a or b
        for i, (low, high) in enumerate(ends):
            if share := x * terms.never_wrong[0] + y * terms.never_below[0, i]:
                margin = share * (higher / lowest - 1)
                ends[i] = (low - margin / higher, high + margin / lowest)
        if groups.rows < FEW_ROWS:
            # resampling shows little: downwards a = b = 1 and only the surest row is wrong; upwards nothing is wrong
            # and the lowest confidence is half of the one seen
            ones = np.ones((1, len(groups.answered)))
            surest = RankBins(groups.answered[None], ones, groups.highest, groups.lowest, False)
            cost = z * float(disca_terms(surest, self.grid, self.steps, (1.0,)).penalty[0])
            ceiling = 2 * (x + y) / max(float(groups.lowest[groups.lowest > 0][-1]), LEAST)
            ends = [(min(low, x + y - cost), max(high, ceiling)) for low, high in ends]
        parts = parts_of(terms, 0, self.tolerance, self.weights)
        other_grids = set(GRIDS) - {self.grid}
        return measure(
            parts.value,
            ends[0],
            level,
            "empirical",
            **{name: value for name, value in vars(parts).items() if name != "value"},
            grid=self.grid,
            steps=self.steps,
            terms={"first": x / parts.a, "second": y / parts.b, "third": -z * parts.penalty},
            intervals=_intervals(parts, again, level),
            by_tolerance=[
                _row_of(parts_of(terms, i, tolerance, self.weights), ends[i])
                for i, tolerance in enumerate(_SHOWN, 1)
            ],
            by_grid=dict.fromkeys(GRIDS, parts.value)
            | {grid: self._on_grid(grid, bins) for grid in other_grids},
        )

    def _on_grid(self, grid: str, bins: RankBins) -> Any:
        """The score on another grid."""
        terms = disca_terms(bins, grid, self.steps, (self.tolerance,))
        return plain(float(terms.values(self.weights)[0, 0]))


def _intervals(parts: Disca, again: Terms, level: float) -> dict[str, tuple[float, float]]:
    """Intervals of the parts of a score, from replicates."""
    a, b, fluctuations, penalty = (
        interval_of(value, draws, level)
        for value, draws in (
            (parts.a, again.a),
            (parts.b, again.b[:, 0]),
            (parts.fluctuations, again.fluctuations),
            (parts.penalty, again.penalty),
        )
    )
    return {  # confidences are never above 1
        "a": (a[0], min(a[1], 1.0)),
        "b": (b[0], min(b[1], 1.0)),
        "fluctuations": fluctuations,
        "penalty": penalty,
    }


def _row_of(part: Disca, ends: tuple[float, float]) -> dict[str, Any]:
    """The score at one tolerance."""
    return {
        "tolerance": part.tolerance,
        "value": part.value,
        "b": part.b,
        "coverage": part.b_coverage,
        "accuracy": part.b_accuracy,
        "never_below": part.never_below,
        "lower": ends[0],
        "upper": ends[1],
    }


def nidma(didma: float, disca_out_of_domain: float, weights: Sequence[float] = (0.5, 0.5)) -> float:
    """NiDMA = u DiDMA + v DiSCA(out of domain), u + v = 1.

    ``didma`` from `didma`, ``disca_out_of_domain`` from `disca` on data of another domain. Raises `UsageError` for
    weights that do not sum to 1. Source: Mishra, Arunkumar and Baral (2022).

    >>> round(nidma(0.65, 0.45), 3)
    0.55
    """
    u, v = check_weights("u and v", weights)
    return u * didma + v * disca_out_of_domain
