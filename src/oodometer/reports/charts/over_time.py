"""Charts over time: estimates of chunks and of past runs, with their intervals, truths and alarms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ...plain import inside
from ..numbers import best, fall_text, finite, number, percent, percent_range
from .base import Figure, Line, Plot, Result, Rows, axis, caption, ends, shares
from .looks import ACCENT, BAND, DOT, HALO, QUIET, REFERENCE, SURFACE, TRUTH, Spec

MOST = 400  # chunks, parts or runs in a chart; the newest stay
MOST_CHANGES = 12  # small charts of a job
_HEIGHT, _SMALL = 280, 150
_FEW = 60  # points that are drawn large
_MOST_TICKS = 6
_DAY = 86_400_000  # milliseconds

# ------------------------------------------------------------------------------------------ the builder


def _moment(text: Any) -> float | None:
    """Milliseconds since 1970 of a date in ISO form, as the clock shows it there, whatever its offset."""
    if not isinstance(text, str) or text.isdigit():  # the number of a row
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000
    except ValueError:
        return None


def _spans(chunks: Sequence[Result]) -> tuple[list[tuple[float, float]], bool]:
    """Both ends of every chunk on the time axis, or, where one is no date, places 0, 1, 2, ...; and which it is."""
    every = [(_moment(chunk.get("start")), _moment(chunk.get("end"))) for chunk in chunks]
    times = [
        (start, end)
        for start, end in every
        if start is not None and end is not None and end > start
    ]
    if len(times) == len(every):
        return times, True
    return [(float(index), index + 1.0) for index in range(len(every))], False


def _row(
    tip: Spec,
    span: tuple[float, float],
    item: Result,
    truth: Any,
    written: Any = percent,
    **more: Any,
) -> Spec:
    """A row of `_along`: where it stands, the value with its interval and the truth; what the pointer shows."""
    low, high = ends(item)
    spread = f"{number(low)} to {number(high)}"
    tip["interval"] = (
        percent_range(item.get("lower"), item.get("upper")) if written is percent else spread
    )
    tip |= {} if truth is None else {"truth": written(truth)}
    tip |= {"rows": number(item["rows"])} if item.get("rows") else {}
    return {
        "start": span[0],
        "end": span[1],
        "middle": sum(span) / 2,
        "value": item["value"],
        "lower": low,
        "upper": high,
        "truth": truth,
        "alarm": False,
        "ended": False,
        "tip": tip,
        **more,
    }


def _along(
    rows: Rows, dated: bool, levels: Sequence[Line], up: Spec | None = None, *, runs: bool = False
) -> Plot:
    """A band and a point for each row, a line through them, truths as diamonds, alarms as rings, levels as dashes."""
    levels = [line for line in levels if line[1] is not None]
    small, few = up is not None, len(rows) <= _FEW
    across = _time_axis(rows, 4 if small else 7) if dated else _places_axis(rows)
    plot = Plot(across, up or shares(_seen(rows, levels), most=5))
    if runs:
        bar = {"color": BAND[ACCENT], "strokeWidth": 14 if few else 3}
        plot.draw("rule", rows, bar, x="middle", y="lower", y2="upper")
    else:
        _draw_bands(plot, rows, rim=(1 if small else 1.5) if few else 0)
    _draw_levels(plot, rows, levels, labelled=not small)
    plot.draw("line", rows, {"color": ACCENT, "strokeWidth": 2}, x="middle", y="value")
    if not small:
        _draw_points(plot, rows, size=70 if few else 12)
    _draw_truths(plot, rows, size=70 if small else 130 if few else 40)
    if runs:
        look = {"opacity": 0, "strokeWidth": 20 if few else 3}
        plot.draw("rule", rows, look, x="middle", y=0, y2={"value": "height"}, tooltip="tip")
    else:
        plot.strips(rows, "start", "end")
    return plot


def _seen(rows: Rows, levels: Sequence[Line]) -> list[Any]:
    """All values that the vertical axis has to hold."""
    values = [row[key] for row in rows for key in ("lower", "upper", "truth")]
    wide = [row[key] for row in _with_wide(rows) for key in ("wide_lower", "wide_upper")]
    return [*values, *(line[1] for line in levels), *wide]


def _with_wide(rows: Rows) -> Rows:
    """The rows that have a band which has not heard of own history."""
    return [row for row in rows if "wide_lower" in row]


_TIME: Spec = {"grid": False, "labelOverlap": "greedy", "labelSeparation": 12}


def _time_axis(rows: Rows, max_ticks: int) -> Spec:
    """An axis of times whose labels are as fine as its span asks for, with so many ticks at most."""
    span = [rows[0]["start"], rows[-1]["end"]]
    days = (span[1] - span[0]) / _DAY
    monthly = all(re.match(r"\d{4}-(\d{2}|Q\d)( |$)", row["tip"][""]) for row in rows)
    form = "%b %Y" if monthly or days >= 300 else "%d %b"
    form = "%H:%M:%S" if days < 0.02 else "%H:%M" if days < 2 else form
    # Of few months Vega would name weeks between them.
    count = {"interval": "month", "step": 1} if monthly and days < 31 * max_ticks else max_ticks
    return {
        "type": "temporal",
        "scale": {"type": "utc", "domain": span, "nice": False},
        "axis": {"title": None, **_TIME, "tickCount": count, "format": form},
    }


def _places_axis(rows: Rows) -> Spec:
    """An axis of chunks without dates, counted from 1."""
    span, places = [rows[0]["start"], rows[-1]["end"]], [row["middle"] for row in rows]
    label = "format(datum.value + 0.5, '.0f')"
    return axis(span, title="chunk", **_TIME, values=places, labelExpr=label)


def _draw_bands(plot: Plot, rows: Rows, rim: float) -> None:
    """Draw the interval of each row, over the one that has not heard of own history."""
    if wide := _with_wide(rows):
        pale = {"color": BAND[QUIET], "opacity": 0.42}
        plot.draw("bar", wide, pale, x="start", x2="end", y="wide_lower", y2="wide_upper")
    look = {"color": BAND[ACCENT], "stroke": SURFACE, "strokeWidth": rim}
    plot.draw("bar", rows, look, x="start", x2="end", y="lower", y2="upper")


def _draw_levels(plot: Plot, rows: Rows, levels: Sequence[Line], labelled: bool) -> None:
    """Draw levels; labels stand at the end where the estimates are farther from the line, the lower one's below it."""
    for label, value, color in levels:
        at_left = abs(rows[0]["value"] - value) > abs(rows[-1]["value"] - value)
        above = len(levels) < 2 or value >= max(line[1] for line in levels)
        words = f"{label} {percent(value)}" if labelled else ""
        plot.level(value, color, words, left=at_left, above=above)


