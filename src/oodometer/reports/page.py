"""Page: a result to one HTML file that holds all it needs, chosen by the command that made the result."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shlex
import warnings
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup, escape

from ..backtests.trials import cache_folder
from ..errors import UsageError, WorkError, needed
from ..kernels.threads import later
from ..options import checked
from ..plain import Json, Plain
from ..results import Interval
from ..results.history import job_view
from ..results.view import WORDS_PAGE, View
from ..store.atomic import refuse_clashes, write_atomic, write_result
from ..version import __version__
from . import numbers
from .charts.base import WORDS, Figure
from .numbers import (
    DASH,
    MISSING,
    SPACE,
    capital,
    digits,
    finite,
    number,
    percent,
    percent_range,
    sentence,
    short,
)
from .pdf import pdf_of
from .sections import claim_size, commands_with, first_screen, next_step, section_of, view_of


@cache
def runtime() -> str:
    """Vega alone, since the specifications are compiled here, packed by gzip and base64: 250 kB instead of 900.

    To put it together takes vl-convert two seconds, so it is kept where backtests are, under its release; a file that
    does not unpack is made again. Where nothing can be kept, the next page takes two seconds again.
    """
    import vl_convert

    # The address is a key into what vl-convert carries with it; nothing is fetched.
    address = f"https://cdn.jsdelivr.net/npm/vega@{vl_convert.get_vega_version()}/+esm"
    module = f"import {{View,parse,Error}} from '{address}';window.vega={{View,parse,Error}};"
    of = hashlib.blake2b(
        f"{version('vl-convert-python')} {module}".encode(), digest_size=8
    ).hexdigest()
    folder, packed = cache_folder(), b""
    with suppress(OSError, EOFError, zlib.error):
        content = b"" if folder is None else (folder / f"charts-{of}.js.gz").read_bytes()
        packed = content if gzip.decompress(content) else b""
    if not packed:
        packed = gzip.compress(vl_convert.javascript_bundle(module).encode("utf-8"), mtime=0)
        with suppress(OSError, WorkError):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                write_atomic(folder / f"charts-{of}.js.gz", packed)
    return base64.b64encode(packed).decode("ascii")


def _data(value: Any, text: str) -> Markup:
    """The text as an element that carries the unrounded number, for machines and for a hover."""
    if finite(value) is None:
        return escape(text)
    return Markup('<data value="{}">{}</data>').format(repr(value), text)


def _range(interval: Plain | Interval, decimals: int | None = None) -> Markup:
    """Both ends of an interval in percent, each as a `<data>` element."""
    interval = interval if isinstance(interval, Mapping) else interval.to_dict()
    text = percent_range(interval.get("lower"), interval.get("upper"), decimals or digits(interval))
    if text == MISSING:
        return escape(text)
    first, last = text.split(DASH, 1)
    return _data(interval["lower"], first) + DASH + _data(interval["upper"], last)


def _ends(interval: Plain, share: bool = False) -> str:
    """Both ends of an interval as bare text, for tables so large that elements around each end would swell the page."""
    lower, upper = finite(interval.get("lower")), finite(interval.get("upper"))
    if share or lower is None or upper is None:
        return percent_range(lower, upper, digits(interval))
    return f"{number(lower)}{DASH if lower >= 0 else ' to '}{number(upper)}"


FILTERS: Json = {
    "apart": numbers.apart,
    "capital": capital,
    "measured": numbers.measured,
    "sentence": sentence,
    "prose": lambda text: capital(sentence(text)).replace(" %", f"{SPACE}%"),
    "reference": numbers.reference,
    "short": short,
    "basename": numbers.basename,
    "cell": lambda text, column: (
        short(text, 400 if column else 60).replace(" %", f"{SPACE}%") if text else ""
    ),
    "pct": lambda value, decimals=1: _data(value, percent(value, decimals)),
    "pct_of": lambda interval: _data(
        interval.get("value"), percent(interval.get("value"), digits(interval))
    ),
    "range": _range,
    "num": lambda value, decimals=3: _data(value, number(value, decimals)),
    "ends": _ends,
    "threshold": lambda value: _data(value, numbers.threshold(value)),
    "given": lambda value: _data(value, numbers.given(value)),
    "rows": lambda value: _data(value, numbers.rows_text(value)),
}
"""Filters of the templates, by name."""

TEMPLATES = Path(__file__).with_name("templates")


class Found(Protocol):
    """The result of a verb: it gives the mapping that is written in JSON."""

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""

    def view(self) -> View:
        """Return what it says."""


@checked()
def write_report(result: Mapping[str, Any] | Found, path: str | os.PathLike[str]) -> None:
    """Write the page of a result to ``path``, .html or .pdf; the file is there whole or not at all.

    ``result`` is that of a verb, or the mapping that it writes in JSON; its ``command`` names the page. Raises
    `MissingExtraError` where the libraries of the extra ``report`` are absent, `UsageError` where the command has no
    page, the name ends otherwise or no browser is there to print a PDF, `WorkError` where the file cannot be written.
    """
    record: Any = result if hasattr(result, "to_dict") else None
    mapping: Any = result if record is None else record.to_dict()
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in (".html", ".htm", ".pdf") and (
        file.is_file() or file.is_dir() or not file.exists()
    ):
        remedy = "a result's own save() has more"
        raise UsageError(
            f"cannot write {path}: expected a page that ends in .html or .pdf; {remedy}"
        )
    refuse_clashes({"the page": path}, inputs_of(mapping))
    page = render(mapping, record)
    write_result(path, pdf_of(page) if ending == ".pdf" else page)


def inputs_of(result: Plain) -> list[Any]:
    """Names of the files that a result was made from, as far as it tells."""
    several = result.get("files")
    sides = [result, *(several if isinstance(several, list) else [])]
    sides += [result.get(side) for side in ("reference", "target")]
    return [item.get("name") for item in sides if isinstance(item, Mapping)]


def render(result: Plain, record: Found | None = None) -> str:
    """The page of a result as text: one HTML document below a megabyte that loads nothing.

    ``record`` is that of the result, whose view is shown; by default that of the mapping.
    """
    command = str(result.get("command"))
    section, made_view = section_of(command), view_of(command)
    if section is None:
        commands = ", ".join(commands_with("sections"))
        raise UsageError(
            f"expected a result of {commands}, got command {result.get('command')!r}; "
            "pass the mapping that --json writes"
        )
    check_report_libraries()
    charts, words = section(result)
    view = None if made_view is None else made_view(result) if record is None else record.view()
    figures = {figure.name: figure for figure in charts if figure is not None}
    argv = result.get("argv")
    line = (
        shlex.join(str(part) for part in argv)
        if isinstance(argv, list | tuple)
        else str(argv or "")
    )
    step = words.pop("step", None) or next_step(command, result)
    return _filled(
        command.replace(" ", "_"),
        figures,
        result=result,
        view=view,
        step=step,
        command_line=line,
        **words,
    )


def render_figures(title: str, rows: Sequence[Sequence[Figure]], *, lead: str = "") -> str:
    """A page of charts and no tables as text: the figures of a row stand side by side where there is room.

    title : of the page.
    rows : figures by row. Their names are letters, digits and hyphens, each once. A chart that is to follow the width
        of the page asks for the width "container" and takes its colours from `charts.base`.
    lead : a sentence below the title.

    Raises `MissingExtraError` where the libraries of the extra ``report`` are absent, `UsageError` where two figures
    share a name.
    """
    check_report_libraries()
    figures = {figure.name: figure for row in rows for figure in row}
    if len(figures) < sum(map(len, rows)):
        raise UsageError("two figures of one page have one name; give each its own")
    return _filled(
        "figures", figures, result={"version": __version__}, title=title, lead=lead, rows=rows
    )


def render_jobs(history: Plain, pages: Sequence[str]) -> str:
    """The index of a dashboard as text: what stands of each job, those with alarms first, and a link to its page.

    history : the mapping of a `History`. pages : the file of each job's page.
    """
    jobs = [
        {"job": job, "view": job_view(job), "page": page}
        for job, page in zip(history["jobs"], pages, strict=True)
    ]
    jobs.sort(key=lambda one: not one["view"].alarms)
    return _filled("jobs", {}, result=history, jobs=jobs)


def _filled(template: str, figures: Mapping[str, Figure], **words: Any) -> str:
    """A template with its words, its charts and all that draws them."""
    drawable = figures if may_draw() else {}
    if len(drawable) < len(figures):
        text = "the page has no charts: the library that draws them ends a process whose memory is limited "
        text += "(ulimit -v unlimited lifts that); its tables and all other output are there"
        warnings.warn(text, stacklevel=2)
    if drawable:
        import vl_convert

        # What they say about style is the same of all but a few, and stands once.
        words["specs"] = {
            name: vl_convert.vegalite_to_vega(figure.spec) for name, figure in drawable.items()
        }
        shared = next(iter(words["specs"].values())).get("config", {})
        for spec in words["specs"].values():
            spec.pop("$schema", None)  # the library on the page is the one that compiled it
            if spec.get("config") == shared:
                del spec["config"]
        words |= {
            "specs": _json(words["specs"]),
            "chart_style": _json(shared),
            "runtime": Markup(runtime()),
        }
    page: str = _environment().get_template(f"{template}.html.j2").render(figures=figures, **words)
    script = f"<script>\n{_asset('tables.js')}\n</script>" if 'class="scroll"' in page else ""
    page = page.replace("<!-- tables -->", script, 1)
    if not drawable:
        page = page.replace(
            "The chart needs scripts.", "The chart was not drawn: memory was limited."
        )
        page = page.replace("<noscript>", "<p>").replace("</noscript>", "</p>")
    # Half a character, which JSON may hold, cannot be written as UTF-8.
    return page.strip().encode("utf-8", "replace").decode("utf-8") + "\n"


def may_draw() -> bool:
    """Whether charts can be compiled here: V8 reserves 64 GB of addresses at once, and dies where it may not."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return True
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit == resource.RLIM_INFINITY or limit >= 1 << 37


