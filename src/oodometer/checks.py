"""The door: every check that an array must pass before it becomes part of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import Array, Ragged, as_cells, as_numpy
from .classes import is_null
from .errors import InputError
from .kernels import Top, look_over, row_sums


class Surveyed(NamedTuple):
    """Checked probabilities, their top where it is known, and the decimal digits they were rounded to where rows whose
    sum that moved by more than the tolerance were divided by it.
    """

    values: Array
    top: Top | None
    digits: int | None


SUM_TOLERANCE = 1e-3
_OFF = SUM_TOLERANCE + 1e-6  # where a row's sum is off: float32 sums of decimals end a little above the tolerance
_NEGATIVE_TOLERANCE = 1e-6
_MOST_ROUNDING = 0.1
_HALF_PRECISION = 0.02  # by which sums of numbers with eight bits are off
_DECIDING_ROWS = 32  # of a file, by which logits are told from probabilities
_LEAST_DECIDING = 2
_ROUNDED_SUM = 0.02  # probabilities of a few digits


def _axes_remedy(given: int, axes: str) -> str:
    if given == 1 and axes == "sample, class":
        return "give each row one number a class, or the probability of class 1 alone as numbers"
    return "transpose or reshape it" if given else "give one value a row"


def _check_objects(array: Array, column: str, axes: str, truths: bool) -> None:
    """No cell of an array of objects is null, or a truth value where a number belongs."""
    if array.ndim != len(axes.split(", ")):
        return
    for at, cell in enumerate(array.ravel().tolist()):
        if is_null(cell) and not isinstance(cell, float):
            got, remedy = "null", "fill in the value or drop the row"
        elif isinstance(cell, bool) and not truths:
            got, remedy = repr(cell), "give numbers, not verdicts"
        else:
            continue
        where = np.unravel_index(at, array.shape)[axes.split(", ").index("sample")]
        raise InputError("a number", got=got, remedy=remedy, row=int(where) + 1, column=column)


def _float_matrix(value: Any, column: str, axes: str, truths: bool = False) -> Array:
    array = as_cells(value)
    if array.dtype.kind == "O":
        _check_objects(array, column, axes, truths)
        try:
            array = np.asarray(array.tolist(), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"numbers in an array with axes ({axes})",
                got="rows of different lengths or cells that are no numbers",
                remedy="give every row one number for each class",
                column=column,
            ) from None
    if array.dtype.kind not in ("fiub" if truths else "fiu"):
        raise InputError("numbers", got=f"dtype {array.dtype}", remedy="convert the column to numbers", column=column)
    want = len(axes.split(", "))
    if array.ndim != want:
        raise InputError(
            f"an array with axes ({axes})",
            got=f"shape {array.shape}",
            remedy=_axes_remedy(array.ndim, axes),
            column=column,
        )
    if array.dtype.kind != "f":
        return array.astype(np.float64)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def check_finite(
    value: Any,
    column: str,
    axes: str = "sample, class",
    names: Sequence[Any] | None = None,
    truths: bool = False,
) -> Array:
    """Numbers without NaN or infinity, in an array with the named axes; the first bad cell is named.

    ``truths`` allows true and false for 1 and 0.
    """
    array = _float_matrix(value, column, axes, truths)
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
    cell = column if not rest else f"{column}[{names[rest[-1]] if names is not None else ', '.join(map(str, rest))}]"
    return InputError(
        "a finite number",
        got=str(array[tuple(at)]),
        remedy="drop the row or find out why the model gave it",
        row=row,
        column=cell,
    )


def check_probabilities(value: Any, column: str = "probabilities", names: Sequence[Any] | None = None) -> Array:
    """Class probabilities, shape (sample, class): finite, not negative, each row summing to 1 within 1e-3.

    Where every value has at most d decimal digits, sums may be off by what rounding does, K / 2 * 10^-d and at most a
    tenth; such rows are divided by their sum.

    Percents, log-probabilities and logits are recognised in the message, never converted in silence.

    >>> check_probabilities([[70.0, 30.0]])
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column probabilities: expected probabilities that sum to 1 (±0.001), got a row \
that sums to 100; these look like percents: divide them by 100
    """
    return survey_probabilities(value, column, names).values


def survey_probabilities(value: Any, column: str = "probabilities", names: Sequence[Any] | None = None) -> Surveyed:
    """`check_probabilities`, and what the same pass over memory gives for nothing.

    >>> survey_probabilities([[0.75, 0.25]]).top
    Top(best=array([0], dtype=int32), first=array([0.75]), second=array([0.25]))
    >>> survey_probabilities([[0.33, 0.33, 0.33], [0.98, 0.01, 0.01]]).digits
    2
    """
    array = _float_matrix(value, column, "sample, class")
    if array.shape[0] == 0:
        return Surveyed(array, None, None)
    if array.shape[1] < 2:
        raise InputError(
            "at least two classes",
            got=f"{array.shape[1]}",
            remedy="for the probability of one positive class give one axis, shape (sample,), or the column prob_1 "
            "(--positive)",
            column=column,
        )
    lowest, gap, top = look_over(array)
    if not (gap <= _OFF and lowest >= -_NEGATIVE_TOLERANCE):
        digits = _digits(array, gap) if lowest >= 0 else None
        if digits is None:
            raise _explain_probabilities(array, column, names)
        return Surveyed(_back_to_one(array), None, digits)
    if lowest < 0:
        array, top = np.maximum(array, 0), None
    return Surveyed(array, top, None)


def _digits(array: Array, gap: float) -> int | None:
    """Decimal digits that every value has at most, if rounding to them explains row sums as far from 1 as ``gap``.

    K values rounded to d digits move a sum by K / 2 * 10^-d at most. More than a tenth is never put down to it: then
    mass is missing, or the rows are something else.
    """
    for digits in range(2, 7):
        if not gap <= min(array.shape[1] * 0.5 * 10.0**-digits, _MOST_ROUNDING) + 1e-6:
            return None
        if _has_digits(array, digits):
            return digits
    return None


def _has_digits(array: Array, digits: int) -> bool:
    """Whether every value is the float nearest to a decimal number of so many digits; seen at once where not."""
    step = max(1, (1 << 16) // array.shape[1])
    for at in range(0, len(array), step):
        part = array[at : at + step]
        if not (np.round(part.astype(np.float64), digits).astype(part.dtype) == part).all():
            return False
    return True


def _back_to_one(array: Array) -> Array:
    """The rows whose sum is off by more than the tolerance divided by it; the others as they are."""
    sums = row_sums(array.astype(np.float64, copy=False))
    off = np.abs(sums - 1) > _OFF
    out = array.copy()
    out[off] /= sums[off, None]
    return out


def _explain_probabilities(array: Array, column: str, names: Sequence[Any] | None) -> InputError:
    """Say what a matrix that holds no probabilities seems to hold, and what to do."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = row_sums(array)
        off = ~(np.abs(sums - 1) <= _OFF)
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
    half_precision = (
        "; if the model computed in half precision (bfloat16), take the softmax in float32"
        if abs(sums[row] - 1) <= _HALF_PRECISION
        else ""
    )
    return InputError(
        f"probabilities that sum to 1 (±{SUM_TOLERANCE})",
        got=f"a row that sums to {sums[row]:.6g}",
        remedy="if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits; "
        "if a class is missing, give all of them" + half_precision,
        row=row + 1,
        column=column,
    )


