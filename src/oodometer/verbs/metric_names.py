"""Metric names: a column that says which metric the score of a row is of, as exports of many tools have it."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple, final

from ..errors import InputError
from ..fields import FIELDS
from ..plain import Strings
from ..results.values import listed
from ..store import Source
from ..store.columns import bare_name
from ..store.where import equal_to

_NAMES = re.compile(
    r"(metric|score|scorer|evaluator|assessment|criterion|criteria|feedback)(_?name)?"
)
_MAYBE = re.compile(r"name|key")  # which name other things as often
_SCORED = re.compile(r"(.*_)?(id|ids|uuid|index)")
_MOST_METRICS, _MOST_TOTALS = 20, 50
_LEAST = 0.8  # of the metrics that an answer has, on average, where a row is one metric of it


@final
class MetricNames(NamedTuple):
    """The column, the names of metrics in it, and whether each comes once: totals, and no rows of answers."""

    column: str
    names: Strings
    totals: bool


def metric_names(source: Source) -> MetricNames | None:
    """The column of metrics' names in a source, None where there is none: by its name, or, where it may name anything,
    by rows that each answer has once for each of them.
    """
    names = [name for name in source.columns if name not in FIELDS]
    bare = {name: bare_name(name) for name in names}
    named = [name for name in names if _NAMES.fullmatch(bare[name]) or _MAYBE.fullmatch(bare[name])]
    if not named or source.holds("group"):
        return None
    ids = [name for name in names if _SCORED.fullmatch(bare[name])]
    batch = next(iter(source.raw([*named, *ids])), None)
    if batch is None:
        return None
    keys = [batch.column(key).to_pylist() for key in ids]
    found = (
        _of_column(
            name, batch.column(name).to_pylist(), keys, _NAMES.fullmatch(bare[name]) is not None
        )
        for name in named
    )
    return next(filter(None, found), None)


def _of_column(
    name: str, cells: list[object], keys: list[list[object]], is_sure: bool
) -> MetricNames | None:
    """The metrics that a column names, None where its cells are no such names."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    values, rows = tuple(dict.fromkeys(texts)), len(cells)
    if len(texts) < rows or len(values) < 2:
        return None
    if is_sure and len(values) == rows <= _MOST_TOTALS:
        return MetricNames(name, values, totals=True)
    if len(values) > _MOST_METRICS or 2 * len(values) > rows:
        return None
    is_named = is_sure or any(_is_once_each(key, texts) for key in keys)
    return MetricNames(name, values, totals=False) if is_named else None


def _is_once_each(keys: list[object], names: list[str]) -> bool:
    """Whether a key comes with nearly each of the names, and with each once."""
    distinct = {*map(str, keys)}
    pairs = {*zip(map(str, keys), names, strict=True)}
    return len(pairs) == len(names) >= _LEAST * len(distinct) * len({*names})


def refuse_metrics(found: MetricNames | None, file: str | None) -> None:
    """Raise `InputError` for scores of several metrics, whose mean is none of them."""
    if found is None:
        return
    if found.totals:
        raise InputError(
            "answers, a row each",
            got=f"totals of metrics, {listed(found.names[:4])}",
            column=found.column,
            file=file,
            remedy="name the file that holds a row for each answer",
        )
    raise InputError(
        "scores of one metric",
        got=f"{len(found.names)}: {listed(found.names[:4])}",
        column=found.column,
        file=file,
        remedy=f"take one, --where {where_option(found, found.names[0])}, or each, --by {found.column}",
    )


def where_option(found: MetricNames, metric: str) -> str:
    """The condition that keeps the rows of one metric, quoted for a shell."""
    return shlex.quote(equal_to(found.column, metric))
