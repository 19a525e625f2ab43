"""What a set of sequences is: inputs with their outputs, a type for each row, and seeded samples of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError

__all__ = ["Row", "Sequences", "split_by_group"]

Row = tuple[str, str, str, str]
"""Input, output, type, id."""


@dataclass(frozen=True)
class Sequences:
    """Pairs of sequences; ``types`` is what results are told by (a generalisation, a genre), ``source`` their origin.

    >>> toy = Sequences.of("toy", [("a b", "A B", "x", "1"), ("c", "C", "y", "2")], "here")
    >>> len(toy), toy.outputs, toy.counts
    (2, ('A B', 'C'), {'x': 1, 'y': 1})
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[str, ...]
    ids: tuple[str, ...]
    source: str

    @classmethod
    def of(cls, name: str, rows: Sequence[Row], source: str) -> Sequences:
        """A set from rows. Raises `InputError` for none at all."""
        if not rows:
            raise InputError(f"rows of {name}", got="none", remedy="fetch the data again", file=source)
        inputs, outputs, types, ids = zip(*rows, strict=True)
        return cls(name, inputs, outputs, types, ids, source)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each type, in alphabetical order."""
        return dict(sorted(Counter(self.types).items()))

    @property
    def fingerprint(self) -> str:
        """A short name of the content, whatever its source."""
        digest = hashlib.sha256()
        for row in zip(self.inputs, self.outputs, self.types, strict=True):
            digest.update("\t".join(row).encode() + b"\n")
        return digest.hexdigest()[:16]

    def take(self, places: Sequence[int]) -> Sequences:
        """The rows at some places, in that order."""
        return replace(
            self,
            inputs=tuple(self.inputs[i] for i in places),
            outputs=tuple(self.outputs[i] for i in places),
            types=tuple(self.types[i] for i in places),
            ids=tuple(self.ids[i] for i in places),
        )

    def keep(self, good: Callable[[str, str], bool]) -> Sequences:
        """The rows whose input and output are good. Raises `InputError` where none is."""
        places = [i for i, pair in enumerate(zip(self.inputs, self.outputs, strict=True)) if good(*pair)]
        if not places:
            raise InputError(
                f"rows of {self.name} that are short enough", got=f"none of {len(self)}", remedy="allow longer ones",
                file=self.source,
            )  # fmt: skip
        return self.take(places)

    def sample(self, rows: int | None, seed: int) -> Sequences:
        """``rows`` of them, as many of each type as can be, drawn and ordered by the seed; all of them for None.

        >>> toy = Sequences.of("toy", [(str(i), "", "ab"[i > 3], str(i)) for i in range(9)], "here")
        >>> toy.sample(4, seed=0).counts
        {'a': 2, 'b': 2}
        """
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self))
        if rows is None or rows >= len(self):
            return self.take(order.tolist())
        types = np.unique(np.array(self.types), return_inverse=True)[1][order]
        # The place of each row among the rows of its type: the first ones of every type make an even sample.
        by_type = np.argsort(types, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(types))[:-1]])
        place = np.empty(len(self), dtype=np.int64)
        place[by_type] = np.arange(len(self)) - first[types[by_type]]
        return self.take(rng.permutation(order[np.argsort(place, kind="stable")[:rows]]).tolist())

    def rewritten(
        self,
        *,
        inputs: Callable[[str], str] | None = None,
        outputs: Callable[[str], str] | None = None,
    ) -> Sequences:
        """The same rows with every input, or every output, passed through a function."""
        return replace(
            self,
            inputs=self.inputs if inputs is None else tuple(map(inputs, self.inputs)),
            outputs=self.outputs if outputs is None else tuple(map(outputs, self.outputs)),
        )

    def __add__(self, other: Sequences) -> Sequences:
        return replace(
            self,
            inputs=self.inputs + other.inputs,
            outputs=self.outputs + other.outputs,
            types=self.types + other.types,
            ids=self.ids + other.ids,
            source=self.source if self.source == other.source else f"{self.source}, {other.source}",
        )


def split_by_group(
    data: Sequences, groups: Sequence[str], shares: Sequence[float], seed: int
) -> list[Sequences]:
    """Cut a set into parts of about the given shares of its rows, whole groups (documents) at a time, by the seed.

    Groups are shuffled, then dealt in order; a part ends with the group that reaches its share. The last part takes the
    rest.

    >>> toy = Sequences.of("toy", [(str(i), "", "", str(i)) for i in range(10)], "here")
    >>> [len(part) for part in split_by_group(toy, list("aabbccddee"), (0.6, 0.2, 0.2), seed=0)]
    [6, 2, 2]
    """
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    rows: dict[str, list[int]] = {name: [] for name in names}
    for i, group in enumerate(groups):
        rows[group].append(i)
    parts: list[list[int]] = [[] for _ in shares]
    part, ends = 0, np.cumsum(shares) * len(data)
    done = 0
    for place in order:
        parts[part] += rows[names[place]]
        done += len(rows[names[place]])
        while part < len(shares) - 1 and done >= ends[part] - 1e-9:
            part += 1
    return [data.take(sorted(one)) for one in parts]
