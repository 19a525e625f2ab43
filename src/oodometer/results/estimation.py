"""Estimation: the result of the verb `estimate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .alarms import Alarms
from .diagnosis import Diagnosis, column_sentences
from .fall import Fall, points_or_more
from .shown import Shown
from .values import Curve, Estimate, Interval, Skipped, WithInterval, aligned, percent, plain

# What one may believe of the shift, and what it then leaves unchanged.
ASSUMPTIONS: dict[str, str] = {
    "natural": "this shift resembles shifts seen in public data sets",
    "none": "nothing changed but chance",
    "label": "the class shares changed and P(x | y) did not",
    "covariate": "the inputs changed and P(y | x) did not",
}


@dataclass(frozen=True)
class Headline(WithInterval):
    """The one number: value, interval, which method, how far it may be trusted and why.

    ``trust`` is "high", "low" or "none". The number and its ends are there as in an `Estimate`, too. ``bands`` stand
    beside each other: "unchanged" (if P(y | x) stood still), "half" and "nine_in_ten" (where so many of the public
    natural shifts that looked like this one ended).

    >>> found = Headline(Interval(0.8, 0.7, 0.9, 0.95, "backtest"), "doc", "nothing changed", "low", "a guess")
    >>> found.value, found.lower, found.upper
    (0.8, 0.7, 0.9)
    """

    interval: Interval
    method: str
    assumes: str
    trust: str
    why: str
    bands: Mapping[str, Interval] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            **self.interval.to_dict(),
            "method": self.method,
            "assumes": self.assumes,
            "trust": self.trust,
            "why": self.why,
            **({"bands": {name: one.to_dict() for name, one in self.bands.items()}} if self.bands else {}),
        }


@dataclass(frozen=True)
class Assumed:
    """What one would believe under an assumption about the shift; no interval where no method could answer.

    refuted : why the data speak against the assumption, or None. why : why there is no interval, or None.
    """

    interval: Interval | None
    method: str
    refuted: str | None = None
    why: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        made = {} if self.interval is None else self.interval.to_dict()
        return {**made, "method": self.method, "refuted": self.refuted, "why": self.why}


@dataclass(frozen=True)
class Part:
    """A slice or a chunk of the target with its own headline and estimates.

    ``place`` holds ``by`` and ``value``, or ``name``, ``start`` (that of its first row) and ``end``;
    ``truth`` is the accuracy where rows are labelled;
    ``fell`` says whether it lies below that of the reference, corrected for the number of parts; ``signs`` how far the
    outputs moved, and how much of it other class shares leave unexplained (`ShiftStatistics`); ``metrics`` what was
    asked for besides the accuracy. Where labels decide, ``fell`` is by them, and ``fell_without_labels`` as it would be
    without any (else None).
    """

    place: Mapping[str, Any]
    rows: int
    headline: Headline
    estimates: tuple[Estimate, ...]
    truth: Interval | None = None
    fell: Fall | None = None
    signs: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, MetricEstimation] = field(default_factory=dict)
    fell_without_labels: Fall | None = None

    @property
    def by_labels(self) -> bool:
        """Whether labels decide in the place of the estimate."""
        return self.fell_without_labels is not None

    @property
    def name(self) -> str:
        """What people call it: the value of a slice, the month or the rows of a chunk."""
        return str(self.place.get("value", self.place.get("name", self.place.get("start"))))

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            **plain(self.place),
            "rows": self.rows,
            "headline": self.headline.to_dict(),
            "estimates": [e.to_dict() for e in self.estimates],
            "truth": None if self.truth is None else self.truth.to_dict(),
            "fell": None if self.fell is None else self.fell.to_dict(),
            **_without(self.fell_without_labels),
            "signs": plain(self.signs),
            **({"metrics": {name: one.to_dict() for name, one in self.metrics.items()}} if self.metrics else {}),
        }


@dataclass(frozen=True, repr=False)
class Estimation(Shown):
    """What `estimate` found: a headline, every method's estimate, what was skipped and what to beware of.

    ``estimation["atc"]`` is the estimate of one method; ``to_dict()`` is the JSON of the command line. At a prompt and
    in a notebook it shows its summary.
    """

    reference: Mapping[str, Any]
    target: Mapping[str, Any]
    headline: Headline
    estimates: tuple[Estimate, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    calibration: Mapping[str, Any] = field(default_factory=dict)
    risk_coverage: Curve | None = None
    reliability: Mapping[str, Any] | None = None
    confidence: Mapping[str, Any] | None = None
    slices: tuple[Part, ...] = ()
    chunks: tuple[Part, ...] = ()
    argv: str | None = None
    diagnosis: Diagnosis | None = None
    backtest: Mapping[str, Any] | None = None
    assumptions: Mapping[str, Assumed] = field(default_factory=dict)
    assume: str = "natural"
    fell: Fall | None = None
    metrics: Mapping[str, MetricEstimation] = field(default_factory=dict)
    alarms: Alarms | None = None
    fell_without_labels: Fall | None = None

    @property
    def by_labels(self) -> bool:
        """Whether the labels of the target decide in the place of the estimate: `truth`, ``fell`` and ``alarms``.

        So they do where all rows are labelled, and where the interval of the labelled ones is narrower than the
        estimate's and nothing shows that they are no random sample.
        """
        return self.fell_without_labels is not None

    @property
    def truth(self) -> Interval | None:
        """The accuracy on the labelled rows of the target, None without any."""
        known = self.target.get("accuracy")
        return (
            None if known is None else Interval(**{n: known[n] for n in ("value", "lower", "upper", "level", "kind")})
        )

    def __repr__(self) -> str:
        return summary_of_estimation(self)

    def __getitem__(self, method: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.method == method:
                return estimate
        why = next((s.why for s in self.skipped if s.method == method), "it was not asked for")
        raise UsageError(f"there is no estimate by {method!r}: {why}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        out: dict[str, Any] = {
            "command": "estimate",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "reference": plain(self.reference),
            "target": plain(self.target),
            "headline": self.headline.to_dict(),
            "truth": self._truth(),
            "fell": None if self.fell is None else self.fell.to_dict(),
            **_without(self.fell_without_labels),
            "alarms": None if self.alarms is None else self.alarms.to_dict(),
            "assume": self.assume,
            "assumptions": {name: one.to_dict() for name, one in self.assumptions.items()},
            "metrics": {name: one.to_dict() for name, one in self.metrics.items()},
            "estimates": [e.to_dict() for e in self.estimates],
            "skipped": [s.to_dict() for s in self.skipped],
            "warnings": list(self.warnings),
            "calibration": plain(self.calibration),
        }
        if self.diagnosis is not None:
            out["diagnosis"] = self.diagnosis.to_dict()
        if self.backtest is not None:
            out["backtest"] = plain(self.backtest)
        if self.risk_coverage is not None:
            out["risk_coverage"] = self.risk_coverage.to_dict()
        if self.reliability is not None:
            out["reliability"] = plain(self.reliability)
        if self.confidence is not None:
            out["confidence"] = plain(self.confidence)
        if self.slices:
            out["slices"] = [p.to_dict() for p in self.slices]
        if self.chunks:
            out["chunks"] = [p.to_dict() for p in self.chunks]
        return out

    def _truth(self) -> dict[str, Any] | None:
        known = self.truth
        labelled = {"labelled": self.target.get("labelled"), "decides": self.by_labels}
        return None if known is None else {**known.to_dict(), **labelled}


def _without(fell: Fall | None) -> dict[str, Any]:
    return {} if fell is None else {"fell_without_labels": fell.to_dict()}


def headline_lines(found: Estimation) -> list[str]:
    """The headline, what it rests on, how far to trust it, the kind of shift, the reference, and the truth if known."""
    return _lines(found, brief=False)


def _lines(found: Estimation, brief: bool) -> list[str]:
    head, reference = found.headline, found.reference
    made = f"{percent(head.interval.level, None)} {head.interval.kind} interval"
    fell = [] if found.fell is None else [f"  {found.fell.sentence()}"]
    known = [*_truth_lines(found), *fell] if found.by_labels else []
    lines = [
        *known,
        f"Estimated accuracy: {_ends(head)}  ({made if brief else f'{made}, {head.method}'})",
        f"  rests on: {head.assumes.partition(' (')[0] if brief else head.assumes}",
        _trust(found),
    ]
    if head.bands and not brief:
        lines.append(f"  {bands_sentence(head)}")
    lines += [] if known else fell
    if found.diagnosis is not None:
        lines.append(f"  kind of shift: {found.diagnosis.kind}: {found.diagnosis.why}")
        lines += [f"  {line}" for line in column_sentences(found.diagnosis.to_dict())]
    lines.append(f"Reference accuracy: {percent(reference['accuracy'])} on {reference['rows']} rows")
    return lines if known else [*lines, *_truth_lines(found)]


def _truth_lines(found: Estimation) -> list[str]:
    """The truth, where some of it is known."""
    truth = found.target["accuracy"]
    if truth is None:
        return []
    ends = f"[{percent(truth['lower'])}, {percent(truth['upper'])}]"
    rows = f"{found.target['labelled']} labelled target rows"
    return [f"True accuracy:      {percent(truth['value'])}  {ends} on {rows}"]


def brief_lines(found: Estimation) -> list[str]:
    """As `headline_lines`, but no more than a person reads at a glance: bands, cases and methods are left to -v."""
    return _lines(found, brief=True)


def worst_parts(parts: Sequence[Part], most: int) -> tuple[Part, ...]:
    """Of many parts those with an alarm and those of lowest estimated accuracy, in the order of all of them.

    >>> headlines = [Headline(Interval(a, 0, 1, 0.9, "exact"), "", "", "low", "") for a in (0.9, 0.7, 0.8)]
    >>> parts = [Part({"value": i}, 10, one, ()) for i, one in enumerate(headlines)]
    >>> [part.place["value"] for part in worst_parts(parts, 2)]
    [1, 2]
    """
    order = sorted(range(len(parts)), key=lambda i: (not _is_alarm(parts[i]), parts[i].headline.value))
    alarms = sum(map(_is_alarm, parts))
    return tuple(parts[i] for i in sorted(order[: max(most, alarms)]))


def _is_alarm(part: Part) -> bool:
    return part.fell is not None and bool(part.fell.alarm)


def bands_sentence(headline: Headline) -> str:
    """The three bands in one plain sentence; empty without them.

    >>> ends = {"unchanged": (0.92, 0.94), "half": (0.86, 0.93), "nine_in_ten": (0.75, 0.95)}
    >>> bands = {name: Interval(0.93, *two, 0.9, "empirical") for name, two in ends.items()}
    >>> bands_sentence(Headline(bands["half"], "doc", "", "low", "", bands))  # doctest: +ELLIPSIS
    'if P(y | x) stood still: 92.0 % to 94.0 %; half of such natural shifts ended in 86 % to 93 %, nine in ten in ...'
    """
    three = [headline.bands.get(name) for name in ("unchanged", "half", "nine_in_ten")]
    if None in three:
        return ""
    still, half, most = (one for one in three if one is not None)
    return (
        f"if P(y | x) stood still: {percent(still.lower)} to {percent(still.upper)}; half of such natural shifts ended "
        f"in {percent(half.lower, 0)} to {percent(half.upper, 0)}, nine in ten in {percent(most.lower, 0)} to "
        f"{percent(most.upper, 0)}"
    )


def alarm_text(fell: Fall | None) -> str:
    """A cell of a table: whether a part fell, and whether that is an alarm.

    >>> [alarm_text(Fall(0.01, 0.9, "fell", p, p < 0.05, "")) for p in (1e-9, 0.4)], alarm_text(None)
    (['ALARM', 'likely, by chance as well'], '')
    """
    if fell is None or fell.verdict == "cannot say":
        return ""
    return "no" if fell.verdict == "holds" else "ALARM" if fell.alarm else "likely, by chance as well"


def alarms_sentence(parts: Sequence[Part], title: str) -> str:
    """How many parts raised an alarm, and what that means; empty where it was not asked."""
    fell = [p.fell for p in parts if p.fell is not None]
    if not fell:
        return ""
    many = sum(one.alarm for one in fell)
    some = f"{many} of {len(fell)} {title}{'' if len(fell) == 1 else 's'}"
    return f"{some} fell by {points_or_more(fell[0].by_at_least)} (alarm)"


def _true(part: Part, parts: Sequence[Part]) -> list[str]:
    """The cell with the truth of a part, where one of them has labels."""
    if not any(one.truth for one in parts):
        return []
    return [""] if part.truth is None else [_ends(part.truth)]


def _ends(one: Headline | Estimate | Interval) -> str:
    return f"{percent(one.value)}  [{percent(one.lower)}, {percent(one.upper)}]"


def _trust(found: Estimation) -> str:
    """How far to trust the headline and why; the diagnosis, which has a line of its own, is not said twice."""
    why = found.headline.why
    if found.diagnosis is not None and found.diagnosis.why:
        for said in (
            f": {found.diagnosis.why}",
            f"; {found.diagnosis.why}",
            f"{found.diagnosis.why}; ",
            found.diagnosis.why,
        ):
            why = why.replace(said, "")
    return f"  trust {found.headline.trust}: {why or 'see the kind of shift'}"


def summary_of_estimation(found: Estimation) -> str:
    """Headline, every method, slices or chunks, and how many methods were left out."""
    lines = headline_lines(found)
    lines.append(
        aligned(
            ["method", "accuracy", "lower", "upper", "assumes"],
            [[e.method, percent(e.value), percent(e.lower), percent(e.upper), e.assumes] for e in found.estimates],
        )
    )
    for title, parts in (("slice", found.slices), ("chunk", found.chunks)):
        if parts:
            rows = [[p.name, str(p.rows), _ends(p.headline), *_true(p, parts), alarm_text(p.fell)] for p in parts]
            truth = ["truth"] if any(p.truth for p in parts) else []
            lines.append(aligned([title, "rows", "accuracy", *truth, "fell"], rows))
            lines.append(alarms_sentence(parts, title))
    if found.alarms is not None:
        lines += found.alarms.lines()
    if found.skipped:
        lines.append(f"{len(found.skipped)} methods were left out; `.skipped` says why")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def number(value: float | None) -> str:
    """A metric in a table: three decimals; empty where there is none.

    >>> number(0.81234), number(-0.0001), number(None)
    ('0.812', '0.000', '')
    """
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"


@dataclass(frozen=True)
class MetricEstimation(WithInterval):
    """A metric besides the accuracy: its headline, what every method says, the reference's own, and the truth if known;
    ``assumptions``: the answers under each idea of the shift, as of the accuracy.

    >>> i = Interval(0.8, 0.7, 0.9, 0.95, "backtest")
    >>> MetricEstimation(Headline(i, "cbpe", "nothing changed", "low", "a guess"), ()).value
    0.8
    """

    headline: Headline
    estimates: tuple[Estimate, ...]
    reference: Interval | None = None
    truth: Interval | None = None
    assumptions: Mapping[str, Assumed] = field(default_factory=dict)

    @property
    def interval(self) -> Interval:
        """Number and interval of the headline."""
        return self.headline.interval

    @property
    def method(self) -> str:
        """What the headline was made of."""
        return self.headline.method

    @property
    def assumes(self) -> str:
        """What the number rests on."""
        return self.headline.assumes

    @property
    def trust(self) -> str:
        """How far it may be trusted: "high", "low" or "none"."""
        return self.headline.trust

    def __getitem__(self, method: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.method == method:
                return estimate
        raise UsageError(f"there is no estimate of this metric by {method!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            **self.headline.to_dict(),
            "reference": None if self.reference is None else self.reference.to_dict(),
            "truth": None if self.truth is None else self.truth.to_dict(),
            "assumptions": {name: one.to_dict() for name, one in self.assumptions.items()},
            "estimates": [e.to_dict() for e in self.estimates],
        }