def _draw_truths(plot: Plot, rows: Rows, size: float) -> None:
    """Draw the truth of each row where it is known."""
    if any(row["truth"] is not None for row in rows):
        diamond = {**DOT, "shape": "diamond", "size": size, "color": TRUTH, "strokeWidth": 2}
        plot.draw("point", rows, diamond, where="isValid(datum.truth)", x="middle", y="truth")


def _draw_points(plot: Plot, rows: Rows, size: float) -> None:
    """Draw the value of each row, in a ring where there is or was an alarm."""
    dot = {**DOT, "size": size, "color": ACCENT, "strokeWidth": 2}
    plot.draw("point", rows, dot, x="middle", y="value")
    for sign, color in (("ended", QUIET), ("alarm", REFERENCE)):
        ring = {"size": size + 130, "filled": False, "color": color, "opacity": 1}
        ring["strokeWidth"] = 2.5
        if any(row[sign] for row in rows):
            plot.draw("point", rows, ring, where=f"datum.{sign}", x="middle", y="value")


# ------------------------------------------------------------------------------------------ chunks


def chunks(result: Result) -> Figure | None:
    """The estimate of each chunk with its band, beside the reference and, where it is known, the truth."""
    every = [chunk for chunk in result.get("chunks") or [] if best(chunk.get("headline"))]
    if not every:
        return None
    newest = every[-MOST:]
    spans, dated = _spans(newest)
    rows = [_estimate_row(span, chunk) for span, chunk in zip(spans, newest, strict=True)]
    accuracy = finite(inside(result, "reference", "accuracy"))
    of_rows = all(isinstance(chunk.get("start"), int) for chunk in result["chunks"])
    text = caption(
        "chunks",
        "read",
        bool(_with_wide(rows)) and "history",
        any(best(chunk.get("truth")) for chunk in every) and "truths",
        any(inside(chunk, "fell", "alarm") for chunk in every) and "alarms",
        of="next rows of the file" if of_rows else "rows of one stretch of time",
    )
    plot = _along(rows, dated, [("reference", accuracy, REFERENCE)])
    return plot.figure("chunks", _lowest_chunk(every, accuracy), text, height=_HEIGHT)


