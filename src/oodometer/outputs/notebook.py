"""Notebook: the view of a result as a piece of HTML that needs no script, in the colours of the page it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..results.view import Grid, View
from .sparkline import sparkline

# Letters keep the colour of the notebook, light or dark, and everything else is a shade of grey that shows on both:
# a notebook's theme is its own and not that of the system, so that no query of the style sheet can tell it.
_STYLE = """
.oodometer-card{font:13px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;max-width:860px;
border:1px solid rgba(128,128,128,.35);border-radius:10px;padding:14px 18px;margin:4px 0;color:inherit;text-align:left}
.oodometer-card p{margin:2px 0}
.oodometer-card .oo-title{opacity:.72;font-weight:600}
.oodometer-card .oo-number{font-size:30px;line-height:1.25;font-weight:700;margin-right:10px;overflow-wrap:anywhere}
.oodometer-card .oo-trust{border-radius:9px;padding:1px 9px;font-weight:600;margin-left:8px;white-space:nowrap;
background:rgba(128,128,128,.2)}
.oodometer-card .oo-high{background:rgba(20,160,90,.25)}
.oodometer-card .oo-low{background:rgba(225,150,0,.28)}
.oodometer-card .oo-none{background:rgba(220,50,50,.28)}
.oodometer-card ul{margin:6px 0;padding-left:18px}
.oodometer-card .oo-warnings{border-left:3px solid rgba(225,150,0,.8);padding-left:10px;margin:8px 0}
.oodometer-card .oo-scroll{overflow-x:auto}
.oodometer-card table{border-collapse:collapse;margin:4px 0 8px;font-size:12.5px;color:inherit;background:none}
.oodometer-card th,.oodometer-card td{padding:2px 12px 2px 0;text-align:right;white-space:nowrap;color:inherit;
border:0;border-bottom:1px solid rgba(128,128,128,.25);background:none;font-variant-numeric:tabular-nums;
vertical-align:top}
.oodometer-card th{font-weight:600;opacity:.72}
.oodometer-card .oo-word{text-align:left;white-space:normal;min-width:64px}
.oodometer-card .oo-alarm td{font-weight:700;background:rgba(220,50,50,.16)}
.oodometer-card summary{cursor:pointer;font-weight:600;margin:4px 0}
.oodometer-card h4{margin:8px 0 0;font-size:12.5px;font-weight:600}
.oodometer-card svg{display:block;width:100%;height:auto;margin:8px 0 2px}
"""


def html_of(found: Any) -> str:
    """The view of a result as HTML: its own style, nothing that is loaded, every word escaped."""
    return render(found.view())


def render(view: View) -> str:
    """A view as HTML.

    >>> "<script>" in render(View("<script>", "1"))
    False
    """
    head = f'<p class="oo-title">{escape(view.title)}</p><p><span class="oo-number">{escape(view.number)}</span>'
    ends = f"{' to '.join(view.ends)}, {view.made}" if view.ends else ""
    head += escape(", ".join(filter(None, [ends, view.note])))
    if view.trust is not None:
        tone = view.trust if view.trust in ("high", "low", "none") else ""
        head += f'<span class="oo-trust oo-{tone}">trust: {escape(view.trust)}</span>'
    parts = [head + "</p>"]
    if view.warnings:
        warnings = "".join(f"<p>{escape(_capital(one))}</p>" for one in view.warnings)
        parts.append(f'<div class="oo-warnings">{warnings}</div>')
    parts += [_list([*view.sentences, *view.details]), *([sparkline(view)] if view.points else [])]
    parts += [_grid(one) for one in view.grids if one.rows]
    parts.append(_list([*view.notes, *view.alarms]))
    return f'<div class="oodometer-card"><style>{_STYLE}</style>{"".join(parts)}</div>'


def _list(sentences: Sequence[str]) -> str:
    lines = "".join(f"<li>{escape(_capital(one))}</li>" for one in sentences if one.strip())
    return f"<ul>{lines}</ul>" if lines else ""


def _capital(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _grid(grid: Grid) -> str:
    def cells(row: Any, tag: str) -> str:
        kinds = ("" if number else 'class="oo-word"' for number in grid.numeric)
        return "".join(f"<{tag} {kind}>{escape(str(one))}</{tag}>" for one, kind in zip(row, kinds, strict=True))

    body = "".join(
        f"<tr{' class=oo-alarm' if i in grid.marked else ''}>{cells(row, 'td')}</tr>" for i, row in enumerate(grid.rows)
    )
    table = f"<thead><tr>{cells(grid.columns, 'th')}</tr></thead><tbody>{body}</tbody>"
    table = f'<div class="oo-scroll"><table>{table}</table></div>'
    notes = "".join(f"<p>{escape(one)}</p>" for one in grid.notes if one)
    if grid.detail or grid.few is not None:
        return f"<details><summary>{escape(grid.title)}</summary>{table}</details>{notes}"
    return f"<h4>{escape(grid.title)}</h4>{table}{notes}"


def page_of(found: Any) -> str:
    """The view as a page of its own, for a result that has no larger one; light or dark as the system is."""
    style = "color-scheme:light dark;max-width:920px;margin:24px auto;padding:0 16px"
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    page = f'<!doctype html><html lang="en" style="color-scheme:light dark"><head>{head}<title>oodometer</title></head>'
    return f'{page}<body style="{style}">{html_of(found)}</body></html>\n'
