"""Estimation: the result of the verb `estimate`, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ..notes import THRESHOLD, TRUST, Note
from ..plain import Json, Plain, Strings, inside
from .alarms import Alarms, Fall, alarm_lines, points_or_more
from .diagnosis import Diagnosis, column_sentences, columns_grid
from .evaluation import votes_grids
from .values import (
    Curve,
    Estimate,
    Interval,
    Record,
    Skipped,
    WithInterval,
    counted,
    percent,
    points,
)
from .view import (
    INTERVAL,
    Grid,
    Maker,
    Named,
    Point,
    Shown,
    Table,
    View,
    cells_of,
    ends,
    interval_of,
    shows,
    with_ends,
)

_EQUAL = 0.0005  # differences below this read as none
_MOST_PARTS = 30  # slices or chunks in a table at first
_ENDS = ("value", "lower", "upper")
_TRUTH_ENDS = {"": "value", "_lower": "lower", "_upper": "upper"}  # columns of the truth

# What one may believe of the shift, and what it then leaves unchanged.
ASSUMPTIONS: dict[str, str] = {
    "natural": "this shift resembles shifts seen in public data sets",
    "none": "nothing changed but chance",
    "label": "the class shares changed and P(x | y) did not",
    "covariate": "the inputs changed and P(y | x) did not",
}


@dataclass(frozen=True)
class HistoryUsed(Record):
    """The own history behind a headline: so many ``periods`` whose truth is known.

    kind : "late labels"; "inside the reference" or "groups of the reference" where periods or groups were left out of
    that. names : of these, the oldest period first. leading : what was right most of what is said without labels.
    errors : truth less what that said, of each one. weights : of all that is said. public : the number without
    history. guard : the share of public shifts in this one. why : why that is larger than usual, or None.
    """

    kind: str
    periods: int
    names: Strings
    leading: str
    errors: tuple[float, ...]
    weights: Mapping[str, float]
    public: Interval
    guard: float
    why: str | None = None


@dataclass(frozen=True)
class Headline(WithInterval, Record):
    """The one number: value, interval, which method, how far it may be trusted and why.

    ``trust`` is "high", "low" or "none". The number and its ends are there as in an `Estimate`, too. ``bands`` stand
    beside each other: "unchanged" (if P(y | x) stood still), "half" and "nine_in_ten" (where so many of the public
    natural shifts that looked like this one ended); of a metric besides the accuracy "public", too: the whole interval
    if the shift resembles public ones, where "half" and "nine_in_ten" hear both. ``history``: the own history behind
    it, None where there is none.

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
    history: HistoryUsed | None = None
    _spread, _spare = frozenset({"interval"}), frozenset({"bands", "history"})
    _prompt = "interval kind level trust method assumes"


@dataclass(frozen=True)
class Assumed(Record):
    """What one would believe under an assumption about the shift; no interval where no method could answer.

    refuted : why the data speak against the assumption, or None. why : why there is no interval, or None. evidence :
    what else speaks for it or against it, or None.
    """

    interval: Interval | None
    method: str
    refuted: str | None = None
    why: str | None = None
    evidence: str | None = None
    _spread = frozenset({"interval"})


@dataclass(frozen=True)
class PartReference(Record):
    """What a part is held against: ``pooled``, the accuracy of the reference's own rows of the part, drawn towards what
    the estimate says of them where they are few.

    rows, accuracy : of these rows alone (0 and None where the reference has none). share : how much they count in
    ``pooled``, from 0 to 1; None where it is the reference as a whole. why : what that is, in a sentence.
    """

    pooled: float
    rows: int = 0
    accuracy: float | None = None
    share: float | None = None
    why: str = ""
    _first = "rows accuracy pooled share why"


