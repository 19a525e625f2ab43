"""Labels and what is believed without them: one posterior behind `estimate` and `audit`, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..arrays import Array
from ..audits.judge import (
    EVEN,
    SMALL_TARGET,
    Believed,
    believed_below,
    believed_interval,
    effective_labels,
    exact_interval,
    exact_p_value,
    heavy_tailed,
    likelihood_labels,
    linear_cdf,
)
from ..inference.betting import WRONG, SampledRows, betting_evidence, log_evidence
from ..intervals import clopper_pearson, holm, normal_quantile
from ..results import Interval, Kind
from ..results.alarms import Fall
from ..results.estimation import ASSUMPTIONS, Estimation, Headline
from ..results.values import counted
from .natural_shifts import (
    CHANGED,
    WIDEST,
    NaturalShifts,
    ShiftSigns,
    is_alarm,
    judges_alone,
    signs_of_result,
    verdict_of,
)

_LARGE = 20_000  # rows from which on the normal law tells two shares apart as well as all tables do
_SURE = 0.03  # half a believed interval of high trust
_NAMED = 6  # sources that a sentence names
_ALONE = "the labelled rows were drawn at random from the target"
Side = Literal["below", "not below"]


def cdf_without_labels(
    prior: NaturalShifts,
    signs: ShiftSigns | None,
    assumed: Interval | None = None,
    error: float = 0.0,
) -> Array | None:
    """What `chance_of_fall` says of every accuracy, as a distribution function at 1,001 even ones; None where public
    shifts say nothing. ``assumed``: the answer under a chosen assumption; ``error``: what clusters add.
    """
    from scipy.special import ndtr

    if assumed is not None:
        deviation = max(
            (assumed.upper - assumed.lower) / (2 * normal_quantile(assumed.level)), 1e-9
        )
        cdf = ndtr((EVEN - assumed.value) / deviation)
        cdf = (cdf - cdf[0]) / max(cdf[-1] - cdf[0], 1e-300)
    elif signs is None:
        return None
    else:
        quantiles = prior.quantile(signs, prior.levels)
        if not np.isfinite(quantiles).all():
            return None
        cdf = linear_cdf(prior.levels, quantiles)
    if error:
        cells = len(EVEN) - 1
        edges = ndtr((np.arange(-cells, cells + 2) - 0.5) / cells / error)
        below, within, above = np.convolve(np.diff(cdf), np.diff(edges)).reshape(3, cells)
        cdf = np.concatenate([[0.0], np.cumsum(below[::-1] + within + above[::-1])])
    return np.asarray(cdf / cdf[-1])


@dataclass(frozen=True)
class LabelEvidence:
    """What labels say of a target, or of a part of it.

    hits, labels : right ones and all of them as a likelihood may count them: fewer where rows depend on each other or
    were not drawn alike. labelled, rows : labelled rows, and those of the target. gaps, expected : rows that were drawn
    and never labelled, and how many of these are predicted to be right. alike : whether all rows were as likely to be
    drawn. not_random : why the labelled rows can hardly be a random sample, or None; by_outcome : whether they were
    picked by what is to be estimated.
    """

    hits: float
    labels: float
    labelled: int
    rows: int
    gaps: int = 0
    expected: float = 0.0
    alike: bool = True
    not_random: str | None = None
    by_outcome: bool = False

    @classmethod
    def of_sample(
        cls, sampled: SampledRows, score: Array, labelled: int, not_random: str | None
    ) -> LabelEvidence:
        """That of drawn rows; ``score``: how likely each target row is right, (sample,)."""
        hits, labels, _ = likelihood_labels(sampled, score)
        gaps = (len(sampled.gaps), float(score[sampled.gaps].sum()))
        return cls(hits, labels, labelled, len(score), *gaps, not sampled.weighted, not_random)

    @property
    def inside(self) -> int:
        """Rows without the gaps."""
        return self.rows - self.gaps

    @property
    def complete(self) -> bool:
        """Whether every row has a label: then nothing is left to estimate."""
        return self.labelled >= self.rows

    @property
    def usable(self) -> bool:
        """Whether the labels speak for all rows."""
        return self.labelled > 0 and self.not_random is None

    @property
    def small(self) -> int | None:
        """The rows of the target, where they are few beside the labels and drawn alike."""
        return self.inside if self.alike and self.inside <= SMALL_TARGET * self.labels else None

    def without_gaps(self, accuracy: float) -> float:
        """The accuracy of the rows without the gaps, if this is that of all, and the gaps are as predicted."""
        return (accuracy * self.rows - self.expected) / self.inside

    def alone(self, level: float) -> Interval:
        """The accuracy of the labelled rows, with Clopper and Pearson's ends."""
        ends = clopper_pearson(self.hits, self.labels, level)
        kind: Kind = "conditional" if self.not_random is not None else "asymptotic"
        kind = "exact" if self.not_random is None and self.labels == self.labelled else kind
        return Interval(self.hits / self.labels, *ends, level, kind)

    def changed(self, correct: float, rows: float) -> float:
        """p-value of "as often right as the reference", two-sided: Fisher's (1935), of many rows the normal law."""
        mine = round(self.hits), max(round(self.labels), 1)
        reference = round(correct), max(round(rows), 1)
        return _same_share((min(mine), mine[1]), (min(reference), reference[1]))

    def proof(self, bound: float) -> float | None:
        """p-value, two-sided, of "the accuracy is this or more", by the labels alone; None where they are no sample."""
        if not self.usable or self.complete or not self.alike:
            return None
        # right rows with which the bound is kept
        needed = math.ceil(bound * self.rows - self.gaps - 1e-9)
        lower, labels = min(max(needed / self.inside, 0.0), 1.0), max(round(self.labels), 1)
        return exact_p_value(min(round(self.hits), labels), labels, self.inside, lower, 1.0)


