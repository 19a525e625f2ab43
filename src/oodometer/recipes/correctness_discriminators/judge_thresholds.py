"""Judge thresholds: from which P(Correct) the judges accept, and the bounds under each choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...discriminators import HALF, AcceptanceThresholds, fit_thresholds
from ...errors import InputError
from ...predictions import Predictions
from ...scores import natural_confidence
from ...verbs.discriminate.thresholding import PROBABILITY

__all__ = ["JudgeThresholds", "said_of"]


@final
class JudgeThresholds:
    """The judges' thresholds, set on the labelled outputs of the development set.

    ``reference`` are these outputs with what the judges say of them. ``thresholds`` are those of the judges and, last,
    of the parser's confidence (ATC); None where all outputs are right or none is, and all judges keep one half.
    """

    def __init__(self, reference: Predictions, level: float) -> None:
        self.thresholds: AcceptanceThresholds | None = None
        with suppress(InputError):
            self.thresholds = fit_thresholds(_with_confidence(reference), reference.verdicts, level)

    def voted(self, record: Predictions) -> Predictions:
        """The record with the votes of the judges, each accepting from its own threshold on."""
        if self.thresholds is None:
            return record
        votes = said_of(record) >= self.thresholds.values[:-1, None]
        return replace(record, votes=votes.astype(np.int8), _cache={})

    def choices(self, record: Predictions) -> list[dict[str, Any]]:
        """Lower and upper bound under every choice, beside the truth.

        A choice is who votes (the judges, or the judges and confidence), from which P on they accept ("half",
        "thresholds", or "slack": the strict thresholds for the lower bound and the lenient ones for the upper), and how
        many must agree, from all down to just more than half.
        """
        right = float(record.verdicts.mean())
        out = []
        for voters, accept, strict, lenient in self._accepted(record):
            members = len(strict)
            for agree in range(members, members // 2, -1):
                lower = float((strict.sum(axis=0) >= agree).mean())
                upper = float((lenient.sum(axis=0) > members - agree).mean())
                row = {"voters": voters, "accept": accept, "agree": agree, "of": members}
                row |= {"lower": round(lower, 6), "upper": round(upper, 6), "inside": lower <= right <= upper}
                out.append({**row, "error": round(abs((lower + upper) / 2 - right), 6)})
        return out

    def to_dict(self, names: tuple[str, ...]) -> dict[str, Any] | None:
        """A plain mapping, ready for JSON."""
        return None if self.thresholds is None else self.thresholds.to_dict([*names, "confidence"])

    def _accepted(self, record: Predictions) -> Iterator[tuple[str, str, Array, Array]]:
        """For every choice its names, and what each voter accepts for the lower bound and for the upper one."""
        said = said_of(record)
        half = said >= HALF
        yield "judges", "half", half, half
        if self.thresholds is None:
            return
        both, cut = _with_confidence(record), self.thresholds
        middle, strict, lenient = (both >= values[:, None] for values in (cut.values, cut.strict, cut.lenient))
        yield "judges", "thresholds", middle[:-1], middle[:-1]
        yield "judges", "slack", strict[:-1], lenient[:-1]
        yield "judges and confidence", "thresholds", middle, middle
        yield "judges and confidence", "slack", strict, lenient


def said_of(record: Predictions) -> Array:
    """P(Correct) of the judges, float64, axes (judge, sample)."""
    columns = [np.asarray(v, dtype=np.float64) for k, v in record.columns.items() if k.startswith(PROBABILITY)]
    return np.array(columns)


def _with_confidence(record: Predictions) -> Array:
    """What the judges say and, as a row more, the parser's confidence."""
    confidence = np.clip(natural_confidence(record)(record), 0.0, 1.0)
    out: Array = np.vstack([said_of(record), confidence])
    return out
