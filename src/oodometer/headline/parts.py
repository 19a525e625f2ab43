"""Parts of a target: each has its own estimate, and all share one correction, so that together they are the whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import NormalDist

import numpy as np

from ..arrays import Array
from ..intervals import normal_quantile
from ..results import Estimate, Interval, percent
from ..results.estimation import Headline
from ..results.values import counted
from .headline import Evidence
from .natural_shifts import WIDEST, NaturalShifts, ShiftSigns, saturated, spanning

# Fitted by `python -m benchmarks.natural.parts`, which prints them beside what is measured.
STRENGTH = 600.0  # reference rows of a part at which its own accuracy counts half, beside the estimate of these rows
HETEROGENEITY = 0.15  # standard deviation of what a shift does to a part alone, in units of m / (1 + m), m = moved
LEAST_MOVED = (
    0.1  # what a chunk takes of the correction of all even where it did not move, in the same units
)
TYPICAL = 0.4  # moved of a target whose outputs show nothing of it
_LEAST = 0.02  # of few reference rows, too
_STEPS = 60  # halvings of a bracket on the log-odds
_WIDEST = 60.0  # log-odds that no correction exceeds
# of the whole's distribution, in the middle of equal parts
_SHARES = np.linspace(0.0125, 0.9875, 40)
_STANDARD = NormalDist()


@dataclass(frozen=True)
class OwnRows:
    """The reference's own rows of a part: how many, how many of them are right, and what the estimate says of them."""

    rows: int
    correct: int
    estimate: float


@dataclass(frozen=True)
class SeenPart:
    """What is known of a part: its rows, its calibrated estimate, the standard error of that, which knows the chance in
    its rows, its own rows in the reference (None: there are none), and how far its outputs moved from those of what it
    is held against (None: unseen).
    """

    rows: int
    estimate: float
    error: float
    own: OwnRows | None = None
    moved: float | None = None

    def pooled(self, strength: float) -> tuple[float, float] | None:
        """Its accuracy on the reference, `pooled`; None where the reference has none of its rows."""
        return None if self.own is None or not self.own.rows else pooled(self.own, strength)

    def missed(self, strength: float) -> float:
        """What the estimate misses in its reference rows; in the part, it misses that, too."""
        accuracy_and_share = self.pooled(strength)
        if self.own is None or accuracy_and_share is None:
            return 0.0
        return accuracy_and_share[0] - self.own.estimate


@dataclass(frozen=True)
class SeenWhole:
    """What is said of the whole target.

    value : its headline. interval : its ends at a level. quantile : quantiles of its accuracy, shape of the shares.
    source, reference_rows : accuracy and rows of the reference. moved : how far its outputs moved, for parts of which
        that cannot be seen; None where it cannot either.
    """

    value: float
    interval: Callable[[float], tuple[float, float]]
    quantile: Callable[[Array], Array]
    source: float
    reference_rows: int
    moved: float | None


def seen_whole(
    value: float, signs: ShiftSigns, evidence: Evidence, prior: NaturalShifts
) -> SeenWhole:
    """What parts share of the headline ``value`` of a whole target, by the prior of natural shifts."""

    def interval(level: float) -> tuple[float, float]:
        span = spanning(value, prior.interval(signs, level), evidence, level)
        return span.lower, span.upper

    about = (signs.source, signs.reference_rows, signs.moved)
    return SeenWhole(value, interval, partial(prior.quantile, signs), *about)


@dataclass(frozen=True)
class Rest:
    """Reference rows of no part of the target, together: how many, and what the estimate says of them."""

    rows: int = 0
    estimate: float = 0.0


