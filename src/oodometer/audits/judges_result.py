"""The result of an audit of judges: the corrected rate first, then how the judges stand to people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..results import Estimate, Interval, percent, plain
from ..results.values import counted, listed, points
from ..results.view import INTERVAL, Grid, Maker, Table, View, cells_of, ends, interval_of, p_text, shows
from .judges import Bias, Change, JudgeRates
from .result import Audit

_STANDS = 0.05  # corrected p-value below which a bias or a change is named
_MOST_NAMED = 2


@dataclass(frozen=True, repr=False)
class JudgeAudit(Audit):
    """What `audit` found of judges: an `Audit` whose ``estimate`` is the rate that people would find on all rows.

    judges : how each stands to people. bias, looks : columns that its verdicts depend on at equal labels, and how many
    were looked at. groups : the rate by group. labels_for_width : labels for widths of the interval, with the judges
    and alone. changed : rates of the judges here and on an earlier run. scale : lowest and highest grade of the labels,
    or None. label : the column of people's verdicts. not_given : intervals that are not there, and why.
    """

    judges: tuple[JudgeRates, ...] = ()
    bias: tuple[Bias, ...] = ()
    groups: tuple[Mapping[str, Any], ...] = ()
    labels_for_width: tuple[Mapping[str, Any], ...] = ()
    changed: tuple[Change, ...] = ()
    scale: tuple[float, float] | None = None
    label: str = ""
    not_given: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out = {**super().to_dict(), "headline": None}
        for name in ("believed", "noticeable", "confidence", "proxy", "strata", "outlook", "suggest_by"):
            del out[name]
        rate = None if self.estimate is None else {**out["estimate"], "method": self.estimate.method}
        first = plain(self.judges[0]) if self.judges else None
        out |= {"rate": rate, "judge": first, "methods": out["intervals"]}
        names = ("judges", "bias", "groups", "labels_for_width", "changed", "scale", "label", "not_given")
        return out | {name: plain(getattr(self, name)) for name in names}

    def worth(self, interval: Estimate) -> float | None:
        """What the labels are worth by the interval that is believed, in labels read alone."""
        own = self.estimate is not None and interval.method == self.estimate.method
        return self.effective_labels if own else float(self.labels) if interval.method == "labels-alone" else None

    def frames(self) -> dict[str, Maker]:
        """The intervals, the judges, and what else there is."""
        made: dict[str, Maker] = {
            "intervals": lambda: Table(
                ("method", *INTERVAL, "assumes"),
                [{"method": e.method, **ends(e), "assumes": e.assumes} for e in self.intervals],
            )
        }
        shares = ("agreement", "kappa", "sensitivity", "specificity")
        rows = [
            {"judge": judge.judge, "rate": name, **ends(getattr(judge, name))}
            for judge in self.judges
            for name in shares
            if getattr(judge, name) is not None
        ]
        made["judges"] = lambda: Table(("judge", "rate", *INTERVAL), rows)
        for name in ("bias", "groups", "labels_for_width", "changed"):
            if lines := plain(getattr(self, name)):
                made[name] = lambda lines=lines: Table(tuple(lines[0]), lines)  # type: ignore[misc]
        return made


@shows(JudgeAudit)
def judges_view(result: Mapping[str, Any]) -> View:
    """What an audit of judges says, from the mapping that JSON holds: the rate, the judges, their bias, more labels."""
    rows, labels, scale = result["target"]["rows"], result["labels"], result.get("scale")
    chosen, alone, judges = interval_of(result.get("rate")), interval_of(result.get("label_only")), result["judges"]
    share: Callable[[float], str] = (lambda x: f"{x:.3g}") if scale else percent
    called = f"mean of {result['label']}" if scale else f"rate of {result['label']}"
    drawn = result.get("suggested") or ()
    notes = (f"{counted(len(drawn), 'row')} to label next, spread over what the judges say",) if drawn else ()
    warnings = tuple(result.get("warnings") or ())
    if chosen is None:
        says = f"The judges pass {listed([percent(judge['accepted']) for judge in judges])} of {rows:,} rows; what "
        says += "people would say nobody knows until some rows are labelled"
        return View("Corrected rate: no labels yet", "none", sentences=(says,), notes=notes, warnings=warnings)
    if labels == rows:
        title, sentences = f"{called[0].upper()}{called[1:]}", [f"All {rows:,} rows have labels: that is certain"]
    else:
        title, sentences = f"Corrected {called}", []
    for judge in judges if len(judges) == 1 else ():
        low, high = scale or (0.0, 1.0)
        yes = judge.get("yes") or ""
        passes = f"says {yes} in" if yes.lower() in ("a", "model_a") else "passes"
        share_of = f"{passes} {percent(judge['accepted'])} of"
        if judge["correlation"]:
            share_of = f"gives {judge['accepted']:.2f} (from 0 to 1) on average over" if not scale else (
                f"gives {low + judge['accepted'] * (high - low):.3g} on average over"
            )  # fmt: skip
        text = f"{judge['judge']} {share_of} {rows:,} rows"
        if judge["agreement"]:
            text += f"; of {counted(labels, 'labelled row')} it agrees with people on "
            text += f"{percent(judge['agreement']['value'])} (kappa {_bare(judge['kappa'])})"
        elif judge["correlation"]:
            text += f"; its correlation with people is {_bare(judge['correlation'])}"
        sentences.append(text)
        good, bad = interval_of(judge["sensitivity"]), interval_of(judge["specificity"])
        if good is not None and bad is not None:
            wrong = Interval(1 - bad.value, 1 - bad.upper, 1 - bad.lower, bad.level, bad.kind)
            sentences.append(f"It passes {_with(good)} of what people pass, {_with(wrong)} of what they fail")
    if alone is not None and labels < rows:
        worth = result.get("effective_labels")
        more = f"; with the judges they are as informative as {worth:,.0f} labels" if worth and worth > labels else ""
        sentences.append(f"Labels alone: {share(alone.value)} ({share(alone.lower)} to {share(alone.upper)}){more}")
    sentences += [*_biases(result), *_changes(result)]
    ten = next((line for line in result.get("labels_for_width") or () if line["width"] == 0.1), None)
    if ten and labels < rows and not result.get("not_random"):
        need = "more than all rows" if ten["labels"] is None else counted(ten["labels"], "label")
        other = "" if ten["alone"] is None else f" ({ten['alone']:,} without judges)"
        width = f"{0.1 * (scale[1] - scale[0]):.3g}" if scale else points(0.1)
        sentences.append(f"For an interval {width} wide: {need}{other}")
    sentences.append(f"Assumes: {result['assumes']}" if labels < rows else "")
    cells = [
        [end["method"], *([share(end[n]) for n in ("value", "lower", "upper")]), end["kind"], end["assumes"]]
        for end in result.get("intervals") or ()
    ]
    grids = [Grid("intervals", ["interval", "rate", "lower", "upper", "kind", "assumes"], cells,
                  noun="interval", detail=True)]  # fmt: skip
    if len(judges) > 1:
        lines = [
            [judge["judge"], percent(judge["accepted"]),
             *(cells_of(judge[name])[0] if judge[name] else "" for name in ("agreement", "sensitivity", "specificity")),
             f"{judge['kappa']['value']:.2f}" if judge["kappa"] else ""] for judge in judges
        ]  # fmt: skip
        columns = ["judge", "passes", "agreement", "sensitivity", "specificity", "kappa"]
        grids.append(Grid("judges", columns, lines, noun="judge"))
    if result.get("groups"):
        lines = []
        for group in result["groups"]:
            ends_of = [share(group[n]) if "value" in group else "" for n in ("value", "lower", "upper")]
            lines.append([group["group"], *ends_of, f"{group['rows']:,}", f"{group['labels']:,}"])
        grids.append(Grid("groups", ["group", "rate", "lower", "upper", "rows", "labels"], lines, noun="group"))
    if result.get("labels_for_width"):
        lines = [
            [f"{w['width']:g}", *(f"{w[n] or 'all'}" for n in ("labels", "alone"))] for w in result["labels_for_width"]
        ]
        grids.append(Grid("labels for a width", ["width", "with judges", "alone"], lines, noun="width", detail=True))
    return View(
        title,
        share(chosen.value),
        chosen,
        str(result.get("method") or ""),
        share=not scale,
        sentences=tuple(filter(None, sentences)),
        details=tuple(f"Not given: {why}" for why in result.get("not_given") or ()),
        grids=tuple(grids),
        notes=notes,
        warnings=warnings,
        seed=result.get("seed"),
    )


def _bare(item: Mapping[str, Any]) -> str:
    return f"{item['value']:.2f}, {item['lower']:.2f} to {item['upper']:.2f}"


def _with(item: Interval) -> str:
    return f"{percent(item.value)} ({percent(item.lower, 0)} to {percent(item.upper, 0)})"


def _biases(result: Mapping[str, Any]) -> list[str]:
    """What the judges are biased by, as far as it stands."""
    looks = result.get("bias") or ()
    if not looks:
        return []
    many = f"{counted(len(looks), 'look')}"
    stands = [bias for bias in looks if bias["corrected"] < _STANDS]
    if not stands:
        columns = list(dict.fromkeys(bias["column"] for bias in looks))
        return [f"No bias shows by {listed(columns[:4])} ({many}, smallest corrected p = {looks[0]['corrected']:.2g})"]
    return [
        f"Biased by {bias['column']}: {bias['judge']} passes {points(bias['difference'])} "
        f"{'more' if bias['difference'] > 0 else 'less'} where it is {bias['where']}, at equal labels "
        f"(p = {p_text(bias['corrected'])}, corrected for {many})"
        for bias in stands[:_MOST_NAMED]
    ]


def _changes(result: Mapping[str, Any]) -> list[str]:
    """Whether the judges changed since an earlier run."""
    looks = result.get("changed") or ()
    if not looks:
        return []
    since = (result.get("reference") or {}).get("name") or "the earlier run"
    stands = [change for change in looks if change["corrected"] < _STANDS]
    if not stands:
        least = min(change["corrected"] for change in looks)
        return [f"No change of the judges since {since} shows (smallest corrected p = {least:.2g})"]
    return [
        f"Changed since {since}: the {change['rate']} of {change['judge']} was {percent(change['before'])}, is "
        f"{percent(change['after'])} (p = {p_text(change['corrected'])}); its old error rates do not carry over"
        for change in stands
    ]
