"""Source: opens whatever holds predictions: paths, frames, records, tables and arrays in memory."""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array, Coded
from ..classes import (
    MOST_CLASSES,
    MOST_DECIMALS,
    NO_ANSWER,
    ClassNames,
    are_decimals,
    as_one_type,
    is_word,
    lower_class,
    named_classes,
    proved_classes,
    refuse_ids_among,
    refuse_other_spelling,
    regression,
    say_yes_and_no,
    spelt_otherwise,
    truth_pair,
    without_missing,
)
from ..errors import InputError, OodometerError, UsageError
from ..fields import FIELDS, refuse_classes_beside_positions
from ..options import checked
from ..plain import Json, Strings
from ..predictions import Predictions
from .artifact_cache import checksum, content_of
from .base import (
    BATCH_ROWS,
    PART_ROWS,
    Axes,
    Each,
    Order,
    Part,
    Source,
    check_kind,
    in_threads,
    listed_classes,
    no_column,
    no_rows,
    only_counts,
    order_along,
    order_of,
)
from .columns import (
    AXES,
    INDEX,
    Feed,
    Kind,
    Layout,
    TimeFormat,
    bare_name,
    class_names,
    order_in,
    unread_renamings,
)
from .files import KnownFiles, Stamp, check_file, known_files, packing
from .memory import ChangedSource, RecordSource, realigned
from .places import is_remote, path_of
from .scan import TYPE, FilePart, Piece, Plan, Reader, TextReader
from .where import (
    Condition,
    bound,
    names_in,
    no_such_column,
    none_left,
    parse_where,
    refuse_columns,
    said,
)

if TYPE_CHECKING:
    from .encoding import FeatureEncoding

_HEAD_ROWS = 4096  # of which times are looked at together
_OF_LOGS = (".json", ".jsonl", ".jsonl.gz", ".eval")  # endings of files that tools write
_SMALL = 4 << 20  # bytes of a file alone that is not worth cutting


def _look(work: tuple[Piece, Sequence[str]]) -> Json:
    piece, names = work
    try:
        return {name: piece.fact(name) for name in names}
    except OodometerError:
        piece.verify()  # a file that changed meanwhile is the better explanation
        raise


def _facts(pieces: Sequence[Piece], requested: Sequence[Sequence[str]], each: Each) -> list[Json]:
    """What is known of each piece (`known_files`), or else found by ``each``."""
    cache, work = known_files(), list(zip(pieces, requested, strict=True))
    facts = [
        {
            what: fact
            for what in names
            if (fact := cache.get(str(piece.file), piece.stamp, what)) is not None
        }
        for piece, names in work
    ]
    lacking = [i for i, entry in enumerate(facts) if len(entry) < len(requested[i])]
    for i, facts[i] in zip(lacking, each(_look, [work[i] for i in lacking]), strict=True):
        for what, fact in facts[i].items():
            cache.put(str(pieces[i].file), pieces[i].stamp, what, fact)
    return facts


def _first_rows(coded: Coded) -> Array:
    """Where each of the values comes first among the samples, the last axis; -1 where it does not."""
    rows = np.broadcast_to(np.arange(coded.codes.shape[-1]), coded.codes.shape).ravel()
    out = np.full(len(coded.values) + 1, -1)  # the last entry is what code -1 fills
    out[coded.codes.ravel()[::-1]] = rows[::-1]
    return out[:-1]


def _with_reader(piece: Piece, reader: Reader) -> Piece:
    return replace(piece, reader=reader)


def _rows_of(pieces: Sequence[Piece]) -> int | None:
    rows = [piece.rows for piece in pieces]
    return None if None in rows else sum(n for n in rows if n is not None)


def _unfolded(
    pieces: Sequence[Piece], columns: Strings, how: _Reading
) -> tuple[Sequence[Piece], Strings, Mapping[str, str]]:
    """Pieces, columns and renamings, with the columns that nested answers give where there may be any."""
    mapping = how.mapping or {}
    # texts of a column that is the score, or a probability, by its renaming alone may be percents
    renamed = any(ours == "score" or ours.startswith("prob_") for ours in mapping.values())
    if not pieces or not (pieces[0].reader.odd or renamed):
        return pieces, columns, mapping
    from .nested import unfold

    as_is = (*how.extra, *(condition.column for condition in how.where))
    columns, mapping, unfolded = unfold(pieces[0].reader, columns, mapping, as_is)
    return [replace(piece, unfolded=unfolded) for piece in pieces], columns, mapping


def _with_shares(pieces: Sequence[Piece], layout: Layout) -> Sequence[Piece]:
    """Pieces whose percents of all classes are shares of 1, where the first rows show that they are percents."""
    from .nested import hundredths

    feed = layout.feeds.get("probabilities")
    before = {name for piece in pieces[:1] for nested in piece.unfolded for name in nested.gives}
    if feed is None or not pieces or before & {*feed.columns}:
        return pieces
    percents = hundredths(pieces[0].reader, feed)
    return [replace(piece, unfolded=(*piece.unfolded, *percents)) for piece in pieces]


def _said_of_percents(pieces: Sequence[Piece]) -> Strings:
    """A line on columns of percents that are read as shares of 1."""
    names = [n.column for n in (pieces[0].unfolded if pieces else ()) if "hundredths" in n.form]
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (f"{listed} sum to 100 in every row: read as percents",) if names else ()


class _Place(NamedTuple):
    """Where a class comes first; the row, from 1 on, is None where the column names the class and no cell holds it."""

    column: str
    file: str | None
    row: int | None


