"""Fields: the one table of everything that a record may hold, with what a file calls it and how it is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import checks
from .arrays import Array, Ragged, as_numpy, softmax
from .classes import ClassNames, encode, find_classes, truth_values
from .errors import InputError

__all__ = ["FIELDS", "Field", "Kind", "check_fields"]

# What the cells of one column hold: one value, a list (numbers, classes, truths, ragged), a list of lists (nested).
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
]
Cell = Literal["number", "class", "truth", "text", "time", "any"]
# (what was given, class names, what the checks learn on the way) -> the array that the record holds
Check = Callable[[Any, ClassNames | None, dict[str, Any]], Any]
_LISTS: dict[tuple[Cell, int], Kind] = {
    ("number", 2): "numbers", ("number", 3): "nested", ("class", 2): "classes", ("truth", 2): "truths",
}  # fmt: skip


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
    gives : fields that the record gets from this one where they are not given.
    tells : fields that need not be there as long as this one is.
    on_request : whether it is read only where it is asked for by name.

    >>> FIELDS["members"].kind, FIELDS["members"].sample, FIELDS["members"].axis
    ('classes', 1, 'model')
    """

    cell: Cell
    axes: tuple[str, ...] = ("sample",)
    prefix: str | None = None
    check: Check | None = None
    ragged: bool = False
    unknown: bool = False
    truths: bool = False
    gives: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    on_request: bool = False

    @property
    def kind(self) -> Kind:
        """What a cell of the one column holds that has the field's name."""
        return "ragged" if self.ragged else _LISTS.get((self.cell, len(self.axes)), self.cell)

    @property
    def sample(self) -> int:
        """Which axis counts the samples."""
        return self.axes.index("sample")

    @property
    def of_classes(self) -> bool:
        """Whether there is one entry for each class."""
        return "class" in self.axes

    @property
    def axis(self) -> str | None:
        """The axis that wide columns name, other than the classes."""
        return (
            next((a for a in self.axes if a != "sample"), None)
            if self.prefix and not self.of_classes
            else None
        )


