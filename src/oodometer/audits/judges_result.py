"""The result of an audit of judges: the corrected rate first, then how the judges stand to people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..plain import Json, Plain, Strings, inside
from ..results import Estimate, percent, plain
from ..results.gate import Gate, gate_sentence
from ..results.values import Interval, counted, listed, points, signed_points
from ..results.view import (
    Grid,
    Maker,
    Table,
    View,
    cell,
    ends,
    interval_of,
    p_text,
    shows,
    with_ends,
)
from .judges import Bias, JudgeRates
from .result import Audit

_STANDS = 0.05  # corrected p-value below which a bias or a change is named
_MOST_NAMED = 2
_USUAL = 0.1  # the width whose labels are told first, of the scale


@dataclass(frozen=True, repr=False)
class JudgeAudit(Audit):
    """What `audit` found of judges: an `Audit` whose ``estimate`` is the rate that people would find on all rows.

    judges : how each stands to people. bias : every look at whether verdicts depend on a column at equal labels.
    groups : the rate by group. labels_for_width : labels for widths of the interval, with the judges and alone.
    changed : looks at whether the judges changed since an earlier run. scale : lowest and highest grade of the labels,
    or None. label : the column of people's verdicts. compared : two models, of whose difference all numbers are.
    not_given : intervals that are not there, and why. Of two models: population, "system" or "rows", that the
    difference is of; label_counts, labelled rows of ``a``, ``b`` and ``both``; gate, whether the second fell by more
    than the drop that was named.
    """

    judges: tuple[JudgeRates, ...] = ()
    bias: tuple[Bias, ...] = ()
    groups: tuple[Plain, ...] = ()
    labels_for_width: tuple[Plain, ...] = ()
    changed: tuple[Bias, ...] = ()
    scale: tuple[float, float] | None = None
    label: str = ""
    compared: Strings = ()
    not_given: Strings = ()
    population: str = ""
    label_counts: Mapping[str, int] = field(default_factory=dict)
    gate: Gate | None = None

    def entries(self) -> Mapping[str, Any]:
        """The intervals of the rate, by their methods; without people's labels there is no estimate beside them."""
        return {interval.method: interval for interval in self.intervals}

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        out = {**super().to_dict(), "headline": None}
        for name in (
            "believed",
            "noticeable",
            "confidence",
            "proxy",
            "strata",
            "outlook",
            "suggest_by",
        ):
            del out[name]
        rate = (
            None if self.estimate is None else {**out["estimate"], "method": self.estimate.method}
        )
        first = plain(self.judges[0]) if self.judges else None
        out |= {"rate": rate, "judge": first, "methods": out["intervals"]}
        names = (
            "judges",
            "bias",
            "groups",
            "labels_for_width",
            "changed",
            "scale",
            "label",
            "compared",
            "not_given",
            "population",
            "label_counts",
            "gate",
        )
        if self.compared and rate is not None:
            out["difference"] = {
                **rate,
                **dict(zip("ab", self.compared, strict=True)),
                "rows": self.labels,
            }
        return out | {name: plain(getattr(self, name)) for name in names}

    def worth(self, interval: Estimate) -> float | None:
        """What the labels are worth by the interval that is believed, in labels read alone."""
        is_believed = self.estimate is not None and interval.method == self.estimate.method
        return (
            self.effective_labels
            if is_believed
            else float(self.labels)
            if interval.method == "labels-alone"
            else None
        )

    def frames(self) -> dict[str, Maker]:
        """The intervals, the judges' rates, and what else there is."""
        spans = [{"method": e.method, **ends(e), "assumes": e.assumes} for e in self.intervals]
        rates = [
            {"judge": judge.judge, "rate": name, **ends(getattr(judge, name))}
            for judge in self.judges
            for name in ("agreement", "kappa", "sensitivity", "specificity", "correlation")
            if getattr(judge, name) is not None
        ]
        tables: dict[str, list[Json]] = {"intervals": spans, "judges": rates}
        tables |= {
            name: plain(getattr(self, name))
            for name in ("bias", "groups", "labels_for_width", "changed")
        }
        columns = {
            name: tuple(dict.fromkeys(n for row in rows for n in row))
            for name, rows in tables.items()
        }
        named = {"intervals": "method"}
        return {
            name: partial(Table, columns[name], rows, named=named.get(name, ""))
            for name, rows in tables.items()
            if rows
        }


