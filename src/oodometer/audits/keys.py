"""Keys: by which columns the rows of two files are joined, and what speaks against joining them by their places."""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InputError, UnknownColumnError, UsageError, near_names
from ..fields import FIELDS
from ..store import Source
from ..store.cells import plain
from ..store.columns import INDEX, likely_columns

KEY = "id"
_ID = re.compile(r"(id|uuid|guid|key|index|nr|no|number)", re.IGNORECASE)
_TELLING = (KEY, "input", "time", "group")  # fields that tell of the row, not of the model
_BY = "join them by --key "


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
    names = [name for name in source.columns if source.holds(name) and (name == KEY or _is_like_a_key(name))]
    return names if INDEX in names or not source.holds(INDEX) else [*names, INDEX]


def _is_like_a_key(name: str) -> bool:
    if name in FIELDS:
        return False
    last = re.split(r"[\s_.:-]+|(?<=[a-z])(?=[A-Z])", name.strip())[-1]
    return _ID.fullmatch(last) is not None


def check_places(labels: Source, target: Source) -> bool:
    """Whether a column that tells rows apart stands alike in both files, so that their places may be believed.

    Columns that look like keys are compared, each with each, and all others that both files hold by one name, but what
    a model says, which may be another model in a file of its own. Raises `InputError` where one of them says that the
    rows are others or stand in another order: then places would join wrong rows.
    """
    pairs = [(theirs, ours) for theirs in looking_like_keys(labels) for ours in looking_like_keys(target)]
    found = [_compared(labels, theirs, target, ours) for theirs, ours in pairs]
    if True not in found:
        found += [_compared(labels, a, target, b) for a, b in _shared(labels, target) if (a, b) not in pairs]
    if True in found:
        return True
    errors = [one for one in found if isinstance(one, InputError)]
    if errors:  # one that names a key comes first
        raise min(errors, key=lambda one: _BY not in str(one.remedy))
    if labels.holds(INDEX) and not target.holds(INDEX):
        _check_order(labels)
    return False


def _shared(labels: Source, target: Source) -> list[tuple[str, str]]:
    """Columns of one name in both files, but those of what a model says and of what is held against it.

    >>> from oodometer.store import as_source
    >>> one, other = ({"mail": ["a"], name: ["b"], "y_pred": [0], "label": [1]} for name in ("Site", "site"))
    >>> _shared(as_source(one), as_source(other))
    [('mail', 'mail'), ('Site', 'site')]
    """
    said = {theirs for theirs, ours in likely_columns(labels.columns).items() if ours not in _TELLING}
    here = {name.strip().casefold(): name for name in target.own_columns}
    out = [(name, name) for name in _TELLING if labels.holds(name) and target.holds(name)]
    return out + [
        (one, here[low]) for one in labels.own_columns if one not in said and (low := one.strip().casefold()) in here
    ]


def _compared(labels: Source, theirs: str, target: Source, ours: str) -> bool | InputError | None:
    """Whether two columns say that the rows are the same: True, the error where they say no, None where nothing."""
    import pyarrow.compute as pc

    (given, ids), (known, others) = _texts(labels, theirs), _texts(target, ours)
    if given is None or known is None:
        return None
    rows, index = min(len(given), len(known)), INDEX in (theirs, ours)
    apart = _apart(given[:rows], known[:rows])
    single = all(len(one.unique()) == len(one) and not one.null_count for one in (given, known))
    counted = _counts(given), _counts(known)
    if not len(apart) and len(given) == len(known):
        return True if single and not (index and all(counted)) else None
    inside = bool(pc.all(pc.is_in(given, value_set=known)).as_py())
    if theirs.strip().casefold() != ours.strip().casefold():
        if not (single and inside) or (index and counted[0]):  # another column altogether
            return None
    elif index and any(counted) and not inside:  # one of them only counts its rows
        return None
    is_key = (
        single
        and ids
        and others
        and (inside or int(pc.sum(pc.is_in(given, value_set=known)).as_py() or 0) >= len(given) / 2)
    )
    if not len(apart) and (not is_key or (index and counted[0])):
        return None  # numbers of rows differ, which others speak of
    row = int(apart[0]) if len(apart) else rows
    got = f"{given[row].as_py()!r}" if row < len(given) else "no more rows"
    wanted = f"{known[row].as_py()!r}" if row < len(known) else "no more rows"
    place = f", or drop {theirs} here if these rows are in the target's order"
    key = _BY + shlex.quote(ours if ours == theirs else f"{ours}={theirs}")
    remedy = f"join them by a column of ids with --key{place}" if not is_key else key + place if any(counted) else key
    return InputError(
        f"{wanted}, as in column {ours} of {target.name} (without --key the rows are taken in their order)",
        got=got,
        file=labels.path,
        row=row + 1,
        column=theirs,
        remedy=remedy,
    )


def _texts(source: Source, column: str) -> tuple[Any, bool]:
    """The cells of a column as an Arrow array of strings, None where they are no single values; whether as ids."""
    import pyarrow as pa

    try:
        return source.keys(column), True
    except InputError:  # fractions, true and false
        pass
    try:
        parts = [plain(batch.column(0)).cast(pa.large_string()) for batch in source.raw([column])]
    except (pa.ArrowException, InputError):
        return None, False
    return pa.concat_arrays(parts), False


def _apart(given: Any, known: Any) -> Array:
    """Rows in which two columns of strings differ, where both are known: as numbers or times if all cells are some.

    >>> import pyarrow as pa
    >>> _apart(pa.array(["7", "x "]), pa.array(["7.0", "X"])).tolist(), _apart(pa.array(["0.5"]), pa.array(["0.50"]))
    ([0], array([], dtype=int64))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    both = pc.and_(given.is_valid(), known.is_valid())
    place: Array = np.flatnonzero(both.to_numpy(zero_copy_only=False))
    one, other = given.filter(both), known.filter(both)
    differ = pc.not_equal(one, other)
    if not pc.any(differ).as_py():
        return place[:0]
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            a, b = (column.cast(kind).to_numpy(zero_copy_only=False) for column in (one, other))
        except pa.ArrowInvalid:
            continue
        if kind != pa.float64():
            out: Array = place[a != b]
            return out
        exact = bool(np.all(np.floor(a) == a) and np.all(np.floor(b) == b))
        out = place[~np.isclose(a, b, rtol=0 if exact else 1e-5, atol=0)]
        return out
    one, other = (pc.utf8_lower(pc.utf8_trim_whitespace(column)) for column in (one, other))
    out = place[pc.not_equal(one, other).to_numpy(zero_copy_only=False)]
    return out


def _counts(cells: Any) -> bool:
    """Whether a column only counts its rows, from 0 or 1, as an index does that nobody chose."""
    first = cells[0].as_py() if len(cells) else None
    return first in ("0", "1") and cells.to_pylist() == list(map(str, range(int(first), int(first) + len(cells))))


def _check_order(labels: Source) -> None:
    """`InputError` where the index of labels counts rows and does not stand in that order, as after sorting a frame."""
    index, _ = _texts(labels, INDEX)
    cells = [] if index is None else index.to_pylist()
    if (
        cells != (order := sorted(cells, key=str))
        and set(order) == set(map(str, range(len(cells))))
        and not _counts(index)
    ):
        row = next(i for i, cell in enumerate(cells) if cell != str(i))
        raise InputError(
            f"{row}, since the index counts rows and the target has none (rows are taken in their order)",
            got=str(cells[row]),
            file=labels.path,
            row=row + 1,
            column=INDEX,
            remedy=f"join them by it with --map {INDEX}=row, or drop it if these rows are in the target's order",
        )
