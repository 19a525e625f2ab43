"""Natural shifts: what public data sets lead one to expect of the accuracy, and whether it fell by a margin."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..diagnoses.column_drift import holm
from ..errors import InputError, UsageError
from ..intervals import normal_quantile
from ..results import Interval, percent
from ..results.alarms import Fall, FallVerdict
from ..results.values import counted

FORMAT = 2
_QUANTILE, _REACH = ("p", "standard_error", "moved"), ("points", "cases", "inside", "missed_by_3")
_VERDICT = ("margin", "said", "cases", "right")
_LEAST_RATE, _MOST_RATE = 0.02, 0.98  # where the standard error is taken: no accuracy is known to be 0 or 1


@dataclass(frozen=True)
class ShiftSigns:
    """What is known of a target without its labels.

    Parameters
    ----------
    estimate : its accuracy if P(y | x) stood still.
    source : accuracy on the reference. reference_rows, rows : of reference and target.
    moved, unexplained : how far the outputs moved, and how much of it other class shares leave unexplained
        (`ShiftStatistics`); both are effect sizes, which do not grow with the rows. None where that cannot be seen.
    models : whether other models answered in the estimate: then a fall was seen, and not only felt by confidence.
    still : ends of the interval that holds if P(y | x) stood still, or None.
    error : of another metric than the accuracy, what chance in the rows of both sides adds (a standard error).
    """

    estimate: float
    source: float
    reference_rows: int
    rows: int
    moved: float | None = None
    unexplained: float | None = None
    models: bool = False
    still: tuple[float, float] | None = None
    error: float | None = None


@dataclass(frozen=True)
class NaturalShifts:
    """Where the truth ended under shifts that nobody made, as a distribution given what is known without labels.

    With s the accuracy on the reference, d = estimate - s, and g = u^2 / (u^2 + gate^2) for what is unexplained, u,

        value = s + (1 - g) d + g (rise (d)+ - fall (-d)+),    g = 0 where other models answered,

    and quantile p of the truth is value + a_p se + b_p moved, with
    se = sqrt(value (1 - value) (1 / reference_rows + 1 / rows)). Without a shift that can be seen both extra terms go,
    and what is left is chance. It is asymmetric: of the shifts that life made, more ended far below than far above.
    As far as the change is unexplained, the interval reaches towards both ends of ``still``, too: in some public
    sources P(y | x) did stand still.

    Parameters
    ----------
    rise, fall, gate : of the value. levels : the p, ascending. chance, size : a_p and b_p, shape (level,).
    unknown : moved and unexplained where they cannot be seen. reach : rows of (most points that the band of 90 %
        reaches from the value, cases, share of them inside the band, share missed by more than three points), judged
        with their source left out. verdicts : rows of (margin, "fell" or "holds", cases that were called so, share of
        them that was right), judged in the same way.
    about : provenance: command, date, sources, cases. metrics : name of another metric -> its own prior, of which
        values below 0 are brought to [0, 1] first.

    Source: `benchmarks/natural`; linear quantile regression after Koenker and Bassett (1978).

    >>> prior = packaged_prior()
    >>> still = ShiftSigns(0.9, 0.9, 10_000, 10_000, moved=0.0, unexplained=0.0)
    >>> moved = ShiftSigns(0.9, 0.9, 10_000, 10_000, moved=0.8, unexplained=0.5)
    >>> [prior.interval(one, 0.9)[0] > 0.85 for one in (still, moved)]
    [True, False]
    """

    rise: float
    fall: float
    gate: float
    levels: Array
    chance: Array
    size: Array
    unknown: Mapping[str, float]
    reach: tuple[tuple[float, int, float, float], ...] = ()
    about: Mapping[str, Any] | None = None
    verdicts: tuple[tuple[float, str, int, float], ...] = ()
    metrics: Mapping[str, NaturalShifts] = field(default_factory=dict)

    def value(self, signs: ShiftSigns) -> float:
        """The accuracy to expect under a natural shift."""
        apart = signs.estimate - signs.source
        gate = 0.0 if signs.models else self._gate(signs)
        natural = self.rise * max(apart, 0.0) - self.fall * max(-apart, 0.0)
        return float(np.clip(signs.source + (1 - gate) * apart + gate * natural, 0.0, 1.0))

    def quantile(self, signs: ShiftSigns, p: Array) -> Array:
        """Quantiles ``p`` of the truth, shape of ``p``; 0 and 1 at p = 0 and 1, linear between the fitted ones."""
        out: Array = np.interp(p, [0.0, *self.levels, 1.0], [0.0, *self._known(signs), 1.0])
        return out

    def share_below(self, signs: ShiftSigns, accuracy: float) -> float:
        """How likely the truth lies below this accuracy: the inverse of `quantile`, 0 and 1 outside of [0, 1].

        >>> signs = ShiftSigns(0.9, 0.9, 500, 500, moved=0.3)
        >>> round(packaged_prior().share_below(signs, packaged_prior().quantile(signs, np.array([0.25]))[0]), 6)
        0.25
        """
        if not 0 < accuracy < 1:
            return float(accuracy >= 1)
        # quantiles that the ends of [0, 1] made equal would leave the inverse without a meaning
        ends = np.concatenate([[0.0], self._known(signs), [1.0]])
        ends = np.maximum.accumulate(ends + 1e-12 * np.arange(len(ends)))
        return float(np.interp(accuracy, ends, [0.0, *self.levels, 1.0]))

    def _gate(self, signs: ShiftSigns) -> float:
        """How much of the change is unexplained, from 0 to 1."""
        left = self.unknown["unexplained"] if signs.unexplained is None else signs.unexplained
        return left**2 / (left**2 + self.gate**2)

    def _known(self, signs: ShiftSigns) -> Array:
        """The fitted quantiles, ascending, shape (level,)."""
        value = self.value(signs)
        moved = self.unknown["moved"] if signs.moved is None else signs.moved
        out: Array = np.clip(value + self.chance * standard_error(value, signs) + self.size * moved, 0.0, 1.0)
        return np.maximum.accumulate(out)

    def interval(self, signs: ShiftSigns, level: float) -> tuple[float, float]:
        """The interval of this level; it holds the value, and is never narrower than chance alone makes it.

        The central one, which reaches by max(2 level - 1, 0) u^2 / (u^2 + gate^2) of the way towards ends of
        ``signs.still`` that lie outside of it, u being what is unexplained. The band of 50 % stays as it is.
        """
        value = self.value(signs)
        low, high = map(float, self.quantile(signs, np.array([(1 - level) / 2, (1 + level) / 2])))
        half = normal_quantile(level) * standard_error(value, signs)
        low, high = max(min(low, value - half), 0.0), min(max(high, value + half), 1.0)
        if signs.still is None:
            return low, high
        share = max(2 * level - 1, 0.0) * self._gate(signs)
        return low - share * max(low - signs.still[0], 0.0), high + share * max(signs.still[1] - high, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, as the file holds it."""
        rows = zip(self.levels, self.chance, self.size, strict=True)
        quantiles = ((float(p), round(float(a), 4), round(float(b), 4)) for p, a, b in rows)
        plain = {
            "format": FORMAT,
            **(self.about or {}),
            "value": {"rise": self.rise, "fall": self.fall, "gate": self.gate},
            "unknown": dict(self.unknown),
            "quantiles": [dict(zip(_QUANTILE, row, strict=True)) for row in quantiles],
            "reach": [dict(zip(_REACH, row, strict=True)) for row in self.reach],
            "verdicts": [dict(zip(_VERDICT, row, strict=True)) for row in self.verdicts],
        }
        return plain | ({"metrics": {n: one.to_dict() for n, one in self.metrics.items()}} if self.metrics else {})

    @classmethod
    def from_dict(cls, plain: Any, file: str) -> Self:
        """Read what `to_dict` gave; `InputError` for another format, or for what is no such file."""
        remedy = "make it again with `python -m benchmarks.natural.prior`, or leave it out for the packaged one"
        expected = f"a prior of natural shifts of format {FORMAT}"
        if not isinstance(plain, Mapping) or plain.get("format") != FORMAT:
            got = plain.get("format", "none") if isinstance(plain, Mapping) else type(plain).__name__
            raise InputError(expected, got=f"format {got}", remedy=remedy, file=file)
        try:
            rise, fall, gate = (float(plain["value"][name]) for name in ("rise", "fall", "gate"))
            levels, chance, size = (np.array([float(row[name]) for row in plain["quantiles"]]) for name in _QUANTILE)
            reach = tuple(tuple(row[name] for name in _REACH) for row in plain["reach"])
            verdicts = tuple(tuple(row[name] for name in _VERDICT) for row in plain["verdicts"])
            unknown = {name: float(plain["unknown"][name]) for name in ("moved", "unexplained")}
            metrics = {str(name): cls.from_dict(one, file) for name, one in plain.get("metrics", {}).items()}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(expected, got=f"one without {error}", remedy=remedy, file=file) from None
        numbers = np.concatenate([levels, chance, size, [rise, fall, gate, *unknown.values()]])
        if not len(levels) or not np.isfinite(numbers).all() or (np.diff(levels) <= 0).any():
            raise InputError(expected, got="numbers that are missing or out of order", remedy=remedy, file=file)
        about = {name: plain[name] for name in ("made_by", "date", "cases", "sources", "unseen_falls") if name in plain}
        return cls(rise, fall, gate, levels, chance, size, unknown, reach, about, verdicts, metrics)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file; `InputError` where it cannot be read or is of another format."""
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            remedy = "check the path, or leave it out for the packaged one"
            expected = "a prior of natural shifts, a JSON file"
            raise InputError(expected, got=str(error) or type(error).__name__, remedy=remedy, file=str(path)) from None
        return cls.from_dict(plain, str(path))


def standard_error(value: float, signs: ShiftSigns) -> float:
    """What chance in the rows of both sides adds to a value."""
    if signs.error is not None:
        return signs.error
    rate = min(max(value, _LEAST_RATE), _MOST_RATE)
    return math.sqrt(rate * (1 - rate) * (1 / max(signs.reference_rows, 1) + 1 / max(signs.rows, 1)))


@cache
def packaged_prior() -> NaturalShifts:
    """The prior that comes with the package.

    >>> packaged_prior().about["cases"] > 1000
    True
    """
    text = files("oodometer.headline").joinpath("natural_shifts.json").read_text(encoding="utf-8")
    return NaturalShifts.from_dict(json.loads(text), "natural_shifts.json")


FELL = 0.8  # at this chance and above the accuracy is said to have fallen: of public cases, 19 in 20 had
HOLDS = 0.1  # at this chance and below it is said to hold
LEAST_RIGHT = 0.8  # of the public cases that were called so; a verdict that was right less often is not given
_STEPS = 101  # of a normal distribution
CHANGED = 0.05  # false alarms without any change, over all parts that are looked at together


def check_margin(margin: float) -> None:
    """`UsageError` for what is no margin: it lies between 0 and 1."""
    if not 0 <= margin < 1:
        raise UsageError(f"expected a margin between 0 and 1 such as 0.03, got {margin}; divide percents by 100")


def chance_of_fall(
    prior: NaturalShifts,
    signs: ShiftSigns | None,
    margin: float,
    assumed: Interval | None,
    source: float | None,
    error: float = 0.0,
) -> float | None:
    """How likely the accuracy lies at least ``margin`` below the reference's.

    Under the prior of natural shifts, or, where another assumption was chosen, from its interval ``assumed``, taken as
    a normal distribution. ``error`` is a standard error that clusters add: a normal number of that deviation is added
    to the truth. None where the accuracy of the reference is not known.
    """
    if error:
        away = [error * NormalDist().inv_cdf((i + 0.5) / _STEPS) for i in range(_STEPS)]
        chances = [chance_of_fall(prior, signs, margin - one, assumed, source) for one in away]
        known = [one for one in chances if one is not None]
        return sum(known) / len(known) if known else None
    if assumed is not None and source is not None:
        deviation = max((assumed.upper - assumed.lower) / (2 * normal_quantile(assumed.level)), 1e-9)
        return NormalDist(assumed.value, deviation).cdf(source - margin)
    return None if signs is None else prior.share_below(signs, signs.source - margin)


def chance_by_labels(correct: float, rows: float, bound: float, reference: tuple[float, float] | None = None) -> float:
    """How likely the accuracy lies below a bound, of labelled rows: a normal law with the mean and the variance of
    Jeffreys' posterior. With a ``reference`` (correct, rows) the bound is of the accuracy less the reference's.

    >>> round(chance_by_labels(930, 1000, 0.92), 3), round(chance_by_labels(930, 1000, -0.01, (4750, 5000)), 3)
    (0.118, 0.884)
    """
    mean = variance = 0.0
    for sign, hits, n in ((1, correct, rows), *([] if reference is None else [(-1, *reference)])):
        share = (hits + 0.5) / (n + 1)
        mean, variance = mean + sign * share, variance + share * (1 - share) / (n + 2)
    return NormalDist(mean, variance**0.5).cdf(bound)


def verdict_of(chance: float | None) -> FallVerdict:
    """The verdict at a chance of a fall.

    >>> verdict_of(0.9), verdict_of(0.5), verdict_of(0.02), verdict_of(None)
    ('fell', 'cannot say', 'holds', 'cannot say')
    """
    if chance is None:
        return "cannot say"
    return "fell" if chance >= FELL else "holds" if chance <= HOLDS else "cannot say"


def judged(
    prior: NaturalShifts,
    margin: float,
    chances: Sequence[float | None],
    changes: Sequence[float | None],
    assume: str,
    labelled: Sequence[int | None] | None = None,
) -> list[Fall]:
    """The falls of parts that are looked at together, such as all chunks of a series.

    An alarm asks for two things: the verdict "fell", and a change of the outputs that is more than chance at 5 % after
    Holm's correction for all parts. So however many chunks there are, a series in which nothing changes raises any
    alarm in about 5 % of cases at most. Natural shifts that look like a fall and are none are not corrected for: the
    chunks of a series share them, and how often that happens was measured (``why``).

    ``labelled`` are the rows by whose labels a part is judged, None where it is judged without: its chance is that of
    `chance_by_labels` then, and its change that of the accuracy itself.

    >>> from oodometer.headline.natural_shifts import packaged_prior
    >>> two = judged(packaged_prior(), 0.01, [0.9, 0.9], [1e-9, 0.03], "natural")
    >>> [one.verdict for one in two], [one.alarm for one in two]
    (['fell', 'fell'], [True, True])
    >>> [one.alarm for one in judged(packaged_prior(), 0.01, [0.9] * 2, [1e-9, 0.06], "natural")]
    [True, False]
    """
    adjusted = holm({str(i): p for i, p in enumerate(changes) if p is not None})
    out = []
    for i, chance in enumerate(chances):
        verdict, changed = verdict_of(chance), adjusted.get(str(i))
        rows = None if labelled is None else labelled[i]
        if rows is not None:
            why = f"by {counted(rows, 'labelled row')}"
            alarm = verdict == "fell" and changed is not None and changed <= CHANGED
            out.append(Fall(margin, chance, verdict, changed, alarm, why))
            continue
        measured = _measured(prior, margin, verdict)
        if assume == "natural" and measured is not None and measured[1] < LEAST_RIGHT:
            verdict = "cannot say"
        alarm = verdict == "fell" and changed is not None and changed <= CHANGED
        why = ""
        if chance is None:
            why = "the accuracy of the reference, or what the outputs say, is not known"
        elif assume == "judges":
            why = "by the judges' error rates on the reference"
        elif assume != "natural":
            why = "under the assumption that was chosen"
        elif verdict == "cannot say":
            why = "a few labels decide it (`oodometer audit`)"
        elif measured is not None:
            said = "had" if verdict == "fell" else "had not fallen so far"
            why = f"of {measured[0]} public cases called so, their sources left out, {percent(measured[1], 0)} {said}"
        out.append(Fall(margin, chance, verdict, changed, alarm, why))
    return out


def _measured(prior: NaturalShifts, margin: float, verdict: FallVerdict) -> tuple[int, float] | None:
    """How many public cases were called so at the nearest margin that was tried, and how often that was right."""
    rows = [row for row in prior.verdicts if row[1] == verdict]
    nearest = min(rows, key=lambda row: abs(row[0] - margin)) if rows else None
    return None if nearest is None else (nearest[2], nearest[3])
