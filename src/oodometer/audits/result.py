"""Audit: what a few labels say of the accuracy, beside the label-free estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..results import Estimate, aligned, percent, plain
from ..results.estimation import Headline
from ..results.shown import Shown
from .believed import Believed
from .expected_width import ExpectedWidths
from .label_only import effective_labels
from .power import Noticeable
from .strata import Stratum
from .suggestion import Suggestion


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """What `audit` found.

    labels : labelled target rows; rows : target rows. estimate : the interval to believe, None without labels;
    label_only : from the labels alone; intervals : all of them. effective_labels : how many random labels
    Clopper and Pearson would need for so short an interval. headline : the label-free estimate; p_value : of "the truth
    lies in its interval"; refuted : p_value < 1 - level. believed : the interval to expect if the shift is like public
    ones, which promises less than ``estimate`` does. suggestion : rows to label next, where asked for.

    reference, target : names, rows, the reference's accuracy. correct : labelled rows that are right; weighted :
    whether some rows were more likely to be labelled than others. slope, explained : how far the audit leans on the
    proxy, and the share of a label's variance that this is predicted to take away. proxy : what stands for labels that
    are missing, "confidence" or the judges' "votes". noticeable : accuracies at which the test would speak (even draws
    only). strata : tenths of the target by the proxy. expected_widths : the width to expect of more labels, where asked
    for. suggest_by : how rows were suggested. not_random : why labelled rows can hardly be a random sample, or None.
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
    warnings: tuple[str, ...]
    suggestion: Suggestion | None = None
    argv: str | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
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

    def __repr__(self) -> str:
        return summary_of_audit(self)

    @property
    def refuted(self) -> bool:
        """Whether the labels contradict the label-free interval at the level."""
        return self.p_value is not None and self.p_value < 1 - self.level

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        from ..version import __version__

        chosen = self.estimate
        return {
            "command": "audit",
            "version": __version__,
            "argv": self.argv,
            "level": self.level,
            "seed": self.seed,
            "reference": plain(self.reference),
            "target": {**plain(self.target), "rows": self.rows},
            "labels": self.labels,
            "correct": self.correct,
            "weighted": self.weighted,
            "estimate": None if chosen is None else chosen.interval.to_dict(),
            "method": None if chosen is None else chosen.method,
            "assumes": None if chosen is None else chosen.assumes,
            "label_only": None if self.label_only is None else self.label_only.interval.to_dict(),
            "effective_labels": plain(self.effective_labels),
            "believed": plain(self.believed),
            "headline": self.headline.to_dict(),
            "refuted": self.refuted,
            "p_value": plain(self.p_value),
            "noticeable": plain(self.noticeable),
            "intervals": [{**e.to_dict(), "effective_labels": plain(self.worth(e))} for e in self.intervals],
            "confidence": {"slope": plain(self.slope), "explained": plain(self.explained)},
            "proxy": self.proxy,
            "strata": plain(self.strata),
            "outlook": plain(self.expected_widths),
            "suggest_by": self.suggest_by,
            "not_random": self.not_random,
            "suggested": None if self.suggestion is None else plain(self.suggestion.row),
            "warnings": list(self.warnings),
        }

    def worth(self, one: Estimate) -> float | None:
        """What the labels are worth by this interval, in labels drawn at random and read alone."""
        if self.estimate is not None and one.method == self.estimate.method:
            return self.effective_labels
        if one.method == "clopper-pearson":
            return float(self.labels)
        return effective_labels(one.value, one.upper - one.lower, self.level, self.rows)


def _ends(one: Headline | Estimate) -> str:
    return f"{percent(one.value)}  [{percent(one.lower)}, {percent(one.upper)}]"


def audit_lines(found: Audit) -> list[str]:
    """The label-free estimate, the interval of the labels, the believed one, whether the labels refute the estimate."""
    lines = [f"Label-free estimate: {_ends(found.headline)}  ({found.headline.method})"]
    chosen = found.estimate
    if chosen is None or found.p_value is None:
        return lines
    made = f"{percent(chosen.level, None)} {chosen.kind} interval, {chosen.method}"
    lines += [f"Audited accuracy:    {_ends(chosen)}  ({made})", f"  rests on: {chosen.assumes}"]
    if found.effective_labels is not None:
        worth = f"worth {found.effective_labels:.0f} drawn at random and read alone"
        lines.append(f"  {found.labels} labels of {found.rows} rows, {worth}")
    lines += believed_lines(found)
    verdict = "REFUTED: the labels contradict" if found.refuted else "Not refuted: the labels do not contradict"
    return [*lines, f"{verdict} the label-free interval (p = {found.p_value:.2g})"]


def believed_lines(found: Audit) -> list[str]:
    """The believed interval, what it rests on and what the labels are worth by it, or why there is none."""
    believed = found.believed
    if believed is None:
        return []
    one = believed.interval
    if one is None or believed.effective_labels is None:
        return [f"Believed accuracy:   none: {believed.why}"]
    made = f"{percent(one.level, None)} {one.kind} interval, natural shifts and labels"
    are = "label is" if found.labels == 1 else "labels are"
    return [
        f"Believed accuracy:   {percent(one.value)}  [{percent(one.lower)}, {percent(one.upper)}]  ({made})",
        f"  rests on: {believed.assumes}",
        f"  your {found.labels} {are} worth {believed.effective_labels:.0f}",
        *([] if believed.fell is None else [f"  {believed.fell.sentence()}"]),
    ]


def summary_of_audit(found: Audit) -> str:
    """What `audit_lines` says, every interval, and the rows to label next."""
    lines = audit_lines(found)
    if found.intervals:
        rows = [[e.method, percent(e.value), percent(e.lower), percent(e.upper), e.kind] for e in found.intervals]
        lines.append(aligned(["interval", "accuracy", "lower", "upper", "kind"], rows))
    if found.suggestion is not None:
        lines.append(f"{len(found.suggestion.row)} rows to label next; `.suggestion` names them")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])