def _same_share(first: tuple[int, int], second: tuple[int, int]) -> float:
    """p-value of "both shares are the same", from hits and rows of each."""
    (a, n), (b, m) = first, second
    if n + m > _LARGE:
        share = (a + b) / (n + m)
        spread = math.sqrt(share * (1 - share) * (1 / n + 1 / m))
        return math.erfc(abs(a / n - b / m) / spread / math.sqrt(2)) if spread > 0 else 1.0
    from scipy.special import gammaln

    k = np.arange(max(0, a + b - m), min(n, a + b) + 1)
    logs = -np.sum([gammaln(x + 1) for x in (k, n - k, a + b - k, m - a - b + k)], axis=0)
    mass = np.exp(logs - logs.max())
    at = a - int(k[0])
    return float(min(1.0, 2 * min(mass[: at + 1].sum(), mass[at:].sum()) / mass.sum()))


@dataclass(frozen=True)
class LabelPosterior:
    """The accuracy given labels: prior x likelihood. ``prior``: distribution function at 1,001 even accuracies, None
    where only the labels are known; ``known``: what it was made of, in words; ``by_history``: whether of own history.

    Where every row is labelled it is certain. Else the prior gets heavy tails (`heavy_tailed`) and the likelihood is
    that of random rows, of suggested ones by their weights.

    >>> few = LabelEvidence(75, 150, 150, 2000)
    >>> made = LabelPosterior(None, few)
    >>> made.interval(0.95).kind, round(made.below(0.6), 2)
    ('exact', 1.0)
    """

    prior: Array | None
    evidence: LabelEvidence
    known: str = ""
    by_history: bool = False

    @cached_property
    def spread(self) -> Array:
        """The distribution function before labels, with heavy tails."""
        return EVEN if self.prior is None else heavy_tailed(self.prior)

    @property
    def share(self) -> float:
        """The share of labelled rows that are right."""
        return self.evidence.hits / self.evidence.labels

    def below(self, accuracy: float) -> float:
        """How likely the accuracy lies below this one; rows passed over count as predicted."""
        observed = self.evidence
        if observed.complete:
            return float(self.share < accuracy - 1e-12)
        return believed_below(
            self.spread,
            observed.hits,
            observed.labels,
            observed.without_gaps(accuracy),
            observed.small,
        )

    @property
    def distribution(self) -> Array:
        """The distribution function at 1,001 even accuracies."""
        if self.evidence.complete:
            return np.asarray((self.share - 1e-12 <= EVEN).astype(np.float64))
        coarse = EVEN[::10]
        return np.interp(EVEN, coarse, [self.below(float(accuracy)) for accuracy in coarse])

    def interval(self, level: float) -> Interval:
        """Value and ends: the median and the central interval; without a prior the exact interval of the labels."""
        observed = self.evidence
        if observed.complete:
            return Interval(self.share, self.share, self.share, level, "exact")
        if self.prior is None:
            labels = max(round(observed.labels), 1)
            three = (
                self.share,
                *exact_interval(min(round(observed.hits), labels), labels, observed.inside, level),
            )
        else:
            three = believed_interval(
                self.spread, observed.hits, observed.labels, level, observed.small
            )
        value, low, high = three
        if observed.gaps:  # a row that was passed over may hold any truth
            value = (value * observed.inside + observed.expected) / observed.rows
            low, high = (
                low * observed.inside / observed.rows,
                (high * observed.inside + observed.gaps) / observed.rows,
            )
        kind: Kind = "exact" if observed.labels == observed.labelled else "asymptotic"
        kind = kind if self.prior is None else "empirical"
        return Interval(value, min(low, value), max(high, value), level, kind)

    @property
    def assumes(self) -> str:
        """What it rests on."""
        if self.prior is None:
            return _ALONE
        sampling = (
            "at random" if self.evidence.alike else "with the chances that --suggest wrote down"
        )
        return f"{self.known}, and the labelled rows were drawn {sampling}"

    def headline(self, without: Headline, level: float) -> Headline:
        """The headline with the labels in it; where every row has one, that ``without`` them, not trusted on a miss."""
        observed, still = self.evidence, without.interval
        if observed.complete:
            if still.lower - 1e-9 <= self.share <= still.upper + 1e-9:
                return without
            return replace(without, trust="none", why=missed(still, self.share))
        credible, labels = self.interval(level), counted(observed.labelled, "label")
        bands = {
            name: self.interval(share) for name, share in (("half", 0.5), ("nine_in_ten", 0.9))
        }
        if "unchanged" in without.bands:
            bands["unchanged"] = without.bands["unchanged"]
        method = f"{labels} alone" if self.prior is None else f"prior and {labels}"
        wide = credible.upper - credible.lower
        trust = "none" if wide > WIDEST else "high" if wide <= 2 * _SURE else "low"
        why = (
            f"{labels} of rows drawn at random are in it; more make it narrower (`oodometer audit`)"
        )
        return Headline(credible, method, self.assumes, trust, why, bands)

    def believed(self, level: float, fell: Fall | None) -> Believed:
        """The same as an audit has it."""
        credible = self.interval(level)
        worth = effective_labels(
            credible.value, credible.upper - credible.lower, level, self.evidence.rows
        )
        return Believed(credible, self.assumes, worth, fell=fell, by_history=self.by_history)


