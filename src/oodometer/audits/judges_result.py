"""The result of an audit of judges: the corrected rate first, then how the judges stand to people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..results import Estimate, percent, plain
from ..results.values import counted, listed, points, signed_points
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
    not_given : intervals that are not there, and why.
    """

    judges: tuple[JudgeRates, ...] = ()
    bias: tuple[Bias, ...] = ()
    groups: tuple[Mapping[str, Any], ...] = ()
    labels_for_width: tuple[Mapping[str, Any], ...] = ()
    changed: tuple[Bias, ...] = ()
    scale: tuple[float, float] | None = None
    label: str = ""
    compared: tuple[str, ...] = ()
    not_given: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
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
        own = self.estimate is not None and interval.method == self.estimate.method
        return (
            self.effective_labels
            if own
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
        tables: dict[str, list[dict[str, Any]]] = {"intervals": spans, "judges": rates}
        tables |= {
            name: plain(getattr(self, name))
            for name in ("bias", "groups", "labels_for_width", "changed")
        }
        columns = {
            name: tuple(dict.fromkeys(n for row in rows for n in row))
            for name, rows in tables.items()
        }
        return {name: partial(Table, columns[name], rows) for name, rows in tables.items() if rows}


@shows(JudgeAudit)
def judges_view(result: Mapping[str, Any]) -> View:
    """What an audit of judges says, from the mapping that JSON holds: the rate, the judges, their bias, more labels."""
    rows, labels, judges, whose = (
        result["target"]["rows"],
        result["labels"],
        result["judges"],
        result["label"],
    )
    low, high = result.get("scale") or (0.0, 1.0)
    models = result.get("compared") or ()
    gap, unit = bool(models) and high == 1, (high - low) / (2 if models else 1)
    graded: Callable[[float], str] = lambda x: f"{x:{'+' * bool(models)}.3g}"  # noqa: E731
    share = signed_points if gap else graded if result.get("scale") else percent
    chosen, alone, worth = (
        interval_of(result.get("rate")),
        interval_of(result.get("label_only")),
        0.0,
    )
    drawn, every = result.get("suggested") or (), labels == rows
    notes = (
        (f"{counted(len(drawn), 'row')} to label next, spread over what the judges say",)
        if drawn
        else ()
    )
    about: dict[str, Any] = {"notes": notes, "warnings": tuple(result.get("warnings") or ())}
    if chosen is None:
        says = f"The judges pass {listed([percent(judge['accepted']) for judge in judges])} of {rows:,} rows; what "
        says += "people would say nobody knows until some rows are labelled"
        return View("Corrected rate: no labels yet", "none", sentences=(says,), **about)
    sentences = [f"All {rows:,} rows have labels: that is certain"] if every else []
    if models:
        says = (
            f"{models[chosen.value > 0]} is better"
            if chosen.lower > 0 or chosen.upper < 0
            else "Undecided"
        )
        bare = [share(low + judge["accepted"] * (high - low)) for judge in judges]
        sentences.append(
            f"{says}, from {counted(labels, 'labelled row')} of {rows:,}; by the verdicts as they are {listed(bare)}"
        )
    elif len(judges) == 1:
        sentences += _standing(judges[0], rows, labels, low, high)
    if alone is not None and not every:
        worth = result.get("effective_labels") or 0.0
        more = (
            f"; with the judges they are as informative as {worth:,.0f} labels"
            if worth > labels
            else ""
        )
        sentences.append(
            f"Labels alone: {share(alone.value)} ({share(alone.lower)} to {share(alone.upper)}){more}"
        )
    since = (result.get("reference") or {}).get("name") or "the earlier run"
    sentences += _biases(result.get("bias") or ()) + _biases(result.get("changed") or (), since)
    widths = () if every or result.get("not_random") else result.get("labels_for_width") or ()
    for line in (line for line in widths if math.isclose(line["width"], _USUAL * unit)):
        width = points(_USUAL) if share in (percent, signed_points) else f"{_USUAL * unit:.3g}"
        many, without = (f"{line[name]:,}" if line[name] else "all" for name in ("labels", "alone"))
        sentences.append(f"For an interval {width} wide: {many} labels ({without} without judges)")

    def cells(item: Mapping[str, Any]) -> list[str]:
        return [share(item[n]) if n in item else "" for n in ("value", "lower", "upper")]

    spans = [
        [end["method"], *cells(end), end["kind"], end["assumes"]]
        for end in result.get("intervals") or ()
    ]
    columns = ["interval", "rate", "lower", "upper", "kind", "assumes"]
    grids = [Grid("intervals", columns, spans, noun="interval", detail=True)]
    rates = ("agreement", "sensitivity", "specificity", "kappa")
    lines = [
        [
            j["judge"],
            percent(j["accepted"]),
            *(cell(ends(j[r])["value"], "%") for r in rates[:3]),
            cell(ends(j["kappa"])["value"], ".2f"),
        ]
        for j in judges
    ]
    grids += (
        [Grid("judges", ["judge", "passes", *rates], lines, noun="judge")]
        if len(judges) > 1
        else []
    )
    lines = [
        [g["group"], *cells(g), f"{g['rows']:,}", f"{g['labels']:,}"]
        for g in result.get("groups") or ()
    ]
    grids += [
        Grid("groups", ["group", "rate", "lower", "upper", "rows", "labels"], lines, noun="group")
    ]
    lines = [
        [f"{w['width']:g}", *(f"{w[n] or 'all'}" for n in ("labels", "alone"))] for w in widths
    ]
    columns = ["width", "with judges", "alone"]
    grids += [Grid("labels for a width", columns, lines, noun="width", detail=True)]
    called = f"mean of {whose}" if result.get("scale") else f"rate of {whose}"
    called = f"difference of {whose}, {models[1]} minus {models[0]}" if models else called
    title = f"{called[0].upper()}{called[1:]}" if every else f"Corrected {called}"
    sentences += [] if every else [f"Assumes: {result['assumes']}"]
    about |= {
        "sentences": tuple(sentences),
        "grids": tuple(grids),
        "share": share is percent,
        "gap": gap,
    }
    about |= {
        "details": tuple(f"Not given: {why}" for why in result.get("not_given") or ()),
        "seed": result.get("seed"),
    }
    return View(title, share(chosen.value), chosen, str(result.get("method") or ""), **about)


def _standing(
    judge: Mapping[str, Any], rows: int, labels: int, low: float, high: float
) -> list[str]:
    """How a lone judge stands to people."""
    near = "{value:.2f}, {lower:.2f} to {upper:.2f}"
    if judge["correlation"]:
        mean = f"gives {low + judge['accepted'] * (high - low):.3g} on average over {rows:,} rows"
        return [
            f"{judge['judge']} {mean}; its correlation with people is {near.format(**judge['correlation'])}"
        ]
    passes = (
        f"says {judge['yes']} in" if str(judge.get("yes")).lower() in ("a", "model_a") else "passes"
    )
    text = f"{judge['judge']} {passes} {percent(judge['accepted'])} of {rows:,} rows"
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
    text += f"; of {counted(labels, 'labelled row')} it agrees with people on {agrees}"
    return [text, both] if good and bad else [text]


def _biases(looks: Sequence[Mapping[str, Any]], since: str = "") -> list[str]:
    """What the judges are biased by, or how they changed ``since`` an earlier run, as far as it stands."""
    many, columns = (
        counted(len(looks), "look"),
        list(dict.fromkeys(look["column"] for look in looks)),
    )
    stands = [look for look in looks if look["corrected"] < _STANDS]
    if not stands:
        least = min((look["corrected"] for look in looks), default=1.0)
        what = (
            f"No change of the judges since {since}"
            if since
            else f"No bias by {listed(columns[:4])}"
        )
        return [f"{what} shows ({many}, smallest corrected p = {least:.2g})"] if looks else []
    out = []
    for look in stands[:_MOST_NAMED]:
        more = f"{points(look['difference'])} {'more' if look['difference'] > 0 else 'less'}"
        sure = f"(p = {p_text(look['corrected'])}, corrected for {many})".replace("= <", "<")
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
