"""Estimation: the result of the verb `estimate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..errors import UsageError
from ..version import __version__
from .alarms import Alarms, Fall, points_or_more
from .diagnosis import Diagnosis, column_sentences, columns_grid
from .evaluation import votes_grids
from .values import Curve, Estimate, Interval, Skipped, WithInterval, counted, percent, plain, points
from .view import INTERVAL, Grid, Maker, Point, Shown, Table, View, cells_of, ends, interval_of, shows, with_ends

_EQUAL = 0.0005  # differences below this read as none
_MOST_PARTS = 30  # slices or chunks in a table at first
_ENDS = ("value", "lower", "upper")

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
        out: dict[str, Any] = {**self.interval.to_dict(), "method": self.method, "assumes": self.assumes}
        out |= {"trust": self.trust, "why": self.why}
        return out | ({"bands": {name: band.to_dict() for name, band in self.bands.items()}} if self.bands else {})


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
            **({"metrics": {name: metric.to_dict() for name, metric in self.metrics.items()}} if self.metrics else {}),
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
        accuracy = self.target.get("accuracy")
        return (
            None
            if accuracy is None
            else Interval(**{n: accuracy[n] for n in ("value", "lower", "upper", "level", "kind")})
        )

    def frames(self) -> dict[str, Maker]:
        """Parts where there are any, then methods, headline and assumptions; how the user's columns moved."""
        columns = {} if self.diagnosis is None else self.diagnosis.frames()
        return {
            **({"parts": lambda: _parts_table(self)} if self.slices or self.chunks else {}),
            "methods": lambda: _methods_table(self),
            "headline": lambda: _headline_table(self),
            "assumptions": lambda: _assumptions_table(self),
            **{name: made for name, made in columns.items() if name == "columns"},
        }

    def __getitem__(self, method: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.method == method:
                return estimate
        why = next((s.why for s in self.skipped if s.method == method), "it was not asked for")
        raise UsageError(f"there is no estimate by {method!r}: {why}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"command": "estimate", "version": __version__, "argv": self.argv, "level": self.level}
        out |= {"seed": self.seed, "reference": plain(self.reference), "target": plain(self.target)}
        out |= {"headline": self.headline.to_dict(), "truth": self._truth()}
        out |= {"fell": None if self.fell is None else self.fell.to_dict(), **_without(self.fell_without_labels)}
        out |= {"alarms": None if self.alarms is None else self.alarms.to_dict(), "assume": self.assume}
        out |= {"assumptions": {name: assumption.to_dict() for name, assumption in self.assumptions.items()}}
        out |= {"metrics": {name: metric.to_dict() for name, metric in self.metrics.items()}}
        out |= {"estimates": [e.to_dict() for e in self.estimates], "skipped": [s.to_dict() for s in self.skipped]}
        out |= {"warnings": list(self.warnings), "calibration": plain(self.calibration)}
        for name in ("diagnosis", "backtest", "risk_coverage", "reliability", "confidence", "slices", "chunks"):
            if (value := getattr(self, name)) is not None and value != ():
                out[name] = plain(value)
        return out

    def _truth(self) -> dict[str, Any] | None:
        truth = self.truth
        labelled = {"labelled": self.target.get("labelled"), "decides": self.by_labels}
        return None if truth is None else {**truth.to_dict(), **labelled}


def _without(fell: Fall | None) -> dict[str, Any]:
    return {} if fell is None else {"fell_without_labels": fell.to_dict()}


def worst_parts(parts: Sequence[Mapping[str, Any]], most: int) -> list[int]:
    """Of many parts the places of those with an alarm and those of lowest estimated accuracy, in their order.

    >>> worst_parts([{"headline": {"value": one}} for one in (0.9, 0.7, 0.8)], 2)
    [1, 2]
    """
    values = [(part.get("headline") or {}).get("value") for part in parts]
    ranks = [(not _is_alarm(part), 2.0 if v is None else v) for part, v in zip(parts, values, strict=True)]
    order = sorted(range(len(parts)), key=ranks.__getitem__)
    return sorted(order[: max(most, sum(map(_is_alarm, parts)))])


def alarm_text(fell: Fall | None) -> str:
    """A cell of a table: whether a part fell, and whether that is an alarm.

    >>> [alarm_text(Fall(0.01, 0.9, "fell", p, p < 0.05, "")) for p in (1e-9, 0.4)], alarm_text(None)
    (['ALARM', 'likely, by chance as well'], '')
    """
    if fell is None or fell.verdict == "cannot say":
        return ""
    return "no" if fell.verdict == "holds" else "ALARM" if fell.alarm else "likely, by chance as well"


@shows(Estimation)
def estimation_view(result: Mapping[str, Any]) -> View:
    """What an estimate says, from the mapping that JSON holds, as far as it goes.

    >>> told = {"headline": {"value": 0.8, "lower": 0.7, "upper": 0.9, "level": 0.95, "kind": "backtest"}}
    >>> view = estimation_view({**told, "reference": {"accuracy": 0.912, "rows": 500}})
    >>> view.title, view.number, view.sentences[0]
    ('Estimated accuracy', '80.0 %', '11.2 points below the reference accuracy (91.2 % on 500 rows)')
    """
    head, truth = result.get("headline") or {}, _truth(result)
    estimate = interval_of(head)
    item = interval_of(truth) if truth.get("decides") else estimate
    diagnosis, why = result.get("diagnosis") or {}, head.get("why") or ""
    parts = [(title, result.get(f"{title}s") or []) for title in ("slice", "chunk")]
    assumes = str(head.get("assumes") or "")
    more = f". It assumes in full: {assumes}" if " (" in assumes else ""
    some = [(part, interval_of(part.get("headline"))) for part in result.get("chunks") or ()]
    made = [
        Point(_name(part), item.value, item.lower, item.upper, (part.get("truth") or {}).get("value"), _is_alarm(part))
        for part, item in some
        if item is not None
    ]
    return View(
        "True accuracy" if truth.get("decides") else "Estimated accuracy",
        "none" if item is None else percent(item.value),
        item,
        trust=None if truth.get("decides") else head.get("trust"),
        sentences=tuple(filter(None, _sentences(result, item, estimate))),
        details=tuple(
            filter(
                None,
                (
                    _bands(head),
                    (f"Method: {head['method']}{more}" if head.get("method") else ""),
                    *threshold_sentences(result),
                ),
            )
        ),
        points=tuple(made if len(made) > 1 else []),
        line=(result.get("reference") or {}).get("accuracy"),
        line_name="reference",
        grids=(
            *_metrics_grids(result),
            *(grid for title, some in parts if some for grid in _parts_grids(title, some)),
            *(replace(grid, noun="", detail=True, few=None) for grid in columns_grid(diagnosis)),
            *_method_grids(result),
            *votes_grids(result),
        ),
        alarms=tuple(Alarms.from_dict(result["alarms"]).lines()) if result.get("alarms") else (),
        warnings=tuple(
            warning for warning in result.get("warnings") or () if warning != why or head.get("trust") != "none"
        ),
        seed=result.get("seed"),
    )


def _sentences(result: Mapping[str, Any], item: Interval | None, estimate: Interval | None) -> list[str]:
    """Against the reference, whether it fell, the truth, how far to trust the number, the shift, the assumption."""
    head, truth, target = result.get("headline") or {}, _truth(result), result.get("target") or {}
    reference, fell, diagnosis = result.get("reference") or {}, result.get("fell"), result.get("diagnosis") or {}
    if item is None:
        return ["No method could answer on these data; the reasons are listed below."]
    nothing = head.get("trust") == "none" and item is estimate and item.lower <= 0 and item.upper >= 1
    lines = ["Without labels the accuracy cannot be known: any value is possible"] if nothing else []
    measured = f"Measured on {counted(truth.get('labelled') or 0, 'labelled row')}"
    unlabelled = f"On {counted(target['rows'], 'row')} without labels" if target.get("rows") and not truth else ""
    text = measured if truth.get("decides") else unlabelled
    if reference.get("accuracy") is not None:
        rows = f" on {counted(reference['rows'], 'row')}" if reference.get("rows") else ""
        gap = round(item.value, 3) - round(reference["accuracy"], 3)
        side = f"{points(gap)} {'below' if gap < 0 else 'above'}" if abs(gap) >= _EQUAL else "the same as"
        yardstick = f"reference accuracy ({percent(reference['accuracy'])}{rows})"
        text = f"{text}{text and ': '}{yardstick if nothing else f'{side} the {yardstick}'}"
    lines.append(text[:1].upper() + text[1:])
    lines.append(Fall(**fell).sentence() if fell else "")
    if truth.get("decides") and estimate is not None:
        lines.append(f"Estimated without labels: {with_ends(estimate)}")
    elif truth and interval_of(truth) is not None:
        rows = counted(truth.get("labelled") or target.get("labelled") or 0, "labelled target row")
        lines.append(f"True accuracy: {with_ends(interval_of(truth))} on {rows}")
    if head.get("trust"):
        lines.append(f"Trust {head['trust']}: {_why(head.get('why') or '', diagnosis.get('why') or '')}")
    if diagnosis.get("kind"):
        because = f": {diagnosis['why']}" if diagnosis.get("why") else ""
        lines += [f"Kind of shift: {diagnosis['kind']}{because}", *column_sentences(diagnosis)]
    return [*lines, f"Assumes: {head['assumes'].partition(' (')[0]}" if head.get("assumes") and not nothing else ""]


def _truth(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The accuracy by labels, with their number and whether they decide; empty without labels."""
    truth: Mapping[str, Any] = result.get("truth") or (result.get("target") or {}).get("accuracy") or {}
    return truth


def _why(why: str, diagnosis: str) -> str:
    """Why a number is trusted so far; the diagnosis, which has a line of its own, is not said twice."""
    for text in (f": {diagnosis}", f"; {diagnosis}", f"{diagnosis}; ", diagnosis) if diagnosis else ():
        why = why.replace(text, "")
    return why or "see the kind of shift"


def _bands(head: Mapping[str, Any]) -> str:
    """The three bands of a headline in a sentence; empty where it has none."""
    bands = head.get("bands") or {}
    three = [interval_of(bands.get(name)) for name in ("unchanged", "half", "nine_in_ten")]
    same, half, most = three
    if same is None or half is None or most is None:
        return ""
    return (
        f"If P(y | x) is unchanged: {percent(same.lower)} to {percent(same.upper)}; half of public natural shifts like "
        f"this one ended in {percent(half.lower, 0)} to {percent(half.upper, 0)}, nine in ten in "
        f"{percent(most.lower, 0)} to {percent(most.upper, 0)}"
    )


def _name(part: Mapping[str, Any]) -> str:
    """What people call a part: the value of a slice, the month or the rows of a chunk."""
    return str(part.get("value", part.get("name", part.get("start"))))


def _is_alarm(part: Mapping[str, Any]) -> bool:
    return bool((part.get("fell") or {}).get("alarm"))


def _metrics_grids(result: Mapping[str, Any]) -> list[Grid]:
    """What was asked for besides the accuracy; what each method says of it waits."""
    metrics = result.get("metrics") or {}
    if not metrics:
        return []
    has_truth = any(item.get("truth") for item in metrics.values())
    rows, methods = [], []
    for name, metric in metrics.items():
        own = [metric.get("reference"), *([metric.get("truth")] if has_truth else [])]
        cells = [number((other or {}).get("value")) for other in own]
        rows.append([name, *(number(metric[end]) for end in _ENDS), metric["trust"], *cells])
        for e in metric.get("estimates") or ():
            methods.append([name, e["method"], *(number(e[end]) for end in _ENDS), e["assumes"]])
    columns = ["metric", *_ENDS, "trust", "reference", *(["truth"] if has_truth else [])]
    heads = ["metric", "method", *_ENDS, "assumes"]
    return [Grid("metrics", columns, rows), Grid("metrics by each method", heads, methods, noun="", detail=True)]


def _parts_grids(title: str, parts: Sequence[Mapping[str, Any]]) -> list[Grid]:
    """Slices or chunks, of very many those with an alarm and the worst at first; their metrics beside the truth."""
    rows = []
    for part in parts:
        truth, fell = part.get("truth"), part.get("fell")
        cells = [alarm_text(Fall(**fell) if fell else None), cells_of(truth)[0]]
        rows.append([_name(part), f"{part['rows']:,}", *cells_of(part.get("headline")), *cells])
    columns = [title, "rows", "accuracy", "lower", "upper", "fell", "truth"]
    used = [j for j in range(7) if j < 5 or any(row[j] for row in rows)]
    few = worst_parts(parts, _MOST_PARTS) if len(parts) > _MOST_PARTS else None
    left = 0 if few is None else len(parts) - len(few)
    fell = [part["fell"] for part in parts if part.get("fell")]
    many = f"{sum(map(_is_alarm, parts))} of {len(fell)} {title}{'' if len(fell) == 1 else 's'}"
    grids = [
        Grid(
            f"{title}s",
            [columns[j] for j in used],
            [[row[j] for j in used] for row in rows],
            noun=title,
            few=few,
            marked=frozenset(i for i, part in enumerate(parts) if _is_alarm(part)),
            notes=(f"{many} fell by {points_or_more(fell[0]['by_at_least'])} (alarm)",) if fell else (),
            rest=f"{left} {title}s without an alarm are left out, none worse than these: -v" if left else "",
        )
    ]
    names = list(dict.fromkeys(name for part in parts for name in part.get("metrics") or {}))
    if names:
        metrics = [[(part.get("metrics") or {}).get(name) or {} for name in names] for part in parts]
        has_truth = any(item.get("truth") for some in metrics for item in some)
        heads = [title, *(c for name in names for c in ([name, "truth"] if has_truth else [name]))]
        lines = []
        for part, some in zip(parts, metrics, strict=True):
            values = [
                x.get("value") for item in some for x in ((item, item.get("truth") or {}) if has_truth else (item,))
            ]
            lines.append([_name(part), *map(number, values)])
        grids.append(Grid(f"metrics of {title}s", heads, lines, noun=title, few=few))
    return grids


def _method_grids(result: Mapping[str, Any]) -> list[Grid]:
    """Every method, every assumption about the shift, and the methods that were left out: all wait."""
    estimates = result.get("estimates") or []
    kinds = list(dict.fromkeys(estimate["kind"] for estimate in estimates))
    several = len(kinds) > 1
    rows = [[e["method"], *cells_of(e), *([e["kind"]] if several else []), e["assumes"]] for e in estimates]
    believed = []
    for name, assumption in (result.get("assumptions") or {}).items():
        against = f"speak against it: {assumption['refuted']}" if assumption.get("refuted") else ""
        against, method = (
            (against, assumption["method"].partition(":")[0])
            if cells_of(assumption)[0]
            else (assumption["why"] or against, "")
        )
        believed.append([ASSUMPTIONS.get(name, name), *cells_of(assumption), method, against])
    skipped = [[item["method"], item["why"]] for item in result.get("skipped") or ()]
    return [
        Grid(
            "methods" if several else f"methods, {''.join(kinds)} intervals",
            ["method", "accuracy", "lower", "upper", *(["kind"] if several else []), "assumes"],
            rows,
            noun="method",
            detail=True,
        ),
        Grid(
            "what you would believe",
            ["if", "accuracy", "lower", "upper", "method", "the data"],
            believed,
            noun="",
            detail=True,
        ),
        Grid("methods that were left out", ["method", "why"], skipped, noun="skipped method", detail=True),
    ]


def threshold_sentences(result: Mapping[str, Any]) -> list[str]:
    """From which confidence on the estimated accuracy reaches what was asked for."""
    answers = (result.get("risk_coverage") or {}).get("answers") or []
    lines = []
    for answer in answers:
        target = percent(answer["accuracy"] or 0)
        if answer["threshold"] is None or answer["coverage"] is None:
            lines.append(f"Threshold: no part of the target reaches an estimated accuracy of {target}")
            continue
        text = f"Threshold: at confidence >= {answer['threshold']:.4f} ({percent(answer['coverage'])} of the rows) "
        safe = answer["safe_threshold"]
        text += f"estimated accuracy is at least {target}"
        text += "; nowhere does the band's lower end reach it" if safe is None else ""
        lines.append(text + ("" if safe is None else f"; the band's lower end reaches it at >= {safe:.4f}"))
    if lines and (result.get("diagnosis") or {}).get("kind") == "support":
        lines.append("Do not rely on this threshold: it asks that confidence means what it meant on the reference")
    return lines


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
        out = self.headline.to_dict()
        out |= {"reference": None if self.reference is None else self.reference.to_dict()}
        out |= {"truth": None if self.truth is None else self.truth.to_dict()}
        out |= {"assumptions": {name: assumption.to_dict() for name, assumption in self.assumptions.items()}}
        return out | {"estimates": [e.to_dict() for e in self.estimates]}


_FALL = ("fell", "fell_p", "alarm")
_PART = ("rows", "metric", *INTERVAL, "method", "trust", *_FALL, "truth", "truth_lower", "truth_upper")


class OneMetric(NamedTuple):
    """One metric of a result or of a part: its headline, what each method says, the reference's own, the truth."""

    headline: Headline
    estimates: tuple[Estimate, ...]
    reference: float | None
    truth: Any  # a number with its interval, as a record or as a mapping; None where it is not known


def metrics_of(item: Estimation | Part) -> dict[str, OneMetric]:
    """Every metric by its name: accuracy first, then what was asked for; a part has no reference of its own."""
    whole = isinstance(item, Estimation)
    truth = item.target.get("accuracy") if isinstance(item, Estimation) else item.truth
    accuracy = item.reference.get("accuracy") if isinstance(item, Estimation) else None
    reference = accuracy["value"] if isinstance(accuracy, Mapping) else accuracy
    made = {"accuracy": OneMetric(item.headline, item.estimates, reference if whole else None, truth)}
    for name, metric in item.metrics.items():
        own = None if metric.reference is None else metric.reference.value
        made[name] = OneMetric(metric.headline, metric.estimates, own, metric.truth)
    return made


def _metric_cells(item: Estimation | Part, name: str, metric: OneMetric) -> dict[str, Any]:
    """Cells of a metric of the whole or of a part: number, fall, truth."""
    fell = item.fell if name == "accuracy" else None
    fall = (None, None, None) if fell is None else (fell.verdict, fell.p, fell.alarm)
    truth = ends(metric.truth)
    out: dict[str, Any] = {"metric": name, **ends(metric.headline), "method": metric.headline.method}
    out |= {"trust": metric.headline.trust, **dict(zip(_FALL, fall, strict=True)), "truth": truth["value"]}
    return out | {"truth_lower": truth["lower"], "truth_upper": truth["upper"]}


def _parts_table(result: Estimation) -> Table:
    """One row for each chunk or slice and metric."""
    rows = []
    for title, part in [*(("slice", item) for item in result.slices), *(("chunk", chunk) for chunk in result.chunks)]:
        where = {name: part.place.get(name) for name in ("by", "start", "end")} | {"slice": part.place.get("value")}
        where |= {"part": title, "chunk": None if "value" in part.place else part.name, "rows": part.rows}
        rows += [{**where, **_metric_cells(part, name, item)} for name, item in metrics_of(part).items()]
    about = [*(("by", "slice") if result.slices else ()), *(("chunk", "start", "end") if result.chunks else ())]
    return Table(("part", *about, *_PART), rows)


def _headline_table(result: Estimation) -> Table:
    """One row for each metric, of the whole target, beside the reference's."""
    rows = [
        {
            "rows": result.target.get("rows"),
            **_metric_cells(result, name, item),
            "reference": item.reference,
            "assumes": item.headline.assumes,
        }
        for name, item in metrics_of(result).items()
    ]
    return Table((*_PART, "reference", "assumes"), rows)


def _methods_table(result: Estimation) -> Table:
    """One row for each method and metric; the accuracy's first."""
    columns = ("metric", "method", "score", *INTERVAL, "rows", "assumes", "citation")
    rows = [
        {"metric": name, **{column: getattr(e, column) for column in columns[1:]}}
        for name, item in metrics_of(result).items()
        for e in item.estimates
    ]
    return Table(columns, rows)


def _assumptions_table(result: Estimation) -> Table:
    """One row for each thing that one may believe of the shift."""
    rows = [
        {
            "if": name,
            **ends(assumption.interval),
            "method": assumption.method,
            "refuted_by": assumption.refuted,
            "why": assumption.why,
        }
        for name, assumption in result.assumptions.items()
    ]
    return Table(("if", *INTERVAL, "method", "refuted_by", "why"), rows)
