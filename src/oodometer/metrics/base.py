"""The contract of a metric: a batch leaves a small state, states merge, a state becomes a number with an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ..arrays import Array, present
from ..classes import encode, truth_values
from ..errors import InputError, NotApplicable
from ..fields import NO_CLASSES, check_confidence, check_length, check_probabilities
from ..inference.method import Method
from ..intervals import check_level
from ..plain import Plain, Strings
from ..predictions import Predictions
from ..results import Interval, Kind
from ..scores.class_scores import sequence_probability

# What a metric reads: alternatives, each a set of fields that must all be there; the first that fits is used.
Needs = tuple[Strings, ...]

VERDICT: Needs = (("correct",), ("label", "prediction"), ("label", "probabilities"))
CONFIDENCE: Needs = (
    ("confidence", "correct"),
    ("probabilities", "correct"),
    ("probabilities", "label"),
    ("confidence", "label", "prediction"),
    ("token_logprobs", "correct"),
    ("token_logprobs", "label", "prediction"),
)
CLASSES: Needs = (("class", "label", "prediction"), ("class", "label", "probabilities"))

S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Measure(Interval):
    """An `Interval` with more figures that belong to it, such as a decomposition; they stand beside it in JSON.

    value, lower, upper, level, kind : as of an `Interval`.
    extras : name -> figure.

    >>> Measure(0.1, 0.0, 0.2, 0.95, "asymptotic", {"bins": 15}).to_dict()["bins"]
    15
    """

    extras: Plain = field(default_factory=dict, hash=False)
    _spread = frozenset({"extras"})


def measure(
    value: float, ends: tuple[float, float], level: float, kind: Kind, **extras: Any
) -> Measure:
    """A `Measure` whose ends are moved, by rounding only, so that they hold the value."""
    return Measure(value, min(ends[0], value), max(ends[1], value), level, kind, extras)


class Metric(Method[S, R]):
    """What is known of predictions whose truth is known: one number (``R`` an `Interval`), curve or table.

    name, citation : registered name, BibTeX key in ``citations.bib``.
    needs : alternatives, each a tuple of fields that must all be present, such as ``(("correct",), ("label",
        "prediction"))``; `logits` give `probabilities`; ``"class"`` says that labels must be classes.
    gives, bounds : "number", "curve" or "table", what `finish` returns; lowest and highest possible value of a number.
    bigger_is_better : orientation; None where more is neither good nor bad.
    quiet : whether it is left out without a word where its fields are absent and nobody asked for it by name.
    state : name of the kind of state where several metrics share one.
    clustered : whether its state tells clusters apart itself, by the keys in the column `CLUSTER` of a batch.

    `summarize` reads only rows whose truth is known (see `Predictions.known`). Metrics with the same `state_key` share
    one state.
    """

    needs: ClassVar[Needs]
    bigger_is_better: ClassVar[bool | None]
    gives: ClassVar[Literal["number", "curve", "table"]] = "number"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    quiet: ClassVar[bool] = False
    state: ClassVar[str] = ""
    clustered: ClassVar[bool] = False

    @property
    def state_key(self) -> str:
        """Name of the kind of state; whoever runs several metrics makes each kind once."""
        return self.state or self.name

    def row_values(self, batch: Predictions) -> Array | None:
        """The number of each row of known truth, float64, shape (sample,), of a metric that is their mean (NaN where a
        row has none); None where the metric is no mean over rows.
        """
        return None

    def finish(self, state: S, level: float = 0.95, seed: int = 0) -> R:
        """The number with its interval (or curve, or table), by ``_finish``; `NotApplicable` of no rows."""
        if not getattr(state, "rows", 1):
            raise NotApplicable("needs at least one labelled row")
        return self._finish(state, level, seed)

    def _finish(self, state: S, level: float, seed: int) -> R:
        raise NotImplementedError(f"{self.name} defines neither `finish` nor `_finish`")

    def compute(self, record: Predictions, level: float = 0.95, seed: int = 0) -> R:
        """`summarize`, `merge` and `finish` over a record in memory; `NotApplicable` of no fields or labelled rows."""
        check_level(level)
        why = self.why_not(record)
        if why is not None:
            raise NotApplicable(why)
        state = self.folded(record.known().batches())
        if state is None:
            raise NotApplicable("needs at least one row whose truth is known")
        return self.finish(state, level, seed)

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough for the metric with its options, or None where it is."""
        return self.missing(record)

    @classmethod
    def missing(cls, record: Predictions) -> str | None:
        """Why this record is not enough for the metric, or None where it is."""
        fitting = [
            group for group in cls.needs if all(n == "class" or record.has(n) for n in group)
        ]
        if any("class" not in group for group in fitting) or (fitting and record.has_classes):
            return None
        if fitting:
            return NO_CLASSES
        have = ", ".join(record.fields)
        return (
            f"needs {' and '.join(n for n in cls.needs[0] if n != 'class')}; the record has {have}"
        )