def _lowest_chunk(every: Sequence[Result], accuracy: float | None) -> str:
    """Which chunk has the lowest estimate, and, where no alarm says more, how many lie below the reference."""
    lowest = min(every, key=lambda chunk: float(chunk["headline"]["value"]))
    title = f"Lowest estimated accuracy in {_chunk_name(lowest)}: {percent(lowest['headline']['value'])}"
    if accuracy is None or any(chunk.get("fell") for chunk in every):
        return title
    below = sum((finite(chunk["headline"].get("upper")) or 1) < accuracy for chunk in every)
    return f"{title}; {below} of {len(every)} chunks lie wholly below the reference"


def _chunk_name(chunk: Result) -> str:
    """What a chunk is called."""
    return str(chunk.get("name") or f"the chunk from {chunk.get('start')}")


def _estimate_row(span: tuple[float, float], chunk: Result) -> Spec:
    """The estimate of a chunk in its stretch of time."""
    headline, fell = chunk["headline"], chunk.get("fell") or {}
    tip = {"": _chunk_name(chunk), "estimate": percent(headline["value"])}
    truth = best(chunk.get("truth")).get("value")
    row = _row(tip, span, {**headline, "rows": chunk.get("rows")}, truth)
    row["tip"] |= {"fell": fall_text(fell)} if fell else {}
    wide, history_tip = _without_history(headline)
    row["tip"] |= history_tip
    return {**row, **wide, "alarm": bool(fell.get("alarm"))}


def _without_history(headline: Result) -> tuple[Spec, Spec]:
    """The band that has not heard of own history, of a row and for the pointer; empty where there is none."""
    without = best(inside(headline, "history", "public"))
    if not without:
        return {}, {}
    low, high = ends(without)
    return {"wide_lower": low, "wide_upper": high}, {
        "without own history": percent_range(low, high)
    }


def metric_chunks(result: Result) -> list[Figure]:
    """A small chart for each metric of `metrics` that chunks have, in the order in which they were asked for."""
    figures = []
    for index, (name, overall) in enumerate((result.get("metrics") or {}).items()):
        every = [item for item in result.get("chunks") or [] if best(item.get("headline"))][-MOST:]
        with_metric = [item for item in every if best(inside(item, "metrics", name))]
        if not with_metric:
            continue
        spans, dated = _spans(with_metric)
        rows = []
        for span, item in zip(spans, with_metric, strict=True):
            of_metric = item["metrics"][name]
            tip = {
                "": str(item.get("name") or item.get("start")),
                str(name): number(of_metric["value"]),
            }
            rows.append(
                _row(tip, span, of_metric, best(of_metric.get("truth")).get("value"), number)
            )
        level = finite(best(overall.get("reference")).get("value"))
        values = [row[key] for row in rows for key in ("lower", "upper", "truth")] + [level]
        low, high = (end(value for value in values if value is not None) for end in (min, max))
        room = 0.08 * (high - low) or 0.01
        lowest = min(rows, key=lambda row: float(row["value"]))
        text = f"lowest {number(lowest['value'])}, {lowest['tip']['']}"
        plot = _along(
            rows,
            dated,
            [("", level, REFERENCE)],
            axis([low - room, high + room], tickCount=4, format="~g"),
        )
        figures.append(
            plot.figure(
                f"metric-chunks-{index}", str(name), text, height=_SMALL, words=f"{name}: {text}"
            )
        )
    return figures


# ------------------------------------------------------------------------------------------ past runs


def cut_of(job: Result) -> str:
    """The kind of part that the job is told by: chunks, else slices, else the target as a whole."""
    kinds = {part.get("kind") for part in job.get("parts") or []}
    return next((kind for kind in ("chunk", "slice") if kind in kinds), "target")


def shown_parts(job: Result, kind: str | None = None) -> list[dict[str, Any]]:
    """The accuracies of the parts of a job that have a number, oldest first."""
    kind_and_metric = (kind or cut_of(job), "accuracy")
    parts = [
        dict(part)
        for part in job.get("parts") or []
        if (part.get("kind"), part.get("metric")) == kind_and_metric
    ]
    return [part for part in parts if finite(part.get("value")) is not None][-MOST:]


