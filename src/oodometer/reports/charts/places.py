"""Places: the rank of each model by each metric, joined by lines, so that crossings show where metrics disagree."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, given, number, percent
from ..theme import INK, QUIET, SURFACE, data, specification
from ..words import capital
from .base import Figure, Result
from .models import DOMAINS, MOST, colors, drawn, names, rankings

METRICS = {
    "accuracy": "accuracy",
    "auc_coverage": "AUC",
    "e_aurc": "E-AURC",
    "augrc": "AUGRC",
    "risk_at_coverage": "risk at coverage",
    "coverage_at_risk": "coverage at risk",
    "disca": "DiSCA",
    "didma": "DiDMA",
    "nidma": "NiDMA",
}
"""Metrics of the chart in their order; aurc is auc_coverage upside down, brier and ece stand in the table."""
ROW_HEIGHT = 34
FIRM = 0.9  # share of replicates in which a place must hold


def figures(result: Result) -> list[Figure | None]:
    """A chart for each domain."""
    return [figure(result, domain) for domain in DOMAINS]


def title_of(metric: str, result: Result) -> str:
    """The short name of a metric, with the risk or the coverage at which it was read.

    >>> title_of("risk_at_coverage", {"settings": {"coverage": 0.8}}).replace(chr(160), " "), title_of("disca", {})
    ('risk at 80 %', 'DiSCA')
    """
    settings = result.get("settings") or {}
    for name, key, words in (
        ("risk_at_coverage", "coverage", "risk at"),
        ("coverage_at_risk", "risk", "cover at"),
    ):
        if metric == name and finite(settings.get(key)) is not None:
            return f"{words} {given(settings[key])}"
    return METRICS.get(metric, metric)


def firm(row: Result) -> bool:
    """Whether the place of a model holds in most replicates."""
    return (finite(row.get("stable")) or 0.0) >= FIRM


def figure(result: Result, domain: str) -> Figure | None:
    """Ranks in dots, a column for each metric; a full dot is a firm place."""
    called, tones = names(result), colors(result)
    shown = {str(one.get("name")) for one in drawn(result)}
    found = {name: rows for name, rows in rankings(result, domain).items() if name in METRICS}
    metrics = [name for name in METRICS if name in found]
    if len(metrics) < 2 or len(shown) < 2:
        return None
    by_model: dict[str, dict[str, list[Any]]] = {}
    slots: dict[str, int] = {}
    for at, metric in enumerate(metrics):
        mine = [row for row in found[metric] if str(row.get("model")) in shown]
        for slot, row in enumerate(mine):
            name, rank = str(row["model"]), row.get("rank")
            cell = {
                "metric": at,
                "slot": slot,
                "value": number(row["value"], 4),
                "firm": firm(row),
                "text": f"{rank}",
                "stable": percent(row.get("stable"), 0),
                "best": percent(row.get("p_best"), 0),
            }
            columns = by_model.setdefault(name, {key: [] for key in cell})
            for key, value in cell.items():
                columns[key].append(value)
            slots[name] = slot
    rows = [{"model": called[name], "c": tones[name], **columns} for name, columns in by_model.items()]
    finding = title(result, domain)
    titles = [title_of(name, result) for name in metrics]
    labels = [
        {"model": called[name], "slot": slot, "c": tones[name] if tones[name] != QUIET else "var(--muted)"}
        for name, slot in slots.items()
    ]
    chart = _chart(rows, labels, titles)
    height = ROW_HEIGHT * len(shown)
    spec = specification(chart, height=height, alt_text=finding, spoken=False)
    return Figure(f"places-{domain.replace('_', '-')}", finding, caption(result), spec)


def _chart(rows: list[dict[str, Any]], labels: list[dict[str, Any]], titles: list[str]) -> Any:
    import json

    import altair as alt

    narrow = "containerSize()[0] < 480"
    across = alt.X(
        "metric:Q",
        scale=alt.Scale(domain=[-0.35, len(titles) - 0.65], nice=False),
        axis=alt.Axis(
            values=list(range(len(titles))),
            labelExpr=f"{json.dumps(titles)}[datum.value]",
            orient="top",
            title=None,
            grid=False,
            labelColor=INK,
            labelOverlap=False,
            labelAngle=alt.expr(f"{narrow} ? -60 : 0"),
            labelAlign=alt.expr(f"{narrow} ? 'left' : 'center'"),
            labelFontSize=alt.expr(f"{narrow} ? 11 : 12.5"),
        ),
    )
    most = max(slot for row in rows for slot in row["slot"])
    down = alt.Y("slot:Q", scale=alt.Scale(domain=[most + 0.5, -0.5], nice=False), axis=None)
    over = alt.selection_point(fields=["model"], on="pointerover", clear="pointerout")
    shade = alt.when(over).then(alt.value(1.0)).otherwise(alt.value(0.15))
    rows = sorted(rows, key=lambda row: row["c"] != QUIET)
    flat = alt.Chart(data(rows)).transform_flatten([key for key in rows[0] if key not in ("model", "c")])
    base = flat.encode(x=across, y=down, detail="model:N", opacity=shade)
    tone = alt.Color("c:N", scale=None)
    width = alt.condition(f"datum.c === '{QUIET}'", alt.value(1.75), alt.value(3))
    line = base.mark_line().encode(color=tone, size=width)
    size = alt.expr(f"{narrow} ? 250 : 430")
    # An opaque disc below: a faded dot would let the lines through.
    back = flat.mark_point(filled=True, size=size, opacity=1, color=SURFACE).encode(x=across, y=down)
    dot = base.mark_point(size=size, strokeWidth=2).encode(
        stroke=alt.Stroke("c:N", scale=None),
        fill=alt.condition("datum.firm", alt.Fill("c:N", scale=None), alt.value(SURFACE)),
    )
    rank = base.mark_text(fontWeight=700, fontSize=alt.expr(f"{narrow} ? 10 : 12")).encode(
        text="text:N", color=alt.condition("datum.firm", alt.value(SURFACE), alt.value(INK))
    )
    told = (
        f"{{'': datum.model + ', ' + {json.dumps(titles)}[datum.metric], 'value': datum.value, 'rank': datum.text, "
        "'same rank in': datum.stable + ' of replicates', 'best in': datum.best + ' of replicates'}"
    )
    near = base.transform_calculate(tip=told).mark_point(filled=True, size=size)
    near = near.encode(tooltip="tip:N", opacity=alt.value(0)).add_params(over)
    names_ = (
        alt.Chart(data(labels))
        .mark_text(
            align="left",
            dx=4,
            fontSize=alt.expr(f"{narrow} ? 11 : 13"),
            fontWeight=600,
            limit=alt.expr(f"{narrow} ? 92 : 210"),
        )
        .encode(x=alt.value("width"), y=down, text="model:N", opacity=shade, color=tone)
    )
    return alt.layer(line, back, dot, rank, near, names_)


def title(result: Result, domain: str) -> str:
    """How many pairs of models AUC and DiSCA put in a different order."""
    where = DOMAINS[domain]
    many = len(result.get("models") or [])
    total = many * (many - 1) // 2
    found = {
        frozenset(row.get("metrics") or []): row
        for row in result.get("disagreements") or []
        if row.get("domain") == domain
    }
    known = rankings(result, domain)
    if {"auc_coverage", "disca"} <= set(known):
        parted = len((found.get(frozenset(("auc_coverage", "disca"))) or {}).get("pairs") or [])
        if not parted:
            return f"{capital(where)} AUC and DiSCA put all models in the same order"
        of = "the two models" if total == 1 else f"{parted} of {number(total)} pairs of models"
        return f"{capital(where)} AUC and DiSCA put {of} in a different order"
    return f"{capital(where)}: the place of each model by each metric"


def caption(result: Result) -> str:
    """How to read the dots and the crossings."""
    text = "Best on top; lines that cross are models that two metrics put in a different order. A full dot is a firm "
    text += f"place: it holds in at least {percent(FIRM, 0)} of the bootstrap replicates. One number twice: a tie."
    many = len(result.get("models") or [])
    return text + (f" Of {number(many)} models {MOST} are drawn." if many > MOST else "")