@dataclass(frozen=True)
class Part(Record):
    """A slice or a chunk of the target with its own headline and estimates.

    ``place`` holds ``by`` and ``value``, or ``name``, ``start`` and ``end``, ``timezone`` where it has one, and
    ``partial`` where it is the last and not finished;
    ``truth`` is the accuracy where rows are labelled;
    ``fell`` says whether it lies below that of the reference, corrected for the number of parts; ``signs`` how far the
    outputs moved, and how much of it other class shares leave unexplained (`ShiftStatistics`); ``metrics`` what was
    asked for besides the accuracy; ``reference`` what it is held against. Where labels take part, ``headline`` and
    ``fell`` are with them, and ``headline_without_labels`` and ``fell_without_labels`` as they would be without any
    (else None). Where every row has a label, ``truth`` and ``fell`` are certain, and ``headline`` is the estimate
    without them.
    """

    place: Plain
    rows: int
    headline: Headline
    estimates: tuple[Estimate, ...]
    truth: Interval | None = None
    fell: Fall | None = None
    signs: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, MetricEstimation] = field(default_factory=dict)
    fell_without_labels: Fall | None = None
    headline_without_labels: Headline | None = None
    reference: PartReference | None = None
    _first = "place rows reference headline estimates truth fell fell_without_labels"
    _spread = frozenset({"place"})
    _prompt = "name rows headline truth fell"
    _spare = frozenset({"fell_without_labels", "headline_without_labels", "metrics"})

    @property
    def by_labels(self) -> bool:
        """Whether labels take part in what is said: in the headline, or as the truth of every row."""
        return self.fell_without_labels is not None

    @property
    def is_known(self) -> bool:
        """Whether every row has a label, so that ``truth`` stands in the place of the estimate."""
        return self.by_labels and self.headline_without_labels is None

    @property
    def name(self) -> str:
        """What people call it: the value of a slice, the month or the rows of a chunk."""
        return str(self.place.get("value", self.place.get("name", self.place.get("start"))))


@dataclass(frozen=True, repr=False)
class Estimation(Shown, Record, Named[Estimate]):
    """What `estimate` found: a headline, every method's estimate, what was skipped and what to beware of.

    It is a mapping from methods to their estimates, ``estimation["atc"]``; ``to_dict()`` is the JSON of the command
    line. At a prompt and in a notebook it shows its summary.

    reference : its name, rows and classes, and its accuracy with an exact interval.
    target : its name, rows, labelled rows, and their accuracy (`truth`; None without labels).
    headline : the one number to go by; with labels of some rows, corrected by them.
    estimates : of each method that could answer.
    skipped : methods that could not, and why.
    warnings : sentences to read before believing the number.
    level : nominal coverage of the intervals.
    seed : of what is drawn at random.
    calibration : the calibrator that was chosen ("name", None where none was), "why", and the cross-validated "scores".
    risk_coverage : selective accuracy over coverage, estimated without labels; None where it cannot be.
    reliability : the reliability diagram of the reference, 15 bins; None where confidence is not drawn.
    confidence : shares of the rows of reference and target in 20 bins of confidence; None where ``reliability`` is.
    slices, chunks : parts of the target by the values of a column, or along time or rows, each with its own headline;
        empty where not asked for.
    argv : the command line; None of a call from Python.
    diagnosis : what kind of shift it is; None where it was not looked for.
    backtest : the trials on simulated shifts that weighed the methods: how many, on how many rows, of which families
        and methods; None without trials.
    assumptions : name of an assumption about the shift -> what one would believe under it.
    assume : the assumption that the headline makes, by default "natural".
    fell : whether the accuracy fell by at least a margin below that of the reference.
    metrics : name -> estimation of each metric besides the accuracy that was asked for.
    alarms : what the rules say of headline and parts; None without rules.
    fell_without_labels : ``fell`` as it would be without labels of the target; None where these take no part in it.
    headline_without_labels : the headline before labels of some rows corrected it, else None.
    not_random : why the labelled rows can hardly be a random sample, or None.
    named : the methods that were asked for by name; empty where all were run.
    """

    reference: Plain
    target: Plain
    headline: Headline
    estimates: tuple[Estimate, ...]
    skipped: tuple[Skipped, ...]
    warnings: Strings
    level: float
    seed: int
    calibration: Plain = field(default_factory=dict)
    risk_coverage: Curve | None = None
    reliability: Plain | None = None
    confidence: Plain | None = None
    slices: tuple[Part, ...] = ()
    chunks: tuple[Part, ...] = ()
    argv: str | None = None
    diagnosis: Diagnosis | None = None
    backtest: Plain | None = None
    assumptions: Mapping[str, Assumed] = field(default_factory=dict)
    assume: str = "natural"
    fell: Fall | None = None
    metrics: Mapping[str, MetricEstimation] = field(default_factory=dict)
    alarms: Alarms | None = None
    fell_without_labels: Fall | None = None
    headline_without_labels: Headline | None = None
    not_random: str | None = None
    named: Strings = ()
    _command = "estimate"
    _first = "argv level seed reference target headline headline_without_labels truth fell fell_without_labels "
    _first += "not_random alarms assume assumptions "
    _first += (
        "metrics named estimates skipped warnings calibration diagnosis backtest risk_coverage"
    )
    _spare = frozenset(("headline_without_labels", "fell_without_labels", "not_random"))
    _spare |= frozenset(("diagnosis", "backtest", "risk_coverage", "reliability", "confidence"))
    _spare |= frozenset(("slices", "chunks", "named"))
    _entries, _noun, _kind = ("estimates", "method"), "estimate by", "estimator"

    @property
    def by_labels(self) -> bool:
        """Whether labels of the target take part in ``fell``, ``alarms`` and the number.

        Some labels correct the headline, and ``headline_without_labels`` is the one before; where all rows have one
        (`is_known`), `truth` stands in its place. Labels that can hardly be a random sample (``not_random``: why) do
        neither.
        """
        return self.fell_without_labels is not None

    @property
    def is_known(self) -> bool:
        """Whether every row has a label, so that `truth` stands in the place of the estimate."""
        return self.by_labels and self.headline_without_labels is None

    @property
    def truth(self) -> Interval | None:
        """The accuracy on the labelled rows of the target, None without any."""
        return interval_of(self.target.get("accuracy"))

    def frames(self) -> dict[str, Maker]:
        """Parts where there are any, then methods, headline and assumptions; how the user's columns moved."""
        parts = {"parts": _parts_table} if self.slices or self.chunks else {}
        makers = {
            **parts,
            "methods": _methods_table,
            "headline": _headline_table,
            "assumptions": _assumptions_table,
        }
        columns = {} if self.diagnosis is None else self.diagnosis.frames()
        tables: dict[str, Maker] = {name: partial(table, self) for name, table in makers.items()}
        return tables | {name: table for name, table in columns.items() if name == "columns"}

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out = super().to_dict()
        if out["truth"]:
            out["truth"] |= {"labelled": self.target.get("labelled"), "decides": self.is_known}
        return out


