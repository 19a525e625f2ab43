"""Results: plain records that methods return, numbers with units, intervals and their kind; no plotting.

Kinds of interval, from the strongest promise to the weakest:

=============  =====================================================================================
exact          holds at the stated level for every sample size, no assumption but random sampling
asymptotic     holds at the stated level for large samples, no assumption but random sampling
conditional    holds only if the assumption that is printed beside it holds
empirical      was right in the past, or spans several methods; promises nothing
backtest       empirical, with the width taken from errors on simulated shifts
=============  =====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Any, ClassVar, Literal, Protocol

Kind = Literal["exact", "asymptotic", "conditional", "empirical", "backtest"]
KINDS: tuple[Kind, ...] = ("exact", "asymptotic", "conditional", "empirical", "backtest")


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s from two on.

    >>> counted(1, "labelled row"), counted(1500, "row")
    ('1 labelled row', '1,500 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(value: Any) -> Any:
    """Turn numpy scalars and arrays, tuples and records into what JSON knows; NaN and infinity become None."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Record:
    """A dataclass whose JSON holds its fields in their order, but those of ``_untold``."""

    __slots__ = ()
    _untold: ClassVar[frozenset[str]] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        names = [name for name in self.__dataclass_fields__ if name not in self._untold]  # type: ignore[attr-defined]
        return {name: plain(getattr(self, name)) for name in names}


def percent(share: float, decimals: int | None = 1, *, space: str = " ") -> str:
    """A share as sentences and pages write it: a percentage, a space, the sign; ``decimals=None`` writes all digits.

    >>> percent(0.8317), percent(0.8317, 0), percent(0.995, None), percent(-0.0)
    ('83.2 %', '83 %', '99.5 %', '0.0 %')
    """
    value = share * 100 + 0.0  # no minus before a zero
    return f"{value:.10g}{space}%" if decimals is None else f"{value:.{decimals}f}{space}%"


def points(difference: float, *, space: str = " ") -> str:
    """A difference of two shares in percentage points, without its sign.

    >>> points(-0.078), points(0.01)
    ('7.8 points', '1.0 points')
    """
    return f"{abs(difference) * 100:.1f}{space}points"


def rounded_up(threshold: float) -> str:
    """A threshold to act on, rounded up: whoever copies it answers no row that the unrounded one would not.

    Four decimals, and more near 1, so that three digits of the distance to 1 show; what is below 1 never prints as 1.

    >>> rounded_up(0.75), rounded_up(0.66811), rounded_up(0.99995311), rounded_up(0.9999999997)
    ('0.7500', '0.6682', '0.9999532', '0.999999999700')
    """
    exact = Decimal(repr(float(threshold)))
    decimals = max(4, 2 - (1 - exact).adjusted()) if exact < 1 else 4
    return str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING))


