"""Audit: what a few labels say of the accuracy, beside the label-free estimate; its power and its tenths."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..notes import BESIDE, Note
from ..plain import Json, Plain, Strings, inside
from ..results import Estimate, Interval, percent, plain
from ..results.alarms import Alarms, Fall, alarm_lines
from ..results.estimation import Headline
from ..results.values import Record, counted
from ..results.view import (
    INTERVAL,
    Beside,
    Grid,
    Maker,
    Named,
    Shown,
    Table,
    View,
    cells_of,
    ends,
    interval_of,
    shows,
    with_ends,
)
from .judge import Believed, effective_labels, exact_p_value
from .suggestion import ExpectedWidths, Suggestion


@dataclass(frozen=True)
class Noticeable(Record):
    """At an accuracy of ``below`` or less, or ``above`` or more, the test refutes the claim with chance ``power``
    (None: at none).
    """

    below: float | None
    above: float | None
    power: float


def noticeable(
    labels: int, rows: int, lower: float, upper: float, level: float, power: float = 0.9
) -> Noticeable:
    """Where `exact_p_value` of "the accuracy lies in [lower, upper]" is below 1 - level with chance ``power``, taken
    for binomial, which for a small target is on the safe side.
    """
    from scipy.special import bdtr, bdtrc

    hits = range(labels + 1)

    def refuted(hits: int) -> bool:
        return exact_p_value(hits, labels, rows, lower, upper) < 1 - level

    # hits up to which, and from which on, the claim is refuted
    highest_low = bisect_left(hits, True, key=lambda k: not (k < labels * lower and refuted(k))) - 1
    lowest_high = bisect_left(hits, True, key=lambda k: k > labels * upper and refuted(k))
    below = above = None
    if highest_low >= 0:
        below = _root(0.0, lower, lambda p: float(bdtr(highest_low, labels, p)) < power)
    if lowest_high <= labels:
        above = 1 - _root(
            0.0, 1 - upper, lambda q: float(bdtrc(lowest_high - 1, labels, 1 - q)) < power
        )
    return Noticeable(below, above, power)


def _root(low: float, high: float, beyond: Callable[[float], bool]) -> float:
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low


_TENTHS = 10


@dataclass(frozen=True)
class Stratum(Record):
    """One tenth of the target, 0 the least certain: rows, least, mean and largest f, labels, those that are right, rows
    to label.
    """

    stratum: int
    rows: int
    lowest: float
    expected: float
    highest: float
    labels: int
    correct: int
    suggested: int


def strata(
    score: Array, row: Array, correct: Array, suggested: Array | None = None, count: int = _TENTHS
) -> tuple[Stratum, ...]:
    """Tenths of the target by f, as `suggest` numbers them; empty where f is the same for every row."""
    if len(score) == 0 or float(score.min()) == float(score.max()):
        return ()
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    stratum = rank * count // len(score)
    more = np.zeros(0, dtype=np.int64) if suggested is None else suggested
    out = []
    for s in np.unique(stratum).tolist():
        f, in_stratum = score[stratum == s], stratum[row] == s
        ends = (float(f.min()), float(f.mean()), float(f.max()))
        counts = (
            int(in_stratum.sum()),
            int(correct[in_stratum].sum()),
            int((stratum[more] == s).sum()),
        )
        out.append(Stratum(s, len(f), *ends, *counts))
    return tuple(out)


@dataclass(frozen=True, repr=False)
class Audit(Shown, Named[Any]):
    """What `audit` found.

    labels : labelled target rows.
    rows : target rows.
    headline : the label-free estimate.
    estimate : the interval to believe, from the labels and the proxy; None without labels.
    label_only : the interval from the labels alone; None without labels.
    intervals : all of them.
    effective_labels : how many random labels Clopper and Pearson would need for an interval as short as ``estimate``.
    p_value : of "the truth lies in the label-free interval"; `refuted` where it is below 1 - ``level``.
    level : nominal coverage of the intervals.
    seed : of what is drawn at random.
    warnings : sentences to read before believing the number.
    suggestion : rows to label next, where asked for.
    argv : the command line; None of a call from Python.
    reference, target : names, rows, and the reference's accuracy.
    correct : labelled rows that are right.
    weighted : whether some rows were more likely to be labelled than others.
    slope, explained : how far the audit leans on the proxy, and the share of a label's variance that this is predicted
        to take away.
    noticeable : accuracies at which the test would speak (even draws only).
    strata : tenths of the target by the proxy.
    expected_widths : the width to expect of more labels, where asked for.
    proxy : what stands for labels that are missing, "confidence" or the judges' "votes".
    believed : the interval to expect if the shift is like public ones, which promises less than ``estimate`` does.
    suggest_by : how rows were suggested.
    not_random : why labelled rows can hardly be a random sample, or None.
    fell, alarms : whether the accuracy fell, and what the rules say, as `estimate` has it with these labels.
    decisions : for each rule, else for the margin, whether the labels decide it; `needed_labels` : about how many are
        missing.

    A page: `oodometer.write_report(audit, path)`.
    """

    labels: int
    rows: int
    headline: Headline
    estimate: Estimate | None
    label_only: Estimate | None
    intervals: tuple[Estimate, ...]
    effective_labels: float | None
    p_value: float | None
    level: float
    seed: int
    warnings: Strings
    suggestion: Suggestion | None = None
    argv: str | None = None
    reference: Plain = field(default_factory=dict)
    target: Plain = field(default_factory=dict)
    correct: int | None = None
    weighted: bool = False
    slope: float = 0.0
    explained: float = 0.0
    noticeable: Noticeable | None = None
    strata: tuple[Stratum, ...] = ()
    expected_widths: ExpectedWidths | None = None
    proxy: str = "confidence"
    believed: Believed | None = None
    suggest_by: str = "random"
    not_random: str | None = None
    fell: Fall | None = None
    alarms: Alarms | None = None
    decisions: tuple[Any, ...] = ()
    _noun, _kind = "interval by", "estimator"

    def entries(self) -> Mapping[str, Any]:
        """The label-free estimate, and the intervals of the labels, by their methods."""
        items: tuple[Any, ...] = (self.headline, *self.intervals)
        return {item.method: item for item in items}

    @property
    def needed_labels(self) -> int | None:
        """About how many more random labels decide every question; None where all are decided."""
        return max(
            (decision.needed for decision in self.decisions if decision.needed is not None),
            default=None,
        )

    def frames(self) -> dict[str, Maker]:
        """Intervals, each with what it is (audited, believed, label-free, another), strata, and rows to label with
        their chances.
        """
        strata, more = tuple(Stratum.__dataclass_fields__), self.suggestion
        makers: dict[str, Maker] = {"intervals": lambda: _intervals_table(self)}
        if self.strata:
            makers["strata"] = lambda: Table(strata, [stratum.to_dict() for stratum in self.strata])
        if more is not None:
            suggested = zip(more.row.tolist(), more.probability.tolist(), strict=True)
            makers["suggested"] = lambda: Table(
                ("row", "p"), [{"row": row, "p": p} for row, p in suggested]
            )
        return makers

    @property
    def refuted(self) -> bool:
        """Whether the labels contradict the label-free interval at the level."""
        return self.p_value is not None and self.p_value < 1 - self.level

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        chosen, alone, more = self.estimate, self.label_only, self.suggestion
        named: Callable[[str], Json]
        named = lambda names: {name: plain(getattr(self, name)) for name in names.split()}  # noqa: E731
        out: Json = {
            "command": "audit",
            "version": __version__,
            **named("argv level seed reference"),
            "target": {**plain(self.target), "rows": self.rows},
            **named("labels correct weighted"),
            "estimate": None if chosen is None else chosen.interval.to_dict(),
        }
        out |= {name: getattr(chosen, name, None) for name in ("method", "assumes")}
        out |= {"label_only": None if alone is None else alone.interval.to_dict()}
        out |= named("effective_labels believed headline fell alarms needed_labels decisions")
        out |= named("refuted p_value noticeable")
        out |= {
            "intervals": [
                {**e.to_dict(), "effective_labels": plain(self.worth(e))} for e in self.intervals
            ]
        }
        out |= {
            "confidence": named("slope explained"),
            **named("proxy strata"),
            "outlook": plain(self.expected_widths),
        }
        out |= {
            **named("suggest_by not_random"),
            "suggested": None if more is None else plain(more.row),
        }
        return out | {"warnings": list(self.warnings)}

    def worth(self, interval: Estimate) -> float | None:
        """What the labels are worth by this interval, in labels drawn at random and read alone."""
        if self.estimate is not None and interval.method == self.estimate.method:
            return self.effective_labels
        if interval.method == "clopper-pearson":
            return float(self.labels)
        return effective_labels(
            interval.value, interval.upper - interval.lower, self.level, self.rows
        )


@shows(Audit)
def audit_view(result: Plain) -> View:
    """What an audit says, from the mapping that JSON holds: what to believe first, then what the labels refute."""
    chosen = interval_of(result.get("estimate"))
    if chosen is None or not result.get("labels"):
        return _view_without_labels(result)
    free, rows = interval_of(result.get("headline") or {}), inside(result, "target", "rows") or 0
    random = not result.get("not_random")
    unsure = result.get("assumes") and result["labels"] < rows
    sentences = (
        *_labels(result, rows),
        _verdict(result, free, chosen),
        "" if free is None else f"Label-free estimate: {with_ends(free)}",
        *_believed(result)[result["labels"] == rows and random :],
        *_decisions(result),
        f"Assumes: {result['assumes']}" if unsure else "",
    )
    no_sample = "Accuracy of the labelled rows, which are no random sample"
    return View(
        "Audited accuracy" if random else no_sample,
        percent(chosen.value),
        chosen,
        str(result.get("method") or ""),
        sentences=tuple(filter(None, sentences)),
        details=(*_method(result), *_used(result)),
        grids=(_intervals_grid(result),),
        notes=_rows_to_label(result),
        alarms=alarm_lines(result),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        assumes=result.get("assumes"),
        against=tuple(filter(None, [result.get("not_random")])),
        fell=inside(result, "fell", "verdict"),
        cells={name: result.get(name) for name in ("method", "labels", "effective_labels")},
        basis=_counted_on(result, chosen, rows),
        beside=_believed_beside(result) if random and result["labels"] < rows else (),
    )


def _view_without_labels(result: Plain) -> View:
    """The label-free estimate of an audit that had nothing to hold it against."""
    head, rows = result.get("headline") or {}, inside(result, "target", "rows") or 0
    free = interval_of(head)
    text = f"None of these {rows:,} rows has a label yet: nothing here is more than a guess. Label the rows that "
    return View(
        "Estimated accuracy, not audited: no labels",
        "not audited" if free is None else percent(free.value),
        free,
        estimated=True,
        trust=head.get("trust"),
        sentences=(f"{text}were drawn, and run the audit again.", *_decisions(result)),
        details=_method(result),
        notes=_rows_to_label(result),
        alarms=alarm_lines(result),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        assumes=head.get("assumes"),
        fell=inside(result, "fell", "verdict"),
        cells={"method": head.get("method"), "labels": 0},
    )


def _method(result: Plain) -> Strings:
    """Which method the label-free estimate is of."""
    method = inside(result, "headline", "method")
    return (f"Label-free estimate by {method}",) if method else ()


def _rows_to_label(result: Plain) -> Strings:
    """How many rows were drawn to be labelled next."""
    suggested, rows = result.get("suggested") or (), inside(result, "target", "rows") or 0
    if not suggested:
        return ()
    return (f"{counted(len(suggested), 'row')} to label next, drawn from {rows:,}",)


def _counted_on(result: Plain, chosen: Interval, rows: int) -> str:
    """How many labels the number comes from; "of" where it is the share of them that are right."""
    labels, correct = result["labels"], result.get("correct")
    if labels == rows:
        return f"of all {rows:,} rows"
    is_share = correct is not None and abs(correct / labels - chosen.value) < 1e-9
    return f"{'of' if is_share else 'from'} {counted(labels, 'label')}"


def _intervals_grid(result: Plain) -> Grid:
    """The accuracy by each method that uses labels."""
    rows = [
        [
            item["method"],
            *cells_of(item),
            item["kind"],
            f"{item.get('effective_labels') or 0:.0f}",
            item["assumes"],
        ]
        for item in result.get("intervals") or ()
    ]
    columns = ["interval", "accuracy", "lower", "upper", "kind", "random labels", "assumes"]
    return Grid("intervals", columns, rows, noun="interval", detail=True, slot="intervals")


def _used(result: Plain) -> list[str]:
    """What the intervals use beside the labels."""
    assumes, lines = inside(result, "believed", "assumes"), []
    if any("ppi" in item["method"] for item in result.get("intervals") or ()):
        votes = result.get("proxy") == "votes"
        beside = "the judges' votes" if votes else "the model's confidence"
        lines.append(f"Intervals named ppi use the labels and {beside} on every row")
    return [*lines, f"Public shifts: {assumes}"] if assumes else lines


def _verdict(result: Plain, free: Interval | None, chosen: Interval) -> str:
    """Whether the labels contradict the label-free interval."""
    if result.get("not_random"):
        return "Neither refuted nor confirmed: the labelled rows say nothing of the others"
    if free is not None and free.lower <= 0 and free.upper >= 1:
        return "Nothing to refute: without labels every accuracy was possible"
    if result.get("p_value") is None:
        return ""
    words = "REFUTED: the labels" if result.get("refuted") else "Not refuted: the labels do not"
    verdict = f"{words} contradict the label-free interval (p = {result['p_value']:.2g})"
    if (
        free is not None
        and not result.get("refuted")
        and (chosen.upper < free.lower or chosen.lower > free.upper)
    ):
        verdict += ", though the interval from labels, which uses more than this test, lies wholly outside it"
    return verdict


def _decisions(result: Plain) -> list[str]:
    """For each bound whether one may stop labelling, or about how many more labels it takes."""
    lines = []
    for decision in result.get("decisions") or ():
        bound, needed = percent(decision["bound"]), decision.get("needed_labels")
        if decision.get("says"):
            side = "below" if decision["says"] == "below" else "not below"
            look = "wrong in 5 % at most, however often you look"
            lines.append(f"Stop: decided, the accuracy is {side} {bound} ({look})")
        elif needed is not None:
            random = (
                " drawn at random" if result.get("not_random") or not result.get("labels") else ""
            )
            more = f"{counted(needed, 'more label' if result.get('labels') else 'label')}{random}"
            lines.append(
                f"About {more} decide{'s' if needed == 1 else ''} whether the accuracy is below {bound}"
            )
    return lines


def _labels(result: Plain, rows: int) -> list[str]:
    """How many labels there are, how many are right, and as how many random ones they count."""
    labels = result["labels"]
    correct = result.get("correct")
    as_many = result.get("effective_labels")
    if result.get("not_random"):
        right = "" if correct is None else f" the model got {correct:,} right"
        return [f"Of {counted(labels, 'labelled row')} of {rows:,}{right}"]
    if labels == rows:
        return [f"All {rows:,} rows have labels: that is certain"]
    if result.get("weighted") or correct is None:
        text = f"{counted(labels, 'label')} of {rows:,} rows, more where the model is unsure, weighed accordingly"
    else:
        text = f"Of {counted(labels, 'randomly drawn row')} of {rows:,} the model got {correct:,} right"
    return [
        text,
        ""
        if as_many in (None, labels)
        else f"As informative as {counted(round(as_many), 'random label')}",
    ]


def _believed_by(result: Plain) -> str:
    """What the believed interval takes for granted."""
    by_history = inside(result, "believed", "by_history")
    return "By own history" if by_history else "If this shift resembles public ones"


def _believed_beside(result: Plain) -> tuple[Beside, ...]:
    """The believed number as a page draws it beside that of the labels alone."""
    believed = result.get("believed") or {}
    interval, worth = interval_of(believed), believed.get("effective_labels")
    if interval is None or worth is None:
        return ()
    note = f"as informative as {counted(round(worth), 'random label')}"
    return (Beside(_believed_by(result), interval, note),)


def _believed(result: Plain) -> list[str]:
    """The interval to expect if the shift is like public ones, and as how many labels that counts; or why not."""
    believed = result.get("believed") or {}
    interval = interval_of(believed)
    if interval is None or believed.get("effective_labels") is None:
        return (
            [f"If this shift resembles public ones: no interval, {believed['why']}"]
            if believed.get("why")
            else []
        )
    worth = counted(round(believed["effective_labels"]), "random label")
    span = f"{with_ends(interval)}, {percent(interval.level, None)} {interval.kind} interval"
    fell = Fall(**believed["fell"]).sentence() if believed.get("fell") else ""
    text = f"{_believed_by(result)}: {span}, as informative as {worth}"
    return [Note(text, kind=BESIDE), fell]


def _intervals_table(audit: Audit) -> Table:
    free, chosen, believed = audit.headline, audit.estimate, audit.believed
    about = {"number": "label-free", "method": free.method, "assumes": free.assumes}
    rows: list[Json] = [{**about, **ends(free)}]
    for interval in audit.intervals:
        number = "audited" if chosen is not None and interval.method == chosen.method else "another"
        about = {"number": number, "method": interval.method, "assumes": interval.assumes}
        rows.append(
            {
                **about,
                **ends(interval),
                "labels": audit.labels,
                "effective_labels": audit.worth(interval),
            }
        )
    if believed is not None and believed.interval is not None:
        about = {
            "number": "believed",
            "method": "natural shifts and labels",
            "assumes": believed.assumes,
        }
        rows.append(
            {
                **about,
                **ends(believed.interval),
                "labels": audit.labels,
                "effective_labels": believed.effective_labels,
            }
        )
    rows.sort(key=lambda row: ("audited", "believed", "label-free", "another").index(row["number"]))
    columns = ("number", "method", *INTERVAL, "labels", "effective_labels", "assumes")
    return Table(columns, rows, named="number")