def worst_parts(parts: Sequence[Plain], limit: int) -> list[int]:
    """Of many parts the places of those with an alarm and those of lowest estimated accuracy, in their order."""
    values = [inside(part, "headline", "value") for part in parts]
    ranks = [
        (not _is_alarm(part), 2.0 if v is None else v)
        for part, v in zip(parts, values, strict=True)
    ]
    order = sorted(range(len(parts)), key=ranks.__getitem__)
    return sorted(order[: max(limit, sum(map(_is_alarm, parts)))])


def alarm_text(fell: Fall | None) -> str:
    """A cell of a table: whether a part fell, and whether that is an alarm."""
    if fell is not None and fell.alarm:
        return "ALARM"
    if fell is None or fell.verdict == "cannot say":
        return ""
    return "no" if fell.verdict == "holds" else "likely, by chance as well"


@shows(Estimation)
def estimation_view(result: Plain) -> View:
    """What an estimate says, from the mapping that JSON holds, as far as it goes."""
    head, truth = result.get("headline") or {}, _truth(result)
    measured, estimate = bool(truth.get("decides")), interval_of(head)
    item = interval_of(truth) if measured else estimate
    believed = {} if measured else head  # a truth is not believed
    details = [*_details(result), *threshold_sentences(result)]
    warnings = result.get("warnings") or ()
    in_sentence = head.get("why") or "" if head.get("trust") == "none" else None
    return View(
        "True accuracy" if measured else "Estimated accuracy",
        "none" if item is None else cells_of(item)[0],
        item,
        estimated=not measured,
        trust=believed.get("trust"),
        sentences=tuple(filter(None, _sentences(result, item, estimate))),
        details=tuple(filter(None, details)),
        points=tuple(_points(result.get("chunks") or ())),
        line=inside(result, "reference", "accuracy"),
        line_name="reference",
        grids=(
            *_metrics_grids(result),
            *_parts_grids("slice", result.get("slices") or ()),
            *_parts_grids("chunk", result.get("chunks") or ()),
            *(
                replace(grid, noun="", detail=True, few=None)
                for grid in columns_grid(result.get("diagnosis") or {})
            ),
            *_method_grids(result),
            *votes_grids(result),
        ),
        alarms=alarm_lines(result),
        warnings=tuple(warning for warning in warnings if warning != in_sentence),
        seed=result.get("seed"),
        assumes=believed.get("assumes"),
        against=tuple(_against(result)),
        fell=inside(result, "fell", "verdict"),
        cells=_headline_cells(result, head, truth),
    )


