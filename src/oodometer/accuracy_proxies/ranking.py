"""Ranking: an order of models (or of data sets) by a ranker, with how firm each place is."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..intervals import check_level, normal_quantile
from ..options import checked, record
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import answer, create
from ..results import Interval, Ranking, plain
from .base import Ranker, State

_BLOCKS, _DRAWS = 10, 20_000


@final
@dataclass(frozen=True)
class ScoreRanking(Ranking):
    """A `Ranking` by a score, with the score's interval for each model and the doubt between each two.

    ``p_best`` and ``pairs`` say how firm the order of the *scores* is when the rows are drawn again; a score that does
    not follow accuracy gives a firm order that is wrong. No number here is an accuracy.

    Parameters
    ----------
    models : names, the highest score first.
    p_best : for each of these, the share of redraws in which its score is the highest.
    ranker : registered name.
    evidence : model -> its score with an interval (kind "empirical").
    pairs : (a, b, share of redraws in which a scores higher than b), a before b in the order.
    warnings : sentences a user should read before believing the order.
    """

    ranker: str = ""
    evidence: Mapping[str, Interval] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, float], ...] = ()
    warnings: Strings = ()

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        rows = [
            {"model": m, "p_best": plain(p), "evidence": {self.ranker: self.evidence[m].to_dict()}}
            for m, p in zip(self.models, self.p_best, strict=True)
        ]
        pairs = [{"a": a, "b": b, "p_a_better": plain(p)} for a, b, p in self.pairs]
        return {
            "ranking": rows,
            "pairs": pairs,
            "ranker": self.ranker,
            "warnings": list(self.warnings),
        }


@checked(reference=record)
def rank_models(
    records: Mapping[str, Predictions],
    ranker: str | Ranker = "nuclear-norm",
    *,
    reference: Predictions | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> ScoreRanking:
    """Order records by a ranker's number, best first. It ranks and never estimates an accuracy.

    Records of equal length are taken for the same samples seen by several models, so that doubt which they share
    cancels. The doubt is that of a jackknife over ten blocks of rows: covariance (B-1)/B sum_b d_b d_b^T, d_b the
    change when block b is left out. Labels are not looked at.

    ``records`` go by the name of the model (or data set); ``ranker`` is a registered name or a ranker; it may learn
    from ``reference``; ``level`` is that of the scores' intervals, ``seed`` that of the draws behind ``p_best``.
    Raises `UsageError` without records and `NotApplicable` where a record lacks what the ranker needs.

    >>> sure = Predictions.from_probabilities([[0.9, 0.1], [0.1, 0.9]] * 20)
    >>> unsure = Predictions.from_probabilities([[0.6, 0.4], [0.4, 0.6]] * 20)
    >>> rank_models({"unsure": unsure, "sure": sure}).models
    ('sure', 'unsure')
    """
    check_level(level)
    if not records:
        raise UsageError("expected at least one record to rank, got none; give name -> predictions")
    method: Ranker = create("ranker", ranker) if isinstance(ranker, str) else ranker
    method = answer(method, lambda: method.fit(reference))
    names = list(records)
    states: dict[str, State] = {}
    scores, moves = np.empty(len(names)), np.zeros((len(names), _BLOCKS))
    for name in names:
        with _named(name):
            states[name] = answer(method, partial(method.state_of, records[name]))
    method, decided = answer(method, partial(method.settled, states))
    for i, name in enumerate(names):
        with _named(name):
            work = partial(
                lambda m, state, record: (m.finish(state), _jackknife(m, record)),
                method,
                states[name],
            )
            scores[i], moves[i] = answer(method, partial(work, records[name]), _check)
    rng = np.random.default_rng([seed, 31])
    paired = len({len(r) for r in records.values()}) == 1
    # records of equal length share their blocks' noise, so that what they share cancels
    noise = rng.standard_normal((1 if paired else len(names), _BLOCKS, _DRAWS))
    draws = scores[:, None] + np.einsum(
        "mb,mbd->md", moves, np.broadcast_to(noise, (len(names), _BLOCKS, _DRAWS))
    )
    best = draws == draws.max(axis=0)
    p_best = (best / best.sum(axis=0)).mean(axis=1)
    order = sorted(range(len(names)), key=lambda i: (-scores[i], names[i]))
    half = normal_quantile(level) * np.sqrt(np.square(moves).sum(axis=1))
    ends = zip(
        names, scores.tolist(), (scores - half).tolist(), (scores + half).tolist(), strict=True
    )
    evidence = {
        name: Interval(value, low, high, level, "empirical") for name, value, low, high in ends
    }
    pairs = tuple(
        (names[i], names[j], float(((draws[i] > draws[j]) + (draws[i] == draws[j]) / 2).mean()))
        for i, j in itertools.combinations(order, 2)
    )
    models, firm = tuple(names[i] for i in order), tuple(float(p_best[i]) for i in order)
    ranked = {name: evidence[name] for name in models}
    notes = _notes(method, {len(record) for record in records.values()})
    return ScoreRanking(models, firm, method.name, ranked, pairs, (*notes, *decided))


def _notes(method: Ranker, lengths: Collection[int]) -> list[str]:
    """What a user should know of an order of records of these lengths, before believing it."""
    notes = []
    if not method.across_models:
        notes.append(
            f"{method.name} has the scale of one model: it orders data sets of one model, not models"
        )
    if min(lengths) < 2 * _BLOCKS:
        notes.append(
            f"records of fewer than {2 * _BLOCKS} rows: how firm the order is cannot be said"
        )
    if len(lengths) > 1:
        notes.append("records of different lengths are taken for different samples")
    return notes


def _check(result: tuple[float, Array]) -> None:
    """`ValueError` where a ranker of someone else gives no number."""
    if not (np.isfinite(result[0]) and np.isfinite(result[1]).all()):
        raise ValueError(f"gave {result[0]}")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the name of the record before what it lacks."""
    try:
        yield
    except NotApplicable as error:
        raise NotApplicable(f"{name}: {error}") from None


def _jackknife(ranker: Ranker, record: Predictions) -> Array:
    """Per block the change of the score when it is left out, scaled so that squares add up to the variance."""
    if len(record) < 2 * _BLOCKS:
        return np.zeros(_BLOCKS)
    block = np.arange(len(record)) % _BLOCKS
    states = [ranker.summarize(record.take(block == b)) for b in range(_BLOCKS)]
    after = list(
        itertools.accumulate(states[:0:-1], lambda rest, state: ranker.merge(state, rest))
    )[::-1]
    before = list(itertools.accumulate(states[:-1], ranker.merge))
    middle = (ranker.merge(a, b) for a, b in zip(before[:-1], after[1:], strict=True))
    scores_without = np.array(
        [ranker.finish(remaining) for remaining in (after[0], *middle, before[-1])]
    )
    return np.asarray((scores_without - scores_without.mean()) * np.sqrt((_BLOCKS - 1) / _BLOCKS))