@dataclass
class _SeenClasses:
    """What a pass has found in ``columns`` of classes, and where each class comes first."""

    columns: dict[str, set[Any]]
    at: dict[Any, _Place] = field(default_factory=dict)
    labels: set[Any] = field(default_factory=set)
    predicted: set[Any] = field(default_factory=set)
    answered: bool = True
    rows: int = 0

    def add(
        self, coded: Coded, name: str, column: str, file: str | None, places: Sequence[int] | Array
    ) -> None:
        """Count cells of a field of this name, each of which has a place in its file."""
        self.columns[column].update(coded.values)
        (self.labels if name == "label" else self.predicted).update(coded.values)
        self.answered &= name != "prediction" or not bool((coded.codes < 0).any())
        for value, row in zip(coded.values, _first_rows(coded).tolist(), strict=True):
            if value not in self.at or self.at[value].row is None:
                self.at[value] = _Place(column, file, int(places[row]) + 1 if row >= 0 else None)


class ReaderSource(Source):
    """Files of the same columns, one after another, or a table in memory, called ``path`` together; classes are settled
    when they are first needed.
    """

    def __init__(
        self,
        opened: tuple[str | None, Sequence[Piece], Strings],
        how: _Reading,
        notes: Strings = (),
    ) -> None:
        path, pieces, columns = opened
        self.path, self.notes, self._wanted, self._times = path, notes, how.axes, how.times
        try:
            pieces, columns, mapping = _unfolded(pieces, columns, how)
            if how.as_far_as_known:
                self.unread = unread_renamings(columns, mapping, path)
                mapping = {c: ours for c, ours in mapping.items() if c not in self.unread}
            self.layout = layout = Layout.parse(columns, mapping, how.extra, path)
            readers = [piece.reader.bound(layout) for piece in pieces]
        except InputError as error:
            raise error.at(file=path) from None
        self.pieces = tuple(_with_shares([*map(_with_reader, pieces, readers)], layout))
        self.notes = (*notes, *_said_of_percents(self.pieces))
        if _rows_of(self.pieces) == 0:
            raise no_rows(path)
        if how.where:
            self._leave_out(bound(how.where, layout, path))
        self._rows = _rows_of(self.pieces)
        self._check_wide()
        # what is the same in all files stands in the reader of the first
        self.first = self.pieces[0].reader
        self.raw_text, self.decimal_comma = self.first.text, self.first.comma
        self.name = (path or self.first.form) + (f" where {said(self.where)}" if how.where else "")
        self.columns = tuple(c or INDEX for c in layout.columns if c != "__index_level_0__")
        self.index = INDEX if self.holds(INDEX) else self.first.index_column
        self._settled: Plan | None = None
        self._counted: tuple[Piece, ...] | None = None
        self.kept_alive: Any = None  # what must live as long as this: the temporary file of a frame
        if not layout.feeds:
            self.lacking = layout.nothing_known(path)
            if not how.as_far_as_known:
                raise self.lacking

    def _check_wide(self) -> None:
        """Refuse wide columns that are not those of the classes that are wanted."""
        classes = self.layout.wide_classes
        if classes is not None:
            wanted = None if self._wanted is None else self._wanted.classes
            self.layout.aligned(classes if wanted is None else wanted, self.path)

    def _leave_out(self, where: Iterable[Condition]) -> None:
        """Leave out rows of which not all conditions hold, and files whose folders say that none does."""
        from .predicates import may_match

        self.where = tuple(
            replace(c, times=self._time_format(c.column)) if c.kind == "time" else c for c in where
        )
        self.pieces = tuple(
            replace(piece, where=tuple(c for c in self.where if c.column not in piece.values))
            for piece in self.pieces
            if may_match(self.where, piece.values)
        )
        if not self.pieces:
            raise none_left(self.where, self.path)

    fields = property(lambda self: self.layout.fields)
    classes = property(lambda self: self._plan.classes)
    lone_class = property(lambda self: self.layout.lone_class)
    rows = property(lambda self: self._rows)  # None for CSV and JSONL until a pass was made

    def holds(self, column: str) -> bool:
        """Whether the file has the column, under this name or renamed to it."""
        return column in self.layout.where

    def keys(self, column: str) -> Any:
        """One pass over the column."""
        import pyarrow as pa

        from .cells import key_cells

        theirs = self.layout.where[column]
        ids = list(
            self._each_batch({theirs: "key"}, lambda batch: key_cells(batch.column(theirs), theirs))
        )
        return pa.concat_arrays(ids) if ids else pa.array([], pa.large_string())

    def _each_batch(self, kinds: Mapping[str, Kind], work: Callable[[Any], Any]) -> Iterator[Any]:
        """What ``work`` gives for each batch of one pass; its errors name the file and the row in it."""
        total = 0
        for piece in self.pieces:
            for batch, places in piece.tables(kinds, BATCH_ROWS):
                with piece.located(places):
                    result = work(batch)
                yield result
                total += batch.num_rows
        self._rows = total

    def _time_format(self, column: str) -> TimeFormat:
        """How the times of a column are written in all files: as much is read of it as tells that."""
        from .times import settled

        kinds: dict[str, Kind] = {column: "time"}
        batches = (
            batch
            for piece in self.pieces
            for batch, _ in replace(piece, where=()).tables(kinds, _HEAD_ROWS)
        )
        return settled(self._times, (batch.column(column) for batch in batches))

    @property
    def own_columns(self) -> Strings:
        """Columns of the file that feed no field, without an index that has no name."""
        fed = {column for feed in self.layout.feeds.values() for column in feed.columns}
        fed |= {self.layout.where.get(INDEX, INDEX)} - {INDEX}
        values = self.pieces[0].values
        return tuple(
            c
            for c in self.layout.columns
            if c not in fed and (c in values or self.first.holds_cells(c))
        )

    def raw(self, columns: Sequence[str]) -> Iterator[Any]:
        """One pass over the columns."""
        import pyarrow as pa

        theirs = [self._theirs(name) for name in columns]

        def renamed(batch: Any) -> Any:
            return pa.record_batch([batch.column(name) for name in theirs], names=list(columns))

        yield from self._each_batch(dict.fromkeys(theirs, "raw"), renamed)

    def _theirs(self, column: str) -> str:
        if column not in self.layout.where:
            raise no_column(column, self.columns, self.path)
        return self.layout.where[column]

    def _as(self, **changes: Any) -> ReaderSource:
        """The same rows, understood in another way."""
        out = copy(self)
        vars(out).update(_settled=None, _rows=_rows_of(self.pieces), **changes)
        return out

    def encoded(self, encoding: FeatureEncoding) -> ReaderSource:
        """The same file, its features made of its own columns."""
        inputs = Feed("features", "raw", tuple(self._theirs(user.name) for user in encoding.users))
        layout = replace(self.layout, feeds={**self.layout.feeds, "features": inputs})
        return self._as(layout=layout, encoding=encoding)

    @property
    def axes(self) -> Axes:
        """Names along the axes as they are read; the order of lists where they, or a user, named their entries."""
        plan, layout = self._plan, self.layout
        wide = {
            AXES[name]: feed for name, feed in layout.feeds.items() if name in AXES and feed.wide
        }
        sizes = {axis: len(feed.columns) for axis, feed in wide.items()}
        sizes |= {AXES[n]: width for n, width in plan.widths.items() if n in AXES}
        listed: Json = {
            axis: entries for axis, entries in self.first.stated_names.items() if axis not in wide
        }
        if self.first.classes is not None and layout.wide_classes is None:
            listed["class"] = self.first.classes
        if self._wanted is not None:  # what a user said of lists holds for those that follow
            listed |= self._wanted.listed
        return Axes(plan.classes, plan.named, sizes, listed, plan.positions)

    def aligned(self, axes: Axes | None) -> Source:
        """The same file read with other class names or another order of them, or of models, judges and so on."""
        if axes is None or axes == self._wanted:
            return self
        if self._wanted is not None:  # lists that were given names keep them
            axes = replace(axes, listed={**axes.listed, **self._wanted.listed})
        return self._as(_wanted=axes)

    def counted(self, each: Each = in_threads) -> tuple[Piece, ...]:
        """Pieces of text files that know their rows, and read columns of the user alike; of several those with rows.
        ``each`` looks at what is not known. A small file alone, or one that is packed, is one part.
        """
        if self._counted is not None:
            return self._counted
        first, pieces = self.first, self.pieces
        if not isinstance(first, TextReader):
            return pieces
        alone, stamp = self.path == first.file, pieces[0].stamp
        columns = self._loose_columns()
        try:
            is_large = stamp is not None and stamp.size > _SMALL and not packing(first.file)
            cut = is_large or not alone
            if not cut and not columns:
                return pieces
            fact_names = ["index"] * cut + [TYPE + name for name in columns if first.finds_types]
            facts = _facts(pieces, [fact_names] * len(pieces), each)
            readers = self._agreeing(first, columns, facts)
        except InputError as error:
            raise error.at(file=self.path) from None
        if cut:
            for i, (rows, marks) in enumerate(entry["index"] for entry in facts):
                readers[i] = replace(readers[i], rows=rows, marks=tuple(map(tuple, marks)))
        counted = map(_with_reader, pieces, readers)
        self._counted = tuple(piece for piece in counted if piece.reader.rows or alone)
        if not self._counted:
            raise no_rows(self.path)
        return self._counted

    def _loose_columns(self) -> list[str]:
        """Columns of the user, in all files, whose type is that of their cells."""
        loose = [*self.layout.extra.values(), *(c.column for c in self.where if c.kind == "any")]
        in_all = set[str].intersection(*(set(piece.reader.columns) for piece in self.pieces))
        return [name for name in dict.fromkeys(loose) if name in in_all]

    def _agreeing(self, first: TextReader, columns: Sequence[str], facts: Sequence[Json]) -> Any:
        """The readers, which read the columns as one type, that which was found or which is known without reading."""
        readers: Any = [piece.reader for piece in self.pieces]
        pairs = list(zip(facts, readers, strict=True))
        types = {
            name: [entry.get(TYPE + name) or reader.type_of(name) for entry, reader in pairs]
            for name in columns
        }
        return first.agreeing(readers, types)

    def ranges(self, target_rows: int, each: Each = in_threads) -> list[Piece]:
        """Pieces of about so many rows that know how many are before them, none with rows of two files. Where
        conditions leave rows out, ``each`` counts what is not known; `InputError` where none is left.
        """
        pieces: list[Piece] = []
        counted_pieces = self.counted(each)
        before = 0 if _rows_of(counted_pieces) is not None or len(counted_pieces) == 1 else None
        for piece in counted_pieces:
            for reader, done in piece.reader.split(max(1, target_rows), piece.where):
                begin = None if before is None else before + done
                pieces.append(replace(piece, reader=reader, in_file=done, before=begin))
            before = None if before is None else before + (piece.rows or 0)
        if not self.where:
            return pieces
        names = [f"left {checksum(str(piece.in_file), piece.cast)}" for piece in pieces]
        lacking = [[name] * (piece.rows is None) for piece, name in zip(pieces, names, strict=True)]
        out, before = [], 0
        for piece, name, facts in zip(pieces, names, _facts(pieces, lacking, each), strict=True):
            if count := facts.get(name, piece.rows):
                out.append(replace(piece, left=count, before=before))
                before += count
        if not out:
            raise none_left(self.where, self.path)
        if not self.raw_text:  # as where all rows are read: text does not tell how many there are
            self._rows = before
        return out

    def parts(self, target_rows: int = PART_ROWS, each: Each = in_threads) -> list[Part]:
        """Ranges of row groups, record batches or rows, or of the bytes of text."""
        pieces = self.ranges(target_rows, each)
        # one after another: only a pass tells their rows
        together = any(piece.before is None for piece in pieces)
        return [
            self._part(group)
            for group in ([tuple(pieces)] if together else [(piece,) for piece in pieces])
        ]

    def batches(
        self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Predictions]:
        """One pass over everything."""
        done = 0
        # whose types must agree
        pieces = self.counted() if self.layout.extra or self.where else self.pieces
        for record in self._part(pieces).batches(fields, rows):
            done += record.rows
            yield record
        self._rows = done

    def _part(self, pieces: tuple[Piece, ...]) -> FilePart:
        return FilePart(pieces, self._plan, self.path, self.where)

    @property
    def _plan(self) -> Plan:
        if self._settled is None:
            try:
                self._settled = self._settle()
            except InputError as error:
                for piece in self.pieces:
                    piece.verify()
                raise error.at(file=self.path) from None
        return self._settled

    def _settle(self) -> Plan:
        layout, axes, times = self.layout, self._wanted or Axes(), self._times
        if "time" in layout.feeds:
            times = self._time_format(layout.feeds["time"].columns[0])
        widths = self._widths()
        if self.encoding is not None:
            widths["features"] = self.encoding.width
        inner = widths.pop("classes", None)
        orders: dict[str, Order] = {}
        classes = None
        # where labels are positions, here or there, there are no classes
        positions = layout.positions is not None or axes.positions
        if positions:
            self._check_positions(axes)
        else:
            listed = [n for n, field in FIELDS.items() if field.of_classes and n in widths]
            width = next((widths[n] for n in listed if FIELDS[n].kind == "numbers"), inner)
            stated_classes = self._own_classes(width)
            classes = self._classes(stated_classes, width)
            if classes is not None and width is not None:
                order = self._order_of_lists(
                    stated_classes, classes, width, layout.feeds[listed[0]]
                )
                orders |= {} if order == tuple(range(width)) else {"class": order}
            if classes is not None:
                layout = layout.aligned(classes, self.path)
        layout, named = self._settle_axes(layout, widths, orders)
        return Plan(
            layout=layout,
            classes=classes,
            widths=widths,
            orders=orders,
            named=named,
            positions=positions,
            encoding=self.encoding,
            others=axes.others and not positions,
            times=times,
        )

    def _check_positions(self, axes: Axes) -> None:
        """Labels are positions among candidates both here and in what is wanted, and no classes are named."""
        feeds, stated = self.layout.feeds, self.first.classes if self.first.binding else None
        if (scores := self.layout.positions) is not None:
            check_kind(True, axes, feeds[scores].columns[0], self.path)
            refuse_classes_beside_positions([scores], stated, self.path)
            return
        of_classes = [feed.columns[0] for name, feed in feeds.items() if FIELDS[name].of_classes]
        if of_classes or stated is not None:
            check_kind(False, axes, of_classes[0] if of_classes else "classes", self.path)

    def _classes(self, stated_classes: ClassNames | None, width: int | None) -> ClassNames | None:
        """The classes that are wanted, else those that the data name, count in lists, or hold."""
        if self._wanted is not None and self._wanted.classes is not None:
            return self._wanted.classes
        if stated_classes is not None:
            return stated_classes
        if width is not None:
            return tuple(range(width))
        lone = self.layout.lone_class
        return self._seen_classes() if lone is None else self._two_classes(lone)

    def _two_classes(self, lone: int | str) -> ClassNames:
        """The class that the one column of a binary model is about, and the other one: 0 and 1, or what is seen."""
        seen = (0, 1) if lone in (0, 1) else self._seen_classes() or ()
        if (pair := truth_pair(lone)) is not None and {*map(str, seen)} <= {"0", "1"}:
            return pair  # columns of true and false are seen as 1 and 0
        classes = (*seen, *([] if str(lone) in map(str, seen) else [lone]))
        if len(classes) != 2:
            column = next(feed.columns[0] for feed in self.layout.wide_of_classes if feed.lone)
            are_numbers = {*map(str, seen)} <= {"0", "1"} and len(seen) == 2
            are_none = not seen and "label" not in self.layout.feeds
            remedy = "" if are_numbers else "name both, --classes a,b"
            if are_numbers or are_none:
                words = bare_name(str(lone)).split("_")
                order = ("0", "1") if lower_class(words, ("0", "1"), words[1:]) else ("1", "0")
                first, other = (shlex.quote(f"{column}={number}") for number in order)
                of = f"{lone} is {order[0]} of 0 and 1"
                remedy += "; or, " * are_none + f"if {of}, --positive {first}, else {other}"
            raise InputError(
                f"two classes, {lone!r} and another one",
                got=", ".join(map(repr, classes[:6])),
                column=column,
                remedy=remedy,
            )
        return tuple(sorted(classes, key=str))

    def _order_of_lists(
        self, stated_classes: ClassNames | None, classes: ClassNames, width: int, feed: Feed
    ) -> Order:
        """The order that brings lists, whose classes the data may name, into line with the classes."""
        column, axes = feed.columns[0], replace(self._wanted or Axes(), classes=classes)
        if width != len(classes):
            raise InputError(
                f"lists of {len(classes)} entries, one a class",
                got=f"{width}",
                file=self.path,
                row=1,
                column=column,
                remedy="use the same classes in the reference and the target",
            )
        if stated_classes is None or only_counts(stated_classes, classes):
            stated_classes = listed_classes(width, axes, self.path, column)
        return order_of(stated_classes, classes, self.path)

    def _widths(self) -> dict[str, int]:
        """Lengths of the lists in list columns, as the first row has them; nothing where there is no row."""
        lists = ("numbers", "nested", "classes", "truths")
        feeds = [
            feed for feed in self.layout.feeds.values() if not feed.wide and feed.kind in lists
        ]
        out: dict[str, int] = {}
        for piece in self.pieces if feeds else ():
            from .cells import flat_list, plain

            for batch, places in piece.tables(self.layout.kinds(feeds, extra=False), 1):
                if batch.num_rows:
                    with piece.located(places):
                        for feed in feeds:
                            name = feed.columns[0]
                            values, size = flat_list(plain(batch.column(name)).slice(0, 1), name)
                            out[feed.field] = size
                            if feed.kind == "nested":  # the inner lists have one entry a class
                                out["classes"] = (
                                    flat_list(values, name, None, size)[1] if size else 0
                                )
                    return out
        return out

    def _own_classes(self, width: int | None) -> ClassNames | None:
        """The names that the data give their classes, in the order of their lists; `InputError` where two disagree."""
        stated, wide = self.first.classes, self.layout.wide_classes
        if stated is None:
            return self._proved_classes() if wide is None and width is not None else wide
        if wide is not None:
            if sorted(map(str, stated)) == sorted(map(str, wide)):
                return stated  # the names beside the columns know their types
            if not self.first.binding:
                return wide
            expected = f"classes that are those of the columns ({', '.join(map(str, wide[:6]))})"
            raise InputError(
                expected,
                got=", ".join(map(str, stated[:6])),
                column="classes",
                remedy="name the classes once",
            )
        if width is not None and len(stated) != width:
            expected = f"{width} class names, as many as lists have entries"
            raise InputError(
                expected,
                got=f"{len(stated)}",
                column="classes",
                remedy="name every class once, in their order",
            )
        return stated

    def _proved_classes(self) -> ClassNames | None:
        """The classes of lists that name none, as the predictions in the first rows prove them."""
        feeds = self.layout.feeds
        answers, lists = feeds.get("prediction"), feeds.get("probabilities")
        if answers is None or lists is None or lists.wide:
            return None
        from . import cells as decode

        for piece in self.pieces:
            for batch, places in piece.tables(
                self.layout.kinds((answers, lists), extra=False), BATCH_ROWS
            ):
                if not batch.num_rows:
                    continue
                with piece.located(places):
                    (name,), (column,) = answers.columns, lists.columns
                    coded = decode.seen(batch.column(name), answers, name, self.first.text)
                    values, width = decode.flat_list(decode.plain(batch.column(column)), column)
                numbers = decode.numbers_of(values).reshape(-1, width)
                return proved_classes(numbers, coded.codes, coded.values)
        return None

    def _seen_classes(self) -> ClassNames | None:
        """The sorted distinct classes of the class columns, by one pass; all integers or all strings."""
        from . import cells as decode

        feeds = tuple(f for f in self.layout.feeds.values() if f.kind in ("class", "classes"))
        if not feeds:
            return None
        text, kinds = self.first.text, self.layout.kinds(feeds, extra=False)
        feed_columns = [(feed, name) for feed in feeds for name in feed.columns]
        found = _SeenClasses({name: set() for _, name in feed_columns})
        for piece in self.pieces:
            for batch, places in piece.tables(kinds, BATCH_ROWS):
                found.rows += len(places)
                for feed, name in feed_columns:
                    with piece.located(places):
                        coded = decode.seen(batch.column(name), feed, name, text)
                    found.add(coded, feed.field, name, piece.file, places)
                    if len(found.columns[name]) > MOST_CLASSES:
                        self._refuse_numbers_and_ids(found)
        self._refuse_numbers_and_ids(found)
        at, labels, predicted = found.at, found.labels, found.predicted
        if (pair := spelt_otherwise(labels, predicted)) is not None:
            column, file, row = at[pair[0]]
            refuse_other_spelling(labels, predicted, column=column, file=file, row=row)
        classes = predicted | without_missing(labels, predicted)
        classes.discard(None)
        if not found.answered:
            return (*sorted(map(str, classes)), NO_ANSWER)
        if say_yes_and_no(labels, predicted):
            return tuple(sorted(labels - {None}))
        order = sorted(
            (value for value in at if value in classes), key=lambda value: value not in predicted
        )
        return self._of_one_type(order, at, predicted)

    def _of_one_type(
        self, classes: Sequence[Any], at: Mapping[Any, _Place], predicted: Collection[Any]
    ) -> tuple[int | str, ...]:
        """Classes in their order, integers or texts; `InputError` where they are both, by where each comes ``at``. In a
        file of texts they are texts where the predictions are both, as codes of diseases are.
        """

        def is_number(value: Any) -> bool:
            return not isinstance(value, str) or (
                self.first.text and isinstance(class_names([value])[0], int)
            )

        read = as_one_type(classes, [str(value) for value in classes if is_number(value)])
        numbers = [is_number(value) for value in read]
        if all(numbers):
            return tuple(sorted({int(value) for value in read}))
        kinds = {is_number(value) for value in predicted if value is not None}
        if not any(numbers) or (self.first.text and len(kinds) == 2):
            return tuple(sorted(classes if any(numbers) else {*read}))
        odd = classes[numbers.index(not numbers[0])]
        expected = "classes of one type, all integers or all strings"
        got = f"{classes[0]!r} and {odd!r}"
        column, file, row = at[odd]
        raise InputError(
            expected, got=got, column=column, file=file, row=row, remedy="make them one type"
        )

    def _refuse_numbers_and_ids(self, found: _SeenClasses) -> None:
        """Raise `InputError` where class columns hold a regression, or ids."""
        texts, at = set().union(*found.columns.values()) - {None}, found.at
        if self.first.text and len(texts) > MOST_DECIMALS and are_decimals(texts):
            column, file, row = at[
                next(v for v in at if v in texts and not isinstance(class_names([v])[0], int))
            ]
            raise regression(len(texts), file=file, row=row, column=column)
        self._refuse_decimals_beside_words(found)
        refuse_ids_among(found.columns, found.rows)

    def _refuse_decimals_beside_words(self, found: _SeenClasses) -> None:
        """Raise `InputError` for a column of decimals beside one of words: scores, which every label would miss."""
        for texts in found.columns.values() if self.first.text else ():
            others = set().union(*found.columns.values()) - texts
            if not are_decimals(texts - {None}) or not any(map(is_word, others)):
                continue
            value = next(value for value in found.at if value in texts - {None})
            column, file, row = found.at[value]
            raise InputError(
                "a class (an integer or a string)",
                got=value,
                file=file,
                row=row,
                column=column,
                remedy="give class numbers or names, not scores",
            )

    def _settle_axes(
        self, layout: Layout, widths: Mapping[str, int], orders: dict[str, Order]
    ) -> tuple[Layout, dict[str, Strings]]:
        """Models, views, judges and features in the order wanted: the layout, their names; ``orders`` are added to."""
        feeds, named = dict(layout.feeds), {}
        for name, axis in AXES.items():
            feed = feeds.get(name)
            if feed is None or not (feed.wide or name in widths):
                continue
            size = len(feed.columns) if feed.wide else widths[name]
            names = self._names_along(axis, feed, size)
            order, names = order_along(
                axis, names, size, feed.wide, self._wanted or Axes(), self.path
            )
            if order is not None:
                orders[axis] = order
                feeds[name] = feed.ordered(order) if feed.wide else feed
            if names is not None:
                named[axis] = names
        return replace(layout, feeds=feeds), named

    def _names_along(self, axis: str, feed: Feed, size: int) -> Strings | None:
        """The names that the data give the entries of an axis; `InputError` where these are not one for each."""
        names = feed.names if feed.wide else self.first.stated_names.get(axis)
        if feed.kind == "raw" and self.encoding is not None:
            names = self.encoding.names
        if names is not None and (len(names) != size or len(set(names)) < size):
            raise InputError(
                f"{size} distinct names, one for each {axis}",
                got=f"{len(names)}",
                column=f"names_{axis}",
                remedy="name every entry once, in their order",
            )
        return names


