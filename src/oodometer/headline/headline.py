"""The headline: one number from several estimates, weighed by what was right on shifts like this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from ..diagnoses import Diagnosis
from ..intervals import clopper_pearson
from ..registry import known
from ..results import Estimate, Interval, percent
from ..results.estimation import Headline
from .trimmed_mean import averaged_methods, trimmed_mean
from .weighing import TrialWeighting, Weighed

__all__ = ["Evidence", "make_headline"]

# What does not ask that the target resembles the reference, best first: other models and distances before confidence.
_BEYOND = (("agreement", "threshold-distance", "dis2"), ("atc-entropy", "cot", "dis2"), ("atc",))
_ALARMING_SPREAD = 0.1
_WORTH_TELLING = 0.015  # of the weight
_LEAST_TRIMMED = 0.01
_MOST_TOLD = 3
_NO_OVERLAP = 0.96  # AUC above which nothing but labels can tell
# High trust is earned by measurement alone, and on shifts that nobody made it was not (docs/which_estimator_when.md).
_LEAST_TRUSTED_ROWS = 500
_ASSUMES_TWICE = "the true change of accuracy is at most twice the estimated one; inputs, not compared, may tell more"
_ASSUMES_LIKE_TRIALS = (
    "any shift is like those simulated from the reference, which leave P(y | x) or P(x | y) unchanged"
)


@dataclass(frozen=True)
class Evidence:
    """What a headline rests on besides the estimates.

    level : nominal coverage; weighting : weights by trials; shift_statistics, diagnosis : what is seen of the shift;
    source, reference_rows : accuracy on the reference and its rows; part : whether it is a part of what was diagnosed.
    """

    level: float = 0.95
    weighting: TrialWeighting | None = None
    shift_statistics: Mapping[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    source: float | None = None
    reference_rows: int = 0
    part: bool = False


def make_headline(estimates: Sequence[Estimate], evidence: Evidence) -> Headline | None:
    """One number with an interval, what it rests on, and how far to trust it. None without any estimate.

    Where the diagnosis finds inputs unlike the reference's, the methods that do not re-weight the reference answer, and
    the interval is everything where not even these agree (trust "none"). Else, with trials, methods are weighed
    by their errors on simulated targets like this one (`TrialWeighting`); without, the middle of different kinds of
    estimate answers, with the span of all of them. Judges (`votes`) that held on the reference and contradict the
    number on the target are heard instead, and no trust is left. Trust is "high" only where the diagnosis finds no
    shift in a whole target of 500 rows or more; of a `part` of the target there is no diagnosis.

    >>> e = Estimate("doc", 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021")
    >>> make_headline([e], Evidence(level=0.95)).interval.value
    0.8
    """
    by_name = {e.method: e for e in estimates}
    if not by_name:
        return None
    made = _from_estimates(by_name, evidence)
    return _with_judges(made, by_name.get("votes"), evidence.level)


def _from_estimates(by_name: Mapping[str, Estimate], evidence: Evidence) -> Headline:
    """The number before judges are heard."""
    level, diagnosis, source = evidence.level, evidence.diagnosis, evidence.source
    kind = None if diagnosis is None else diagnosis.kind
    if diagnosis is not None and kind == "support":
        beyond = _beyond(by_name, level, diagnosis)
        if beyond is not None:
            return beyond
    if evidence.weighting is not None and source is not None:
        rows = max(e.rows for e in by_name.values())
        values = {m: e.value for m, e in by_name.items()}
        weighed = evidence.weighting.weigh(values, evidence.shift_statistics, source, rows, level, kind)
        if weighed is not None:
            return _backtested(weighed, evidence, source, rows)
    return _agreeing(by_name, level)


def _backtested(weighed: Weighed, evidence: Evidence, source: float, rows: int) -> Headline:
    """The number that the trials favour."""
    value, level, diagnosis = weighed.value, evidence.level, evidence.diagnosis
    unseen = diagnosis is not None and diagnosis.kind == "covariate" and not _inputs_seen(diagnosis)
    # natural shifts have cost up to twice of what the outputs show (docs/which_estimator_when.md, texts)
    half = max(weighed.half, abs(value - source)) if unseen else weighed.half
    lower, upper = max(value - half, 0.0), min(value + half, 1.0)
    if source in (0.0, 1.0) and evidence.reference_rows:
        # no trial can err on rows that are all alike; more of them might not be
        low, high = clopper_pearson(round(source * evidence.reference_rows), evidence.reference_rows, level)
        lower, upper = min(lower, low), max(upper, high)
    doubt = _doubt(weighed, diagnosis, source, rows, evidence.part)
    why = doubt or f"with {rows} target rows most shifts that outputs can show would be seen"
    return Headline(
        Interval(value, lower, upper, level, "backtest"),
        "backtest: " + _spell(weighed),
        _ASSUMES_TWICE if half > weighed.half else _ASSUMES_LIKE_TRIALS,
        "low" if doubt else "high",
        why + "; a change of the truth itself (P(y | x)) would go unseen",
    )


def _doubt(weighed: Weighed, diagnosis: Diagnosis | None, source: float, rows: int, part: bool) -> str:
    """Why trust is no more than low, in plain words; empty where nothing speaks against the number."""
    if not weighed.covered:
        return "the target moved further than any shift that was simulated from the reference"
    if source in (0.0, 1.0):
        kind = "errors" if source else "correct answers"
        return f"the reference holds no {kind}, so the trials prove little"
    if diagnosis is None or diagnosis.kind == "unknown":
        why = "there was no diagnosis" if diagnosis is None else diagnosis.why
        return f"nothing here can tell which kind of shift it is: {why}"
    if diagnosis.kind == "covariate" and not _inputs_seen(diagnosis):
        return (
            "only outputs were compared: whether the inputs are like the reference's cannot be seen "
            "(give `features`, or `members` of other models)"
        )
    if weighed.half > _ALARMING_SPREAD:
        return "on simulated targets like this one the errors were large"
    if any(f.name == "confidence alarm" and f.strength == "strong" and f.refutes for f in diagnosis.findings):
        return "confidence does not see what other signs see"
    if diagnosis.kind != "none":
        return (
            "such intervals hold under shifts simulated from the reference, and natural shifts have missed them more "
            "often than they should (label some target rows: `oodometer audit`)"
        )
    if part:
        return "the kind of shift was diagnosed for the whole target, not for this part of it"
    if rows < _LEAST_TRUSTED_ROWS:
        return f"{rows} target rows, fewer than {_LEAST_TRUSTED_ROWS}, can hide a shift that matters"
    return ""


def _inputs_seen(diagnosis: Diagnosis) -> bool:
    """Whether something besides this model's outputs was compared: features that overlap, or other models' answers."""
    return any(f.name == "agreement" or (f.name == "overlap" and f.supports) for f in diagnosis.findings)


def _spell(weighed: Weighed) -> str:
    """The leading methods with their weights, the trimmed mean's and the others', in whole percents that add up to 100.

    >>> _spell(Weighed(0.8, 0.1, {"doc": 1.0}, 0.25, {}, True))
    'doc 75 %, trimmed mean 25 %'
    >>> _spell(Weighed(0.8, 0.1, {"doc": 0.4, "atc": 0.3, "im": 0.2, "cbpe": 0.1}, 0.0, {}, True))
    'doc 40 %, atc 30 %, im 20 %, others 10 %'
    """
    own = {m: share * (1 - weighed.trimmed) for m, share in weighed.shares.items()}
    told = dict([(m, share) for m, share in own.items() if share >= _WORTH_TELLING][:_MOST_TOLD])
    if weighed.trimmed > _LEAST_TRIMMED:
        told["trimmed mean"] = weighed.trimmed
    told["others"] = max(1 - sum(told.values()), 0.0)
    # rounded down, then what is missing from 100 goes to the largest remainders
    floors = {m: int(100 * share) for m, share in told.items()}
    by_remainder = sorted(told, key=lambda m: floors[m] - 100 * told[m])
    for m in by_remainder[: 100 - sum(floors.values())]:
        floors[m] += 1
    return ", ".join(f"{m} {percent(n / 100, 0)}" for m, n in floors.items() if n)


def _beyond(by_name: Mapping[str, Estimate], level: float, diagnosis: Diagnosis) -> Headline | None:
    """The answer where no re-weighting of the reference can stand for the target."""
    for group in _BEYOND:
        chosen = [by_name[m] for m in group if m in by_name]
        if chosen and (group[0] in by_name):
            break
    else:
        return None
    every = [e for names in _BEYOND for e in (by_name.get(m) for m in names) if e is not None]
    value = float(median(e.value for e in chosen))
    spread = max(e.value for e in every) - min(e.value for e in every)
    overlap = next((f for f in diagnosis.findings if f.name == "overlap"), None)
    auc = overlap.statistic if overlap is not None and overlap.refutes and overlap.statistic is not None else 0.0
    names = ", ".join(e.method for e in chosen)
    if auc > _NO_OVERLAP or spread > _ALARMING_SPREAD + 0.05:
        return Headline(
            Interval(value, 0.0, 1.0, level, "empirical"),
            f"median of {names}",
            "none that the data support; without labels any accuracy is possible here",
            "none",
            f"{diagnosis.why}; the estimate is a guess: label some target rows (`oodometer audit`)",
        )
    lower, upper = min(e.lower for e in every), max(e.upper for e in every)
    return Headline(
        Interval(value, min(lower, value), max(upper, value), level, "empirical"),
        f"median of {names}",
        "the truth lies within the span of methods that do not ask for overlap; nothing proves it",
        "low",
        diagnosis.why,
    )


def _agreeing(by_name: Mapping[str, Estimate], level: float) -> Headline:
    """The middle of different kinds of estimate; the interval runs from their lowest to their highest end.

    Threshold, difference of confidence, calibrated confidence, label shift and agreement rest on different
    assumptions. Where they differ, no label-free rule says which is right, so the interval spans them all; it is
    empirical, never a guarantee. Other models' agreement is heard before the trimmed mean, whose methods all look at
    this model alone. Where none of them could answer, the voting bounds or the reference accuracy are all there is.
    """
    groups = _method_groups(by_name)
    alone = not any(known("estimator", e.method).reads == "models" for e in groups)
    together = trimmed_mean({m: e.value for m, e in by_name.items()}) if alone else float("nan")
    chosen = groups if np.isnan(together) else [by_name[m] for m in averaged_methods() if m in by_name]
    if not chosen:
        rest = [e for e in by_name.values() if e.method != "source"] or list(by_name.values())
        chosen = [next((e for e in rest if e.method == "votes"), rest[0])]
    if len(chosen) == 1:
        return _alone(chosen[0])
    value = float(median(e.value for e in chosen)) if np.isnan(together) else together
    spread = max(e.value for e in chosen) - min(e.value for e in chosen)
    lower, upper = min(e.lower for e in chosen), max(e.upper for e in chosen)
    names = ("median of " if np.isnan(together) else "middle of ") + ", ".join(e.method for e in chosen)
    if spread > _ALARMING_SPREAD:
        trust = "none"
        why = (
            f"the methods differ by {percent(spread, 0)}: at least one of their assumptions fails; "
            "label some target rows"
        )
    else:
        trust = "low"
        why = f"{len(chosen)} methods with different assumptions agree within {percent(spread)}; all can fail alike"
    return Headline(
        Interval(value, lower, upper, level, "empirical"),
        names,
        "the truth lies within the span of methods whose assumptions differ; nothing proves it",
        trust,
        why,
    )


def _method_groups(by_name: Mapping[str, Estimate]) -> list[Estimate]:
    """One estimate of each family: methods that differ only in a detail would otherwise outvote the others."""
    spoken: dict[str, tuple[int, str]] = {}
    for name in by_name:
        cls = known("estimator", name) if ":" not in name else None
        if cls is not None and cls.voice:
            spoken[cls.family] = min(spoken.get(cls.family, (cls.voice, name)), (cls.voice, name))
    chosen = [by_name[name] for _, name in spoken.values()]
    return sorted(chosen, key=lambda e: known("estimator", e.method).order)


def _alone(only: Estimate) -> Headline:
    """The answer of one method; what the reference says of judges is a check of sorts, and the only one."""
    trust = "none" if only.method == "source" else "low"
    why = "it rests on one method and its assumption; nothing here checks that assumption"
    seen = only.details.get("reference") if only.method.partition(":")[0] == "votes" else None
    if seen is not None and seen["refuted"]:
        trust, why = "none", f"{only.warnings[0]}; label some target rows"
    elif seen is not None:
        side = "between" if seen["inside"] else "outside, by no more than chance,"
        why = (
            f"it rests on the judges alone: on the reference the accuracy, {percent(seen['accuracy'])}, lies {side} "
            f"their bounds, {percent(seen['lower_bound'])} to {percent(seen['upper_bound'])}; whether they judge the "
            "target as well cannot be seen"
        )
    return Headline(only.interval, only.method, only.assumes, trust, why)


def _with_judges(made: Headline, votes: Estimate | None, level: float) -> Headline:
    """The headline, or what judges say instead where it lies outside their bounds and these held on the reference.

    Confidence under shift fails in one direction and is not seen to; judges look at the outputs themselves. On six of
    the seven tasks of Yao and Koller (2024) outside the training distribution, their mean erred less than confidence.
    """
    seen = None if votes is None else votes.details.get("reference")
    if votes is None or seen is None or seen["refuted"] or made.method == votes.method:
        return made
    if votes.lower <= made.interval.value <= votes.upper:
        return made
    apart = abs(made.interval.value - votes.value) > _ALARMING_SPREAD
    lower, upper = min(made.interval.lower, votes.lower), max(made.interval.upper, votes.upper)
    return Headline(
        Interval(votes.value, lower, upper, level, "empirical"),
        f"votes, against {made.method}",
        "the truth lies within the span of the judges and of the methods that look at the model; nothing proves it",
        "none" if apart else "low",
        f"judges that were right about the reference accept {percent(votes.details['lower_bound'])} to "
        f"{percent(votes.details['upper_bound'])} of the outputs, and the other methods say "
        f"{percent(made.interval.value)}: one side fails; label some target rows",
    )
