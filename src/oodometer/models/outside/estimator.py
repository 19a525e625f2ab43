"""Estimator: a fitted estimator of scikit-learn, asked by the names of its columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...datasets import Table
from ...errors import InputError, UsageError, WorkError
from .base import OutsideClassifier


@final
class EstimatorClassifier(OutsideClassifier):
    """A fitted classifier with ``predict_proba`` and ``classes_``, such as a pipeline of scikit-learn.

    Where it knows the names of its columns (``feature_names_in_``) a table is put into their order, and refused where
    one is missing; where it does not, a table needs as many columns as it was fitted on, in that order.

    Parameters
    ----------
    estimator : the fitted estimator.
    classes : other names for its classes, in the order of ``classes_``.
    name : how it is called in messages.

    Raises `UsageError` for an estimator that is not fitted or gives no probabilities.
    """

    kind = "estimator"
    reads = ("table", "text", "image")

    def __init__(self, estimator: Any, *, classes: Sequence[int | str] | None = None, name: str | None = None) -> None:
        called = name or type(estimator).__name__
        if not hasattr(estimator, "predict_proba"):
            raise UsageError(f"{called} gives no probabilities (predict_proba); calibrate it or use another")
        try:
            own = [_plain(one) for one in estimator.classes_]
        except AttributeError:
            raise UsageError(f"{called} is not fitted; give one that is") from None
        super().__init__(gives="probabilities", classes=classes or own, name=called)
        self.estimator = estimator
        self.columns = [str(one) for one in getattr(estimator, "feature_names_in_", ())]
        self.by_position = not self.columns

    def _outputs(self, inputs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return self.estimator.predict_proba(self._table(inputs))

    def _table(self, inputs: Any) -> Any:
        if not isinstance(inputs, Table):
            if isinstance(inputs, np.ndarray) and inputs.ndim > 2:
                return inputs.reshape(len(inputs), -1)
            return list(inputs) if isinstance(inputs, tuple) else inputs
        columns = inputs.columns
        missing = [one for one in self.columns if one not in columns]
        if missing:
            raise InputError(
                f"the columns that the model was fitted on, {', '.join(self.columns[:8])}",
                got=f"no {missing[0]!r}; there are {', '.join(list(columns)[:12])}",
                remedy="rename the columns, or name them with --input",
                file=self.name,
            )
        names = self.columns or list(columns)
        if all(columns[name].dtype.kind in "bifu" for name in names):
            return np.stack([np.asarray(columns[name], dtype=np.float64) for name in names], axis=1)
        try:
            import pandas as pd
        except ImportError as error:
            raise WorkError(
                "a table with columns that are no numbers is handed to an estimator as a pandas frame; "
                "pip install pandas"
            ) from error
        return pd.DataFrame({name: columns[name] for name in names})


def _plain(name: Any) -> int | str:
    """A class as a name: a truth value or a whole number is an integer, whatever type a frame gave it.

    >>> _plain(np.float64(1.0)), _plain(np.True_), _plain(np.str_("yes"))
    (1, 1, 'yes')
    """
    plain = name.item() if hasattr(name, "item") else name
    if isinstance(plain, (bool, int)) or (isinstance(plain, float) and plain.is_integer()):
        return int(plain)
    return str(plain)
