"""Dialogues: what a row says of one: the turns before a reply, the reply or its candidates, and which is the right."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from oodometer.errors import InputError, UsageError

from .base import Dataset, Dialogue
from .files import check_name, damaged, data_folder, hub_rows, read_objects

TURNS = (
    "turns",
    "context",
    "dialog",
    "dialogue",
    "utterances",
    "history",
    "messages",
    "conversations",
)
"""Usual names of the column with the turns."""
CONTEXTS = ("context", "history")
"""Those of them that hold what was said before a reply; in others each turn but the first is one."""
_ASSISTANT = frozenset(("assistant", "gpt", "model", "bot", "chatgpt"))  # roles in logs of chats
_CHAT = _ASSISTANT | {"user", "human", "system", "developer", "tool"}
# where the text of a turn is that is an object, as in logs of chats
_SAID = ("content", "text", "utterance", "value")


def text_key(turn: Any) -> str | None:
    """Where the text of a turn stands that is an object; None where it is none."""
    return next((key for key in _SAID if key in turn), None) if isinstance(turn, dict) else None


def said(turn: Any) -> Any:
    """The text of a turn, which may be an object with a text in it; None where there is none."""
    key = text_key(turn)
    text = turn if key is None else turn[key]
    return text if isinstance(text, str) else None


def is_context(column: str, row: Mapping[str, Any]) -> bool:
    """Whether the turns of a column are a context, to which the rest of the row gives the reply."""
    return (
        column in CONTEXTS or row.get("response") is not None or row.get("candidates") is not None
    )


@final
@dataclass(frozen=True)
class Exchange:
    """What was said before a reply, and the reply, or the candidates and the position of the right one, if known."""

    id: str
    context: tuple[str, ...]
    response: str | None
    candidates: tuple[str, ...] | None
    label: int | None


def with_replies(
    row: Mapping[str, Any], column: str, turns: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """A row whose turns are a conversation as one row for each reply among them, its response."""
    rest = {name: value for name, value in row.items() if name not in (column, "context")}
    for at in replies_among(row[column]):
        yield {"context": list(turns[:at]), **rest, "response": turns[at], "turn": at}


def why_no_reply(turns: Sequence[Any]) -> str:
    """The reason for which a conversation holds no reply."""
    if len(turns) > 1:
        return "a chat in which the assistant does not reply"
    return "a dialogue of one turn, which has no reply" if turns else "a dialogue without turns"


def replies_among(turns: Sequence[Any]) -> list[int]:
    """Positions of the replies: all turns but the first; of turns with roles, as in logs of chats, the assistant's.

    >>> replies_among(["a", "b", "c"])
    [1, 2]
    >>> replies_among([{"role": role, "content": "x"} for role in ("system", "user", "assistant", "user")])
    [2]
    """
    objects = [turn if isinstance(turn, dict) else {} for turn in turns]
    roles = [str(turn.get("role") or turn.get("from")).lower() for turn in objects]
    is_chat = not _CHAT.isdisjoint(roles)
    return [at for at in range(1, len(turns)) if not is_chat or roles[at] in _ASSISTANT]


def exchange(
    row: Mapping[str, Any],
    context: Sequence[str],
    *,
    number: int,
    place: Mapping[str, Any],
    label: str | None = None,
) -> Exchange:
    """What a row with a context gives; ``place`` (file, row) goes into errors. The id is the column ``id`` (with the
    number of the turn, where the row has one), else ``source_row``, which shifted copies have, else ``number``. The
    right candidate is named by the column ``label`` (its position) or by ``response`` (its text).
    """
    response, candidates = row.get("response"), row.get("candidates")
    if response is not None and said(response) is None:
        raise _odd("a text", response, "response", place)
    if candidates is None and response is None:
        expected = "a response, or candidates, beside the context"
        remedy = "a ranker needs replies to choose from: add one of these columns, or give whole dialogues (turns)"
        raise InputError(
            expected, got=f"the columns {', '.join(map(str, row))}"[:120], remedy=remedy, **place
        )
    offered: tuple[str, ...] | None = None
    position: int | None = None
    if candidates is not None:
        offered = _offered(candidates, place)
        position = _position(row, offered, label or "label", place)
    name = row["source_row"] if row.get("source_row") is not None else number
    if row.get("id") is not None:
        name = f"{row['id']}-{row['turn']}" if row.get("turn") is not None else row["id"]
    return Exchange(str(name), tuple(context), said(response), offered, position)


def _offered(candidates: Any, place: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts of candidates; `InputError` where these are not two texts or more."""
    texts = [said(text) for text in candidates] if isinstance(candidates, (list, tuple)) else []
    replies = tuple(text for text in texts if text is not None)
    if len(replies) < 2 or len(replies) < len(texts):
        raise _odd("a list of at least two texts", candidates, "candidates", place)
    return replies


def _position(
    row: Mapping[str, Any], offered: Sequence[str], label: str, place: Mapping[str, Any]
) -> int | None:
    """Which candidate is the right one, by its position or by its text; None where the row says neither."""
    value, reply = row.get(label), said(row.get("response"))
    if value is not None:
        is_whole = not isinstance(value, bool) and str(value).removesuffix(".0").isdecimal()
        position = int(float(value)) if is_whole else -1
        if not 0 <= position < len(offered):
            expected = f"a position from 0 to {len(offered) - 1} of the right candidate"
            raise _odd(expected, value, label, place)
        return position
    if reply is None:
        return None
    if reply not in offered:
        raise _odd("the response among the candidates", reply, "response", place)
    return offered.index(reply)