def known_by(prior: NaturalShifts, assume: str, still: Headline) -> str:
    """What the distribution without labels, of the headline ``still``, rests on."""
    if still.history is not None:
        return still.assumes
    if assume != "natural":
        return ASSUMPTIONS[assume]
    about = prior.about or {}
    sources = [str(name) for name in about.get("sources", ())]
    named = ", ".join(sources[:_NAMED]) + (", ..." if len(sources) > _NAMED else "")
    return f"the shift is like those of {about.get('cases', 'some')} public cases of {len(sources)} sources ({named})"


def posterior_of_result(
    result: Estimation, evidence: LabelEvidence, prior: NaturalShifts
) -> LabelPosterior:
    """The posterior of a result of `estimate` under natural shifts; that of labels alone where these say nothing."""
    still = result.headline_without_labels or result.headline
    basis = known_by(prior, "natural", still)
    if still.history is not None:
        return LabelPosterior(_of_bands(still), evidence, basis, by_history=True)
    signs = None if judges_alone(still) else signs_of_result(replace(result, headline=still))
    return LabelPosterior(cdf_without_labels(prior, signs), evidence, basis)


def _of_bands(still: Headline) -> Array:
    """The distribution function of a headline by own history, linear between the ends of its bands."""
    bands = sorted(
        (still.interval, still.bands["half"], still.bands["nine_in_ten"]),
        key=lambda band: -band.level,
    )
    levels = [(1 - band.level) / 2 for band in bands]
    levels = [*levels, 0.5, *(1 - level for level in reversed(levels))]
    ends = (
        [band.lower for band in bands]
        + [still.interval.value]
        + [band.upper for band in reversed(bands)]
    )
    return linear_cdf(np.array(levels), np.array(ends))