@dataclass(frozen=True)
class SharedPart:
    """A part as the whole has it: ``value``, and the accuracy of the ``reference`` that it is held against.

    shared : gives where the part would be at 40 equal steps of the whole's distribution, ascending, shape (step,).
    deviation : standard deviation of what is the part's own. share : how much its own reference rows count for
        themselves beside the estimate of them, from 0 to 1; None where the reference has none.
    ends : gives its shared ends at a level. still : its estimate if P(y | x) stood still, with its standard error.
    """

    value: float
    reference: float
    shared: Callable[[], Array]
    deviation: float
    share: float | None
    ends: Callable[[float], tuple[float, float]]
    still: SeenPart

    def interval(self, level: float) -> tuple[float, float]:
        """The central interval: the distance of the shared end and the part's own, as a root of squares."""
        lower, upper = self.ends(level)
        half = normal_quantile(level) * self.deviation
        low = self.value - math.hypot(max(self.value - lower, 0.0), half)
        high = self.value + math.hypot(max(upper - self.value, 0.0), half)
        return max(low, 0.0), min(high, 1.0)

    def unchanged(self, level: float) -> Interval:
        """Its accuracy if nothing changed but chance: that of its own reference rows."""
        half = normal_quantile(level) * self.still.error
        low, high = max(self.reference - half, 0.0), min(self.reference + half, 1.0)
        return Interval(self.reference, low, high, level, "conditional")

    def chance_below(self, accuracy: float, error: float = 0.0) -> float:
        """How likely the accuracy of the part lies below this one; ``error``: a further standard error."""
        if not 0 < accuracy < 1:
            return float(accuracy >= 1)
        spread = max(math.hypot(self.deviation, error), 1e-9)
        shared = self.shared()
        return sum(_STANDARD.cdf((accuracy - at) / spread) for at in shared.tolist()) / len(shared)

    def distribution(self, at: Array, error: float = 0.0) -> Array:
        """`chance_below` at accuracies from 0 to 1, brought to 0 and 1 at their ends; shape of ``at``."""
        from scipy.special import ndtr

        spread = max(math.hypot(self.deviation, error), 1e-9)
        below = ndtr((at[:, None] - self.shared()) / spread).mean(axis=1)
        return np.asarray((below - below[0]) / max(float(below[-1] - below[0]), 1e-300))


def corrected(
    estimates: Array,
    rows: Array,
    wholes: Sequence[float] | Array,
    least: float = 1e-4,
    amounts: Array | None = None,
) -> Array:
    """Estimates (part,) moved by one amount on the log-odds, so that their mean, weighted by rows, is the whole; for
    each of several wholes, shape (whole, part). ``amounts`` (part,): in proportion to these positive numbers instead.

    Estimates are first brought into [least, 1 - least]: nothing that was estimated is known to be 0 or 1.

    >>> corrected(np.array([0.9, 0.6]), np.array([100, 100]), [0.7, 0.75]).round(3).tolist()
    [[0.871, 0.529], [0.9, 0.6]]
    """
    goals = np.clip(np.asarray(wholes, dtype=np.float64), 0.0, 1.0)
    weights = rows / rows.sum()
    clipped = np.clip(estimates, least, 1 - least)
    odds = np.log(clipped / (1 - clipped))
    each = np.ones(len(estimates)) if amounts is None else amounts / (weights @ amounts)
    low, high = np.full(len(goals), -_WIDEST), np.full(len(goals), _WIDEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = _accuracy(odds + middle[:, None] * each) @ weights < goals
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _accuracy(odds + ((low + high) / 2)[:, None] * each)


def _accuracy(odds: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))


def pooled(own_rows: OwnRows, strength: float = STRENGTH) -> tuple[float, float]:
    """The accuracy of a part on the reference, and how much its own rows count: with n rows n / (n + 600).

    The rest is what the calibrated estimate says of these rows, which is the reference as a whole, seen through the
    confidence that the part has.

    >>> pooled(OwnRows(rows=600, correct=300, estimate=0.75))
    (0.625, 0.5)
    """
    share = own_rows.rows / (own_rows.rows + strength)
    return own_rows.estimate + share * (own_rows.correct / own_rows.rows - own_rows.estimate), share


