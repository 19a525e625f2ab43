"""Sparkline: chunks in the order of time as a small drawing of plain SVG, with intervals, truths and a level."""

from __future__ import annotations

from html import escape

from ..results import percent
from ..results.view import Point, View

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 820, 128, 52, 12, 10, 24
_BLUE, _RED, _GREEN = "#3b7ddd", "#dc3232", "#14a05a"  # each shows on white and on black
_MOST_NAMES = 8  # below the line


def sparkline(view: View) -> str:
    """The points of a view: a dot and a bar for each number, a diamond for its truth, a dashed line for the level."""
    points = view.points
    ends = [x for p in points for x in (p.lower, p.upper, p.truth) if x is not None]
    ends += [] if view.line is None else [view.line]
    low, high = min(ends), max(ends)
    room = max(high - low, 0.01) * 0.06
    low, high = max(low - room, 0.0), min(high + room, 1.0)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    step = (_WIDTH - _LEFT - _RIGHT) / len(points)
    x = [_LEFT + step * (i + 0.5) for i in range(len(points))]
    parts = [_scale(low, high, y(low), y(high))]
    if view.line is not None:
        at, name = y(view.line), f"{view.line_name} {percent(view.line)}"
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" '
            f'stroke-opacity=".55" stroke-dasharray="4 4"><title>{escape(name)}</title></line>'
        )
    width = min(step * 0.5, 14)
    parts += [
        _mark(one, at, width, *map(y, (one.value, one.lower, one.upper))) for one, at in zip(points, x, strict=True)
    ]
    for one, at in zip(points, x, strict=True):
        if one.truth is not None:
            parts.append(_diamond(at, y(one.truth), f"{one.name}: truth {percent(one.truth)}"))
    every = -(-len(points) // _MOST_NAMES)
    parts += [_text(x[i], _HEIGHT - 6, points[i].name[:12], "middle") for i in range(0, len(points), every)]
    said = f"{view.title} of {len(points)} chunks, {points[0].name} to {points[-1].name}"
    legend = " · ".join(
        [
            "dot and bar: estimate and interval",
            *(["diamond: truth"] if any(one.truth is not None for one in points) else []),
            *([] if view.line is None else [f"dashed: {view.line_name} {percent(view.line)}"]),
            *(["red: alarm"] if any(one.alarm for one in points) else []),
        ]
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(said)}" '
        f'font-family="system-ui,sans-serif" font-size="11">{"".join(parts)}</svg>'
        f'<p style="opacity:.72;font-size:12px">{escape(legend)}</p>'
    )


def _scale(low: float, high: float, bottom: float, top: float) -> str:
    lines = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" '
        'stroke-opacity=".18"/>'
        for at in (bottom, top)
    )
    return lines + _text(_LEFT - 6, bottom + 4, percent(low), "end") + _text(_LEFT - 6, top + 4, percent(high), "end")


def _mark(one: Point, at: float, width: float, value: float, lower: float, upper: float) -> str:
    colour = _RED if one.alarm else _BLUE
    said = f"{one.name}: {percent(one.value)} ({percent(one.lower)} to {percent(one.upper)})"
    said += "; ALARM" if one.alarm else ""
    return (
        f'<g><title>{escape(said)}</title><rect x="{at - width / 2:.1f}" y="{upper:.1f}" width="{width:.1f}" '
        f'height="{max(lower - upper, 1):.1f}" rx="3" fill="{colour}" fill-opacity=".3"/>'
        f'<circle cx="{at:.1f}" cy="{value:.1f}" r="3.5" fill="{colour}"/></g>'
    )


def _diamond(at: float, y: float, said: str) -> str:
    path = f"M{at:.1f} {y - 5:.1f}l5 5-5 5-5-5z"
    return f'<path d="{path}" fill="none" stroke="{_GREEN}" stroke-width="2"><title>{escape(said)}</title></path>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor" fill-opacity=".72">'
        f"{escape(words)}</text>"
    )
