"""Unused columns: what is said of a user's columns that change no number, though they might be meant to: weights of
rows, and names of whom several rows are of.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from contextlib import closing, suppress
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY
from ..errors import InputError
from ..store import Source
from ..store.columns import bare_name
from ..store.encoding import raw_numbers

_WEIGHT = re.compile(r"((sample|sampling|case|row|survey|instance|observation|example)_?)?weights?")
_SIZE = re.compile(r"height|bmi|age|length|width")  # beside which a weight is one in kilograms
_WHO = re.compile(
    r"(customer|client|account|acct|user|member|patient|subject|person|participant|respondent|visitor|session|group|"
    r"team|household|family|student|player|conversation|dialogue|thread|passage|document|doc|cluster)"
    r"(_?(id|uuid|no|nr|number|key|code|name))?"
)
_FEWEST = 10  # values; fewer are categories


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