def _against(result: Plain) -> list[str]:
    """What contradicts the assumption of the headline, and the truth where it lies outside the interval."""
    refuted = inside(result, "assumptions", result.get("assume") or "natural", "refuted")
    lines = [str(refuted)] if refuted else []
    truth, estimate = interval_of(_truth(result)), interval_of(result.get("headline"))
    if truth and estimate and not estimate.lower <= truth.value <= estimate.upper:
        lines.append(
            f"the labelled rows say {with_ends(truth)}, the estimate {with_ends(estimate)}"
        )
    return lines


def _headline_cells(result: Plain, head: Plain, truth: Plain) -> Json:
    """The row of the headline in tables: the estimate, beside the truth where labels tell it."""
    return {
        **ends(head),
        "metric": "accuracy",
        "method": head.get("method"),
        "assumes": head.get("assumes"),
        "rows": inside(result, "target", "rows"),
        "trust": head.get("trust"),
        "fell_p": inside(result, "fell", "p"),
        "alarm": inside(result, "fell", "alarm"),
        **{f"truth{end}": truth.get(name) for end, name in _TRUTH_ENDS.items()},
        "reference": inside(result, "reference", "accuracy"),
    }


def _details(result: Plain) -> list[str]:
    """The bands of the headline, its method, and what that assumes in full."""
    head = result.get("headline") or {}
    bands = "" if result.get("headline_without_labels") else _bands(head)
    if not head.get("method"):
        return [bands]
    assumes = str(head.get("assumes") or "")
    more = f". It assumes in full: {assumes}" if " (" in assumes else ""
    return [bands, f"Method: {head['method']}{more}"]


def _points(chunks: Sequence[Plain]) -> list[Point]:
    """The chunks with a number, for the small chart; nothing where there is but one."""
    points = []
    for part in chunks:
        at = interval_of(part.get("headline"))
        if at is not None:
            truth = inside(part, "truth", "value")
            points.append(Point(_name(part), at.value, at.lower, at.upper, truth, _is_alarm(part)))
    return points if len(points) > 1 else []


def _sentences(result: Plain, item: Interval | None, estimate: Interval | None) -> list[str]:
    """Against the reference, whether it fell, the truth, how far to trust the number, the shift, the assumption."""
    if item is None:
        return ["No method could answer on these data; the reasons are listed below."]
    head, fell = result.get("headline") or {}, result.get("fell")
    unknown = (
        head.get("trust") == "none" and item is estimate and item.lower <= 0 and item.upper >= 1
    )
    assumes = "" if unknown else str(head.get("assumes") or "").partition(" (")[0]
    return [
        "Without labels the accuracy cannot be known: any value is possible" if unknown else "",
        _against_reference(result, item.value, unknown),
        Fall(**fell).sentence() if fell else "",
        _without_history(head),
        *_inputs_alone(result),
        *_by_labels(result, item, estimate),
        *_trust_and_shift(head, result.get("diagnosis") or {}),
        f"Assumes: {assumes}" if assumes else "",
    ]


def _labelled(result: Plain) -> int:
    """Number of labelled target rows."""
    count = _truth(result).get("labelled") or inside(result, "target", "labelled")
    return count or 0


def _measured_on(result: Plain) -> str:
    """Which rows the number is of."""
    truth, rows = _truth(result), inside(result, "target", "rows") or 0
    if truth.get("decides"):
        return f"Measured on {counted(_labelled(result), 'labelled row')}"
    if interval_of(result.get("headline_without_labels")) is not None:
        return f"On {counted(rows, 'row')}, {_labelled(result):,} of them labelled"
    return f"On {counted(rows, 'row')} without labels" if rows and not truth else ""


