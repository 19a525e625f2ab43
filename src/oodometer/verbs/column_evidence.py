"""Evidence of a column: what its first rows say of it, and how it goes with others: classes, numbers, decisions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.types as pt

from ..arrays import Array
from ..classes import (
    MOST_DECIMALS,
    YES_AND_NO,
    are_decimals,
    class_by_share,
    columns_by_decisions,
    without_missing,
)
from ..errors import InputError
from ..scores import stated_confidence
from ..store.base import name_order
from ..store.cells import dictionary, plain
from ..store.columns import class_names
from ..store.encoding import raw_numbers
from ..store.nested import PERCENT
from .confidences import is_stated

LEAST_ROWS, _ROWS_OF_TIMES = 20, 100  # that a test needs, that show times
BEYOND = 3.0  # standard errors by which a label goes with the outputs beyond chance
_TIME = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?([ T]\d\d:\d\d.*)?|(19|20)\d\d[-/](0[1-9]|1[0-2])")
_MOST_CLASSES, _MOST_NUMBERS = 1_000, 100  # more whole numbers are counts or amounts
_ROUNDED = 0.02  # of the rows of a class, at most, that rounding moves to the threshold
_SURE = 0.95  # area under the curve of a column for the rows that are predicted as a class


@dataclass(frozen=True, eq=False)
class ColumnEvidence:
    """What the first rows of a column tell.

    numbers : NaN where a cell is none, shape (row,). texts : of the cells, None where empty. classes : the names, in
    their order, where the column may hold some. differs : in every row, as an id does. is_time : whether it holds
    times.
    """

    numbers: Array
    texts: Array
    classes: list[str]
    differs: bool = False
    is_time: bool = False

    @classmethod
    def of(cls, cells: Any, name: str, source: Any) -> ColumnEvidence:
        """The evidence of the ``cells`` of a column called ``name``, as its ``source`` writes numbers and classes."""
        texts, classes = np.full(len(cells), None, dtype=object), list[str]()
        differs = False
        with suppress(InputError):
            texts, classes, differs = _classes_in(cells, name, source)
        return cls(
            numbers=_numbers_in(cells, name, source),
            texts=texts,
            classes=classes,
            differs=differs,
            is_time=pt.is_temporal(cells.type) or _are_times(texts),
        )

    @classmethod
    def of_numbers(cls, numbers: Array) -> ColumnEvidence:
        """The evidence of numbers that no column holds."""
        return cls(numbers, np.full(len(numbers), None, dtype=object), [])

    @cached_property
    def _finite(self) -> Array:
        return np.asarray(self.numbers[np.isfinite(self.numbers)])

    @cached_property
    def varies(self) -> bool:
        """Whether there are more than two different numbers."""
        return len(np.unique(self._finite)) > 2

    @property
    def is_unit(self) -> bool:
        """Whether all numbers lie between 0 and 1."""
        finite = self._finite
        return bool(len(finite) and finite.min() >= 0 and finite.max() <= 1)

    @property
    def is_hundredth(self) -> bool:
        """Whether all numbers lie between 0 and 100, some above 1, as percents of a class do."""
        finite = self._finite
        return bool(len(finite) and finite.min() >= 0 and 1 < finite.max() <= 100)

    @property
    def is_share(self) -> bool:
        """Whether it may be a probability: different numbers between 0 and 1."""
        return self.is_unit and self.varies

    @cached_property
    def is_regression(self) -> bool:
        """Whether its classes are decimals, more of them than grades have."""
        texts = [name.replace(",", ".") for name in self.classes]
        return len(texts) > MOST_DECIMALS and are_decimals(texts)

    @property
    def is_percent(self) -> bool:
        """Whether it may be a probability in percent: decimals between 0 and 100, most of them above 1."""
        finite = self._finite
        return bool(
            self.varies
            and finite.min() >= 0
            and finite.max() <= 100
            and (finite > 1).mean() > 0.5
            and (finite != np.round(finite)).mean() > 0.5
        )

    @property
    def is_raw_score(self) -> bool:
        """Whether it may be what a model ranks by: decimals below and above 0."""
        finite = self._finite
        return bool(self.varies and finite.min() < 0 and (finite != np.round(finite)).mean() > 0.5)

    def tells(self, other: ColumnEvidence) -> str | None:
        """The one of two classes of another column whose rows have the larger numbers, nearly all of them."""
        mask = np.isfinite(self.numbers) & np.isin(other.texts, other.classes)
        if len(other.classes) != 2 or mask.sum() < LEAST_ROWS:
            return None
        auc = area(self.numbers[mask], other.texts[mask] == other.classes[1])
        return other.classes[1] if auc >= _SURE else other.classes[0] if auc <= 1 - _SURE else None

    def decides(self, other: ColumnEvidence) -> bool:
        """Whether a threshold of these numbers tells two classes of another column apart, but for few that are rounded
        to it.
        """
        mask = np.isfinite(self.numbers) & np.isin(other.texts, other.classes)
        is_score = self.is_share or self.is_percent
        if not is_score or len(other.classes) != 2 or mask.sum() < LEAST_ROWS:
            return False
        first, second = (self.numbers[mask & (other.texts == name)] for name in other.classes)
        if not len(first) or not len(second):
            return False
        low, high = (first, second) if first.mean() < second.mean() else (second, first)
        on_threshold = float((low == high.min()).mean())
        return bool(low.max() <= high.min() and on_threshold <= _ROUNDED)

    def is_never_below(self, bound: float) -> bool:
        """Whether 20 numbers or more all reach ``bound``, as the confidence in the best of 1 / bound classes does."""
        finite = self.numbers[np.isfinite(self.numbers)]
        return self.is_share and len(finite) >= LEAST_ROWS and float(finite.min()) >= bound - 0.001

    def likelier(self, label: ColumnEvidence) -> str | None:
        """The one of two classes whose share of the rows is the mean of these numbers; None where both may be."""
        return class_by_share(self.numbers, label.texts, label.classes)

    def is_calibrated(self, label: ColumnEvidence) -> bool:
        """Whether it tells the second of two classes better than the frequency of that class does."""
        y = label.texts == label.classes[-1]
        return len(label.classes) == 2 and bool(
            np.nanmean((self.numbers - y) ** 2) < 0.95 * y.var()
        )

    @property
    def is_told_by_classes(self) -> bool:
        """Whether its classes are seldom those of another column: more than two, or two words besides yes and no."""
        words = {name.strip().lower() for name in self.classes}
        return (
            len(words) > 1
            and not all(name.isdecimal() for name in words)
            and not words <= YES_AND_NO
        )

    def goes_with(self, label: ColumnEvidence) -> float:
        """As `beyond_chance`, of the class in each row."""
        same = self.texts[:, None] == np.array(self.classes, dtype=object)
        return beyond_chance(same.astype(float), self.classes, label.texts)


def proved_order(probabilities: Array, decision: ColumnEvidence) -> list[str] | None:
    """The class that each column of probabilities is of, by the decisions beside them; shape (sample, class). None
    where rows contradict each other or leave two orders.
    """
    mask = np.isfinite(probabilities).all(axis=1) & np.isin(decision.texts, decision.classes)
    return columns_by_decisions(probabilities[mask], decision.texts[mask], decision.classes)


def beyond_chance(probabilities: Array, classes: Sequence[str], truth: Array) -> float:
    """Standard errors by which the probability of the true class lies above what it would be if both were independent;
    probabilities have the shape (sample, class).
    """
    mask = np.isfinite(probabilities).all(axis=1) & np.isin(truth, classes)
    index = {name: k for k, name in enumerate(classes)}
    at, p = np.array([index[name] for name in truth[mask]], dtype=int), probabilities[mask]
    if len(at) < 3:
        return 0.0
    excess = p[np.arange(len(at)), at] - p @ (np.bincount(at, minlength=len(classes)) / len(at))
    error = float(excess.std()) / len(at) ** 0.5
    return float(excess.mean()) / error if error else 0.0


def area(values: Array, is_positive: Array) -> float:
    """Area under the ROC curve, 0.5 where one kind of rows is absent."""
    n, m = int(is_positive.sum()), int((~is_positive).sum())
    if not n or not m:
        return 0.5
    _, cell, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return (float(rank[cell][is_positive].sum()) - n * (n + 1) / 2) / (n * m)


def _classes_in(cells: Any, name: str, source: Any) -> tuple[Array, list[str], bool]:
    """The texts of cells, the names of their classes, none where they hold counts or ids, and whether each differs."""
    coded = dictionary(plain(cells), name, source.raw_text)
    distinct = {str(value) for value in coded.values if value is not None}
    known = {*map(str, source.layout.wide_classes or ())}  # prob_None says that None is a class
    names = sorted(without_missing(distinct, known))
    texts = np.array(
        [*(None if value is None else str(value) for value in coded.values), None], dtype=object
    )[coded.codes]
    differs = len(names) == len(cells) > 1
    are_numbers = isinstance(class_names(names)[0] if names else "", int)
    if not 1 < len(names) <= (_MOST_NUMBERS if are_numbers else _MOST_CLASSES):
        return texts, [], differs
    if differs and len(cells) >= LEAST_ROWS:
        return texts, [], differs
    return texts, [str(class_) for class_ in name_order(class_names(names))], differs


def _numbers_in(cells: Any, name: str, source: Any) -> Array:
    """The numbers of cells; NaN in every row of a column that mostly holds others, and of a confidence that some rows
    lack: such a one is compared, and never taken unasked.
    """
    nothing = np.full(len(cells), np.nan)
    numbers = nothing
    with suppress(InputError):
        read = raw_numbers(cells, name, source.raw_text, source.decimal_comma)
        numbers = read if np.isfinite(read).mean() > 0.9 else numbers
    if np.isnan(numbers).all():
        numbers = _percents_in(cells)
    if not is_stated(name):
        return numbers
    if np.isnan(numbers).all() or np.nanmax(numbers) > 1:
        with suppress(InputError):
            numbers, _ = stated_confidence(cells.to_pylist(), name)
    return nothing if np.isnan(numbers).any() else numbers


def _percents_in(cells: Any) -> Array:
    """Cells that all are percents with a sign, as shares of 1; else NaN."""
    cells = plain(cells, coded=False)
    is_text = pt.is_string(cells.type) or pt.is_large_string(cells.type)
    texts: list[Any] = cells.to_pylist() if is_text else [None] * len(cells)
    if not all(text is not None and PERCENT.fullmatch(text) for text in texts):
        return np.full(len(texts), np.nan)
    return np.array([float(text.strip(" %").replace(",", ".")) / 100 for text in texts])


def _are_times(texts: Array) -> bool:
    """Whether the first texts that are there are all times."""
    first = [text for text in texts[:_ROWS_OF_TIMES] if text is not None]
    return bool(first) and all(map(_TIME.fullmatch, first))