@dataclass(frozen=True)
class PickedRows:
    """Rows of a source as an Arrow table, in the order asked for, and what its columns mean."""

    table: Any
    layout: Layout

    def field_of(self, column: str) -> str | None:
        """The field of a record that a column feeds; None where it feeds none."""
        return next(
            (name for name, feed in self.layout.feeds.items() if column in feed.columns), None
        )

    def named(self, name: str) -> str | None:
        """What the file calls a column that is known by this name after renaming; None where there is none."""
        column = self.layout.where.get(name)
        return column if column in self.table.column_names else None


def pick_rows(source: Source, rows: Array) -> PickedRows:
    """Rows of a source, counted from 0, with all columns of its file in their order; cells of CSV stay text. One pass
    over the pieces (row groups of Parquet) that hold any of them.
    """
    import pyarrow as pa

    from .cells import arrow_of

    while isinstance(source, ChangedSource):
        source = source.inner
    order = np.argsort(rows, kind="stable")
    sorted_rows, picked, before = rows[order], [], 0
    if isinstance(source, ReaderSource):
        layout, first = source.layout, source.first
        kinds: dict[str, Kind] = dict.fromkeys(layout.columns, "text" if first.text else "any")
        if first.form == "npz":  # only the arrays that stand for columns
            kinds = layout.kinds(layout.feeds.values())
        pieces = source.ranges(BATCH_ROWS)
    else:
        from .arrow import MemoryReader
        from .record_table import as_table

        table = as_table(source.read())
        layout = Layout.parse(table.column_names, file=source.path)
        kinds = dict.fromkeys(table.column_names, "any")
        pieces = [Piece(MemoryReader(table))]
    for piece in pieces:
        before = before if piece.before is None else piece.before
        if (
            piece.rows is not None
            and not ((sorted_rows >= before) & (sorted_rows < before + piece.rows)).any()
        ):
            continue
        for batch, _ in piece.tables(kinds, BATCH_ROWS):
            offsets = (
                sorted_rows[(sorted_rows >= before) & (sorted_rows < before + batch.num_rows)]
                - before
            )
            if len(offsets):
                picked.append(
                    pa.Table.from_batches([batch.select(list(kinds)).take(arrow_of(offsets))])
                )
            before += batch.num_rows
    table = pa.concat_tables(picked, promote_options="permissive")
    inverse = np.empty(len(rows), dtype=np.int64)
    inverse[order] = np.arange(len(rows))
    return PickedRows(table.take(arrow_of(inverse)), layout)


