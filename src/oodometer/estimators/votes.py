"""Votes: bounds by k of n judges, and the accuracy that explains votes that err as on the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..arrays import Array, present
from ..errors import InputError, NotApplicable, UsageError
from ..inference.clusters import student_quantile
from ..intervals import wilson
from ..plain import Json, Plain
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate, percent, plain
from .base import Estimator, Sums, Traits

_MOST_JOINT = 4  # judges whose votes are read jointly; of more, how many of them say Correct
_ROWS_EACH = 10  # of the target for each of the reference: more narrow hardly anything, and are counted as so many
_LEAST_ROWS = 1_000
_ROWS_A_CELL = (
    10  # of the rarer kind on the reference, from which on the judges' votes are read jointly
)
_GRID, _MOST_STEPS, _CONVERGED = 401, 2_000, 1e-5
_REFUTED = 0.01  # p-value of the fit below which the error rates did not carry over
_CHANCE = 0.05  # p-value above which judges tell right from wrong no better than chance


@register("estimator")
class CorrectedVotes(Estimator):
    """The accuracy a that explains the votes v on the target: P(v) = a P(v | right) + (1 - a) P(v | wrong).

    P(v | right) and P(v | wrong) are learnt from the labelled reference: of one judge they are its sensitivity s and
    its rate of false alarms f, and a = (share accepted - f) / (s - f) is Rogan and Gladen's estimate. Up to four
    judges are read jointly where 10 right and 10 wrong reference rows a pattern are there, else by the number that say
    Correct. The interval holds every a whose profile likelihood lies within t^2 / 2 of the highest, t Student's
    quantile for as many rows as the rarer kind has; the value is the median of the profile, taken as a density.

    What must carry over is the judges' error rates, on right and on wrong outputs apart; the accuracy may change. Where
    the votes on the target fit no mixture (p < 0.01) they did not, and where the judges tell right from wrong no better
    than chance (p > 0.05) nothing follows: the interval is then all of [0, 1], and a warning says why. Needs `votes` of
    the same judges in both, and labelled reference rows of either kind; `NotApplicable` without. Source: Rogan and
    Gladen (1978); Gart and Buck (1966).

    >>> right = np.repeat([True, False], 500)
    >>> seen = np.concatenate([np.arange(500) < 450, np.arange(500) < 235])  # s = 0.90, f = 0.47
    >>> reference = Predictions.from_arrays(votes=[seen], correct=right)
    >>> target = Predictions.from_arrays(votes=[np.arange(2000) < 1413])
    >>> found = CorrectedVotes().fit(reference).estimate(target)
    >>> round(found.value, 2), found.details["accepted"], found.details["judges"][0]["sensitivity"]
    (0.55, 0.7065, 0.9)
    """

    name = "votes-corrected"
    traits = Traits("votes", 161, cost="slow")
    needs = ("votes",)
    assumes = "the judges err on the target as often as on the labelled reference, on right and on wrong outputs apart"
    citation = "rogan1978"

    def _fit(self, reference: Predictions) -> None:
        votes, right = present(reference.votes), reference.verdicts > 0
        self._judges, cells = len(votes), _cells(votes)
        if not right.any() or right.all():
            missing = "wrong" if right.all() else "right"
            raise NotApplicable(f"needs labelled reference rows of both kinds; none is {missing}")
        size = _pattern_count(self._judges)
        self._table = np.stack(
            [np.bincount(cells[right == truth], minlength=size) for truth in (False, True)]
        )
        accepted = [
            [int(np.count_nonzero(v[right == truth] > 0)) for truth in (False, True)] for v in votes
        ]
        names = reference.names.get("judge") or tuple(str(j + 1) for j in range(self._judges))
        wrong, good = int((~right).sum()), int(right.sum())
        self._rates: list[Json] = [
            {"judge": str(name), "sensitivity": hits / good, "false_alarms": alarms / wrong}
            for name, (alarms, hits) in zip(names, accepted, strict=True)
        ]

    def summarize(self, batch: Predictions) -> Sums:
        """Rows by pattern of votes, and the rows of which a majority of judges says Correct."""
        votes = present(batch.votes)
        if len(votes) != self._judges:
            raise InputError(
                f"votes of the reference's {self._judges} judges",
                got=f"those of {len(votes)}",
                column="votes",
                remedy="give the same judges in both files, in the same order",
            )
        cells = np.bincount(_cells(votes), minlength=_pattern_count(self._judges))
        majority = int(np.count_nonzero(2 * (votes > 0).sum(axis=0) > self._judges))
        return Sums(rows=len(batch), cells=cells, majority=majority)

    def finish(self, state: Sums) -> Estimate:
        """Median and interval of the likelihood's profile; all of [0, 1] where the judges say nothing."""
        from scipy.special import chdtrc, xlogy

        table, cells = self._table, state["cells"]
        if len(cells) > self._judges + 1 and int(table.sum(axis=1).min()) < _ROWS_A_CELL * len(
            cells
        ):
            number = np.array([pattern.bit_count() for pattern in range(len(cells))])
            table = np.stack([np.bincount(number, row) for row in table])
            cells = np.bincount(number, cells)
        size, most_rows = len(cells), max(_LEAST_ROWS, _ROWS_EACH * int(table.sum()))
        shares, logs, best = profile(table, cells * min(1.0, most_rows / state["rows"]))
        # the same rows again narrow the interval and move no value: it is that of as many rows as are counted at most
        usual = (
            logs
            if state["rows"] >= most_rows
            else profile(table, cells * (most_rows / state["rows"]))[1]
        )
        misfit = max(2 * (best - float(logs.max())), 0.0)
        p_fit = float(chdtrc(size - 2, misfit)) if size > 2 else float(chdtrc(1, misfit)) / 2
        both = (
            table.sum(axis=0) / table.sum()
        )  # the likelihood ratio of "both kinds have the same cells"
        same = 2 * float(
            sum(xlogy(kind, kind / kind.sum()).sum() - xlogy(kind, both).sum() for kind in table)
        )
        p_chance = float(chdtrc(size - 1, same))
        weight = np.exp(usual - usual.max())
        value = float(np.interp(0.5, np.cumsum(weight) / weight.sum(), shares))
        reach = student_quantile(self.level, float(table.sum(axis=1).min()) - 1)
        supported = shares[2 * (logs.max() - logs) <= reach**2]
        lower, upper = min(float(supported[0]), value), max(float(supported[-1]), value)
        accepted = state["majority"] / state["rows"]
        warnings = []
        if p_fit < _REFUTED:
            unlike = "the votes on the target fit no mixture of those on right and on wrong reference rows"
            remedy = "the judges' error rates did not carry over; label some target rows"
            warnings.append(f"{unlike} (p = {p_fit:.1g}): {remedy}")
        if p_chance > _CHANCE:
            blind = (
                "on the labelled reference the judges tell right from wrong no better than chance"
            )
            warnings.append(
                f"{blind} (p = {p_chance:.2g}): nothing follows from their votes; label more rows"
            )
        if warnings:
            lower, upper = 0.0, 1.0
        rows = {"wrong": int(table[0].sum()), "right": int(table[1].sum())}
        details: Json = {
            "accepted": accepted,
            "judges": self._rates,
            "reference_rows": rows,
        }
        details["maximum_likelihood"] = float(shares[logs.argmax()])
        details |= {"p_fit": p_fit, "p_chance": p_chance, "refuted": bool(warnings)}
        if self._judges == 1:
            sensitivity, alarms = (self._rates[0][name] for name in ("sensitivity", "false_alarms"))
            gap = sensitivity - alarms
            details["rogan_gladen"] = (accepted - alarms) / gap if gap else None
        return self._estimate(state, value, lower, upper, details=details, warnings=tuple(warnings))


