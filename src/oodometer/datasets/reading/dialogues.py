"""Dialogues: contexts with their candidate replies from a table; replies that stand alone get others by the seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ...errors import InputError
from ...store.tables import RawTable
from ..base import Dataset, Dialogue
from ..dialogues import TURNS, exchange, is_context, said, with_replies
from ..response_ranking import Replies
from .base import Batch, Columns, Examples, check_found, objects

_BESIDE = ("response", "candidates", "turn", "source_row")
_ROWS = 4096
_Context = tuple[int, Mapping[str, Any], tuple[str, ...], int]


@final
@dataclass(frozen=True)
class Drawing:
    """How replies get other candidates: how many in all, by which seed, from the replies of which table.

    ``replies`` of None are those of the data themselves.
    """

    candidates: int = 10
    seed: int = 0
    replies: Any = None


@final
class DialogueExamples(Examples):
    """A table of dialogues: contexts with candidates and the position of the right one, or with a response; or turns.

    Of ``turns`` each but the first is the reply of one example. A response without candidates is put among others that
    are drawn from all responses of the table (or of another one: shifted copies have those of their source). Dialogues
    without a turn, and of a single one, are counted and left out.
    """

    def __init__(self, table: RawTable, columns: Columns, drawing: Drawing | None = None) -> None:
        self.table, self.name, self.file, self.modality = table, table.name, table.file, "dialogue"
        held = table.columns
        usual = columns.inputs or tuple(name for name in TURNS if name in held)[:1]
        if not usual:
            raise InputError(
                f"a column with the turns, such as {TURNS[0]}, or with a context",
                got=", ".join(held[:12]),
                file=table.file,
                remedy="name it with --input COLUMN",
            )
        self.turns = check_found(usual, held, table.file, "a column of turns", "--input")[0]
        named = [one for one in (columns.label, columns.id, *columns.keep) if one]
        check_found(named, held, table.file, "a column", "--label, --id or --keep")
        self.label, self.id = columns.label, columns.id
        self.keep = tuple(dict.fromkeys((*columns.keep, *(one for one in ("time", "group") if one in held))))
        beside = (*_BESIDE, "id", "label", *named, *self.keep)
        self._columns = tuple(dict.fromkeys(one for one in (self.turns, *beside) if one in held))
        self._drawing = drawing or Drawing()
        self._pool: Replies | None = None
        self.rows = table.rows if "response" in held or "candidates" in held else None

    @property
    def stamp(self) -> Any:
        """That of the file; None in memory."""
        return self.table.stamp

    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Contexts of the table, at most ``rows`` at once."""
        held: list[tuple[Mapping[str, Any], Dialogue, int | None, str]] = []
        skipped: list[tuple[str, str]] = []
        done = 0
        for number, row, context, file_row in self._contexts(skipped):
            if number <= first * rows:
                if number % rows == 0:
                    skipped.clear()
                    done += rows
                continue
            held.append((row, *self._example(number, row, context, file_row)))
            if len(held) == rows:
                yield self._batch(held, done, skipped)
                done += rows
                held, skipped[:] = [], []
        if held or (skipped and done >= first * rows):
            yield self._batch(held, done, skipped)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        number = 0
        for batch in self.table.batches(dict.fromkeys(self._columns, "any"), _ROWS):
            for row in batch.to_pylist():
                number += 1
                yield number, row
        if not number:
            raise InputError("at least one row", got="none", remedy="check what wrote it", file=self.file)

    def _contexts(self, skipped: list[tuple[str, str]]) -> Iterator[_Context]:
        """Number of the context, its row, its turns, and the row of the table that it comes from."""
        number = 0
        for file_row, row in self._rows():
            turns = self._turns_of(row, file_row)
            if is_context(self.turns, row):
                least, why = 1, "a context without turns"
                found: list[Mapping[str, Any]] = [row]
            else:
                least, why = 2, "a dialogue of one turn, which has no reply" if turns else "a dialogue without turns"
                found = list(with_replies(row, self.turns, turns))
            if len(turns) < least:
                skipped.append((f"row {file_row}", why))
                continue
            if not found:
                skipped.append((f"row {file_row}", "a chat in which the assistant does not reply"))
            for one in found:
                number += 1
                yield number, one, turns if one is row else turns[: one["turn"]], file_row

    def _turns_of(self, row: Mapping[str, Any], number: int) -> tuple[str, ...]:
        value = row[self.turns]
        texts = [said(_bare(one)) for one in value] if isinstance(value, list) else [None]
        if any(one is None for one in texts):
            raise InputError(
                "a list of turns, each a text or an object with a text in it",
                got=f"{value!r}"[:60],
                remedy="mend the row, or name another column with --input",
                file=self.file,
                row=number,
                column=self.turns,
            )
        return tuple(map(str, texts))

    def _example(
        self, number: int, row: Mapping[str, Any], context: Sequence[str], file_row: int
    ) -> tuple[Dialogue, int | None, str]:
        place = {"file": self.file, "row": file_row}
        plain = {**row, "id": row[self.id]} if self.id else row
        found = exchange(plain, context, number=number, place=place, label=self.label)
        if found.candidates is not None:
            return Dialogue(found.context, found.candidates), found.label, found.id
        assert found.response is not None
        candidates, position = self.pool.among(found.id, found.response)
        return Dialogue(found.context, candidates), position, found.id

    @property
    def pool(self) -> Replies:
        """Replies that candidates are drawn from; read when they are first needed."""
        if self._pool is None:
            drawing = self._drawing
            source = self if drawing.replies is None else DialogueExamples(drawing.replies, Columns())
            self._pool = Replies(source.responses(), drawing.candidates, drawing.seed, source.file or source.name)
        return self._pool

    def responses(self) -> Iterator[str]:
        """The replies of all contexts, as far as the table gives them."""
        for _, row, _, _ in self._contexts([]):
            found = said(row.get("response"))
            if found is not None:
                yield found

    def _batch(self, held: Sequence[tuple[Any, ...]], first: int, skipped: Sequence[tuple[str, str]]) -> Batch:
        known = any(label is not None for _, _, label, _ in held)
        data = Dataset(
            self.name,
            tuple(one for _, one, _, _ in held),
            tuple(label for _, _, label, _ in held) if known else (),
            ids=tuple(name for _, _, _, name in held),
            source=self.name,
            modality="dialogue",
        )
        kept = {name: objects([row[name] for row, *_ in held]) for name in self.keep}
        return Batch(data, first, kept, tuple(skipped), len(held) + len(skipped))


def _bare(turn: Any) -> Any:
    """A turn as it was written: a table gives each object the keys of all, empty where it lacks them."""
    return {name: value for name, value in turn.items() if value is not None} if isinstance(turn, dict) else turn
