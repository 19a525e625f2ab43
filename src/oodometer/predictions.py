"""The record: what one model (or several) said about samples, with named axes and optional labels.

Axes are always called model, view, sample and class. Field names are the column names of a predictions file.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import kernels
from .arrays import Array, Coded, Ragged, as_numpy, index_of, refuse
from .classes import (
    NO_ANSWER,
    PROVED_ROWS,
    ClassNames,
    NewClassError,
    columns_by_decisions,
    encode,
    encode_positions,
    find_classes,
    named_classes,
    proved_classes,
    truth_values,
)
from .errors import InputError, NotApplicable
from .fields import (
    FIELDS,
    candidate_softmax,
    check_length,
    check_logits,
    check_within,
    refuse_classes_beside_positions,
    top_candidates,
)
from .plain import Json, Plain, Strings

__all__ = ["FIELDS", "Predictions"]


T = TypeVar("T")
# of the rows as they came, which calibration, picking and joining keep
CONTENT_KEYS = "content keys"
_MOSTLY = 0.5  # share of rows off the argmax up to which predictions may be decisions whatever the probabilities are


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a model on samples; make one with a ``from_...`` constructor, which validates.

    Fields (each may be absent, that is, None)
    ------------------------------------------
    label, prediction : int32, shape (sample,), positions in ``classes``, or among the candidates of the row where
        there are `candidate_scores`; label -1 where unknown.
    probabilities, logits : float32 or float64, shape (sample, class).
    confidence : float, shape (sample,), in [0, 1], for models without a class distribution.
    members : int32, shape (model, sample), classes predicted by independently trained models.
    member_probabilities : float, shape (model, sample, class).
    token_logprobs : `Ragged`, one row a sample.
    candidate_scores : `Ragged`, one row a sample: a score for each candidate, larger = more likely right.
    views : int32, shape (view, sample), classes predicted for augmented copies.
    votes : int8, shape (judge, sample), 1 = "correct", 0 = "incorrect".
    features : float, shape (sample, feature).
    correct : int8, shape (sample,), 1, 0, or -1 where unknown.
    score : float64, shape (sample,), a grade, an F1, partial credit, larger = better; NaN where unknown.
    input, output, time, group : object or datetime64, shape (sample,).

    ``classes`` names the class axis, ``names`` the model, view and judge axes, ``columns`` holds further
    columns to slice by, ``source`` and ``first_row`` say where the rows came from, ``calibrated`` names a
    calibrator that was applied, ``rounded`` says to how many decimal digits the probabilities came rounded, where that
    moved sums of rows by more than 0.001 (they were divided by their sum). ``rows_in_all`` of a batch is how many rows
    the whole data set has, where that is known; rows that are picked from it no longer have it.

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=["cat", "cat"], classes=["cat", "dog"])
    >>> len(p), p.accuracy, p.predicted.tolist()
    (2, 0.5, [0, 1])
    """

    rows: int
    classes: ClassNames | None = None
    label: Array | None = None
    prediction: Array | None = None
    probabilities: Array | None = None
    logits: Array | None = None
    confidence: Array | None = None
    members: Array | None = None
    member_probabilities: Array | None = None
    token_logprobs: Ragged | None = None
    candidate_scores: Ragged | None = None
    views: Array | None = None
    votes: Array | None = None
    features: Array | None = None
    correct: Array | None = None
    score: Array | None = None
    input: Array | None = None
    output: Array | None = None
    time: Array | None = None
    group: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    names: Mapping[str, Strings] = field(default_factory=dict)
    source: str | None = None
    first_row: int = 0
    calibrated: str | None = None
    rounded: int | None = None
    rows_in_all: int | None = None
    _cache: Json = field(default_factory=dict, repr=False)

    # ---------------------------------------------------------------- constructors (the door)

    @classmethod
    def from_arrays(
        cls,
        *,
        classes: Sequence[int | str] | None = None,
        columns: Plain | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        source: str | None = None,
        first_row: int = 0,
        positions: bool = False,
        **arrays: Any,
    ) -> Predictions:
        """Validate arrays named like the columns of a predictions file and make a record of them.

        ``positions`` says that labels and predictions are positions among candidates, as they always are beside
        `candidate_scores`, where the scores themselves are left out.

        Anything with an array interface is taken (numpy, torch, jax, pandas, polars, lists). Raises `InputError` naming
        row and column.

        >>> Predictions.from_arrays(prediction=[1, 0], label=[1, 1]).accuracy
        0.5
        """
        supplied = _given_fields(arrays, source)
        try:
            if any(hasattr(value, "reindex") for value in supplied.values()):
                index_of(supplied)  # whose rows belong together
            class_names = None if classes is None else named_classes(classes)
            rows, named, fields, learnt = check_fields(supplied, class_names, positions)
            axes = {
                axis: tuple(map(str, given_names)) for axis, given_names in (names or {}).items()
            }
            for axis, axis_names in axes.items():
                _check_axis_names(axis, axis_names, fields)
            if "logits" in supplied and first_row == 0:
                check_logits(fields["logits"], "probabilities" in supplied)
        except InputError as error:
            raise error.at(file=source, row_offset=first_row) from None
        extra = {k: as_numpy(v) for k, v in (columns or {}).items()}
        for name, values in extra.items():
            check_length(rows, len(values), name)
        return cls(
            rows=rows,
            classes=named,
            **fields,
            columns=extra,
            names=axes,
            source=source,
            first_row=first_row,
            rounded=learnt.pop("rounded", None),
            _cache=learnt,
        )

    @classmethod
    def from_probabilities(cls, probabilities: Any, **fields: Any) -> Predictions:
        """Class probabilities, shape (sample, class), rows summing to 1; other fields as in `from_arrays`."""
        return cls.from_arrays(probabilities=probabilities, **fields)

    @classmethod
    def from_logits(cls, logits: Any, **fields: Any) -> Predictions:
        """Logits (or log-probabilities), shape (sample, class); probabilities are their softmax.

        >>> Predictions.from_logits([[2.0, 0.0]]).probabilities.round(2).tolist()
        [[0.88, 0.12]]
        """
        return cls.from_arrays(logits=logits, **fields)

    @classmethod
    def from_classes(cls, prediction: Any, **fields: Any) -> Predictions:
        """Predicted classes alone, shape (sample,); other fields as in `from_arrays`."""
        return cls.from_arrays(prediction=prediction, **fields)

    @classmethod
    def from_confidence(cls, confidence: Any, **fields: Any) -> Predictions:
        """Confidences alone, shape (sample,), for example with ``correct``; other fields as in `from_arrays`."""
        return cls.from_arrays(confidence=confidence, **fields)

    @classmethod
    def from_candidates(cls, candidate_scores: Any, **fields: Any) -> Predictions:
        """A score for each candidate reply or option of a sample, rows of any length; ``label`` is the position of the
        right one.

        Scores are read as logits: `confidence` is the softmax probability exp(s_y) / sum_j exp(s_j), over the row, of
        the predicted candidate y, which is the one of the largest score (the first among ties).

        >>> p = Predictions.from_candidates([[2.0, 0.0], [0.0, 1.0, 0.5]], label=[0, 2])
        >>> p.predicted.tolist(), p.confidence.round(2).tolist(), p.accuracy, p.has_classes
        ([0, 1], [0.88, 0.51], 0.5, False)
        """
        return cls.from_arrays(candidate_scores=candidate_scores, **fields)

    # ---------------------------------------------------------------- looking

    def __len__(self) -> int:
        return self.rows

    def has(self, name: str) -> bool:
        """Whether a field is present."""
        return getattr(self, name) is not None

    @cached_property
    def fields(self) -> Strings:
        """Names of the fields that are present."""
        return tuple(name for name in FIELDS if self.has(name))

    @cached_property
    def has_classes(self) -> bool:
        """Whether labels and predictions are classes; False where they are positions among candidates."""
        coded = (name for name, field in FIELDS.items() if field.cell == "class")
        return self.classes is not None or not any(map(self.has, coded))

    @cached_property
    def has_prediction(self) -> bool:
        """Whether the predicted class or candidate of each sample is known, so that `predicted` gives it."""
        return (
            self.prediction is not None
            or self.probabilities is not None
            or self.members is not None
        )

    @cached_property
    def can_be_judged(self) -> bool:
        """Whether it tells of some rows whether they are right."""
        return self.correct is not None or (self.label is not None and self.has_prediction)

    @cached_property
    def num_classes(self) -> int:
        """Length of the class axis (0 where there are no classes)."""
        return 0 if self.classes is None else len(self.classes)

    def derived(self, key: str, make: Callable[[], T]) -> T:
        """A value computed once a record and shared by every method: ``make()`` on first use."""
        if key not in self._cache:  # of two threads at a time, both get what the first has made
            self._cache.setdefault(key, make())
        return self._cache[key]  # type: ignore[no-any-return]

    @cached_property
    def top(self) -> kernels.Top:
        """Best class or candidate, its probability and the runner-up's, computed once a record."""
        scores, probabilities = self.candidate_scores, self.probabilities
        if scores is not None:
            return self.derived("top", lambda: top_candidates(scores, self.candidate_probabilities))
        if probabilities is None:
            raise NotApplicable("needs `probabilities` (or `logits`)")
        return self.derived("top", lambda: kernels.top_two(probabilities))

    @cached_property
    def is_argmax(self) -> bool:
        """Whether every prediction is the class of highest probability, ties allowed; True where there are no
        probabilities. Else the predictions are decisions, such as those of another threshold than 0.5.

        >>> Predictions.from_probabilities([[0.4, 0.6]] * 9, prediction=[1] * 8 + [0]).is_argmax
        False
        """
        if self.prediction is None or self.probabilities is None:
            return True
        return self.derived(
            "argmax", lambda: bool((self.own_probability >= self.top.first - 1e-6).all())
        )

    @cached_property
    def own_probability(self) -> Array:
        """Probability of the predicted class, shape (sample,); `NotApplicable` without probabilities."""
        probabilities = self.probabilities
        if self.prediction is None or probabilities is None:
            return self.top.first
        return self.derived("own", lambda: probabilities[np.arange(self.rows), self.predicted])

    @cached_property
    def candidate_probabilities(self) -> Ragged:
        """Softmax of the scores over the candidates of each sample, computed once a record."""
        scores = self.candidate_scores
        if scores is None:
            raise NotApplicable("needs `candidate_scores`")
        return self.derived("candidate_probabilities", lambda: candidate_softmax(scores))

    @property
    def noted(self) -> Mapping[str, int]:
        """How many labels were words for a missing one or classes that the model does not know, and how many
        predictions were null, by word and class (`classes.said_of_classes`).
        """
        return self._cache.get("noted", {})  # type: ignore[no-any-return]

    @property
    def uncalibrated(self) -> Array | None:
        """The probabilities before `with_probabilities` made new ones, where they are remembered."""
        return self._cache.get("uncalibrated")

    @cached_property
    def predicted(self) -> Array:
        """Predicted class of each sample, int32, shape (sample,): `prediction`, the argmax, or the first member."""
        if self.prediction is None and self.probabilities is None and self.members is not None:
            return self.members[0]  # type: ignore[no-any-return]  # by convention the first member is the judged model
        return self.prediction if self.prediction is not None else self.top.best

    @cached_property
    def verdicts(self) -> Array:
        """Correctness of each sample, int8, shape (sample,): 1, 0, or -1 where unknown."""
        if self.correct is not None:
            return self.correct
        if self.label is None:
            return np.full(self.rows, -1, dtype=np.int8)
        label, predicted = self.label, self.predicted

        def make() -> Array:
            out: Array = (label == predicted).view(np.int8)
            if len(label) and label.min() < 0:
                # -2 is a class that the model does not know, so that it is wrong
                out[label == -1] = -1
            return out

        return self.derived("verdicts", make)

    @property
    def outcomes(self) -> Array:
        """What is known of each answer, float64, shape (sample,): the verdict, or the score where there is no truth."""
        graded = self.score if self.score is not None and not self.can_be_judged else self.verdicts
        return graded.astype(np.float64)

    @property
    def is_labelled(self) -> bool:
        """Whether the correctness of every sample is known."""
        return bool(self.rows) and bool((self.verdicts >= 0).all())

    @cached_property
    def accuracy(self) -> float:
        """Share of correct samples among those whose correctness is known; NaN where none is."""
        verdicts = self.verdicts[self.verdicts >= 0]
        return float(verdicts.mean()) if len(verdicts) else float("nan")

    # ---------------------------------------------------------------- cutting and joining

    def _pick(self, pick: Any, rows: int, first_row: int) -> Predictions:
        return replace(
            self,
            rows=rows,
            first_row=first_row,
            columns={name: values[pick] for name, values in self.columns.items()},
            rows_in_all=None,
            _cache=self._picked_cache(pick),
            **{name: self._picked_field(name, pick) for name in self.fields},
        )

    def _picked_field(self, name: str, pick: Any) -> Any:
        value = getattr(self, name)
        if isinstance(value, Ragged):
            return value.take(np.arange(self.rows)[pick] if isinstance(pick, slice) else pick)
        return value[(slice(None),) * FIELDS[name].sample + (pick,)]

    def _picked_cache(self, pick: Any) -> Json:
        """What is known of the picked rows without working it out again."""
        source_cache = self._cache
        cache: Json = {"argmax": True} if source_cache.get("argmax") else {}
        if CONTENT_KEYS in source_cache:
            cache[CONTENT_KEYS] = source_cache[CONTENT_KEYS][pick]
        if "top" in source_cache and (isinstance(pick, slice) or self.calibrated is None):
            # of calibrated rows it is known to rounding: where they are copied it is worked out anew
            cache["top"] = kernels.Top(*(value[pick] for value in source_cache["top"]))
        # rows that are left of a batch: of the whole
        if not isinstance(pick, slice) and "noted" in source_cache:
            cache["noted"] = source_cache["noted"]
        return cache

    def slice(self, start: int, stop: int) -> Predictions:
        """Rows ``start`` to ``stop``, without copying."""
        start, stop, _ = slice(start, stop).indices(self.rows)
        if stop - start == self.rows:
            return self
        return self._pick(slice(start, stop), max(stop - start, 0), self.first_row + start)

    def take(self, index: Any) -> Predictions:
        """Rows at integer positions or where a boolean mask is true, copied."""
        index = np.asarray(index, dtype=None if np.size(index) else np.intp)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        return self._pick(index, len(index), self.first_row)

    def batches(self, rows: int = 65_536) -> Iterator[Predictions]:
        """The record in consecutive pieces of at most ``rows`` rows, without copying."""
        for start in range(0, self.rows, rows):
            yield self.slice(start, start + rows)

    @property
    def known_mask(self) -> Array:
        """Which rows' correctness is known, or, of a record without any truth, their score; bool, (sample,)."""
        graded = self.score is not None and not self.can_be_judged
        mask = ~np.isnan(self.score) if graded else self.verdicts >= 0  # type: ignore[arg-type]
        return np.asarray(mask)

    def known(self) -> Predictions:
        """The rows of `known_mask` (the record itself where it is all of them)."""
        mask = self.known_mask
        return self if mask.all() else self.take(mask)

    def without_labels(self) -> Predictions:
        """The same predictions with the truth taken away."""
        return replace(self, label=None, correct=None, score=None, _cache={})

    def with_probabilities(
        self, probabilities: Array, calibrated: str, top: kernels.Top | None = None
    ) -> Predictions:
        """The same samples with other (calibrated) probabilities; the predicted class stays.

        ``top`` is the best class and its new probability where the order of classes is known to be the same.
        The record remembers the probabilities as they were (`uncalibrated`), until rows are taken from it.
        """
        cache: Json = {}
        # samples of calibrated rows are those of the rows as they came
        if CONTENT_KEYS in self._cache:
            cache[CONTENT_KEYS] = self._cache[CONTENT_KEYS]
        if top is not None:
            cache |= {"top": top, "uncalibrated": self.probabilities}
            cache |= {"argmax": True} if self._cache.get("argmax") else {}
        return replace(
            self,
            probabilities=probabilities,
            calibrated=calibrated,
            prediction=self.predicted if top is None else self.prediction,
            _cache=cache,
        )

    def with_prediction(self, prediction: Array) -> Predictions:
        """The same samples with other predicted classes: positions in `classes`, int32, shape (sample,)."""
        kept = ("top", CONTENT_KEYS)  # samples of decided rows are those of the rows as they came
        cache = {name: self._cache[name] for name in kept if name in self._cache}
        return replace(self, prediction=prediction, _cache=cache)

    @staticmethod
    def concat(parts: Sequence[Predictions]) -> Predictions:
        """Join records that name the same classes, models, judges and so on, in one order.

        Fields that some part lacks are dropped. Raises `InputError` where names or lengths of axes differ.

        >>> p = Predictions.from_classes([0, 1], label=[0, 0])
        >>> len(Predictions.concat([p, p]))
        4
        """
        if not parts:
            raise InputError("at least one record", got="none", remedy="give a record")
        first = parts[0]
        if len(parts) == 1:
            return first
        for part in parts[1:]:
            _refuse_other_axes(first, part)
        shared = set.intersection(*(set(part.columns) for part in parts))
        return replace(
            first,
            rows=sum(part.rows for part in parts),
            columns={
                k: np.concatenate([part.columns[k] for part in parts]) for k in sorted(shared)
            },
            rounded=next((part.rounded for part in parts if part.rounded is not None), None),
            rows_in_all=None,
            _cache=_joined_cache([part._cache for part in parts]),
            **{name: _joined_field(name, parts) for name in FIELDS},
        )


