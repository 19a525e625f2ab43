"""The positive class: which of two classes a metric of a binary model is about."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from ..classes import ClassNames
from ..errors import InputError, NotApplicable
from ..registry import create
from .base import Measure, Metric, measure
from .confusion import Confusion, ConfusionMetric


def place_of_class(classes: ClassNames, positive: int | str | None) -> int:
    """Position of the positive class, found by its name; by default the second.

    Raises `InputError` for a class that there is not.

    >>> place_of_class(("no", "yes"), None), place_of_class((0, 1), "0")
    (1, 0)
    """
    if positive is None:
        return 1
    names = [str(name) for name in classes]
    if str(positive) not in names:
        raise InputError(
            f"a positive class among {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}",
            got=repr(positive),
            remedy="name one of them, --positive COLUMN=CLASS or --positive =CLASS",
        )
    return names.index(str(positive))


class AboutClass:
    """Something that is about the positive one of two classes: ``positive`` is its name, by default the second one."""

    positive: int | str | None = None

    def position(self, classes: ClassNames) -> int:
        """Position of the positive class."""
        return place_of_class(classes, self.positive)


def about_class(metrics: Sequence[Metric[Any, Any]], positive: int | str | None) -> list[Metric[Any, Any]]:
    """The metrics; those of one of two classes are about the class named.

    >>> from oodometer.registry import create
    >>> about_class([create("metric", "f1")], "spam")[0].positive
    'spam'
    """
    out = [copy.copy(metric) for metric in metrics]
    for metric in out:
        if isinstance(metric, AboutClass):
            metric.positive = positive
    return out


class PositiveClassMetric(AboutClass, ConfusionMetric[Measure]):
    """A rate of the positive class where there are two classes, a mean over classes where there are more."""

    bigger_is_better = True
    citation = "sokolova2009"
    macro: ClassVar[str]

    def binary(self, state: Confusion, at: int, level: float) -> Measure:
        """The rate of the class at a position, with its exact interval."""
        raise NotImplementedError

    def finish(self, state: Confusion, level: float = 0.95, seed: int = 0) -> Measure:
        """The rate and its interval."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        if len(state.classes) != 2:
            mean = create("metric", self.macro).finish(state, level, seed)
            return measure(mean.value, (mean.lower, mean.upper), level, mean.kind, average="macro")
        at = self.position(state.classes)
        made = self.binary(state, at, level)
        return measure(made.value, (made.lower, made.upper), level, made.kind, positive=state.classes[at])
