"""Fields: the one table of everything that a record may hold, and the check that each array passes at the door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Array, Ragged, as_cells, as_numpy, refuse, softmax
from .classes import ClassNames, is_null
from .errors import InputError
from .kernels import Top, look_over, row_sums
from .plain import Json, Strings


class Surveyed(NamedTuple):
    """Checked probabilities, their top where it is known, and the decimal digits they were rounded to where rows whose
    sum that moved by more than the tolerance were divided by it.
    """

    values: Array
    top: Top | None
    digits: int | None


SUM_TOLERANCE = 1e-3
# where a row's sum is off: float32 sums of decimals end a little above the tolerance
_OFF = SUM_TOLERANCE + 1e-6
_NEGATIVE_TOLERANCE = 1e-6
_MOST_ROUNDING = 0.1
_HALF_PRECISION = 0.02  # by which sums of numbers with eight bits are off
_DECIDING_ROWS = 32  # of a file, by which logits are told from probabilities
_LEAST_DECIDING = 2
_ROUNDED_SUM = 0.02  # probabilities of a few digits


def _float_matrix(value: Any, column: str, axes: str, truths: bool = False) -> Array:
    array, names = as_cells(value), axes.split(", ")
    if array.dtype.kind == "O":
        if array.ndim == len(names):
            _refuse_no_numbers(array, column, names.index("sample"), truths)
        try:
            array = np.asarray(array.tolist(), dtype=np.float64)
        except (TypeError, ValueError):
            got = "rows of different lengths or cells that are no numbers"
            remedy = "give every row one number for each class"
            raise InputError(
                f"numbers in an array with axes ({axes})", got=got, remedy=remedy, column=column
            ) from None
    if array.dtype.kind not in ("fiub" if truths else "fiu"):
        raise InputError(
            "numbers",
            got=f"dtype {array.dtype}",
            remedy="convert the column to numbers",
            column=column,
        )
    if array.ndim != len(names):
        remedy = "transpose or reshape it" if array.ndim else "give one value a row"
        if array.ndim == 1 and axes == "sample, class":
            remedy = (
                "give each row one number a class, or the probability of class 1 alone as numbers"
            )
        raise InputError(
            f"an array with axes ({axes})", got=f"shape {array.shape}", remedy=remedy, column=column
        )
    if array.dtype.kind != "f":
        return array.astype(np.float64)
    return array.astype(np.float32) if array.dtype.itemsize < 4 else array


def _refuse_no_numbers(array: Array, column: str, sample: int, truths: bool) -> None:
    """`InputError` for the first cell of objects that is null or, unless ``truths`` are allowed, a verdict."""
    for position, cell in enumerate(array.ravel().tolist()):
        null = is_null(cell) and not isinstance(cell, float)
        if null or (isinstance(cell, bool) and not truths):
            remedy = "fill in the value or drop the row" if null else "give numbers, not verdicts"
            row = int(np.unravel_index(position, array.shape)[sample]) + 1
            raise InputError(
                "a number",
                got="null" if null else repr(cell),
                remedy=remedy,
                row=row,
                column=column,
            )


def check_finite(
    value: Any,
    column: str,
    axes: str = "sample, class",
    names: Sequence[Any] | None = None,
    truths: bool = False,
) -> Array:
    """Numbers without NaN or infinity, in an array with these axes; ``truths`` allows true and false for 1 and 0."""
    array = _float_matrix(value, column, axes, truths)
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    if not np.isfinite(total):
        _refuse_not_finite(array, column, axes, names)
    return array


def _refuse_not_finite(array: Array, column: str, axes: str, names: Sequence[Any] | None) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        at = np.unravel_index(int(np.argmax(bad)), array.shape)
        rest = [
            int(index) for index, axis in zip(at, axes.split(", "), strict=True) if axis != "sample"
        ]
        cell = (
            f"[{names[rest[-1]] if names is not None else ', '.join(map(str, rest))}]"
            if rest
            else ""
        )
        remedy = "drop the row or find out why the model gave it"
        sample = axes.split(", ").index("sample")
        refuse(bad, f"{column}{cell}", "a finite number", lambda at: str(array[at]), remedy, sample)


def both_of(value: Any, field: str) -> Any:
    """Numbers with one axis as those of both classes, class 1 last; anything else as it came."""
    cells = as_cells(value)
    return (
        both_classes(cells, field, field)
        if cells.ndim == 1 and cells.dtype.kind in "fiu"
        else cells
    )


def both_classes(values: Array, field: str, column: str, positive: int = 1) -> Array:
    """Probabilities or logits of both classes, shape (sample, 2), from those of the class at ``positive``. The other
    class has the probability 1 - p, or the logit 0: then p = 1 / (1 + exp(-logit)). A little rounding is forgiven.
    """
    values = check_finite(values, column, "sample")
    negative = np.zeros_like(values)
    if field == "probabilities":
        bad = (values < -_NEGATIVE_TOLERANCE) | (values > 1 + _NEGATIVE_TOLERANCE)
        otherwise = "if these are logits, call the column logit_1"
        original = values
        remedy = lambda: _PERCENTS if _are_percents(original) else otherwise  # noqa: E731
        refuse(
            bad, column, "a probability between 0 and 1", lambda at: f"{original[at]:.6g}", remedy
        )
        values = np.clip(values, 0, 1)
        negative = 1 - values
    return np.stack([negative, values] if positive else [values, negative], axis=1)


_MOST_GRADE = 10  # whole numbers up to which are grades rather than percents
_PERCENTS = "these look like percents: divide them by 100"


def _are_percents(values: Array) -> bool:
    return bool(values.min() >= 0 and 1 < values.max() <= 100)


def check_probabilities(
    value: Any, column: str = "probabilities", names: Sequence[Any] | None = None
) -> Array:
    """Class probabilities, shape (sample, class): finite, not negative, each row summing to 1 within 1e-3. Where every
    value has at most d decimal digits, sums may be off by what rounding does, K / 2 * 10^-d and at most a tenth; such
    rows are divided by their sum. Percents, log-probabilities and logits are recognised in the message, never converted
    in silence.
    """
    return survey_probabilities(value, column, names).values


def survey_probabilities(
    value: Any, column: str = "probabilities", names: Sequence[Any] | None = None
) -> Surveyed:
    """`check_probabilities`, and what the same pass over memory gives for nothing."""
    array = _float_matrix(value, column, "sample, class")
    if array.shape[0] == 0:
        return Surveyed(array, None, None)
    if array.shape[1] < 2:
        remedy = (
            "for the probability of one positive class give one axis, shape (sample,), or the column prob_1 "
            "(--positive)"
        )
        raise InputError(
            "at least two classes", got=f"{array.shape[1]}", remedy=remedy, column=column
        )
    lowest, gap, top = look_over(array)
    if not (gap <= _OFF and lowest >= -_NEGATIVE_TOLERANCE):
        digits = _digits(array, gap) if lowest >= 0 else None
        if digits is None:
            raise _explain_probabilities(array, column, names)
        sums = row_sums(array.astype(np.float64, copy=False))
        off = np.abs(sums - 1) > _OFF  # the others stay as they are
        array = array.copy()
        array[off] /= sums[off, None]
        return Surveyed(array, None, digits)
    if lowest < 0:
        array, top = np.maximum(array, 0), None
    return Surveyed(array, top, None)


def _digits(array: Array, gap: float) -> int | None:
    """Decimal digits that every value has at most, if rounding to them, which moves a sum of K by K / 2 * 10^-d at
    most, explains row sums as far from 1 as ``gap``. More than a tenth is never put down to it: then mass is missing.
    """
    step = max(1, (1 << 16) // array.shape[1])
    parts = [array[at : at + step] for at in range(0, len(array), step)]
    for digits in range(2, 7):
        if not gap <= min(array.shape[1] * 0.5 * 10.0**-digits, _MOST_ROUNDING) + 1e-6:
            return None
        # each value is the float nearest to a decimal number of so many digits; seen at once where not
        if all(
            (np.round(part.astype(np.float64), digits).astype(part.dtype) == part).all()
            for part in parts
        ):
            return digits
    return None


def _explain_probabilities(array: Array, column: str, names: Sequence[Any] | None) -> InputError:
    """Say what a matrix that holds no probabilities seems to hold, and what to do."""
    _refuse_not_finite(array, column, "sample, class", names)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = row_sums(array)
    negative = (array < -_NEGATIVE_TOLERANCE).any(axis=1)
    row = int(np.argmax(~(np.abs(sums - 1) <= _OFF) | negative))
    expected = f"probabilities that sum to 1 (±{SUM_TOLERANCE})"
    got = f"a row that sums to {sums[row]:.6g}"
    logits = (
        "if these are logits, use column prefix logit_ (or `logits`) or Predictions.from_logits"
    )
    with np.errstate(over="ignore"):
        looks_log = (
            array.max() <= 1e-6 and abs(np.exp(array[row].astype(np.float64)).sum() - 1) < 0.02
        )
    if looks_log:
        got = "a row of values below 0 whose exponentials sum to 1"
        remedy = (
            "these look like log-probabilities: pass them as logits (column prefix logit_ or Predictions.from_logits), "
            "which is exact for log-probabilities"
        )
    elif not negative.any() and np.median(np.abs(sums - 100)) < 1.0:
        remedy = _PERCENTS
    elif negative.any():
        row = int(np.argmax(negative))
        worst = int(np.argmin(array[row]))
        column = f"{column}[{names[worst] if names is not None else worst}]"
        expected, got, remedy = "probabilities between 0 and 1", f"{array[row, worst]:.6g}", logits
    else:
        remedy = f"{logits}; if a class is missing, give all of them"
        if len(sums) > 1 and array.max() <= 1 and np.median(sums) > 1:
            remedy = "if each class is scored against the rest, divide every row by its sum"
        if abs(sums[row] - 1) <= _HALF_PRECISION:
            remedy += (
                "; if the model computed in half precision (bfloat16), take the softmax in float32"
            )
    return InputError(expected, got=got, remedy=remedy, row=row + 1, column=column)


def check_logits(logits: Array, probabilities_too: bool = False) -> None:
    """Logits that are probabilities already are refused: a softmax of them would flatten every row in silence. The
    first 32 rows decide, or all of fewer, so that a file gets one answer however it is read in batches: in a single row
    logits may happen to sum to 1; in two rows that is one chance in a million.
    """
    first = logits[:_DECIDING_ROWS]
    if len(first) < _LEAST_DECIDING:
        return
    in_unit_interval = first.min() >= -_NEGATIVE_TOLERANCE and first.max() <= 1 + SUM_TOLERANCE
    if not (in_unit_interval and (np.abs(row_sums(first) - 1) <= _ROUNDED_SUM).all()):
        return
    got = f"probabilities: the first {len(first)} rows lie in [0, 1] and sum to 1"
    remedy = (
        "rename the columns to prob_<class> (or `probabilities`, or use Predictions.from_probabilities); "
        "if they are logits all the same, add 1 to every one, which changes no result"
    )
    remedy = "leave them out, since there are `probabilities`" if probabilities_too else remedy
    raise InputError("logits", got=got, remedy=remedy, row=1, column="logits")


def check_confidence(value: Any, column: str = "confidence") -> Array:
    """One confidence a sample, in [0, 1], shape (sample,)."""
    array = check_finite(value, column, "sample")

    def remedy() -> str:
        if array.min() >= 0 and 1 < array.max() <= _MOST_GRADE and (array == array.round()).all():
            return "these look like grades: write each as a share of 1, the least one 0, the best 1"
        if _are_percents(array):
            return _PERCENTS
        if array.max() <= 0:
            return (
                "these look like log-probabilities: those of whole outputs, or their means over tokens, belong in "
                "the column logprob"
            )
        return "give the probability that the answer is right"

    bad = (array < 0) | (array > 1)
    refuse(bad, column, "a confidence between 0 and 1", lambda at: f"{array[at]:.6g}", remedy)
    return array


def check_score(value: Any, column: str = "score") -> Array:
    """One score a sample, float64, shape (sample,): finite, or NaN where it is unknown."""
    cells = as_cells(value)
    if cells.dtype.kind == "O" and cells.ndim == 1:
        cells = np.array(
            [np.nan if is_null(cell) else cell for cell in cells.tolist()], dtype=object
        )
    array = _float_matrix(cells, column, "sample", truths=True).astype(np.float64)
    refuse(
        np.isinf(array),
        column,
        "a finite score",
        lambda at: str(array[at]),
        "leave it empty where it is unknown",
    )
    return array


def check_on_scale(
    score: Array, scale: Sequence[float], file: str | None = None, first_row: int = 0
) -> None:
    """Scores lie between the lowest and the highest that are possible; `InputError` with the first row that does not.

    >>> check_on_scale(np.array([1.0, 7.0]), (1, 5), "grades.csv")
    Traceback (most recent call last):
    ...
    oodometer.errors.InputError: grades.csv: row 2: column score: expected a score from 1 to 5, got 7; \