def said_of_rates(details: Any) -> str:
    """What judges say as they are, how they err on the reference, and who says the opposite, in a phrase; ``details``
    are those of an estimate of `CorrectedVotes`.
    """
    rates = details["judges"]
    right, wrong = (
        sum(judge[name] for judge in rates) / len(rates) for name in ("sensitivity", "false_alarms")
    )
    each = "" if len(rates) == 1 else " on average"
    votes = f"uncorrected, the votes say {percent(details['accepted'])}; on the reference they accept{each}"
    text = f"{votes} {percent(right)} of the right and {percent(wrong)} of the wrong outputs"
    inverse = ", ".join(
        judge["judge"] for judge in rates if _is_inverse(judge, details["reference_rows"])
    )
    remedy = "turn those verdicts round if they mean the opposite, or leave them out"
    return (
        f"{text}; of the wrong ones more are accepted by {inverse}: {remedy}" if inverse else text
    )


def _is_inverse(judge: Plain, rows: Mapping[str, int]) -> bool:
    """Whether a judge accepts more of the wrong than of the right outputs, by three standard errors and more."""
    hits, alarms = judge["sensitivity"], judge["false_alarms"]
    variance = hits * (1 - hits) / rows["right"] + alarms * (1 - alarms) / rows["wrong"]
    return bool(alarms - hits > 3 * variance**0.5)


