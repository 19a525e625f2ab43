"""Fields: the one table of everything that a record may hold, with what a file calls it and how it is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import checks
from .arrays import Array, as_numpy, softmax
from .classes import ClassNames
from .errors import InputError

# What the cells of one column hold: one value, a list (numbers, classes, truths, ragged), a list of lists (nested);
# "raw" is as the file has them, in text as they are written.
Kind = Literal[
    "number", "numbers", "ragged", "nested", "class", "classes", "truth", "truths", "text", "time", "key", "any", "raw"
]  # fmt: skip
Cell = Literal["number", "class", "truth", "text", "time", "any"]
# (what was given, class names, what the checks learn on the way) -> the array that the record holds
Check = Callable[[Any, ClassNames | None, dict[str, Any]], Any]
# (the arrays so far, what the checks learn on the way) -> the fields that follow from them
Give = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
_LISTS: dict[tuple[Cell, int], Kind] = {
    ("number", 2): "numbers", ("number", 3): "nested", ("class", 2): "classes", ("truth", 2): "truths"
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
    axes: tuple[str, ...] = ("sample",)
    prefix: str | None = None
    check: Check | None = None
    ragged: bool = False
    unknown: bool = False
    truths: bool = False
    gives: tuple[str, ...] = ()
    give: Give | None = None
    tells: tuple[str, ...] = ()
    positions: bool = False
    on_request: bool = False
    elsewhere: str | None = None

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
        return next((a for a in self.axes if a != "sample"), None) if self.prefix and not self.of_classes else None


def _probabilities(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    seen = checks.survey_probabilities(checks.both_of(value, "probabilities"), names=classes)
    learnt |= {k: v for k, v in (("top", seen.top), ("rounded", seen.digits)) if v is not None}
    return seen.values


def _features(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    return checks.check_finite(value, "features", "sample, feature", truths=True)


def _logits(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    array = checks.check_finite(checks.both_of(value, "logits"), "logits", names=classes)
    if array.shape[1] < 2:
        raise InputError("at least two classes", got="1", remedy="give one logit for each class", column="logits")
    return array


def _member_probabilities(value: Any, classes: ClassNames | None, learnt: dict[str, Any]) -> Array:
    array = as_numpy(value)
    if array.ndim != 3:
        expected, remedy = "an array with axes (model, sample, class)", "stack one (sample, class) array for each model"
        raise InputError(expected, got=f"shape {array.shape}", column="member_probabilities", remedy=remedy)
    parts = [checks.check_probabilities(m, f"member_probabilities[{i}]", classes) for i, m in enumerate(array)]
    return np.stack(parts) if parts else array.astype(np.float64)


def _choice(out: dict[str, Any], learnt: dict[str, Any]) -> dict[str, Any]:
    """The candidate of the highest score, and the softmax probability of the one that is predicted.

    It comes before a confidence that was given, which may be that of a whole output: its length is not in the scores.
    """
    scores = out["candidate_scores"]
    softmaxes = checks.candidate_softmax(scores)
    learnt["top"] = top = checks.top_candidates(scores, softmaxes)
    prediction = out.get("prediction", top.best)
    return {"prediction": prediction, "confidence": checks.own_probability(softmaxes, prediction)}


def _alone(check: Callable[[Any], Any]) -> Check:
    """A check that needs no class names and learns nothing."""
    return lambda value, classes, learnt: check(value)


FIELDS: dict[str, Field] = {
    "label": Field(
        "class",
        unknown=True,
        elsewhere="(y|y_?true|true|truth|ground_?truth|gt|gold|target|actual|labels|"
        "(true|gold|actual|target|y)_?(label|class|value))",
    ),
    "prediction": Field(
        "class",
        elsewhere="(y_?pred|y_?hat|pred|preds|predicted|predictions|decision|"
        "(pred|predicted|model)_?(label|class|prediction))",
    ),
    "probabilities": Field("number", ("sample", "class"), "prob_", _probabilities, tells=("prediction",)),
    "logits": Field(
        "number",
        ("sample", "class"),
        "logit_",
        _logits,
        gives=("probabilities",),
        give=lambda out, learnt: {} if "probabilities" in out else {"probabilities": softmax(out["logits"])},
    ),
    "confidence": Field("number", check=_alone(checks.check_confidence)),
    "members": Field("class", ("model", "sample"), "member_"),
    "member_probabilities": Field("number", ("model", "sample", "class"), check=_member_probabilities),
    "token_logprobs": Field("number", check=_alone(checks.check_logprobs), ragged=True),
    "candidate_scores": Field(
        "number",
        check=_alone(checks.check_candidate_scores),
        ragged=True,
        gives=("prediction", "confidence"),
        give=_choice,
        positions=True,
    ),
    "views": Field("class", ("view", "sample"), "view_"),
    "votes": Field("truth", ("judge", "sample"), "vote_"),
    "features": Field("number", ("sample", "feature"), "feature_", _features, truths=True),
    "correct": Field("truth", unknown=True),
    "input": Field("text", on_request=True),
    "output": Field("text", on_request=True),
    "time": Field(
        "time",
        check=_alone(checks.check_time),
        elsewhere="(timestamp|time_stamp|date|datetime|ts|(event|prediction|created)_?(time|at|date))",
    ),
    "group": Field("any"),
}


def refuse_classes_beside_positions(
    names: Iterable[str], classes: ClassNames | None = None, file: str | None = None
) -> str | None:
    """The field whose entries labels are positions of, None where labels are classes; `InputError` for both together.

    >>> refuse_classes_beside_positions(["candidate_scores", "label"])
    'candidate_scores'
    >>> refuse_classes_beside_positions(["candidate_scores", "logits"])
    Traceback (most recent call last):
    oodometer.errors.InputError: column logits: expected no field of classes beside `candidate_scores`, got ...
    """
    ordered = next((name for name in names if FIELDS[name].positions), None)
    if ordered is None:
        return None
    mixed = next((name for name in names if FIELDS[name].of_classes), None)
    if mixed is not None:
        remedy = "positions among candidates are not classes: leave one of the two out"
        expected = f"no field of classes beside `{ordered}`"
        raise InputError(expected, got=f"`{mixed}`", file=file, column=mixed, remedy=remedy)
    if classes is not None:
        remedy, got = "labels are positions among candidates: leave classes=[...] out", map(str, classes[:6])
        raise InputError(
            f"no class names beside `{ordered}`", got=", ".join(got), file=file, column=ordered, remedy=remedy
        )
    return ordered
