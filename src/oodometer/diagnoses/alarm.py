"""Alarm: does confidence stand still while something else says that the model is in trouble (simplicity bias)?"""

from __future__ import annotations

from ..results import percent
from .base import Finding, reading_confidence

_LEAST_GAP = 0.05
_LEVEL = 1e-3


def alarm_finding(confidence: Finding | None, agreement: Finding | None, overlap: Finding | None) -> Finding | None:
    """Confidence that moves far less than the agreement of models, or not at all where inputs are new.

    Statistic: fall of agreement minus fall of confidence. A model that learnt a simple, spurious feature stays sure of
    itself when the feature lies; what other models or the features say is then the only sign. Where all models
    share the bias, nothing shows. Source: Trivedi et al. (2023), simplicity bias.

    >>> c = Finding("confidence", "", 0.0, 0.5, details={"reference": 0.9, "target": 0.9})
    >>> a = Finding("agreement", "", -9.0, 0.0, details={"reference": 0.9, "target": 0.6})
    >>> alarm_finding(c, a, None).strength
    'strong'
    """
    if confidence is None or (agreement is None and overlap is None):
        return None
    fall = confidence.details["reference"] - confidence.details["target"]
    gap, reason = 0.0, ""
    if agreement is not None and (agreement.p_value or 0.0) < _LEVEL:
        gap = agreement.details["reference"] - agreement.details["target"] - fall
        reason = f"models agree less by {percent(gap + fall)}"
    apart = overlap is not None and bool(overlap.refutes)
    if apart and gap < _LEAST_GAP and fall < _LEAST_GAP:
        reason = "the inputs are new to the model"
    alarmed = gap >= _LEAST_GAP or (apart and fall < _LEAST_GAP)
    says = (
        f"{reason}, yet confidence fell by {percent(max(fall, 0.0))} only: it does not see the shift"
        if alarmed
        else "confidence moves as the other signs do"
    )
    return Finding(
        "confidence alarm",
        says,
        float(gap),
        refutes=reading_confidence() if alarmed else (),
        strength="strong" if gap >= 2 * _LEAST_GAP else "weak" if alarmed else "none",
    )
