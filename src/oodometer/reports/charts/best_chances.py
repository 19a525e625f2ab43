"""Best chances: the probability of each model to be the most accurate of all, as bars."""

from __future__ import annotations

from ..numbers import finite, percent
from ..theme import ACCENT, INK, QUIET, data, specification
from .base import Figure, Result
from .shots import likeliest, ranked

ROW_HEIGHT = 30


def figure(result: Result) -> Figure | None:
    """A bar for each model, the likeliest on top."""
    import altair as alt

    first = likeliest(result)["model"] if result.get("ranking") else None
    rows = [
        {
            "name": row["short"],
            "value": chance,
            "color": ACCENT if row["model"] == first else QUIET,
            "label": percent(chance, 0),
            "tip": {"": row["short"], "P(best)": percent(chance)},
        }
        for row in ranked(result)
        if (chance := finite(row.get("p_best"))) is not None
    ]
    if not rows:
        return None
    limit = alt.expr("containerSize()[0] < 480 ? 118 : 230")
    names = alt.Axis(title=None, grid=False, labelLimit=limit, labelColor=INK, labelFontSize=13)
    ticks = alt.Axis(
        values=[0, 0.25, 0.5, 0.75, 1], labelExpr="datum.value * 100 + ' %'", title="probability of being the best"
    )
    base = alt.Chart(data(rows)).encode(y=alt.Y("name:N", sort=None, axis=names))
    across = alt.X("value:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=ticks)
    bars = base.mark_bar(height=16, cornerRadiusEnd=4).encode(
        x=across, color=alt.Color("color:N", scale=None), tooltip="tip:N"
    )
    labels = base.mark_text(align="left", dx=10).encode(x=alt.value("width"), text="label:N", color=alt.value(INK))
    text = title(result)
    chart = alt.layer(bars, labels)
    return Figure("best-chances", text, caption(), specification(chart, height=ROW_HEIGHT * len(rows), alt_text=text))


def title(result: Result) -> str:
    """Which model is most likely the best.

    >>> title({"ranking": [{"model": "a", "p_best": 0.8}, {"model": "b", "p_best": 0.2}]}).replace(chr(160), " ")
    'a is the best with a probability of 80 %'
    """
    if result.get("open"):
        return "The labels favour no model"
    first = likeliest(result)
    return f"{first['short']} is the best with a probability of {percent(first.get('p_best'), 0)}"


def caption() -> str:
    """What the probabilities rest on."""
    return (
        "From the labelled rows and from how often the models disagree on the rows without labels. The bars add up to "
        "100 %; equal bars mean that the labels do not tell."
    )
