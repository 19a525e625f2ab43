"""Thresholding: from which P(Correct) judges accept, from labelled outputs, from their folder, or a number for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import HALF, AcceptanceThresholds, fit_thresholds
from ...errors import InputError
from ...predictions import Predictions
from .pairs import TextRows

PROBABILITY = "p_correct_"


@dataclass(frozen=True, eq=False)
class Acceptance:
    """How judges accept: by ``thresholds`` that were set on the outputs of ``origin``, or all from ``number`` on."""

    thresholds: AcceptanceThresholds | None = None
    origin: str | None = None
    number: float = HALF

    @property
    def is_usual(self) -> bool:
        """Whether it is the paper's, P(Correct) >= 0.5."""
        return self.thresholds is None and self.number == HALF

    def votes(self, said: Array, end: str = "values") -> Array:
        """Verdicts, int8, axes (judge, sample), of probabilities of these axes; ``end``: values, strict or lenient."""
        if self.thresholds is None:
            return (said >= self.number).astype(np.int8)
        found: Array = said >= getattr(self.thresholds, end)[:, None]
        return found.astype(np.int8)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """A plain mapping, ready for JSON."""
        if self.thresholds is None:
            return {"from": None, "by_judge": [{"judge": name, "value": self.number} for name in names]}
        return {"from": self.origin, **self.thresholds.to_dict(names)}

    @property
    def assumes(self) -> str:
        """What the bounds rest on besides what votes always do; empty for a number."""
        if self.thresholds is None:
            return ""
        one = self.thresholds
        return f"; they accept as often as the model was right on {one.rows:,} labelled outputs ({self.origin})"


def calibrated(said: Array, rows: TextRows, level: float) -> Acceptance:
    """Thresholds from what judges say of labelled outputs, axes (judge, sample); `InputError` where none follow.

    Only rows whose truth is known count.
    """
    truth = check_labelled(rows)
    known = np.flatnonzero(truth >= 0)
    try:
        found = fit_thresholds(said[:, known], truth[known], level)
    except InputError as error:
        raise error.at(file=rows.name) from None
    return Acceptance(found, rows.short_name)


def check_labelled(rows: TextRows) -> Array:
    """What `labelled` says, of which some must be known; else `InputError`."""
    truth = labelled(rows)
    if (truth >= 0).any():
        return truth
    what = "labelled outputs to set the judges' thresholds on: a column gold (or correct)"
    if rows.golds is None:
        raise rows.lacks(what, "gold")
    raise InputError(what, got="no row whose gold is known", remedy="give the gold outputs", file=rows.name)


def labelled(rows: TextRows) -> Array:
    """Whether each output is right, int8, shape (sample,): by `correct` where it is known, else by gold; -1 unknown."""
    return np.where(rows.correct >= 0, rows.correct, rows.equal).astype(np.int8)


def thresholds_of_folder(about: Mapping[str, Any]) -> Acceptance:
    """What a folder of judges keeps of thresholds; the paper's where it keeps none."""
    told = about.get("thresholds")
    if not told:
        return Acceptance()
    return Acceptance(AcceptanceThresholds.from_dict(told), str(told["from"]))


def shortest(said: Array) -> Array:
    """The float32 numbers as float64 that are written in the fewest digits: what a file gives back is the same.

    >>> shortest(np.array([0.3], dtype=np.float32)).tolist()
    [0.3]
    """
    out: Array = said.astype(np.float32).astype(str).astype(np.float64)
    return out


def with_probabilities(record: Predictions, said: Array, names: Sequence[str]) -> Predictions:
    """The record with a column ``p_correct_<judge>`` for each judge, so that other thresholds need no judge."""
    found = {f"{PROBABILITY}{name}": one for name, one in zip(names, said, strict=True)}
    return replace(record, columns={**record.columns, **found}, _cache={})


def probability_columns(rows: TextRows) -> tuple[tuple[str, ...], Array]:
    """Names of the judges whose P(Correct) rows already hold, and these, float64, axes (judge, sample).

    Raises `InputError` for a cell that is no number from 0 to 1.
    """
    names, found = [], []
    for column, values in rows.record.columns.items():
        if column.startswith(PROBABILITY):
            names.append(column.removeprefix(PROBABILITY))
            out = np.empty(len(values))
            for row, cell in enumerate(values.tolist()):
                try:
                    out[row] = float(cell)
                except (TypeError, ValueError):
                    out[row] = np.nan
                if not 0 <= out[row] <= 1:
                    raise rows.error(
                        row, "a probability from 0 to 1", repr(cell)[:60], "mend the cell or ask the judges", column
                    )
            found.append(out)
    return tuple(names), np.array(found, dtype=np.float64).reshape(len(names), len(rows.inputs))