correct the cell, or give the scale that holds, --scale LOW,HIGH
    """
    low, high = scale
    remedy = "correct the cell, or give the scale that holds, --scale LOW,HIGH"
    try:
        refuse(
            (score < low) | (score > high),
            "score",
            f"a score from {low:g} to {high:g}",
            lambda at: f"{score[at]:.6g}",
            remedy,
        )
    except InputError as error:
        raise error.at(file=file, row_offset=first_row) from None


def _ragged(value: Any, column: str, remedy: str) -> Ragged:
    try:
        ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
        if ragged.values.dtype.kind in "fiu":
            return ragged
    except (TypeError, ValueError):
        pass
    raise InputError("a list of numbers a sample", got="other values", remedy=remedy, column=column)


def _first_row(ragged: Ragged, bad: Array) -> tuple[int, int]:
    """Position of the first bad value, and its row counted from 1."""
    at = int(np.argmax(bad))
    return at, int(np.searchsorted(ragged.offsets, at, side="right"))


def check_logprobs(value: Any, column: str = "token_logprobs") -> Ragged:
    """Log-probabilities of the tokens of each sample, at most 0 (a little rounding is forgiven); a number a sample,
    that of its whole output, is as a single token.
    """
    cells = None if isinstance(value, Ragged) else as_cells(value)
    if cells is not None and cells.ndim == 1 and cells.dtype.kind in "fiu":
        value = Ragged(check_finite(cells, column, "sample"), np.arange(len(cells) + 1))
    ragged = _ragged(value, column, "one log-probability a token")
    bad = ~(ragged.values <= _NEGATIVE_TOLERANCE)
    if bad.any():
        at, row = _first_row(ragged, bad)
        raise InputError(
            "log-probabilities (at most 0)",
            got=f"{ragged.values[at]:.6g}",
            remedy="take the logarithm of probabilities; use natural logarithms",
            row=row,
            column=column,
        )
    return ragged


def check_candidate_scores(value: Any, column: str = "candidate_scores") -> Ragged:
    """Scores of the candidates of each sample: finite numbers, at least two in a row; a row may have its own length."""
    ragged = _ragged(value, column, "give one score for each candidate, larger = more likely right")
    lengths, few = ragged.lengths, "a choice needs two: add the others' scores, or drop the row"
    refuse(lengths < 2, column, "at least 2 candidates", lambda at: str(lengths[at]), few)
    if ragged.offsets[0] or ragged.offsets[-1] < len(ragged.values):  # a part of something larger
        ragged = ragged.take(np.arange(len(ragged)))
    wide = ragged.values.dtype.kind == "f" and ragged.values.dtype.itemsize >= 4
    values = ragged.values if wide else ragged.values.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        at, row = _first_row(ragged, bad)
        cell = f"{column}[{at - ragged.offsets[row - 1]}]"
        raise InputError(
            "a finite number",
            got=str(values[at]),
            remedy="leave the candidate out or find out why the model gave it",
            row=row,
            column=cell,
        )
    return Ragged(values, ragged.offsets)


def check_within(positions: Array, scores: Ragged, column: str) -> None:
    """Positions of shape (..., sample) are below the number of candidates of their row; -1 is unknown."""
    lengths = scores.lengths
    outside = positions >= lengths
    if outside.any():
        row = int(np.unravel_index(int(np.argmax(outside)), outside.shape)[-1])
        from_one = bool((positions <= lengths).all()) and int(positions[positions >= 0].min()) >= 1
        remedy = "positions count from 0: check that the candidates are those of this row"
        remedy = "these seem to count from 1: subtract 1" if from_one else remedy
        expected = f"a position below {lengths[row]}, the number of candidates in the row"
        refuse(outside, column, expected, lambda at: str(int(positions[at])), remedy)


def check_time(value: Any, column: str = "time") -> Array:
    """Timestamps as datetime64[us], none of them null."""
    array = as_numpy(value)
    try:
        out = array.astype("datetime64[us]")
    except (TypeError, ValueError):
        raise InputError(
            "timestamps",
            got=repr(array.ravel()[0]),
            remedy="write them as ISO 8601, 2026-01-31T12:00:00",
            column=column,
        ) from None
    refuse(np.isnat(out), column, "a timestamp", "null", "drop the row", sample=0)
    return out


def check_length(rows: int, entries: int, column: str) -> None:
    """Every field has one entry a sample."""
    if rows != entries:
        raise InputError(
            f"{rows} entries, one a sample",
            got=str(entries),
            column=column,
            remedy="align the arrays by sample",
        )


NO_CLASSES = "does not apply: the labels are positions among candidates, not classes"


def candidate_softmax(scores: Ragged) -> Ragged:
    """exp(s_ik) / sum_j exp(s_ij) over the candidates of each row, float64: scores are read as logits."""
    if not len(scores):
        return Ragged(np.empty(0), scores.offsets)
    starts, lengths = scores.offsets[:-1], scores.lengths
    values = scores.values.astype(np.float64, copy=False)
    # a gap of more than the largest number is a probability of 0 as well
    with np.errstate(over="ignore"):
        shifted = values - np.repeat(np.maximum.reduceat(values, starts), lengths)
    np.exp(shifted, out=shifted)
    shifted /= np.repeat(np.add.reduceat(shifted, starts), lengths)
    return Ragged(shifted, scores.offsets)


def top_candidates(scores: Ragged, probabilities: Ragged) -> Top:
    """Position of the largest score in each row (the first among ties), its probability and the runner-up's."""
    if not len(scores):
        return Top(np.empty(0, np.int32), np.empty(0), np.empty(0))
    starts, lengths = scores.offsets[:-1], scores.lengths
    at_top = np.flatnonzero(
        scores.values == np.repeat(np.maximum.reduceat(scores.values, starts), lengths)
    )
    owner = np.repeat(np.arange(len(scores)), lengths)[at_top]
    first = at_top[np.flatnonzero(np.diff(owner, prepend=-1))]
    runner_up = probabilities.values.copy()
    runner_up[first] = -1.0
    second = np.maximum.reduceat(runner_up, starts)
    return Top((first - starts).astype(np.int32), probabilities.values[first], second)


