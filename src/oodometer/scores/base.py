"""The contract of a score: a record in, one number a sample out, larger = more likely correct."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable
from ..fields import FIELDS, NO_CLASSES
from ..predictions import Predictions
from ..registry import answer


def lacking(needs: tuple[str, ...], record: Predictions) -> str | None:
    """The reason why a record's fields do not suffice, or None, and that quickly: it is asked of every batch."""
    for need in needs:
        if need == "class":
            if not record.has_classes:
                return NO_CLASSES
        elif not any(getattr(record, part, None) is not None for part in need.split("|")):
            of_classes = all(part in FIELDS and FIELDS[part].of_classes for part in need.split("|"))
            if of_classes and not record.has_classes:
                return NO_CLASSES
            return _missing_fields(needs, record)
    return None


def _missing_fields(needs: tuple[str, ...], record: Predictions) -> str | None:
    """Which fields are missing and which are there; None where none is missing."""
    parts = [need.split("|") for need in needs if need != "class"]
    absent = [alternatives for alternatives in parts if not {*alternatives} & {*record.fields}]
    if not absent:
        return None
    missing = " and ".join(
        " or ".join(f"`{part}`" for part in alternatives) for alternatives in absent
    )
    return f"needs {missing}; there are only {', '.join(record.fields) or 'no fields'}"


def _check(values: Any, rows: int) -> None:
    """`ValueError` where a score of someone else is not one finite number for each row."""
    if (
        not isinstance(values, np.ndarray)
        or values.shape != (rows,)
        or values.dtype.kind not in "fiub"
    ):
        raise ValueError(f"expected {rows} numbers, one for each row, got {type(values).__name__}")
    if not np.isfinite(values).all():
        raise ValueError(f"gave {values[~np.isfinite(values)][0]}")


class Score(ABC):
    """One number a sample, shape (sample,), larger = more likely correct.

    A subclass is final: it sets ``name``, ``needs`` (fields of the record; ``"a|b"`` means either, ``"class"`` that
    labels are classes), ``citation``, ``is_probability`` (whether the number may be read as a probability of being
    correct) and defines ``_score``. A score that must learn something from the reference (a distance) also defines
    ``_fit``.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    citation: ClassVar[str]
    is_probability: ClassVar[bool] = False
    _is_foreign: ClassVar[bool] = True  # until it is registered: then it is known

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        return lacking(self.needs, record)

    def fit(self, reference: Predictions) -> Self:
        """A copy that has learnt what it needs from the reference; most scores need nothing."""
        fitted = copy.copy(self)
        fitted._fit(reference)
        return fitted

    def __call__(self, record: Predictions) -> Array:
        """The score of every sample; raises `NotApplicable` where the record lacks a field."""
        why = self.why_not(record)
        if why is not None:
            raise NotApplicable(why)
        if not self._is_foreign:
            return self._score(record)
        return answer(self, lambda: self._score(record), partial(_check, rows=record.rows))

    def leave_one_out(self, reference: Predictions) -> Array:
        """The score of the reference's own rows, each as if it were new; for most scores that is the call itself."""
        return self(reference)

    def _fit(self, reference: Predictions) -> None:  # noqa: B027 - most scores learn nothing
        """Learn from the reference; called on a fresh copy."""

    @abstractmethod
    def _score(self, record: Predictions) -> Array:
        """The score of every sample of a record that has the needed fields."""