def _pattern_count(judges: int) -> int:
    return 2**judges if judges <= _MOST_JOINT else judges + 1


def _cells(votes: Array) -> Array:
    """The pattern of votes of each sample as a number, or how many judges say Correct."""
    accepts = votes > 0
    if len(votes) > _MOST_JOINT:
        return np.asarray(accepts.sum(axis=0))
    return np.asarray((accepts * (1 << np.arange(len(votes)))[:, None]).sum(axis=0))


def profile(table: Array, cells: Array) -> tuple[Array, Array, float]:
    """Shares a of the second kind in a mixture, their log-likelihoods by EM, and that of cells without a model."""
    from scipy.special import xlogy

    shares = np.linspace(0.0, 1.0, _GRID)[:, None]
    prior = 1e-3 / len(cells)
    wrong, right = (np.tile((kind + prior) / (kind + prior).sum(), (_GRID, 1)) for kind in table)
    logs = np.full(_GRID, -np.inf)
    for _ in range(_MOST_STEPS):
        before = logs
        first = shares * right
        mixed = first + (1 - shares) * wrong
        logs = (xlogy(table[0], wrong) + xlogy(table[1], right) + xlogy(cells, mixed)).sum(axis=1)
        if np.abs(logs - before).max() < _CONVERGED:
            break
        moved = cells * first / np.where(mixed > 0, mixed, 1)
        right, wrong = table[1] + moved, table[0] + cells - moved
        right, wrong = (kind / kind.sum(axis=1, keepdims=True) for kind in (right, wrong))
    best = sum(float(xlogy(n, n / n.sum()).sum()) for n in (*table, cells))
    return shares[:, 0], logs, best


