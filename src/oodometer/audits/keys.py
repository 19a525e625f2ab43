"""Keys: by which columns the rows of two files are joined, and what speaks against joining them by their places."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..errors import InputError, UnknownColumnError, UsageError, near_names
from ..fields import FIELDS
from ..store import Source

__all__ = ["KEY", "Key", "check_places", "key_of", "target_key"]

KEY = "id"
_ID = re.compile(r"(id|uuid|guid|key|index|nr|no|number)", re.IGNORECASE)


class Key(NamedTuple):
    """The columns that rows are joined by: the target's, and that of the labels."""

    target: str
    labels: str


def key_of(key: str | None, labels: Source, target: Source) -> Key | None:
    """The columns to join by: ``key`` of both, ``TARGET=LABELS`` where names differ, else `id` where both hold it.

    Raises `UsageError` for a column that a file lacks, naming the columns that may have been meant.

    >>> from oodometer.store import as_source
    >>> labels, target = as_source({"loan": [7], "label": [1]}), as_source({"id": [7], "prediction": [1]})
    >>> key_of("id=loan", labels, target), key_of(None, labels, target)
    (Key(target='id', labels='loan'), None)
    """
    if key is None:
        return Key(KEY, KEY) if labels.holds(KEY) and target.holds(KEY) else None
    ours, equals, theirs = key.partition("=")
    literal = labels.holds(key) and target.holds(key)
    if not equals or literal:
        ours = theirs = key
    if not ours or not theirs:
        raise UsageError(f"expected --key COLUMN, or TARGET=LABELS where the files call it differently, got {key!r}")
    for source, name, which in ((labels, theirs, "labels"), (target, ours, "target")):
        if not source.holds(name):
            near = near_names(name, source.columns)
            raise UnknownColumnError(
                name,
                f"{source.name}: there is no column {name} to join by; {_hint(source, name, which)}",
                near[0] if near else None,
            )
    return Key(ours, theirs)


def target_key(key: str | None, target: Source) -> str | None:
    """The target's own column in a ``key`` that may name two."""
    return key if key is None or target.holds(key) else key.partition("=")[0]


def _hint(source: Source, name: str, which: str) -> str:
    """What to do about a column that is not there."""
    like, near = looking_like_keys(source), near_names(name, source.columns)
    columns = f"its columns are {', '.join(source.columns[:12])}"
    if near and near[0] not in like:
        return f"did you mean {near[0]}? {columns}"
    if not like:
        return columns
    meant = f"{name}={like[0]}" if which == "labels" else f"{like[0]}={name}"
    return f"{columns}; where the files call it differently, --key {meant}"


def looking_like_keys(source: Source) -> list[str]:
    """Columns named like what tells rows apart: ID, loan_id, orderId, index, ...

    >>> from oodometer.store import as_source
    >>> looking_like_keys(as_source({"loan_id": [1], "paid": [1], "label": [1], "orderNumber": [2], "ID": [3]}))
    ['loan_id', 'orderNumber', 'ID']
    """
    return [name for name in source.columns if source.holds(name) and (name == KEY or _is_like_a_key(name))]


def _is_like_a_key(name: str) -> bool:
    if name in FIELDS:
        return False
    last = re.split(r"[\s_.:-]+|(?<=[a-z])(?=[A-Z])", name.strip())[-1]
    return _ID.fullmatch(last) is not None


def check_places(labels: Source, target: Source) -> bool:
    """Whether a column that tells rows apart stands alike in both files, so that their places may be believed.

    Raises `InputError` where it stands in another order, or tells of other rows: then places would join wrong rows.
    """
    agreed = False
    for theirs in looking_like_keys(labels):
        for ours in looking_like_keys(target):
            agreed |= _compared(labels, theirs, target, ours)
    return agreed


def _compared(labels: Source, theirs: str, target: Source, ours: str) -> bool:
    import pyarrow.compute as pc

    try:
        given, known = labels.keys(theirs), target.keys(ours)
    except InputError:  # no column of ids after all
        return False
    if given.equals(known):
        return True
    same_name = theirs.casefold() == ours.casefold()
    inside = bool(pc.all(pc.is_in(given, value_set=known)).as_py())
    if not same_name and not inside:
        return False
    if given.null_count or len(pc.unique(given)) < len(given):  # a group of rows, not a row
        return False
    rows = min(len(given), len(known))
    apart = np.flatnonzero(pc.not_equal(given[:rows], known[:rows]).fill_null(True).to_numpy(zero_copy_only=False))
    row = int(apart[0]) if len(apart) else rows
    got = f"{given[row].as_py()!r}" if row < len(given) else "no more rows"
    wanted = f"{known[row].as_py()!r}" if row < len(known) else "no more rows"
    key = ours if ours == theirs else f"{ours}={theirs}"
    raise InputError(
        f"{wanted}, as in column {ours} of {target.name} (without --key the rows are taken in their order)",
        got=got,
        file=labels.path,
        row=row + 1,
        column=theirs,
        remedy=f"join them by --key {key}",
    )
