"""Dialogues: what a row says of one: the turns before a reply, the reply or its candidates, and which is the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from ..errors import InputError

TURNS = ("turns", "context", "dialog", "dialogue", "utterances", "history", "messages", "conversations")
"""Usual names of the column with the turns."""
CONTEXTS = ("context", "history")
"""Those of them that hold what was said before a reply; in others each turn but the first is one."""
_ASSISTANT = frozenset(("assistant", "gpt", "model", "bot", "chatgpt"))  # roles in logs of chats
_CHAT = _ASSISTANT | {"user", "human", "system", "developer", "tool"}
_SAID = ("content", "text", "utterance", "value")  # where the text of a turn is that is an object, as in logs of chats


def text_key(turn: Any) -> str | None:
    """Where the text of a turn stands that is an object; None where it is none."""
    return next((one for one in _SAID if one in turn), None) if isinstance(turn, dict) else None


def said(turn: Any) -> Any:
    """The text of a turn, which may be an object with a text in it; None where there is none.

    >>> said("Hi."), said({"role": "user", "content": "Hello!"}), said(3)
    ('Hi.', 'Hello!', None)
    """
    key = text_key(turn)
    found = turn if key is None else turn[key]
    return found if isinstance(found, str) else None


def is_context(column: str, row: Mapping[str, Any]) -> bool:
    """Whether the turns of a column are a context, to which the rest of the row gives the reply."""
    return column in CONTEXTS or row.get("response") is not None or row.get("candidates") is not None


@final
@dataclass(frozen=True)
class Exchange:
    """What was said before a reply, and the reply, or the candidates and the position of the right one, if known."""

    id: str
    context: tuple[str, ...]
    response: str | None
    candidates: tuple[str, ...] | None
    label: int | None


def with_replies(row: Mapping[str, Any], column: str, turns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """A row whose turns are a conversation as one row for each reply among them (`replies_among`), its response.

    >>> [one["response"] for one in with_replies({"turns": ["a", "b", "c"]}, "turns", ["a", "b", "c"])]
    ['b', 'c']
    """
    rest = {name: value for name, value in row.items() if name != column}
    for at in replies_among(row[column]):
        yield {**rest, "context": list(turns[:at]), "response": turns[at], "turn": at}


def replies_among(turns: Sequence[Any]) -> list[int]:
    """Positions of the replies: all turns but the first; of turns with roles, as in logs of chats, the assistant's.

    >>> replies_among(["a", "b", "c"])
    [1, 2]
    >>> replies_among([{"role": role, "content": "x"} for role in ("system", "user", "assistant", "user")])
    [2]
    """
    told = [one if isinstance(one, dict) else {} for one in turns]
    roles = [str(one.get("role") or one.get("from")).lower() for one in told]
    is_chat = not _CHAT.isdisjoint(roles)
    return [at for at in range(1, len(turns)) if not is_chat or roles[at] in _ASSISTANT]


def exchange(
    row: Mapping[str, Any], context: Sequence[str], *, number: int, place: Mapping[str, Any], label: str | None = None
) -> Exchange:
    """What a row with a context gives; ``place`` (file, row) goes into errors, ``number`` names a row without an id.

    The id is the column ``id`` (with the number of the turn, where the row has one), else ``source_row``, which
    shifted copies have, else the number of the row. The right candidate is named by the column ``label`` (its
    position) or by ``response`` (its text). Raises `InputError` for a row that names neither a reply nor candidates,
    and for a position that there is not.

    >>> row = {"context": ["Hi."], "candidates": ["Bye.", "Hello!"], "response": "Hello!"}
    >>> exchange(row, ["Hi."], number=7, place={})
    Exchange(id='7', context=('Hi.',), response='Hello!', candidates=('Bye.', 'Hello!'), label=1)
    """
    response, candidates = row.get("response"), row.get("candidates")
    if response is not None and said(response) is None:
        raise _odd("a text", response, "response", place)
    if candidates is None and response is None:
        raise InputError(
            "a response, or candidates, beside the context",
            got=f"the columns {', '.join(map(str, row))}"[:120],
            remedy="a ranker needs replies to choose from: add one of these columns, or give whole dialogues (turns)",
            **place,
        )
    offered: tuple[str, ...] | None = None
    position = None
    if candidates is not None:
        texts = list(candidates) if isinstance(candidates, (list, tuple)) else []
        if len(texts) < 2 or any(said(one) is None for one in texts):
            raise _odd("a list of at least two texts", candidates, "candidates", place)
        offered = tuple(map(said, texts))
        position = _position(row, offered, said(response), label, place)
    return Exchange(_named(row, number), tuple(context), said(response), offered, position)


def _named(row: Mapping[str, Any], number: int) -> str:
    if row.get("id") is not None:
        return f"{row['id']}-{row['turn']}" if row.get("turn") is not None else str(row["id"])
    return str(row["source_row"] if row.get("source_row") is not None else number)


def _position(
    row: Mapping[str, Any], offered: Sequence[str], response: str | None, label: str | None, place: Mapping[str, Any]
) -> int | None:
    """The position of the right candidate; None where the row does not tell."""
    value = row.get(label or "label")
    if value is None:
        if response is not None and response not in offered:
            raise _odd("the response among the candidates", response, "response", place)
        return None if response is None else offered.index(response)
    whole = not isinstance(value, bool) and str(value).removesuffix(".0").isdecimal()
    found = int(float(value)) if whole else -1
    if not 0 <= found < len(offered):
        raise _odd(f"a position from 0 to {len(offered) - 1} of the right candidate", value, label or "label", place)
    return found


def _odd(expected: str, got: Any, column: str, place: Mapping[str, Any]) -> InputError:
    return InputError(expected, got=f"{got!r}"[:60], remedy="mend the row", column=column, **place)
