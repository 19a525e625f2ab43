"""Codec: strings to token ids and back, through a tokenizer and its stand-ins; counts what is cut or unknown."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from oodometer.arrays import Ragged
from oodometer.errors import InputError
from oodometer.results import percent

from ..torch.batches import ragged

_SPACE_MARKS = "▁Ġ"  # how pieces of SentencePiece and of bytes mark a space before them


@final
class StandIns:
    """A one-to-one exchange of strings: each key is written as its value, each value as its key.

    Both directions are the same exchange, so what is encoded and decoded comes back.

    mapping : what is lost -> what stands in for it. Raises `InputError` unless all of them differ and none is empty.

    >>> s = StandIns({"{": "«", "}": "»"})
    >>> s.encode("select { x }"), s.decode(s.encode("select { x }"))
    ('select « x »', 'select { x }')
    """

    def __init__(self, mapping: Mapping[str, str] | None = None) -> None:
        self.mapping = dict(mapping or {})
        both = [*self.mapping, *self.mapping.values()]
        if len(set(both)) < len(both) or "" in both:
            expected = "stand-ins that all differ from one another and from what they stand for, none empty"
            raise InputError(
                expected, got=repr(self.mapping), column="stand_ins", remedy="give each its own"
            )
        self._other = {**self.mapping, **{value: key for key, value in self.mapping.items()}}
        longest_first = sorted(self._other, key=lambda string: (-len(string), string))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if both else None

    def encode(self, text: str) -> str:
        """The text as the tokenizer can spell it."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._other[match[0]], text)

    def decode(self, text: str) -> str:
        """The text as it was."""
        return self.encode(text)


def find_stand_ins(tokenizer: Any, texts: Iterable[str]) -> dict[str, str]:
    """Characters of the texts that the tokenizer cannot spell, each with a token of the vocabulary that no text holds.

    A character is lost when the tokens of a short text around it do not give the text back (T5: ``{ } < ~ ^`` and
    others). Single characters are preferred as stand-ins, since they part words where the lost ones do. Raises
    `InputError` where the vocabulary has too few tokens left.
    """
    corpus = list(texts)
    letters = sorted({letter for text in corpus for letter in set(text)})
    written = [letter for letter in letters if not letter.isspace()]
    survive = _survive(tokenizer, written)
    lost = [letter for letter, intact in zip(written, survive, strict=True) if not intact]
    if not lost:
        return {}
    candidates = _unused_pieces(tokenizer, "\n".join(corpus))
    result: dict[str, str] = {}
    for start in range(0, len(candidates), 256):
        chunk = candidates[start : start + 256]
        for piece, survives in zip(chunk, _survive(tokenizer, chunk), strict=True):
            disjoint = not any(
                piece in stand_in or stand_in in piece for stand_in in result.values()
            )
            if survives and disjoint and len(result) < len(lost):
                result[lost[len(result)]] = piece
        if len(result) == len(lost):
            return result
    more = "" if len(lost) <= 10 else f" and {len(lost) - 10} more"
    raise InputError(
        f"{len(lost)} unused tokens to stand in for what the tokenizer cannot spell ({' '.join(lost[:10])}{more})",
        got=str(len(result)),
        column="output",
        remedy="give stand_ins={...} yourself, or train from scratch with config=... and tokens='pieces'",
    )


def _unused_pieces(tokenizer: Any, text: str) -> list[str]:
    """Pieces of the vocabulary that the text does not hold, the shortest first: without spaces, signs that are not
    printed, and combining marks, which would melt into their neighbours.
    """
    special = set(tokenizer.all_special_tokens)
    free = {piece.strip(_SPACE_MARKS) for piece in tokenizer.get_vocab() if piece not in special}
    unused = [piece for piece in free if piece and _is_printed(piece) and piece not in text]
    return sorted(unused, key=lambda piece: (len(piece), piece))


def _is_printed(piece: str) -> bool:
    return not any(c.isspace() or unicodedata.category(c)[0] in "MCZ" for c in piece)


def _survive(tokenizer: Any, pieces: Sequence[str]) -> list[bool]:
    """Whether each piece comes back from the tokenizer alone, between words and inside one."""
    frames = ("{}", "a {} b", "a{}b")
    texts = [frame.replace("{}", piece) for piece in pieces for frame in frames]
    same = np.array(
        [a == b for a, b in zip(spelled(tokenizer, texts), texts, strict=True)], dtype=bool
    )
    return list(np.all(same.reshape(len(pieces), len(frames)), axis=1))


