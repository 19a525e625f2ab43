"""The door: every check that an array must pass before it becomes part of a record."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from .arrays import Array, Coded, as_numpy
from .errors import InputError
from .kernels import by_chunks

__all__ = [
    "SUM_TOLERANCE",
    "ClassNames",
    "check_confidence",
    "check_finite",
    "check_length",
    "check_prediction_is_argmax",
    "check_probabilities",
    "encode",
    "find_classes",
    "is_null",
    "truth_values",
]

ClassNames = tuple[int | str, ...]
SUM_TOLERANCE = 1e-3
_NEGATIVE_TOLERANCE = 1e-6


def _float_matrix(value: Any, column: str, axes: str) -> Array:
    array = _cells(value)
    if array.dtype.kind == "O":
        try:
            array = np.asarray(array.tolist(), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"numbers in an array with axes ({axes})",
                got="rows of different lengths or cells that are no numbers",
                remedy="give every row one number for each class",
                column=column,
            ) from None
    if array.dtype.kind not in "fiub":
        raise InputError(
            "numbers", got=f"dtype {array.dtype}", remedy="convert the column to numbers", column=column
        )
    want = len(axes.split(", "))
    if array.ndim != want:
        raise InputError(
            f"an array with axes ({axes})",
            got=f"shape {array.shape}",
            remedy="transpose or reshape it" if array.ndim else "give one value a row",
            column=column,
        )
    if array.dtype.kind != "f":
        return array.astype(np.float64)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def check_finite(
    value: Any, column: str, axes: str = "sample, class", names: Sequence[Any] | None = None
) -> Array:
    """Numbers without NaN or infinity, in an array with the named axes; the first bad cell is named."""
    array = _float_matrix(value, column, axes)
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    if not np.isfinite(total):
        bad = ~np.isfinite(array)
        if bad.any():
            position = np.unravel_index(int(np.argmax(bad)), array.shape)
            raise _not_finite(array, position, column, axes, names)
    return array


def _not_finite(array: Array, at: Any, column: str, axes: str, names: Sequence[Any] | None) -> InputError:
    row = int(at[axes.split(", ").index("sample")]) + 1
    rest = [int(at[i]) for i, axis in enumerate(axes.split(", ")) if axis != "sample"]
    cell = (
        column
        if not rest
        else f"{column}[{names[rest[-1]] if names is not None else ', '.join(map(str, rest))}]"
    )
    return InputError(
        "a finite number",
        got=str(array[tuple(at)]),
        remedy="drop the row or find out why the model gave it",
        row=row,
        column=cell,
    )


def check_probabilities(
    value: Any, column: str = "probabilities", names: Sequence[Any] | None = None
) -> Array:
    """Class probabilities, shape (sample, class): finite, not negative, each row summing to 1 within 1e-3.

    Percents, log-probabilities and logits are recognised in the message, never converted in silence.

    >>> check_probabilities([[70.0, 30.0]])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column probabilities: expected probabilities that sum to 1 (±0.001), got a row \
that sums to 100; these look like percents: divide them by 100
    """
    array = _float_matrix(value, column, "sample, class")
    if array.shape[0] == 0:
        return array
    if array.shape[1] < 2:
        raise InputError(
            "at least two classes",
            got=f"{array.shape[1]}",
            remedy="for the probability of one positive class give both columns, or use `confidence` and `correct`",
            column=column,
        )
    lows, gaps = [], []

    def look(start: int, stop: int) -> None:
        part = array[start:stop]
        with np.errstate(invalid="ignore", over="ignore"):
            sums = part @ np.ones(part.shape[1], dtype=part.dtype)
            gaps.append(np.abs(sums - 1).max())  # NaN where a row is not finite
        lows.append(part.min())

    by_chunks(look, *array.shape)
    lowest = float(np.min(lows))
    if not (np.max(gaps) <= SUM_TOLERANCE and lowest >= -_NEGATIVE_TOLERANCE):
        raise _explain_probabilities(array, column, names)
    if lowest < 0:
        array = np.maximum(array, 0)
    return array


def _explain_probabilities(array: Array, column: str, names: Sequence[Any] | None) -> InputError:
    """Say what a matrix that holds no probabilities seems to hold, and what to do."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = array @ np.ones(array.shape[1], dtype=array.dtype)
        off = ~(np.abs(sums - 1) <= SUM_TOLERANCE)
    bad = ~np.isfinite(array)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), array.shape)
        return _not_finite(array, at, column, "sample, class", names)
    negative = (array < -_NEGATIVE_TOLERANCE).any(axis=1)
    row = int(np.argmax(off | negative))
    if array.max() <= 1e-6:
        with np.errstate(over="ignore"):
            looks_log = bool(abs(np.exp(array[row].astype(np.float64)).sum() - 1) < 0.02)
        if looks_log:
            return InputError(
                f"probabilities that sum to 1 (±{SUM_TOLERANCE})",
                got="a row of values below 0 whose exponentials sum to 1",
                remedy="these look like log-probabilities: pass them as logits (column prefix logit_ or "
                "Predictions.from_logits), which is exact for log-probabilities",
                row=row + 1,
                column=column,
            )
    if not negative.any() and np.median(np.abs(sums - 100)) < 1.0:
        return InputError(
            f"probabilities that sum to 1 (±{SUM_TOLERANCE})",
            got=f"a row that sums to {sums[row]:.6g}",
            remedy="these look like percents: divide them by 100",
            row=row + 1,
            column=column,
        )
    if negative.any():
        row = int(np.argmax(negative))
        cls = int(np.argmin(array[row]))
        cell = f"{column}[{names[cls] if names is not None else cls}]"
        return InputError(
            "probabilities between 0 and 1",
            got=f"{array[row, cls]:.6g}",
            remedy="if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits",
            row=row + 1,
            column=cell,
        )
    return InputError(
        f"probabilities that sum to 1 (±{SUM_TOLERANCE})",
        got=f"a row that sums to {sums[row]:.6g}",
        remedy="if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits; "
        "if a class is missing, give all of them",
        row=row + 1,
        column=column,
    )