def share_correction(
    whole: SeenWhole,
    parts: Sequence[SeenPart],
    *,
    like_reference: bool = False,
    rest: Rest | None = None,
    strength: float = STRENGTH,
    heterogeneity: float = HETEROGENEITY,
    least_moved: float = LEAST_MOVED,
) -> list[SharedPart]:
    """Each part by its own estimate and one correction that all share, with an interval that is measured for parts.

    With a_g the calibrated estimate of part g, as far as the reference has rows of the part moved by what it misses
    there (`pooled`), and H the headline of the whole, the value is v_g = a_g + c on the log-odds, with the one c for
    which sum_g rows_g v_g = rows H. What is not known of the correction is what is not known of the whole: at its ends
    the parts are where c puts them for these. What is the part's own has the variance

        error_g^2 + (1 - share_g) s (1 - s) / STRENGTH + (HETEROGENEITY m / (1 + m))^2,    m = moved_g,

    with s the accuracy of the reference: the second for what the estimate misses in a part, of which its own rows tell
    some, the last for shifts that strike parts differently, of which nothing is left where nothing moved. A part is
    held against its own reference rows, pooled alike; without any, against the reference as a whole, of the composition
    that the estimate says.

    With ``like_reference`` parts are chunks of time. They are held against the reference as it is, and take of the
    correction in proportion to m / (1 + m) + LEAST_MOVED: what came over the others later is no matter of a chunk that
    did not move; of the second term they have nothing. (Slices take equal amounts: in them as much of the correction
    is due where nothing is seen.)

    Source: `benchmarks/natural/parts.py`; shrinkage after Efron and Morris (1975).

    >>> still = SeenWhole(0.8, lambda level: (0.78, 0.82), lambda p: 0.8 + 0.02 * (p - 0.5), 0.8, 2000, 0.0)
    >>> easy, hard = share_correction(still, [SeenPart(100, 0.95, 0.02), SeenPart(100, 0.65, 0.05)])
    >>> round(easy.value, 2), round(hard.value, 2), round(easy.reference, 2)
    (0.95, 0.65, 0.95)
    """
    rows = np.array([part.rows for part in parts], dtype=np.float64)
    floor = min(0.5 / (whole.reference_rows + 1), _LEAST)
    pooled_parts = [part.pooled(strength) for part in parts]
    missed = [part.missed(strength) for part in parts]
    typical = TYPICAL if whole.moved is None else whole.moved
    moved = np.array([saturated(typical if part.moved is None else part.moved) for part in parts])
    amounts = moved + least_moved if like_reference else None
    estimates = np.clip(np.array([part.estimate for part in parts]) + np.array(missed), 0.0, 1.0)
    correction = _Correction(whole, estimates, rows, floor, amounts)
    values, composed = correction.at([whole.value, whole.source])
    references = _references(whole, parts, pooled_parts, composed, like_reference, rest, floor)
    # what shrinks own rows as if ``strength`` rows stood beside them: the spread of what the estimate misses
    rate = min(max(whole.source, floor), 1 - floor)
    # chunks of time are mixed as the reference is, where nothing moved
    missed_in_parts = 0.0 if like_reference else math.sqrt(rate * (1 - rate) / strength)
    out = []
    for i, (part, pooled_part) in enumerate(zip(parts, pooled_parts, strict=True)):
        share = None if pooled_part is None else pooled_part[1]
        missing = missed_in_parts * math.sqrt(1 - (share or 0.0))
        unchanged = replace(
            part, estimate=float(estimates[i]), error=math.hypot(part.error, missing)
        )
        deviation = math.hypot(unchanged.error, heterogeneity * float(moved[i]))
        out.append(
            SharedPart(
                float(values[i]),
                references[i],
                partial(correction.steps_of, i),
                deviation,
                share,
                partial(correction.ends_of, i),
                unchanged,
            )
        )
    return out


@dataclass(frozen=True, eq=False)
class _Correction:
    """The correction that parts share: where it puts them for an accuracy of the whole, worked out once it is asked."""

    whole: SeenWhole
    estimates: Array
    rows: Array
    floor: float
    amounts: Array | None
    _ends: dict[float, Array] = field(default_factory=dict)

    def at(self, accuracies: Sequence[float] | Array) -> Array:
        """The parts for each of several accuracies of the whole, (accuracy, part)."""
        return corrected(self.estimates, self.rows, accuracies, self.floor, self.amounts)

    @cached_property
    def _steps(self) -> Array:
        return np.asarray(np.sort(self.at(self.whole.quantile(_SHARES)), axis=0))

    def steps_of(self, part: int) -> Array:
        """A part at even shares of what is not known of the whole."""
        return np.asarray(self._steps[:, part])

    def ends_of(self, part: int, level: float) -> tuple[float, float]:
        """A part at the ends of the whole's interval."""
        if level not in self._ends:
            self._ends[level] = self.at(self.whole.interval(level))
        low, high = self._ends[level]
        return float(low[part]), float(high[part])


