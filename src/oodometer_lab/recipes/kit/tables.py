"""Tables: numbers as cells, rows and whole tables of Markdown; the words of a recipe's page and the paper's numbers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

Cell = Mapping[str, Any] | None
"""A number with its interval (``value``, ``lower``, ``upper``), or None where there is none."""


def percent(cell: Cell) -> str:
    """A share with its interval, in percent."""
    if cell is None:
        return "-"
    return f"{100 * cell['value']:.1f} [{100 * cell['lower']:.1f}, {100 * cell['upper']:.1f}]"


def bare(cell: Cell) -> str:
    """A share without its interval, in percent."""
    return "-" if cell is None else f"{100 * cell['value']:.1f}"


def number(cell: Cell) -> str:
    """A number that is no share, with its interval."""
    return (
        "-" if cell is None else f"{cell['value']:.2f} [{cell['lower']:.2f}, {cell['upper']:.2f}]"
    )


def dash(value: float | None, form: str = ".1f") -> str:
    """A number in a format, or a dash where there is none."""
    return "-" if value is None else format(value, form)


class _Rows(Formatter):
    """Format strings of which a field may be absent, with named formats, and those that end in % for 100 times it."""

    def __init__(self, named: Mapping[str, Callable[[Any], str]]) -> None:
        self._named = {"percent": percent, "bare": bare, "number": number, **named}

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a field names, None where it or what it lies in is absent."""
        try:
            return super().get_field(field_name, args, kwargs)
        except (AttributeError, KeyError, TypeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """A cell; a dash where there is nothing, unless a named format says so itself."""
        if format_spec in self._named:
            return self._named[format_spec](value)
        if value is None:
            return "-"
        return (
            format(100 * value, format_spec[:-1])
            if format_spec.endswith("%")
            else format(value, format_spec)
        )


def section(
    words: str, heads: str | Sequence[str], rows: Iterable[str | Sequence[str]], after: str = ""
) -> str:
    """A table of Markdown below the words that say what it shows; heads and rows are cells, or joined by ``|``."""
    lines = [f"| {row if isinstance(row, str) else ' | '.join(row)} |" for row in (heads, *rows)]
    columns = heads.count(" | ") + 1 if isinstance(heads, str) else len(heads)
    table = "\n".join([lines[0], f"|{'---|' * columns}", *lines[1:]])
    return "\n\n".join(part for part in (words, table, after) if part)


class Page:
    """The words of a recipe's page; ``formats`` are its own formats of cells, ``paper`` the numbers of its paper.

    ``tables`` has for each table its ``heads``, and where there are some ``words`` above it, a format of its ``row``
    and a line ``after`` it; ``claims`` for each claim its sentence and what is said of what was seen; ``figures`` the
    title and caption of each drawing, and its size; ``page`` the title and lead of all of them. Words may hold fields,
    whose format is one of Python's, one of those and "%" for 100 times the number, "percent", "bare", "number", or one
    of ``formats``. What is absent is a dash.

    >>> page = Page({"tables": {"a": {"row": "{name} | {accuracy:bare} | {share:.0f%}"}}})
    >>> page.rows("a", [{"name": "A", "accuracy": {"value": 0.5}, "share": 0.25}, {}])
    ['A | 50.0 | 25', '- | - | -']
    """

    def __init__(
        self, words: Mapping[str, Any], paper: Any = None, **formats: Callable[[Any], str]
    ) -> None:
        self.words, self.paper, self._format = words, paper, _Rows(formats)

    @classmethod
    def beside(cls, module: str, **formats: Callable[[Any], str]) -> Page:
        """That of ``page.toml`` and ``paper_tables.json`` in the folder of a module, named by its file."""
        words, paper = (
            Path(module).with_name(name).read_text("utf-8")
            for name in ("page.toml", "paper_tables.json")
        )
        return cls(tomllib.loads(words), json.loads(paper), **formats)

    def fill(self, text: str, fields: Mapping[str, Any]) -> str:
        """Words with their fields filled."""
        return self._format.vformat(text, (), fields)

    def rows(self, table: str, of: Iterable[Any]) -> list[Any]:
        """The rows of a table, each of a mapping or of a tuple of mappings; what is a text or cells already stays."""
        row = self.words["tables"][table].get("row", "")
        filled = []
        for item in of:
            arguments = (item, {}) if isinstance(item, tuple) else ((), item)
            filled.append(
                item if isinstance(item, str | list) else self._format.vformat(row, *arguments)
            )
        return filled

    def table(
        self, name: str, of: Iterable[Any], record: Mapping[str, Any] = {}, /, **fields: Any
    ) -> str:
        """A table of such rows, its words filled with ``fields`` and those of a record; empty where there are none."""
        words, rows = self.words["tables"][name], self.rows(name, of)
        if not rows:
            return ""
        heads, above, below = (
            self.fill(words.get(key, ""), {**record, **fields})
            for key in ("heads", "words", "after")
        )
        return section(above, heads, rows, below)


def tables_page(sections: Iterable[str]) -> str:
    """All sections of a result, one after the other; empty ones are left out."""
    return "\n\n".join(section for section in sections if section) + "\n"


def mean_and_spread(
    values: Any, of: str = "by_model", alone: float | None = None
) -> dict[str, Any]:
    """Mean and standard deviation over models or seeds (of a single one ``alone``), and their own values."""
    array = np.asarray(values, dtype=float)
    spread = float(array.std(ddof=1)) if len(array) > 1 else alone
    return {"mean": float(array.mean()), "sd": spread, of: array.tolist()}


def rounded(value: Any) -> Any:
    """Numbers to six decimals, however deep they lie: enough for every table, and the file stays small."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return value
