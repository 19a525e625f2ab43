"""Tables: numbers as cells, rows and whole tables of Markdown, and the paper's own numbers from their file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Cell = Mapping[str, Any] | None
"""A number with its interval (``value``, ``lower``, ``upper``), or None where there is none."""


def percent(one: Cell) -> str:
    """A share with its interval, in percent.

    >>> percent({"value": 0.5, "lower": 0.4, "upper": 0.625}), percent(None)
    ('50.0 [40.0, 62.5]', '-')
    """
    if one is None:
        return "-"
    return f"{100 * one['value']:.1f} [{100 * one['lower']:.1f}, {100 * one['upper']:.1f}]"


def bare(one: Cell) -> str:
    """A share without its interval, in percent.

    >>> bare({"value": 0.5, "lower": 0.4, "upper": 0.625})
    '50.0'
    """
    return "-" if one is None else f"{100 * one['value']:.1f}"


def number(one: Cell) -> str:
    """A number that is no share, with its interval.

    >>> number({"value": -0.5, "lower": -1, "upper": 0.25})
    '-0.50 [-1.00, 0.25]'
    """
    return "-" if one is None else f"{one['value']:.2f} [{one['lower']:.2f}, {one['upper']:.2f}]"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown.

    >>> print(table(["model", "accuracy"], [["A", "50.0"]]))
    | model | accuracy |
    |---|---|
    | A | 50.0 |
    """
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def section(words: str, heads: Sequence[str], rows: Iterable[Sequence[str]], after: str = "") -> str:
    """A table below the words that say what it shows, with a line ``after`` it where there is one."""
    return "\n\n".join(part for part in (words, table(heads, rows), after) if part)


def tables_page(sections: Iterable[str]) -> str:
    """All sections of a result, one after the other; empty ones are left out."""
    return "\n\n".join(one for one in sections if one) + "\n"


def mean_and_spread(values: Any, of: str = "by_model", alone: float | None = None) -> dict[str, Any]:
    """Mean and standard deviation over models or seeds (of a single one ``alone``), and their own values.

    >>> mean_and_spread([1.0, 3.0])
    {'mean': 2.0, 'sd': 1.4142135623730951, 'by_model': [1.0, 3.0]}
    """
    found = np.asarray(values, dtype=float)
    spread = float(found.std(ddof=1)) if len(found) > 1 else alone
    return {"mean": float(found.mean()), "sd": spread, of: found.tolist()}


def rounded(value: Any) -> Any:
    """Numbers to six decimals, however deep they lie: enough for every table, and the file stays small.

    >>> rounded({"a": [1 / 3, 2], "b": None})
    {'a': [0.333333, 2], 'b': None}
    """
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    return value


def paper_tables(recipe: str) -> dict[str, Any]:
    """The numbers that a paper prints, from ``paper_tables.json`` in the folder of its recipe.

    >>> paper_tables("selective_answering")["imdb"]["BERT-BASE"][0]
    0.69
    """
    path = Path(__file__).parents[1] / recipe / "paper_tables.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))
