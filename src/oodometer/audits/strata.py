"""Strata: tenths of a target by its chances of being right, and what the labels said in each; for the reader only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array

_TENTHS = 10


@dataclass(frozen=True)
class Stratum:
    """One tenth of the target, 0 the least certain: its rows, f over them, and its labels.

    rows : target rows; lowest, expected, highest : least, mean and largest f; labels, correct : labelled rows and those
    of them that are right; suggested : rows to label next.
    """

    stratum: int
    rows: int
    lowest: float
    expected: float
    highest: float
    labels: int
    correct: int
    suggested: int

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def strata(
    score: Array, row: Array, correct: Array, suggested: Array | None = None, count: int = _TENTHS
) -> tuple[Stratum, ...]:
    """Tenths of the target by f, as `suggest` numbers them; empty where f is the same for every row.

    score has shape (sample,), row and correct (label,), ``suggested`` rows (draw,).

    >>> found = strata(np.array([0.5, 0.9, 0.6, 1.0]), np.array([2, 3]), np.array([0, 1]), count=2)
    >>> [(s.rows, s.labels, s.correct) for s in found], found[0].expected
    ([(2, 1, 0), (2, 1, 1)], 0.55)
    """
    if len(score) == 0 or float(score.min()) == float(score.max()):
        return ()
    rank = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    place = rank * count // len(score)
    more = np.zeros(0, dtype=np.int64) if suggested is None else suggested
    out = []
    for s in range(count):
        f = score[place == s]
        if len(f):
            here = place[row] == s
            ends = (float(f.min()), float(f.mean()), float(f.max()))
            out.append(
                Stratum(s, len(f), *ends, int(here.sum()), int(correct[here].sum()), int((place[more] == s).sum()))
            )
    return tuple(out)