def audited(result: Estimation, posterior: LabelPosterior) -> Believed:
    """What an audit believes: what a result of `estimate` says with labels, or why it says no more than without."""
    observed = posterior.evidence
    if observed.not_random is not None:
        return Believed(None, why="the labelled rows are no random sample of the target")
    if not observed.labelled:
        return Believed(None, why="there is no label yet: use the label-free estimate")
    if (
        not judges_alone(result.headline_without_labels or result.headline)
        and posterior.prior is None
    ):
        return Believed(
            None,
            why="comparable public cases are chosen by the reference accuracy, which is not known",
        )
    if posterior.prior is None:
        why = "of the target only judges' votes are known, and there are no public shifts of such votes"
        return Believed(None, why=f"{why}: go by the audited accuracy")
    if result.headline_without_labels is None:
        return posterior.believed(result.level, result.fell)
    credible = result.headline.interval
    worth = effective_labels(
        credible.value, credible.upper - credible.lower, result.level, observed.rows
    )
    return Believed(
        credible, result.headline.assumes, worth, fell=result.fell, by_history=posterior.by_history
    )


def missed(interval: Interval, truth: float) -> str:
    """That an estimate without labels missed the truth, and by how much; empty where it did not."""
    gap = interval.lower - truth if truth < interval.lower else truth - interval.upper
    side = "below" if truth < interval.lower else "above"
    return (
        f"it missed: the truth lies {100 * gap:.1f} points {side} the interval"
        if gap > 1e-9
        else ""
    )


def falls_by_labels(
    posteriors: Sequence[LabelPosterior | None],
    changes: Sequence[float | None],
    margin: float,
    references: Sequence[tuple[float, float]],
    assume: str,
) -> list[Fall | None]:
    """Whether the accuracy fell, of parts looked at together and with labels (None: without). An alarm asks that a fall
    is likely (`is_alarm`) and for a change beyond chance, of the outputs (``changes``) or of the labels, or for labels
    that prove it alone, all after a correction for the number of parts; ``references``: right rows and all that each
    part is held against. Fall.changed is the smaller p-value.
    """
    both: dict[int, float] = {}
    for i, (posterior, p) in enumerate(zip(posteriors, changes, strict=True)):
        seen = [] if posterior is None else [posterior.evidence.changed(*references[i])]
        if p is not None and not (posterior is not None and posterior.evidence.complete):
            seen.append(p)  # where the truth is known, outputs have nothing to add
        if seen:
            both[i] = min(*seen, 1.0)
    adjusted = dict(zip(both, holm([*both.values()]), strict=True))
    out: list[Fall | None] = []
    for i, posterior in enumerate(posteriors):
        if posterior is None:
            out.append(None)
            continue
        bound = references[i][0] / references[i][1] - margin
        chance, proof = posterior.below(bound), posterior.evidence.proof(bound)
        proven = proof is not None and proof * len(posteriors) <= CHANGED
        verdict = "fell" if proven else verdict_of(chance)
        changed = adjusted[i]
        if proven and proof is not None:
            changed = min(changed, proof * len(posteriors))
        why = _why_by_labels(posterior, assume)
        if verdict == "cannot say":
            why = f"{why}; label more rows to decide it"
        out.append(
            Fall(
                margin, chance, verdict, changed, is_alarm(1.0 if proven else chance, changed), why
            )
        )
    return out


def _why_by_labels(posterior: LabelPosterior, assume: str) -> str:
    """What a verdict with labels rests on."""
    rows = counted(posterior.evidence.labelled, "labelled row")
    if posterior.prior is None or posterior.evidence.complete:
        return f"by {rows}"
    if posterior.by_history:
        return f"by own history and {rows} together"
    prior = "public shifts" if assume == "natural" else "what was assumed"
    return f"by {prior} and {rows} together"


@dataclass(frozen=True)
class Decision:
    """Whether labels decide that the accuracy lies below a bound, with a wrong answer in 5 % at most, however often one
    looks; ``needed``: about how many more random labels it takes, None where it is decided.
    """

    bound: float
    says: Side | None
    needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {"bound": self.bound, "says": self.says, "needed_labels": self.needed}


_FIGURES = 2  # of a number of labels that is only about right