def levels(job: Result) -> list[Line]:
    """The accuracy of the reference and the bound of an alarm, as the newest run had them."""
    last = (job.get("runs") or [{}])[-1]
    below = inside(last, "options", "fail_below")
    bound = finite(below.get("accuracy") if isinstance(below, dict) else below)
    return [
        ("reference", finite(last.get("reference_accuracy")), REFERENCE),
        ("bound", bound, "var(--poor)"),
    ]


def newest(job: Result, index: int) -> Figure | None:
    """Chunks along their time; where there are none, the target (not its slices) along the time of the runs."""
    by_chunk = cut_of(job) == "chunk"
    rows, dated = _chunk_rows(job) if by_chunk else (_run_rows(job), True)
    if not rows:
        return None
    lowest = min(rows, key=lambda row: float(row["value"]))
    title = f"Lowest estimated accuracy in {lowest['tip']['']}: {percent(lowest['value'])}"
    raised_by = sum(row["alarm"] for row in rows)
    if raised_by:
        what = f"{'chunk' if by_chunk else 'run'}{'' if len(rows) == 1 else 's'}"
        title += f"; {raised_by} of {len(rows)} {what} with an alarm"
    truth, ended = any(row["truth"] is not None for row in rows), any(row["ended"] for row in rows)
    read, late, rings = ("chunks", "late", "stand") if by_chunk else ("runs", "then", "raised")
    text = caption("history", read, truth and late, raised_by and rings, ended and "ended")
    plot = _along(rows, dated, levels(job), runs=not by_chunk)
    return plot.figure(f"history-{index}", title, text, height=_HEIGHT)


def _chunk_rows(job: Result) -> tuple[Rows, bool]:
    """The newest estimate of each chunk, with its alarms; and whether the chunks have dates."""
    parts, rows = shown_parts(job), []
    spans, dated = _spans(parts)
    for span, part in zip(spans, parts, strict=True):
        raised = part.get("alarms") or []
        standing = [entry for entry in raised if entry.get("stands")]
        tip = {"": str(part.get("name")), "estimate": percent(part["value"])}
        ended = bool(raised) and not standing
        truth = inside(part, "truth", "value")
        row = _row(tip, span, part, truth, alarm=bool(standing), ended=ended)
        row["tip"] |= {"estimated": f"{str(part.get('at'))[:10]}, run {part.get('run')}"}
        if raised:
            since = min(str(entry.get("since"))[:10] for entry in standing or raised)
            row["tip"] |= {"alarm": f"since {since}" if standing else "ended"}
        rows.append(row)
    return rows, dated


def _run_rows(job: Result) -> Rows:
    """The estimates of the target as a whole, run by run."""
    target = next(iter(shown_parts(job, "target")), {})
    seen = [item for item in target.get("seen") or [] if finite(item.get("value")) is not None]
    seen = seen[-MOST:]
    runs = {entry.get("number"): entry for entry in job.get("runs") or []}
    times = [datetime.fromisoformat(str(entry["at"])).timestamp() * 1000 for entry in seen]
    room, rows = (0.04 * (times[-1] - times[0]) or _DAY / 2) if times else 0.0, []
    for item, time in zip(seen, times, strict=True):
        run, span = runs.get(item.get("run")) or {}, (time - room, time + room)
        alarm = bool(run.get("alarms"))
        rows.append(_row(_run_tip(item), span, item, run.get("truth"), alarm=alarm))
    return rows


def _run_tip(item: Result) -> dict[str, str]:
    when = str(item.get("at"))[:16].replace("T", " ")
    return {"": f"run {item.get('run')}, {when}", "estimate": percent(item["value"])}


