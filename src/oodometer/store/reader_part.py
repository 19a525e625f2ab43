"""Reader part: consecutive rows of a file, read, decoded and checked batch after batch, wherever that is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import InputError, OodometerError
from ..predictions import Predictions
from .artifact_cache import checksum
from .base import BATCH_ROWS, Part, no_rows
from .files import Stamp
from .known_files import known_files
from .places import is_remote
from .reader import Plan, Reader
from .where import Condition, none_left, said


@dataclass(frozen=True)
class ReaderPart(Part):
    """Consecutive rows of a file: the reader of a range, and how its columns become fields."""

    reader: Reader
    plan: Plan
    name: str | None
    first_row: int = 0
    stamp: Stamp | None = None
    in_file: int = 0  # rows of the same file before the first
    where: tuple[Condition, ...] = ()  # what holds of its rows, which are those that are left

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Read, decode and check batch after batch; rows in errors count from the file's start."""
        layout, file, done = self.plan.layout, self.reader.file, 0
        plan = replace(self.plan, feeds=layout.select(fields), rows=max(1, rows))
        self._verify()
        chunks = self.reader.chunks(plan) if plan.feeds else iter(())
        while True:
            try:
                arrays = next(chunks, None)
                if arrays is None:
                    break
            except OodometerError as error:
                self._verify()  # a file that changed meanwhile is the better explanation
                if isinstance(error, InputError):
                    raise error.at(file=file, row_offset=self.in_file) from None
                raise
            places = arrays.pop("places", None)
            try:
                record = Predictions.from_arrays(
                    classes=plan.classes,
                    names=plan.names,
                    source=file,
                    first_row=self.in_file + done,
                    positions=self.plan.positions,
                    **arrays,
                )
            except InputError as error:
                if places is not None and error.row is not None:
                    error.row = self.in_file + int(places[error.row - self.in_file - done - 1]) + 1
                raise layout.placed(error) from None
            if self.where:  # errors that come later count the rows that are left
                record = replace(record, source=f"{self.name or self.reader.form} where {said(self.where)}")
            elif file != self.name or self.in_file != self.first_row:  # of several files
                record = replace(record, source=self.name)
            if self.in_file != self.first_row:
                record = replace(record, first_row=self.first_row + done)
            done += record.rows
            yield record
        self._verify()
        if not plan.feeds:
            raise InputError(
                f"one of the fields {', '.join(fields or ())}",
                got=", ".join(layout.columns[:12]),
                file=file,
                remedy="add the column, or rename one with --map theirs=ours",
            )
        if not done and not self.first_row and file == self.name and not self.where:
            raise no_rows(file)
        if self.reader.rows is not None and plan.feeds and done != self.reader.rows:
            raise InputError(
                f"{self.reader.rows} rows, as they were counted before",
                got=f"{done}",
                file=file,
                remedy="check what wrote it, and report it to oodometer: the file is not read",
            )

    def identity(self) -> str | None:
        """The file as it is, the rows in it, and how its columns are understood."""
        if self.stamp is None or self.reader.file is None:
            return None
        file = self.reader.file if is_remote(self.reader.file) else os.path.abspath(self.reader.file)
        pieces = (self.reader.form, self.reader.rows, self.first_row, self.in_file, self.stamp.size, self.stamp.changed)
        content = known_files().mark(self.reader.file, self.stamp)
        return checksum(file, content, repr(pieces), repr(self.plan), self.reader.cast)

    def span(self) -> tuple[int, int] | None:
        """As the reader counts them."""
        return None if self.reader.rows is None else (self.first_row, self.first_row + self.reader.rows)

    def _verify(self) -> None:
        if self.stamp is not None and self.reader.file is not None:
            self.stamp.verify(self.reader.file)


@dataclass(frozen=True)
class ChainedParts(Part):
    """Parts of which only a pass tells how many rows they have, read one after another."""

    parts: tuple[ReaderPart, ...]
    name: str | None

    def identity(self) -> str | None:
        """All files as they are."""
        told = [part.identity() for part in self.parts]
        return None if None in told else checksum(*map(str, told))

    def batches(self, fields: Iterable[str] | None = None, rows: int = BATCH_ROWS) -> Iterator[Predictions]:
        """Part after part; ``first_row`` counts through all."""
        return in_order(self.parts, self.name, fields, rows)


def in_order(
    parts: Sequence[ReaderPart],
    name: str | None,
    fields: Iterable[str] | None,
    rows: int,
    where: Sequence[Condition] = (),
) -> Iterator[Predictions]:
    """The batches of parts that follow one another, however long they are; `InputError` where they have no row."""
    done = 0
    wanted = None if fields is None else tuple(fields)
    for part in parts:
        for record in replace(part, first_row=done).batches(wanted, rows):
            done += record.rows
            yield record
    if not done:
        raise none_left(where, name) if where else no_rows(name)
