"""Data set: inputs of any kind with their targets, types, ids and source; seeded stratified samples and halves."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError

from .images import LateImages

Row = tuple[str, str, str, str]
"""Input, output, type, id."""

Modality = Literal["text", "pair", "dialogue", "image", "table"]


@dataclass(frozen=True)
class Dialogue:
    """A conversation and its candidate replies; the target of such an input is the position of the right one.

    context : the turns before the reply, the first one first.
    candidates : texts of the replies to choose from.
    """

    context: tuple[str, ...]
    candidates: tuple[str, ...]


@final
class Table:
    """Columns of one length, name -> array; its length is the number of rows.

    >>> table = Table({"a": np.arange(3), "b": np.zeros(3)})
    >>> len(table), table[1:].columns["a"].tolist()
    (3, [1, 2])
    """

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self.columns = {str(name): np.asarray(values) for name, values in columns.items()}
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) != 1:
            raise InputError(
                "columns of one length", got=str(lengths)[:80], remedy="align them by row"
            )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, rows: Any) -> Table:
        return Table({name: values[rows] for name, values in self.columns.items()})


@dataclass(frozen=True, eq=False)
class Dataset:
    """What a model is trained and asked on.

    name : of the data set.
    inputs : one a sample: strings (``text``), pairs of strings (``pair``), `Dialogue` (``dialogue``); of the modality
        ``image`` a uint8 array of shape (sample, height, width, channel), or paths of files, or their bytes; of
        ``table`` a `Table`.
    targets : one a sample: class names, or the outputs of a sequence model, or an array of distributions over classes,
        shape (sample, class); empty where they are not known.
    types : what results are told by (a generalisation, a genre), one a sample; empty where there is only one.
    ids : names of the samples; empty where they have none.
    source : where they came from.
    modality : the kind of the inputs.

    >>> toy = Dataset.of_rows("toy", [("a b", "A B", "x", "1"), ("c", "C", "y", "2")], "here")
    >>> len(toy), toy.targets, toy.counts
    (2, ('A B', 'C'), {'x': 1, 'y': 1})
    """

    name: str
    inputs: Any
    targets: Any = ()
    types: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    source: str = ""
    modality: Modality = "text"

    def __post_init__(self) -> None:
        for what in ("targets", "types", "ids"):
            length = len(getattr(self, what))
            if length not in (0, len(self.inputs)):
                expected = f"{len(self.inputs)} {what}, one an input, or none"
                raise InputError(
                    expected, got=str(length), remedy="align them by sample", column=what
                )

    @classmethod
    def of_rows(cls, name: str, rows: Sequence[Row], source: str) -> Dataset:
        """A set of sequences from rows. Raises `InputError` for none at all."""
        if not rows:
            raise InputError(
                f"rows of {name}", got="none", remedy="fetch the data again", file=source
            )
        inputs, outputs, types, ids = zip(*rows, strict=True)
        return cls(name, inputs, outputs, types, ids, source)

    def __len__(self) -> int:
        return len(self.inputs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        same = ("name", "types", "ids", "source", "modality")
        if any(getattr(self, name) != getattr(other, name) for name in same):
            return False
        targets = [np.asarray(data.targets).tolist() for data in (self, other)]
        return targets[0] == targets[1] and self.fingerprint == other.fingerprint

    __hash__ = None  # type: ignore[assignment]

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each type, in alphabetical order."""
        return dict(sorted(Counter(self.types).items()))

    @property
    def fingerprint(self) -> str:
        """A short name of the content, whatever its source."""
        digest = hashlib.sha256()
        if isinstance(self.inputs, np.ndarray):
            digest.update(repr((self.inputs.shape, self.targets)).encode())
            digest.update(np.ascontiguousarray(self.inputs).tobytes())
        elif isinstance(self.inputs, Table):
            columns = {name: values.tolist() for name, values in self.inputs.columns.items()}
            digest.update(repr((columns, self.targets)).encode())
        else:  # the two forms in which finished runs named their data
            parts = (
                [self.inputs, self.targets, self.types]
                if self.types
                else [self.targets, self.inputs]
            )
            for row in zip(*(column for column in parts if len(column)), strict=True):
                cells = (
                    f"{hashlib.sha256(cell.tobytes()).hexdigest()}{cell.shape}"
                    if isinstance(cell, np.ndarray)
                    else str(cell)
                    for cell in row
                )
                digest.update("\t".join(cells).encode() + b"\n")
        return digest.hexdigest()[:16]

    def take(self, rows: Sequence[int]) -> Dataset:
        """The rows at some places, in that order."""
        rows = list(rows)

        def taken(values: Any) -> Any:
            is_array = isinstance(values, (np.ndarray, Table, LateImages))
            return values[rows] if is_array else tuple(values[i] for i in rows)

        names = ("inputs", "targets", "types", "ids")
        return replace(
            self, **{name: taken(values) for name in names if len(values := getattr(self, name))}
        )

    def keep(self, good: Callable[[str, str], bool]) -> Dataset:
        """The rows whose input and target are good. Raises `InputError` where none is."""
        rows = [
            i for i, pair in enumerate(zip(self.inputs, self.targets, strict=True)) if good(*pair)
        ]
        if not rows:
            expected = f"rows of {self.name} that are short enough"
            raise InputError(
                expected, got=f"none of {len(self)}", remedy="allow longer ones", file=self.source
            )
        return self.take(rows)

    def sample(self, rows: int | None, seed: int) -> Dataset:
        """``rows`` of them, as many of each type (else of each class) as can be, drawn and ordered by the seed.

        None takes all of them, shuffled. See `stratified`.

        >>> toy = Dataset.of_rows("toy", [(str(i), "", "ab"[i > 3], str(i)) for i in range(9)], "here")
        >>> toy.sample(4, seed=0).counts
        {'a': 2, 'b': 2}
        """
        return self.take(stratified(self._strata, rows, seed).tolist())

    def halves(self, seed: int) -> tuple[Dataset, Dataset]:
        """Two halves of the rows, each with half of every type (else class), drawn and ordered by the seed.

        >>> toy = Dataset.of_rows("toy", [(str(i), "", "ab"[i > 3], str(i)) for i in range(8)], "here")
        >>> [half.counts for half in toy.halves(seed=0)]
        [{'a': 2, 'b': 2}, {'a': 2, 'b': 2}]
        """
        first = stratified(self._strata, len(self) // 2, seed)
        rest = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(len(self)), first))
        return self.take(first.tolist()), self.take(rest.tolist())

    def rewritten(self, change: Callable[[str], str]) -> Dataset:
        """The same rows with every input passed through a function."""
        return replace(self, inputs=tuple(map(change, self.inputs)))

    def __add__(self, other: Dataset) -> Dataset:
        arrays, sources = (
            isinstance(self.inputs, np.ndarray),
            dict.fromkeys((self.source, other.source)),
        )
        inputs = (
            np.concatenate([self.inputs, other.inputs]) if arrays else self.inputs + other.inputs
        )
        return replace(
            self,
            inputs=inputs,
            source=", ".join(sources),
            targets=self.targets + other.targets,
            types=self.types + other.types,
            ids=self.ids + other.ids,
        )

    @property
    def _strata(self) -> Array:
        named = (
            self.types if len(self.types) else self.targets if np.ndim(self.targets) == 1 else ()
        )
        return (
            np.unique(np.array(named), return_inverse=True)[1]
            if len(named)
            else np.zeros(len(self), dtype=np.int64)
        )