@register("estimator")
class VotingBounds(Estimator):
    """lower = mean_T [at least k judges say Correct], upper = mean_T [at least n - k + 1 do], value = their mean.

    agree : k; by default all n judges (the paper's two votes); ``votes:<k>`` by name. `UsageError` for no majority.

    The interval runs from Wilson's lower end of the one share to the upper end of the other; in ``details`` the bare
    shares, the ``ladder`` (share that at least j judges accept, exact), the bounds for every k and each judge's share.
    Empirical: judges that fail alike put the truth outside. Nothing is learnt from the reference; where it holds votes
    and truths, ``details["reference"]`` says whether its accuracy lies between its bounds, and a warning where it does
    not, by more than chance. Needs `votes`; `NotApplicable` without. Source: Yao and Koller (2024).

    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0], [1, 0, 0, 0]])
    >>> e = VotingBounds().fit(p).estimate(p)
    >>> e.value, e.details["lower_bound"], e.details["upper_bound"], e.details["single"]["value"]
    (0.375, 0.25, 0.5, 0.5)
    """

    name = "votes"
    traits = Traits("votes", 160, cost="slow", needs_labels=False)
    needs = ("votes",)
    assumes = "the judges generalise to the target and do not all fail alike"
    citation = "yao2024"
    kind = "empirical"

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
            raise UsageError(
                f"expected votes:<k>, k the judges that must agree such as votes:3, got votes:{argument}"
            )
        return cls(agree=int(argument), **options)

    def why_not_learn(self, reference: Predictions) -> str | None:
        """Nothing is learnt: judges of the target alone will do."""
        return None

    def _fit(self, reference: Predictions) -> None:
        """Nothing but a look at how the judges did on labelled rows, where there are any."""
        self._seen: Json | None = None
        if reference.votes is None:
            return
        # the floor of metrics has many files; a file without votes needs none of them
        from ..metrics.votes import VoteCounts, against_truth, check_agree

        check_agree(self.agree, len(reference.votes))
        try:
            labelled = reference.known()
        except NotApplicable:  # labels, but no prediction to hold them against
            return
        if not len(labelled):
            return
        counts = VoteCounts.of(labelled)
        agree = check_agree(self.agree, counts.judges)
        truth = against_truth(counts, agree, self.level)
        above, below = truth["above_lower"], truth["below_upper"]
        reached = counts.at_least.sum(axis=0)
        self._seen = {
            "rows": counts.rows,
            "accuracy": int(counts.of_verdict[1]) / counts.rows,
            "lower_bound": int(reached[agree]) / counts.rows,
            "upper_bound": int(reached[counts.judges - agree + 1]) / counts.rows,
            "inside": truth["inside"],
            "refuted": above.upper < 0 or below.upper < 0,  # outside by more than chance
        }

    def summarize(self, batch: Predictions) -> Sums:
        """Rows by the number of judges that accept them, and the rows that each judge accepts."""
        from ..metrics.votes import count_votes

        votes = present(batch.votes)
        counts = np.bincount(count_votes(votes), minlength=len(votes) + 1)
        return Sums(rows=len(batch), counts=counts, accepted=np.count_nonzero(votes > 0, axis=1))

    def merge(self, a: Sums, b: Sums) -> Sums:
        """Sum of both, of the same judges."""
        judges, other_judges = len(a["accepted"]), len(b["accepted"])
        if judges != other_judges:
            raise InputError(
                "parts with the same judges",
                got=f"{judges} and {other_judges}",
                column="votes",
                remedy="give every row a vote of every judge",
            )
        return a + b

    def finish(self, state: Sums) -> Estimate:
        """The two shares and their mean."""
        from ..metrics.votes import agreements, check_agree, share

        rows, judges = state["rows"], len(state["accepted"])
        agree = check_agree(self.agree, judges)
        reached = state["counts"][::-1].cumsum()[::-1]
        low, high = reached[agree] / rows, reached[judges - agree + 1] / rows
        lower, upper = wilson(low, rows, self.level)[0], wilson(high, rows, self.level)[1]
        details: Json = {
            "lower_bound": float(low),
            "upper_bound": float(high),
            "agree": agree,
        }

        def exact(count: int) -> Json:
            return present(share(count, rows, self.level)).to_dict()

        each = [exact(int(count)) for count in state["accepted"]]
        details |= {"judges": judges, "single": each[0], "by_judge": each}
        details["ladder"] = [
            {"at_least": j, **exact(int(reached[j]))} for j in range(1, judges + 1)
        ]
        details["bounds"] = [
            {
                "agree": k,
                "lower": float(reached[k] / rows),
                "upper": float(reached[judges - k + 1] / rows),
            }
            for k in agreements(judges)
        ]
        warnings = []
        if self._seen is not None:
            details["reference"] = plain(self._seen)
            if self._seen["refuted"]:
                accuracy, lowest, highest = (
                    percent(self._seen[k]) for k in ("accuracy", "lower_bound", "upper_bound")
                )
                outside = f"the accuracy, {accuracy}, lies outside the judges' own bounds, {lowest} to {highest}"
                warnings.append(
                    f"on the labelled reference {outside}, by more than chance: they fail alike"
                )
        if judges == 1:
            warnings.append(
                "one judge makes no bounds: its verdicts are taken at their word, errors and all"
            )
        return self._estimate(
            state,
            (low + high) / 2,
            lower,
            upper,
            score="vote_share",
            details=details,
            warnings=tuple(warnings),
        )
