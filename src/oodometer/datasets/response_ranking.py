"""Response ranking: conversations as contexts, each with its reply among candidates that are drawn by the seed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError, UsageError
from .base import Dataset, Dialogue

__all__ = ["Conversation", "replies"]

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

    The other candidates are drawn without replacement from all replies, each text once; none of them has the text of
    the true one. Draws, and the place of the true reply, depend on the seed, the id of the sample
    (``<conversation>-<turn>``) and the set of all replies: whatever else is done to the context, the candidates stay.
    ``types``: of each conversation by name. Raises `UsageError` for fewer than two candidates, `InputError` where
    there are not so many different replies.

    >>> found = replies([("a", ("Hi.", "Hello!", "Bye.")), ("b", ("Where?", "Here."))], "toy", candidates=3)
    >>> found.ids, [one.context for one in found.inputs]
    (('a-1', 'a-2', 'b-1'), [('Hi.',), ('Hi.', 'Hello!'), ('Where?',)])
    >>> [one.candidates[target] for one, target in zip(found.inputs, found.targets)]
    ['Hello!', 'Bye.', 'Here.']
    """
    if candidates != int(candidates) or candidates < 2:
        raise UsageError(f"expected at least two candidates, got {candidates!r}")
    pool = sorted({turn for _, turns in conversations for turn in turns[1:]})
    if len(pool) < candidates:
        raise InputError(
            f"at least {candidates} different replies to choose from",
            got=str(len(pool)),
            remedy="ask for fewer candidates, or give more conversations",
            file=source or None,
        )
    inputs, targets, ids, kinds = [], [], [], []
    for conversation, turns in conversations:
        for at in range(1, len(turns)):
            one = f"{conversation}-{at}"
            rng = np.random.default_rng([seed, zlib.crc32(one.encode())])
            offered = _others(pool, turns[at], candidates - 1, rng)
            place = int(rng.integers(candidates))
            offered.insert(place, turns[at])
            inputs.append(Dialogue(turns[:at], tuple(offered)))
            targets.append(place)
            ids.append(one)
            kinds.append("" if types is None else types[conversation])
    told = tuple(kinds) if types is not None else ()
    return Dataset(name, tuple(inputs), tuple(targets), told, tuple(ids), source, "dialogue")


def _others(pool: Sequence[str], true: str, many: int, rng: np.random.Generator) -> list[str]:
    """So many texts of the pool, none of them the true one and none twice."""
    places = rng.choice(len(pool), size=many + 1, replace=False)  # one more: the true one may be among them
    return [pool[i] for i in places if pool[i] != true][:many]
