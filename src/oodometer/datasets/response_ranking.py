"""Response ranking: conversations as contexts, each with its reply among candidates that are drawn by the seed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import final

import numpy as np

from ..errors import InputError, UsageError
from .base import Dataset, Dialogue

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
    pool = Replies((turn for _, turns in conversations for turn in turns[1:]), candidates, seed, source)
    inputs, targets, ids, kinds = [], [], [], []
    for conversation, turns in conversations:
        for at in range(1, len(turns)):
            one = f"{conversation}-{at}"
            offered, place = pool.among(one, turns[at])
            inputs.append(Dialogue(turns[:at], offered))
            targets.append(place)
            ids.append(one)
            kinds.append("" if types is None else types[conversation])
    told = tuple(kinds) if types is not None else ()
    return Dataset(name, tuple(inputs), tuple(targets), told, tuple(ids), source, "dialogue")


@final
class Replies:
    """Replies to draw candidates from, each text once.

    texts : all of them. candidates : how many each context gets, the true one among them. source : named in errors.
    Raises as `replies`.

    >>> Replies(["Yes.", "No.", "No.", "Maybe."], 2, seed=0).among("a-1", "No.")
    (('Yes.', 'No.'), 1)
    """

    def __init__(self, texts: Iterable[str], candidates: int, seed: int, source: str = "") -> None:
        if candidates != int(candidates) or candidates < 2:
            raise UsageError(f"expected at least two candidates, got {candidates!r}")
        self._pool, self._many, self._seed = sorted(set(texts)), int(candidates), seed
        if len(self._pool) < candidates:
            raise InputError(
                f"at least {candidates} different replies to choose from",
                got=str(len(self._pool)),
                remedy="ask for fewer candidates, or give more conversations",
                file=source or None,
            )

    def among(self, name: str, true: str) -> tuple[tuple[str, ...], int]:
        """Candidates of the sample of this name, and the place of the true one; the seed and the name settle both."""
        rng = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        # One more than are needed: the true one may be among them.
        places = rng.choice(len(self._pool), size=self._many, replace=False)
        offered = [self._pool[i] for i in places if self._pool[i] != true][: self._many - 1]
        place = int(rng.integers(self._many))
        offered.insert(place, true)
        return tuple(offered), place