def check_confidence(value: Any, column: str = "confidence") -> Array:
    """One confidence a sample, in [0, 1], shape (sample,)."""
    array = check_finite(value, column, "sample")
    outside = (array < 0) | (array > 1)
    if outside.any():
        row = int(np.argmax(outside))
        percents = array.min() >= 0 and 1 < array.max() <= 100
        logs = array.max() <= 0
        remedy = (
            "these look like percents: divide them by 100"
            if percents
            else "these look like log-probabilities: take the exponential, or use token_logprobs"
            if logs
            else "give the probability that the answer is right"
        )
        raise InputError(
            "a confidence between 0 and 1", got=f"{array[row]:.6g}", remedy=remedy, row=row + 1, column=column
        )
    return array


def check_length(rows: int, found: int, column: str) -> None:
    """Every field has one entry a sample."""
    if rows != found:
        raise InputError(f"{rows} entries, one a sample", got=str(found), column=column,
                         remedy="align the arrays by sample")  # fmt: skip


def truth_values(value: Any, column: str) -> Array:
    """Booleans, 0/1 or null as int8 of the same shape: 1 true, 0 false, -1 unknown."""
    array = _cells(value)
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind in "iu":
        out = array.astype(np.int64)
        bad = (out != 0) & (out != 1)
    elif array.dtype.kind == "f":
        unknown = np.isnan(array)
        out = np.where(unknown, -1, array)
        bad = ~unknown & (array != 0) & (array != 1)
    else:
        flat = [_truth_of(v) for v in array.ravel().tolist()]
        bad = np.array([v is None for v in flat], dtype=bool).reshape(array.shape)
        out = np.array([0 if v is None else v for v in flat]).reshape(array.shape)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), array.shape)
        raise InputError(
            "true or false (or 1, 0, null)",
            got=repr(array[at].item() if hasattr(array[at], "item") else array[at]),
            remedy="give one verdict a cell",
            row=int(at[-1]) + 1,
            column=column,
        )
    return out.astype(np.int8)


_TRUTH: dict[Hashable, int] = {True: 1, False: 0, None: -1, "true": 1, "false": 0, "1": 1, "0": 0, "": -1, "yes": 1,
                               "no": 0, "correct": 1, "incorrect": 0}  # fmt: skip


def _truth_of(cell: Any) -> int | None:
    """1, 0, -1 for unknown, None for what is no verdict."""
    if is_null(cell):
        return -1
    if isinstance(cell, str):
        cell = cell.strip().lower()
    return _TRUTH.get(cell) if isinstance(cell, Hashable) else None


def is_null(cell: Any) -> bool:
    """Whether a cell says "unknown": None, NaN, or the NA and NaT of a library of frames."""
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan or type(cell).__name__ in ("NAType", "NaTType")


def _cells(value: Any) -> Array:
    """An array of cells as they are: numpy would make strings of [1, "a"] and of [nan, "a"]."""
    try:
        array = as_numpy(value)
    except ValueError:  # rows of different lengths: the row that is odd is named later
        array = np.empty(len(value), dtype=object)
        array[:] = value
    if array.dtype.kind == "U" and isinstance(value, (list, tuple)):
        array = np.array(value, dtype=object)
    return array


def _dictionary(value: Any, column: str) -> tuple[Array, list[Any]]:
    """Split values into (codes, distinct values); null and NaN get code -1."""
    if isinstance(value, Coded):
        return value.codes, list(value.values)
    array = _cells(value)
    shape = array.shape
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind == "f":
        unknown = np.isnan(array)
        odd = ~unknown & ~(np.isfinite(array) & (array == np.round(array)))
        if odd.any():
            at = np.unravel_index(int(np.argmax(odd)), shape)
            raise _no_class(str(array[at]), int(at[-1]) + 1, column)
        codes = np.full(shape, -1, dtype=np.int64)
        distinct, codes[~unknown] = np.unique(array[~unknown].astype(np.int64), return_inverse=True)
        return codes, distinct.tolist()
    if array.dtype.kind in "iu":
        distinct, codes = np.unique(array, return_inverse=True)
        return codes.reshape(shape), distinct.tolist()
    return _dictionary_of_objects(array, column)


