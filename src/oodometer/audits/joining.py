"""Joining: which row of the target each row of a file of labels speaks of, by an id, its number or its place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..classes import ClassNames, as_one, said_of_classes
from ..errors import InputError, UnknownColumnError, UsageError, near_names
from ..fields import FIELDS
from ..plain import Json, Strings
from ..predictions import Predictions
from ..store import Axes, Source, as_source, source_beside
from ..store.cells import first_true, numbers_of, plain
from ..store.columns import INDEX, bare_name, usual_field
from ..store.write import same_cell

KEY = "id"
_WORDS = re.compile(r"[\s_.:-]+|(?<=[a-z])(?=[A-Z])")
_ID = re.compile(r"(id|uuid|guid|key|index|nr|no|number)", re.IGNORECASE)
_QUESTION = re.compile(
    r"(question|task|doc|document|sample|item|instance|prompt|example|problem|query|case|test)_?(id|idx|index)|qid"
)
_WHO = re.compile(
    r"(customer|client|account|acct|user|member|patient|subject|person|case|order|loan|claim|ticket)s?"
)
_TELLING = (KEY, "input", "time", "group")  # fields that tell of the row, not of the model
_BY = "join them by --key "
# of which all are in another column, though some would be by chance
_FEWEST_IDS, _FEWEST_NUMBERS = (
    3,
    10,
)


class Key(NamedTuple):
    """The columns that rows are joined by: the target's, and that of the labels."""

    target: str
    labels: str


def key_of(key: str | None, labels: Source, target: Source) -> Key | None:
    """The columns to join by: ``key``, ``TARGET=LABELS`` where names differ, else `id` of both; `UsageError` where one
    is absent.
    """
    if key is None:
        return Key(KEY, KEY) if labels.holds(KEY) and target.holds(KEY) else None
    ours, equals, theirs = key.partition("=")
    literal = labels.holds(key) and target.holds(key)
    if not equals or literal:
        ours = theirs = key
    if not ours or not theirs:
        raise UsageError(
            f"expected --key COLUMN, or TARGET=LABELS where the files call it differently, got {key!r}"
        )
    for source, name in ((labels, theirs), (target, ours)):
        if not source.holds(name):
            raise _no_key(source, name, of_labels=source is labels)
    return Key(ours, theirs)


def _no_key(source: Source, name: str, *, of_labels: bool) -> UnknownColumnError:
    """The error for a file without the column to join by."""
    near, like = near_names(name, source.columns), looking_like_keys(source)
    hint = f"its columns are {', '.join(source.columns[:12])}"
    if near and near[0] not in like:
        hint = f"did you mean {near[0]}? {hint}"
    elif like:
        meant = f"{name}={like[0]}" if of_labels else f"{like[0]}={name}"
        hint += f"; where the files call it differently, --key {meant}"
    text = f"{source.name}: there is no column {name} to join by; {hint}"
    return UnknownColumnError(name, text, near[0] if near else None)


def target_key(key: str | None, target: Source) -> str | None:
    """The target's own column in a ``key`` that may name two."""
    return key if key is None or target.holds(key) else key.partition("=")[0]


def looking_like_keys(source: Source) -> list[str]:
    """Columns named like what tells rows apart: ID, loan_id, orderId, index, ..."""
    last = {
        name: _WORDS.split(name.strip())[-1]
        for name in source.columns
        if name not in FIELDS or name == KEY
    }
    names = [
        name
        for name, word in last.items()
        if source.holds(name) and (name == KEY or _ID.fullmatch(word))
    ]
    return names if INDEX in names or not source.holds(INDEX) else [*names, INDEX]


def question_column(source: Source) -> str | None:
    """The only column that is named as the id of a question: task_id, doc_id, qid, ..., and whose first values differ,
    twice as many as of another one; None where `id` is there.
    """
    named = [
        name  # `case.qid` of objects in rows is one as well
        for name in source.columns
        if any(_QUESTION.fullmatch(bare_name(part)) for part in (name, name.rpartition(".")[2]))
    ]
    if not named or source.holds(KEY):
        return None
    first = next(iter(source.raw(named)), None)
    if first is None:
        return None
    counts = sorted(
        (len(set(map(str, first.column(name)[:1_000].to_pylist()))), name) for name in named
    )
    (most, name), second = counts[-1], counts[-2][0] if len(counts) > 1 else 1
    return name if most > 1 and most >= 2 * second else None


