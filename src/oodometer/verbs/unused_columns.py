"""Unused columns: what is said of a user's columns that change no number, though they might be meant to: weights of
rows, names of whom several rows are of, and of models whose answers stand in one file.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY, question_column
from ..errors import InputError, OodometerError
from ..store import Source
from ..store.columns import bare_name
from ..store.encoding import raw_numbers

_WEIGHT = re.compile(r"((sample|sampling|case|row|survey|instance|observation|example)_?)?weights?")
_SIZE = re.compile(r"height|bmi|age|length|width")  # beside which a weight is one in kilograms
_WHO = re.compile(
    r"(customer|client|account|acct|user|member|patient|subject|person|participant|respondent|visitor|session|group|"
    r"team|household|family|student|player|conversation|dialogue|thread|passage|document|doc|cluster|prompt|question|problem|"
    r"query|instruction)"
    r"(_?(id|uuid|no|nr|number|key|code|name))?"
)
_FEWEST = 10  # values; fewer are categories
MODEL = re.compile(r"model(_?name)?|system|generator")  # columns that tell models apart
MOST_MODELS = 50
_FEWEST_LISTS = 20  # rows that show an order
_MOST_ROWS = 200_000  # that are looked at for models


def said_of_unused(
    source: Source, named: Collection[str], *, offers_cluster: bool, offers_weight: bool = False
) -> dict[str, str]:
    """Column -> what is to be said of it, for columns that no option has ``named``; ``offers_cluster``: the verb takes
    a column of rows that depend on each other, and none was given; ``offers_weight``: likewise one of weights.
    """
    columns = [name for name in source.own_columns if name not in named]
    sizes = [name for name in columns if _SIZE.fullmatch(bare_name(name))]
    weights = [name for name in columns if _WEIGHT.fullmatch(bare_name(name))]
    weights = [
        name
        for name in weights
        if not (sizes and bare_name(name) == "weight") and _is_weight(source, name)
    ]
    out = {
        name: f"{name} is not used: every row counts alike"
        + f"; count each by it with --weight {shlex.quote(name)}" * offers_weight
        for name in weights[:1]
    }
    if not offers_cluster:
        return out
    fields = [name for name in ("group",) if source.holds(name) and name not in (*named, *columns)]
    repeats = {
        name: count for name in (*columns, *fields) if (count := _values_of_rows(source, name))
    }
    # rows of one id are clusters without a word
    if not repeats or (source.holds(KEY) and _repeats(source, KEY)):
        return out
    name = min(repeats, key=lambda column: repeats[column])
    text = (
        f"{repeats[name]:,} values of {name} repeat: where rows of one {name} depend on each other"
    )
    return {**out, name: f"{text}, --cluster {shlex.quote(name)} widens the intervals"}


def said_of_sorted_lists(source: Source) -> list[str]:
    """A warning where lists of probabilities that name no classes fall from the first entry to the last in every row,
    as the likeliest answers of a model do: then the first entry is not the first class.
    """
    feed = source.layout.feeds.get("probabilities") if hasattr(source, "layout") else None
    if feed is None or feed.wide:
        return []
    p = _first_probabilities(source)
    are_many = len(p) >= _FEWEST_LISTS and p.shape[1] > 2 and len(np.unique(p[:, 0])) > 2
    if not are_many or (np.diff(p, axis=1) > 0).any():
        return []
    what = f"{feed.columns[0]} falls from the first entry to the last in every row"
    why = "if that is the order of rank and not of the classes, the accuracy is wrong"
    return [f"{what}: {why}; name the class of each entry"]


def _first_probabilities(source: Source) -> Array:
    """Probabilities of the first rows, (sample, class), where their classes only count entries; else none."""
    with (
        suppress(OodometerError),
        closing(cast(Any, source.batches(("probabilities",)))) as batches,
    ):
        first = next(batches, None)
        if first is not None and first.classes == tuple(range(first.probabilities.shape[1])):
            return np.asarray(first.probabilities)
    return np.zeros((0, 1))


def refuse_several_models(source: Source, named: Collection[str]) -> None:
    """`InputError` for rows of several models, each of which answered the same ids: no number is of all of them.

    ``source`` is without the rows that conditions leave out; columns that options have ``named`` tell no models apart.
    """
    key = KEY if source.holds(KEY) else question_column(source)
    columns = [name for name in source.own_columns if MODEL.fullmatch(bare_name(name))]
    if key is None or len(columns) != 1 or columns[0] in named:
        return
    names = _models_of_ids(source, columns[0], key)
    if len(names) < 2:
        return
    remedy = f"--where {shlex.quote(f'{columns[0]} == {names[0]}')} leaves those of one"
    if source.path is not None:
        folder = f"{re.sub('[^A-Za-z0-9._-]+', '_', Path(source.path).stem)}-models/"
        read = f"oodometer read {shlex.quote(source.path)} --out {folder}"
        remedy = f"write a file for each: `{read}`; {remedy}"
    raise InputError(
        "answers of one model",
        got=f"{len(names)} in column {columns[0]}: {', '.join(names[:3])}",
        file=source.path,
        remedy=remedy,
    )


def _models_of_ids(source: Source, column: str, key: str) -> list[str]:
    """The values of a column where most ids have a row of several, each of them once; else none."""
    with suppress(InputError):
        cells = {name: source.keys(name) for name in (column, key)}
        if len(cells[key]) > _MOST_ROWS:
            return []
        pairs = list(zip(*(cells[name].to_pylist() for name in (key, column)), strict=True))
        names = list(dict.fromkeys(str(name) for _, name in pairs if name is not None))
        several = sum(count > 1 for count in Counter(key for key, _ in pairs).values())
        is_each_once = len({*pairs}) == len(pairs) and several > len(pairs) / len(names) / 2
        return names if is_each_once and 1 < len(names) <= MOST_MODELS else []
    return []


def _is_weight(source: Source, name: str) -> bool:
    """Whether the first rows are numbers from 0 on that vary."""
    with suppress(InputError), closing(cast(Any, source.raw([name]))) as batches:
        batch = next(batches, None)
        if batch is not None:
            numbers = raw_numbers(batch.column(0), name, source.raw_text, source.decimal_comma)
            finite = numbers[np.isfinite(numbers)]
            return bool(len(finite) and finite.min() >= 0 and finite.min() < finite.max())
    return False


def _values_of_rows(source: Source, name: str) -> int:
    """How many values a column has that is called as who rows are of, where they repeat as such names do; else 0."""
    if not _WHO.fullmatch(bare_name(name)):
        return 0
    counts = _counts(source, name)
    rows = int(counts.sum())
    is_who = max(_FEWEST, rows**0.5 / 2) <= len(counts) <= rows / 2
    return len(counts) if is_who else 0


def _repeats(source: Source, name: str) -> bool:
    counts = _counts(source, name)
    return bool(len(counts) and counts.max() > 1)


def _counts(source: Source, name: str) -> Array:
    """How often each value stands in the first rows, without empty cells; none where they are no single values."""
    from ..store.cells import key_cells, numbers_of

    with suppress(InputError), closing(cast(Any, source.raw([name]))) as batches:
        batch = next(batches, None)
        if batch is not None:
            counted = key_cells(batch.column(0), name).drop_null().value_counts()
            return numbers_of(counted.field("counts"), 0)
    return np.zeros(0, dtype=np.int64)
