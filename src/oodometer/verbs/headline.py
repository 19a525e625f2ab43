"""The headline: one number from several estimates, with the span of what they allow."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ..results import Estimate, Interval
from .estimation import Headline

__all__ = ["make_headline"]

# One voice each: methods that differ only in a detail would otherwise outvote the others.
_VOICES = (
    ("atc-entropy", "atc"),
    ("doc",),
    ("cbpe", "im", "ac"),
    ("gde-difference", "gde"),
    ("agreement", "gde"),
)
_ALARMING_SPREAD = 0.1


def make_headline(estimates: Sequence[Estimate], level: float) -> Headline | None:
    """The median of independent kinds of estimate; the interval runs from their lowest to their highest end.

    Threshold, difference of confidence, calibrated confidence and agreement rest on different assumptions. Where they
    differ, no label-free rule says which is right, so the interval spans them all; it is empirical, never a guarantee.
    Where none of them could answer, the voting bounds or the reference accuracy are all there is. None without any.

    >>> e = Estimate("doc", 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021")
    >>> make_headline([e], 0.95).interval.value
    0.8
    """
    by_name = {e.method: e for e in estimates}
    chosen: list[Estimate] = []
    for voice in _VOICES:
        found = next((by_name[name] for name in voice if name in by_name), None)
        if found is not None and found not in chosen:
            chosen.append(found)
    if not chosen:
        rest = [e for e in estimates if e.method != "source"] or list(estimates)
        if not rest:
            return None
        chosen = [next((e for e in rest if e.method == "votes"), rest[0])]
    if len(chosen) == 1:
        only = chosen[0]
        return Headline(
            only.interval,
            only.method,
            only.assumes,
            "none" if only.method == "source" else "low",
            "it rests on one method and its assumption; nothing here checks that assumption",
        )
    value = float(median(e.value for e in chosen))
    lower, upper = min(e.lower for e in chosen), max(e.upper for e in chosen)
    names = ", ".join(e.method for e in chosen)
    spread = max(e.value for e in chosen) - min(e.value for e in chosen)
    if spread > _ALARMING_SPREAD:
        trust = "none"
        why = f"the methods differ by {spread:.0%}: at least one of their assumptions fails; label some target rows"
    else:
        trust = "low"
        why = (
            f"{len(chosen)} methods with different assumptions agree within {spread:.1%}; all can fail alike"
        )
    return Headline(
        Interval(value, lower, upper, level, "empirical"),
        f"median of {names}",
        "the truth lies within the span of methods whose assumptions differ; nothing proves it",
        trust,
        why,
    )