def decide_by_labels(
    posterior: LabelPosterior, bound: float, bets: tuple[SampledRows, Array, float] | None = None
) -> Decision:
    """Whether enough labels are there to stop. ``bets``: rows that were not drawn alike, how likely each target row is
    right, and the slope of it, which decide by a gambler's capital.

    >>> made = LabelPosterior(None, LabelEvidence(75, 150, 150, 2000))
    >>> decide_by_labels(made, 0.65).says, decide_by_labels(made, 0.55)
    ('below', Decision(bound=0.55, says=None, needed=580))
    """
    side = said_by_labels(posterior, bound, bets)
    if side is not None:
        return Decision(bound, side, None)
    observed = posterior.evidence
    if not observed.usable:  # what is there does not count
        observed = replace(
            observed,
            hits=0.0,
            labels=0.0,
            labelled=0,
            gaps=0,
            expected=0.0,
            alike=True,
            not_random=None,
        )
    goal, ends = -math.log(WRONG), _ends(observed, bound)
    unlabelled = observed.inside - observed.labelled
    rate = believed_interval(posterior.spread, observed.hits, observed.labels, 0.5, None)[0]
    few, enough = 0, unlabelled
    while enough - few > 1:
        middle = (few + enough) // 2
        reached = max(_evidences(posterior, observed, ends, middle, rate)) >= goal
        few, enough = (few, middle) if reached else (middle, enough)
    step = max(10 ** (len(str(enough)) - _FIGURES), 5)
    return Decision(bound, None, max(min(-(-enough // step) * step, unlabelled), 1))


def said_by_labels(
    posterior: LabelPosterior, bound: float, bets: tuple[SampledRows, Array, float] | None = None
) -> Side | None:
    """On which side of the bound the accuracy lies, where the labels decide it (`decide_by_labels`)."""
    observed = posterior.evidence
    if not observed.usable:
        return None
    if observed.complete:
        return "below" if posterior.below(bound) else "not below"
    ends = _ends(observed, bound)
    if observed.alike or bets is None:
        return _side(*_evidences(posterior, observed, ends, 0, 0.0))
    sampled, score, slope = bets
    game = sampled.game(score, slope)
    low, high = (min(max(end, 0.0), 1.0) for end in ends)
    return _side(betting_evidence(game, low, -1), betting_evidence(game, high, 1))


def _ends(observed: LabelEvidence, bound: float) -> tuple[float, float]:
    """The bound for the rows without the gaps, if all these are right, and if all are wrong."""
    return (
        bound * observed.rows - observed.gaps
    ) / observed.inside, bound * observed.rows / observed.inside


def _side(below: float, above: float) -> Side | None:
    goal = -math.log(WRONG)
    return "below" if below >= goal and below >= above else "not below" if above >= goal else None


def _evidences(
    posterior: LabelPosterior,
    observed: LabelEvidence,
    ends: tuple[float, float],
    more: int,
    rate: float,
) -> tuple[float, float]:
    """Log e-values of "below" and "not below" after so many more labels, of which this share is right."""
    counts = observed.hits + rate * more, observed.labels + more
    rows = observed.inside if observed.alike and observed.labels == observed.labelled else None
    points = (EVEN[1:] + EVEN[:-1]) / 2 if rows is None else np.unique(np.rint(EVEN * rows)) / rows
    density = np.maximum(np.gradient(np.interp(points, EVEN, posterior.spread)), 0.0)
    out = []
    for bound, below in zip(ends, (True, False), strict=True):
        # that is not below the bound
        lowest = bound if rows is None else math.ceil(bound * rows - 1e-9) / rows
        boundary = lowest if below or rows is None else lowest - 1 / rows
        side = points < lowest - 1e-12 if below else points >= lowest - 1e-12
        if not side.any() or not 0 <= boundary <= 1:  # nothing lies on one side of the bound
            out.append(np.inf if side.any() else -np.inf)
            continue
        side_density, size = density[side], int(side.sum())
        # half of the bet by what is believed, half on all accuracies alike, in case that belief is wrong
        weight = 0.5 / size + (
            0.5 * side_density / side_density.sum()
            if side_density.sum() > 0
            else np.full(size, 0.5 / size)
        )
        out.append(log_evidence(points[side], weight, boundary, counts, rows))
    return out[0], out[1]
