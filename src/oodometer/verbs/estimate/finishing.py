"""Finishing: from merged states to the result of the verb `estimate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ... import plugins
from ...audits.labels import of_state
from ...diagnoses import Diagnosis
from ...errors import InputError
from ...headline.alarms import Watched, judge_alarms
from ...headline.headline import Evidence, make_headline
from ...headline.natural_headline import (
    doubt_of,
    headline_under,
    judges_alone,
    natural_headline,
    signs_of,
    under_assumptions,
)
from ...headline.natural_shifts import chance_by_labels, chance_of_fall, judged
from ...headline.weighing import TrialWeighting
from ...inference.domain_classifier import compared_once
from ...intervals import clopper_pearson
from ...kernels import one_thread, side_by_side
from ...passes.plan import EstimationPlan, State
from ...passes.slicing import WHOLE, checked_estimate, in_natural_order, unless_failed
from ...results import Estimate, Interval, Skipped
from ...results.alarms import Alarms
from ...results.estimation import Assumed, Estimation, Headline, MetricEstimation, Part
from ...results.fall import Fall
from ...store import Source
from ..clusters import Design
from ..features import about_features
from ..fitted import Fitted
from .metric_answers import MetricAnswers, check_metrics
from .options import EstimateJob
from .reference_figures import ReferenceFigures

_Headlines = Callable[..., "_Answer"]
_Parts = Sequence[tuple[Part, "_Answer"]]


@dataclass(frozen=True)
class _Answer:
    """What is said of the target or a part of it.

    headline : under the assumption that was chosen; assumptions : under all; signs : how far the outputs moved; fell :
    how likely the accuracy fell by the margin; changed : p-value of any change; chance : how likely the accuracy lies
    below one; metrics : what was asked besides it. known : the labelled rows that decide in the place of the estimate,
    (correct, rows, labelled rows), or None; the first two as of independent rows.
    """

    headline: Headline
    assumptions: Mapping[str, Assumed]
    signs: Mapping[str, float]
    fell: float | None
    changed: float | None
    chance: Callable[[float], float | None]
    metrics: Mapping[str, MetricEstimation] = field(default_factory=dict)
    known: tuple[float, float, int] | None = None


def finish(
    fitted: Fitted,
    state: State,
    figures: Callable[[], ReferenceFigures | None],
    target: Source,
    options: EstimateJob,
    design: Design,
) -> Estimation:
    """The result from the states of the whole target, its slices and its chunks.

    ``design``: clusters of both, by which intervals and chances are widened; labelled rows count as fewer ones.
    """
    plan, trials, whole, level = fitted.plan, fitted.trials, state[WHOLE], options.level
    estimates, late, diagnosis, by_metric = _answers(plan, whole)
    if diagnosis is not None:
        diagnosis = replace(diagnosis, features=about_features(target))
    skipped = [*fitted.skipped, *late]
    if not estimates:
        raise none_applies(skipped, "data that at least one method can use", target)
    drawn = figures()
    answer_of = _answers_of(fitted, diagnosis, options, design)
    answer = answer_of(estimates, whole, by_metric, diagnosis)
    warnings_of_metrics = check_metrics(plan.metrics, answer.metrics, skipped, options, target.name)
    headline = answer.headline
    effects, (rows, correct) = design.effects, fitted.counts
    truth = _truth(whole, level, effects[1])
    own = (correct / effects[0], rows / effects[0])
    sliced, cut = _parts(plan, state, options, answer_of, own, design)
    ((fell, without),) = _falls([answer], options, own)
    whole_part = Part(
        {"value": "target"}, int(whole["truth"]["rows"]), headline, (), truth, fell, {}, answer.metrics, without
    )
    alarms = raised_alarms(
        options, (whole_part, answer.chance), [(part, one.chance) for part, one in (*sliced, *cut)], correct / rows
    )
    warnings = [*fitted.warnings, *warnings_of_metrics]
    if headline.trust == "none" and len(estimates) > 1:
        warnings.append(headline.why)
    if truth is not None and plan.labels is None:
        warnings.append("the target holds labels; they were used for the truth only, not for any estimate")
    selected = of_state(whole.get("labelled"))
    if selected is not None and int(whole["truth"]["known"]) < int(whole["truth"]["rows"]):
        warnings.append(
            f"the labelled rows are no random sample (tests at the level 0.1 %), so they do not decide: {selected}"
        )
    return Estimation(
        reference=design.about(_about_reference(fitted, level)),
        target={
            "name": target.name,
            "rows": int(whole["truth"]["rows"]),
            "labelled": int(whole["truth"]["known"]),
            "accuracy": None if truth is None else truth.to_dict(),
        },
        headline=headline,
        estimates=tuple(design.wide(e, int(whole["truth"]["rows"])) for e in estimates),
        skipped=tuple(skipped),
        warnings=(*warnings, *design.said()),
        level=level,
        seed=options.seed,
        calibration={
            "name": None if plan.choice.calibrator is None else plan.choice.calibrator.name,
            "why": plan.choice.why,
            "scores": plan.choice.scores,
            "temperature": getattr(plan.choice.calibrator, "temperature", None),
        },
        risk_coverage=None if plan.curve is None else plan.curve.finish(whole["risk_coverage"]),
        reliability=None if drawn is None else drawn.reliability,
        confidence=None if drawn is None else drawn.confidence(whole["confidence"]["counts"]),
        slices=tuple(part for part, _ in sliced),
        chunks=tuple(part for part, _ in cut),
        diagnosis=diagnosis,
        backtest=None
        if trials is None
        else {
            "trials": len(trials.trials),
            "rows": trials.reference.get("rows"),  # that the trials read, which may be a sample
            "families": trials.families,
            "methods": trials.methods,
        },
        assumptions=answer.assumptions,
        assume=options.assume,
        fell=fell,
        metrics=answer.metrics,
        alarms=alarms,
        fell_without_labels=without,
    )


def none_applies(skipped: Sequence[Skipped], expected: str, target: Source) -> InputError:
    """The error where no method can say anything of the target, with each one's reason."""
    reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
    remedy = "`oodometer methods` says what each one needs"
    return InputError(expected, got=f"none applies ({reasons})", file=target.name, remedy=remedy)


