"""Assumptions: what one would believe of a target under each idea of the shift, and which of them the data refute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from ..registry import known
from ..results import Estimate, percent
from ..results.diagnosis import Diagnosis
from ..results.estimation import ASSUMPTIONS, Assumed, Headline


def under_assumptions(
    natural: Headline, still: Headline, estimates: Sequence[Estimate], diagnosis: Diagnosis | None
) -> dict[str, Assumed]:
    """The four answers beside each other.

    natural : of the prior. none : the reference's accuracy (`source`). label : the first method that asks for
    P(x | y) alone and bounds the class shares (`leap` before `sld`, `label-shift`, `bbse`). covariate : the first that
    asks for P(y | x) alone (`cbpe` before `im`, `pape`, `importance`), else ``still``, whose trials know both kinds.
    """
    by_name = {e.method: e for e in estimates}
    refuted = refuted_assumptions(by_name, diagnosis)
    label, covariate = under_label_shift(estimates), under_covariate_shift(estimates) or still
    source = by_name.get("source")
    return {
        "natural": Assumed(natural.interval, natural.method),
        "none": _of(source, refuted.get("none"), "the accuracy of the reference was not asked for (`source`)"),
        "label": _of(label, refuted.get("label"), "no method of label shift could answer"),
        "covariate": Assumed(covariate.interval, covariate.method, refuted.get("covariate")),
    }


def under_label_shift(estimates: Iterable[Estimate]) -> Estimate | None:
    """The estimate to believe if only the class shares changed, or None: `leap` before those outside the panel.

    >>> two = [Estimate(m, 0.5, 0.4, 0.6, 0.95, "conditional", "", "") for m in ("bbse", "leap", "doc")]
    >>> found = under_label_shift(two)
    >>> found.method if found else None
    'leap'
    """
    return _first_under(
        "P(x | y)",
        estimates,
        lambda e: (not known("estimator", e.method).in_panel, known("estimator", e.method).order),
    )


def under_covariate_shift(estimates: Iterable[Estimate]) -> Estimate | None:
    """The estimate to believe if only the inputs changed, or None: `cbpe` before others that ask for P(y | x) alone."""
    return _first_under("P(y | x)", estimates, lambda e: (e.method != "cbpe", known("estimator", e.method).order))


def _first_under(stable: str, estimates: Iterable[Estimate], key: Callable[[Estimate], Any]) -> Estimate | None:
    able = [e for e in estimates if ":" not in e.method and known("estimator", e.method).stable == stable]
    return min(able, key=key, default=None)


def _of(estimate: Estimate | None, refuted: str | None, why: str) -> Assumed:
    if estimate is None:
        return Assumed(None, "", refuted, why)
    return Assumed(estimate.interval, estimate.method, refuted)


def refuted_assumptions(by_name: Mapping[str, Estimate], diagnosis: Diagnosis | None) -> dict[str, str]:
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