def where_labelled(batch: Predictions, of: Callable[[Predictions], Array]) -> Array:
    """What ``of`` says of each row whose `label` is known, float64, shape (sample,), NaN in the others.

    >>> p = Predictions.from_classes([0, 1], label=[1, None], classes=[0, 1])
    >>> where_labelled(p, lambda rows: rows.label * 1.0).tolist()
    [1.0, nan]
    """
    at = np.flatnonzero(present(batch.label) >= 0)
    if len(at) == batch.rows:
        return of(batch)
    out = np.full(batch.rows, np.nan)
    out[at] = of(batch.take(at))
    return out


def confidence_and_verdict(batch: Predictions) -> tuple[Array, Array]:
    """Confidence in the prediction and its correctness, for the rows of ``batch`` of known truth; both of shape
    (sample,).

    The probability of the predicted class where there are probabilities, else `confidence`, else that of the whole
    sequence, as `natural_confidence` has it, cut to [0, 1] in its dtype, since ranks near 1 live in the last bits.
    Raises `NotApplicable` where there is none of these.

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=[0, 0])
    >>> confidence_and_verdict(p)
    (array([0.9, 0.6]), array([1, 0], dtype=int8))
    """

    def make() -> tuple[Array, Array]:
        labelled = batch.known()
        if labelled.probabilities is None:
            if labelled.confidence is not None:
                confidence = labelled.confidence
            elif labelled.token_logprobs is not None:
                confidence = sequence_probability(labelled.token_logprobs)
            else:
                raise NotApplicable("needs `confidence`, `probabilities` or `token_logprobs`")
        elif labelled.prediction is None:
            confidence = labelled.top.first
        else:
            confidence = labelled.probabilities[np.arange(labelled.rows), labelled.prediction]
        return clean_confidence(confidence), labelled.verdicts

    return batch.derived("confidence_and_verdict", make)


def clean_confidence(confidence: Array) -> Array:
    """Confidences cut to [0, 1], without negative zeros, as float32 or float64."""
    values = (
        confidence
        if confidence.dtype in (np.float32, np.float64)
        else confidence.astype(np.float64)
    )
    return np.asarray(np.clip(values, 0, 1) + values.dtype.type(0))


def checked_classes(probabilities: Any, label: Any) -> tuple[Array, Array]:
    """Arguments of the pure functions, checked: probabilities (sample, class) and a known class of each sample."""
    checked = check_probabilities(probabilities)
    codes = encode(label, tuple(range(checked.shape[1])), "label")
    check_length(len(checked), len(codes), "label")
    if not len(codes) or (codes < 0).any():
        raise InputError(
            "a known class for every sample", got="null", remedy="drop the row", column="label"
        )
    return checked, codes


def checked_pair(confidence: Any, correct: Any) -> tuple[Array, Array]:
    """Arguments of the pure functions, checked: confidences in [0, 1] and as many verdicts; at least one row."""
    checked = check_confidence(confidence)
    verdict = truth_values(correct, "correct")
    check_length(len(checked), len(verdict), "correct")
    if not len(checked):
        raise InputError("at least one sample", got="none", remedy="give labelled samples")
    if (verdict < 0).any():
        row = int(np.argmax(verdict < 0)) + 1
        raise InputError(
            "known truth", got="null", remedy="drop the row", row=row, column="correct"
        )
    return clean_confidence(checked), verdict
