"""Pay-off: what a prediction of each class brings or costs for each true class, and the expected value of all."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import ClassNames
from ..errors import InputError, NotApplicable
from ..plain import Json
from ..predictions import Predictions
from ..registry import register
from .base import Measure, measure
from .confusion import Confusion, ConfusionMetric
from .resampling import dot, from_influence

_SHAPE = (
    "rows by true class, columns by predicted class, such as "
    '{"no": {"no": 0, "yes": -1}, "yes": {"no": -20, "yes": 5}}'
)


@dataclass(frozen=True)
class Payoff:
    """Values by name, ``values[truth][prediction]``; ``file`` is where they came from."""

    values: Mapping[str, Mapping[str, float]]
    file: str | None = None

    @classmethod
    def of(cls, given: Any) -> Payoff:
        """From a mapping of mappings, its JSON text, or a .json or .csv file (header: predicted, first column: true).

        Raises `InputError` for what is no such table.

        >>> Payoff.of('{"no": {"no": 0, "yes": -1}, "yes": {"no": -20, "yes": 5}}').matrix(("no", "yes")).tolist()
        [[0.0, -1.0], [-20.0, 5.0]]
        """
        if isinstance(given, Payoff):
            return given
        if not isinstance(given, (str, Path)):
            return cls(_numbers(given, None))
        text = str(given)
        if text.lstrip().startswith(("{", "[")):
            return cls(_numbers(_json(text, None), None))
        path = Path(text)
        try:
            content = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            expected = "a file with a pay-off matrix, .json or .csv, or JSON text"
            got = (
                type(error).__name__
                if isinstance(error, UnicodeDecodeError)
                else str(error.strerror).lower()
            )
            raise InputError(expected, got=got, file=text, remedy=f"write {_SHAPE}") from None
        table = _csv(content, text) if path.suffix.lower() == ".csv" else _json(content, text)
        return cls(_numbers(table, text), text)

    def matrix(self, classes: ClassNames) -> Array:
        """The values in the order of the classes, float64, axes (true class, predicted class). Raises `InputError`
        where a class has no row or column, or a row or column is of no class.
        """
        names = [str(name) for name in classes]
        classes_text = f"the {len(names)} classes {', '.join(names[:6])}" + (
            ", ..." if len(names) > 6 else ""
        )
        for truth in names:
            if truth not in self.values:
                raise self._odd(f"a row for each of {classes_text}", f"none for {truth!r}")
            for guess in names:
                if guess not in self.values[truth]:
                    raise self._odd(
                        f"a column for each of {classes_text}",
                        f"none for {guess!r} in row {truth!r}",
                    )
        for truth, row in self.values.items():
            for name in (truth, *row):
                if name not in names:
                    raise self._odd(f"names among {classes_text}", repr(name))
        return np.array([[self.values[truth][guess] for guess in names] for truth in names])

    def _odd(self, expected: str, got: str) -> InputError:
        return InputError(
            expected,
            got=got,
            file=self.file,
            column="payoff",
            remedy="rows are true classes, columns are predicted ones, both by name",
        )


def _numbers(table: Any, file: str | None) -> dict[str, dict[str, float]]:
    """The table as finite numbers by names that are texts."""
    odd = table
    if isinstance(table, Mapping):
        odd = next((row for row in table.values() if not isinstance(row, Mapping)), None)
    if not isinstance(table, Mapping) or odd is not None or not table:
        raise InputError(
            _SHAPE, got=repr(odd)[:60], file=file, column="payoff", remedy="name every class"
        )
    out: dict[str, dict[str, float]] = {}
    for truth, row in table.items():
        out[str(truth)] = {}
        for guess, cell in row.items():
            is_number = isinstance(cell, (int, float, np.number)) and not isinstance(cell, bool)
            if not is_number or not math.isfinite(cell):
                raise InputError(
                    f"a number for truth {truth!r} and prediction {guess!r}",
                    got=repr(cell)[:60],
                    file=file,
                    column="payoff",
                    remedy="costs are numbers below 0",
                )
            out[str(truth)][str(guess)] = float(cell)
    return out


def _json(text: str, file: str | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(
            "JSON", got=str(error), file=file, column="payoff", remedy=f"write {_SHAPE}"
        ) from None


def _csv(text: str, file: str) -> dict[str, Json]:
    """A table whose header names the predicted classes, and whose first column the true ones."""
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise InputError(
            "a header and a row for each class",
            got=f"{len(rows)} rows",
            file=file,
            remedy=f"write {_SHAPE}",
        )
    out: dict[str, Json] = {}
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{len(rows[0])} cells",
                got=str(len(row)),
                file=file,
                row=number,
                remedy="give each row one cell a class",
            )
        if row[0].strip() in out:
            raise InputError(
                "each true class once",
                got=row[0].strip(),
                file=file,
                row=number,
                remedy="drop a row",
            )
        out[row[0].strip()] = {
            name.strip(): _cell(cell) for name, cell in zip(rows[0][1:], row[1:], strict=True)
        }
    return out


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@register("metric")
class ExpectedValue(ConfusionMetric[Measure]):
    """Mean pay-off of a row, sum_jk C_jk V_jk / n, in the units of the matrix V; costs are numbers below 0.

    ``payoff`` gives V by class name: rows are true classes, columns predicted ones. ``total`` is that of all rows. The
    interval is Wilson's for a mean between the smallest and the largest entry of V. Source: Elkan (2001).

    >>> worth = ExpectedValue({"no": {"no": 0, "yes": -1}, "yes": {"no": -20, "yes": 5}})
    >>> record = Predictions.from_classes(["no", "yes", "yes"], label=["no", "yes", "no"])
    >>> worth.compute(record).value  # (0 + 5 - 1) / 3
    1.3333333333333333
    """

    name = "expected_value"
    bigger_is_better = True
    quiet = True
    citation = "elkan2001"
    bounds = (float("-inf"), float("inf"))

    def __init__(self, payoff: Any = None) -> None:
        self.payoff = None if payoff is None else Payoff.of(payoff)

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        return (
            "needs a pay-off matrix: --payoff FILE, payoff={...}"
            if self.payoff is None
            else self.missing(record)
        )

    def _values(self, state: Confusion) -> Array:
        if self.payoff is None:
            raise NotApplicable("needs a pay-off matrix: --payoff FILE, payoff={...}")
        return self.payoff.matrix(state.classes)

    def influence(self, state: Confusion) -> tuple[float, Array]:
        """What the row brings less the mean, by the rows."""
        each = self._values(state)[state.truth, state.guess]
        mean = dot(state.counts, each) / state.rows
        return mean, (each - mean) / state.rows

    def _finish(self, state: Confusion, level: float, seed: int) -> Measure:
        n, values = state.rows, self._values(state)
        low, high = float(values.min()), float(values.max())
        each = values[state.truth, state.guess]
        mean, span = dot(state.counts, each) / n, high - low
        if not span:
            return measure(mean, (mean, mean), level, "exact", total=mean * n)
        share = min(max((mean - low) / span, 0.0), 1.0)
        variance = dot(state.counts, ((each - mean) / span) ** 2) / n / n
        bottom, top = from_influence(share, variance, n, state.rarest, level)
        return measure(
            mean, (low + span * bottom, low + span * top), level, "asymptotic", total=mean * n
        )


def with_payoff(metrics: Any, payoff: Any) -> None:
    """Give those of ``metrics`` that weigh by a pay-off matrix the matrix that `Payoff.of` makes of ``payoff``; None
    changes nothing.
    """
    for metric in metrics:
        if isinstance(metric, ExpectedValue) and payoff is not None:
            metric.payoff = Payoff.of(payoff)
