"""Own history: periods whose labels came in tell how far what is said without labels errs, and to which side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..arrays import Array
from ..audits.judge import EVEN
from ..intervals import normal_quantile
from ..results import Estimate, Interval, percent
from ..results.estimation import Headline, HistoryUsed
from ..results.values import counted
from .natural_shifts import WIDEST, NaturalShifts, ShiftSigns, under_covariate_shift

# Periods with labels of their own; periods, and groups such as sites, that were left out of the reference.
Kind = Literal["late labels", "inside the reference", "groups of the reference"]

# Of the readings: accuracy that public shifts lead to expect, that if only the inputs changed, that of the reference.
PUBLIC, INPUTS, REFERENCE = "public shifts", "inputs alone", "reference accuracy"

# of residuals, in units of `Reading.scale`
_SCALES = np.exp(np.linspace(math.log(0.03), math.log(4.0), 24))
# standard deviation of a step of the level per period, of the scale -> chance
_DRIFTS = {
    0.0: 0.5,
    0.3: 0.3,
    1.0: 0.2,
}
_SHAPE, _RATE = 2.0, 0.06  # of the inverse gamma distribution of the squared scale
_LEVEL = 0.3  # rows of this many periods stand behind the level 0 at first
_NOISE = 0.7  # of the binomial variance of the accuracy of a period's rows, given what the model says of them
_PUBLIC_SHARE = 0.01  # of the distribution by public shifts, where nothing is unlike the past
_PUBLIC_SHARE_INSIDE = 0.05  # where no late label was seen
_MOST_PUBLIC = 0.6
# how fast that share grows once a sign is 1.25 times as large as ever before
_GUARD, _BEYOND = (
    0.3,
    1.25,
)
_LEAST_MOVED, _LEAST_WIDTH = 0.1, 0.02  # smaller signs are noise
_HALF_OF_BAND = 0.6 * 2 * normal_quantile(0.9)
_LEAST_SCALE = 0.05
_LATER = 1.2  # residuals of later periods, against those of periods left out of the reference
_SURE, _SURE_PERIODS = 0.03, 3  # half a band of nine in ten, and periods behind it, for high trust
_TOLD = 4  # errors that a sentence names
_NEWTON = 30  # steps
_ELSEWHERE = (
    1.0  # standard deviation of the shift for each unit of log-odds between labelled and other rows
)


@dataclass(frozen=True)
class Reading:
    """What is said of a period without labels, of its rows alone.

    values : of each reading. rows : of the period. width : of the public band of nine in ten. scale : the unit of
    residuals on the log-odds, larger where more is uncertain. moved : how far the outputs moved; None: unseen.
    """

    values: Mapping[str, float]
    rows: int
    width: float
    scale: float
    moved: float | None = None


@dataclass(frozen=True)
class PastPeriod:
    """A period whose truth is known: ``at``, its place in time in periods; ``error``, the standard error of the truth
    where some rows were labelled; ``labelled`` rows. kind : where its labels stand. unit : what ``at`` counts, a length
    of chunks, or "" where periods are just one after another.
    """

    name: str
    at: float
    reading: Reading
    truth: float
    error: float = 0.0
    labelled: int = 0
    kind: Kind = "late labels"
    unit: str = ""


def reading_of(signs: ShiftSigns, estimates: Sequence[Estimate], prior: NaturalShifts) -> Reading:
    """The reading of a period, in the same way for all: without what only whole targets are asked."""
    by_name = {e.method: e.value for e in estimates}
    difference = abs(by_name["cbpe"] - by_name["doc"]) if {"cbpe", "doc"} <= {*by_name} else None
    signs = replace(signs, separation=None, explained=False, apart=difference, disagreement=None)
    low, high = prior.interval(signs, 0.9)
    values = {PUBLIC: prior.centre(signs), REFERENCE: signs.source}
    inputs = under_covariate_shift(estimates)
    if inputs is not None:
        values[INPUTS] = inputs.value
    width = float(_log_odds(high, signs.rows) - _log_odds(low, signs.rows))
    scale = math.sqrt(max(width / _HALF_OF_BAND, _LEAST_SCALE))
    return Reading(values, signs.rows, high - low, scale, signs.moved)


def truth_by_labels(labelled: Array, rows: Array, correct: float) -> tuple[float, float]:
    """The accuracy of all rows of a period from some labels, and its standard error.

    ``labelled`` and ``rows`` count the labelled rows and all rows by equal cells of confidence, (cell,); ``correct`` of
    the labelled ones are right. With l the log-odds of a cell's confidence, the model is right with the chance
    p = 1 / (1 + exp(-l - d)), where d, normal with mean 0 and variance 1 beforehand, is that for which as many labelled
    rows are expected to be right as are. So rows that were drawn by their confidence serve, too; rows that were drawn
    by their outcome do not. The variance is that of d, times the square of the slope of the mean of p. What holds for
    the labelled rows need not for rows of another confidence: d has a further standard deviation of 1 for each unit
    by which the mean log-odds of all rows lies away from that of the labelled ones.

    >>> said = np.array([0, 0, 0, 25]), np.array([0, 0, 0, 1000])
    >>> value, error = truth_by_labels(*said, correct=20)
    >>> round(value, 2), round(error, 2)
    (0.82, 0.07)
    """
    middle = (np.arange(len(rows)) + 0.5) / len(rows)
    log_odds = np.log(middle / (1 - middle))
    shift = 0.0
    for _ in range(_NEWTON):
        chance = 1 / (1 + np.exp(-log_odds - shift))
        slope = labelled @ (chance * (1 - chance)) + 1.0
        shift += float(np.clip((correct - labelled @ chance - shift) / slope, -1.0, 1.0))
    chance = 1 / (1 + np.exp(-log_odds - shift))
    spread = chance * (1 - chance)
    total = float(rows.sum())
    away = float(rows @ log_odds / total - labelled @ log_odds / max(labelled.sum(), 1))
    variance = (rows @ spread / total) ** 2 * (
        (1 - labelled.sum() / total) / (labelled @ spread + 1.0) + (_ELSEWHERE * away) ** 2
    )
    return float(rows @ chance / total), math.sqrt(max(float(variance), 0.0))


@dataclass(frozen=True)
class Distribution:
    """What is believed of an accuracy, by its distribution function ``cdf`` at 1,001 even ones."""

    cdf: Array

    def quantile(self, p: Array) -> Array:
        """Quantiles ``p`` of the accuracy, shape of ``p``."""
        return quantiles_of(self.cdf, p)

    def below(self, accuracy: float) -> float:
        """How likely the accuracy lies below this one."""
        return float(np.interp(accuracy, EVEN, self.cdf))

    def interval(self, level: float) -> Interval:
        """Median and central interval."""
        low, value, high = self.quantile(np.array([(1 - level) / 2, 0.5, (1 + level) / 2])).tolist()
        return Interval(value, low, high, level, "empirical")

    def bands(self, before: Headline) -> dict[str, Interval]:
        """Those of a headline by it, with what the headline ``before`` says if only the inputs changed."""
        unchanged = {name: band for name, band in before.bands.items() if name == "unchanged"}
        return {"half": self.interval(0.5), "nine_in_ten": self.interval(0.9), **unchanged}


@dataclass(frozen=True)
class HistoryPosterior(Distribution):
    """The accuracy of a period given those before it, and the evidence behind it. ``weights``: of the readings;
    ``guard``: share of the public prior; ``why``: why that is larger than usual, or None.
    """

    past: Sequence[PastPeriod]
    weights: Mapping[str, float]
    guard: float
    why: str | None = None

    @property
    def leading(self) -> str:
        """The reading that was right most."""
        return max(self.weights, key=lambda name: self.weights[name])

    @property
    def told(self) -> Sequence[PastPeriod]:
        """The periods to speak of: those with labels of their own, else those that were left out of the reference."""
        late = [period for period in self.past if period.kind == "late labels"]
        return late or self.past

    @property
    def errors(self) -> list[tuple[str, float]]:
        """Each period, and by how much its truth lay above the leading reading."""
        name = self.leading
        return [
            (period.name, period.truth - period.reading.values[name])
            for period in self.told
            if name in period.reading.values
        ]

    def headline(self, public: Headline, level: float) -> Headline:
        """The headline by own history; ``public`` is the one without, which stands beside it."""
        interval, nine, bands = self.interval(level), self.interval(0.9), self.bands(public)
        kind, errors = self.told[0].kind, self.errors
        reach = max(nine.value - nine.lower, nine.upper - nine.value)
        sure = (
            reach <= _SURE
            and kind == "late labels"
            and len(self.told) >= _SURE_PERIODS
            and self.why is None
        )
        trust = "none" if nine.upper - nine.lower > WIDEST else "high" if sure else "low"
        used = HistoryUsed(
            kind=kind,
            periods=len(self.told),
            names=tuple(name for name, _ in errors),
            leading=self.leading,
            errors=tuple(error for _, error in errors),
            weights=dict(self.weights),
            public=public.interval,
            guard=self.guard,
            why=self.why,
        )
        assumes = "this period differs from the past ones as these did from each other"
        if kind == "groups of the reference":
            assumes = "this group differs from those of the reference as these do from each other"
        method = f"own history: {self.leading}, corrected"
        return Headline(interval, method, assumes, trust, self._behind(), bands, used)

    def _behind(self) -> str:
        """What is behind the number, how far the leading reading was off, and why public shifts are heard."""
        kind, count = self.told[0].kind, len(self.told)
        behind = counted(count, "labelled period")
        if kind == "inside the reference":
            behind = f"{counted(count, 'period')} left out of the reference"
        elif kind == "groups of the reference":
            behind = f"{counted(count, 'group')} left out of the reference"
        last = [f"{100 * error:+.1f}" for _, error in self.errors[-_TOLD:]]
        errors = (
            "error"
            if len(last) == 1
            else f"last {len(last)} errors"
            if len(self.told) > _TOLD
            else "errors"
        )
        why = f"{behind} behind it"
        if last:
            why += f"; {errors} of {self.leading} there: {', '.join(last)} points"
        if self.why is not None:
            why += f"; {self.why}, so public shifts have {percent(self.guard, 0)} of the say"
        return why


def before(
    past: Sequence[PastPeriod], at: float | None, unit: str
) -> tuple[list[PastPeriod], float]:
    """The periods before the place ``at``, in its units (None: after all of them), and that place. Periods of other
    units come first, one after another, and those left out of the reference before them.

    >>> said = Reading({PUBLIC: 0.9}, 100, 0.2, 0.8)
    >>> past = [PastPeriod("March", 602.0, said, 0.9, unit="month"), PastPeriod("old.csv", -1.0, said, 0.8)]
    >>> [(one.name, one.at) for one in before(past, 603.0, "month")[0]]
    [('old.csv', 601.0), ('March', 602.0)]
    """
    late = [
        period
        for period in past
        if period.kind == "late labels" and (period.unit == unit or at is None)
    ]
    other_units = [
        period
        for period in past
        if period.kind == "late labels" and period.unit != unit and at is not None
    ]
    left_out = [period for period in past if period.kind == "inside the reference"]
    if at is None:
        at = max((period.at for period in late), default=-1.0) + 1
    late = [period for period in late if period.at < at]
    first = min((period.at for period in late), default=at)
    out = sorted(late, key=lambda period: period.at)
    for earlier in (other_units, left_out):
        ranked = sorted(earlier, key=lambda period: period.at)
        out = [replace(period, at=first - len(ranked) + i) for i, period in enumerate(ranked)] + out
        first -= len(ranked)
    return out, at


def given_past(
    past: Sequence[PastPeriod], now: Reading, at: float, public: Array, far: float = 0.0
) -> HistoryPosterior:
    """The accuracy of a period at the place ``at`` in time, given ``past`` ones. ``far``: how far it lies from the
    reference in time, in spans of that, where nothing but periods left out of it is known.

    Each reading r of a period errs on the log-odds by (logit(truth) - logit(r)) = u z, with u the `Reading.scale` of
    the period. z follows a local level model,

        z_t = level_t + N(0, s^2 + noise_t),    level_{t+1} = level_t + N(0, (d s)^2),

    with the scale s and the drift d unknown: 24 scales under an inverse gamma prior on s^2, three drifts. Readings are
    weighed by their marginal likelihood, which the Kalman filter gives. Beside that stands the distribution by public
    shifts, ``public`` (1,001 even accuracies), with a share of 0.01, of 0.05 where no late label was seen. Where
    outputs moved further than ever in the past, the public band is wider than ever, or the period lies further from
    the reference than that spans, its share grows to at most 0.6.

    Periods left out of the reference come first in time, their residuals 1.2 times as large: what is to come differs
    more than what was left out. Groups that were left out are at one place in time: a further one differs as they do.

    Source: local level model, Harvey (1989); Bayesian model averaging, Hoeting et al. (1999).

    >>> def said(value):
    ...     return Reading({PUBLIC: value, INPUTS: value, REFERENCE: 0.9}, 2000, 0.2, 0.8, 0.1)
    >>> behind = [PastPeriod(str(t), t, said(0.88), 0.85) for t in range(5)]
    >>> found = given_past(behind, said(0.88), 5, EVEN)
    >>> 0.84 < found.interval(0.9).value < 0.86
    True
    """
    past = sorted(past, key=lambda period: period.at)
    scale, drift, likely = _hypotheses()
    distributions, evidence = {}, {}
    for name, value in now.values.items():
        seen = [period for period in past if name in period.reading.values]
        mean, variance, log_likelihood = _filtered(seen, name, scale, drift, at)
        total = likely + log_likelihood
        evidence[name] = float(np.logaddexp.reduce(total))
        weights = np.exp(total - evidence[name])
        noise = _noise(value, now.rows) / now.scale**2
        spread = np.sqrt(scale**2 + variance + noise)
        distributions[name] = _mixture(weights, mean, spread, _log_odds(value, now.rows), now.scale)
    best = max(evidence.values())
    shares = {name: math.exp(log_evidence - best) for name, log_evidence in evidence.items()}
    total_share = sum(shares.values())
    shares = {name: share / total_share for name, share in shares.items()}
    mixture = sum(shares[name] * distributions[name] for name in shares)
    public_share, guard = _public_share(past, now, far)
    cdf = (1 - public_share) * mixture + public_share * public
    return HistoryPosterior(np.asarray(cdf / cdf[-1]), past, shares, public_share, guard)


def quantiles_of(cdf: Array, p: Array) -> Array:
    """Quantiles ``p`` of a distribution function at 1,001 even accuracies, shape of ``p``."""
    rising = np.maximum.accumulate(cdf + 1e-12 * np.arange(len(cdf)))
    return np.asarray(np.interp(p, rising / rising[-1], EVEN))


def together(distributions: Sequence[Array], rows: Sequence[int]) -> Array:
    """The distribution function of the mean of parts, weighted by rows, where all err to the same side: its quantiles
    are the means of theirs. Nothing is known of how parts err together, and this is the widest that they can.
    """
    shares = np.asarray(rows, dtype=np.float64) / sum(rows)
    levels = np.linspace(0.0, 1.0, 2001)
    ends = sum(
        share * quantiles_of(cdf, levels) for share, cdf in zip(shares, distributions, strict=True)
    )
    return np.asarray(np.interp(EVEN, ends, levels, left=0.0, right=1.0))


@dataclass(frozen=True)
class Together(Distribution):
    """A target as its periods have it, some by their labels and some by own history: the distribution of their mean."""

    parts: Sequence[Headline]

    def headline(self, without: Headline, level: float) -> Headline:
        """The headline of the target; ``without`` is the one that hears of no label."""
        histories = [part.history for part in self.parts if part.history is not None]
        nine, bands = self.interval(0.9), self.bands(without)
        trust = min((part.trust for part in self.parts), key=("none", "low", "high").index)
        trust = "none" if nine.upper - nine.lower > WIDEST else trust
        groups = histories[-1].kind == "groups of the reference"
        what = "groups" if groups else "periods"
        why = f"the mean of its {what}, each by own history"
        assumes = f"its {what} differ from those of the reference as these do from each other"
        if histories[-1].kind == "late labels":
            why = (
                "the mean of its periods: labels where they came in, own history where they did not"
            )
            assumes = (
                "periods without labels differ from those with them as these did from each other"
            )
        last = replace(histories[-1], public=without.interval)
        return Headline(
            self.interval(level),
            f"own history by {what.removesuffix('s')}",
            assumes,
            trust,
            why,
            bands,
            last,
        )


def _hypotheses() -> tuple[Array, Array, Array]:
    """Scale, drift and log prior of each hypothesis, (hypothesis,)."""
    scale = np.repeat(_SCALES, len(_DRIFTS))
    drift = np.tile([*_DRIFTS], len(_SCALES))
    # density of the scale on an even grid of its logarithm
    log_prior = -2 * _SHAPE * np.log(scale) - _RATE / scale**2
    log_prior += np.tile(np.log([*_DRIFTS.values()]), len(_SCALES))
    return scale, drift, log_prior - np.logaddexp.reduce(log_prior)


def _filtered(
    past: Sequence[PastPeriod], name: str, scale: Array, drift: Array, at: float
) -> tuple[Array, Array, Array]:
    """Mean and variance of the level at ``at``, and the log-likelihood of what came before, (hypothesis,) each."""
    mean, log_likelihood = np.zeros_like(scale), np.zeros_like(scale)
    variance = scale**2 / _LEVEL
    before = past[0].at if past else at
    for period in past:
        variance = variance + (drift * scale) ** 2 * (period.at - before)
        before = period.at
        value, rows = period.reading.values[name], period.reading.rows
        factor = _LATER if period.kind == "inside the reference" else 1.0
        residual = (
            factor
            * float(_log_odds(period.truth, rows) - _log_odds(value, rows))
            / period.reading.scale
        )
        noise = _noise(value, rows, period.error) * (factor / period.reading.scale) ** 2
        total = variance + scale**2 + noise
        log_likelihood -= 0.5 * (np.log(2 * np.pi * total) + (residual - mean) ** 2 / total)
        gain = variance / total
        mean = mean + gain * (residual - mean)
        variance = variance * (1 - gain)
    variance = variance + (drift * scale) ** 2 * max(at - before, 0.0)
    return mean, variance, log_likelihood


def _mixture(weights: Array, mean: Array, spread: Array, middle: float, unit: float) -> Array:
    """The distribution function at even accuracies of a mixture of normal ones on the log-odds."""
    from scipy.special import ndtr

    heard = weights > 1e-4 * weights.max()
    inner = EVEN[1:-1]
    z = (np.log(inner / (1 - inner)) - middle) / unit
    below = ndtr((z - mean[heard, None]) / spread[heard, None])
    inner_cdf = weights[heard] @ below / weights[heard].sum()
    return np.concatenate([[0.0], inner_cdf, [1.0]])


def _public_share(past: Sequence[PastPeriod], now: Reading, far: float) -> tuple[float, str | None]:
    """The share of public shifts, and why it is larger than usual."""
    moves = [period.reading.moved for period in past if period.reading.moved is not None]
    beyond = {"it lies further from the reference in time than that spans": far}
    if now.moved is not None and moves:
        beyond["the outputs moved further than in any of these periods"] = now.moved / max(
            *moves, _LEAST_MOVED
        )
    widths = [period.reading.width for period in past]
    if widths:
        words = "less is certain without labels than in any of these periods"
        beyond[words] = now.width / max(*widths, _LEAST_WIDTH)
    usual = (
        _PUBLIC_SHARE
        if any(period.kind == "late labels" for period in past)
        else _PUBLIC_SHARE_INSIDE
    )
    why = max(beyond, key=lambda words: beyond[words])
    share = min(_GUARD * (beyond[why] - _BEYOND), _MOST_PUBLIC)
    return (share, why) if share > usual else (usual, None)


def _noise(value: float, rows: int, error: float = 0.0) -> float:
    """Variance of the log-odds of a period's accuracy by chance in its rows, and by an error of its truth."""
    rate = min(max(value, 0.02), 0.98)
    slope = 1 / (rate * (1 - rate))
    return _NOISE * slope / max(rows, 1) + (error * slope) ** 2


def _log_odds(accuracy: float, rows: int) -> float:
    """The log-odds; nothing seen on so many rows is known to be 0 or 1."""
    floor = 0.5 / (rows + 1)
    clipped = min(max(accuracy, floor), 1 - floor)
    return math.log(clipped / (1 - clipped))
