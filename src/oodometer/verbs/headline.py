"""The headline: one number from several estimates, weighed by what was right on shifts like this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from ..diagnoses import Diagnosis
from ..intervals import clopper_pearson
from ..results import Estimate, Interval, percent
from .estimation import Headline
from .panel import PANEL, middle
from .weighing import Scales, Weighed

__all__ = ["make_headline"]

# One voice each: methods that differ only in a detail would otherwise outvote the others.
_VOICES = (
    ("atc-entropy", "atc"),
    ("doc",),
    ("cbpe", "im", "ac"),
    ("gde-difference", "gde"),
    ("agreement", "gde"),
)
# What does not ask that the target resembles the reference, best first: other models and distances before confidence.
_BEYOND = (("agreement", "threshold-distance", "dis2"), ("atc-entropy", "cot", "dis2"), ("atc",))
_ALARMING_SPREAD = 0.1
_WORTH_TELLING = 0.015  # of the weight
_NO_OVERLAP = 0.96  # AUC above which nothing but labels can tell
_ASSUMES_TWICE = (
    "the accuracy moved at most twice as far as is estimated; only inputs could show more, and none were seen"
)
_ASSUMES_LIKE_TRIALS = (
    "the target is shifted in ways like those simulated from the reference (P(y | x) or P(x | y) unchanged)"
)


def make_headline(
    estimates: Sequence[Estimate],
    level: float,
    *,
    scales: Scales | None = None,
    signs: Mapping[str, float] | None = None,
    diagnosis: Diagnosis | None = None,
    source: float | None = None,
    reference_rows: int = 0,
) -> Headline | None:
    """One number with an interval, what it rests on, and how far to trust it. None without any estimate.

    Where the diagnosis finds inputs unlike the reference's, the methods that do not re-weight the reference answer, and
    the interval is everything where not even these agree (trust "none"). Else, with trials, methods are weighed
    by their errors on simulated targets like this one (`Scales`); without, the middle of different kinds of
    estimate answers, with the span of all of them. Judges (`votes`) that held on the reference and contradict the
    number on the target are heard instead, and no trust is left.

    >>> e = Estimate("doc", 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021")
    >>> make_headline([e], 0.95).interval.value
    0.8
    """
    by_name = {e.method: e for e in estimates}
    if not by_name:
        return None
    made = _from_estimates(by_name, level, scales, signs, diagnosis, source, reference_rows)
    return _with_judges(made, by_name.get("votes"), level)


def _from_estimates(
    by_name: Mapping[str, Estimate],
    level: float,
    scales: Scales | None,
    signs: Mapping[str, float] | None,
    diagnosis: Diagnosis | None,
    source: float | None,
    reference_rows: int,
) -> Headline:
    """The number before judges are heard."""
    if diagnosis is not None and diagnosis.kind == "support":
        beyond = _beyond(by_name, level, diagnosis)
        if beyond is not None:
            return beyond
    if scales is not None and source is not None:
        rows = max(e.rows for e in by_name.values())
        values = {m: e.value for m, e in by_name.items()}
        weighed = scales.weigh(
            values, signs or {}, source, rows, level, None if diagnosis is None else diagnosis.kind
        )
        if weighed is not None:
            return _backtested(weighed, level, diagnosis, source, reference_rows)
    return _agreeing(by_name, level)


def _backtested(
    weighed: Weighed, level: float, diagnosis: Diagnosis | None, source: float, reference_rows: int
) -> Headline:
    """The number that the trials favour."""
    value = weighed.value
    unseen = diagnosis is not None and diagnosis.kind == "covariate" and not _inputs_seen(diagnosis)
    # natural shifts have cost up to twice of what the outputs show (docs/which_estimator_when.md, texts)
    half = max(weighed.half, abs(value - source)) if unseen else weighed.half
    lower, upper = max(value - half, 0.0), min(value + half, 1.0)
    one_sided = source in (0.0, 1.0)
    if one_sided and reference_rows:  # no trial can err on rows that are all alike; more of them might not be
        low, high = clopper_pearson(round(source * reference_rows), reference_rows, level)
        lower, upper = min(lower, low), max(upper, high)
    leading = [m for m in weighed.shares if weighed.shares[m] * (1 - weighed.panel) >= _WORTH_TELLING][:3]
    kind = None if diagnosis is None else diagnosis.kind
    family = next(iter(weighed.families), "none")
    if not weighed.covered:
        trust, why = "low", "the target moved further than any shift that was simulated from the reference"
    elif one_sided:
        trust = "low"
        why = (
            f"the reference holds no {'errors' if source else 'correct answers'}, so the trials prove little"
        )
    elif kind == "unknown" or kind is None:
        trust = "low"
        why = "nothing here can tell which kind of shift it is: " + (
            diagnosis.why if diagnosis is not None else "there was no diagnosis"
        )
    elif unseen:
        trust, why = (
            "low",
            (
                f"{diagnosis.why if diagnosis else ''}; but only outputs were compared: whether the inputs are like "
                "the reference's cannot be seen (give `features`, or `members` of other models)"
            ),
        )
    elif weighed.half > _ALARMING_SPREAD:
        trust, why = "low", "on simulated targets like this one the errors were large"
    elif any(f.strength == "strong" and f.refutes for f in (diagnosis.findings if diagnosis else ()) if f.name
             == "confidence alarm"):  # fmt: skip
        trust, why = "low", "confidence does not see what other signs see"
    else:
        trust = "high" if kind in ("none", "label", "covariate") else "low"
        why = f"{diagnosis.why if diagnosis else ''}; most like simulated shifts of the kind {family!r}"
    why += "; a change of the truth itself (P(y | x)) would go unseen"
    return Headline(
        Interval(value, lower, upper, level, "backtest"),
        "backtest: " + _spell(weighed, leading),
        _ASSUMES_TWICE if half > weighed.half else _ASSUMES_LIKE_TRIALS,
        trust,
        why,
    )


def _inputs_seen(diagnosis: Diagnosis) -> bool:
    """Whether something besides this model's outputs was compared: features that overlap, or other models' answers."""
    return any(f.name == "agreement" or (f.name == "overlap" and f.supports) for f in diagnosis.findings)


def _spell(weighed: Weighed, leading: Sequence[str]) -> str:
    """The leading methods with their weights, and the panel's where it has a say worth telling.

    >>> _spell(Weighed(0.8, 0.1, {"doc": 1.0}, 0.25, {}, True), ["doc"])
    'doc 75 %, middle of the panel 25 %'
    """
    own = [f"{m} {percent(weighed.shares[m] * (1 - weighed.panel), 0)}" for m in leading]
    return ", ".join(
        [*own, f"middle of the panel {percent(weighed.panel, 0)}"] if weighed.panel > 0.01 else own
    )


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
    auc = (
        overlap.statistic
        if overlap is not None and overlap.refutes and overlap.statistic is not None
        else 0.0
    )
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
    empirical, never a guarantee. Other models' agreement is heard before the panel, whose methods all look at
    this model alone. Where none of them could answer, the voting bounds or the reference accuracy are all there is.
    """
    alone = not any("gde" in voice and m in by_name for voice in _VOICES for m in voice)
    together = middle({m: e.value for m, e in by_name.items()}) if alone else float("nan")
    panel = [by_name[m] for m in PANEL if m in by_name]
    chosen: list[Estimate] = [] if np.isnan(together) else panel
    for voice in () if chosen else _VOICES:
        found = next((by_name[name] for name in voice if name in by_name), None)
        if found is not None and found not in chosen:
            chosen.append(found)
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