def _against_reference(result: Plain, value: float, unknown: bool) -> str:
    """The rows, and how far the number is from the reference accuracy; of an unknown number that alone."""
    text, reference = _measured_on(result), result.get("reference") or {}
    if reference.get("accuracy") is not None:
        rows = f" on {counted(reference['rows'], 'row')}" if reference.get("rows") else ""
        yardstick = f"reference accuracy ({percent(reference['accuracy'])}{rows})"
        gap = round(value, 3) - round(reference["accuracy"], 3)
        if not unknown and abs(gap) < _EQUAL:
            yardstick = f"the same as the {yardstick}"
        elif not unknown:
            yardstick = f"{points(gap)} {'below' if gap < 0 else 'above'} the {yardstick}"
        text = ": ".join(filter(None, (text, yardstick)))
    return text[:1].upper() + text[1:]


def _by_labels(result: Plain, item: Interval, estimate: Interval | None) -> list[str]:
    """What is estimated without labels beside what they say, as far as both are there."""
    truth, without = _truth(result), interval_of(result.get("headline_without_labels"))
    if truth.get("decides") and estimate is not None:
        remark = "; it held the truth" if estimate.lower <= item.value <= estimate.upper else ""
        return [f"Estimated without labels: {with_ends(estimate)}{remark}"]
    if interval_of(truth) is None:
        return []
    labels = f"{with_ends(truth)} on {counted(_labelled(result), 'labelled target row')}"
    if without is None:
        return [f"Labelled rows: {labels}"]
    return [f"Estimated without labels: {with_ends(without)}", f"Labels alone: {labels}"]


def _trust_and_shift(head: Plain, diagnosis: Plain) -> list[str]:
    """How far to trust the number, and the kind of shift, which is not said twice."""
    lines: list[str] = []
    shift = diagnosis.get("why") or ""
    if head.get("trust"):
        why = head.get("why") or ""
        for part in (f": {shift}", f"; {shift}", f"{shift}; ", shift) if shift else ():
            why = why.replace(part, "")
        why = why or "see the kind of shift"
        lines.append(Note(f"Trust {head['trust']}: {why}", TRUST, about=why))
    if diagnosis.get("kind"):
        because = f": {shift}" if shift else ""
        lines += [f"Kind of shift: {diagnosis['kind']}{because}", *column_sentences(diagnosis)]
    return lines


def _without_history(head: Plain) -> str:
    """The number as it would be without own history; empty where there is none."""
    without = interval_of(inside(head, "history", "public"))
    return "" if without is None else f"Without own history: {with_ends(without)}"


def _inputs_alone(result: Plain) -> list[str]:
    """The other reading: the number if only the inputs changed, and what speaks for it or against it."""
    covariate = inside(result, "assumptions", "covariate") or {}
    interval = interval_of(covariate)
    # of what people say of the judges, not of the inputs
    judged = str(covariate.get("method")).startswith("votes")
    if interval is None or judged or result.get("assume", "natural") != "natural":
        return []
    says = covariate.get("evidence")
    if covariate.get("refuted"):  # the diagnosis has a line of its own and is not said twice
        is_repeated = covariate["refuted"] in (inside(result, "diagnosis", "why") or "")
        says = f"the data contradict it: {'see the kind of shift' if is_repeated else covariate['refuted']}"
    why = f" ({says})" if says else ""
    return [f"If only the inputs changed: {with_ends(interval)}{why}"]


def _truth(result: Plain) -> Plain:
    """The accuracy by labels, with their number and whether they decide; empty without labels."""
    truth: Plain = result.get("truth") or inside(result, "target", "accuracy") or {}
    return truth


def _bands(head: Plain) -> str:
    """The three bands of a headline in a sentence; empty where it has none."""
    bands = head.get("bands") or {}
    same, half, nine_in_ten = (
        interval_of(bands.get(name)) for name in ("unchanged", "half", "nine_in_ten")
    )
    if same is None or half is None or nine_in_ten is None:
        return ""
    text = f"If P(y | x) is unchanged: {percent(same.lower)} to {percent(same.upper)}; half of public natural shifts "
    text += f"like this one ended in {percent(half.lower, 0)} to {percent(half.upper, 0)}, nine in ten in "
    return text + f"{percent(nine_in_ten.lower, 0)} to {percent(nine_in_ten.upper, 0)}"


