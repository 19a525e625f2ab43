"""Error map: mean error of every method on every family of simulated shifts, the stronger the colour the larger."""

from __future__ import annotations

from typing import Any

from ..numbers import percent, points, short
from ..theme import ACCENT, INK, data, specification
from .base import Figure, Result
from .trials import by_family, families, family_name, ranked

ROW_HEIGHT = 26
STRONGEST = 0.62  # opacity at the largest error; above it the number in the cell would be hard to read
FULL = 0.1  # an error that gets the strongest colour, where none is larger than its double


def _cells(result: Result) -> list[dict[str, Any]]:
    errors, biases = by_family(result, "error"), by_family(result, "bias")
    shares = by_family(result, "coverage")
    best = {f: min(e for (_, g), e in errors.items() if g == f) for _, f in errors}
    full = max(FULL, sorted(errors.values())[int(0.9 * (len(errors) - 1))])
    out = []
    for (method, family), error in errors.items():
        bias = biases.get((method, family))
        tip = {"": f"{short(method, 40)}, {family_name(family)}", "mean error": points(error)}
        if bias is not None:
            tip["bias"] = f"{points(bias)} too {'high' if bias > 0 else 'low'}"
        tip["interval held"] = percent(shares.get((method, family)), 0)
        out.append(
            {
                "method": short(method, 40),
                "family": family_name(family),
                "text": f"{100 * error:.1f}",
                "shade": STRONGEST * min(error / full, 1.0),
                "weight": 800 if error <= best[family] else 400,
                "tip": tip,
            }
        )
    return out


def figure(result: Result) -> Figure | None:
    """Heat map with the number in each cell, best method on top; the best of each family in bold."""
    import altair as alt

    order = [short(row.get("method"), 40) for row in ranked(result)]
    cells = [cell for cell in _cells(result) if cell["method"] in order] if by_family(result, "error") else []
    if not cells:
        return None
    narrow = "containerSize()[0] < 480"
    across = alt.X(
        "family:N",
        sort=[family_name(name) for name in families(result)],
        axis=alt.Axis(
            title=None,
            orient="top",
            labelAngle=-60,
            labelAlign="left",
            labelColor=INK,
            labelLimit=150,
            labelFontSize=alt.expr(f"{narrow} ? 11 : 13"),
            labelPadding=4,
            grid=False,
        ),
    )
    down = alt.Y(
        "method:N",
        sort=order,
        axis=alt.Axis(
            title=None,
            grid=False,
            labelColor=INK,
            labelFontSize=alt.expr(f"{narrow} ? 11 : 13"),
            labelLimit=alt.expr(f"{narrow} ? 96 : 200"),
        ),
    )
    base = alt.Chart(data(cells)).encode(x=across, y=down)
    boxes = base.mark_rect(color=ACCENT, stroke="var(--surface)", strokeWidth=2).encode(
        opacity=alt.Opacity("shade:Q", scale=None)
    )
    size = alt.expr(f"{narrow} ? 10 : 13")
    plain = base.mark_text(fontSize=size).transform_filter("datum.weight < 500").encode(text="text:N")
    bold = base.mark_text(fontSize=size, fontWeight="bold").transform_filter("datum.weight > 500")
    hover = base.mark_rect(opacity=0).encode(tooltip="tip:N")
    finding = title(result)
    chart = alt.layer(boxes, plain, bold.encode(text="text:N"), hover)
    height = ROW_HEIGHT * len({cell["method"] for cell in cells}) + 70
    return Figure("error-map", finding, CAPTION, specification(chart, height=height, alt_text=finding))


CAPTION = (
    "Mean absolute error in points of accuracy; the best of each column is bold. An empty cell: the method could not "
    "answer there. Methods are ordered by their mean over the families in which they answered."
)
"""How to read it."""


def title(result: Result) -> str:
    """Whether one method is best everywhere."""
    errors = by_family(result, "error")
    winners: dict[str, str] = {}
    for (method, family), error in errors.items():
        if family not in winners or error < errors[winners[family], family]:
            winners[family] = method
    different = len(set(winners.values()))
    if different == 1:
        return f"{short(next(iter(winners.values())), 40)} is closest on every kind of simulated shift"
    return f"No method is best everywhere: {different} of them win on {len(winners)} kinds of shift"
