"""Pictures: a chart outside a page, SVG or PNG, in the light colours of the page, its finding and caption above it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from ..errors import WorkError
from ..plain import Json
from .charts.base import Figure
from .charts.looks import FONT
from .page import TEMPLATES, may_draw

Size = Literal["page", "slide"]
WIDTH = 760  # pixels of a picture in a text
SLIDE = 1600, 900  # pixels of a picture that fills a slide
_EDGE = 40  # pixels that stay free around the chart of a slide
_LETTER, _SMALL_LETTER = 8.2, 6.1  # pixels that a letter of title and caption takes
_SCALE = 2  # pixels of a PNG for each of the SVG, for screens that show so many
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


@cache
def light_colours() -> Mapping[str, str]:
    """Name of a style property of the pages -> its light value."""
    light, _, _ = (TEMPLATES / "style.css").read_text(encoding="utf-8").partition("@media")
    return dict(re.findall(r"--([\w-]+): ([^;]+);", light))


def standalone(figure: Figure, width: int = WIDTH) -> Json:
    """The specification of a chart that needs no page around it: colours as values, a width, a white ground, and the
    words that a page has around it, finding and caption.

    >>> from .charts.base import Figure
    >>> figure = Figure("a", "A finding", "", {"width": "container", "mark": {"color": "var(--ink)"}})
    >>> spec = standalone(figure)
    >>> spec["mark"]["color"], spec["width"], spec["background"], spec["title"]["text"]
    ('#14202e', 760, 'white', ['A finding'])
    """
    colours = light_colours()
    text = json.dumps(figure.spec).replace('"width": "container"', f'"width": {width}')
    spec: Json = json.loads(_VARIABLE.sub(lambda name: colours[name[1]], text))
    # the title stands above the whole chart, the names of its rows included
    title: Json = {"text": textwrap.wrap(figure.title, int(width / _LETTER)), "anchor": "start"}
    title |= {"frame": "bounds", "fontSize": 14, "color": colours["ink"], "offset": 12}
    if figure.caption:
        title |= {"subtitle": textwrap.wrap(figure.caption, int(width / _SMALL_LETTER))}
        title |= {"subtitleColor": colours["muted"], "subtitleFontSize": 12, "subtitlePadding": 6}
    return {**spec, "background": "white", "padding": 20, "title": title}


def svg_of(figure: Figure, size: Size = "page") -> str:
    """A chart as SVG that shows the same in a browser, in a text and on a slide.

    Raises `WorkError` where memory is limited so that nothing can be drawn, `ImportError` without vl-convert.
    """
    if not may_draw():
        text = "the picture was not drawn: the library that draws ends a process whose memory is limited"
        raise WorkError(f"{text} (ulimit -v unlimited lifts that)")
    drawing = _drawn(figure, WIDTH)
    if size == "slide":
        width, height = (float(item) for item in _SIZE.findall(drawing)[:1][0])
        wide = round(height * (SLIDE[0] - 2 * _EDGE) / (SLIDE[1] - 2 * _EDGE))
        drawing = _on_slide(_drawn(figure, wide) if wide > width else drawing)
    return drawing


def _drawn(figure: Figure, width: int) -> str:
    """The chart at this width, without what only a pointer or a screen reader of its page would meet."""
    import vl_convert

    drawing = str(vl_convert.vegalite_to_svg(standalone(figure, width)))
    # said of every mark; the whole picture says it once
    drawing = re.sub(r' (aria-[a-z]+|role|font-family)="[^"]*"', "", drawing)
    drawing = drawing.replace("<svg ", f'<svg font-family="{FONT}" ', 1)
    # where a page would show words for the pointer
    drawing = re.sub(r'<path[^>]* opacity="0"[^>]*>', "", drawing)
    # rims lie below letters
    drawing = re.sub(r'(<text[^>]* stroke="[^"]*")', r'\1 paint-order="stroke"', drawing)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), drawing)


def png_of(figure: Figure, size: Size = "page") -> bytes:
    """A chart as PNG: the SVG of `svg_of` with two pixels for each of its; errors are those of `svg_of`."""
    import vl_convert

    drawing = svg_of(figure, size)
    png: Any = vl_convert.svg_to_png(drawing, scale=1 if size == "slide" else _SCALE)
    return bytes(png)


def _on_slide(drawing: str) -> str:
    """The drawing in the middle of a white slide, as large as fits."""
    width, height = SLIDE
    place = f'x="{_EDGE}" y="{_EDGE}" width="{width - 2 * _EDGE}" height="{height - 2 * _EDGE}"'
    inner = re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', rf"\1{place}", drawing, count=1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><rect width="{width}" height="{height}" fill="white"/>{inner}</svg>'
    )