def _references(
    whole: SeenWhole,
    parts: Sequence[SeenPart],
    pooled_parts: Sequence[tuple[float, float] | None],
    composed: Array,
    like_reference: bool,
    rest: Rest | None,
    floor: float,
) -> list[float]:
    """What each part is held against: its own reference rows, so that all of them together are the reference."""
    if like_reference:
        return [whole.source] * len(parts)
    rest = Rest() if rest is None else rest
    own_references = [
        (part.own.rows, pooled_part[0])
        for part, pooled_part in zip(parts, pooled_parts, strict=True)
        if part.own and pooled_part is not None
    ]
    several = [*own_references, *([(rest.rows, rest.estimate)] if rest.rows else [])]
    values: Iterator[float] = iter(())
    if several:
        counts, estimates = (
            np.array(column, dtype=np.float64) for column in zip(*several, strict=True)
        )
        values = iter(corrected(estimates, counts, [whole.source], floor)[0].tolist())
    return [
        float(composed[i]) if pooled_part is None else next(values)
        for i, pooled_part in enumerate(pooled_parts)
    ]


# distance of the band of nine in ten up to which a part may have the trust of the whole
_HIGH = 0.035
_PREFERRED = ("cbpe", "im", "doc", "ac")  # own estimates of parts, the first that all parts have


def own_method(by_part: Sequence[Sequence[Estimate]]) -> str | None:
    """The method whose estimates parts start from: a calibrated one that asks for P(y | x) alone, else what is there.

    Methods of label shift come last: in parts, which always differ in composition, they see shifts that there are not.
    """
    from ..registry import known

    shared = [
        name
        for name in (e.method for e in by_part[0])
        if all(name in {e.method for e in estimates} for estimates in by_part)
    ]

    def priority(name: str) -> tuple[int, int]:
        cls = known("estimator", name.partition(":")[0])
        if cls is None:
            return 4, 0
        traits = cls.traits
        if name in _PREFERRED:
            return 0, _PREFERRED.index(name)
        if name == "source":
            return 3, 0
        if traits.stable == "P(x | y)":
            return 5, traits.order
        return (1 if traits.stable else 2), traits.order

    return min(shared, key=priority, default=None)


def part_headline(
    part: SharedPart, own_estimate: Estimate, whole: Headline, level: float, error: float = 0.0
) -> Headline:
    """The headline of a part; trust is that of the whole at most. ``error``: of dependent rows, as trust sees it."""
    interval = Interval(part.value, *part.interval(level), level, "empirical")
    still = part.still
    half = normal_quantile(level) * still.error
    stood = (max(still.estimate - half, 0.0), min(still.estimate + half, 1.0))
    nine = part.interval(0.9)
    bands = {
        "unchanged": Interval(still.estimate, *stood, level, own_estimate.kind),
        "half": Interval(part.value, *part.interval(0.5), 0.5, "empirical"),
        "nine_in_ten": Interval(part.value, *nine, 0.9, "empirical"),
    }
    wider = normal_quantile(0.9) * error
    reach = math.hypot(max(part.value - nine[0], nine[1] - part.value), wider)
    trust = whole.trust if reach <= _HIGH or whole.trust != "high" else "low"
    why = (
        f"{own_estimate.method} of its own rows, {percent(own_estimate.value)}, and the "
        "correction that all parts share; in 9 of 10 such "
    )
    why += (
        f"parts of public cases the truth is expected within {counted(round(100 * reach), 'point')}"
    )
    if nine[1] - nine[0] > WIDEST:
        trust = "none"
        why += (
            "; that is more than half of all accuracies: label some target rows (`oodometer audit`)"
        )
    method = f"{own_estimate.method}, with the correction of the whole"
    return Headline(interval, method, whole.assumes, trust, why, bands)
