"""Votes: lower and upper bound by how many judges must agree, and what each judge accepts alone."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, percent, percent_range, points
from ..theme import ACCENT, QUIET, REFERENCE, TRUTH, specification
from .base import Figure, Result
from .dots import dots, entry, unique

MOST_JUDGES = 8  # alone, in the chart


def agreement(agree: Any, judges: Any) -> str:
    """A k of k-of-n voting in words.

    >>> agreement(5, 5), agreement(3, 5), agreement(1, 1)
    ('all 5 agree', '3 of 5 agree', 'the one judge')
    """
    if judges == 1:
        return "the one judge"
    return f"all {judges} agree" if agree == judges else f"{agree} of {judges} agree"


def panel(result: Result) -> dict[str, Any] | None:
    """What an estimate or an evaluation says of judges, in one form; None where it says nothing.

    judges, agree : their number, and how many had to agree. bounds : agree, lower, upper (fractions), inside. ladder :
    at_least and share (an interval). alone : the share that each judge accepts, intervals. truth : an accuracy.
    reference : how the judges did where labels are known.
    """
    table = result.get("votes") or {}
    if table.get("bounds"):
        bounds = [
            {
                "agree": one.get("agree"),
                "inside": one.get("inside"),
                **{end: best(one.get(end)).get("value") for end in ("lower", "upper")},
            }
            for one in table["bounds"]
        ]
        return {
            "judges": table.get("judges"),
            "agree": table.get("judges"),
            "bounds": bounds,
            "ladder": [
                {"at_least": one.get("at_least"), "share": one.get("accepted")} for one in table.get("ladder") or []
            ],
            "alone": [(str(one.get("judge")), best(one.get("accepted"))) for one in table.get("by_judge") or []],
            "truth": best(table.get("accuracy")).get("value"),
            "reference": None,
        }
    for one in result.get("estimates") or []:
        details = one.get("details") or {}
        if str(one.get("method")).partition(":")[0] == "votes" and details.get("bounds"):
            target = result.get("target") or {}
            return {
                "judges": details.get("judges"),
                "agree": details.get("agree"),
                "bounds": [dict(bound) for bound in details["bounds"]],
                "ladder": [{"at_least": step.get("at_least"), "share": step} for step in details.get("ladder") or []],
                "alone": [(str(j + 1), best(judge)) for j, judge in enumerate(details.get("by_judge") or [])],
                "truth": best(target.get("accuracy")).get("value"),
                "reference": details.get("reference"),
            }
    return None


def figure(result: Result) -> Figure | None:
    """Bars from lower to upper bound, the widest first, and a dot for each judge alone."""
    found = panel(result)
    if found is None:
        return None
    rows = []
    for one in found["bounds"]:
        low, high = finite(one.get("lower")), finite(one.get("upper"))
        if low is None or high is None:
            continue
        shown = {"value": (low + high) / 2, "lower": low, "upper": high}
        if found["judges"] == 1 and found["alone"]:
            rows.append(entry(agreement(1, 1), found["alone"][0][1], color=ACCENT))
            break
        color = ACCENT if one["agree"] == found["agree"] else QUIET
        name = agreement(one["agree"], found["judges"])
        rows.append(entry(name, shown, color=color, width=points(high - low)))
        rows[-1]["tip"] = {
            "": name,
            "bounds": percent_range(low, high),
            "mean": percent(shown["value"]),
            "width": points(high - low),
        }
    if not rows:
        return None
    some = [(name, one) for name, one in found["alone"] if one][:MOST_JUDGES] if found["judges"] != 1 else []
    rows += [entry(name, one) for name, (_, one) in zip(unique(f"judge {n} alone" for n, _ in some), some, strict=True)]
    reference = (result.get("reference") or {}).get("accuracy")
    evaluated = bool((result.get("votes") or {}).get("bounds"))
    lines = [
        ("reference", None if evaluated else reference, REFERENCE, True),
        ("truth", found["truth"], TRUTH, False),
    ]
    finding = title(found)
    chart, height = dots(rows, lines=lines, title="share of the outputs accepted")
    return Figure("votes", finding, caption(found), specification(chart, height=height, alt_text=finding))


def title(found: dict[str, Any]) -> str:
    """The bounds, and whether the truth lies within them where it is known."""
    if found["judges"] == 1:
        alone = percent(found["alone"][0][1].get("value")) if found["alone"] else ""
        known = f"; the accuracy is {percent(found['truth'])}" if finite(found["truth"]) is not None else ""
        return f"The judge accepts {alone} of the outputs{known}"
    widest = found["bounds"][0]
    low, high, truth = finite(widest.get("lower")), finite(widest.get("upper")), finite(found["truth"])
    span = percent_range(low, high)
    if truth is None or low is None or high is None:
        return f"The judges accept {span} of the outputs: all of them agree on the lower, any one on the upper"
    inside = widest.get("inside")
    inside = low <= truth <= high if inside is None else inside
    return f"The accuracy, {percent(truth)}, lies {'within' if inside else 'outside'} the judges' bounds, {span}"


def caption(found: dict[str, Any]) -> str:
    """How to read the bars, and what they do not promise."""
    if found["judges"] == 1:
        text = "One judge gives one number and no bounds: what it accepts and what it rejects wrongly may cancel out, "
        return text + "or not. The bar covers chance in the rows. Let several judges vote."
    text = "Where k judges must agree, the bar runs from the share of outputs that at least k accept to the share that "
    text += "fewer than k reject; the dot is its middle. The smaller k, the tighter the bounds, and the less they may "
    text += "be relied on."
    text += " Judges that fail alike put the truth outside, however many there are."
    seen = found["reference"]
    if seen and finite(seen.get("accuracy")) is not None:
        where = "within" if seen.get("inside") else "outside"
        span = percent_range(seen.get("lower_bound"), seen.get("upper_bound"))
        text += f" On the reference the accuracy, {percent(seen['accuracy'])}, lay {where} their bounds, {span}."
    return text
