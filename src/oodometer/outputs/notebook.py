"""Notebook: the view of a result as a piece of HTML that needs no script, in the colours of the page it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..results import percent
from ..results.view import WORDS_PAGE, Grid, View

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 820, 128, 52, 12, 10, 24
_BLUE, _RED, _GREEN = "#3b7ddd", "#dc3232", "#14a05a"  # each shows on white and on black
_MOST_NAMES = 8  # below the line


def sparkline(view: View) -> str:
    """The points of a view: a dot and a bar for each number, a diamond for its truth, a dashed line for the level."""
    points, line = view.points, view.line
    ends = [x for p in points for x in (p.lower, p.upper, p.truth, line) if x is not None]
    room = max(max(ends) - min(ends), 0.01) * 0.06
    low, high = max(min(ends) - room, 0.0), min(max(ends) + room, 1.0)
    right, step = _WIDTH - _RIGHT, (_WIDTH - _LEFT - _RIGHT) / len(points)
    width, every = min(step * 0.5, 14), -(-len(points) // _MOST_NAMES)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    def rule(value: float, look: str, title: str = "") -> str:
        at, end = f"{y(value):.1f}", f"><title>{escape(title)}</title></line>" if title else "/>"
        return f'<line x1="{_LEFT}" x2="{right}" y1="{at}" y2="{at}" stroke="currentColor" stroke-opacity="{look}"{end}'

    def words(x: float, y: float, text: str, anchor: str) -> str:
        look = f'text-anchor="{anchor}" fill="currentColor" fill-opacity=".72"'
        return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'

    parts = [rule(low, ".18"), rule(high, ".18")]
    parts += [words(_LEFT - 6, y(value) + 4, percent(value), "end") for value in (low, high)]
    if line is not None:
        parts.append(rule(line, '.55" stroke-dasharray="4 4', f"{view.line_name} {percent(line)}"))
    truths, names = [], []
    for i, item in enumerate(points):
        at = _LEFT + step * (i + 0.5)
        value = y(item.value)
        lower = y(item.lower)
        upper = y(item.upper)
        colour, alarm = (_RED, "; ALARM") if item.alarm else (_BLUE, "")
        text = f"{item.name}: {percent(item.value)} ({percent(item.lower)} to {percent(item.upper)}){alarm}"
        parts.append(
            f'<g><title>{escape(text)}</title><rect x="{at - width / 2:.1f}" y="{upper:.1f}" width="{width:.1f}" '
            f'height="{max(lower - upper, 1):.1f}" rx="3" fill="{colour}" fill-opacity=".3"/>'
            f'<circle cx="{at:.1f}" cy="{value:.1f}" r="3.5" fill="{colour}"/></g>'
        )
        if item.truth is not None:
            path = f"M{at:.1f} {y(item.truth) - 5:.1f}l5 5-5 5-5-5z"
            text = f"{item.name}: truth {percent(item.truth)}"
            look = f'fill="none" stroke="{_GREEN}" stroke-width="2"'
            truths.append(f'<path d="{path}" {look}><title>{escape(text)}</title></path>')
        names += [] if i % every else [words(at, _HEIGHT - 6, item.name[:12], "middle")]
    text = f"{view.title} of {len(points)} chunks, {points[0].name} to {points[-1].name}"
    legend = ["dot and bar: estimate and interval", *(["diamond: truth"] if truths else [])]
    legend += [] if line is None else [f"dashed: {view.line_name} {percent(line)}"]
    legend += ["red: alarm"] if any(item.alarm for item in points) else []
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(text)}" '
        f'font-family="system-ui,sans-serif" font-size="11">{"".join([*parts, *truths, *names])}</svg>'
        f'<p style="opacity:.72;font-size:12px">{escape(" · ".join(legend))}</p>'
    )


# Letters keep the colour of the notebook, light or dark, and everything else is a shade of grey that shows on both:
# a notebook's theme is its own and not that of the system, so that no query of the style sheet can tell it.
_STYLE = Path(__file__).parents[1] / "reports/templates/card.css"


def html_of(result: Any) -> str:
    """The view of a result as HTML: its own style, nothing that is loaded, every word escaped."""
    return render(result.view())


def render(view: View) -> str:
    """A view as HTML."""
    head = f'<p class="oo-title">{escape(view.title)}</p><p><span class="oo-number">{escape(view.number)}</span>'
    head += escape(", ".join(filter(None, [" to ".join(view.ends or ()), view.remark])))
    if view.trust is not None:
        tone = view.trust if view.trust in ("high", "low", "none") else ""
        head += f'<span class="oo-trust oo-{tone}">trust: {escape(view.trust)}</span>'
    parts = [head + "</p>"]
    if view.warnings:
        warnings = "".join(f"<p>{escape(_capital(warning))}</p>" for warning in view.warnings)
        parts.append(f'<div class="oo-warnings">{warnings}</div>')
    parts += [_list([*view.sentences, *view.details]), *([sparkline(view)] if view.points else [])]
    parts += [_grid(grid) for grid in view.grids if grid.rows]
    parts.append(_list([*view.notes, *view.alarms]))
    style = _STYLE.read_text(encoding="utf-8")
    return f'<div class="oodometer-card"><style>\n{style}</style>{"".join(parts)}</div>'


def _list(sentences: Sequence[str]) -> str:
    lines = "".join(
        f"<li>{escape(_capital(sentence))}</li>" for sentence in sentences if sentence.strip()
    )
    return f"<ul>{lines}</ul>" if lines else ""


def _capital(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _grid(grid: Grid) -> str:
    def cells(row: Any, tag: str) -> str:
        kinds = ("" if number else 'class="oo-word"' for number in grid.numeric)
        return "".join(
            f"<{tag} {kind}>{escape(str(item))}</{tag}>"
            for item, kind in zip(row, kinds, strict=True)
        )

    body = "".join(
        f"<tr{' class=oo-alarm' if i in grid.marked else ''}>{cells(row, 'td')}</tr>"
        for i, row in enumerate(grid.rows)
    )
    table = f"<thead><tr>{cells(grid.columns, 'th')}</tr></thead><tbody>{body}</tbody>"
    table = f'<div class="oo-scroll"><table>{table}</table></div>'
    notes = "".join(f"<p>{escape(note)}</p>" for note in grid.notes if note)
    if grid.detail or grid.few is not None:
        return f"<details><summary>{escape(grid.title)}</summary>{table}</details>{notes}"
    return f"<h4>{escape(grid.title)}</h4>{table}{notes}"


def page_of(result: Any) -> str:
    """The view as a page of its own, for a result that has no larger one; light or dark as the system is."""
    style = "color-scheme:light dark;max-width:920px;margin:24px auto;padding:0 16px"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    )
    page = f'<!doctype html><html lang="en" style="color-scheme:light dark"><head>{head}<title>oodometer</title></head>'
    foot = f'<p style="font:12px system-ui">What the words mean: {WORDS_PAGE}</p>'
    return f'{page}<body style="{style}">{html_of(result)}{foot}</body></html>\n'