def _odd(expected: str, got: Any, column: str, place: Mapping[str, Any]) -> InputError:
    return InputError(expected, got=f"{got!r}"[:60], remedy="mend the row", column=column, **place)


Conversation = tuple[str, tuple[str, ...]]
"""Name and turns."""


def replies(
    conversations: Sequence[Conversation],
    name: str,
    *,
    candidates: int = 10,
    seed: int = 0,
    types: Mapping[str, str] | None = None,
    source: str = "",
) -> Dataset:
    """Every turn but the first as a reply once: `Dialogue` inputs, the target being the position of the true reply.

    conversations : name and turns of each.
    name : of the data set.
    candidates : how many replies there are to choose from, the true one among them. The others are drawn without
        replacement from all replies, each text once; none of them has the text of the true one.
    seed : of the draws. These, and the place of the true reply, depend on it, the id of the sample
        (``<conversation>-<turn>``) and the set of all replies: whatever else is done to the context, the candidates
        stay.
    types : of each conversation by name; None has none.
    source : where they came from.

    Raises `UsageError` for fewer than two candidates, `InputError` where there are not so many different replies.

    >>> found = replies([("a", ("Hi.", "Hello!", "Bye.")), ("b", ("Where?", "Here."))], "toy", candidates=3)
    >>> found.ids, [one.context for one in found.inputs]
    (('a-1', 'a-2', 'b-1'), [('Hi.',), ('Hi.', 'Hello!'), ('Where?',)])
    >>> [one.candidates[target] for one, target in zip(found.inputs, found.targets)]
    ['Hello!', 'Bye.', 'Here.']
    """
    pool = Replies(
        (turn for _, turns in conversations for turn in turns[1:]), candidates, seed, source
    )
    samples = [(name, turns, at) for name, turns in conversations for at in range(1, len(turns))]
    ids = tuple(f"{name}-{at}" for name, _, at in samples)
    offered = [
        pool.among(name, turns[at]) for name, (_, turns, at) in zip(ids, samples, strict=True)
    ]
    inputs = tuple(
        Dialogue(turns[:at], texts)
        for (_, turns, at), (texts, _) in zip(samples, offered, strict=True)
    )
    kinds = () if types is None else tuple(types[name] for name, _, _ in samples)
    return Dataset(
        name, inputs, tuple(right for _, right in offered), kinds, ids, source, "dialogue"
    )


@final
class Replies:
    """Replies to draw from, each text once; a context gets ``candidates`` of them, the true one among them."""

    def __init__(self, texts: Iterable[str], candidates: int, seed: int, source: str = "") -> None:
        if candidates != int(candidates) or candidates < 2:
            raise UsageError(f"expected at least two candidates, got {candidates!r}")
        self._pool, self._many, self._seed = sorted(set(texts)), int(candidates), seed
        if len(self._pool) < candidates:
            expected = f"at least {candidates} different replies to choose from"
            remedy = "ask for fewer candidates, or give more conversations"
            raise InputError(expected, got=str(len(self._pool)), remedy=remedy, file=source or None)

    def among(self, name: str, true: str) -> tuple[tuple[str, ...], int]:
        """Candidates of the sample of this name, and the place of the true one; the seed and the name settle both."""
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        # One more than are needed: the true one may be among them.
        indices = rng.choice(len(self._pool), size=self._many, replace=False)
        offered = [self._pool[i] for i in indices if self._pool[i] != true][: self._many - 1]
        right = int(rng.integers(self._many))
        offered.insert(right, true)
        return tuple(offered), right


_DAILY, _DAILY_SPLITS = "dailydialog.jsonl.xz", ("train", "validation", "test")
_SEEN, _NEW = "also in train", "new"


def daily_dialog(split: str, *, candidates: int = 10, seed: int = 0) -> Dataset:
    """DailyDialog for response ranking: every turn but the first a reply once.

    split : ``train``, ``validation`` or ``test``; 11,118, 1,000 and 1,000 conversations.
    candidates : how many replies there are to choose from, all of the same split.
    seed : of their draw; see `replies` for them and for ids.

    The type of a reply says whether its whole conversation also stands in the training split, as 93 of the test split
    do. Source: Li et al. (2017), non-commercial licence.
    """
    conversations = daily_dialog_conversations(split)
    seen = (
        {turns for _, turns in daily_dialog_conversations("train")} if split != "train" else set()
    )
    types = {name: _SEEN if turns in seen else _NEW for name, turns in conversations}
    folder = data_folder()
    source = "li2017/dailydialog" if folder is None else str(folder / _DAILY)
    return replies(
        conversations,
        f"DailyDialog {split}",
        candidates=candidates,
        seed=seed,
        types=types,
        source=source,
    )


def daily_dialog_conversations(split: str) -> list[Conversation]:
    """Name and turns of each conversation of a split, from ``dailydialog.jsonl.xz`` or the hub."""
    check_name(split, _DAILY_SPLITS)
    folder = data_folder()
    if folder is None:
        rows = hub_rows("li2017/daily_dialog", split)
        return [(str(i), tuple(map(str, row["dialog"]))) for i, row in enumerate(rows)]
    path, out = folder / _DAILY, []
    for row, plain in read_objects(path, "split", "i", "turns"):
        turns: Any = plain["turns"]
        if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
            raise damaged("a list of turns", repr(turns)[:40], path, row)
        if plain["split"] == split:
            out.append((str(plain["i"]), tuple(turns)))
    if not out:
        raise damaged(f"conversations of the split {split}", "none", path, what="it")
    return out
