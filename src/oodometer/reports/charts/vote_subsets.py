"""Vote subsets: truth and bounds in random draws of fewer rows, with their spread (Figure 4 of the paper)."""

from __future__ import annotations

from typing import Any

from ..numbers import best, finite, number, percent, percent_range
from ..theme import ACCENT, BAND, QUIET, SURFACE, TRUTH, axis, data, specification
from .base import Figure, Result
from .labels import spread

HEIGHT = 320
GAP = 18
SERIES = (("upper", "upper bound", ACCENT), ("gold", "truth", TRUTH), ("lower", "lower bound", QUIET))
TICKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000)


def sizes(result: Result) -> list[dict[str, Any]]:
    """Draws by number of rows, the fewest first; those without truth or bounds are left out."""
    found = [dict(one) for one in (result.get("votes") or {}).get("subsets") or [] if finite(one.get("rows"))]
    kept = [one for one in found if all(best(one.get(key)) for key, _, _ in SERIES)]
    return sorted(kept, key=lambda one: float(one["rows"]))


def figure(result: Result) -> Figure | None:
    """A line with its band for the truth and for either bound, over the number of rows drawn."""
    import altair as alt

    found = sizes(result)
    if len(found) < 2 or (result.get("votes") or {}).get("judges") == 1:
        return None
    ends = [found[0]["rows"], found[-1]["rows"]]
    scale = alt.Scale(type="log", domain=[ends[0] * 0.93, ends[1] * 1.06], nice=False)
    across = alt.X(
        "rows:Q",
        scale=scale,
        axis=alt.Axis(
            values=[t for t in TICKS if ends[0] <= t <= ends[1]],
            format="~s",
            grid=False,
            title="rows drawn",
            labelOverlap="greedy",
        ),
    )
    up = axis([one[key].get(end) for one in found for key, _, _ in SERIES for end in ("lower", "upper")])
    low, high = up["scale"].domain
    layers: list[Any] = []
    for key, _, color in SERIES:
        rows = [{"rows": one["rows"], **{k: one[key].get(k) for k in ("value", "lower", "upper")}} for one in found]
        base = alt.Chart(data(rows)).encode(x=across)
        layers.append(base.mark_area(color=BAND[color], opacity=0.7).encode(y=alt.Y("lower:Q", **up), y2="upper:Q"))
        line = base.encode(y=alt.Y("value:Q", **up))
        layers += [
            line.mark_line(color=color),
            line.mark_point(filled=True, size=44, color=color, opacity=1, stroke=SURFACE, strokeWidth=1.2),
        ]
    places = spread(
        [(float(found[-1][key]["value"]) - low) / (high - low) * HEIGHT for key, _, _ in SERIES],
        GAP,
        0,
        HEIGHT,
    )
    names = [
        {"value": low + place / HEIGHT * (high - low), "name": name, "color": color}
        for (_, name, color), place in zip(SERIES, places, strict=True)
    ]
    text = alt.Chart(data(names)).mark_text(align="left", dx=8, fontWeight=600)
    tone = alt.Color("color:N", scale=None)
    layers.append(text.encode(x=alt.value("width"), y=alt.Y("value:Q", **up), text="name:N", color=tone))
    layers.append(_hover(found, scale, ends[0] * 0.93))
    finding = title(result)
    spec = specification(alt.layer(*layers), height=HEIGHT, alt_text=finding)
    return Figure("vote-subsets", finding, caption(result), spec)


def _hover(found: list[dict[str, Any]], scale: Any, before: float) -> Any:
    """What the pointer shows, from the size before to its own."""
    import altair as alt

    tips = []
    for one in found:
        tip = {"": f"{number(int(one['rows']))} rows, {number(int(one.get('draws') or 0))} draws"}
        for key, name, _ in SERIES:
            mine = one[key]
            tip[name] = f"{percent(mine['value'])} ({percent_range(mine.get('lower'), mine.get('upper'))})"
        tips.append({"before": before, "rows": one["rows"], "tip": tip})
        before = one["rows"]
    return (
        alt.Chart(data(tips))
        .mark_bar(opacity=0)
        .encode(x=alt.X("before:Q", scale=scale), x2="rows:Q", y=alt.value(0), y2=alt.value("height"), tooltip="tip:N")
    )


def title(result: Result) -> str:
    """In how many draws the bounds held the truth, over the sizes below all rows."""
    found = sizes(result)
    held: list[tuple[float, int]] = []
    for one in found[:-1]:
        reliable = best(((one.get("bounds") or [{}])[0]).get("reliability"))
        held += [(float(reliable["value"]), int(one["rows"]))] if reliable else []
    if not held:
        return "Truth and bounds by the number of rows"
    worst, rows = min(held)
    if worst >= 1:
        return f"In every draw of {number(held[0][1])} rows and more the truth lay within the bounds"
    return f"The truth lay within the bounds in {percent(worst, 0)} of the draws of {number(rows)} rows, the fewest"


def caption(result: Result) -> str:
    """What was drawn, and that the band is a spread and no promise."""
    found = sizes(result)
    draws, level = found[0].get("draws"), finite(result.get("level"))
    part = f"central {percent(level, 0)}" if level is not None else "central part"
    text = f"Rows drawn at random from these, {number(draws)} times for each number. Lines are means over the draws, "
    text += f"bands their {part}. Bounds and truth of one draw move together, so that bands may overlap while the "
    return text + "bounds hold."