def same_places(labels: Source, target: Source) -> bool | Key:
    """Whether a column stands alike in both files, so that places may be believed; where ids of one column prove that
    rows stand elsewhere, the key to join by. `InputError` where a column says no and none proves which rows are meant.
    """
    pairs = [
        (theirs, ours) for theirs in looking_like_keys(labels) for ours in looking_like_keys(target)
    ]
    verdicts = [_compared(labels, theirs, target, ours) for theirs, ours in pairs]
    if True not in verdicts:
        pairs += (shared := [pair for pair in _shared(labels, target) if pair not in pairs])
        verdicts += [_compared(labels, theirs, target, ours) for theirs, ours in shared]
    if True not in verdicts:
        renamed = [pair for pair in _of_other_names(labels, target) if pair not in pairs]
        verdicts += [_compared(labels, theirs, target, ours) for theirs, ours in renamed]
    if True in verdicts:
        return True
    others = [verdict for verdict in verdicts if isinstance(verdict, _OtherRows)]
    if others:
        return _proven_key(others)
    _check_count(labels, target)
    _check_index(labels, target)
    return False


def _proven_key(others: Sequence[_OtherRows]) -> Key:
    """The one key that columns prove; else the `InputError` of one of them, rather one that names a key."""
    proven = {other.key for other in others if other.key is not None}
    if len(proven) == 1:
        return proven.pop()
    raise min((other.error for other in others), key=lambda error: _BY not in str(error.remedy))


def _check_count(labels: Source, target: Source) -> None:
    """`InputError` where the index of labels counts rows in another order, and the target has none."""
    if not labels.holds(INDEX) or target.holds(INDEX):
        return
    index, _ = _texts(labels, INDEX)
    cells = [] if index is None else index.to_pylist()
    is_whole = {*cells} == {*map(str, range(len(cells)))}
    if is_whole and cells != sorted(cells, key=str) and not _counts(index):
        row = next(i for i, cell in enumerate(cells) if cell != str(i))
        remedy = f"join them by it with --map {INDEX}=row, or drop it if these rows are in the target's order"
        expected = f"{row}, since the index counts rows and the target has none (rows are taken in their order)"
        raise InputError(
            expected,
            got=str(cells[row]),
            file=labels.path,
            row=row + 1,
            column=INDEX,
            remedy=remedy,
        )


def _check_index(labels: Source, target: Source) -> None:
    """`InputError` where an index names the rows of labels, and no column or index of the target holds its values.
    One of numbers says nothing where the target has no index, as the rows of an array have none.
    """
    name = labels.index
    if name is None or not labels.holds(name):
        return
    cells, _ = _texts(labels, name)
    if cells is None or cells.null_count or len(cells.unique()) < len(cells) or _counts(cells):
        return
    if _numbers(cells) is not None and target.index is None:
        return
    target_index, _ = (None, False) if target.index is None else _texts(target, target.index)
    if target_index is not None and cells.equals(target_index):
        return
    in_memory = (
        "give the target this index, too, or labels.to_numpy() if they are in the target's order"
    )
    in_file = f"add the column {name} to the target, too, or drop it if the labels are in the target's order"
    remedy = in_memory if labels.path is None else in_file
    expected = f"an index that {target.name} holds, too, as it names the rows"
    raise _fault(expected, f"{cells[0].as_py()!r}", 0, name, labels, remedy)


def _of_other_names(labels: Source, target: Source) -> list[tuple[str, str]]:
    """Columns of ids that the two files call differently: distinct in every row, and all in the other file's."""
    theirs, ours = _distinct(labels), _distinct(target)
    pairs = [(a, b) for a in theirs for b in ours if a.strip().casefold() != b.strip().casefold()]
    return [
        (a, b) for a, b in pairs if _same_ids(theirs[a], ours[b], all(map(_named_as_id, (a, b))))
    ]


