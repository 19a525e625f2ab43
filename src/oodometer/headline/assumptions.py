"""Assumptions: what one would believe of a target under each idea of the shift, and which of them the data refute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..errors import UsageError
from ..registry import known
from ..results import Estimate, percent
from ..results.diagnosis import Diagnosis
from ..results.estimation import ASSUMPTIONS, Assumed, Headline

__all__ = ["headline_under", "under_assumptions", "under_label_shift"]


def under_assumptions(
    natural: Headline, still: Headline, estimates: Sequence[Estimate], diagnosis: Diagnosis | None
) -> dict[str, Assumed]:
    """The four answers beside each other.

    natural : of the prior. none : the reference's accuracy (`source`). label : the first method that asks for
    P(x | y) alone and bounds the class shares (`leap` before `sld`, `label-shift`, `bbse`). covariate : the number that
    holds if P(y | x) stood still.
    """
    by_name = {e.method: e for e in estimates}
    refuted = _refuted(by_name, diagnosis)
    label = under_label_shift(estimates)
    source = by_name.get("source")
    return {
        "natural": Assumed(natural.interval, natural.method),
        "none": _of(source, refuted.get("none"), "the accuracy of the reference was not asked for (`source`)"),
        "label": _of(label, refuted.get("label"), "no method of label shift could answer"),
        "covariate": Assumed(still.interval, still.method, refuted.get("covariate")),
    }


def under_label_shift(estimates: Iterable[Estimate]) -> Estimate | None:
    """The estimate to believe if only the class shares changed, or None: `leap` before those outside the panel.

    >>> two = [Estimate(m, 0.5, 0.4, 0.6, 0.95, "conditional", "", "") for m in ("bbse", "leap", "doc")]
    >>> found = under_label_shift(two)
    >>> found.method if found else None
    'leap'
    """
    asked = sorted(
        (e for e in estimates if ":" not in e.method and known("estimator", e.method).stable == "P(x | y)"),
        key=lambda e: (not known("estimator", e.method).in_panel, known("estimator", e.method).order),
    )
    return asked[0] if asked else None


def _of(estimate: Estimate | None, refuted: str | None, why: str) -> Assumed:
    if estimate is None:
        return Assumed(None, "", refuted, why)
    return Assumed(estimate.interval, estimate.method, refuted)


def _refuted(by_name: Mapping[str, Estimate], diagnosis: Diagnosis | None) -> dict[str, str]:
    """Assumption -> the finding that speaks against it."""
    out: dict[str, str] = {}
    for finding in () if diagnosis is None else diagnosis.findings:
        against = set(finding.refutes)
        if "source" in against:
            out.setdefault("none", finding.says)
        for assumption, stable in (("label", "P(x | y)"), ("covariate", "P(y | x)")):
            if any(known("estimator", name).stable == stable for name in against if ":" not in name):
                out.setdefault(assumption, finding.says)
    return out


def headline_under(assume: str, natural: Headline, assumptions: Mapping[str, Assumed]) -> Headline:
    """The headline of the assumption that was chosen; `UsageError` where no method can answer under it."""
    if assume == "natural":
        return natural
    chosen = assumptions[assume]
    if chosen.interval is None:
        raise UsageError(f"nothing can be said if {ASSUMPTIONS[assume]}: {chosen.why}; leave --assume out")
    band = natural.bands.get("nine_in_ten")
    why = f"it holds only if {ASSUMPTIONS[assume]}, as you said"
    if band is not None:
        why += f"; nine in ten natural shifts ended in {percent(band.lower, 0)} to {percent(band.upper, 0)}"
    if chosen.refuted is not None:
        why = f"the data speak against this assumption; {why}"
    trust = "none" if chosen.refuted is not None else "low"
    return replace(
        natural, interval=chosen.interval, method=chosen.method, assumes=ASSUMPTIONS[assume], trust=trust, why=why
    )