def changes(job: Result, index: int) -> list[Figure]:
    """A small chart for each of the newest parts that more than one run looked at: its estimate, run by run."""
    parts = _parts_of_several_runs(job)
    series = [(finite(inside(part, "truth", "value")), _by_run(part)) for part in parts]
    seen = [row[key] for _, rows in series for row in rows for key in ("lower", "upper")]
    up = shares([*seen, *(truth for truth, _ in series)], most=4)
    out = []
    for position, (part, (truth, rows)) in enumerate(zip(parts, series, strict=True)):
        title, first, last = str(part.get("name")), rows[0]["value"], rows[-1]["value"]
        text = f"from {percent(first)} to {percent(last)} in {len(rows)} runs"
        text += "" if truth is None else f"; truth {percent(truth)}"
        runs = sorted({int(row["x"]) for row in rows})
        # Named one by one: of few runs Vega would name halves between them.
        across = axis(
            None,
            title="run",
            scale={"padding": 6},
            grid=False,
            values=runs[:: -(-len(runs) // _MOST_TICKS)],
            format="d",
            labelOverlap="greedy",
        )
        plot = Plot(across, up)
        if truth is not None:
            plot.level(truth, TRUTH)
        plot.curve(rows, ACCENT, band=1, size=34, strokeWidth=2)
        name, words = f"history-{index}-{position}", f"{title}: {text}"
        out.append(plot.figure(name, title, text, height=_SMALL, words=words))
    return out


def _parts_of_several_runs(job: Result) -> Sequence[Result]:
    """The newest chunks, or the first slices, that more than one run looked at."""
    kind = cut_of(job)
    if kind == "target":
        return []
    several = [part for part in shown_parts(job) if len(part.get("seen") or []) > 1]
    return several[-MOST_CHANGES:] if kind == "chunk" else several[:MOST_CHANGES]


def _by_run(part: Result) -> Rows:
    """The estimates of a part, run by run."""
    return [
        _row(_run_tip(item), (0, 0), item, None, x=item.get("run"), y=item["value"])
        for item in part["seen"]
        if finite(item.get("value")) is not None
    ]


# ------------------------------------------------------------------------------------------ columns of a diagnosis

_COLUMNS = (ACCENT, REFERENCE, TRUTH, QUIET)


def columns(result: Result) -> Figure | None:
    """Distance of the user's columns from the reference along time, of those that moved farthest; full dots beyond
    chance. None without chunks.
    """
    periods = (result.get("periods") or [])[-MOST:]
    if len(periods) < 2:
        return None
    names = list(periods[0]["distances"])
    farthest = {name: max(period["distances"][name] for period in periods) for name in names}
    chosen = sorted(names, key=lambda name: -farthest[name])[: len(_COLUMNS)]
    if not chosen:
        return None
    spans, dated = _spans(periods)
    lines = {name: _distances(name, periods, spans) for name in chosen}
    first = lines[chosen[0]]
    plot = Plot(
        _time_axis(first, 7) if dated else _places_axis(first),
        axis([0, max(1.1 * farthest[chosen[0]], 0.05)], title="distance", tickCount=5, format="~f"),
    )
    colors = dict(zip(chosen, _COLUMNS, strict=False))
    for name in reversed(chosen):
        _draw_distances(plot, lines[name], colors[name])
    last = [{"label": name, "y": lines[name][-1]["value"], "c": colors[name]} for name in chosen]
    plot.names(last, _HEIGHT, look={"fontSize": 12, "limit": 150, **HALO})
    count = sum(chosen[0] in period["moved"] for period in periods)
    title = f"{chosen[0]} moved farthest: beyond chance in {count} of {len(periods)} chunks"
    text = caption("columns", "read")
    if len(chosen) < len(names):
        text += " " + caption("columns", "most", some=len(chosen), many=len(names))
    return plot.figure("columns", title, text, height=_HEIGHT)


def _draw_distances(plot: Plot, rows: Rows, color: str) -> None:
    """Draw the line of a column with its dots, full where it moved beyond chance."""
    plot.draw("line", rows, {"color": color, "strokeWidth": 2}, x="middle", y="value")
    for moved, fill in ((False, SURFACE), (True, color)):
        look = {**DOT, "fill": fill, "stroke": color, "size": 55, "strokeWidth": 2}
        dots = [row for row in rows if row["moved"] is moved]
        if dots:  # a layer without a mark is an image without a name
            plot.draw("point", dots, look, x="middle", y="value", tooltip="tip")


def _distances(
    name: str, periods: Sequence[Result], spans: Sequence[tuple[float, float]]
) -> list[Spec]:
    """A row a chunk: where it stands, the distance of a column, and whether it moved."""
    rows = []
    for period, (start, end) in zip(periods, spans, strict=True):
        value, moved = period["distances"][name], name in period["moved"]
        tip = {
            "": f"{period['name']}, {name}",
            "distance": number(value),
            "moved": "beyond chance" if moved else "no more than chance",
            "rows": number(period["rows"]),
        }
        row = {"start": start, "end": end, "middle": (start + end) / 2, "value": value}
        rows.append({**row, "moved": moved, "tip": tip})
    return rows