def check_report_libraries() -> None:
    """Raise `MissingExtraError` where the library that draws is not installed."""
    needed("vl_convert", "the HTML report", extra="report", package="vl-convert-python")


def ready_to_draw() -> None:
    """Start what draws, half a second that passes while files are read; nothing where it must not run."""
    if may_draw():
        later(_drawn_once)


@cache
def _drawn_once() -> None:
    """The smallest chart: the first one starts V8 and loads the compiler of charts."""
    import vl_convert

    with suppress(Exception):  # the page itself says what is wrong
        vl_convert.vegalite_to_vega({"mark": "point", "data": {"values": []}})


@cache
def _asset(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8").strip())


def _kept_templates() -> Any:
    """Compiled templates, kept where backtests are, as compiling them takes a quarter of a second; None elsewhere."""
    from jinja2 import FileSystemBytecodeCache

    folder = cache_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what is in a file is run, so that nobody else may write there
        if not os.access(folder, os.W_OK) or folder.stat().st_mode & 0o022:
            return None
    except OSError:
        return None

    class Kept(FileSystemBytecodeCache):
        """One that a full disk or a broken file does not stop."""

        def load_bytecode(self, bucket: Any) -> None:
            """Read a template; one that cannot be read is compiled anew."""
            try:
                super().load_bytecode(bucket)
            except (OSError, EOFError, ValueError, TypeError):
                bucket.reset()

        def dump_bytecode(self, bucket: Any) -> None:
            """Keep a template where that can be done."""
            with suppress(OSError):
                super().dump_bytecode(bucket)

    return Kept(str(folder), f"page-{__version__}-%s.template")


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_kept_templates(),
    )
    environment.filters.update(FILTERS)
    environment.globals.update(
        WORDS,
        first_screen=partial(first_screen, drawn=True),
        claim_size=claim_size,
        words_page=WORDS_PAGE,
        style=_asset("style.css"),
        script=_asset("charts.js"),
    )
    return environment


def _json(value: Any) -> Markup:
    """JSON that no text inside can end or open a tag with."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
