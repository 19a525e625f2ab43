"""History: the newest estimate of each part along time with truth, bound and alarms, and how it changed by run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ..numbers import finite, number, percent, percent_range
from ..theme import ACCENT, BAND, HALO, QUIET, REFERENCE, SURFACE, TRUTH, axis, data, specification
from .base import Figure, Result
from .chunks import spans

BOUND = "var(--poor)"
HEIGHT, SMALL = 300, 150
MOST = 400  # parts or runs in the large chart; the newest stay
_MOST_TICKS = 6
MOST_CHANGES = 12  # small charts of a job

Parts = list[dict[str, Any]]


def cut_of(job: Result) -> str:
    """The kind of part that the job is told by: chunks, else slices, else the target as a whole."""
    kinds = {one.get("kind") for one in job.get("parts") or []}
    return next((kind for kind in ("chunk", "slice") if kind in kinds), "target")


def shown_parts(job: Result, kind: str | None = None) -> Parts:
    """The accuracies of the parts of a job that have a number, oldest first."""
    kind = kind or cut_of(job)
    parts = [dict(one) for one in job.get("parts") or [] if one.get("kind") == kind]
    return [one for one in parts if one.get("metric") == "accuracy" and finite(one.get("value")) is not None][-MOST:]


def figures(job: Result, index: int) -> tuple[Figure | None, list[Figure]]:
    """The large chart of a job, and the small ones of how its parts changed; ``index`` keeps their names apart."""
    return newest(job, index), changes(job, index)


# ------------------------------------------------------------------------------------------ along time


def newest(job: Result, index: int) -> Figure | None:
    """Chunks along their time; where there are none, the target (not its slices) along the time of the runs."""
    if cut_of(job) == "chunk":
        parts = shown_parts(job)
        places, dated = spans([_as_chunk(one) for one in parts])
        rows = [_row(one, place) for one, place in zip(parts, places, strict=True)]
        caption = "The newest estimate of each chunk with its interval." + _signs(rows, "when labels came")
        return None if not rows else _large(f"history-{index}", _title(job, rows, "chunk"), caption, job, rows, dated)
    target = next(iter(shown_parts(job, "target")), None)
    seen = [one for one in (target or {}).get("seen") or [] if finite(one.get("value")) is not None][-MOST:]
    if target is None or not seen:
        return None
    rows = _runs_as_rows(job, seen)
    caption = "The estimate of each run with its interval, along the time of the runs."
    caption += _signs(rows, "as labels told it then").replace(" that stand", "")
    return _large(f"history-{index}", _title(job, rows, "run"), caption, job, rows, True)


def _as_chunk(part: Result) -> dict[str, Any]:
    """Beginning and end as a chunk has them; those of chunks of rows are numbers."""
    return {name: None if str(part.get(name)).isdigit() else part.get(name) for name in ("start", "end")}


def _row(part: Result, place: tuple[float, float]) -> dict[str, Any]:
    truth, alarms = (part.get("truth") or {}).get("value"), part.get("alarms") or []
    standing = [one for one in alarms if one.get("stands")]
    tip = {"": str(part.get("name")), "estimate": percent(part["value"])}
    tip |= {"interval": percent_range(part.get("lower"), part.get("upper"))}
    tip |= {} if truth is None else {"truth": percent(truth)}
    tip |= {"rows": number(part["rows"])} if part.get("rows") else {}
    tip |= {"estimated": f"{str(part.get('at'))[:10]}, run {part.get('run')}"}
    if alarms:
        since = min(str(one.get("since"))[:10] for one in standing or alarms)
        tip |= {"alarm": f"since {since}" if standing else "ended"}
    ends = {"start": place[0], "end": place[1], "middle": sum(place) / 2}
    return {**ends, **_numbers(part), "truth": truth, "alarm": bool(standing), "ended": bool(alarms) and not standing,
            "tip": tip}  # fmt: skip


def _runs_as_rows(job: Result, seen: Sequence[Result]) -> list[dict[str, Any]]:
    """Each run at its time, with room at either end of the axis."""
    runs = {one.get("number"): one for one in job.get("runs") or []}
    times = [datetime.fromisoformat(str(one["at"])).timestamp() * 1000 for one in seen]
    room = 0.04 * (times[-1] - times[0]) or 43_200_000.0
    rows = []
    for one, time in zip(seen, times, strict=True):
        run = runs.get(one.get("run")) or {}
        tip = {
            "": f"run {one.get('run')}, {str(one.get('at'))[:16].replace('T', ' ')}",
            "estimate": percent(one["value"]),
        }
        tip |= {"interval": percent_range(one.get("lower"), one.get("upper"))}
        tip |= {} if run.get("truth") is None else {"truth": percent(run["truth"])}
        tip |= {"rows": number(one["rows"])} if one.get("rows") else {}
        ends = {"start": time - room, "end": time + room, "middle": time}
        alarm = bool(run.get("alarms"))
        rows.append({**ends, **_numbers(one), "truth": run.get("truth"), "alarm": alarm, "ended": False, "tip": tip})
    return rows


def _numbers(one: Result) -> dict[str, Any]:
    value = one["value"]
    low, high = (finite(one.get(side)) for side in ("lower", "upper"))
    return {"value": value, "lower": value if low is None else low, "upper": value if high is None else high}


def _signs(rows: list[dict[str, Any]], labels: str) -> str:
    said = f" Diamonds are the accuracy {labels}." if any(one["truth"] is not None for one in rows) else ""
    said += " Rings are alarms that stand." if any(one["alarm"] for one in rows) else ""
    return said + (" Grey rings are alarms that ended." if any(one["ended"] for one in rows) else "")


def _title(job: Result, rows: list[dict[str, Any]], what: str) -> str:
    lowest = min(rows, key=lambda one: float(one["value"]))
    text = f"Lowest in {lowest['tip']['']}: {percent(lowest['value'])}"
    alarms = sum(one["alarm"] for one in rows)
    return f"{text}; {alarms} of {len(rows)} {what}{'' if len(rows) == 1 else 's'} with an alarm" if alarms else text


def _large(name: str, title: str, caption: str, job: Result, rows: list[dict[str, Any]], dated: bool) -> Figure:
    import altair as alt

    levels = _levels(job)
    numbers = [row[key] for row in rows for key in ("lower", "upper", "truth")]
    up = axis([*numbers, *(one["y"] for one in levels)], most=5)
    across = _across([rows[0]["start"], rows[-1]["end"]], dated, "chunk")
    base = alt.Chart(data(rows))
    few = len(rows) <= 60
    size = 70 if few else 12
    ends = base.encode(x=alt.X("start", **across), x2="end")
    middle = base.encode(x=alt.X("middle", **across))
    value = alt.Y("value:Q", **up)
    if cut_of(job) == "chunk":
        band = ends.mark_bar(color=BAND[ACCENT], stroke=SURFACE, strokeWidth=1.5 if few else 0)
        hover = ends.mark_bar(opacity=0)
    else:
        band = middle.mark_rule(color=BAND[ACCENT], strokeWidth=14 if few else 3)
        hover = middle.mark_rule(opacity=0, strokeWidth=20 if few else 3)
    point = middle.mark_point(filled=True, size=size, color=ACCENT, opacity=1, stroke=SURFACE)
    ring: dict[str, Any] = {"filled": False, "opacity": 1, "strokeWidth": 2.5, "size": size + 130}
    layers = [
        band.encode(y=alt.Y("lower:Q", **up), y2="upper:Q"),
        *_lines(levels, up),
        middle.mark_line(color=ACCENT, strokeWidth=2).encode(y=value),
        point.encode(y=value),
        middle.transform_filter("datum.ended").mark_point(color=QUIET, **ring).encode(y=value),
        middle.transform_filter("datum.alarm").mark_point(color=REFERENCE, **ring).encode(y=value),
        middle.transform_filter("isValid(datum.truth)")
        .mark_point(shape="diamond", size=130 if few else 40, filled=True, color=TRUTH, opacity=1, stroke=SURFACE)
        .encode(y=alt.Y("truth:Q", **up)),
        hover.encode(y=alt.value(0), y2=alt.value("height"), tooltip="tip:N"),
    ]
    return Figure(name, title, caption, specification(alt.layer(*layers), height=HEIGHT, alt_text=title))


def _levels(job: Result) -> list[dict[str, Any]]:
    """The accuracy of the reference and the bound of an alarm, as the newest run had them."""
    last = (job.get("runs") or [{}])[-1]
    out = []
    reference = finite(last.get("reference_accuracy"))
    below = (last.get("options") or {}).get("fail_below")
    bound = finite(below.get("accuracy") if isinstance(below, dict) else below)
    if reference is not None:
        out.append({"y": reference, "label": f"reference {percent(reference)}", "what": REFERENCE, "up": True})
    if bound is not None:
        lower = reference is None or bound <= reference
        out.append({"y": bound, "label": f"bound {percent(bound)}", "what": BOUND, "up": not lower})
    return out


def _lines(levels: list[dict[str, Any]], up: dict[str, Any], words: bool = True) -> list[Any]:
    import altair as alt

    out: list[Any] = []
    for one in levels:
        base = alt.Chart(data([one])).encode(y=alt.Y("y:Q", **up))
        out.append(base.mark_rule(color=one["what"], strokeDash=[5, 4], strokeWidth=1.75))
        if words:
            place: dict[str, Any] = {"baseline": "bottom", "dy": -4} if one["up"] else {"baseline": "top", "dy": 5}
            text = base.mark_text(align="left", dx=4, color=one["what"], fontWeight=600, **place, **HALO)
            out.append(text.encode(x=alt.value(0), text="label:N"))
    return out


def _across(domain: list[float], dated: bool, title: str, ticks: int = 7) -> dict[str, Any]:
    import altair as alt

    days = (domain[1] - domain[0]) / 86_400_000
    form = "%H:%M:%S" if days < 0.02 else "%H:%M" if days < 2 else "%d %b" if days < 200 else "%b %Y"
    if dated:
        scale = alt.Scale(type="utc", domain=domain, nice=False)
        shown = alt.Axis(grid=False, title=None, labelOverlap="greedy", tickCount=ticks, format=form)
        return {"scale": scale, "axis": shown, "type": "temporal"}
    shown = alt.Axis(grid=False, title=title, labelOverlap="greedy", tickMinStep=1)
    return {"scale": alt.Scale(domain=domain, nice=False), "axis": shown, "type": "quantitative"}


# ------------------------------------------------------------------------------------------ by run


def changes(job: Result, index: int) -> list[Figure]:
    """A small chart for each of the newest parts that more than one run looked at: its estimate, run by run."""
    kind = cut_of(job)
    several = [one for one in shown_parts(job) if len(one.get("seen") or []) > 1] if kind != "target" else []
    made = several[-MOST_CHANGES:] if kind == "chunk" else several[:MOST_CHANGES]
    if not made:
        return []
    ends = [row[key] for one in made for row in _seen(one) for key in ("lower", "upper")]
    up = axis([*ends, *((one.get("truth") or {}).get("value") for one in made)], most=4)
    return [_small(f"history-{index}-{place}", one, up) for place, one in enumerate(made)]


def _seen(part: Result) -> list[dict[str, Any]]:
    """What each run said of a part, in the order of the runs."""
    rows = []
    for one in part.get("seen") or []:
        if finite(one.get("value")) is None:
            continue
        tip = {
            "": f"run {one.get('run')}, {str(one.get('at'))[:16].replace('T', ' ')}",
            "estimate": percent(one["value"]),
        }
        tip |= {"interval": percent_range(one.get("lower"), one.get("upper"))}
        tip |= {"rows": number(one["rows"])} if one.get("rows") else {}
        rows.append({"run": one.get("run"), **_numbers(one), "tip": tip})
    return rows


def _small(name: str, part: Result, up: dict[str, Any]) -> Figure:
    import altair as alt

    rows = _seen(part)
    first, last = rows[0]["value"], rows[-1]["value"]
    truth = finite((part.get("truth") or {}).get("value"))
    text = f"from {percent(first)} to {percent(last)} in {len(rows)} runs"
    text += "" if truth is None else f"; truth {percent(truth)}"
    runs = sorted({int(row["run"]) for row in rows})
    shown = runs[:: -(-len(runs) // _MOST_TICKS)]  # named one by one: of few runs Vega would name halves between them
    ticks = alt.Axis(grid=False, title="run", values=shown, format="d", labelOverlap="greedy")
    x = alt.X("run:Q", scale=alt.Scale(nice=False, zero=False, padding=6), axis=ticks)
    base = alt.Chart(data(rows)).encode(x=x)
    value = alt.Y("value:Q", **up)
    layers: list[Any] = [base.mark_area(color=BAND[ACCENT]).encode(y=alt.Y("lower:Q", **up), y2="upper:Q")]
    if truth is not None:
        layers += _lines([{"y": truth, "what": TRUTH, "up": True, "label": ""}], up, words=False)
    layers += [
        base.mark_line(color=ACCENT, strokeWidth=2).encode(y=value),
        base.mark_point(filled=True, size=34, color=ACCENT, opacity=1, stroke=SURFACE).encode(y=value, tooltip="tip:N"),
    ]
    title = str(part.get("name"))
    spec = specification(alt.layer(*layers), height=SMALL, alt_text=f"{title}: {text}")
    return Figure(name, title, text, spec)