@dataclass(frozen=True)
class _Scale:
    """How the numbers of an audit are written: as shares, as grades, or as differences of two models."""

    low: float
    high: float
    is_graded: bool
    is_difference: bool

    @classmethod
    def of(cls, result: Plain) -> _Scale:
        """That of a result."""
        graded = result.get("scale")
        low, high = graded or (0.0, 1.0)
        return cls(low, high, bool(graded), bool(result.get("compared")))

    @property
    def in_points(self) -> bool:
        """Whether numbers are differences of two shares."""
        return self.is_difference and self.high == 1

    @property
    def is_share(self) -> bool:
        """Whether numbers are shares themselves."""
        return not self.in_points and not self.is_graded

    @property
    def usual_width(self) -> float:
        """The width of an interval whose labels are told first."""
        return _USUAL * (self.high - self.low) / (2 if self.is_difference else 1)

    @property
    def width_text(self) -> str:
        """That width as text."""
        graded = self.is_graded and not self.in_points
        return f"{self.usual_width:.3g}" if graded else points(_USUAL)

    def at(self, accepted: float) -> float:
        """Where the share of rows that a judge accepts lies on the scale."""
        return self.low + accepted * (self.high - self.low)

    def text(self, value: float) -> str:
        """A number."""
        if self.in_points:
            return signed_points(value)
        if self.is_graded:
            return f"{value:{'+' if self.is_difference else ''}.3g}"
        return percent(value)

    def amount(self, value: float) -> str:
        """An amount without its sign."""
        return points(value) if self.in_points else f"{abs(value):.3g}"

    def cells(self, item: Plain) -> list[str]:
        """A number and both ends of its interval."""
        return [self.text(item[n]) if n in item else "" for n in ("value", "lower", "upper")]


@shows(JudgeAudit)
def judges_view(result: Plain) -> View:
    """What an audit of judges says, from the mapping that JSON holds: the rate, the judges, their bias, more labels."""
    scale, rate = _Scale.of(result), interval_of(result.get("rate"))
    suggested, warnings = result.get("suggested") or (), tuple(result.get("warnings") or ())
    next_rows = f"{counted(len(suggested), 'row')} to label next, spread over what the judges say"
    notes = (next_rows,) if suggested else ()
    if rate is None:
        title, says = "Corrected rate: no labels yet", _unlabelled(result)
        return View(title, "none", sentences=(says,), notes=notes, warnings=warnings)
    since = inside(result, "reference", "name") or "the earlier run"
    every, gate = _has_every_label(result), result.get("gate")
    certain = [f"All {result['labels']:,} rows have labels: that is certain"]
    return View(
        _title(result),
        scale.text(rate.value),
        rate,
        str(result.get("method") or ""),
        share=scale.is_share,
        gap=scale.in_points,
        sentences=(
            *([gate_sentence(gate, scale.amount)] if gate else ()),
            *(certain if every else ()),
            *_judges_say(result, scale, rate),
            *_labels_alone(result, scale),
            *_biases(result.get("bias") or ()),
            *_biases(result.get("changed") or (), since),
            *_labels_for_usual_width(result, scale),
            *(() if every else [f"Assumes: {result['assumes']}"]),
        ),
        details=tuple(f"Not given: {why}" for why in result.get("not_given") or ()),
        grids=(
            _intervals_grid(result, scale),
            *_judges_grid(result),
            _groups_grid(result, scale),
            _widths_grid(result),
        ),
        notes=notes,
        warnings=warnings,
        seed=result.get("seed"),
        assumes=result.get("assumes"),
        fell=inside(result, "fell", "verdict"),
    )


