"""Voting bounds: at least k of n judges accept (below), at least n - k + 1 do (above), their mean between."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, NotApplicable, UsageError
from ..intervals import clopper_pearson, wilson
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent, plain
from .base import Estimator, Sums


@final
@register("estimator")
class VotingBounds(Estimator):
    """lower = mean_T [at least k judges say Correct], upper = mean_T [at least n - k + 1 do], value = their mean.

    Parameters
    ----------
    agree : k; by default all n judges, so that one Incorrect suffices below and one Correct above (the paper's two
        votes). `UsageError` for a k that is no majority of the judges; ``votes:<k>`` by name.

    The printed interval runs from Wilson's lower end of the one share to the upper end of the other, so that sampling
    error is on top of the votes' own width; the bare shares are in ``details``, with the ``ladder`` (share that at
    least j judges accept, exact intervals), the bounds for every k, and the share that each judge accepts (``single``
    the first). Empirical: judges that fail alike put the truth outside. Nothing is learnt from the reference; where it
    holds votes and truths, ``details["reference"]`` says whether its own accuracy lies between its own bounds, and a
    warning where it does not, by more than chance. Needs `votes`; `NotApplicable` without. Source: Yao and Koller
    (2024).

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]])
    >>> e = VotingBounds().fit(p).estimate(p)
    >>> e.value, e.details["lower_bound"], e.details["upper_bound"], e.details["single"]["value"]
    (0.375, 0.25, 0.5, 0.5)
    """

    name = "votes"
    family = "votes"
    order = 160
    cost = "slow"
    needs = ("votes",)
    assumes = "the judges generalise to the target and do not all fail alike"
    citation = "yao2024"
    kind = "empirical"
    needs_labels = False

    def __init__(self, *, agree: int | None = None, level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if agree is not None and agree < 1:
            raise UsageError(f"expected a number of judges to agree, 1 or more, got {agree}")
        self.agree = agree
        if agree is not None:
            self.name = f"votes:{agree}"  # type: ignore[misc]  # the instance's own, longer name

    @classmethod
    def from_argument(cls, argument: str, **options: Any) -> Self:
        """``votes:<k>``: at least k judges."""
        if not argument.isdecimal():
            raise UsageError(f"expected votes:<k>, k the judges that must agree such as votes:3, got votes:{argument}")
        return cls(agree=int(argument), **options)

    def why_not_learn(self, reference: Predictions) -> str | None:
        """Nothing is learnt: judges of the target alone will do."""
        return None

    def _fit(self, reference: Predictions) -> None:
        """Nothing but a look at how the judges did on labelled rows, where there are any."""
        self._seen: dict[str, Any] | None = None
        if reference.votes is None:
            return
        # the floor of metrics has many files; a file without votes needs none of them
        from ..metrics.vote_bounds import against_truth
        from ..metrics.vote_counts import VoteCounts
        from ..metrics.vote_rules import check_agree

        check_agree(self.agree, len(reference.votes))
        try:
            known = reference.known()
        except NotApplicable:  # labels, but no prediction to hold them against
            return
        if not len(known):
            return
        counts = VoteCounts.of(known)
        agree = check_agree(self.agree, counts.judges)
        found = against_truth(counts, agree, self.level)
        above, below = found["above_lower"], found["below_upper"]
        reached = counts.at_least.sum(axis=0)
        self._seen = {
            "rows": counts.rows,
            "accuracy": int(counts.of_verdict[1]) / counts.rows,
            "lower_bound": int(reached[agree]) / counts.rows,
            "upper_bound": int(reached[counts.judges - agree + 1]) / counts.rows,
            "inside": found["inside"],
            "refuted": above.upper < 0 or below.upper < 0,  # outside by more than chance
        }

    def summarize(self, batch: Predictions) -> Sums:
        """Rows by the number of judges that accept them, and the rows that each judge accepts."""
        from ..metrics.vote_rules import count_votes

        assert batch.votes is not None
        judges = len(batch.votes)
        counts = np.bincount(count_votes(batch.votes), minlength=judges + 1)
        return Sums(rows=len(batch), counts=counts, accepted=np.count_nonzero(batch.votes > 0, axis=1))

    def merge(self, a: Sums, b: Sums) -> Sums:
        """Sum of both, of the same judges."""
        one, other = len(a["accepted"]), len(b["accepted"])
        if one != other:
            raise InputError(
                "parts with the same judges",
                got=f"{one} and {other}",
                column="votes",
                remedy="give every row a vote of every judge",
            )
        return a + b

    def finish(self, state: Sums) -> Estimate:
        """The two shares and their mean."""
        from ..metrics.vote_rules import check_agree

        rows, judges = state["rows"], len(state["accepted"])
        agree = check_agree(self.agree, judges)
        reached = state["counts"][::-1].cumsum()[::-1]
        low, high = reached[agree] / rows, reached[judges - agree + 1] / rows
        lower, upper = wilson(low, rows, self.level)[0], wilson(high, rows, self.level)[1]
        details: dict[str, Any] = {"lower_bound": float(low), "upper_bound": float(high), "agree": agree}
        details |= {"judges": judges, **self._shares(reached, state["accepted"], rows)}
        warnings = []
        if self._seen is not None:
            details["reference"] = plain(self._seen)
            warnings += [_refuted(self._seen)] if self._seen["refuted"] else []
        if judges == 1:
            warnings.append("one judge makes no bounds: its verdicts are taken at their word, errors and all")
        return self._estimate(
            state,
            (low + high) / 2,
            lower,
            upper,
            score="vote_share",
            details=details,
            warnings=tuple(warnings),
        )

    def _shares(self, reached: Array, accepted: Array, rows: int) -> dict[str, Any]:
        """The ladder, the bounds of every k, and each judge alone."""
        from ..metrics.vote_rules import agreements

        judges = len(accepted)

        def share(count: int) -> dict[str, Any]:
            low, high = clopper_pearson(count, rows, self.level)
            return {"value": count / rows, "lower": low, "upper": high, "level": self.level, "kind": "exact"}

        each = [share(int(count)) for count in accepted]
        return {
            "single": each[0],
            "by_judge": each,
            "ladder": [{"at_least": j, **share(int(reached[j]))} for j in range(1, judges + 1)],
            "bounds": [
                {
                    "agree": k,
                    "lower": float(reached[k] / rows),
                    "upper": float(reached[judges - k + 1] / rows),
                }
                for k in agreements(judges)
            ],
        }


def _refuted(seen: dict[str, Any]) -> str:
    """What the labelled reference says against the judges."""
    return (
        f"on the labelled reference the accuracy, {percent(seen['accuracy'])}, lies outside the judges' own bounds, "
        f"{percent(seen['lower_bound'])} to {percent(seen['upper_bound'])}, by more than chance: they fail alike"
    )
