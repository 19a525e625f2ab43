"""Abstention: which share of the questions was answered, and how often the answers that were given are right."""

from __future__ import annotations

import re

import numpy as np

from ..arrays import Array
from ..classes import NO_ANSWER, truth_values
from ..errors import NotApplicable
from ..inference.method import Sums
from ..intervals import clopper_pearson
from ..predictions import Predictions
from ..registry import register
from ..store.columns import bare_name
from .base import VERDICT, Measure, Metric, measure

ANSWERED = "answered"  # the column that `read` writes where words of graders tell of answers that were not given
_GIVEN = re.compile(r"(is_|was_)?(answered|attempted)")
_WITHHELD = re.compile(r"(is_|was_|has_)?(abstained|abstention|refused|refusal|declined)")


def tells_answered(column: str) -> bool:
    """Whether a column of this name tells whether an answer was given, or withheld.

    >>> tells_answered("Attempted"), tells_answered("is_refusal"), tells_answered("answer")
    (True, True, False)
    """
    bare = bare_name(column)
    return bool(_GIVEN.fullmatch(bare) or _WITHHELD.fullmatch(bare))


def answered(batch: Predictions) -> Array | None:
    """Whether each row has an answer, (sample,): by a column that says so, less predictions that are empty; None where
    neither tells.
    """
    out = None
    for name, cells in batch.columns.items():
        if tells_answered(name):
            says = truth_values(cells, name)
            out = says != 1 if _WITHHELD.fullmatch(bare_name(name)) else says != 0
            break
    if batch.classes is not None and NO_ANSWER in batch.classes and batch.prediction is not None:
        given = batch.prediction != batch.classes.index(NO_ANSWER)
        out = given if out is None else out & given
    return out


class Abstention(Metric[Sums, Measure]):
    """What both share that part answers from questions without one."""

    needs = VERDICT
    bigger_is_better = True
    quiet = True
    state = "answers given"
    citation = "elyaniv2010"

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        why = "needs a column `answered` of true and false, or a `prediction` that is empty in some rows"
        return self.missing(record) or (why if answered(record) is None else None)

    def summarize(self, batch: Predictions) -> Sums:
        """Count rows of known truth, those with an answer, and the right ones among these."""
        labelled = batch.known()
        given = answered(labelled)
        if given is None:  # no empty prediction in this part
            given = np.ones(len(labelled), dtype=bool)
        right = int((labelled.verdicts[given] == 1).sum())
        return Sums(rows=len(labelled), answered=int(given.sum()), right=right)

    def _counts(self, state: Sums) -> tuple[int, int, int]:
        """Rows, answered ones and right answers; `NotApplicable` where every row or none was answered."""
        rows, given, right = (int(state[name]) for name in ("rows", "answered", "right"))
        if given in (0, rows):
            raise NotApplicable(f"{'every' if given else 'no'} question was answered")
        return rows, given, right


@register("metric")
class AnsweredShare(Abstention):
    """Coverage: answered / n, with the interval of Clopper and Pearson (1934). A question is answered where a column
    `answered` (attempted; or not abstained, refused) says so, and its `prediction` is not empty.

    Source: El-Yaniv and Wiener (2010).

    >>> p = Predictions.from_arrays(correct=[1, 0, 1, 0], columns={"answered": [True, True, True, False]})
    >>> AnsweredShare().compute(p).value
    0.75
    """

    name = "answered"

    def _finish(self, state: Sums, level: float, seed: int) -> Measure:
        rows, given, _ = self._counts(state)
        return measure(given / rows, clopper_pearson(given, rows, level), level, "exact")


@register("metric")
class AnsweredAccuracy(Abstention):
    """Accuracy where answered: right answers / answered, given how many were answered, with the interval of Clopper and
    Pearson (1934); ``answered`` and ``rows`` are the counts. Which questions are answered is the model's choice, so
    that it does not compare with another model's without `answered` beside it.

    Source: El-Yaniv and Wiener (2010); SimpleQA's "correct given attempted".

    >>> p = Predictions.from_arrays(correct=[1, 0, 1, 0], columns={"answered": [True, True, True, False]})
    >>> round(AnsweredAccuracy().compute(p).value, 3)
    0.667
    """

    name = "accuracy_answered"

    def _finish(self, state: Sums, level: float, seed: int) -> Measure:
        rows, given, right = self._counts(state)
        ends = clopper_pearson(right, given, level)
        return measure(right / given, ends, level, "exact", answered=given, rows=rows)
