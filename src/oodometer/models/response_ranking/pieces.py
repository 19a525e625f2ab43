"""Pieces: each context with each of its candidates as one row of token ids; a context too long loses its oldest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...arrays import Array, Ragged
from ...datasets.base import Dataset, Dialogue
from ...errors import InputError
from ..torch.batches import ragged

_AT_ONCE = 4096  # texts given to the tokenizer together


@final
@dataclass(frozen=True)
class Pairs:
    """Every (context, candidate) of some dialogues, as `Encoded` wants them.

    Parameters
    ----------
    ids : token ids of each pair, in the order of the samples and of their candidates.
    second : tokens at the end of each pair that belong to the candidate, int64, shape (pair,).
    candidates : number of candidates of each sample, int64, shape (sample,).
    truncated : samples of which something was cut.
    """

    ids: Ragged
    second: Array
    candidates: Array
    truncated: int

    @property
    def starts(self) -> Array:
        """The first pair of each sample, and behind the last one, int64, shape (sample + 1,)."""
        found: Array = np.concatenate([[0], np.cumsum(self.candidates)])
        return found

    @property
    def lengths(self) -> Array:
        """Tokens of all pairs of each sample."""
        found: Array = np.add.reduceat(self.ids.lengths, self.starts[:-1])
        return found

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All numbers."""
        return (self.ids.values, self.ids.offsets, self.candidates)

    def of(self, samples: Array) -> Array:
        """The pairs of some samples, in their order."""
        starts = self.starts
        return np.concatenate([np.arange(starts[one], starts[one + 1]) for one in samples])

    def matrix(self, scores: Array) -> Array:
        """A score for each pair as a matrix (sample, most candidates), -inf behind the last of a sample."""
        most = int(self.candidates.max())
        out = np.full((len(self.candidates), most), -np.inf, dtype=scores.dtype)
        out[np.arange(most) < self.candidates[:, None]] = scores
        return out


def check_dialogues(inputs: Any) -> list[Dialogue]:
    """Dialogues that can be ranked: a context of at least one turn, two candidates or more, all of them texts.

    Raises `InputError` naming the row.

    >>> check_dialogues([Dialogue(("Hi.",), ("Hello!",))])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column candidates: expected at least 2 candidates, got 1; a choice ...
    """
    found = list(inputs) if not isinstance(inputs, (str, bytes)) else []
    if not found:
        raise InputError("dialogues", got="none", remedy="give at least one context with its candidates")
    for row, one in enumerate(found, 1):
        if not isinstance(one, Dialogue):
            raise InputError(
                "a Dialogue, turns and candidates", got=repr(one)[:40], remedy="make one of each row", row=row
            )
        parts: tuple[tuple[str, Any, int], ...] = (("context", one.context, 1), ("candidates", one.candidates, 2))
        for column, texts, least in parts:
            odd = next((text for text in texts if not isinstance(text, str)), None)
            if odd is not None or isinstance(texts, str):
                raise InputError("texts", got=repr(odd or texts)[:40], remedy="clean the texts", row=row, column=column)
            if len(texts) < least:
                raise InputError(
                    "at least one turn" if least == 1 else "at least 2 candidates",
                    got=str(len(texts)),
                    remedy="drop the row" if least == 1 else "a choice needs two: add the others, or drop the row",
                    row=row,
                    column=column,
                )
    return found


def positions_of(data: Dataset) -> Array:
    """Targets as positions, int64, shape (sample,); `InputError` for what is no candidate of its row."""
    out = np.empty(len(data), dtype=np.int64)
    for row, (one, target) in enumerate(zip(data.inputs, data.targets, strict=True)):
        plain = target.item() if hasattr(target, "item") else target
        whole = isinstance(plain, int) and not isinstance(plain, bool)
        if not whole or not 0 <= plain < len(one.candidates):
            raise InputError(
                f"a position from 0 to {len(one.candidates) - 1}, that of the true candidate",
                got=repr(plain)[:40],
                remedy="positions count from 0",
                row=row + 1,
                column="label",
                file=data.source or None,
            )
        out[row] = plain
    return out


def encode_pairs(tokenizer: Any, dialogues: Sequence[Dialogue], max_length: int) -> Pairs:
    """Token ids of every context with every one of its candidates: turns parted by the separator, then the candidate.

    Where both are longer than ``max_length`` together, the context loses its oldest tokens; a candidate is cut at its
    end only where it alone fills more than half of the room.
    """
    before, between, after = _frame(tokenizer)
    room = max_length - len(before) - len(between) - len(after)
    known = _pieces(tokenizer, (text for one in dialogues for text in (*one.context, *one.candidates)))
    turn_end = [] if tokenizer.sep_token_id is None else [int(tokenizer.sep_token_id)]
    rows: list[list[int]] = []
    second: list[int] = []
    truncated = 0
    for one in dialogues:
        context: list[int] = []
        for turn in one.context:
            context += [*turn_end, *known[turn]] if context else known[turn]
        cut = False
        for candidate in one.candidates:
            reply = known[candidate]
            kept = reply[: max(room // 2, room - len(context))]
            left = room - len(kept)
            cut |= len(kept) < len(reply) or left < len(context)
            rows.append([*before, *context[max(0, len(context) - left) :], *between, *kept, *after])
            second.append(len(kept) + len(after))
        truncated += cut
    candidates = np.array([len(one.candidates) for one in dialogues], dtype=np.int64)
    return Pairs(ragged(rows), np.array(second, dtype=np.int64), candidates, truncated)


def _pieces(tokenizer: Any, texts: Iterable[str]) -> dict[str, list[int]]:
    """The ids of each text, read once however often it stands there."""
    different = list(dict.fromkeys(texts))
    out: dict[str, list[int]] = {}
    for start in range(0, len(different), _AT_ONCE):
        part = different[start : start + _AT_ONCE]
        found = tokenizer(part, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        out |= dict(zip(part, found, strict=True))
    return out


def _frame(tokenizer: Any) -> tuple[list[int], list[int], list[int]]:
    """Ids that the tokenizer puts before, between and behind the parts of a pair."""
    first, other = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", "b"))
    whole = tokenizer("a", "b")["input_ids"]
    start = _place(whole, first, 0)
    middle = _place(whole, other, start + len(first))
    return whole[:start], whole[start + len(first) : middle], whole[middle + len(other) :]


def _place(whole: list[int], part: list[int], after: int) -> int:
    return next(at for at in range(after, len(whole) + 1) if whole[at : at + len(part)] == part)