def _name(part: Plain) -> str:
    """What people call a part: the value of a slice, the month or the rows of a chunk."""
    return str(part.get("value", part.get("name", part.get("start"))))


def _is_alarm(part: Plain) -> bool:
    return bool(inside(part, "fell", "alarm"))


_STILL = "if only the inputs changed"


def _metrics_grids(result: Plain) -> list[Grid]:
    """What was asked for besides the accuracy; what each method says of it waits."""
    metrics = result.get("metrics") or {}
    rows, methods = [], []
    for name, metric in metrics.items():
        references = [number(inside(metric, side, "value")) for side in ("reference", "truth")]
        bands = metric.get("bands") or {}
        still = interval_of(bands.get("unchanged"))
        inputs = (
            ""
            if still is None
            else f"{number(still.value)} [{number(still.lower)}, {number(still.upper)}]"
        )
        rows.append(
            [name, *(number(metric[end]) for end in _ENDS), inputs, metric["trust"], *references]
        )
        for e in metric.get("estimates") or ():
            methods.append([name, e["method"], *(number(e[end]) for end in _ENDS), e["assumes"]])
        if (public := interval_of(bands.get("public"))) is not None:
            ends = (number(end) for end in (public.value, public.lower, public.upper))
            methods.append([name, "public shifts", *ends, ASSUMPTIONS["natural"]])
    grids = [
        Grid.used(
            "metrics",
            ["metric", *_ENDS, _STILL, "trust", "reference", "truth"],
            rows,
            {4, 7},
            slot="metrics",
        ),
        Grid(
            "metrics by each method",
            ["metric", "method", *_ENDS, "assumes"],
            methods,
            noun="",
            detail=True,
            slot="metrics by method",
        ),
    ]
    return grids if metrics else []


def _parts_grids(title: str, parts: Sequence[Plain]) -> list[Grid]:
    """Slices or chunks, of very many those with an alarm and the worst at first; their metrics beside the truth."""
    if not parts:
        return []
    few = worst_parts(parts, _MOST_PARTS) if len(parts) > _MOST_PARTS else None
    hidden = 0 if few is None else len(parts) - len(few)
    zone = next((f" ({part['timezone']})" for part in parts if part.get("timezone")), "")
    columns = [title + zone, "rows", "accuracy", "lower", "upper"]
    columns += ["inputs only", "reference", "fell", "truth"]
    rest = f"{hidden} {title}s without an alarm are left out, none worse than these: -v"
    grid = Grid.used(
        f"{title}s",
        columns,
        [_part_row(part) for part in parts],
        {5, 6, 7, 8},
        noun=title,
        few=few,
        slot=f"{title}s",
        marked=frozenset(i for i, part in enumerate(parts) if _is_alarm(part)),
        notes=_alarms_note(title, parts),
        rest=rest if hidden else "",
    )
    return [grid, *_parts_metrics_grid(title, parts, few)]


def _part_row(part: Plain) -> list[str]:
    """The accuracy of a slice or chunk, if only the inputs changed, of the reference, whether it fell, the truth."""
    head, against = part.get("headline") or {}, part.get("reference") or {}
    inputs = cells_of(inside(head, "bands", "unchanged"))[0]
    reference = "" if against.get("share") is None else percent(against["pooled"])
    fell = alarm_text(Fall(**part["fell"]) if part.get("fell") else None)
    cells = [*cells_of(head), inputs, reference, fell, cells_of(part.get("truth"))[0]]
    return [_name(part), f"{part['rows']:,}", *cells]


def _alarms_note(title: str, parts: Sequence[Plain]) -> Strings:
    """How many of the parts are alarms, and of what."""
    fell = [part["fell"] for part in parts if part.get("fell")]
    if not fell:
        return ()
    counts = f"{sum(map(_is_alarm, parts))} of {len(fell)} {title}{'' if len(fell) == 1 else 's'}"
    return (f"{counts}: a fall by {points_or_more(fell[0]['by_at_least'])} is likely (alarm)",)