_OPENERS = {
    "parquet": "parquet ParquetReader",
    "csv": "csv_file CsvReader",
    "jsonl": "jsonl JsonlReader",
}
_OPENERS |= {"arrow": "arrow ArrowReader", "npz": "npz NpzReader"}


def open_all(
    path: Any, names: Collection[str], format: str | None = None, where: Sequence[Condition] = ()
) -> tuple[str | None, Sequence[Piece], Strings]:
    """What files are called together, a piece for each, and the columns that all have; files whose folders say that
    ``where`` holds of no row are left out.
    """
    from .many_files import files_of, open_files, read_once

    if isinstance(path, (str, os.PathLike)):
        name = path_of(os.fspath(path))
        files = None if os.path.isfile(name) else files_of(name)
    else:
        paths = [path_of(os.fspath(file)) for file in path]
        files = read_once([file for part in paths for file in files_of(part) or [part]])
        if not files:
            raise UsageError("expected at least one path, got an empty list")
        name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if files is None:
        reader, stamp = open_reader(name, names, format)
        return reader.file, [Piece(reader, stamp=stamp)], reader.columns
    cache = known_files()  # here: threads that open files are in no run folder
    return open_files(
        files, name, lambda file: open_reader(file, names, format, cache), names, where
    )


def open_reader(
    path: str | Path,
    names: Collection[str],
    format: str | None = None,
    cache: KnownFiles | None = None,
) -> tuple[Reader, Stamp]:
    """The reader of a file that is whole and of a known kind, and what tells it from a later one in its place;
    ``names`` will be asked for: in JSONL they may come first far down.
    """
    (form, stamp), file = check_file(path, format), str(path)
    module, name = _OPENERS[form].split()
    kind: Any = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    if form not in ("csv", "jsonl"):
        return kind.open(file), stamp
    facts_of = known_files() if cache is None else cache

    def known_or(what: str, find: Callable[[], TextReader]) -> Any:
        """The reader by what is known of the file under this name, or else is found now."""
        facts = facts_of.get(file, stamp, what)
        if facts is not None:
            return kind.from_facts(file, facts)
        reader = find()
        facts_of.put(file, stamp, what, reader.facts)
        return reader

    reader = known_or("head", lambda: kind.open(file))
    if form == "jsonl":
        from .many_files import partition_of

        missing = sorted(set(names) - set(reader.columns) - set(partition_of(file)))
        return known_or(
            f"head with {missing}", lambda: reader.with_columns(missing)
        ) if missing else reader, stamp
    return reader, stamp


