"""Judge thresholds: from which P(Correct) each voter accepts, and the bounds under each choice of voters."""

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


@final
class JudgeThresholds:
    """The thresholds of judges and of other voters, set on the labelled outputs of the development set.

    ``reference`` are these outputs with what is said of them. ``thresholds`` are those of the judges, of the parsers of
    halves where there are some, and, last, of the parser's confidence (ATC); None where all outputs are right or none
    is, and all voters keep one half.
    """

    def __init__(self, reference: Predictions, level: float) -> None:
        self.thresholds: AcceptanceThresholds | None = None
        with suppress(InputError):
            self.thresholds = fit_thresholds(_of_all(reference), reference.verdicts, level)

    def voted(self, record: Predictions) -> Predictions:
        """The record with the votes of the judges, each accepting from its own threshold on."""
        if self.thresholds is None:
            return record
        judges = len(said_of(record))
        votes = said_of(record) >= self.thresholds.values[:judges, None]
        return replace(record, votes=votes.astype(np.int8), _cache={})

    def mixed(self, record: Predictions) -> Predictions | None:
        """The record with the votes of judges, parsers of halves and confidence, each from its own threshold on.

        None where there are no parsers of halves.
        """
        if not len(said_of_parsers(record)):
            return None
        both = _of_all(record)
        cuts = np.full(len(both), HALF) if self.thresholds is None else self.thresholds.values
        votes = (both >= cuts[:, None]).astype(np.int8)
        return replace(record, votes=votes, names={**record.names, "judge": voters_of(record)}, _cache={})

    def choices(self, record: Predictions) -> list[dict[str, Any]]:
        """Lower and upper bound under every choice, beside the truth.

        A choice is who votes (the judges alone, with confidence, with the parsers of halves), from which P on they
        accept ("half", "thresholds", or "slack": the strict thresholds for the lower bound and the lenient ones for the
        upper), and how many must agree, from all down to just more than half.
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

    def to_dict(self, record: Predictions) -> dict[str, Any] | None:
        """A plain mapping, ready for JSON; the record names the voters."""
        return None if self.thresholds is None else self.thresholds.to_dict(voters_of(record))

    def _accepted(self, record: Predictions) -> Iterator[tuple[str, str, Array, Array]]:
        """For every choice its names, and what each voter accepts for the lower bound and for the upper one."""
        said, parsers = said_of(record), len(said_of_parsers(record))
        half = said >= HALF
        yield "judges", "half", half, half
        if self.thresholds is None:
            return
        both, cut, judges = _of_all(record), self.thresholds, len(said)
        middle, strict, lenient = (both >= values[:, None] for values in (cut.values, cut.strict, cut.lenient))
        every = np.arange(len(both))
        choices = {"judges": every[:judges], "judges and confidence": np.delete(every, every[judges:-1])}
        if parsers:
            choices["parsers of halves and confidence"] = every[judges:]
            choices["judges, parsers of halves and confidence"] = every
        for voters, who in choices.items():
            yield voters, "thresholds", middle[who], middle[who]
            yield voters, "slack", strict[who], lenient[who]


def voters_of(record: Predictions) -> tuple[str, ...]:
    """Names of the judges, of the parsers of halves, and of the confidence."""
    return (*record.names["judge"], *_parsers(record), "confidence")


def said_of(record: Predictions) -> Array:
    """P(Correct) of the judges that vote, float64, axes (judge, sample)."""
    return np.array([_said(record, name) for name in record.names["judge"]])


def said_of_parsers(record: Predictions) -> Array:
    """What the parsers of halves say, float64, axes (parser, sample); none where there are none."""
    return np.array([_said(record, name) for name in _parsers(record)])


def _parsers(record: Predictions) -> list[str]:
    """Names of those that say P(Correct) and are no judges that vote."""
    known = [name.removeprefix(PROBABILITY) for name in record.columns if name.startswith(PROBABILITY)]
    return [name for name in known if name not in record.names["judge"]]


def _said(record: Predictions, name: str) -> Array:
    return np.asarray(record.columns[f"{PROBABILITY}{name}"], dtype=np.float64)


def _of_all(record: Predictions) -> Array:
    """What judges and parsers of halves say and, as a row more, the parser's confidence."""
    confidence = np.clip(natural_confidence(record)(record), 0.0, 1.0)
    rows = [one for one in (said_of(record), said_of_parsers(record), confidence) if len(one)]
    out: Array = np.vstack(rows)
    return out