def _given_fields(arrays: Plain, source: str | None) -> Json:
    """The arrays that are not None, at least one; `InputError` for names that are no fields."""
    unknown = set(arrays) - set(FIELDS)
    if unknown:
        raise InputError(
            f"fields among {', '.join(FIELDS)}",
            got=", ".join(sorted(unknown)),
            remedy="rename the arrays",
        )
    supplied = {name: value for name, value in arrays.items() if value is not None}
    if not supplied:
        raise InputError(
            "at least one field", got="none", remedy=f"give one of {', '.join(FIELDS)}", file=source
        )
    return supplied


def _check_axis_names(axis: str, names: Strings, arrays: Plain) -> None:
    """Names of an axis: each once, and as many as the fields have entries along it."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        expected = f"distinct names along the {axis} axis"
        raise InputError(expected, got=f"{twice} twice", remedy="rename one")
    for field_name, value in arrays.items():
        order = FIELDS[field_name].axes
        if axis in order and (size := value.shape[order.index(axis)]) != len(names):
            expected = f"{size} names, one for each {axis}"
            raise InputError(
                expected,
                got=f"{len(names)}",
                remedy="name every entry once, in their order",
                column=field_name,
            )


def _refuse_other_axes(first: Predictions, part: Predictions) -> None:
    """`InputError` where a part has other classes than the first, another number of entries along an axis, or other
    names of them where both have names.
    """
    if part.classes != first.classes:
        expected = (
            f"records with the same classes as {first.source or 'the first'}, in the same order"
        )
        got = f"{shown(part.classes)} against {shown(first.classes)}"
        remedy = "read them with the same class names, classes=[...]"
        raise InputError(expected, got=got, remedy=remedy, file=part.source)
    for column, about in FIELDS.items():
        theirs, value = getattr(first, column), getattr(part, column)
        if theirs is None or value is None:
            continue
        for position, axis in enumerate(about.axes):
            if axis in ("sample", "class"):
                continue
            names, size = part.names.get(axis), value.shape[position]
            first_names, wanted_size = first.names.get(axis), theirs.shape[position]
            if size != wanted_size:
                expected = f"{wanted_size} {column}, as in {first.source or 'the first record'}"
                got, remedy = f"{size}", f"join records with the same {column}"
            elif names is not None and first_names is not None and names != first_names:
                expected, got = f"{column} named {shown(first_names)}, in this order", shown(names)
                remedy = "read them as one list of files, which puts them in order by name"
            else:
                continue
            raise InputError(expected, got=got, remedy=remedy, file=part.source, column=column)


def _joined_field(name: str, parts: Sequence[Predictions]) -> Any:
    """One field of all parts; None where some part lacks it."""
    values = [getattr(part, name) for part in parts]
    if any(value is None for value in values):
        return None
    if isinstance(values[0], Ragged):
        return Ragged.concat(values)
    return kernels.concatenated(values, FIELDS[name].sample)


def _joined_tops(tops: Sequence[kernels.Top]) -> kernels.Top:
    return kernels.Top(*map(kernels.concatenated, zip(*tops, strict=True)))


# How what is known of each part is joined, so that it need not be worked out again.
_CACHE_JOINS: dict[str, Callable[[Any], Any]] = {
    "top": _joined_tops,
    "verdicts": np.concatenate,
    CONTENT_KEYS: np.concatenate,
    "argmax": all,
}


def _joined_cache(caches: Sequence[Mapping[str, Any]]) -> Json:
    """What is known of all parts; what was noted of some."""
    cache = {
        key: join([cache[key] for cache in caches])
        for key, join in _CACHE_JOINS.items()
        if all(key in cache for cache in caches)
    }
    if any("noted" in cache for cache in caches):
        noted = (Counter(cache.get("noted", {})) for cache in caches)
        cache["noted"] = dict(sum(noted, Counter()))
    return cache


class CheckedFields(NamedTuple):
    """What `check_fields` makes of arrays."""

    rows: int
    classes: ClassNames | None
    arrays: Json
    learnt: Json  # on the way, for the cache of the record, and `rounded`


def check_fields(
    supplied: Plain, classes: ClassNames | None, positions: bool = False
) -> CheckedFields:
    """Check arrays by field. ``positions`` says that labels and predictions are positions among candidates although no
    scores of these are here. Rows in errors are counted from the start of these arrays.
    """
    learnt: Json = {}
    supplied = {name: supplied[name] for name in FIELDS if name in supplied}
    beside = [name for name, about in FIELDS.items() if positions and about.positions]
    ordered = refuse_classes_beside_positions([*supplied, *beside], classes)
    arrays = _checked(supplied, classes, learnt)
    coded = {name: value for name, value in supplied.items() if FIELDS[name].cell == "class"}
    names: ClassNames | None = None
    entries = None
    if ordered is None:
        classes = _class_names(coded, arrays, classes)
        names = classes or ()
    else:
        entries = arrays.get(ordered)
    for name, value in coded.items():
        arrays[name] = codes = _coded(value, name, names, entries)
        if noted := _noted(value, name, codes, classes or ()):
            learnt["noted"] = learnt.get("noted", {}) | noted
    arrays |= {name: as_numpy(value) for name, value in supplied.items() if name not in arrays}
    rows = _one_length(arrays)
    if {"prediction", "probabilities"} <= arrays.keys():
        learnt["argmax"] = follows_argmax(
            arrays["prediction"], arrays["probabilities"], classes or ()
        )
    for name in supplied:
        if (give := FIELDS[name].give) is not None:
            arrays |= give(arrays, learnt)
    return CheckedFields(rows, classes, arrays, learnt)


def _checked(supplied: Plain, classes: ClassNames | None, learnt: Json) -> Json:
    """The arrays of fields that have a check of their own, and verdicts; ``learnt`` is added to."""
    arrays: Json = {}
    for name, value in supplied.items():
        if (check := FIELDS[name].check) is not None:
            arrays[name] = check(value, classes, learnt)
        elif FIELDS[name].cell == "truth":
            arrays[name] = _truths(value, name)
    return arrays


def _truths(value: Any, name: str) -> Array:
    """Verdicts as 1, 0 and -1, the last where the field may be unknown."""
    array, about = truth_values(value, name), FIELDS[name]
    if array.ndim != len(about.axes):
        raise InputError(f"axes {about.axes}", got=f"shape {array.shape}", column=name)
    if not about.unknown:
        expected, remedy = "a verdict from every judge", "drop the row"
        refuse(array < 0, name, expected, "null", remedy, about.sample)
    return array


def _class_names(coded: Plain, arrays: Plain, classes: ClassNames | None) -> ClassNames | None:
    """The class names: as given, else 0 to K - 1 of a class axis, else those that occur in coded fields."""
    widths = {name: value.shape[-1] for name, value in arrays.items() if FIELDS[name].of_classes}
    if classes is not None:
        wrong = next((name for name, width in widths.items() if width != len(classes)), None)
        if wrong is not None:
            expected, got = f"{len(classes)} classes", f"{widths[wrong]}"
            raise InputError(
                expected, got=got, remedy="name every class once, in column order", column=wrong
            )
        return classes
    if len(set(widths.values())) > 1:
        got = ", ".join(f"{k}: {v}" for k, v in widths.items())
        raise InputError("one number of classes", got=got, remedy="align them")
    if widths:
        answers, probabilities = coded.get("prediction"), arrays.get("probabilities")
        if answers is not None and probabilities is not None:
            names = find_classes({"prediction": answers})
            codes = encode(answers, names, "prediction", "prediction")
            proved = proved_classes(probabilities, codes, names)
            if proved is not None:
                return proved
        return tuple(range(next(iter(widths.values()))))
    return find_classes(coded) if coded else None


def _noted(value: Any, name: str, codes: Array, classes: ClassNames) -> dict[str, int]:
    """How many labels were words or unknown classes and how many predictions null (`Predictions.noted`)."""
    noted = dict(value.noted) if isinstance(value, Coded) else {}
    if name == "prediction" and NO_ANSWER in classes:
        count = int(np.count_nonzero(codes == classes.index(NO_ANSWER)))
        noted |= {"no answer": count} if count else {}
    return noted


def _one_length(arrays: Plain) -> int:
    """Number of samples, which is the same in every field."""
    lengths = {
        name: len(value) if isinstance(value, Ragged) else value.shape[FIELDS[name].sample]
        for name, value in arrays.items()
    }
    rows = int(next(iter(lengths.values())))
    for name, length in lengths.items():
        check_length(rows, length, name)
    return rows


def _coded(value: Any, name: str, classes: ClassNames | None, entries: Ragged | None) -> Array:
    """Positions among the classes, or among candidates where there are none."""
    about = FIELDS[name]
    codes = encode_positions(value, name) if classes is None else encode(value, classes, name, name)
    if codes.ndim != len(about.axes):
        expected, got = f"an array with axes ({', '.join(about.axes)})", f"shape {codes.shape}"
        raise InputError(expected, got=got, remedy="reshape it", column=name)
    if not about.unknown:
        remedy = "leave out the model or view that has no answer there"
        if name == "prediction":
            remedy = (
                "leave the column out, then what has the highest "
                "probability is predicted; a dropped row is no error"
            )
        kind = NewClassError if name == "prediction" else InputError
        expected = "a predicted class" if classes is not None else "a predicted position"
        refuse(codes < 0, name, expected, "null", remedy, about.sample, kind)
    if entries is not None:
        check_length(len(entries), codes.shape[about.sample], name)
        check_within(codes, entries, name)
    return codes


def shown(names: Sequence[int | str] | None) -> str:
    """The first names of an axis, and how many there are of a long one."""
    names = names or ()
    return (", ".join(map(str, names[:6])) or "none") + (
        f", ... ({len(names)})" if len(names) > 6 else ""
    )


def follows_argmax(prediction: Array, probabilities: Array, names: ClassNames) -> bool:
    """Whether every predicted class has the highest probability, ties allowed; else they are decisions of another rule.
    Raises `InputError` where decisions go against the probabilities: where these give the predicted classes less than
    they give the same predictions in another order. Then columns are swapped, or come from another model.
    """
    p_predicted = probabilities[np.arange(len(prediction)), prediction]
    off = p_predicted < probabilities.max(axis=1) - 1e-6
    if not off.any():
        return True
    shares = np.bincount(prediction, minlength=probabilities.shape[1]) / len(prediction)
    if off.mean() > _MOSTLY and p_predicted.mean(dtype=np.float64) <= shares @ probabilities.mean(
        axis=0, dtype=np.float64
    ):
        row = int(np.argmax(off))
        got = (
            f"{names[int(prediction[row])]!r} where {names[int(probabilities[row].argmax())]!r} has the highest, "
            f"and the like in {100 * off.mean():.1f} % of the rows"
        )
        remedy = (
            "check whether class columns are swapped; to judge the argmax, leave `prediction` out"
        )
        decided = np.array([str(name) for name in names], dtype=object)[prediction]
        order = columns_by_decisions(probabilities, decided, [str(name) for name in names])
        if order is not None and len(prediction) >= PROVED_ROWS * len(order):
            pairs = [
                (f"prob_{was}", f"prob_{name}") for was, name in zip(names, order, strict=True)
            ]
            maps = [f"--map {shlex.quote(f'{was}={name}')}" for was, name in pairs if was != name]
            remedy = f"by the predictions the columns are those of {', '.join(order)}: name columns prob_<class> so "
            remedy += f"({' '.join(maps)}), or lists by --classes {shlex.quote(','.join(order))}"
        refuse(off, "prediction", "predictions that go with the probabilities", got, remedy)
    return False