def _named_as_id(column: str) -> bool:
    """Whether a name says that a column tells rows apart: customer, acct_no, orderId."""
    words = [word.lower() for word in _WORDS.split(column.strip())]
    return bool(_ID.fullmatch(words[-1]) or any(map(_WHO.fullmatch, words)))


def _distinct(source: Source) -> Json:
    """Columns whose cells are ids, no two alike, as Arrow arrays of strings."""
    candidates = [name for name in source.own_columns if usual_field(name) in (None, *_TELLING)]
    candidates += [
        name for name in (*_TELLING, INDEX) if source.holds(name) and name not in candidates
    ]
    if not candidates:
        return {}
    head = next(iter(source.raw(candidates)), None)  # enough to leave out all but a few
    columns = [
        name
        for i, name in enumerate(candidates)
        if head is not None and _all_differ(plain(head.column(i)))
    ]
    read = {name: _texts(source, name) for name in columns}
    return {name: cells for name, (cells, is_id) in read.items() if is_id and _all_differ(cells)}


def _all_differ(cells: Any) -> bool:
    """Whether no cell is null and no two are alike."""
    import pyarrow as pa

    if pa.types.is_nested(cells.type) or pa.types.is_floating(cells.type) or cells.null_count:
        return False
    return len(cells.unique()) == len(cells)


def _same_ids(ids: Any, other_ids: Any, named: bool) -> bool:
    """Whether ids of one column are all in another, and not by chance, as numbers that count rows would be; those are
    believed where both columns are ``named`` as ids are.
    """
    import pyarrow.compute as pc

    shorter, longer = sorted((ids, other_ids), key=len)
    if len(shorter) < _FEWEST_IDS or not pc.all(pc.is_in(shorter, value_set=longer)).as_py():
        return False
    numbers = _numbers(longer)
    if named or numbers is None:
        return True
    low, high = int(numbers.min()), int(numbers.max())
    if len(shorter) < len(longer):
        return len(shorter) >= _FEWEST_NUMBERS and high - low + 1 >= 2 * len(longer)
    return low not in (0, 1) or high - low + 1 > len(longer)