def signed_points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign.

    >>> signed_points(-0.0123), signed_points(0.0)
    ('-1.2 points', '0.0 points')
    """
    number = f"{100 * difference:+.1f}"
    return f"{'0.0' if float(number) == 0 else number} points"


def listed(items: Sequence[str], word: str = "and") -> str:
    """Items in a sentence.

    >>> listed(["a", "b", "c"]), listed(["90 %", "95 %"], "or"), listed([])
    ('a, b and c', '90 % or 95 %', '')
    """
    return f" {word} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with an interval, its level and its kind.

    Parameters
    ----------
    value : the number, a fraction (not a percent) where it is a rate.
    lower, upper : ends of the interval, ``lower <= value <= upper``.
    level : nominal coverage, such as 0.95.
    kind : one of the kinds in this file's table.

    Raises
    ------
    ValueError : when the interval does not hold the value or the kind is unknown.

    >>> Interval(0.8, 0.7, 0.9, 0.95, "exact").to_dict()
    {'value': 0.8, 'lower': 0.7, 'upper': 0.9, 'level': 0.95, 'kind': 'exact'}
    """

    value: float
    lower: float
    upper: float
    level: float
    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of interval {self.kind!r}; known: {', '.join(KINDS)}")
        if not self.lower <= self.value <= self.upper:
            raise ValueError(f"the interval [{self.lower}, {self.upper}] does not hold {self.value}")

    @property
    def width(self) -> float:
        """Upper minus lower end."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"value": plain(self.value), "lower": plain(self.lower), "upper": plain(self.upper)}
        return out | {"level": self.level, "kind": self.kind}


class HasInterval(Protocol):
    """Something with an ``interval``."""

    @property
    def interval(self) -> Interval:
        """The number with its ends."""


class WithInterval:
    """What has an ``interval`` and shows its numbers as its own."""

    @property
    def value(self: HasInterval) -> float:
        """The number."""
        return self.interval.value

    @property
    def lower(self: HasInterval) -> float:
        """Lower end of the interval."""
        return self.interval.lower

    @property
    def upper(self: HasInterval) -> float:
        """Upper end of the interval."""
        return self.interval.upper

    @property
    def level(self: HasInterval) -> float:
        """Nominal coverage of the interval."""
        return self.interval.level

    @property
    def kind(self: HasInterval) -> Kind:
        """Kind of the interval."""
        return self.interval.kind


@dataclass(frozen=True)
class Estimate:
    """An estimate of accuracy on unlabelled data: value, interval, its kind and what it rests on.

    Parameters
    ----------
    method : registered name of the estimator, such as ``"atc"``.
    value, lower, upper : accuracy as a fraction and the ends of its interval.
    level : nominal coverage of the interval.
    kind : kind of interval (table at the top of this file).
    assumes : the assumption, in one sentence, under which the interval means anything.
    citation : BibTeX key in ``citations.bib``.
    score : the per-sample score that was used, if one was.
    rows : target rows that the estimate is made from.
    details : method-specific extras (thresholds, per-class figures, expected confusion matrix).
    warnings : sentences a user should read before believing the number.

    >>> e = Estimate("ac", 0.8, 0.7, 0.9, 0.95, "conditional", "calibrated on the target", "guo2017", rows=100)
    >>> e.value, e.interval.width > 0.19
    (0.8, True)
    """

    method: str
    value: float
    lower: float
    upper: float
    level: float
    kind: Kind
    assumes: str
    citation: str
    score: str | None = None
    rows: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _ = self.interval  # validates kind and order

    @property
    def interval(self) -> Interval:
        """The number and its interval alone."""
        return Interval(self.value, self.lower, self.upper, self.level, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"method": self.method, "score": self.score, **self.interval.to_dict()}
        out |= {"assumes": self.assumes, "citation": self.citation, "rows": self.rows}
        if self.details:
            out["details"] = plain(self.details)
        if self.warnings:
            out["warnings"] = list(self.warnings)
        return out


@dataclass(frozen=True, slots=True)
class Skipped(Record):
    """A method that could not answer, and why.

    >>> Skipped("gde", "needs members").to_dict()
    {'method': 'gde', 'why': 'needs members'}
    """

    method: str
    why: str


@dataclass(frozen=True)
class Curve:
    """A curve with a band: ``y`` over ``x``, ``lower`` and ``upper`` of the same length.

    Parameters
    ----------
    name : what is drawn, such as ``"risk_coverage"``.
    x, y, lower, upper : sequences of equal length.
    x_name, y_name : axis names with their units.
    level, kind, assumes : as in `Estimate`.
    extra : further sequences along ``x`` (such as thresholds) or single figures read off the curve.

    >>> Curve("c", [0, 1], [1, 0.5], [1, 0.4], [1, 0.6], "coverage", "accuracy", 0.95, "exact", "").to_dict()["y"]
    [1, 0.5]
    """

    name: str
    x: Any
    y: Any
    lower: Any
    upper: Any
    x_name: str
    y_name: str
    level: float
    kind: Kind
    assumes: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y), len(self.lower), len(self.upper)}
        if len(lengths) != 1:
            raise ValueError(f"a curve needs sequences of one length, got lengths {sorted(lengths)}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON; the axes stand under their names."""
        out: dict[str, Any] = {"name": self.name, "x_name": self.x_name, "y_name": self.y_name, "x": plain(self.x)}
        out |= {"y": plain(self.y), "lower": plain(self.lower), "upper": plain(self.upper), "level": self.level}
        return out | {"kind": self.kind, "assumes": self.assumes, **{k: plain(v) for k, v in self.extra.items()}}


@dataclass(frozen=True)
class Ranking:
    """An order of models, best first, with the probability that each is the best.

    >>> Ranking(("b", "a"), (0.7, 0.3)).to_dict()
    {'ranking': [{'model': 'b', 'p_best': 0.7}, {'model': 'a', 'p_best': 0.3}]}
    """

    models: tuple[str, ...]
    p_best: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        rows = zip(self.models, self.p_best, strict=True)
        return {"ranking": [{"model": m, "p_best": plain(p)} for m, p in rows]}