def _parts_metrics_grid(
    title: str, parts: Sequence[Plain], few: Sequence[int] | None
) -> list[Grid]:
    """The metrics of slices or chunks, each beside its truth where there is any."""
    names = list(dict.fromkeys(name for part in parts for name in part.get("metrics") or {}))
    if not names:
        return []
    metrics = [[inside(part, "metrics", name) or {} for name in names] for part in parts]
    has_truth = any(item.get("truth") for items in metrics for item in items)
    width = 2 if has_truth else 1  # of a metric
    heads, rows = [title], [[_name(part)] for part in parts]
    for name in names:
        heads += [name, "truth"][:width]
    for row, items in zip(rows, metrics, strict=True):
        for item in items:
            cells = [number(item.get("value")), number(inside(item, "truth", "value"))]
            row += cells[:width]
    return [Grid(f"metrics of {title}s", heads, rows, noun=title, few=few, slot="metrics of parts")]


def _method_grids(result: Plain) -> list[Grid]:
    """Every method, every assumption about the shift, and the methods that were left out: all wait but for methods
    that were named, which are what was asked for.
    """
    skipped = [[item["method"], item["why"]] for item in result.get("skipped") or ()]
    named, heads = bool(result.get("named")), ["accuracy", "lower", "upper"]
    believed = []
    for name, assumption in (result.get("assumptions") or {}).items():
        cells = cells_of(assumption)
        against = f"contradict it: {assumption['refuted']}" if assumption.get("refuted") else ""
        if not cells[0]:
            against = assumption["why"] or against
        method = assumption["method"].partition(":")[0] if cells[0] else ""
        believed.append([ASSUMPTIONS.get(name, name), *cells, method, against])
    return [
        _methods_grid(result.get("estimates") or [], skipped if named else None),
        Grid(
            "under each assumption",
            ["if", *heads, "method", "the data"],
            believed,
            noun="",
            detail=True,
            slot="assumptions",
        ),
        Grid(
            "methods that were left out",
            ["method", "why"],
            skipped,
            noun="" if named else "skipped method",
            detail=True,
            slot="left out",
        ),
    ]


def _methods_grid(estimates: Sequence[Plain], skipped: Sequence[Sequence[str]] | None) -> Grid:
    """What each method says; ``skipped``: of methods that were named those that could not and why, else None."""
    kinds = list(dict.fromkeys(estimate["kind"] for estimate in estimates))
    several = len(kinds) > 1
    rows = [
        [e["method"], *cells_of(e), e["kind"] if several else "", e["assumes"]] for e in estimates
    ]
    heads = ["method", "accuracy", "lower", "upper", "kind", "assumes"]
    return Grid.used(
        "methods" if several else f"methods, {''.join(kinds)} intervals",
        heads,
        rows,
        {4},
        noun="method",
        detail=skipped is None,
        main=None if skipped is None else range(4),
        notes=[f"{method}: {why}" for method, why in skipped or ()],
        across="column",
        slot="methods",
    )


def threshold_sentences(result: Plain) -> list[str]:
    """From which confidence on the estimated accuracy reaches what was asked for."""
    lines = []
    for answer in inside(result, "risk_coverage", "answers") or []:
        target, safe = percent(answer["accuracy"] or 0), answer["safe_threshold"]
        text = f"Threshold: no part of the target reaches an estimated accuracy of {target}"
        if answer["threshold"] is not None and answer["coverage"] is not None:
            text = f"Threshold: at confidence >= {answer['threshold']:.4f} ({percent(answer['coverage'])} of the rows) "
            text += f"estimated accuracy is at least {target}; "
            reached = "nowhere does the band's lower end reach it"
            text += reached if safe is None else f"the band's lower end reaches it at >= {safe:.4f}"
        lines.append(text)
    if lines and inside(result, "diagnosis", "kind") == "support":
        lines.append(
            "Do not rely on this threshold: it holds only if confidence means what it meant on the reference"
        )
    return [Note(line, kind=THRESHOLD) for line in lines]


def number(value: float | None) -> str:
    """A metric in a table: three decimals; empty where there is none."""
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"


@dataclass(frozen=True)
class MetricEstimation(WithInterval, Record, Named[Estimate]):
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
    _first, _spread = "headline reference truth assumptions", frozenset({"headline"})
    _entries, _noun, _kind = ("estimates", "method"), "estimate of this metric by", "estimator"

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


_FALL = ("fell", "fell_p", "alarm")
_PART = (
    "rows",
    "metric",
    *INTERVAL,
    "method",
    "trust",
    *_FALL,
    "truth",
    "truth_lower",
    "truth_upper",
)