def own_probability(probabilities: Ragged, positions: Array) -> Array:
    """The probability of the candidate at one position in each row, shape (sample,)."""
    out: Array = probabilities.values[probabilities.offsets[:-1] + positions]
    return out


# What the cells of one column hold: one value, a list (numbers, classes, truths, ragged), a list of lists (nested);
# "raw" is as the file has them, in text as they are written.
Kind = Literal[
    "number",
    "numbers",
    "ragged",
    "nested",
    "class",
    "classes",
    "truth",
    "truths",
    "text",
    "time",
    "key",
    "any",
    "raw",
]
Cell = Literal["number", "class", "truth", "text", "time", "any"]
# (what was given, class names, what the checks learn on the way) -> the array that the record holds
Check = Callable[[Any, ClassNames | None, Json], Any]
# (the arrays so far, what the checks learn on the way) -> the fields that follow from them
Give = Callable[[Json, Json], Json]
_LISTS: dict[tuple[Cell, int], Kind] = {
    ("number", 2): "numbers",
    ("number", 3): "nested",
    ("class", 2): "classes",
    ("truth", 2): "truths",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One row of the table.

    Parameters
    ----------
    cell : what a single value is; a "class" is kept as its position among the class names.
    axes : names of the axes; the sample axis is where slicing happens.
    prefix : of wide columns, ``prob_<class>``; None where there are none.
    check : turns what was given into the array of the record, or raises `InputError`; of the cells "class", "truth",
        "text" and "any" it is that of the cell.
    ragged : whether rows have different lengths (`Ragged`).
    unknown : whether null stands for an unknown value.
    truths : whether true and false may stand for the numbers 1 and 0.
    gives, give : fields that the record gets from this one, and what works them out.
    tells : fields that need not be there as long as this one is.
    positions : whether a "class" beside this field is a position among its entries in the row; there are no classes.
    on_request : whether it is read only where it is asked for by name.
    elsewhere : pattern of what teams and libraries call it (NannyML, evidently, scikit-learn's examples); such a name
        is never taken for the field, only offered in an error.

    >>> FIELDS["members"].kind, FIELDS["members"].sample, FIELDS["members"].axis
    ('classes', 1, 'model')
    """

    cell: Cell
    axes: Strings = ("sample",)
    prefix: str | None = None
    check: Check | None = None
    ragged: bool = False
    unknown: bool = False
    truths: bool = False
    gives: Strings = ()
    give: Give | None = None
    tells: Strings = ()
    positions: bool = False
    on_request: bool = False
    elsewhere: str | None = None
    # Worked out once, as readers ask cell by cell.
    kind: Kind = field(init=False)  # what a cell of the one column holds that has the field's name
    sample: int = field(init=False)  # which axis counts the samples
    of_classes: bool = field(init=False)  # whether there is one entry for each class
    axis: str | None = field(init=False)  # the axis that wide columns name, other than the classes

    def __post_init__(self) -> None:
        wide = self.prefix is not None and "class" not in self.axes
        derived = {
            "kind": "ragged" if self.ragged else _LISTS.get((self.cell, len(self.axes)), self.cell),
            "sample": self.axes.index("sample"),
            "of_classes": "class" in self.axes,
            "axis": next((a for a in self.axes if a != "sample"), None) if wide else None,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)


def _probabilities(value: Any, classes: ClassNames | None, learnt: Json) -> Array:
    value = (
        value
        if isinstance(value, np.ndarray) and value.ndim == 2
        else both_of(value, "probabilities")
    )
    seen = survey_probabilities(value, names=classes)
    learnt |= {k: v for k, v in (("top", seen.top), ("rounded", seen.digits)) if v is not None}
    return seen.values


def _features(value: Any, classes: ClassNames | None, learnt: Json) -> Array:
    return check_finite(value, "features", "sample, feature", truths=True)


def _logits(value: Any, classes: ClassNames | None, learnt: Json) -> Array:
    array = check_finite(both_of(value, "logits"), "logits", names=classes)
    if array.shape[1] < 2:
        raise InputError(
            "at least two classes", got="1", remedy="give one logit for each class", column="logits"
        )
    return array


def _member_probabilities(value: Any, classes: ClassNames | None, learnt: Json) -> Array:
    array = as_numpy(value)
    if array.ndim != 3:
        raise InputError(
            "an array with axes (model, sample, class)",
            got=f"shape {array.shape}",
            column="member_probabilities",
            remedy="stack one (sample, class) array for each model",
        )
    parts = [
        check_probabilities(m, f"member_probabilities[{i}]", classes) for i, m in enumerate(array)
    ]
    return np.stack(parts) if parts else array.astype(np.float64)


def _choice(out: Json, learnt: Json) -> Json:
    """The candidate of the highest score, and the softmax probability of the one that is predicted.

    It comes before a confidence that was given, which may be that of a whole output: its length is not in the scores.
    """
    scores = out["candidate_scores"]
    softmaxes = candidate_softmax(scores)
    learnt["top"] = top = top_candidates(scores, softmaxes)
    prediction = out.get("prediction", top.best)
    return {"prediction": prediction, "confidence": own_probability(softmaxes, prediction)}


def _alone(check: Callable[[Any], Any]) -> Check:
    """A check that needs no class names and learns nothing."""
    return lambda value, classes, learnt: check(value)


FIELDS: dict[str, Field] = {
    "label": Field(
        "class",
        unknown=True,
        elsewhere="y|y_?true|y_?test|true|truth|ground_?truth|gt|gold|targets?|actuals?|labels?|obs|observed|outcome|"
        "class|label_ids?|correct_(answer|label|class|option)|expected(_(answer|label|class))?|"
        "(true|gold|actual|target|y|observed|ground_?truth)_?(labels?|class|value|outcome)|"
        "(label|class|target)_?(true|actual|gold)|"
        "vrai|verite|wahrheit|verdad|verdadero|vero|verdade|verdadeiro|etiquett?[ea]|etichetta",
    ),
    "prediction": Field(
        "class",
        elsewhere="y_?pred(icted)?|y_?hat|preds?|outputs|predict|predicted|predictions?|decision|"
        "(pred|predicted|prediction|model|scored)_?(labels?|class|value|prediction|outcome|answer)|pgr_\\d+|"
        "(label|class|y|target)_?(pred|predicted|prediction|hat)|"
        "predite?|vorhersage|predicho|prediccion|predizione|predetto|predicao|previsto|previsao",
    ),
    "probabilities": Field(
        "number",
        ("sample", "class"),
        "prob_",
        _probabilities,
        tells=("prediction",),
        elsewhere="(.*_)?(prob|proba|probs|probability|probabilities)(_.*)?|p_?(pos|positive|yes|true)|"
        "(.*_)?(probabilite|wahrscheinlichkeit|probabilidade?|probabilita)(_.*)?|"
        "(y_?|model_?|pred(iction)?_?|predicted_?)?(scores?|p)(_?1)?|(.*_)?(risk|propensity|likelihood)(_score)?|p_?hat",
    ),
    "logits": Field(
        "number",
        ("sample", "class"),
        "logit_",
        _logits,
        gives=("probabilities",),
        give=lambda out, learnt: (
            {} if "probabilities" in out else {"probabilities": softmax(out["logits"])}
        ),
    ),
    "confidence": Field(
        "number",
        check=_alone(check_confidence),
        elsewhere="(.*_)?(conf|confidences?|certainty)(_.*)?|(max|top_?1?)_?(prob|proba|probability|softmax|score)|msp",
    ),
    "members": Field("class", ("model", "sample"), "member_"),
    "member_probabilities": Field(
        "number", ("model", "sample", "class"), check=_member_probabilities
    ),
    "token_logprobs": Field("number", check=_alone(check_logprobs), ragged=True),
    "candidate_scores": Field(
        "number",
        check=_alone(check_candidate_scores),
        ragged=True,
        gives=("prediction", "confidence"),
        give=_choice,
        positions=True,
    ),
    "views": Field("class", ("view", "sample"), "view_"),
    "votes": Field("truth", ("judge", "sample"), "vote_"),
    "features": Field("number", ("sample", "feature"), "feature_", _features, truths=True),
    "correct": Field(
        "truth",
        unknown=True,
        elsewhere="((is|was|pred|prediction|model)_?)?(correct|right)|correctness",
    ),
    # a column of this name is it only beside `correct` or without labels and outputs (`Layout.parse`)
    "score": Field("number", check=_alone(check_score), unknown=True, on_request=True),
    "input": Field("text", on_request=True),
    "output": Field("text", on_request=True),
    "time": Field(
        "time",
        check=_alone(check_time),
        elsewhere="time_?stamp|date|datetime|ts|(event|prediction|created)_?(time|at|date)",
    ),
    "group": Field("any"),
}


def refuse_classes_beside_positions(
    names: Iterable[str], classes: ClassNames | None = None, file: str | None = None
) -> str | None:
    """The field whose entries labels are positions of, None where they are classes; `InputError` for both together."""
    ordered = next((name for name in names if FIELDS[name].positions), None)
    if ordered is None:
        return None
    mixed = next((name for name in names if FIELDS[name].of_classes), None)
    if mixed is not None:
        remedy = "positions among candidates are not classes: leave one of the two out"
        raise InputError(
            f"no field of classes beside `{ordered}`",
            got=f"`{mixed}`",
            file=file,
            column=mixed,
            remedy=remedy,
        )
    if classes is not None:
        remedy = "labels are positions among candidates: leave classes=[...] out"
        got = map(str, classes[:6])
        raise InputError(
            f"no class names beside `{ordered}`",
            got=", ".join(got),
            file=file,
            column=ordered,
            remedy=remedy,
        )
    return ordered
