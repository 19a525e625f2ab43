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
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..plain import Json, Plain, Strings
from ..version import __version__

Kind = Literal["exact", "asymptotic", "conditional", "empirical", "backtest"]
INTERVAL = ("value", "lower", "upper", "level", "kind")
"""The columns of a number with its interval."""
KINDS: tuple[Kind, ...] = ("exact", "asymptotic", "conditional", "empirical", "backtest")


def counted(count: int, noun: str) -> str:
    """A number with its noun, which takes an s from two on."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(value: Any) -> Any:
    """The ``value`` as JSON knows it: numpy scalars and arrays, tuples and records are turned into numbers, lists and
    mappings; NaN and infinity become None.

    >>> plain({"a": (1.0, math.nan), 2: "b"})
    {'a': [1.0, None], '2': 'b'}
    """
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


_LINE, _ROWS = 120, 12  # characters of a record at a prompt, and records of a sequence
_WORDS, _ITEMS = 40, 3  # characters of a text and items of a sequence inside such a line


def line_of(item: Any) -> str:
    """A record, or anything else, as a line for a prompt: long texts and sequences are cut, empty fields left out.

    >>> line_of(Skipped("leap", "needs `probabilities` of at least three classes; the file has two"))
    "Skipped(method='leap', why='needs `probabilities` of at least thr...')"
    >>> line_of(Interval(0.8317, 0.79, 0.87, 0.95, "exact"))
    "Interval(0.8317 [0.79, 0.87], level=0.95, kind='exact')"
    """
    fields = getattr(item, "__dataclass_fields__", None)
    if fields is None:
        return _cut(_brief(item), _LINE)
    names = getattr(item, "_prompt", "").split() or [
        *dict.fromkeys((*getattr(item, "_first", "").split(), *fields))
    ]
    values = {name: getattr(item, name) for name in names}
    parts = []
    if _has_ends(item) and "value" in names:
        parts.append(_brief(item))
        values = {name: value for name, value in values.items() if name not in INTERVAL[:3]}
    for name, value in values.items():
        if not (value is None or (hasattr(value, "__len__") and not len(value))):
            parts.append(f"{name}={_brief(value)}")
    return _cut(f"{type(item).__name__}({', '.join(parts)})", _LINE)


def _has_ends(item: Any) -> bool:
    """Whether it is a number with both ends of an interval."""
    return all(isinstance(getattr(item, name, None), (float, int)) for name in INTERVAL[:3])


def _brief(value: Any) -> str:
    """A value inside the line of a record."""
    if isinstance(value, str):
        return repr(_cut(value, _WORDS, ""))
    if isinstance(value, float):
        return f"{value:.4g}"
    if _has_ends(value):
        return f"{value.value:.4g} [{value.lower:.4g}, {value.upper:.4g}]"
    if _is_record(value):
        first = getattr(value, "_prompt", "").partition(" ")[0]
        return _brief(getattr(value, first)) if first else type(value).__name__
    if not isinstance(value, Mapping | Sequence) or isinstance(value, bytes):
        return f"<{len(value)}>" if hasattr(value, "__len__") else _cut(repr(value), _WORDS)
    if len(value) > _ITEMS:
        return f"<{len(value)}>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_brief(item)}' for name, item in value.items())}}}"
    return f"({', '.join(map(_brief, value))})"


def _cut(text: str, width: int, end: str = ")") -> str:
    """The text in at most so many characters, dots where it goes on."""
    return text if len(text) <= width else f"{text[: width - 3 - len(end)]}...{end}"


class Records(tuple[Any, ...]):
    """A sequence of records that a prompt shows as a short table, a line for each.

    >>> Records(Skipped("a", str(number)) for number in range(40))[:2]
    (Skipped(method='a', why='0'), Skipped(method='a', why='1'))
    >>> print(Records(Skipped("a", str(number)) for number in range(40)))
    (Skipped(method='a', why='0'),
     ...
     Skipped(method='a', why='11'),
     ... 28 more)
    """

    __slots__ = ()
    kept_as: ClassVar[type] = tuple  # in the file of what was fitted

    def __repr__(self) -> str:
        return f"({_lines(list(map(line_of, self[:_ROWS])), len(self))})"


class NamedRecords(dict[str, Any]):
    """Records by name that a prompt shows as a short table, a line for each.

    >>> NamedRecords(a=Skipped("leap", "no"), b=Skipped("im", "no"))
    {'a': Skipped(method='leap', why='no'),
     'b': Skipped(method='im', why='no')}
    """

    __slots__ = ()
    kept_as: ClassVar[type] = dict

    def __repr__(self) -> str:
        rows = [f"{name!r}: {line_of(item)}" for name, item in [*self.items()][:_ROWS]]
        return f"{{{_lines(rows, len(self))}}}"


def _lines(rows: Sequence[str], count: int) -> str:
    """Rows below each other, and how many more of this count there are."""
    more = [f"... {count - len(rows)} more"] if count > len(rows) else []
    return ",\n ".join([*rows, *more])


def list_records(record: Any) -> None:
    """Turn what a new record holds of several others into `Records` and `NamedRecords`."""
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if type(value) is tuple and value and not isinstance(value[0], str | int | float | tuple):
            object.__setattr__(record, name, Records(value))
        if type(value) is dict and any(map(_is_record, value.values())):
            object.__setattr__(record, name, NamedRecords(value))


def _is_record(value: Any) -> bool:
    return hasattr(value, "__dataclass_fields__")


class Record:
    """A dataclass whose JSON holds its fields: those of ``_first`` before the others, ``_spread`` without their own
    name, ``_untold`` not at all, ``_spare`` where there is something in them. ``_command`` opens the result of a verb.
    At a prompt it is a line of the attributes in ``_prompt``, by default of all fields (`line_of`); what it holds of
    several records is a short table (`Records`, `NamedRecords`).
    """

    __slots__ = ()
    _command: ClassVar[str] = ""
    _first: ClassVar[str] = ""
    _spread: ClassVar[frozenset[str]] = frozenset()
    _spare: ClassVar[frozenset[str]] = frozenset()
    _untold: ClassVar[frozenset[str]] = frozenset()
    _prompt: ClassVar[str] = ""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else `dataclass` writes one of all fields

    def __post_init__(self) -> None:
        list_records(self)

    def __repr__(self) -> str:
        return line_of(self)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out: Json = {"command": self._command, "version": __version__} if self._command else {}
        for name in dict.fromkeys((*self._first.split(), *self.__dataclass_fields__)):  # type: ignore[attr-defined]
            if name not in self._untold:
                value = plain(getattr(self, name))
                if name in self._spread:
                    out |= value or {}
                elif value or name not in self._spare:
                    out[name] = value
        return out


def percent(share: float, decimals: int | None = 1, *, space: str = " ") -> str:
    """A share as sentences and pages write it: a percentage, a space, the sign; ``decimals=None`` writes all digits.

    >>> percent(0.8317), percent(0.8317, 0), percent(0.995, None), percent(-0.0)
    ('83.2 %', '83 %', '99.5 %', '0.0 %')
    """
    value = share * 100 + 0.0  # no minus before a zero
    return f"{value:.10g}{space}%" if decimals is None else f"{value:.{decimals}f}{space}%"


def decimals_of(lower: float, upper: float, least: int = 1) -> int:
    """Decimals of a number beside both ends of its interval: as many as tell these from each other, ``least`` and
    up to five more.

    >>> decimals_of(79.0, 85.0), decimals_of(99.9969, 99.9988), decimals_of(100.0, 100.0)
    (1, 3, 1)
    """
    digits = (d for d in range(least, least + 5) if f"{lower:.{d}f}" != f"{upper:.{d}f}")
    return next(digits, least + 5) if lower < upper else least


def points(difference: float, *, space: str = " ") -> str:
    """A difference of two shares in percentage points, without its sign."""
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
    """A difference of two shares in percentage points, with its sign."""
    number = f"{100 * difference:+.1f}"
    return f"{'0.0' if float(number) == 0 else number} points"


def listed(items: Sequence[str], word: str = "and") -> str:
    """Items in a sentence."""
    return f" {word} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def shortened(items: Sequence[Any], limit: int) -> str:
    """The first items in a sentence, with dots where there are more."""
    return ", ".join(map(str, items[:limit])) + (", ..." if len(items) > limit else "")


@dataclass(frozen=True, slots=True)
class Interval(Record):
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
            raise ValueError(
                f"the interval [{self.lower}, {self.upper}] does not hold {self.value}"
            )

    @property
    def width(self) -> float:
        """Upper minus lower end."""
        return self.upper - self.lower


class WithInterval:
    """What has an ``interval`` and shows its numbers as its own."""

    if TYPE_CHECKING:
        value: float
        lower: float
        upper: float
        level: float
        kind: Kind
    else:
        value, lower, upper, level, kind = (
            property(attrgetter(f"interval.{name}")) for name in INTERVAL
        )


@dataclass(frozen=True)
class Estimate(Record):
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
    details: Plain = field(default_factory=dict)
    warnings: Strings = ()
    _first = "method score"
    _spare = frozenset({"details", "warnings"})

    def __post_init__(self) -> None:
        _ = self.interval  # validates kind and order

    @property
    def interval(self) -> Interval:
        """The number and its interval alone."""
        return Interval(self.value, self.lower, self.upper, self.level, self.kind)


@dataclass(frozen=True, slots=True)
class Skipped(Record):
    """A method that could not answer, and why."""

    method: str
    why: str


@dataclass(frozen=True)
class Curve(Record):
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
    extra: Plain = field(default_factory=dict)
    _first = "name x_name y_name"
    _spread = frozenset({"extra"})

    def __post_init__(self) -> None:
        lengths = set(map(len, (self.x, self.y, self.lower, self.upper)))
        if len(lengths) != 1:
            raise ValueError(
                f"a curve needs sequences of one length, got lengths {sorted(lengths)}"
            )


@dataclass(frozen=True)
class Ranking:
    """An order of models, best first.

    models : their names in this order.
    p_best : for each of these, the probability that it is the best.

    >>> Ranking(("b", "a"), (0.7, 0.3)).to_dict()
    {'ranking': [{'model': 'b', 'p_best': 0.7}, {'model': 'a', 'p_best': 0.3}]}
    """

    models: Strings
    p_best: tuple[float, ...]

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        rows = zip(self.models, self.p_best, strict=True)
        return {"ranking": [{"model": m, "p_best": plain(p)} for m, p in rows]}


def answers_for(
    targets: Sequence[float], ends: Plain, coverage: Any, threshold: Any
) -> list[dict[str, float | None]]:
    """For each target accuracy the largest coverage at which a curve still reaches it, and the threshold there; None
    where none does. ``ends`` names curves over the coverages, shape (coverage,), by the prefix of their columns.
    """
    rows: list[dict[str, float | None]] = []
    for target in targets:
        row: dict[str, float | None] = {"accuracy": target}
        for prefix, values in ends.items():
            enough = (values >= target).nonzero()[0]
            row[f"{prefix}coverage"] = float(coverage[enough[-1]]) if len(enough) else None
            row[f"{prefix}threshold"] = float(threshold[enough[-1]]) if len(enough) else None
        rows.append(row)
    return rows