def open_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    extra_columns: Iterable[str] = (),
    axes: Axes | None = None,
    where: str | Sequence[str] | None = None,
    timezone: str | None = None,
    format: str | None = None,
) -> Source:
    """Open predictions: Parquet, CSV, JSONL, Arrow/Feather or NPZ, told by the ending or by ``format``.

    ``path`` is a file, a folder of files, a pattern such as ``lake/day=2026-11-*/*.parquet``, a URL of an object store
    (``s3://bucket/folder``), or a list of these. Files of a folder are read in the order of their names, and names of
    folders such as ``day=2026-11-24`` become columns.

    Nothing but the head or footer is read until rows are asked for. ``classes`` are class names in the order wanted:
    columns are matched to them by name, and they name the entries of lists that come without names. ``axes`` are those
    of another source to follow in this and in the names of models, views, judges and features (`Source.axes`).
    ``mapping`` renames columns, theirs -> ours; ``extra_columns`` are carried along in ``record.columns``, to slice by.
    ``where`` are conditions such as ``"day >= 2026-11-01"``; only rows for which all of them hold are read. Times
    become instants of UTC; those without an offset or zone are what the clock of ``timezone`` showed, by default UTC's.

    A log of an evaluation, or a folder of logs, is read as `read` reads it; `Source.notes` says what was chosen.

    Raises `InputError` naming file, row and column, `UsageError` for a column that is not there.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "p.csv"
    >>> _ = path.write_text("prob_cat,prob_dog,label\\n0.9,0.1,cat\\n0.4,0.6,cat\\n")
    >>> source = open_predictions(path)
    >>> source.classes, source.fields, source.read().accuracy
    (('cat', 'dog'), ('label', 'probabilities'), 0.5)
    """
    times, renamed = _times(timezone, mapping)
    how = _Reading(
        axes=_axes_to_follow(classes, axes),
        mapping=renamed,
        extra=tuple(extra_columns),
        where=parse_where(where, times) if where else (),
        times=times,
    )
    return _open_path(path, how, format)