def _has_every_label(result: Plain) -> bool:
    """Whether all rows are labelled."""
    rows, counts = result["target"]["rows"], result.get("label_counts")
    if counts:
        return bool(counts["both"] == rows and result["population"] == "rows")
    return bool(result["labels"] == rows)


def _title(result: Plain) -> str:
    """What the number is."""
    models, whose = result.get("compared"), result["label"]
    called = f"mean of {whose}" if result.get("scale") else f"rate of {whose}"
    if models:
        called = f"difference of {whose}, {models[1]} minus {models[0]}"
    return f"{called[0].upper()}{called[1:]}" if _has_every_label(result) else f"Corrected {called}"


def _unlabelled(result: Plain) -> str:
    """What the judges say, and that nobody knows what people would."""
    passed = listed([percent(judge["accepted"]) for judge in result["judges"]])
    text = f"The judges pass {passed} of {result['target']['rows']:,} rows; what "
    return f"{text}people would say nobody knows until some rows are labelled"


def _judges_say(result: Plain, scale: _Scale, rate: Interval) -> list[str]:
    """Which of two models is better, or how a lone judge stands to people."""
    judges, models = result["judges"], result.get("compared")
    if not models:
        return _standing(judges[0], result, scale) if len(judges) == 1 else []
    decided = rate.lower > 0 or rate.upper < 0
    says = f"{models[rate.value > 0]} is better" if decided else "Undecided"
    bare = listed([scale.text(scale.at(judge["accepted"])) for judge in judges])
    return [f"{says}, from {_basis(result)}; by the verdicts as they are {bare}"]


def _basis(result: Plain) -> str:
    """The labelled rows that a difference comes from."""
    rows, counts, models = result["target"]["rows"], result.get("label_counts"), result["compared"]
    if not counts or counts["both"] == result["labels"]:
        return f"{counted(result['labels'], 'labelled row')} of {rows:,}"
    each = f"{counts['a']:,} of {models[0]} and {counts['b']:,} of {models[1]}, {counts['both']:,} of both"
    return f"{counted(result['labels'], 'labelled row')} of {rows:,} ({each})"


def _labels_alone(result: Plain, scale: _Scale) -> list[str]:
    """What the labels say without the judges, and how many labels these are worth."""
    alone = result.get("label_only") or {}
    if interval_of(alone) is None or _has_every_label(result):
        return []
    text = "Labels alone: {} ({} to {})".format(*scale.cells(alone))
    worth = result.get("effective_labels") or 0.0
    if worth > result["labels"]:
        text += f"; with the judges they are as informative as {worth:,.0f} labels"
    return [text]


def _widths(result: Plain) -> Sequence[Plain]:
    """How many labels make intervals of certain widths, where more labels help."""
    if _has_every_label(result) or result.get("not_random"):
        return ()
    return result.get("labels_for_width") or ()


def _labels_for_usual_width(result: Plain, scale: _Scale) -> list[str]:
    """How many labels make an interval of the usual width, with the judges and without."""
    lines = []
    for line in _widths(result):
        if math.isclose(line["width"], scale.usual_width):
            with_judges, alone = (
                f"{line[name]:,}" if line[name] else "all" for name in ("labels", "alone")
            )
            start = f"For an interval {scale.width_text} wide"
            lines.append(f"{start}: {with_judges} labels ({alone} without judges)")
    return lines


def _intervals_grid(result: Plain, scale: _Scale) -> Grid:
    """The rate by each method."""
    rows = [
        [item["method"], *scale.cells(item), item["kind"], item["assumes"]]
        for item in result.get("intervals") or ()
    ]
    columns = ["interval", "rate", "lower", "upper", "kind", "assumes"]
    return Grid("intervals", columns, rows, noun="interval", detail=True, slot="intervals")


