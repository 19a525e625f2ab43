"""Audited: every interval that the labels allow, over the band of the label-free estimate."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, percent, percent_range
from ..theme import ACCENT, BAND, QUIET, REFERENCE, axis, data, specification
from .base import Figure, Result
from .dots import dots, entry, unique

CLAIM = "without labels"


def chosen_first(result: Result) -> list[dict[str, Any]]:
    """The intervals from labels, the one that the page prints before the others.

    >>> chosen_first({"method": "b", "intervals": [{"method": "a", "value": 0.5}, {"method": "b", "value": 0.6}]})[0]
    {'method': 'b', 'value': 0.6}
    """
    found = [one for each in result.get("intervals") or [] if (one := best(each))]
    return sorted(found, key=lambda one: one.get("method") != result.get("method"))


def figure(result: Result) -> Figure | None:
    """Dot-and-interval chart; the label-free interval runs as a band behind all rows."""
    import altair as alt

    found, claim = chosen_first(result), best(result.get("headline"))
    if not found:
        return None
    names = unique(one.get("method") for one in found)
    rows = [
        entry(
            name,
            one,
            color=ACCENT if one.get("method") == result.get("method") else QUIET,
            assumes=one.get("assumes") or "",
        )
        for name, one in zip(names, found, strict=True)
    ]
    band: list[Any] = []
    if claim:
        rows.append(entry(CLAIM, claim, color=QUIET, assumes=claim.get("assumes") or ""))
    lines = [("reference", (result.get("reference") or {}).get("accuracy"), REFERENCE, True)]
    chart, height = dots(rows, lines=lines, title="accuracy on the target")
    low, high = finite(claim.get("lower")), finite(claim.get("upper"))
    if low is not None and high is not None:
        seen = [row[key] for row in rows for key in ("lower", "upper")] + [finite(lines[0][1])]
        across = axis(seen, title="accuracy on the target", labelSeparation=8)
        band.append(
            alt.Chart(data([{"from": low, "to": high}]))
            .mark_rect(color=BAND[QUIET], opacity=0.42)
            .encode(x=alt.X("from:Q", **across), x2="to:Q", y=alt.value(0), y2=alt.value("height"))
        )
    finding = title(result)
    spec = specification(alt.layer(*band, chart), height=height, alt_text=finding)
    return Figure("audited", finding, caption(result), spec)


def title(result: Result) -> str:
    """What is certain at the level, beside what was claimed without labels."""
    found = best(result.get("estimate"))
    if not found:
        return "What the labels say"
    text = f"The labels allow {percent_range(found.get('lower'), found.get('upper'))}"
    if found.get("lower") == found.get("upper"):
        text = f"Every row has a label: {percent(found['value'])} is certain"
    claim = best(result.get("headline"))
    if not claim:
        return text
    return f"{text}; without labels the estimate was {percent(claim['value'])}"


def caption(result: Result) -> str:
    """How to read the rows, and why one of them is printed on top."""
    text = "In colour the interval of this audit. It was chosen from the predictions and the number of labels, never "
    text += "from a label, so that the choice costs no coverage."
    if best(result.get("headline")):
        text += " The shaded band is what was claimed without labels."
    return text
