"""Reliability curves: pass@k, pass^k and maj@k of questions that were answered several times, at any k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import Array
from ..classes import NO_ANSWER
from ..errors import NotApplicable, UsageError
from ..inference.clusters import Clusters, cluster_keys
from ..inference.means import share_mean
from ..inference.reliability import Answers, pass_at_k, pass_hat_k
from ..predictions import Predictions
from ..registry import register
from .accuracy import _checked_k
from .base import VERDICT, Measure, Metric, S, measure

_MOST_VOTERS = 256  # of a majority; more are told from so many by nobody
_MOST_SHOWN = 64  # answers, up to which k = 1, 2, 4, ... are shown unasked


class Reliability(Metric[S, Measure]):
    """What the curves share: ``k``, one number or several, of which the first is the value; ``by_k`` has all of them,
    and where no more than one was asked for 1, 2, 4, ... up to the fewest answers, too. Questions are independent, and
    told by `id`: the interval is that of `share_mean` over them.
    """

    needs = (*VERDICT, ("score",))
    bigger_is_better = True
    quiet = True
    clustered = True
    short: ClassVar[str]  # as the field writes it, before k
    most: ClassVar[int | None] = None

    def __init__(self, k: int | Sequence[int] = 1) -> None:
        several = k if isinstance(k, Sequence) else (k,)
        self.ks = tuple(dict.fromkeys(_checked_k(each, f"{self.short}1") for each in several))
        if self.most is not None and max(self.ks) > self.most:
            raise UsageError(f"expected a k up to {self.most} of {self.short}k, got {max(self.ks)}")

    @property
    def k(self) -> int:
        """The first k, whose number is the value."""
        return self.ks[0]

    @classmethod
    def from_argument(cls, argument: str) -> Self:
        """The metric with the k after the colon, or several between commas."""
        parts = argument.split(",")
        if not all(part.isascii() and part.isdecimal() for part in parts):
            raise UsageError(f"expected a k such as {cls.short}8, got {argument!r}")
        return cls([int(part) for part in parts])

    def why_not(self, record: Predictions) -> str | None:
        """Why this record is not enough, or None."""
        return self.missing(record) or (
            None if "id" in record.columns else "needs a column `id` of questions"
        )

    def _measure(self, repeats: Array, level: float, values: Any) -> Measure:
        """The mean over questions of ``values(k)`` (question,), for each k."""
        fewest, shown, by_k = int(repeats.min()), set(self.ks), []
        if max(self.ks) > fewest:
            raise NotApplicable(f"needs {max(self.ks)} answers to every question; one has {fewest}")
        if len(shown) == 1:
            shown |= {2**i for i in range(min(fewest, _MOST_SHOWN).bit_length())}
        means = {k: share_mean(values(k), level) for k in sorted(shown)}
        for k, mean in means.items():
            ends = {"value": mean.value, "lower": mean.lower, "upper": mean.upper}
            by_k.append({"k": k, **ends, "kind": mean.kind})
        at_k = means[self.k]
        return measure(
            at_k.value,
            (at_k.lower, at_k.upper),
            level,
            at_k.kind,
            k=self.k,
            questions=len(repeats),
            fewest_repeats=fewest,
            by_k=by_k,
        )


class _OfVerdicts(Reliability[Clusters]):
    """A curve of how many of the answers to a question are right."""

    state = "clusters"
    by_question: ClassVar[Any]

    def summarize(self, batch: Predictions) -> Clusters:
        """Answers and right ones of each question."""
        labelled = batch.known()
        keys = cluster_keys(labelled.columns["id"], labelled.first_row)
        return Clusters.of(keys, labelled.outcomes)

    def _finish(self, state: Clusters, level: float, seed: int) -> Measure:
        if not state.repeated or (state.sums[1] != state.sums[2]).any():
            raise NotApplicable(
                "needs answers that are right or wrong to questions whose `id` repeats"
            )
        repeats, passed = state.sums[:2]
        return self._measure(repeats, level, lambda k: type(self).by_question(repeats, passed, k))


@register("metric")
class PassAtK(_OfVerdicts):
    """pass@k, the chance that one of k answers to a question is right, mean over questions of 1 - C(n - c, k) / C(n, k)
    for c right ones of n, without bias; ``pass@8`` or ``pass_at_k:8`` asks for k = 8, and ``by_k`` has 1, 2, 4, ... up
    to the fewest answers. Only where `id` repeats. Questions are independent: their interval is that of `share_mean`.

    Source: Chen et al. (2021).

    >>> p = Predictions.from_arrays(correct=[1, 0, 0, 1, 1, 0], columns={"id": list("aabbcc")})
    >>> [(row["k"], round(row["value"], 2)) for row in PassAtK().compute(p).extras["by_k"]]
    [(1, 0.5), (2, 1.0)]
    """

    name, short = "pass_at_k", "pass@"
    citation = "chen2021codex"
    by_question = staticmethod(pass_at_k)


@register("metric")
class PassHatK(_OfVerdicts):
    """pass^k, the chance that all of k answers to a question are right, mean over questions of C(c, k) / C(n, k) for c
    right ones of n, without bias; ``pass^4`` or ``pass_hat_k:4`` asks for k = 4. All else as `PassAtK`.

    Source: Yao et al. (2024), tau-bench.

    >>> p = Predictions.from_arrays(correct=[1, 1, 0, 1, 1, 0], columns={"id": list("aabbcc")})
    >>> [(row["k"], round(row["value"], 2)) for row in PassHatK().compute(p).extras["by_k"]]
    [(1, 0.67), (2, 0.33)]
    """

    name, short = "pass_hat_k", "pass^"
    citation = "yao2024taubench"
    by_question = staticmethod(pass_hat_k)


@register("metric")
class MajAtK(Reliability[Answers]):
    """maj@k, the chance that the most frequent of k answers (`prediction`) to a question is right, mean over questions;
    of equally frequent ones one is drawn at random, and the mean over all draws of k from n is exact (`Answers`). An
    empty answer is like no other. ``maj@8`` or ``maj_at_k:8`` asks for k = 8, up to 256.

    Source: Wang et al. (2023), self-consistency.

    >>> label, ids = ["4", "4", "4", "9", "9", "9"], {"id": list("aaabbb")}
    >>> p = Predictions.from_arrays(prediction=["4", "4", "5", "7", "8", "9"], label=label, columns=ids)
    >>> [(row["k"], round(row["value"], 3)) for row in MajAtK([1, 3]).compute(p).extras["by_k"]]
    [(1, 0.5), (3, 0.667)]
    """

    name, short, most = "maj_at_k", "maj@", _MOST_VOTERS
    needs = (("correct", "prediction"), ("correct", "probabilities"), *VERDICT[1:])
    citation = "wang2023selfconsistency"

    def summarize(self, batch: Predictions) -> Answers:
        """How often each answer to a question was given, and was right."""
        labelled = batch.known()
        codes: Any = labelled.predicted
        names = codes if batch.classes is None else np.array(batch.classes, dtype=object)[codes]
        if (codes < 0).any():
            names = np.where(codes < 0, NO_ANSWER, names)
        keys = cluster_keys(labelled.columns["id"], labelled.first_row)
        return answer_counts(keys, names, labelled.verdicts, labelled.first_row)

    def _finish(self, state: Answers, level: float, seed: int) -> Measure:
        repeats = state.repeats
        if repeats.max() < 2:
            raise NotApplicable("needs answers to questions whose `id` repeats")
        return self._measure(repeats, level, state.maj_at_k)


def answer_counts(questions: Array, answers: Array, correct: Array, first_row: int = 0) -> Answers:
    """How often each answer was given to each question: keys of questions, names of answers, verdicts, all (row,); an
    empty answer is like no other.
    """
    names = np.where(answers == NO_ANSWER, "", answers)
    return Answers.of(questions, cluster_keys(names, first_row), correct)


FAMILIES: tuple[type[Reliability[Any]], ...] = (PassAtK, PassHatK, MajAtK)
SHORT = {family.name: family.short for family in FAMILIES}
"""How the field writes each curve, before k."""