def _judges_grid(result: Plain) -> list[Grid]:
    """How each of several judges stands to people."""
    rates, rows = ("agreement", "sensitivity", "specificity"), []
    for judge in result["judges"]:
        shares = [cell(ends(judge[rate])["value"], "%") for rate in rates]
        kappa = cell(ends(judge["kappa"])["value"], ".2f")
        rows.append([judge["judge"], percent(judge["accepted"]), *shares, kappa])
    columns = ["judge", "passes", *rates, "kappa"]
    return [Grid("judges", columns, rows, noun="judge", slot="judges")] if len(rows) > 1 else []


def _groups_grid(result: Plain, scale: _Scale) -> Grid:
    """The rate of each group."""
    rows = [
        [item["group"], *scale.cells(item), f"{item['rows']:,}", f"{item['labels']:,}"]
        for item in result.get("groups") or ()
    ]
    columns = ["group", "rate", "lower", "upper", "rows", "labels"]
    return Grid("groups", columns, rows, noun="group", slot="groups")


def _widths_grid(result: Plain) -> Grid:
    """How many labels make intervals of certain widths."""
    rows = [
        [f"{item['width']:g}", f"{item['labels'] or 'all'}", f"{item['alone'] or 'all'}"]
        for item in _widths(result)
    ]
    columns = ["width", "with judges", "alone"]
    return Grid("labels for a width", columns, rows, noun="width", detail=True, slot="widths")


def _standing(judge: Plain, result: Plain, scale: _Scale) -> list[str]:
    """How a lone judge stands to people."""
    rows = f"{result['target']['rows']:,} rows"
    near = "{value:.2f}, {lower:.2f} to {upper:.2f}"
    if judge["correlation"]:
        mean = f"gives {scale.at(judge['accepted']):.3g} on average over {rows}"
        return [
            f"{judge['judge']} {mean}; its correlation with people is {near.format(**judge['correlation'])}"
        ]
    passes = (
        f"says {judge['yes']} in" if str(judge.get("yes")).lower() in ("a", "model_a") else "passes"
    )
    text = f"{judge['judge']} {passes} {percent(judge['accepted'])} of {rows}"
    if not judge["agreement"]:
        return [text]
    agrees = f"{percent(judge['agreement']['value'])} (kappa {near.format(**judge['kappa'])})"
    good, bad = judge["sensitivity"], judge["specificity"]
    wrong = bad and {
        "value": 1 - bad["value"],
        "lower": 1 - bad["upper"],
        "upper": 1 - bad["lower"],
    }
    both = f"It passes {with_ends(good, 0)} of what people pass, {with_ends(wrong, 0)} of what they fail"
    text += f"; of {counted(result['labels'], 'labelled row')} it agrees with people on {agrees}"
    return [text, both] if good and bad else [text]


def _biases(looks: Sequence[Plain], since: str = "") -> list[str]:
    """What the judges are biased by, or how they changed ``since`` an earlier run, as far as it stands."""
    look_count = counted(len(looks), "look")
    columns = list(dict.fromkeys(look["column"] for look in looks))
    stands = [look for look in looks if look["corrected"] < _STANDS]
    if not stands:
        smallest = min((look["corrected"] for look in looks), default=1.0)
        what = (
            f"No change of the judges since {since}"
            if since
            else f"No bias by {listed(columns[:4])}"
        )
        return (
            [f"{what} shows ({look_count}, smallest corrected p = {smallest:.2g})"] if looks else []
        )
    out = []
    for look in stands[:_MOST_NAMED]:
        more = f"{points(look['difference'])} {'more' if look['difference'] > 0 else 'less'}"
        sure = f"(p = {p_text(look['corrected'])}, corrected for {look_count})".replace("= <", "<")
        if since:
            which = "good" if look["column"] == "sensitivity" else "bad"
            text = (
                f"Changed since {since}: {look['judge']} passes {more} of the {which} rows {sure}"
            )
            out.append(f"{text}; its old error rates do not carry over")
        else:
            text = f"Biased by {look['column']}: {look['judge']} passes {more} where it is {look['where']}"
            out.append(f"{text}, at equal labels {sure}")
    return out