@dataclass(frozen=True)
class _Reading:
    """How a table is read, as `as_source` says it: axes to follow, renamings, further columns, conditions on rows, how
    times are written, and whether renamings of absent columns, and no field at all, are let pass.
    """

    axes: Axes | None
    mapping: Mapping[str, str] | None
    extra: Strings
    where: Sequence[Condition]
    times: TimeFormat
    as_far_as_known: bool = False

    def of(
        self, opened: tuple[str | None, Sequence[Piece], Strings], notes: Strings = ()
    ) -> ReaderSource:
        """The source of a name, pieces and their columns."""
        return ReaderSource(opened, self, notes)


def _open_path(path: Any, how: _Reading, format: str | None = None) -> Source:
    """Files as predictions, or what a log, a folder of logs or a JSON document holds."""
    from .shapes import is_details, shape_of_table

    taken = _table_at(path, unless_table=True) if format is None else None
    early = names_in(how.where, how.mapping) if how.where else []
    names = {*(how.mapping or {}), *how.extra, *(condition.column for condition in early)}
    if taken is None:
        try:
            data = open_all(path, names, format, early)
            if is_details(data[2]) or shape_of_table(data[2]) is not None:
                taken = _table_at(path)
            if taken is None:
                source = how.of(data)
                taken = _table_at(path) if source.lacking is not None else None
                if taken is None:
                    return source
        except InputError:
            taken = _table_at(path)
            if taken is None:
                raise
    from .arrow import MemoryReader

    table, notes = taken
    reader = MemoryReader(table)
    return how.of((str(path), [Piece(reader)], reader.columns), notes)