def stratified(strata: Array, rows: int | None, seed: int) -> Array:
    """Positions of ``rows`` samples (None: all) drawn by the seed, as evenly over the strata (0, 1, ...) as can be."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(strata))
    if rows is None or rows >= len(strata):
        return order
    ordered = strata[order]
    # The place of each row among the rows of its stratum: the first ones of every stratum make an even sample.
    by_stratum = np.argsort(ordered, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(ordered))[:-1]])
    rank = np.empty(len(strata), dtype=np.int64)
    rank[by_stratum] = np.arange(len(strata)) - first[ordered[by_stratum]]
    return rng.permutation(order[np.argsort(rank, kind="stable")[:rows]])


def split_by_group(
    data: Dataset, groups: Sequence[str], shares: Sequence[float], seed: int
) -> list[Dataset]:
    """Parts of about the given shares of the rows, whole groups (documents) at a time, shuffled by the seed."""
    names, of = np.unique(np.array(groups), return_inverse=True)
    parts: list[list[int]] = [[] for _ in shares]
    part, done, ends = 0, 0, np.cumsum(shares) * len(data)
    for group in np.random.default_rng(seed).permutation(len(names)):
        rows = np.flatnonzero(of == group).tolist()
        parts[part] += rows
        done += len(rows)
        while part < len(shares) - 1 and done >= ends[part] - 1e-9:
            part += 1
    return [data.take(sorted(rows)) for rows in parts]