def _about_reference(fitted: Fitted, level: float) -> dict[str, Any]:
    rows, correct = fitted.counts
    low, high = clopper_pearson(correct, rows, level)
    return {
        "name": fitted.name,
        "rows": rows,
        "accuracy": correct / rows,
        "lower": low,
        "upper": high,
        "level": level,
        "kind": "exact",
        "classes": fitted.record.num_classes,
    }


def _answers_of(fitted: Fitted, diagnosis: Diagnosis | None, options: EstimateJob, design: Design) -> _Headlines:
    """From estimates and states to what is said; alike for the whole target and its parts."""
    trials, (rows, correct) = fitted.trials, fitted.counts
    weighting = None
    if trials is not None:
        weighting = TrialWeighting(trials.trials, [*trials.methods, "label-shift"], fitted.learnt_rows)
    own: dict[str, Any] = {"source": correct / rows, "reference_rows": rows, "effects": design.effects}
    evidence = Evidence(options.level, weighting, diagnosis=diagnosis, **own)
    prior, natural_only = options.natural_shifts, options.assume == "natural"
    outputs = design.reference.outputs, design.target.outputs
    asked = MetricAnswers(fitted.plan.metrics, prior, options.assume)

    def answer_of(
        estimates: Sequence[Estimate],
        states: Mapping[str, Any],
        by_metric: Mapping[str, Sequence[Estimate]],
        diagnosis: Diagnosis | None = None,
        is_chunk: bool = False,
    ) -> _Answer:
        statistics = fitted.plan.shift_statistics
        seen = {} if statistics is None else statistics.finish(states["shift_statistics"], outputs)
        # a chunk's number is of its own rows alone: what came after it, and moved the diagnosis, leaves it as it was
        here = replace(evidence, shift_statistics=seen, diagnosis=None if is_chunk else evidence.diagnosis)
        still = make_headline(estimates, here)
        assert still is not None  # there is at least one estimate
        natural = natural_headline(still, estimates, here, prior)
        assumptions = under_assumptions(natural, still, estimates, diagnosis)
        at = int(states["truth"]["rows"])
        headline = headline_under(options.assume, natural, assumptions)
        signs = signs_of(still, {e.method: e for e in estimates}, here)
        error = here.error_of_clusters(headline.value, at)
        assumed = headline.interval if judges_alone(still) or not natural_only else None

        def chance(bound: float) -> float | None:
            if still.method == "votes":  # nobody knows how these judges err
                return None
            return chance_of_fall(prior, signs, correct / rows - bound, assumed, here.source, error)

        fell = chance(correct / rows - options.margin)
        changed = None
        if statistics is not None:
            changed = statistics.p_value(states["shift_statistics"], options.seed, outputs)
        doubt = "" if signs is None or headline.trust != "high" else doubt_of(signs, evidence)
        headline = replace(headline, trust="low", why=doubt) if doubt else headline
        metrics = asked.answers(by_metric, states, here, signs)
        metrics = {name: replace(one, headline=design.headline(one.headline, at)) for name, one in metrics.items()}
        headline = design.headline(headline, at)
        assumptions = {
            name: one if one.interval is None else replace(one, interval=design.wide(one.interval, at))
            for name, one in assumptions.items()
        }
        known = _known(states, headline, design.effects[1])
        below = chance if known is None else partial(chance_by_labels, *known[:2])
        return _Answer(headline, assumptions, seen, fell, changed, below, metrics, known)

    return answer_of


