"""Arrays: the shape-annotated array types and the ragged array that a record is made of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")


def present(value: T | None) -> T:
    """A value that a check before has shown to be there, which type checkers do not see."""
    assert value is not None
    return value


def refuse(
    bad: Array,
    column: str,
    expected: str,
    got: str | Callable[[Any], str],
    remedy: str | Callable[[], str],
    sample: int = -1,
    kind: type[InputError] = InputError,
    naming: str | None = None,
) -> None:
    """Raise `InputError` for the first cell that is bad, if one is; ``got`` may be worked out of its index. ``sample``
    is the axis of ``bad`` that counts the rows.
    """
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        actual = got if isinstance(got, str) else got(at)
        way_out = remedy if isinstance(remedy, str) else remedy()
        raise kind(
            expected,
            got=actual,
            remedy=way_out,
            naming=naming,
            row=int(at[sample]) + 1,
            column=column,
        )


def _other_index(name: str, index: Any, first: str, reference: Any) -> InputError:
    """The error for an index that is not that of the first array."""
    rows = range(min(len(index), len(reference)))
    row = next((i for i in rows if index[i] != reference[i]), len(rows))
    expected = f"the index of {first}"
    expected += f", {reference[row]!s} here" if row < len(reference) else ""
    got = f"{index[row]!s}" if row < len(index) else "no more rows"
    remedy = "give pandas.DataFrame({...}), which joins them by their index, or if they are in one order "
    remedy += f"{name}.to_numpy()"
    return InputError(expected, got=got, row=row + 1, column=name, remedy=remedy)


def index_of(arrays: Mapping[str, Any]) -> dict[str, Array]:
    """The index that the pandas objects among some arrays share, level by level under the names that Arrow gives them;
    empty where there is none, or it only counts rows. Raises `InputError` where two of them disagree.
    """
    indexed = {name: value.index for name, value in arrays.items() if hasattr(value, "reindex")}
    chosen = {
        name: index
        for name, index in indexed.items()
        if not (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1)
    }
    for name, index in indexed.items():
        first, reference = next(iter(chosen.items()), (name, index))
        # a new frame counts its rows, which says nothing, unless the other index is the same rows in another order
        if not index.equals(reference) and (
            name in chosen
            or (len(index) == len(reference) and not len(index.difference(reference)))
        ):
            raise _other_index(name, index, first, reference)
    shared = next(iter(chosen.values()), None)
    if shared is None:
        return {}
    named = [
        f"__index_level_{i}__" if name is None else str(name) for i, name in enumerate(shared.names)
    ]
    return {name: shared.get_level_values(i).to_numpy() for i, name in enumerate(named)}


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Rows of different lengths in two flat arrays: row i is ``values[offsets[i]:offsets[i + 1]]``.

    >>> r = Ragged.from_rows([[-0.1, -0.2], [], [-1.0]])
    >>> len(r), r.lengths.tolist(), r.sums().round(2).tolist()
    (3, [2, 0, 1], [-0.3, 0.0, -1.0])
    >>> r[0].tolist(), [len(row) for row in r]
    ([-0.1, -0.2], [2, 0, 1])
    """

    values: Array
    offsets: Array

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[float]]) -> Ragged:
        """Pack a sequence of sequences."""
        parts = []
        for row in rows:
            cells: Any = row
            # a masked end is padding; another masked entry is null
            if isinstance(cells, _masked_array()):
                real = np.flatnonzero(~np.ma.getmaskarray(cells))
                cells = _unmasked(cells[: real[-1] + 1 if len(real) else 0])
            parts.append(np.asarray(cells, dtype=np.float64))
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(p) for p in parts], out=offsets[1:])
        return cls(np.concatenate(parts) if parts else np.empty(0), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Array:
        """One row; negative numbers count from the end, as in a list."""
        position = range(len(self))[row]
        return self.values[self.offsets[position] : self.offsets[position + 1]]

    @property
    def lengths(self) -> Array:
        """Length of each row, shape (sample,)."""
        return np.diff(self.offsets)

    def sums(self) -> Array:
        """Sum of each row, 0 for an empty one, shape (sample,)."""
        # row by row, not by differences of running sums, which one -inf would spoil
        return self._reduced(np.add)

    def minima(self) -> Array:
        """Smallest value of each row, 0 for an empty one, shape (sample,)."""
        return self._reduced(np.minimum)

    def _reduced(self, by: np.ufunc) -> Array:
        out = np.zeros(len(self))
        full = self.lengths > 0
        if full.any():
            out[full] = by.reduceat(
                self.values[: self.offsets[-1]], self.offsets[:-1][full], dtype=np.float64
            )
        return out

    def take(self, index: Array) -> Ragged:
        """The rows at integer positions (or a slice's arange), packed anew."""
        lengths = self.lengths[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        flat = np.repeat(self.offsets[:-1][index] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[flat], offsets)

    @staticmethod
    def concat(parts: Sequence[Ragged]) -> Ragged:
        """Join ragged arrays end to end."""
        values = np.concatenate([p.values[p.offsets[0] : p.offsets[-1]] for p in parts])
        lengths = np.concatenate([p.lengths for p in parts])
        return Ragged(values, np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """Classes as positions in a list of distinct values, -1 where unknown. ``noted`` counts labels that are no class,
    and classes that are none of the known ones (`classes.label_codes`).
    """

    codes: Array
    values: Sequence[Any]
    noted: Mapping[str, int] = field(default_factory=dict)


def as_numpy(value: Any) -> Array:
    """Anything with an array interface (numpy, torch, jax, pandas, polars, pyarrow, lists) as a plain numpy array; a
    masked entry becomes None, and numbers get the byte order of this machine.
    """
    if not isinstance(value, np.ndarray):
        if hasattr(value, "detach"):  # a torch tensor on any device, with or without gradient
            value = _of_tensor(value)
        elif hasattr(value, "to_numpy"):
            value = value.to_numpy()
        elif hasattr(value, "toarray") and hasattr(value, "nnz"):
            raise InputError("a dense array", got="a sparse one", remedy="call toarray()")
        elif isinstance(value, (list, tuple)):
            value = _with_masks(value)
    if isinstance(value, _masked_array()):
        value = _unmasked(value)
    array = np.asarray(value)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array


def _with_masks(cells: Any) -> Any:
    """A list whose masked arrays are lists with None, as numpy would drop their masks."""
    if not any(issubclass(t, _masked_array()) for t in {*map(type, cells)}):
        return cells
    bare = [_unmasked(cell) if isinstance(cell, _masked_array()) else cell for cell in cells]
    return [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in bare]


def _masked_array() -> Any:
    """The class of masked arrays; nobody has one before numpy's module for them is loaded, which takes 10 ms."""
    return np.ma.MaskedArray if "numpy.ma" in sys.modules else ()


def _unmasked(array: Any) -> Array:
    """The array with None (NaT among times) where it is masked."""
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    hidden = np.ma.getmaskarray(array)
    out: Array = np.asarray(array.data).astype(array.dtype if array.dtype.kind in "mM" else object)
    out[hidden] = np.array("NaT", array.dtype) if array.dtype.kind in "mM" else None
    return out


def _of_tensor(value: Any) -> Array:
    """The numbers of a torch tensor; types that numpy lacks, such as bfloat16, as float32, which holds them all."""
    if getattr(value, "is_meta", False):
        raise InputError(
            "a tensor that holds numbers",
            got="one on the device meta, which holds none",
            remedy="give the tensor that was computed",
        )
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided" or getattr(
        value, "is_quantized", False
    ):
        raise InputError(
            "a dense tensor",
            got="a sparse or quantized one",
            remedy="call to_dense() or dequantize()",
        )
    value = value.detach().cpu()
    for lazy in ("resolve_conj", "resolve_neg"):
        value = getattr(value, lazy)() if hasattr(value, lazy) else value
    try:
        return np.asarray(value)
    except TypeError:
        return np.asarray(value.float())


def as_cells(value: Any) -> Array:
    """An array of cells as they are: numpy would make strings of [1, "a"] and of [nan, "a"]."""
    try:
        array = as_numpy(value)
    except ValueError:  # rows of different lengths: the row that is odd is named later
        array = np.empty(len(value), dtype=object)
        array[:] = value
    if array.dtype.kind == "U" and isinstance(value, (list, tuple)):
        array = np.array(value, dtype=object)
    return array


def softmax(logits: Array, temperature: float = 1.0) -> Array:
    """Softmax over the last axis, exp(z / t) / sum exp(z / t), in the dtype of the input."""
    z = logits / np.asarray(temperature, dtype=logits.dtype)
    with np.errstate(under="ignore"):  # whatever a user has set: what is that small is 0
        z -= z.max(axis=-1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=-1, keepdims=True)
    return z  # type: ignore[no-any-return]
