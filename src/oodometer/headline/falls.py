"""Falls: did the accuracy fall by at least a margin, how often is such an answer right, and when is it an alarm?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

from ..diagnoses.base import holm
from ..errors import UsageError
from ..results import Interval, percent
from ..results.fall import Fall, FallVerdict
from ..results.values import counted
from .natural_shifts import NaturalShifts, ShiftSigns

FELL = 0.8  # at this chance and above the accuracy is said to have fallen: of public cases, 19 in 20 had
HOLDS = 0.1  # at this chance and below it is said to hold
LEAST_RIGHT = 0.8  # of the public cases that were called so; a verdict that was right less often is not given
_STEPS = 101  # of a normal distribution
CHANGED = 0.05  # false alarms without any change, over all parts that are looked at together


def check_margin(margin: float) -> None:
    """`UsageError` for what is no margin: it lies between 0 and 1."""
    if not 0 <= margin < 1:
        raise UsageError(f"expected a margin between 0 and 1 such as 0.03, got {margin}; divide percents by 100")


def chance_of_fall(
    prior: NaturalShifts,
    signs: ShiftSigns | None,
    margin: float,
    assumed: Interval | None,
    source: float | None,
    error: float = 0.0,
) -> float | None:
    """How likely the accuracy lies at least ``margin`` below the reference's.

    Under the prior of natural shifts, or, where another assumption was chosen, from its interval ``assumed``, taken as
    a normal distribution. ``error`` is a standard error that clusters add: a normal number of that deviation is added
    to the truth. None where the accuracy of the reference is not known.
    """
    if error:
        away = [error * NormalDist().inv_cdf((i + 0.5) / _STEPS) for i in range(_STEPS)]
        chances = [chance_of_fall(prior, signs, margin - one, assumed, source) for one in away]
        known = [one for one in chances if one is not None]
        return sum(known) / len(known) if known else None
    if assumed is not None and source is not None:
        z = NormalDist().inv_cdf((1 + assumed.level) / 2)
        deviation = max((assumed.upper - assumed.lower) / (2 * z), 1e-9)
        return NormalDist(assumed.value, deviation).cdf(source - margin)
    return None if signs is None else prior.share_below(signs, signs.source - margin)


def chance_by_labels(correct: float, rows: float, bound: float, reference: tuple[float, float] | None = None) -> float:
    """How likely the accuracy lies below a bound, of labelled rows: a normal law with the mean and the variance of
    Jeffreys' posterior. With a ``reference`` (correct, rows) the bound is of the accuracy less the reference's.

    >>> round(chance_by_labels(930, 1000, 0.92), 3), round(chance_by_labels(930, 1000, -0.01, (4750, 5000)), 3)
    (0.118, 0.884)
    """
    mean = variance = 0.0
    for sign, hits, n in ((1, correct, rows), *([] if reference is None else [(-1, *reference)])):
        share = (hits + 0.5) / (n + 1)
        mean, variance = mean + sign * share, variance + share * (1 - share) / (n + 2)
    return NormalDist(mean, variance**0.5).cdf(bound)


def verdict_of(chance: float | None) -> FallVerdict:
    """The verdict at a chance of a fall.

    >>> verdict_of(0.9), verdict_of(0.5), verdict_of(0.02), verdict_of(None)
    ('fell', 'cannot say', 'holds', 'cannot say')
    """
    if chance is None:
        return "cannot say"
    return "fell" if chance >= FELL else "holds" if chance <= HOLDS else "cannot say"


def judged(
    prior: NaturalShifts,
    margin: float,
    chances: Sequence[float | None],
    changes: Sequence[float | None],
    assume: str,
    labelled: Sequence[int | None] | None = None,
) -> list[Fall]:
    """The falls of parts that are looked at together, such as all chunks of a series.

    An alarm asks for two things: the verdict "fell", and a change of the outputs that is more than chance at 5 % after
    Holm's correction for all parts. So however many chunks there are, a series in which nothing changes raises any
    alarm in about 5 % of cases at most. Natural shifts that look like a fall and are none are not corrected for: the
    chunks of a series share them, and how often that happens was measured (``why``).

    ``labelled`` are the rows by whose labels a part is judged, None where it is judged without: its chance is that of
    `chance_by_labels` then, and its change that of the accuracy itself.

    >>> from oodometer.headline.natural_shifts import packaged_prior
    >>> two = judged(packaged_prior(), 0.01, [0.9, 0.9], [1e-9, 0.03], "natural")
    >>> [one.verdict for one in two], [one.alarm for one in two]
    (['fell', 'fell'], [True, True])
    >>> [one.alarm for one in judged(packaged_prior(), 0.01, [0.9] * 2, [1e-9, 0.06], "natural")]
    [True, False]
    """
    adjusted = holm({str(i): p for i, p in enumerate(changes) if p is not None})
    out = []
    for i, chance in enumerate(chances):
        verdict, changed = verdict_of(chance), adjusted.get(str(i))
        rows = None if labelled is None else labelled[i]
        if rows is not None:
            why = f"by {counted(rows, 'labelled row')}"
            alarm = verdict == "fell" and changed is not None and changed <= CHANGED
            out.append(Fall(margin, chance, verdict, changed, alarm, why))
            continue
        measured = _measured(prior, margin, verdict)
        if assume == "natural" and measured is not None and measured[1] < LEAST_RIGHT:
            verdict = "cannot say"
        alarm = verdict == "fell" and changed is not None and changed <= CHANGED
        out.append(Fall(margin, chance, verdict, changed, alarm, _why(prior, margin, verdict, chance, assume)))
    return out


def _why(prior: NaturalShifts, margin: float, verdict: FallVerdict, chance: float | None, assume: str) -> str:
    if chance is None:
        return "the accuracy of the reference, or what the outputs say, is not known"
    if assume == "judges":
        return "by the judges' error rates on the reference"
    if assume != "natural":
        return "under the assumption that was chosen"
    if verdict == "cannot say":
        return "a few labels decide it (`oodometer audit`)"
    measured = _measured(prior, margin, verdict)
    if measured is None:
        return ""
    cases, right = measured
    said = "had" if verdict == "fell" else "had not fallen so far"
    return f"of {cases} public cases called so, their sources left out, {percent(right, 0)} {said}"


def _measured(prior: NaturalShifts, margin: float, verdict: FallVerdict) -> tuple[int, float] | None:
    """How many public cases were called so at the nearest margin that was tried, and how often that was right."""
    rows = [row for row in prior.verdicts if row[1] == verdict]
    nearest = min(rows, key=lambda row: abs(row[0] - margin)) if rows else None
    return None if nearest is None else (nearest[2], nearest[3])