def _known(states: Mapping[str, Any], headline: Headline, effect: float) -> tuple[float, float, int] | None:
    """The labelled rows, see `_Answer`: all, or narrower where nothing shows that they are no random sample."""
    truth, counts = _truth(states, headline.interval.level, effect), states["truth"]
    if truth is None:
        return None
    correct, known = int(counts["correct"]), int(counts["known"])
    narrower = truth.upper - truth.lower <= headline.upper - headline.lower
    some = known == int(counts["rows"]) or (narrower and of_state(states.get("labelled")) is None)
    return (correct / effect, known / effect, known) if some else None


def _falls(
    answers: Sequence[_Answer], options: EstimateJob, reference: tuple[float, float]
) -> list[tuple[Fall, Fall | None]]:
    """Whether the accuracy fell, of parts that are looked at together; where labels decide, by them, and without."""
    prior, margin = options.natural_shifts, options.margin
    chances, changes = [a.fell for a in answers], [a.changed for a in answers]
    alone = options.assume == "natural" and any(judges_alone(a.headline) for a in answers)
    assume = "judges" if alone else options.assume
    without = judged(prior, margin, chances, changes, assume)
    if not any(a.known for a in answers):
        return [(one, None) for one in without]
    for i, a in enumerate(answers):
        if a.known is not None:
            below = chance_by_labels(*a.known[:2], 0.0, reference)
            chances[i], changes[i] = chance_by_labels(*a.known[:2], -margin, reference), 2 * min(below, 1 - below)
    rows = [None if a.known is None else a.known[2] for a in answers]
    fell = judged(prior, margin, chances, changes, assume, rows)
    return [(one, None if a.known is None else other) for one, other, a in zip(fell, without, answers, strict=True)]


def _answers(
    plan: EstimationPlan, whole: Mapping[str, Any]
) -> tuple[list[Estimate], list[Skipped], Diagnosis | None, dict[str, list[Estimate]]]:
    """What the methods and the diagnostician say of the whole target, the heavy methods side by side; and of metrics
    besides the accuracy what the methods say of these.
    """
    by_metric: dict[str, list[Estimate]] = {}
    more: list[Skipped] = []
    heavy = [name for name, method in plan.methods.items() if method.heavy]
    light = [name for name in plan.methods if name not in heavy]
    parts = [replace(plan, methods={n: plan.methods[n] for n in names}) for names in ([h] for h in heavy)]
    parts.append(replace(plan, methods={n: plan.methods[n] for n in light}))
    jobs: list[Callable[[], Any]] = [partial(_estimates, part, whole) for part in parts]
    if plan.diagnostician is not None:
        jobs.insert(0, partial(plan.diagnostician.finish, whole["diagnosis"]))
    # set once for all jobs: who asks inside pays nothing
    with compared_once(), one_thread():
        found = side_by_side([partial(copy_context().run, job) for job in jobs])
        if plan.metrics is not None:
            by_metric, more = plan.metrics.estimates(whole)
    diagnosis: Diagnosis | None = None if plan.diagnostician is None else found.pop(0)
    place = {method.name: i for i, method in enumerate(plan.methods.values())}
    estimates = [e for some, _ in found for e in some]
    late = [s for _, some in found for s in some]
    estimates.sort(key=lambda e: place.get(e.method, len(place)))
    late.sort(key=lambda s: list(plan.methods).index(s.method))
    late += [s for s in more if s.method not in {one.method for one in late}]
    return estimates, late, diagnosis, by_metric


def _estimates(
    plan: EstimationPlan, states: Mapping[str, Any], lighter: bool = False
) -> tuple[list[Estimate], list[Skipped]]:
    """What each method says of the states, and which cannot say anything of them."""
    out, skipped = [], []
    for name, method in plan.methods.items():
        if name not in states:
            continue  # left out of parts
        try:
            made = (method.lighter() if lighter else method).finish(unless_failed(states[name]))
            out.append(checked_estimate(method, made))
        except plugins.FAILURES as error:
            skipped.append(Skipped(name, plugins.why_failed(name, method, error)))
    return out, skipped


def _truth(states: Mapping[str, Any], level: float, effect: float) -> Interval | None:
    """Accuracy of the labelled rows; of clusters with Clopper and Pearson's ends for as many independent rows."""
    known, correct = int(states["truth"]["known"]), int(states["truth"]["correct"])
    if not known:
        return None
    ends = clopper_pearson(correct / effect, known / effect, level)
    return Interval(correct / known, *ends, level, "exact" if effect == 1 else "asymptotic")