def spelled(tokenizer: Any, texts: Sequence[str]) -> list[str]:
    """The texts, encoded and decoded again; runs of white space count as one space."""
    if not texts:
        return []
    ids = tokenizer(
        list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False
    )["input_ids"]
    back = tokenizer.batch_decode(
        ids, skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return [" ".join(text.split()) for text in back]


def check_spelling(tokenizer: Any, texts: Sequence[str], stand_ins: StandIns | None = None) -> None:
    """Every distinct text must come back from the tokenizer, through the stand-ins, as it was; white space aside.

    Called before a training, since a model cannot learn what it cannot write. Raises `InputError` that names the
    first row, what is lost in it, and the remedy.
    """
    swap = stand_ins or StandIns()
    first: dict[str, int] = {}
    for row, text in enumerate(texts, 1):
        first.setdefault(" ".join(text.split()), row)
    distinct = list(first)
    for start in range(0, len(distinct), 4096):
        chunk = distinct[start : start + 4096]
        back = spelled(tokenizer, [swap.encode(text) for text in chunk])
        for text, spelling in zip(chunk, back, strict=True):
            back_again = swap.decode(spelling)
            if back_again != text:  # where the two part, with a little before it
                pairs = enumerate(zip(text, back_again, strict=False))
                at = next((i for i, (a, b) in pairs if a != b), min(len(text), len(back_again)))
                start = max(0, at - 10)
                got = f"{back_again[start : at + 12]!r} for {text[start : at + 12]!r}"
                remedy = "give stand_ins={what is lost: an unused token}, or train from scratch with config=... and "
                remedy += "tokens='pieces'"
                raise InputError(
                    "an output that the tokenizer can spell",
                    got=got,
                    remedy=remedy,
                    row=first[text],
                    column="output",
                )


CHUNK = 1000  # texts that the tokenizer turns at a time: what it keeps of each is far larger than the text


@final
class Codec:
    """What a sequence model reads and writes, through a tokenizer and its ``stand_ins``; ``positions`` are the places
    that the model has, ``truncated`` and ``unknown`` the inputs that the last `read` cut and their unknown words.
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
            short = self.tokenizer(plain, truncation=True, max_length=self.max_length, **_QUIET)[
                "input_ids"
            ]
            for i, row in zip(long, short, strict=True):
                rows[i] = row
        ids = ragged(rows)
        unknown = self.tokenizer.unk_token_id
        self.truncated = len(long)
        self.unknown = 0 if unknown is None else int((ids.values == unknown).sum())
        self._warn("inputs", len(long), len(texts), self.max_length, "lose their end", "max_length")
        return ids

    def learnt(self, texts: Sequence[str]) -> Ragged:
        """Ids of outputs to be learnt; of one that is too long, the beginning, without an end token."""
        rows = self._rows(texts)
        limit = self.max_output_length
        long = sum(len(row) > limit for row in rows)
        self._warn(
            "outputs", long, len(texts), limit, "can be learnt in part only", "max_output_length"
        )
        return ragged([row[:limit] for row in rows])

    def written(self, texts: Sequence[str]) -> Ragged:
        """Ids of outputs as they are; `InputError` for one that the model has no places for."""
        rows = self._rows(texts)
        for number, row in enumerate(rows, 1):
            if self.positions is not None and len(row) > self.positions:
                expected = f"an output of at most {self.positions} tokens, which is what the model has places for"
                remedy = "shorten it or take another model"
                raise InputError(
                    expected, got=str(len(row)), remedy=remedy, row=number, column="output"
                )
        return ragged(rows)

    def texts(self, ids: Ragged, special: Any) -> list[str]:
        """Texts of generated ids without the tokens of start, end and padding; an unknown token shows as it is."""
        counts = ~np.isin(ids.values, special)
        ends = np.concatenate([[0], np.cumsum(counts)])[ids.offsets]
        values = ids.values[counts]
        result: list[str] = []
        for start in range(0, len(ends) - 1, CHUNK):
            bounds = ends[start : start + CHUNK + 1]
            rows = [values[a:b].tolist() for a, b in pairwise(bounds)]
            plain = self.tokenizer.batch_decode(
                rows, skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
            result += [self.stand_ins.decode(text).strip() for text in plain]
        return result

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        rows: list[list[int]] = []
        for start in range(0, len(texts), CHUNK):
            plain = [self.stand_ins.encode(text) for text in texts[start : start + CHUNK]]
            rows += self.tokenizer(plain, **_QUIET)["input_ids"]
        return rows

    def _warn(self, what: str, count: int, rows: int, limit: int, effect: str, option: str) -> None:
        if count == 0 or what in self._warned:
            return
        self._warned.add(what)
        remedy = (
            f"raise {option}" if limit != self.positions else "the model has places for no more"
        )
        affected = f"{count} of {rows} {what} ({percent(count / rows)})"
        warnings.warn(
            f"{affected} are longer than {limit} tokens and {effect}; {remedy}", stacklevel=4
        )


_QUIET: dict[str, Any] = {"return_attention_mask": False, "verbose": False}


def check_strings(
    values: Sequence[Any], column: str, *, some: bool = True, filled: bool = False
) -> list[str]:
    """The values as a list of strings; with ``some`` none at all is an error, with ``filled`` white space alone."""
    strings = [] if isinstance(values, str) else list(values)
    if some and not strings:
        raise InputError("a list of strings", got="none", remedy="give at least one", column=column)
    for row, value in enumerate(strings, 1):
        if not isinstance(value, str) or (filled and not value.strip()):
            expected = "a string that is not empty" if filled else "a string"
            raise InputError(
                expected,
                got=repr(value),
                remedy="drop the row or fill the cell",
                row=row,
                column=column,
            )
    return strings