def _no_class(cell: str, row: int, column: str) -> InputError:
    return InputError("a class (an integer or a string)", got=cell, row=row, column=column,
                      remedy="give one class number or name a cell, not scores, not lists")  # fmt: skip


def _dictionary_of_objects(array: Array, column: str) -> tuple[Array, list[Any]]:
    index: dict[Any, int] = {}
    flat = array.ravel().tolist()
    codes = np.empty(len(flat), dtype=np.int64)
    for i, item in enumerate(flat):
        if is_null(item):
            codes[i] = -1
        elif isinstance(item, Hashable):
            codes[i] = index.setdefault(item, len(index))
        else:
            raise _no_class(repr(item)[:60], i % max(array.shape[-1], 1) + 1, column)
    kinds = {str if isinstance(k, str) else int for k in index}
    if len(kinds) > 1:
        first = next(iter(index))
        other = next(k for k in index if isinstance(k, str) != isinstance(first, str))
        raise InputError(
            "labels of one type, all integers or all strings",
            got=f"{first!r} and {other!r}",
            remedy="make them one type",
            row=int(np.argmax(codes == index[other])) % max(array.shape[-1], 1) + 1,
            column=column,
        )
    for k, code in index.items():
        if not (isinstance(k, (str, int, np.integer, bool)) or (isinstance(k, float) and k.is_integer())):
            raise _no_class(repr(k), int(np.argmax(codes == code)) % max(array.shape[-1], 1) + 1, column)
    values = [k if isinstance(k, str) else int(k) for k in index]
    return codes.reshape(array.shape), values


def find_classes(columns: Iterable[Any]) -> ClassNames:
    """The sorted distinct classes that occur in label-like columns.

    >>> find_classes([["cat", "dog"], ["ant", None]])
    ('ant', 'cat', 'dog')
    """
    found: set[int | str] = set()
    for values in columns:
        found.update(_dictionary(values, "label")[1])
    strings = {isinstance(v, str) for v in found}
    if len(strings) > 1:
        raise InputError(
            "classes of one type, all integers or all strings",
            got=f"both, such as {next(v for v in found if isinstance(v, str))!r} and "
            f"{next(v for v in found if not isinstance(v, str))!r}",
            remedy="make label, prediction and members one type",
            column="label",
        )
    return tuple(sorted(found))


def encode(value: Any, classes: ClassNames, column: str) -> Array:
    """Classes as int32 positions in ``classes``, matched by name; null is -1.

    Raises `InputError` for a class that is not among ``classes``.

    >>> encode(["dog", None, "cat"], ("cat", "dog"), "label").tolist()
    [1, -1, 0]
    """
    if not isinstance(value, Coded):
        value = _cells(value)
        counted = value.dtype.kind in "iu" and classes == tuple(range(len(classes)))
        if counted and (not value.size or (value.min() >= 0 and value.max() < len(classes))):
            return value.astype(np.int32)  # type: ignore[no-any-return]
    codes, distinct = _dictionary(value, column)
    by_name = {str(name): position for position, name in enumerate(classes)}
    lookup = np.array([by_name.get(str(v), -2) for v in distinct] + [-1], dtype=np.int32)
    out: Array = lookup[codes]
    if (out == -2).any():
        at = np.unravel_index(int(np.argmax(out == -2)), out.shape)
        shown = ", ".join(map(str, classes[:6])) + (", ..." if len(classes) > 6 else "")
        raise InputError(
            f"one of the {len(classes)} known classes ({shown})",
            got=repr(distinct[codes[at]]),
            remedy=_remedy_for_class(distinct[codes[at]], distinct, classes),
            row=int(at[-1]) + 1,
            column=column,
        )
    return out


def _remedy_for_class(cell: Any, distinct: Sequence[Any], classes: ClassNames) -> str:
    """What to do about a class that is not among the known ones."""
    counted = classes == tuple(range(len(classes)))
    if isinstance(cell, str) and all(isinstance(c, int) for c in classes):
        return "name the classes in the order of the probabilities: columns prob_<class>, or classes=[...] (--classes)"
    if counted and cell == len(classes) and min(distinct) >= 1:
        return "these seem to count from 1: subtract 1, or name the classes with classes=[...] (--classes)"
    return "use null where the class is unknown; a class that the reference never had cannot be judged"


def check_prediction_is_argmax(prediction: Array, probabilities: Array, names: ClassNames) -> None:
    """The predicted class must have the highest probability (ties allowed): else columns may be swapped."""
    rows = np.arange(len(prediction))
    own = probabilities[rows, prediction]
    best = probabilities.max(axis=1)
    wrong = own < best - 1e-6
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"`prediction` to be the class of highest probability ({names[int(probabilities[row].argmax())]!r}, "
            f"{best[row]:.4g})",
            got=f"{names[int(prediction[row])]!r} ({own[row]:.4g}), and the like in {wrong.mean():.1%} of the rows",
            remedy="check whether class columns are swapped; to judge the argmax, leave `prediction` out",
            row=row + 1,
            column="prediction",
        )
