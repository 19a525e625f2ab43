"""Files: a result written by the ending of its file: a table, the whole as JSON, a page, or a summary."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..plain import Plain

if TYPE_CHECKING:
    from ..store.atomic import Content


# What JSON may hold as it is and a terminal must not get: further controls, turns of direction, half characters.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def json_text(result: Plain) -> str:
    r"""The mapping as JSON that nothing in it can steer a terminal with."""
    text = dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


ENDINGS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".md": "md",
}
PAGES = {ending: form for ending, form in ENDINGS.items() if form in ("html", "pdf")}


def form_of(path: str | os.PathLike[str], endings: Mapping[str, str] = ENDINGS) -> str:
    """What a file is to hold, by its ending; a device such as /dev/null takes a page."""
    file = Path(path)
    form = endings.get(file.suffix.lower())
    if form is not None:
        return form
    if file.exists() and not file.is_file() and not file.is_dir():
        return "html"
    *first, last = (ending for ending in endings if ending != ".htm")
    raise UsageError(
        f"cannot write {path}: expected a name that ends in {', '.join(first)} or {last}"
    )


def check_outputs(
    paths: Iterable[str | os.PathLike[str]], endings: Mapping[str, str] = ENDINGS
) -> None:
    """Say before the work that a file could not be written after it: its ending, an absent library or browser."""
    for form in sorted({form_of(path, endings) for path in paths}):
        if form in PAGES.values():
            from ..reports import check_report_libraries, ready_to_draw

            check_report_libraries()
            ready_to_draw()
        if form == "pdf":
            from ..reports.pdf import browser

            browser()


def save(
    result: Any,
    path: str | os.PathLike[str],
    *,
    what: str | None = None,
    mapping: Plain | None = None,
) -> Path:
    """Write a result by the ending of the file, whole or not at all; see `Shown.save`.

    ``mapping`` stands for it in JSON and on the page, where that is more than ``result.to_dict()``.
    """
    from ..store.atomic import refuse_clashes, write_result

    form = form_of(path)
    if what is not None and form not in ("csv", "parquet"):
        raise UsageError(
            f"cannot write {path}: a table is chosen (what={what!r}) in .csv and .parquet alone"
        )
    mapping = result.to_dict() if mapping is None else mapping
    from ..reports.page import inputs_of

    refuse_clashes({"the file to write": path}, inputs_of(mapping))
    return write_result(path, _content(form, result, mapping, what))


def _content(form: str, result: Any, mapping: Plain, what: str | None) -> Content:
    if form in ("csv", "parquet"):
        from .frames import table_of, typed

        return partial(_write_table, form, typed(table_of(result, what)))
    if form == "json":
        return json_text(mapping)
    if form == "md":
        from .markdown import markdown_of

        return markdown_of(result)
    page = _page(result, mapping)
    if form == "html":
        return page
    from ..reports.pdf import pdf_of

    return pdf_of(page)


def _page(result: Any, mapping: Plain) -> str:
    """The page of the result, or its card where the command has none."""
    from ..reports import render
    from ..reports.sections import section_of

    if section_of(mapping.get("command")) is not None:
        return render(mapping, result)
    from .notebook import page_of

    return page_of(result)


def _write_table(form: str, table: Any, file: Any) -> None:
    if form == "csv":
        import pyarrow as pa
        from pyarrow import csv

        from ..store.write import guarded

        def safe(column: Any) -> Any:
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                return column
            return pa.array(
                [None if cell is None else guarded(cell) for cell in column.to_pylist()],
                column.type,
            )

        csv.write_csv(
            pa.table(list(map(safe, table.columns)), names=list(map(guarded, table.column_names))),
            file,
        )
    else:
        from pyarrow import parquet

        parquet.write_table(table, file)