def _parts(
    plan: EstimationPlan,
    state: State,
    options: EstimateJob,
    answer_of: _Headlines,
    own: tuple[float, float],
    design: Design,
) -> tuple[_Parts, _Parts]:
    """Slices in their natural order, or chunks in order of time or rows."""
    slices = in_natural_order([k for k in state if k[0] == "by"])
    chunks = [(k[1], state[k]) for k in sorted(k for k in state if k[0] == "every")]
    usual = float(np.median([states["truth"]["rows"] for _, states in chunks[:-1]])) if len(chunks) > 1 else 0.0
    sliced = [({"by": plan.by, "value": k[1]}, state[k]) for k in slices]
    fewest = [0.0] * (len(chunks) - 1) + [usual / 2]  # what was finished keeps its number, whatever comes after it
    cut = [(_chunk_place(plan, k, states, least), states) for (k, states), least in zip(chunks, fewest, strict=False)]
    made = partial(_made_parts, plan, options=options, reference=own, design=design)
    return made(sliced, answer_of=answer_of), made(cut, answer_of=partial(answer_of, is_chunk=True))


def _chunk_place(plan: EstimationPlan, number: int, states: Mapping[str, Any], fewest: float) -> Mapping[str, Any]:
    """What a chunk is called, and where it begins and ends; one of fewer rows than ``fewest`` is not finished yet."""
    assert plan.every is not None
    rows, earliest = int(states["truth"]["rows"]), states["first"].time if "first" in states else None
    return plan.every.place(number, rows, earliest, unfinished=rows < fewest)


def _made_parts(
    plan: EstimationPlan,
    places: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    options: EstimateJob,
    answer_of: _Headlines,
    reference: tuple[float, float],
    design: Design,
) -> _Parts:
    """The parts at these places and what is said of them; whether they fell is judged of all together."""
    said = [_part_estimates(plan, place, states) for place, states in places]
    metrics = None if plan.metrics is None else plan.metrics.lighter()
    answers = [
        answer_of(estimates, states, {} if metrics is None else metrics.estimates(states)[0])
        for estimates, (_, states) in zip(said, places, strict=True)
    ]
    falls = _falls(answers, options, reference)
    made = (
        Part(
            place,
            int(states["truth"]["rows"]),
            answer.headline,
            tuple(design.wide(e, int(states["truth"]["rows"])) for e in estimates),
            _truth(states, options.level, design.effects[1]),
            fell,
            {name: seen for name, seen in answer.signs.items() if name in ("moved", "unexplained")},
            answer.metrics,
            without,
        )
        for (place, states), estimates, answer, (fell, without) in zip(places, said, answers, falls, strict=True)
    )
    return list(zip(made, answers, strict=True))


def _part_estimates(plan: EstimationPlan, place: Mapping[str, Any], states: Mapping[str, Any]) -> list[Estimate]:
    """What the methods say of a part; `InputError` where none can."""
    estimates, skipped = _estimates(plan, states, lighter=True)
    if not estimates:
        reasons = "; ".join(f"{s.method}: {s.why}" for s in skipped)
        named = ", ".join(f"{key} {value}" for key, value in place.items())
        remedy = "cut the target into larger parts, or ask for more methods"
        raise InputError(
            "rows that at least one method can use", got=f"none applies ({reasons})", column=named, remedy=remedy
        )
    return estimates


Chance = Callable[[float], float | None]  # how likely the accuracy lies below a bound


def raised_alarms(
    options: EstimateJob, whole: tuple[Part, Chance], parts: Sequence[tuple[Part, Chance]], accuracy: float
) -> Alarms | None:
    """What the rules say; None where none was asked.

    ``whole`` is the target, judged where it was not cut into ``parts``; ``accuracy`` is that of the reference.
    """
    rules = options.alarm_rules
    if not rules:
        return None
    kind = "target" if not parts else "slice" if options.by is not None else "chunk"
    references = {"accuracy": accuracy}
    for name, one in whole[0].metrics.items():
        if one.reference is not None:
            references[name] = one.reference.value
    watched = [_watched(part, chance) for part, chance in parts or [whole]]
    return judge_alarms(rules, watched, references, kind=kind, when=options.when)


def _watched(part: Part, chance: Chance) -> Watched:
    """The target, a chunk or a slice as alarms see it."""
    place: dict[str, Any] = {"name": part.name}
    if "by" in part.place:
        place |= {"by": part.place["by"], "slice": part.place["value"]}
    else:
        place |= {key: part.place[key] for key in ("start", "end") if key in part.place}
    numbers = {"accuracy": part.headline.interval}
    truths = {} if part.truth is None else {"accuracy": part.truth}
    for name, one in part.metrics.items():
        numbers[name] = one.headline.interval
        truths |= {} if one.truth is None else {name: one.truth}
    if part.by_labels:
        numbers |= truths
    changed = None if part.fell is None else part.fell.changed
    return Watched(place, part.rows, numbers, {"accuracy": chance}, changed, truths)
