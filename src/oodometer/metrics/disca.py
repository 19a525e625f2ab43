"""DiSCA (Deployment in Safety Critical Applications): how well confidence alone tells when a model must not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from .base import checked_pair
from .groups import Groups
from .ranks import Ranks
from .resampling import Points, RankBins, rank_bins

if TYPE_CHECKING:
    from jaxtyping import Float


GRIDS = ("coverage", "samples", "thresholds")
TOLERANCES = (0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.65, 0.60, 0.55)  # those of the paper's Table 2
WEIGHTS = (1 / 3, 1 / 3, 1 / 3)
STEPS = 100
LEAST = 1e-150  # a confidence whose inverse, and its square, are still numbers
_FLOOR = 0.001  # of confidence; the paper's floor


@dataclass(frozen=True)
class Disca:
    """The score and its parts.

    value : x / a + y / b - z penalty. a : confidence where accuracy first drops below 1. b : confidence where it
    first drops below ``tolerance``. fluctuations : how often accuracy rises with coverage. penalty : their weighted
    mean size. a_coverage, b_coverage, b_accuracy : where on the curve a and b are; never_wrong,
    never_below : whether a (b) is the lowest confidence because accuracy never drops so far.
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
            found = x / self.a[:, None] + y / self.b - z * self.penalty[:, None]
        out: Array = np.where((self.a[:, None] > LEAST) & (self.b > LEAST), found, np.nan)
        return out


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
    of all where that never happens, so a model that is never wrong has a = b = its lowest confidence. The sum runs
    over the n places, in order of coverage, where accuracy rises from d1 to d2 between neighbouring points of the
    grid whose confidences are c1 >= c2; for n = 0 it is 0. ``weights`` are x, y, z and sum to 1.

    ``grid``: "coverage", ``steps`` (100) equal steps of coverage; "samples", every distinct confidence;
    "thresholds", equal steps of confidence from 1 down to 0. The paper does not state its grid, and the score
    depends on it. Ties count in expectation over their order.

    ``confidence`` of shape (sample,), in (0, 1]; ``correct``, booleans or 0/1, of the same shape. Raises
    `InputError` for values that are no confidences, `UsageError` for options out of range, `NotApplicable` where a
    or b is 0, since 1 / 0 is no number. Source: Mishra, Arunkumar and Baral (2022).

    >>> d = disca([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], tolerance=0.6, grid="samples")
    >>> d.a, d.b, d.fluctuations, round(d.penalty, 4)  # accuracy 1, 1/2, 2/3, 1/2; the rise: (2/3 - 1/2) / 0.1
    (0.8, 0.8, 1, 1.6667)
    >>> round(d.value, 4)  # (1/0.8 + 1/0.8 - 1.6667) / 3
    0.2778
    """
    terms, options = _checked(confidence, correct, (tolerance,), weights, grid, steps)
    return parts_of(terms, 0, tolerance, options)


def disca_by_tolerance(
    confidence: Any,
    correct: Any,
    *,
    tolerances: Sequence[float] = TOLERANCES,
    weights: Sequence[float] = WEIGHTS,
    grid: str = "coverage",
    steps: int = STEPS,
) -> dict[float, Disca]:
    """`disca` at several tolerances in one pass over the curve, by default those of the paper's Table 2.

    >>> table = disca_by_tolerance([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], grid="samples")
    >>> [round(table[t].b, 1) for t in (0.95, 0.55)]
    [0.8, 0.8]
    """
    terms, options = _checked(confidence, correct, tuple(tolerances), weights, grid, steps)
    return {t: parts_of(terms, i, t, options) for i, t in enumerate(tolerances)}


def disca_terms(bins: RankBins, grid: str, steps: int, tolerances: Sequence[float]) -> Terms:
    """The parts of the score on cells of ranks, replicate by replicate."""
    points = _on_grid(bins, grid, steps)
    accuracy, confidence = points.accuracy, points.confidence
    last = bins.at_ranks(bins.rows[:, None]).confidence[:, 0]
    erred = points.wrong > bins.least_error
    a, a_at, never_wrong = _first(erred, confidence, last)
    found = [_first(erred if t >= 1 else accuracy < t - 1e-12, confidence, last) for t in tolerances]
    b, b_at, never_below = (np.stack(parts, axis=1) for parts in zip(*found, strict=True))
    fluctuations, penalty = _fluctuations(accuracy, confidence)
    return Terms(a, b, fluctuations, penalty, a_at, b_at, never_wrong, never_below, points)


def _fluctuations(accuracy: Array, confidence: Array) -> tuple[Array, Array]:
    """How often accuracy rises from point to point, and the penalty for it; both of shape (replicate,)."""
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
    return count, penalty


def _on_grid(bins: RankBins, grid: str, steps: int) -> Points:
    if grid == "samples":
        return bins.ends
    if grid == "thresholds":
        return bins.at_confidences((np.arange(steps - 1, -1, -1) / steps).astype(bins.high.dtype))
    return bins.at_coverages(np.arange(1, steps + 1) / steps)


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
            raise UsageError(f"expected a tolerance from 0.5 to 1, an accuracy, got {tolerance}; 0.95 is usual")
    given = tuple(float(w) for w in weights)
    if len(given) != 3 or not min(given) >= 0 or abs(sum(given) - 1) > 0.0101:
        raise UsageError(f"expected three weights x, y, z that sum to 1, got {', '.join(f'{w:g}' for w in given)}")
    return given[0], given[1], given[2]


def _checked(
    confidence: Any,
    correct: Any,
    tolerances: tuple[float, ...],
    weights: Sequence[float],
    grid: str,
    steps: int,
) -> tuple[Terms, tuple[float, float, float]]:
    options = check_options(tolerances, weights, grid, steps)
    groups = Ranks.of(*checked_pair(confidence, correct)).groups
    terms = disca_terms(rank_bins(groups), grid, steps, tolerances)
    check_defined(terms, groups)
    return terms, options


def check_defined(terms: Terms, groups: Groups) -> None:
    """`NotApplicable` where the order is none of confidences, or where a or b is 0."""
    if groups.highest[0] > 1 or groups.lowest[-1] < 0:
        raise NotApplicable("needs an ordering in (0, 1], such as a probability; this score leaves it")
    for name, value in (("a", terms.a[0]), ("b", terms.b[0].min())):
        if not value > LEAST:
            raise NotApplicable(
                f"1/{name} is undefined: {name}, a confidence, is {value:g}; it needs to be above {LEAST:g}"
            )


def parts_of(terms: Terms, i: int, tolerance: float, weights: tuple[float, float, float]) -> Disca:
    """The score and its parts in the first replicate, at the i-th tolerance of the terms."""
    points, a_at, b_at = terms.points, int(terms.a_at[0]), int(terms.b_at[0, i])
    rows = points.answered[0, -1]
    return Disca(
        value=float(terms.values(weights)[0, i]),
        a=float(terms.a[0]),
        b=float(terms.b[0, i]),
        fluctuations=int(terms.fluctuations[0]),
        penalty=float(terms.penalty[0]),
        tolerance=tolerance,
        weights=weights,
        a_coverage=float(points.answered[0, a_at] / rows),
        b_coverage=float(points.answered[0, b_at] / rows),
        b_accuracy=float(points.accuracy[0, b_at]),
        never_wrong=bool(terms.never_wrong[0]),
        never_below=bool(terms.never_below[0, i]),
    )
