"""Class metrics: precision, recall, F1, ROC AUC and more, read off expected (or measured) numbers of each class."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aliases import canonical
from ..arrays import Array
from ..classes import ClassNames
from ..errors import NotApplicable, UsageError
from ..inference import decision_metrics as of
from .expected_classes import ExpectedClasses


@dataclass(frozen=True)
class ClassMetric:
    """A metric of classes: ``name`` as it was asked for, ``base`` the metric itself, for one class or averaged.

    Parameters
    ----------
    at : position of the class it is about; None for the positive one of two classes, else for the mean over classes.
    payoff : for ``expected_value``: what a sample brings, axes (true class, predicted class).
    """

    name: str
    base: str
    at: int | None = None
    payoff: Array | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest possible value."""
        if self.payoff is not None:
            return float(self.payoff.min()), float(self.payoff.max())
        return (-1.0, 1.0) if self.base in ("mcc", "cohen_kappa") else (0.0, 1.0)

    @property
    def needs_scores(self) -> bool:
        """Whether it asks for the probabilities of the classes."""
        return self.base in _BY_SCORE

    @property
    def zero_over_zero(self) -> bool:
        """Whether 0/0 counts as 0, with all possible values as its interval: so it is of all but areas and pay-offs."""
        return not self.needs_scores and self.payoff is None

    def __call__(self, expected: ExpectedClasses, positive: int = 1) -> Array:
        """The value, axes (...) as the leading ones of ``expected``; NaN where it is undefined (0/0)."""
        return np.asarray(np.clip(self._value(expected, positive), *self.bounds))  # rounding may have left them

    def _value(self, expected: ExpectedClasses, positive: int) -> Array:
        if self.payoff is not None:
            if expected.confusion is None:
                raise NotApplicable("`expected_value` needs each pair of classes, which are too many here")
            return of.expected_value(expected.confusion, self.payoff)
        margins = expected.margins
        at = self.about(margins.support.shape[-1], positive)
        whole = _OF_ALL.get(self.base if at is not None else f"macro_{self.base}", _OF_ALL.get(self.base))
        if whole is not None:
            return np.asarray(whole(margins))
        if self.base in _BY_SCORE and expected.positives is None:
            raise NotApplicable(f"`{self.base}` needs `probabilities`")
        by_score = self.base in _BY_SCORE
        per_class: Array = (
            _BY_SCORE[self.base](expected.positives, expected.negatives)
            if by_score
            else _BY_CLASS[self.base](margins, np.nan)
        )
        if at is not None:
            return np.asarray(per_class[..., at])
        # a class that is neither predicted nor there says nothing, nor does a curve without both sides
        used = np.isfinite(per_class) & (margins.support + margins.predicted >= 0.5)
        return of.ratio(np.where(used, per_class, 0.0).sum(axis=-1), used.sum(axis=-1))

    def about(self, classes: int, positive: int) -> int | None:
        """Position of the one class that it is about; None where it is of all of them."""
        if self.base not in _OF_ONE_CLASS or self.at is not None or classes != 2:
            return self.at
        return positive


_OF_ALL: dict[str, Callable[[Any], Array]] = {
    "balanced_accuracy": of.balanced_accuracy,
    "mcc": of.mcc,
    "cohen_kappa": of.cohen_kappa,
    "macro_precision": of.macro_precision,
    "macro_recall": of.macro_recall,
    "macro_f1": of.macro_f1,
}
_BY_CLASS: dict[str, Callable[[Any, float], Array]] = {
    "f1": of.class_f1,
    "precision": of.class_precision,
    "recall": of.class_recall,
    "specificity": of.class_specificity,
}
_BY_SCORE: dict[str, Callable[[Any, Any], Array]] = {
    "roc_auc": of.roc_auc,
    "average_precision": of.average_precision,
}
CLASS_METRICS: tuple[str, ...] = (*_BY_CLASS, *_BY_SCORE, *_OF_ALL, "expected_value")
_OF_ONE_CLASS = (*_BY_CLASS, *_BY_SCORE)


def metric_name(name: str) -> str:
    """The name that a metric is known by, whatever it was called.

    >>> metric_name("AUC"), metric_name("tpr:cat")
    ('roc_auc', 'recall:cat')
    """
    return canonical("metric", name.strip(), [*CLASS_METRICS, "accuracy"])


def class_metric(name: str, classes: ClassNames = (), payoff: Array | None = None) -> ClassMetric:
    """The metric of a name such as ``f1``, ``auc`` or ``recall:CLASS``; `UsageError` for one that there is not.

    >>> class_metric("auc").base, class_metric("recall:cat", ("cat", "dog")).at
    ('roc_auc', 0)
    """
    base, _, of_class = metric_name(name).partition(":")
    if base not in CLASS_METRICS:
        near = difflib.get_close_matches(base.lower(), CLASS_METRICS, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no metric {name!r} to estimate without labels; {hint}there are accuracy, "
                         f"{', '.join(CLASS_METRICS)}")  # fmt: skip
    if base == "expected_value" and payoff is None:
        raise UsageError("the metric expected_value needs a pay-off matrix: --payoff FILE, rows by true class")
    at = _position(name, base, of_class, classes) if of_class else None
    return ClassMetric(
        f"{base}:{of_class}" if of_class else base, base, at, payoff if base == "expected_value" else None
    )


def _position(name: str, base: str, of_class: str, classes: ClassNames) -> int:
    if base not in _OF_ONE_CLASS:
        raise UsageError(f"{name!r}: {base} is of all classes together; of one there are {', '.join(_OF_ONE_CLASS)}")
    known = [str(one) for one in classes]
    if of_class not in known:
        shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        raise UsageError(f"{name!r}: there is no class {of_class!r}; the classes are {shown}")
    return known.index(of_class)


def class_metrics_asked(
    names: Sequence[str], classes: ClassNames, payoff: Array | None = None
) -> tuple[ClassMetric, ...]:
    """The metrics of these names, each once, accuracy left out: it is estimated whatever is asked."""
    found = [class_metric(name, classes, payoff) for name in names if metric_name(name) != "accuracy"]
    return tuple({one.name: one for one in found}.values())


def values_of(metrics: Sequence[ClassMetric], expected: ExpectedClasses, positive: int) -> dict[str, Array]:
    """Name -> value of every metric that these counts can tell, axes as the leading ones of ``expected``."""
    out = {}
    for one in metrics:
        try:
            out[one.name] = one(expected, positive)
        except NotApplicable:
            continue
    return out