def check_logits(logits: Array, probabilities_too: bool = False) -> None:
    """Logits that are probabilities already are refused: a softmax of them would flatten every row in silence.

    The first 32 rows decide, or all of fewer, so that a file gets one answer however it is read in batches. In a single
    row logits may happen to lie in [0, 1] and to sum to 1; in two rows that is one chance in a million, in 32 none.

    >>> check_logits(np.array([[0.9, 0.1], [0.2, 0.8]]))
    Traceback (most recent call last):
    oodometer.errors.InputError: row 1: column logits: expected logits, got probabilities: the first 2 rows lie in \
[0, 1] and sum to 1; rename the columns to prob_<class> (or `probabilities`, or use Predictions.from_probabilities); \
if they are logits all the same, add 1 to every one, which changes no result
    >>> check_logits(np.array([[0.9, 0.1], [2.0, -0.5]]))
    """
    first = logits[:_DECIDING_ROWS]
    if len(first) < _LEAST_DECIDING:
        return
    inside = first.min() >= -_NEGATIVE_TOLERANCE and first.max() <= 1 + SUM_TOLERANCE
    if not (inside and (np.abs(row_sums(first) - 1) <= _ROUNDED_SUM).all()):
        return
    rename = "rename the columns to prob_<class> (or `probabilities`, or use Predictions.from_probabilities)"
    raise InputError(
        "logits",
        got=f"probabilities: the first {len(first)} rows lie in [0, 1] and sum to 1",
        remedy="leave them out, since there are `probabilities`"
        if probabilities_too
        else f"{rename}; if they are logits all the same, add 1 to every one, which changes no result",
        row=1,
        column="logits",
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


def check_logprobs(value: Any, column: str = "token_logprobs") -> Ragged:
    """Log-probabilities of the tokens of each sample, at most 0 (a little rounding is forgiven)."""
    try:
        ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
    except (TypeError, ValueError):
        raise InputError(
            "a list of numbers a sample",
            got="other values",
            remedy="one log-probability a token",
            column=column,
        ) from None
    bad = ~(ragged.values <= _NEGATIVE_TOLERANCE)
    if bad.any():
        position = int(np.argmax(bad))
        raise InputError(
            "log-probabilities (at most 0)",
            got=f"{ragged.values[position]:.6g}",
            remedy="take the logarithm of probabilities; use natural logarithms",
            row=int(np.searchsorted(ragged.offsets, position, side="right")),
            column=column,
        )
    return ragged


def check_time(value: Any, column: str = "time") -> Array:
    """Timestamps as datetime64[us], none of them null."""
    array = as_numpy(value)
    try:
        out = array.astype("datetime64[us]")
    except (TypeError, ValueError):
        raise InputError(
            "timestamps",
            got=repr(array.ravel()[0]),
            column=column,
            remedy="write them as ISO 8601, 2026-01-31T12:00:00",
        ) from None
    missing = np.isnat(out)
    if missing.any():
        raise InputError(
            "a timestamp", got="null", remedy="drop the row", row=int(np.argmax(missing)) + 1, column=column
        )
    return out


def check_length(rows: int, found: int, column: str) -> None:
    """Every field has one entry a sample."""
    if rows != found:
        raise InputError(
            f"{rows} entries, one a sample", got=str(found), column=column, remedy="align the arrays by sample"
        )