def _probabilities(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    seen = checks.survey_probabilities(value, names=classes)
    learnt |= {k: v for k, v in (("top", seen.top), ("rounded", seen.digits)) if v is not None}
    return seen.values


def _logits(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    array = checks.check_finite(value, "logits", names=classes)
    if array.shape[1] < 2:
        raise InputError(
            "at least two classes", got="1", remedy="give one logit for each class", column="logits"
        )
    return array


def _confidence(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    return checks.check_confidence(value)


def _features(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    return checks.check_finite(value, "features", "sample, feature", truths=True)


def _member_probabilities(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    array = as_numpy(value)
    if array.ndim != 3:
        raise InputError(
            "an array with axes (model, sample, class)", got=f"shape {array.shape}", column="member_probabilities",
            remedy="stack one (sample, class) array for each model",
        )  # fmt: skip
    parts = [
        checks.check_probabilities(m, f"member_probabilities[{i}]", classes) for i, m in enumerate(array)
    ]
    return np.stack(parts) if parts else array.astype(np.float64)


def _token_logprobs(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Ragged:
    return checks.check_logprobs(value)


def _time(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    return checks.check_time(value)


FIELDS: dict[str, Field] = {
    "label": Field("class", unknown=True),
    "prediction": Field("class"),
    "probabilities": Field("number", ("sample", "class"), "prob_", _probabilities, tells=("prediction",)),
    "logits": Field("number", ("sample", "class"), "logit_", _logits, gives=("probabilities",)),
    "confidence": Field("number", check=_confidence),
    "members": Field("class", ("model", "sample"), "member_"),
    "member_probabilities": Field("number", ("model", "sample", "class"), check=_member_probabilities),
    "token_logprobs": Field("number", check=_token_logprobs, ragged=True),
    "views": Field("class", ("view", "sample"), "view_"),
    "votes": Field("truth", ("judge", "sample"), "vote_"),
    "features": Field("number", ("sample", "feature"), "feature_", _features, truths=True),
    "correct": Field("truth", unknown=True),
    "input": Field("text", on_request=True),
    "output": Field("text", on_request=True),
    "time": Field("time", check=_time),
    "group": Field("any"),
}


def check_fields(
    given: dict[str, Any], classes: ClassNames | None
) -> tuple[int, ClassNames | None, dict[str, Any], dict[str, Any]]:
    """Number of rows, class names, checked arrays, and what the checks learnt on the way (``top``, ``rounded``).

    Rows in errors are counted from the start of these arrays.
    """
    out: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    present = {name: field for name, field in FIELDS.items() if name in given}
    for name, field in present.items():
        if field.check is not None:
            out[name] = field.check(given[name], classes, learnt)
        elif field.cell == "truth":
            out[name] = _verdicts(given[name], name, field)
    if "logits" in out and "probabilities" not in given:
        out["probabilities"] = softmax(out["logits"])
    classes = _settle_classes(given, out, classes)
    for name, field in present.items():
        if name not in out:
            value = given[name]
            out[name] = _coded(value, name, field, classes) if field.cell == "class" else as_numpy(value)
    rows = _common_length(out)
    if "prediction" in out and "probabilities" in out:
        checks.check_prediction_is_argmax(out["prediction"], out["probabilities"], classes or ())
    return rows, classes, out, learnt


def _verdicts(value: Any, name: str, field: Field) -> Array:
    """Truth values, all of them known unless the field may lack some."""
    array = truth_values(value, name)
    if array.ndim != len(field.axes):
        raise InputError(f"axes {field.axes}", got=f"shape {array.shape}", column=name)
    if not field.unknown and (array < 0).any():
        at = np.unravel_index(int(np.argmax(array < 0)), array.shape)
        raise InputError("a verdict from every judge", got="null", remedy="drop the row",
                         row=int(at[field.sample]) + 1, column=name)  # fmt: skip
    return array


def _settle_classes(
    given: dict[str, Any], out: dict[str, Any], classes: ClassNames | None
) -> ClassNames | None:
    """The class names: as given, else 0..K-1 for a class axis, else the classes that occur."""
    widths = {name: value.shape[-1] for name, value in out.items() if FIELDS[name].of_classes}
    if classes is not None:
        for name, width in widths.items():
            if width != len(classes):
                raise InputError(
                    f"{len(classes)} classes",
                    got=f"{width}",
                    remedy="name every class once, in column order",
                    column=name,
                )
        return classes
    if widths:
        if len(set(widths.values())) > 1:
            raise InputError(
                "one number of classes",
                got=", ".join(f"{k}: {v}" for k, v in widths.items()),
                remedy="align them",
            )
        return tuple(range(next(iter(widths.values()))))
    coded = [given[name] for name, field in FIELDS.items() if field.cell == "class" and name in given]
    return find_classes(coded) if coded else None


def _coded(value: Any, name: str, field: Field, classes: ClassNames | None) -> Array:
    codes = encode(value, classes or (), name)
    if codes.ndim != len(field.axes):
        raise InputError(
            f"an array with axes ({', '.join(field.axes)})",
            got=f"shape {codes.shape}",
            remedy="reshape it",
            column=name,
        )
    if not field.unknown and (codes < 0).any():
        at = np.unravel_index(int(np.argmax(codes < 0)), codes.shape)
        raise InputError(
            "a predicted class", got="null", remedy="drop the row", row=int(at[field.sample]) + 1, column=name
        )
    return codes


def _common_length(out: dict[str, Any]) -> int:
    """Every field has the same number of samples; returns it."""
    lengths = {
        name: len(v) if isinstance(v, Ragged) else v.shape[FIELDS[name].sample] for name, v in out.items()
    }
    rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        checks.check_length(rows, length, name)
    return int(rows)