def _table_at(path: Any, unless_table: bool = False) -> tuple[Any, Strings] | None:
    """What a log, a folder of logs or a JSON document holds, as a table with what is to be said of it; None for any
    other file. ``unless_table`` : leave out what the ending, or the first files of a folder, do not name as one.
    """
    name = str(path)
    if unless_table and not (name.lower().endswith(_OF_LOGS) or os.path.isdir(name)):
        return None
    from .documents import read_document
    from .harness.join import log_at
    from .record_table import as_table

    log = log_at(path, unless_table=unless_table)
    if log is not None:
        return as_table(log.record), log.told
    document = read_document(name) if name.endswith(".json") else None
    return None if document is None else (document.table, document.notes)


@checked()
def read_predictions(data: Any, **options: Any) -> Predictions:
    """Everything in a file, a frame or whatever else `as_source` takes as ``data``, as one record; ``options`` as
    there.

    >>> read_predictions({"confidence": [0.9, 0.8], "correct": [True, False]}).accuracy
    0.5
    """
    return as_source(data, **options).read()


@checked()
def as_source(
    data: Any,
    *,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    extra_columns: Iterable[str] = (),
    axes: Axes | None = None,
    where: str | Sequence[str] | None = None,
    timezone: str | None = None,
    as_far_as_known: bool = False,
) -> Source:
    """A source from whatever holds predictions.

    data : a path (a file, a folder, a pattern, a URL) or a list of paths, ``"-"`` (standard input: CSV or JSONL), a
        `Predictions` record, a `Source`, a frame (pandas, polars or another that narwhals knows), a pyarrow table, a
        Hugging Face data set, a frame of Spark or Ray (fetched batch by batch into a temporary file), or a mapping of
        arrays with the axes of an NPZ file.
    classes : class names in the order wanted.
    mapping : new names of columns, theirs -> ours.
    extra_columns : carried along, to slice by.
    axes : those of another source to follow.
    where : conditions on rows; `UsageError` with a `Source`, whose conditions belong to where it was opened.
    timezone : of times that name none.
    as_far_as_known : whether it may hold no field at all, and lack columns that ``mapping`` renames (`Source.unread`).

    All but the first are said more fully at `open_predictions`, as are further errors.

    >>> as_source({"probabilities": [[0.9, 0.1], [0.2, 0.8]], "label": [0, 0]}).read().accuracy
    0.5
    """
    times, renamed = _times(timezone, mapping)
    how = _Reading(
        axes=_axes_to_follow(classes, axes),
        mapping=renamed,
        extra=tuple(extra_columns),
        where=parse_where(where, times) if where else (),
        times=times,
        as_far_as_known=as_far_as_known,
    )
    if isinstance(data, Source):
        if how.where:
            raise UsageError(
                "conditions on rows belong to where the source was opened: as_source(data, where=...)"
            )
        return data.aligned(how.axes)
    if isinstance(data, Predictions):
        record = _filtered(data, how.where) if how.where else data
        source = RecordSource(
            record if how.axes is None else realigned(record, how.axes), how.extra
        )
        source.where = tuple(how.where)
        return source
    if isinstance(data, str) and data == "-":
        from .frames import spooled_stdin

        data = spooled_stdin()
    paths = data if isinstance(data, (list, tuple)) and data else [data]
    if all(isinstance(path, (str, os.PathLike)) for path in paths):
        return _open_path(data, how)
    from . import frames

    if frames.is_cluster_frame(data):
        frame = frames.ClusterFrame(data)
        cluster = how.of(open_all(frame.path, ()))
        cluster.kept_alive, cluster.name = frame, cluster.name.replace(frame.path, frame.name)
        return cluster
    if isinstance(data, Mapping):
        how = replace(how, mapping=frames.with_lone(data, how.mapping))
    reader = frames.reader_of(data, how.mapping)
    return how.of((reader.file, [Piece(reader)], reader.columns))


