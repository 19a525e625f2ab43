"""Votes: how well judges tell right from wrong outputs, and whether the bounds made from their votes held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ..errors import NotApplicable
from ..predictions import Predictions
from ..registry import register
from .base import VERDICT, Metric
from .vote_bounds import bounds_by_agreement, bounds_by_judges
from .vote_counts import VoteCounts, discrimination, share
from .vote_rules import RULES, least_votes
from .vote_subsets import vote_subsets


@final
@register("metric")
class Votes(Metric[VoteCounts, dict[str, Any]]):
    """A table of tables about the column `votes`, against the truth; Correct is what a judge says of an output.

    judges, rows, accuracy : their number, the labelled rows, the exact share that is right.
    rules : recall and precision of Correct and Incorrect (`discrimination`: correct_recall = TC/(TC + FI), ...) and the
        share ``accepted`` under four rules: any-incorrect (all must accept: the lower bound), any-correct (the upper
        one), majority, single (the first judge).
    ladder : the same for "at least j judges accept", j = 1 ... n; by_judge : the same for each judge alone.
    bounds : k-of-n voting for every k (`bounds_by_agreement`): lower, upper, mean, width, whether the truth is inside.
    by_number : the bounds to expect of fewer judges (`bounds_by_judges`).
    subsets : truth, bounds and reliability in smaller draws of the rows (`vote_subsets`).

    Parameters
    ----------
    sizes : numbers of rows to draw; by default 20, 50, 100, ... and all of them.
    draws : draws of each size; they are counts of cells and cost next to nothing.
    agree : how many judges must agree on the bounds of the subsets; None for all.

    Left out without a word where there are no votes and nobody asked. Source: Yao and Koller (2024), section 4.3.

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]], correct=[1, 1, 0, 0])
    >>> found = Votes().compute(p)
    >>> [(r["rule"], r["accepted"].value, r["correct_recall"].value) for r in found["rules"][:2]]
    [('any-incorrect', 0.25, 0.5), ('any-correct', 0.5, 1.0)]
    >>> found["accuracy"].value, found["bounds"][0]["inside"]
    (0.5, True)
    """

    name = "votes"
    needs = tuple(("votes", *group) for group in VERDICT)
    bigger_is_better = None
    citation = "yao2024"
    gives = "table"
    quiet = True

    def __init__(self, sizes: Sequence[int] | None = None, draws: int = 1000, agree: int | None = None) -> None:
        self.sizes, self.draws, self.agree = sizes, draws, agree

    def summarize(self, batch: Predictions) -> VoteCounts:
        """Rows by verdict and votes."""
        return VoteCounts.of(batch)

    def finish(self, state: VoteCounts, level: float = 0.95, seed: int = 0) -> dict[str, Any]:
        """The tables."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        judges, verdict = state.judges, state.of_verdict
        ladder = discrimination(state.at_least[:, 1:].T, verdict, level)
        single = discrimination(state.accepted, verdict, level)
        by_rule = {rule: ladder[least_votes(rule, judges) - 1] for rule in RULES[:3]} | {"single": single[0]}
        return {
            "judges": judges,
            "rows": state.rows,
            "accuracy": share(int(verdict[1]), state.rows, level),
            "rules": [{"rule": rule, **found} for rule, found in by_rule.items()],
            "ladder": [{"at_least": j + 1, **found} for j, found in enumerate(ladder)],
            "by_judge": [{"judge": n, **found} for n, found in zip(state.names, single, strict=True)],
            "bounds": bounds_by_agreement(state, level),
            "by_number": bounds_by_judges(np.asarray(state.by_count.sum(axis=0)), level),
            "subsets": vote_subsets(state, self.sizes, self.draws, level, seed, self.agree),
        }
