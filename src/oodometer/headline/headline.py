"""The headline: one number from several estimates, weighed by what was right on shifts like this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from ..diagnoses import Diagnosis
from ..estimators.votes import said_of_rates
from ..inference.clusters import clustered_error
from ..intervals import clopper_pearson
from ..registry import known, those
from ..results import Estimate, Interval, percent
from ..results.estimation import Headline
from .weighing import TrialWeighting, averaged_methods, spelled, trimmed_mean

_ALARMING_SPREAD = 0.1
_ASSUMES_LIKE_TRIALS = (
    "any shift is like those simulated from the reference, which leave P(y | x) or P(x | y) unchanged"
)


@dataclass(frozen=True)
class Evidence:
    """What a headline rests on besides the estimates.

    level : nominal coverage; weighting : weights by trials; shift_statistics, diagnosis : what is seen of the shift;
    source, reference_rows : accuracy on the reference and its rows. effects : design effects of clusters in reference
    and target.
    """

    level: float = 0.95
    weighting: TrialWeighting | None = None
    shift_statistics: Mapping[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    source: float | None = None
    reference_rows: int = 0
    effects: tuple[float, float] = (1.0, 1.0)

    def error_of_clusters(self, value: float, rows: int) -> float:
        """What clusters add to the standard error of an estimate for so many target rows."""
        return clustered_error(self.effects, (self.source or 0.0, self.reference_rows), (value, rows))


def make_headline(estimates: Sequence[Estimate], evidence: Evidence) -> Headline | None:
    """One number if P(y | x) stood still, with an interval and what it rests on. None without any estimate.

    Where the diagnosis finds inputs unlike the reference's and other models were asked, the methods that need no
    overlap answer. Else, with trials, methods are weighed by their errors on simulated targets like this one
    (`TrialWeighting`); without, the middle of different kinds of estimate answers, with the span of all of them.
    Judges (`votes-corrected`, `votes`) that held on the reference and contradict the number on the target are heard
    instead.
    `natural_headline` then says what natural shifts make of the number.

    >>> e = Estimate("doc", 0.8, 0.7, 0.9, 0.95, "conditional", "", "guillory2021")
    >>> make_headline([e], Evidence(level=0.95)).interval.value
    0.8
    """
    by_name = {e.method: e for e in estimates}
    if not by_name:
        return None
    made = _from_estimates(by_name, evidence)
    return _with_judges(made, by_name, evidence.level)


def _from_estimates(by_name: Mapping[str, Estimate], evidence: Evidence) -> Headline:
    """The number before judges are heard."""
    level, diagnosis, source = evidence.level, evidence.diagnosis, evidence.source
    kind = None if diagnosis is None else diagnosis.kind
    if diagnosis is not None and kind == "support" and (chosen := beyond_overlap(by_name)):
        # no re-weighting of the reference can stand for the target, and other models were asked
        value = float(median(e.value for e in chosen))
        lower, upper = min(value, *(e.lower for e in chosen)), max(value, *(e.upper for e in chosen))
        interval, method = Interval(value, lower, upper, level, "empirical"), ", ".join(e.method for e in chosen)
        assumes = "the truth lies within the span of methods that do not ask for overlap; nothing proves it"
        return Headline(interval, f"median of {method}", assumes, "low", diagnosis.why)
    if evidence.weighting is not None and source is not None:
        rows = max(e.rows for e in by_name.values())
        values = {m: e.value for m, e in by_name.items()}
        weighed = evidence.weighting.weigh(values, evidence.shift_statistics, source, rows, level, kind)
        if weighed is not None:
            value = weighed.value
            lower, upper = max(value - weighed.half, 0.0), min(value + weighed.half, 1.0)
            if source in (0.0, 1.0) and evidence.reference_rows:
                # no trial can err on rows that are all alike; more of them might not be
                ends = clopper_pearson(round(source * evidence.reference_rows), evidence.reference_rows, level)
                lower, upper = min(lower, ends[0]), max(upper, ends[1])
            why = "the target moved further than any shift that was simulated from the reference"
            if weighed.covered:
                why = "the trials simulate shifts under which P(y | x) or P(x | y) stands still; "
                why += "life need not keep to that"
            interval = Interval(value, lower, upper, level, "backtest")
            return Headline(interval, "backtest: " + spelled(weighed), _ASSUMES_LIKE_TRIALS, "low", why)
    return _agreeing(by_name, level)


def confidence_middle(by_name: Mapping[str, Estimate]) -> float | None:
    """Median of the plain methods that read the confidence, or None: what no trial has weighed."""
    chosen = set(those("estimator", lambda cls: cls.traits.in_middle))
    said = [e.value for e in by_name.values() if e.method in chosen]
    return float(median(said)) if said else None


def beyond_overlap(by_name: Mapping[str, Estimate]) -> list[Estimate]:
    """Estimates that need no overlap with the reference, if other models are heard among them; else none.

    >>> two = [Estimate(m, 0.5, 0.4, 0.6, 0.95, "empirical", "", "") for m in ("dis2", "agreement")]
    >>> [e.method for e in beyond_overlap({e.method: e for e in two})], beyond_overlap({"dis2": two[0]})
    (['dis2', 'agreement'], [])
    """
    names = set(those("estimator", lambda cls: cls.traits.beyond_overlap))
    chosen = [e for e in by_name.values() if e.method in names]
    return chosen if any(known("estimator", e.method).traits.reads == "models" for e in chosen) else []


def _agreeing(by_name: Mapping[str, Estimate], level: float) -> Headline:
    """The middle of different kinds of estimate; the interval runs from their lowest to their highest end.

    Threshold, difference of confidence, calibrated confidence, label shift and agreement rest on different
    assumptions. Where they differ, no label-free rule says which is right, so the interval spans them all; it is
    empirical, never a guarantee. Other models' agreement is heard before the trimmed mean, whose methods all look at
    this model alone. Where none of them could answer, the voting bounds or the reference accuracy are all there is.
    """
    # one estimate of each family: methods that differ only in a detail would otherwise outvote the others
    traits = {m: cls.traits for m in by_name if ":" not in m and (cls := known("estimator", m)) is not None}
    spoken: dict[str, str] = {}
    for name in sorted(traits, key=lambda m: (traits[m].voice, m)):
        if traits[name].voice:
            spoken.setdefault(traits[name].family, name)
    groups = [by_name[name] for name in sorted(spoken.values(), key=lambda m: traits[m].order)]
    alone = not any(traits[e.method].reads == "models" for e in groups)
    together = trimmed_mean({m: e.value for m, e in by_name.items()}) if alone else float("nan")
    chosen = groups if np.isnan(together) else [by_name[m] for m in averaged_methods() if m in by_name]
    if not chosen:
        rest = [e for e in by_name.values() if e.method != "source"] or list(by_name.values())
        judged = _of_judges(by_name, level)
        if judged is not None:
            return judged
        chosen = [next((e for e in rest if e.method == "votes"), rest[0])]
    if len(chosen) == 1:
        return _alone(chosen[0])
    value = float(median(e.value for e in chosen)) if np.isnan(together) else together
    spread = max(e.value for e in chosen) - min(e.value for e in chosen)
    lower, upper = min(e.lower for e in chosen), max(e.upper for e in chosen)
    names = ("median of " if np.isnan(together) else "middle of ") + ", ".join(e.method for e in chosen)
    trust = "none" if spread > _ALARMING_SPREAD else "low"
    why = f"{len(chosen)} methods with different assumptions agree within {percent(spread)}; all can fail alike"
    if trust == "none":
        why = f"the methods differ by {percent(spread, 0)}: at least one of their assumptions fails; "
        why += "label some target rows"
    assumes = "the truth lies within the span of methods whose assumptions differ; nothing proves it"
    return Headline(Interval(value, lower, upper, level, "empirical"), names, assumes, trust, why)


def _alone(only: Estimate) -> Headline:
    """The answer of one method; what the reference says of judges is a check of sorts, and the only one."""
    trust = "none" if only.method == "source" else "low"
    why = "it rests on one method and its assumption; nothing here checks that assumption"
    seen = only.details.get("reference") if only.method.partition(":")[0] == "votes" else None
    if only.method == "votes" and only.details.get("judges") == 1:
        trust, why = "none", f"{only.warnings[-1]}; label some rows that it judged"
    elif seen is not None and seen["refuted"]:
        trust, why = "none", f"{only.warnings[0]}; label some target rows"
    elif seen is not None:
        side = "between" if seen["inside"] else "outside, by no more than chance,"
        why = (
            f"it rests on the judges alone: on the reference the accuracy, {percent(seen['accuracy'])}, lies {side} "
            f"their bounds, {percent(seen['lower_bound'])} to {percent(seen['upper_bound'])}; whether they judge the "
            "target as well cannot be seen"
        )
    return Headline(only.interval, only.method, only.assumes, trust, why)


def _of_judges(by_name: Mapping[str, Estimate], level: float) -> Headline | None:
    """What judges say once their errors on the reference are taken out of their votes; None where these are unknown.

    Of several judges the voting bounds are another hypothesis, that they do not all fail alike: where the reference
    does not refute it the interval spans both, and where the votes refute the error rates the bounds are all there is.
    """
    corrected, votes = by_name.get("votes-corrected"), by_name.get("votes")
    if corrected is None:
        return None
    seen = None if votes is None else votes.details.get("reference")
    bounded = votes is not None and votes.details.get("judges", 1) > 1 and seen is not None and not seen["refuted"]
    if corrected.details["refuted"]:
        if bounded:
            assert votes is not None
            return replace(_alone(votes), trust="none", why=f"{corrected.warnings[0]}; the judges' bounds are left")
        return Headline(corrected.interval, corrected.method, corrected.assumes, "none", corrected.warnings[0])
    why = f"{said_of_rates(corrected.details)}; whether they err so on the target cannot be seen"
    made = Headline(corrected.interval, corrected.method, corrected.assumes, "low", why)
    if not bounded:
        return made
    assert votes is not None
    at = corrected.interval
    span = Interval(at.value, min(at.lower, votes.lower), max(at.upper, votes.upper), level, "empirical")
    assumes = f"{corrected.assumes}, or {votes.assumes}"
    return replace(made, interval=span, assumes=assumes)


def _with_judges(made: Headline, by_name: Mapping[str, Estimate], level: float) -> Headline:
    """The headline, or what judges say instead where it lies outside their bounds and these held on the reference.

    Confidence under shift fails in one direction and is not seen to; judges look at the outputs themselves. On six of
    the seven tasks of Yao and Koller (2024) outside the training distribution, their mean erred less than confidence.
    """
    votes, corrected = by_name.get("votes"), by_name.get("votes-corrected")
    seen = None if votes is None else votes.details.get("reference")
    if made.method.startswith("votes"):
        return made
    if corrected is not None and not corrected.details["refuted"]:
        at = _of_judges(by_name, level)
        assert at is not None
        if at.lower <= made.interval.value <= at.upper:
            return made
        interval, name, said = at.interval, "votes-corrected", said_of_rates(corrected.details)
        said += f", which makes {percent(at.value)}, and the other methods say"
    else:
        if votes is None or seen is None or seen["refuted"] or votes.details.get("judges") == 1:
            return made
        if votes.lower <= made.interval.value <= votes.upper:
            return made
        interval, name = votes.interval, "votes"
        low, high = percent(votes.details["lower_bound"]), percent(votes.details["upper_bound"])
        said = f"judges that were right about the reference accept {low} to {high} of the outputs, "
        said += "and the other methods say"
    trust = "none" if abs(made.interval.value - interval.value) > _ALARMING_SPREAD else "low"
    lower, upper = min(made.interval.lower, interval.lower), max(made.interval.upper, interval.upper)
    return Headline(
        Interval(interval.value, lower, upper, level, "empirical"),
        f"{name}, against {made.method}",
        "the truth lies within the span of the judges and of the methods that look at the model; nothing proves it",
        trust,
        f"{said} {percent(made.interval.value)}: one side fails; label some target rows",
    )
