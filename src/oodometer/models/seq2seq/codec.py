"""Codec: strings to token ids and back, through a tokenizer and its stand-ins; counts what is cut or unknown."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from ...arrays import Ragged
from ...errors import InputError
from ...results import percent
from ..torch.batches import ragged
from .stand_ins import StandIns

CHUNK = 1000  # texts that the tokenizer turns at a time: what it keeps of each is far larger than the text


@final
class Codec:
    """What a sequence model reads and writes.

    Parameters
    ----------
    tokenizer : of transformers.
    stand_ins : what it cannot spell, and what stands for it.
    max_length, max_output_length : tokens of an input that are read, of an output that are learnt.
    positions : tokens that the model has places for; None where there is no such limit.

    Attributes
    ----------
    truncated, unknown : inputs that the last `read` cut, words of them that it read as unknown.
    """

    def __init__(
        self,
        tokenizer: Any,
        stand_ins: StandIns,
        *,
        max_length: int,
        max_output_length: int,
        positions: int | None = None,
    ) -> None:
        self.tokenizer, self.stand_ins = tokenizer, stand_ins
        self.positions = positions
        self.max_length = min(max_length, positions or max_length)
        self.max_output_length = min(max_output_length, positions or max_output_length)
        self.truncated = self.unknown = 0
        self._warned: set[str] = set()

    @property
    def padding(self) -> int:
        """Id that fills the inputs."""
        return int(self.tokenizer.pad_token_id)

    def read(self, texts: Sequence[str]) -> Ragged:
        """Ids of inputs; one that is too long loses its end, which is counted, and the first time warned about."""
        rows = self._rows(texts)
        long = [i for i, row in enumerate(rows) if len(row) > self.max_length]
        if long:
            plain = [self.stand_ins.encode(texts[i]) for i in long]
            short = self.tokenizer(plain, truncation=True, max_length=self.max_length, **_QUIET)["input_ids"]
            for i, row in zip(long, short, strict=True):
                rows[i] = row
        found = ragged(rows)
        unknown = self.tokenizer.unk_token_id
        self.truncated = len(long)
        self.unknown = 0 if unknown is None else int((found.values == unknown).sum())
        self._warn("inputs", len(long), len(texts), self.max_length, "lose their end", "max_length")
        return found

    def learnt(self, texts: Sequence[str]) -> Ragged:
        """Ids of outputs to be learnt; of one that is too long, the beginning, without an end token."""
        rows = self._rows(texts)
        long = sum(len(row) > self.max_output_length for row in rows)
        self._warn(
            "outputs", long, len(texts), self.max_output_length, "can be learnt in part only", "max_output_length"
        )
        return ragged([row[: self.max_output_length] for row in rows])

    def written(self, texts: Sequence[str]) -> Ragged:
        """Ids of outputs as they are; `InputError` for one that the model has no places for."""
        rows = self._rows(texts)
        for number, row in enumerate(rows, 1):
            if self.positions is not None and len(row) > self.positions:
                raise InputError(
                    f"an output of at most {self.positions} tokens, which is what the model has places for",
                    got=str(len(row)),
                    remedy="shorten it or take another model",
                    row=number,
                    column="output",
                )
        return ragged(rows)

    def texts(self, ids: Ragged, special: Sequence[int]) -> list[str]:
        """Texts of generated ids without the tokens of start, end and padding; an unknown token shows as it is."""
        kept = ~np.isin(ids.values, special)
        ends = np.concatenate([[0], np.cumsum(kept)])[ids.offsets]
        values = ids.values[kept]
        found: list[str] = []
        for start in range(0, len(ends) - 1, CHUNK):
            some = ends[start : start + CHUNK + 1]
            rows = [values[a:b].tolist() for a, b in pairwise(some)]
            plain = self.tokenizer.batch_decode(rows, skip_special_tokens=False, clean_up_tokenization_spaces=False)
            found += [self.stand_ins.decode(text).strip() for text in plain]
        return found

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = []
        for start in range(0, len(texts), CHUNK):
            plain = [self.stand_ins.encode(text) for text in texts[start : start + CHUNK]]
            rows += self.tokenizer(plain, **_QUIET)["input_ids"]
        return rows

    def _warn(self, what: str, count: int, rows: int, most: int, effect: str, option: str) -> None:
        if count == 0 or what in self._warned:
            return
        self._warned.add(what)
        remedy = f"raise {option}" if most != self.positions else "the model has places for no more"
        share = f"{percent(count / rows)}"
        warnings.warn(
            f"{count} of {rows} {what} ({share}) are longer than {most} tokens and {effect}; {remedy}", stacklevel=4
        )


_QUIET: dict[str, Any] = {"return_attention_mask": False, "verbose": False}


def check_strings(values: Sequence[Any], column: str, *, some: bool = True, filled: bool = False) -> list[str]:
    """The values as a list of strings; `InputError` that names the row of what is none.

    ``some``: none at all is an error; ``filled``: so is a string of white space alone.

    >>> check_strings(["a", None], "output")
    Traceback (most recent call last):
    oodometer.errors.InputError: row 2: column output: expected a string, got None; drop the row or fill the cell
    """
    found = [] if isinstance(values, str) else list(values)
    if some and not found:
        raise InputError("a list of strings", got="none", remedy="give at least one", column=column)
    for row, one in enumerate(found, 1):
        if not isinstance(one, str) or (filled and not one.strip()):
            raise InputError(
                "a string that is not empty" if filled else "a string",
                got=repr(one),
                remedy="drop the row or fill the cell",
                row=row,
                column=column,
            )
    return found
