"""Proxy: what stands for missing labels in an audit, confidence or judges' votes; chosen on the reference alone."""

from __future__ import annotations

import math
from collections.abc import Collection

from ..predictions import Predictions
from .correctness import Correctness
from .vote_rate import VoteRate

__all__ = ["Proxy", "choose_proxy"]

Proxy = Correctness | VoteRate
"""f(x) in [0, 1] with its ``slope``, its ``name`` and what it ``explained`` on the reference."""


def choose_proxy(reference: Predictions, fields: Collection[str], judges: int | None = None) -> Proxy:
    """The chance of being right from votes or from confidence: whichever explains more of the reference's own truth.

    ``fields`` are those of the target, ``judges`` its number of judges. Neither is fitted on a row that it is judged
    by. Votes are taken where the target has them and either they explain more, or the reference cannot compare (the
    model is always right there, or always wrong), or there is no confidence. Where only the target has votes, or those
    of other judges than the reference, a confidence comes first. No label of the target is looked at, so that the
    interval of the audit keeps its level whatever is chosen.

    >>> p = Predictions.from_arrays(votes=[[1, 0] * 50], confidence=[0.9] * 100, correct=[1, 0] * 50)
    >>> choose_proxy(p, ("votes", "confidence")).name, choose_proxy(p, ("confidence",)).name
    ('votes', 'confidence')
    """
    confident = Correctness.fit(reference)
    if "votes" not in fields:
        return confident
    if reference.votes is None:
        return confident if confident.score is not None or judges is None else VoteRate.unseen(judges)
    votes = VoteRate.fit(reference)
    if judges is not None and len(votes.rate) != judges + 1:
        return confident  # other judges than those of the reference
    if confident.score is None or math.isnan(votes.explained) or votes.explained > confident.explained:
        return votes
    return confident