class OneMetric(NamedTuple):
    """One metric of a result or of a part: its headline, what each method says, the reference's own, the truth."""

    headline: Headline
    estimates: tuple[Estimate, ...]
    reference: float | None
    truth: Interval | None


def metrics_of(item: Estimation | Part) -> dict[str, OneMetric]:
    """Every metric by its name: accuracy first, then what was asked for; of a part with what it is held against."""
    if isinstance(item, Estimation):
        accuracy = item.reference.get("accuracy")
        reference = accuracy["value"] if isinstance(accuracy, Mapping) else accuracy
    else:
        reference = None if item.reference is None else item.reference.pooled
    by_name = {"accuracy": OneMetric(item.headline, item.estimates, reference, item.truth)}
    for name, metric in item.metrics.items():
        metric_reference = None if metric.reference is None else metric.reference.value
        by_name[name] = OneMetric(metric.headline, metric.estimates, metric_reference, metric.truth)
    return by_name


def _metric_cells(item: Estimation | Part, name: str, metric: OneMetric) -> Json:
    """Cells of a metric of the whole or of a part: number, fall, truth."""
    head = metric.headline
    truth = ends(metric.truth)
    fell = item.fell if name == "accuracy" else None
    fall = zip(_FALL, (getattr(fell, key, None) for key in ("verdict", "p", "alarm")), strict=True)
    out = {"metric": name, **ends(head), "method": head.method, "trust": head.trust, **dict(fall)}
    return out | {
        "assumes": head.assumes,
        "truth": truth["value"],
        "truth_lower": truth["lower"],
        "truth_upper": truth["upper"],
    }


def _several(result: Estimation) -> list[str]:
    """The column `metric`, where there are metrics besides the accuracy."""
    return ["metric"] if result.metrics else []


def _parts_table(result: Estimation) -> Table:
    """One row for each chunk or slice and metric."""
    rows = []
    for title, part in [
        *(("slice", item) for item in result.slices),
        *(("chunk", chunk) for chunk in result.chunks),
    ]:
        where = {name: part.place.get(name) for name in ("by", "start", "end")} | {
            "slice": part.place.get("value")
        }
        where |= {
            "part": title,
            "chunk": None if "value" in part.place else part.name,
            "rows": part.rows,
        }
        for name, item in metrics_of(part).items():
            rows.append({**where, **_metric_cells(part, name, item), "reference": item.reference})
    about = [
        *(("by", "slice") if result.slices else ()),
        *(("chunk", "start", "end") if result.chunks else ()),
    ]
    main = (*about, "rows", *_several(result), *_ENDS, "fell", "alarm", "truth")
    return Table(
        ("part", *about, *_PART, "reference", "assumes"),
        rows,
        tuple(name for name in main if name != "by"),
        "part",
    )


def _headline_table(result: Estimation) -> Table:
    """One row for each metric, of the whole target, beside the reference's."""
    rows = []
    for name, item in metrics_of(result).items():
        rows.append(
            {
                "rows": result.target.get("rows"),
                "reference": item.reference,
                **_metric_cells(result, name, item),
            }
        )
    main = (
        *_several(result),
        *_ENDS,
        "kind",
        "method",
        "trust",
        "fell",
        "alarm",
        "truth",
        "reference",
    )
    return Table((*_PART, "reference", "assumes"), rows, main)


def _methods_table(result: Estimation) -> Table:
    """One row for each method and metric; the accuracy's first."""
    columns = ("method", "score", *INTERVAL, "rows", "assumes", "citation")
    every = [
        (name, estimate) for name, item in metrics_of(result).items() for estimate in item.estimates
    ]
    rows = [
        {"metric": name, **{key: getattr(estimate, key) for key in columns}}
        for name, estimate in every
    ]
    main = (*_several(result), "method", *_ENDS, "kind")
    return Table(("metric", *columns), rows, main, "method")


def _assumptions_table(result: Estimation) -> Table:
    """One row for each thing that one may believe of the shift."""
    rows = []
    for name, item in result.assumptions.items():
        rows.append(
            {
                "if": name,
                **ends(item.interval),
                "method": item.method,
                "refuted_by": item.refuted,
                "why": item.why,
            }
        )
    return Table(("if", *INTERVAL, "method", "refuted_by", "why"), rows)