def _times(
    zone: str | None, mapping: Mapping[str, str] | None
) -> tuple[TimeFormat, dict[str, str] | None]:
    """How times are read, and the renamings without what one says of times."""
    pairs = {theirs: order_in(ours) for theirs, ours in (mapping or {}).items()}
    order = next((order for _, order in pairs.values() if order), "")
    return TimeFormat(zone or "", order), {
        theirs: ours for theirs, (ours, _) in pairs.items()
    } or None


def _filtered(record: Predictions, where: Sequence[Condition]) -> Predictions:
    """The rows of a record for which conditions on its columns, or fields with one value a row, hold."""
    import pyarrow as pa

    from .predicates import matches

    source, mask = RecordSource(record), np.ones(len(record), dtype=bool)
    for condition in where:
        name = condition.column
        if not source.holds(name):
            raise no_such_column(condition, source.columns, "")
        refuse_columns(condition, source.columns, "")
        field = FIELDS.get(name) if name in record.fields else None
        cells = next(source.raw([name])).column(0)
        if field is not None and field.kind == "time":  # those of a record are instants
            cells = cells.cast(pa.timestamp("us", "UTC"))
        if field is not None and field.cell == "class" and record.classes is not None:
            cells = pa.array(np.array([*record.classes, None], dtype=object)[getattr(record, name)])
        mask &= matches(cells, replace(condition, kind="any" if field is None else field.kind))
    if not mask.any():
        raise none_left(where, record.source)
    return record if mask.all() else record.take(np.flatnonzero(mask))


def _axes_to_follow(classes: Sequence[int | str] | None, axes: Axes | None) -> Axes | None:
    """The axes to follow: another source's, else classes that a user named."""
    return axes if classes is None or axes is not None else Axes.given(named_classes(classes))


class RawTable:
    """A file, or a table in memory, whose columns are read as they are."""

    def __init__(self, reader: Reader, stamp: Stamp | None) -> None:
        self._reader, self._stamp = reader, stamp
        self.name, self.file = reader.file or reader.form, reader.file
        self.columns, self.rows, self.text = reader.columns, reader.rows, reader.text

    @property
    def stamp(self) -> Any:
        """What tells this file from a later one in its place: name and content; None in memory."""
        if self._stamp is None or self.file is None:
            return None
        if is_remote(self.file):  # an object store gives each content a time of its own
            return [self.file, self._stamp.size, self._stamp.changed]
        return [os.path.realpath(self.file), content_of(self.file)]

    def batches(self, kinds: dict[str, Kind], rows: int = BATCH_ROWS) -> Iterator[Any]:
        """Arrow record batches of at most ``rows`` rows with the columns of ``kinds``; `InputError` names a bad row."""
        for batch in self._reader.tables(kinds, rows):
            yield batch.select(list(kinds))
        if self._stamp is not None and self.file is not None:
            self._stamp.verify(self.file)


def open_table(data: Any, names: Iterable[str] = ()) -> RawTable:
    """Open a file, a frame, a Hugging Face data set or a mapping of columns, as it is; ``names`` will be asked for."""
    if not isinstance(data, (str, os.PathLike)):
        from .frames import reader_of, table_of_columns

        return RawTable(
            reader_of(table_of_columns(data) if isinstance(data, Mapping) else data, None), None
        )
    reader, stamp = open_reader(Path(data), set(names))
    if reader.form == "npz":
        raise InputError(
            "a table", got="an NPZ file", remedy="name an array with --input", file=str(data)
        )
    return RawTable(reader, stamp)