def _numbers(cells: Any) -> Array | None:
    """Ids as whole numbers; None where one is none."""
    import pyarrow as pa

    try:
        return np.asarray(cells.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _are_fractions(cells: Any) -> bool:
    """Whether all cells read as numbers, and not all of them as whole ones."""
    import pyarrow as pa

    try:
        cells.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return _numbers(cells) is None


def _shared(labels: Source, target: Source) -> list[tuple[str, str]]:
    """Columns of one name in both files, but those of what a model says and of what is held against it."""
    predictions = {
        theirs for theirs in labels.columns if usual_field(theirs) not in (None, *_TELLING)
    }
    target_names = {name.strip().casefold(): name for name in target.own_columns}
    out = [(name, name) for name in _TELLING if labels.holds(name) and target.holds(name)]
    label_names = {
        name: name.strip().casefold() for name in labels.own_columns if name not in predictions
    }
    return out + [
        (name, target_names[low]) for name, low in label_names.items() if low in target_names
    ]


@dataclass(frozen=True)
class _OtherRows:
    """Two columns say that rows at one place are not the same: the error, and the key where they prove which are."""

    error: InputError
    key: Key | None


def _compared(labels: Source, theirs: str, target: Source, ours: str) -> bool | _OtherRows | None:
    """Whether two columns say that the rows are the same: True, `_OtherRows` where they say no, None where nothing."""
    (label_cells, ids), (target_cells, target_ids) = _texts(labels, theirs), _texts(target, ours)
    if label_cells is None or target_cells is None:
        return None
    pair = _ColumnPair(label_cells, target_cells, is_index=INDEX in (theirs, ours))
    if not len(pair.differing) and len(label_cells) == len(target_cells):
        return True if pair.are_ids else None
    if pair.speaks_of_others(same_name=theirs.strip().casefold() == ours.strip().casefold()):
        return None
    is_key = bool(pair.is_single and ids and target_ids and pair.is_mostly_in)
    if not len(pair.differing) and (not is_key or (pair.is_index and pair.labels_count)):
        return None  # numbers of rows differ, which others speak of
    return _disagreement(pair, labels, theirs, target, ours, is_key=is_key)


def _disagreement(
    pair: _ColumnPair, labels: Source, theirs: str, target: Source, ours: str, *, is_key: bool
) -> _OtherRows:
    """What two columns that differ say: the error at their first other row, and the key, if they prove it."""
    row = pair.first_other
    where = (
        f"as in column {ours} of {target.name} (without --key the rows are taken in their order)"
    )
    remedy = _key_to_name(theirs, ours, is_key, pair.labels_count or pair.target_counts)
    expected = f"{_shown_cell(pair.target, row)}, {where}"
    error = _fault(expected, _shown_cell(pair.labels, row), row, theirs, labels, remedy)
    proven = pair.proves_rows(named=ours == theirs and _named_as_id(ours))
    return _OtherRows(error, Key(ours, theirs) if is_key and proven else None)


@dataclass(frozen=True)
class _ColumnPair:
    """A column of labels beside one of the target, both as texts; ``is_index``: one is the index of a frame."""

    labels: Any
    target: Any
    is_index: bool

    @property
    def rows(self) -> int:
        """How many rows both have."""
        return min(len(self.labels), len(self.target))

    @cached_property
    def differing(self) -> Array:
        """Rows in which they differ, of those that both have."""
        return _differ(self.labels[: self.rows], self.target[: self.rows])

    @property
    def first_other(self) -> int:
        """The first row in which they differ, or that one of them lacks."""
        return int(self.differing[0]) if len(self.differing) else self.rows

    @cached_property
    def is_single(self) -> bool:
        """Whether in both every row has a cell of its own."""
        return _is_single(self.labels) and _is_single(self.target)

    @cached_property
    def labels_count(self) -> bool:
        """Whether that of the labels only counts its rows."""
        return bool(_counts(self.labels))

    @cached_property
    def target_counts(self) -> bool:
        """Whether that of the target only counts its rows."""
        return bool(_counts(self.target))

    @property
    def are_ids(self) -> bool:
        """Whether alike cells say that rows are the same: each row has its own, and they do more than count rows."""
        both_count = self.is_index and self.labels_count and self.target_counts
        return self.is_single and not both_count

    @cached_property
    def is_subset(self) -> bool:
        """Whether all cells of the labels stand in the target, or, of more labels than rows, the other way round."""
        if self._all_in(self.labels, self.target):
            return True
        return len(self.labels) > len(self.target) and self._all_in(self.target, self.labels)

    @property
    def is_mostly_in(self) -> bool:
        """Whether half of the cells of the labels, or more, stand in the target."""
        import pyarrow.compute as pc

        if self.is_subset:
            return True
        shared = pc.sum(pc.is_in(self.labels, value_set=self.target)).as_py() or 0
        return int(shared) >= len(self.labels) / 2

    def proves_rows(self, *, named: bool) -> bool:
        """Whether single cells prove which rows are meant: all those of the labels are there, and not by chance, as
        whole numbers may meet, two ranks for example, unless one name says of both (``named``) that they are ids.
        """
        if not self.is_subset or self.labels_count or self.target_counts:
            return False
        if _numbers(self.labels) is None:
            return not _are_fractions(self.labels)
        return _same_ids(self.labels, self.target, named)

    @staticmethod
    def _all_in(cells: Any, others: Any) -> bool:
        import pyarrow.compute as pc

        return bool(pc.all(pc.is_in(cells, value_set=others)).as_py())

    def speaks_of_others(self, *, same_name: bool) -> bool:
        """Whether it is another column altogether, or an index that only counts rows."""
        if not same_name:
            return not (self.is_single and self.is_subset) or (self.is_index and self.labels_count)
        counts = self.labels_count or self.target_counts
        return self.is_index and counts and not self.is_subset


def _is_single(cells: Any) -> bool:
    """Whether every row has a cell of its own."""
    return len(cells.unique()) == len(cells) and not cells.null_count


def _shown_cell(cells: Any, row: int) -> str:
    """A cell in a message."""
    return f"{cells[row].as_py()!r}" if row < len(cells) else "no more rows"


def _key_to_name(theirs: str, ours: str, is_key: bool, counts: bool) -> str:
    """The key that joins labels with rows; where the column is none, or counts rows, what else helps."""
    dropped = f", or drop {theirs} here if these rows are in the target's order"
    if not is_key:
        return f"join them by a column of ids with --key{dropped}"
    key = _BY + shlex.quote(ours if ours == theirs else f"{ours}={theirs}")
    return key + dropped if counts else key


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


def _differ(label_cells: Any, target_cells: Any) -> Array:
    """Rows in which two columns of strings differ, where both are known: as numbers or times if all cells are some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    both = pc.and_(label_cells.is_valid(), target_cells.is_valid())
    row: Array = np.flatnonzero(numbers_of(both))
    first, second = label_cells.filter(both), target_cells.filter(both)
    differ = pc.not_equal(first, second)
    if not pc.any(differ).as_py():
        return row[:0]
    for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            a, b = (column.cast(kind).to_numpy(zero_copy_only=False) for column in (first, second))
        except pa.ArrowInvalid:
            continue
        if kind != pa.float64():
            return np.asarray(row[a != b])
        exact = bool(np.all(np.floor(a) == a) and np.all(np.floor(b) == b))
        return np.asarray(row[~np.isclose(a, b, rtol=0 if exact else 1e-5, atol=0)])
    first, second = (pc.utf8_lower(pc.utf8_trim_whitespace(column)) for column in (first, second))
    return row[numbers_of(pc.not_equal(first, second))]


def _counts(cells: Any) -> bool:
    """Whether a column only counts its rows, from 0 or 1, as an index does that nobody chose."""
    first = cells[0].as_py() if len(cells) else None
    return first in ("0", "1") and cells.to_pylist() == list(
        map(str, range(int(first), int(first) + len(cells)))
    )


Opening = Callable[..., Source]
_LEAST_FOUND = (
    0.01  # of the ids of the smaller file; fewer are another key, not labels of further rows
)


def matched_rows(
    labels: Source,
    target: Source,
    rows: int | None,
    number: Array | None = None,
    key: str | None = None,
) -> MatchedRows:
    """The target row, from 0, of each row of labels (-1: none), by ``key`` or else by ``number``, the column `row`, or
    by the ids that prove it; None where places alone tell. `InputError` for ids that are missing or twice, and where
    places would join other rows.
    """
    joined = key_of(key, labels, target)
    if target.where and joined is None:
        why = "beside --where labels are joined by a column, since places count rows that were left out"
        raise UsageError(f"{labels.name}: {why}; name it with --key")
    if joined is not None:
        number = None if target.where else number  # which counts all rows
        if number is not None and (sure := _confirmed(labels, target, joined, number)) is not None:
            return MatchedRows(sure)
        rows_by_id = _joined(labels, target, joined, every=number is not None)
        if number is not None and not np.array_equal(number, rows_by_id):
            at = int(np.argmax(number != rows_by_id))
            expected = f"{rows_by_id[at]}, the row of this {joined.labels}"
            raise _fault(
                expected, f"{number[at]:g}", at, "row", labels, f"drop row or {joined.labels}"
            )
        return MatchedRows(rows_by_id)
    if number is not None:
        if rows is None:
            return MatchedRows(None)
        bad = ~(
            np.isfinite(number) & (number >= 0) & (number < rows) & (number == np.floor(number))
        )
        if bad.any():
            at, remedy = int(np.argmax(bad)), "count the target's rows from 0"
            expected = f"the number of a target row from 0 to {rows - 1}"
            raise _fault(expected, f"{number[at]:g}", at, "row", labels, remedy)
        return MatchedRows(number.astype(np.int64))
    places = same_places(labels, target)
    if isinstance(places, Key):
        return MatchedRows(_joined(labels, target, places, every=False), found=places)
    if not places and labels.holds(KEY):
        expected = f"a target with the column {KEY}, which these labels are joined by"
        remedy = f"name both columns with --key TARGET={KEY}, or drop it here if the rows are in the target's order"
        raise InputError(
            expected, file=labels.path, got=f"none in {target.name}", column=KEY, remedy=remedy
        )
    return MatchedRows(None, alike=places)


def labelled(
    data: Any, source: Source, key: str | None = None, open_source: Opening = as_source
) -> Joined:
    """The source with the truth of a file of its own, joined as `joined_truth` has it, and what is to be said of it.
    ``open_source`` makes a source of ``data``, which holds `label` or `correct`; it knows about renamed columns. Raises
    as `joined_truth`, and where numbers of rows differ.
    """
    if source.classes is not None and not {"probabilities", "logits", "candidate_scores"} & set(
        source.fields
    ):
        # only predicted classes are there: the labels may hold one that was never predicted
        theirs = open_truth(data, None, open_source).classes or ()
        both = {str(name): name for name in as_one(theirs, source.classes)}
        numbers = [name for name in both.values() if isinstance(name, int)]
        names = sorted(numbers) if len(numbers) == len(both) else sorted(both)
        is_same = {*map(str, names)} == {*map(str, source.classes)}
        source = source if is_same else source.aligned(Axes(tuple(names)))
    labels = open_truth(data, replace(source.axes, others=True), open_source)
    truth, warnings = joined_truth(labels, source, key)
    column = "label" if truth.correct is None else "correct"
    check_length(len(truth), _count(source), "rows of predictions", truth.source, column)
    if truth.label is not None and truth.correct is None and (truth.label < -1).any():
        batches = source_beside(source, truth).batches(["label", *_predicting(source)])
        return Joined(
            _judged(source, np.concatenate([batch.verdicts for batch in batches])), warnings
        )
    return Joined(source_beside(source, truth), warnings)


def wrong_where_unseen(source: Source) -> Joined:
    """The source with `correct` for labels of classes that its probabilities do not have, which is said; of texts
    alone.
    """
    if "label" not in source.fields or not any(
        isinstance(name, str) for name in source.classes or ()
    ):
        return Joined(source, ())
    open_to_others = source.aligned(replace(source.axes, others=True))
    record = Predictions.concat(list(open_to_others.batches(["label", *_predicting(source)])))
    check_new_classes(record, source.path)
    if record.label is None or not (record.label < -1).any():
        return Joined(source, ())
    return Joined(
        _judged(source, record.verdicts), tuple(said_of_classes(record.noted, source.name))
    )


def _judged(source: Source, verdicts: Array) -> Source:
    """The source with verdicts alone: beside probabilities there are no further classes."""
    return source_beside(
        source, Predictions.from_arrays(correct=np.where(verdicts < 0, np.nan, verdicts))
    )


def _predicting(source: Source) -> list[str]:
    return [
        name
        for name in source.fields
        if name in ("prediction", "probabilities", "logits", "members")
    ]


class Joined(NamedTuple):
    """A source with its truth, and what is to be said of the joining."""

    source: Source
    warnings: Strings


class MatchedRows(NamedTuple):
    """The target row of each label, None where they stand at the same places; the key that was ``found``, if any;
    whether a column is ``alike`` in both files.
    """

    row: Array | None
    found: Key | None = None
    alike: bool = False

    def said(self, labels: Source) -> Strings:
        """A line on a key that nobody named."""
        if self.found is None:
            return ()
        ours, theirs = self.found
        columns = ours if ours == theirs else f"{ours}={theirs}"
        return (
            f"{labels.name}: joined by {columns}, which tells its rows apart; --key changes it",
        )


class Matched(NamedTuple):
    """Labels as in their file, numbers of further columns, the target row of each (-1: none), and what to say."""

    record: Predictions
    numbers: Mapping[str, Array]
    row: Array | None
    warnings: Strings


def open_truth(data: Any, axes: Axes | None, open_source: Opening = as_source) -> Source:
    """A source of labels, with its column `row`; `InputError` where it tells no truth."""
    source = open_source(data, axes=axes)
    if source.holds("row"):
        source = open_source(data, axes=axes, extra_columns=["row"])
    if not {"label", "correct"} & set(source.fields):
        raise InputError(
            "a column `label` or `correct`",
            got=", ".join(source.columns[:12]),
            file=source.path,
            remedy="give the truth of each row, or rename its column with --map theirs=label",
        )
    return source


def check_length(labels: int, rows: int, what: str, file: str | None, column: str) -> None:
    """`InputError` where there is not one label for each of the ``rows``, which are called ``what``."""
    if labels != rows:
        raise InputError(
            f"as many labels as {what} ({rows}), or a column `id` or `row`",
            got=str(labels),
            remedy="join them by a column with --key, or give one row each, null where unknown",
            file=file,
            column=column,
        )


def joined_truth(
    labels: Source, target: Source, key: str | None = None
) -> tuple[Predictions, Strings]:
    """`label` and `correct` of every target row, unknown where no label speaks of it; `matched_rows`."""
    record, _, row, warnings = matched_labels(labels, target, key)
    if row is None:
        return record, warnings
    rows, matched = _count(target), np.flatnonzero(row >= 0)
    _, first = np.unique(row[matched], return_index=True)
    if len(first) < len(matched):
        at = int(matched[np.setdiff1d(np.arange(len(matched)), first)[0]])
        raise _fault(
            "each target row once", f"{row[at]} twice", at, "row", labels, "drop one of them"
        )

    def spread(values: Any) -> Any:
        """Codes of the labels at their target rows, -1 at the others."""
        if values is None:
            return None
        out = np.full(rows, -1, dtype=values.dtype)
        out[row[matched]] = values[matched]
        return out

    label, correct = spread(record.label), spread(record.correct)
    return replace(record, rows=rows, label=label, correct=correct, columns={}, _cache={}), warnings


def _as_numbers(cells: Array, column: str, file: str | None) -> Array:
    """A column of a file of labels as numbers, NaN where it is null."""
    if cells.dtype.kind == "O":  # some spreadsheets write a decimal comma
        texts = (cell.replace(",", ".") if isinstance(cell, str) else cell for cell in cells)
        cells = np.array([np.nan if cell in (None, "") else cell for cell in texts], dtype=object)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "numbers", got="something else", remedy="write plain numbers", file=file, column=column
        ) from None


def matched_labels(
    labels: Source,
    target: Source,
    key: str | None,
    *,
    columns: Sequence[str] = ("row",),
    rows: int | None = None,
) -> Matched:
    """The labels of a source, with ``columns`` of numbers, and the target row of each (of ``rows``, else counted)."""
    record = labels.read(["label", "correct"])
    check_new_classes(record, labels.path)
    numbers = {
        name: _as_numbers(record.columns[name], name, labels.path)
        for name in columns
        if name in record.columns
    }
    if rows is None and ("row" in numbers or key_of(key, labels, target) is not None):
        rows = _count(target)
    found = matched_rows(labels, target, rows, numbers.get("row"), key)
    row = found.row
    warnings = [*found.said(labels), *said_of_classes(record.noted, labels.name)]
    if row is not None and (count := int((row < 0).sum())):
        verb, its = ("is", "its") if count == 1 else ("are", "their")
        what = KEY if key is None else key.partition("=")[0]
        what = what if found.found is None else found.found.target
        warning = f"{count:,} of {len(row):,} labels {verb} not needed: the target has no row of {its} {what}"
        warnings.insert(0, f"{labels.name}: {warning}")
    by_place = (
        row is None
        and key is None
        and target.holds(KEY)
        and not (labels.holds("row") or labels.holds(KEY))
    )
    # no other column says that they are the same rows
    if by_place and not found.alike:
        warning = f"labels were joined by position; with a column {KEY} they are joined by it"
        warnings.insert(0, f"{labels.name}: {warning}")
    return Matched(record, numbers, row, tuple(warnings))


def check_new_classes(record: Predictions, file: str | None) -> None:
    """`InputError` where most labels are of classes that the model does not know: then they are written otherwise."""
    if record.label is not None and np.count_nonzero(record.label < -1) > np.count_nonzero(
        record.label >= 0
    ):
        raise mostly_new(record.noted, record.classes, file)


def mostly_new(
    noted: Mapping[str, int], classes: ClassNames | None, file: str | None
) -> InputError:
    """The error where most labels are of classes that the model does not know."""
    expected = (
        f"labels of the classes that the model knows ({', '.join(map(str, (classes or ())[:6]))})"
    )
    got = (
        ", ".join([name.partition(" ")[2] for name in noted if name.startswith("class")][:6])
        + " in most rows"
    )
    return InputError(
        expected,
        got=got,
        file=file,
        column="label",
        remedy="write them in the model's words, or give `correct`",
    )


def _fault(
    expected: str, got: str, at: int, column: str, source: Source, remedy: str
) -> InputError:
    return InputError(expected, got=got, file=source.path, row=at + 1, column=column, remedy=remedy)


def _count(target: Source) -> int:
    return sum(map(len, target.batches(target.fields[:1]))) if target.rows is None else target.rows


def _confirmed(labels: Source, target: Source, key: Key, number: Array) -> Array | None:
    """Rows by their numbers, where each id is the one there but for how a spreadsheet writes it; None where not."""
    label_ids, ids_of_target = labels.keys(key.labels), target.keys(key.target)
    if not np.isin(number, np.arange(len(ids_of_target))).all():
        return None
    rows = number.astype(np.int64)
    pairs = zip(ids_of_target.take(rows).to_pylist(), label_ids.to_pylist(), strict=True)
    mismatch = next((at for at, pair in enumerate(pairs) if not same_cell(*pair)), None)
    if mismatch is None:
        return rows
    if label_ids[mismatch].as_py() in ids_of_target.to_pylist():
        return None
    expected = f"{ids_of_target[rows[mismatch]].as_py()!r}, the {key.target} of target row {rows[mismatch]}"
    remedy = f"write it so, or drop the column {key.labels}: `row` tells which row is meant"
    raise _fault(expected, repr(label_ids[mismatch].as_py()), mismatch, key.labels, labels, remedy)


def _joined(labels: Source, target: Source, key: Key, *, every: bool) -> Array:
    """The target row of each label by its id, -1 where there is none; with ``every`` that is an `InputError`."""
    import pyarrow.compute as pc

    label_ids, ids_of_target = labels.keys(key.labels), target.keys(key.target)
    for source, ids, name in ((labels, label_ids, key.labels), (target, ids_of_target, key.target)):
        if ids.null_count:
            at = first_true(numbers_of(ids.is_null()))
            remedy = "give every row one, or drop the column"
            raise _fault(f"{_a(name)} in every row", "null", at, name, source, remedy)
        first = numbers_of(pc.index_in(ids, value_set=ids))
        again = first != np.arange(len(ids))
        if source is labels:  # what is not needed may stand there twice
            again &= numbers_of(pc.is_in(ids, value_set=ids_of_target))
        if again.any():
            at = int(np.argmax(again))
            got = f"{ids[at].as_py()!r} in rows {first[at] + 1} and {at + 1}"
            remedy = "drop one of the rows, or join by another column with --key"
            raise _fault(f"each {name} once", got, at, name, source, remedy)
    index_in_target = pc.index_in(label_ids, value_set=ids_of_target)
    if index_in_target.null_count:  # 7 beside nulls is written as 7.0
        by_number = pc.index_in(_whole_numbers(label_ids), value_set=_whole_numbers(ids_of_target))
        index_in_target = min(index_in_target, by_number, key=lambda index: index.null_count)
    matched = len(label_ids) - index_in_target.null_count
    if index_in_target.null_count and (
        every or matched < max(1, _LEAST_FOUND * min(len(label_ids), len(ids_of_target)))
    ):
        at = first_true(numbers_of(index_in_target.is_null()))
        share = (
            ""
            if every
            else f", and {matched or 'none'} of {len(label_ids):,} labels are of rows of the target"
        )
        remedy = "write ids alike in both files, or join by another column with --key"
        remedy = "drop what the target does not hold, or write ids alike" if every else remedy
        raise _fault(
            f"{_a(key.target)} of the target",
            f"{label_ids[at].as_py()!r}{share}",
            at,
            key.labels,
            labels,
            remedy,
        )
    return numbers_of(index_in_target, -1).astype(np.int64)


def _whole_numbers(ids: Any) -> Any:
    """Ids that all read as whole numbers with a point, as tables write integers beside empty cells, without it."""
    import pyarrow.compute as pc

    pattern = r"^(-?\d+)\.0+$"
    if not len(ids) or not pc.all(pc.match_substring_regex(ids, pattern)).as_py():
        return ids
    return pc.replace_substring_regex(ids, pattern, r"\1")


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
