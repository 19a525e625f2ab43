"""Fluctuations: how often accuracy rises as more is answered, and the penalty for it (Figure 3 of the paper)."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, number
from ..theme import ACCENT, BAND, INK, MUTED, QUIET, SURFACE, data, specification
from ..words import capital
from .base import Figure, Result
from .models import DOMAINS, drawn, names, score

ROW_HEIGHT = 28


def figures(result: Result) -> list[Figure | None]:
    """A chart for each domain."""
    return [figure(result, domain) for domain in DOMAINS]


def _rows(result: Result, domain: str) -> list[dict[str, Any]]:
    called, rows = names(result), []
    for model in drawn(result):
        found = score(model, domain, "disca")
        count, penalty = finite(found.get("fluctuations")), finite(found.get("penalty"))
        if count is None or penalty is None:
            continue
        rows.append(
            {
                "model": called[str(model.get("name"))],
                "n": count,
                "p": round(penalty, 6),
                "text": f"{count:.0f}",
                "tip": {
                    "": called[str(model.get("name"))],
                    "times accuracy rises": f"{count:.0f}",
                    "penalty": number(penalty),
                },
            }
        )
    return sorted(rows, key=lambda row: (row["n"], row["p"]))


def figure(result: Result, domain: str) -> Figure | None:
    """Bars for how often, dots on an axis of their own for how much; the calmest model on top."""
    import altair as alt

    rows = _rows(result, domain)
    if not rows:
        return None
    down = alt.Y(
        "model:N",
        sort=[row["model"] for row in rows],
        axis=alt.Axis(
            title=None,
            grid=False,
            labelColor=INK,
            labelFontSize=13,
            labelLimit=alt.expr("containerSize()[0] < 480 ? 110 : 190"),
        ),
    )
    base = alt.Chart(data(rows)).encode(y=down)
    most, largest = max(row["n"] for row in rows), max(row["p"] for row in rows)
    bars = base.mark_bar(color=BAND[QUIET], height=alt.RelativeBandSize(0.62), cornerRadiusEnd=3).encode(
        x=alt.X(
            "n:Q",
            scale=alt.Scale(domain=[0, max(most * 1.12, 1)], nice=False),
            axis=alt.Axis(title="times accuracy rises (bars)", tickCount=5, tickMinStep=1, grid=True),
        ),
        tooltip="tip:N",
    )
    counts = base.mark_text(align="left", dx=5, color=MUTED, fontSize=11.5).encode(x="n:Q", text="text:N")
    above = alt.X(
        "p:Q",
        scale=alt.Scale(domain=[0, largest * 1.12 or 1], nice=False),
        axis=alt.Axis(
            title="penalty (dots)", orient="top", grid=False, tickCount=5, labelColor=ACCENT, titleColor=ACCENT
        ),
    )
    line = base.mark_line(color=ACCENT, strokeWidth=1.25, opacity=0.5, orient="vertical").encode(
        x=above, order=alt.Order("place:Q")
    )
    line = line.transform_window(place="row_number()")
    dots = base.mark_point(color=ACCENT, filled=True, size=75, opacity=1, stroke=SURFACE, strokeWidth=1.5).encode(
        x=above, tooltip="tip:N"
    )
    finding = title(domain, rows)
    chart = alt.layer(alt.layer(bars, counts), alt.layer(line, dots)).resolve_scale(x="independent")
    spec = specification(chart, height=ROW_HEIGHT * len(rows) + 60, alt_text=finding, spoken=False)
    return Figure(f"fluctuations-{domain.replace('_', '-')}", finding, caption(result), spec)


def title(domain: str, rows: list[dict[str, Any]]) -> str:
    """Where accuracy rises most often, and where that costs most."""
    where = capital(DOMAINS[domain])
    often, dear = max(rows, key=lambda row: row["n"]), max(rows, key=lambda row: row["p"])
    if not often["n"]:
        return f"{where} accuracy never rises as more is answered"
    times = f"{often['text']} time{'' if often['n'] == 1 else 's'}"
    text = f"{where} accuracy rises most often for {often['model']} ({times})"
    if often["model"] == dear["model"]:
        return f"{text}, and the penalty is largest there ({number(dear['p'], 2)})"
    return f"{text}; the penalty is largest for {dear['model']} ({number(dear['p'], 2)})"


def caption(result: Result) -> str:
    """How to read it."""
    settings = result.get("settings") or {}
    steps, grid = settings.get("steps"), settings.get("grid")
    where = {
        "coverage": f"{steps} steps of coverage",
        "thresholds": f"{steps} steps of confidence",
        "samples": "every sample",
    }.get(str(grid), "the curve")
    return (
        f"Accuracy should only fall as more is answered. Bars: at how many of {where} it rises, lower axis. Dots: the "
        "penalty of DiSCA for it, upper axis; early and steep rises weigh most. Less is better."
    )
