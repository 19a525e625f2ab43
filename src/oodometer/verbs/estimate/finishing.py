"""Finishing: from merged states to the result of the verb `estimate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from ...audits.labels import of_state
from ...diagnoses import Diagnosis
from ...errors import InputError
from ...estimators import Estimator
from ...headline.alarms import Watched, judge_alarms
from ...headline.headline import Evidence, TrialWeighting, make_headline
from ...headline.natural_headline import (
    MetricEvidence,
    doubt_of,
    headline_under,
    judges_alone,
    metric_answers,
    natural_headline,
    signs_of,
    under_assumptions,
)
from ...headline.natural_shifts import ShiftSigns, chance_by_labels, chance_of_fall, judged
from ...inference.domain_classifier import compared_once
from ...intervals import clopper_pearson
from ...kernels import one_thread, side_by_side
from ...passes.metrics import COUNTS, predicted_of
from ...passes.plan import EstimationPlan, State
from ...passes.slicing import WHOLE, checked_estimate, in_natural_order, unless_failed
from ...registry import FAILURES, why_failed
from ...results import Estimate, Interval, Skipped
from ...results.alarms import Alarms
from ...results.estimation import Assumed, Estimation, Headline, MetricEstimation, Part
from ...results.fall import Fall
from ...store import Source
from ..clusters import Design
from ..features import about_features
from ..fitted import Fitted
from .learning import EstimateJob, confidence_figure

Chance = Callable[[float], float | None]  # how likely the accuracy lies below a bound
_ByMetric = Mapping[str, Sequence[Estimate]]


def finish(
    fitted: Fitted,
    state: State,
    figures: Callable[[], Mapping[str, Any] | None],
    target: Source,
    options: EstimateJob,
    design: Design,
) -> Estimation:
    """The result from the states of the whole target, its slices and its chunks.

    ``design``: clusters of both, by which intervals and chances are widened; labelled rows count as fewer ones.
    """
    plan, trials, whole, level = fitted.plan, fitted.trials, state[WHOLE], options.level
    rows, known = int(whole["truth"]["rows"]), int(whole["truth"]["known"])
    estimates, late, diagnosis, by_metric = _answers(plan, whole)
    if diagnosis is not None:
        diagnosis = replace(diagnosis, features=about_features(target))
    skipped = [*fitted.skipped, *late]
    if not estimates:
        raise none_applies(skipped, "data that at least one method can use", target)
    drawn = figures()
    answers = _Answers(fitted, diagnosis, options, design)
    answer = answers.of(estimates, whole, by_metric, diagnosis)
    warnings = [*fitted.warnings, *_metric_warnings(plan, answer.metrics, skipped, options, target.name)]
    headline, truth = answer.headline, answers.truth(whole)
    parts = answers.parts(state)
    ((fell, without),) = answers.falls([answer])
    alarms = None
    if options.alarm_rules:
        own = Part({"value": "target"}, rows, headline, (), truth, fell, {}, answer.metrics, without)
        alarms = _alarms((own, answer), parts, options, answers.accuracy)
    if headline.trust == "none" and len(estimates) > 1:
        warnings.append(headline.why)
    if truth is not None and plan.labels is None:
        warnings.append("the target holds labels; they were used for the truth only, not for any estimate")
    selected = of_state(whole.get("labelled"))
    if selected is not None and known < rows:
        warnings.append(
            f"the labelled rows are no random sample (tests at the level 0.1 %), so they do not decide: {selected}"
        )
    reference, calibrator = fitted.reference, plan.choice.calibrator
    low, high = clopper_pearson(reference.correct, reference.rows, level)
    about = {"name": fitted.name, "rows": reference.rows, "accuracy": answers.accuracy, "lower": low, "upper": high}
    about |= {"level": level, "kind": "exact", "classes": reference.record.num_classes}
    return Estimation(
        reference=design.about(about),
        target={
            "name": target.name,
            "rows": rows,
            "labelled": known,
            "accuracy": None if truth is None else truth.to_dict(),
        },
        headline=headline,
        estimates=tuple(design.wide(e, rows) for e in estimates),
        skipped=tuple(skipped),
        warnings=(*warnings, *design.said()),
        level=level,
        seed=options.seed,
        calibration={
            "name": None if calibrator is None else calibrator.name,
            "why": plan.choice.why,
            "scores": plan.choice.scores,
            "temperature": getattr(calibrator, "temperature", None),
        },
        risk_coverage=None if plan.curve is None else plan.curve.finish(whole["risk_coverage"]),
        reliability=None if drawn is None else drawn["reliability"],
        confidence=None if drawn is None else confidence_figure(drawn, whole["confidence"]["counts"]),
        slices=tuple(part for part, _ in parts) if plan.every is None else (),
        chunks=tuple(part for part, _ in parts) if plan.every is not None else (),
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


def _answers(
    plan: EstimationPlan, whole: Mapping[str, Any]
) -> tuple[list[Estimate], list[Skipped], Diagnosis | None, _ByMetric]:
    """What the methods and the diagnostician say of the whole target, the heavy methods side by side; and of metrics
    besides the accuracy what the methods say of these.
    """
    light = {name: method for name, method in plan.methods.items() if not method.traits.heavy}
    alone = [{name: method} for name, method in plan.methods.items() if method.traits.heavy]
    jobs: list[Callable[[], Any]] = [partial(_estimates, methods, whole) for methods in (*alone, light)]
    if plan.diagnostician is not None:
        jobs.insert(0, partial(plan.diagnostician.finish, whole["diagnosis"]))
    by_metric: _ByMetric = {}
    more: list[Skipped] = []
    # set once for all jobs: who asks inside pays nothing
    with compared_once(), one_thread():
        results = side_by_side([partial(copy_context().run, job) for job in jobs])
        if plan.metrics is not None:
            by_metric, more = plan.metrics.estimates(whole)
    diagnosis: Diagnosis | None = None if plan.diagnostician is None else results.pop(0)
    place = {method.name: i for i, method in enumerate(plan.methods.values())}
    estimates = sorted((e for some, _ in results for e in some), key=lambda e: place.get(e.method, len(place)))
    late = sorted((s for _, some in results for s in some), key=lambda s: list(plan.methods).index(s.method))
    late += [s for s in more if s.method not in {one.method for one in late}]
    return estimates, late, diagnosis, by_metric


def _estimates(
    methods: Mapping[str, Estimator], states: Mapping[str, Any], lighter: bool = False
) -> tuple[list[Estimate], list[Skipped]]:
    """What each method says of the states, and which cannot say anything of them."""
    out, skipped = [], []
    for name, method in methods.items():
        if name not in states:
            continue  # left out of parts
        try:
            made = (method.lighter() if lighter else method).finish(unless_failed(states[name]))
            out.append(checked_estimate(method, made))
        except FAILURES as error:
            skipped.append(Skipped(name, why_failed(name, method, error)))
    return out, skipped


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
    chance: Chance
    metrics: Mapping[str, MetricEstimation]
    known: tuple[float, float, int] | None


class _Answers:
    """From estimates and states to what is said; alike for the whole target and its parts."""

    def __init__(self, fitted: Fitted, diagnosis: Diagnosis | None, options: EstimateJob, design: Design) -> None:
        self.plan, self.options, self.design, trials = fitted.plan, options, design, fitted.trials
        self.correct, self.rows = fitted.reference.correct, fitted.reference.rows
        self.accuracy = self.correct / self.rows
        weighting = None
        if trials is not None:
            weighting = TrialWeighting(trials.trials, [*trials.methods, "label-shift"], fitted.learnt_rows)
        own: dict[str, Any] = {"source": self.accuracy, "reference_rows": self.rows, "effects": design.effects}
        self.evidence = Evidence(options.level, weighting, diagnosis=diagnosis, **own)

    def of(
        self,
        estimates: Sequence[Estimate],
        states: Mapping[str, Any],
        by_metric: _ByMetric,
        diagnosis: Diagnosis | None = None,
    ) -> _Answer:
        """What is said where the methods say this; a ``diagnosis`` is of the whole target."""
        options, design, prior = self.options, self.design, self.options.natural_shifts
        statistics, outputs = self.plan.shift_statistics, (design.reference.outputs, design.target.outputs)
        seen = {} if statistics is None else statistics.finish(states["shift_statistics"], outputs)
        # a chunk's number is of its own rows alone: what came after it, and moved the diagnosis, leaves it as it was
        kind = None if diagnosis is None and self.plan.every is not None else self.evidence.diagnosis
        here = replace(self.evidence, shift_statistics=seen, diagnosis=kind)
        still = make_headline(estimates, here)
        assert still is not None  # there is at least one estimate
        natural = natural_headline(still, estimates, here, prior)
        assumptions = under_assumptions(natural, still, estimates, diagnosis)
        rows = int(states["truth"]["rows"])
        headline = headline_under(options.assume, natural, assumptions)
        signs = signs_of(still, {e.method: e for e in estimates}, here)
        error = here.error_of_clusters(headline.value, rows)
        assumed = headline.interval if judges_alone(still) or options.assume != "natural" else None

        def chance(bound: float) -> float | None:
            if still.method == "votes":  # nobody knows how these judges err
                return None
            return chance_of_fall(prior, signs, self.accuracy - bound, assumed, here.source, error)

        changed = None
        if statistics is not None:
            changed = statistics.p_value(states["shift_statistics"], options.seed, outputs)
        doubt = "" if signs is None or headline.trust != "high" else doubt_of(signs, self.evidence)
        headline = replace(headline, trust="low", why=doubt) if doubt else headline
        metrics = self._metrics(by_metric, states, here, signs)
        headline = design.headline(headline, rows)
        assumptions = {
            name: one if one.interval is None else replace(one, interval=design.wide(one.interval, rows))
            for name, one in assumptions.items()
        }
        # all labelled rows decide, or those that make it narrower where nothing shows that they are no random sample
        truth, known, below = self.truth(states), None, chance
        if truth is not None:
            narrower = truth.upper - truth.lower <= headline.upper - headline.lower
            correct, labelled = int(states["truth"]["correct"]), int(states["truth"]["known"])
            if labelled == rows or (narrower and of_state(states.get("labelled")) is None):
                known = (correct / design.effects[1], labelled / design.effects[1], labelled)
                below = partial(chance_by_labels, *known[:2])
        fell = chance(self.accuracy - options.margin)
        return _Answer(headline, assumptions, seen, fell, changed, below, metrics, known)

    def _metrics(
        self, by_metric: _ByMetric, states: Mapping[str, Any], evidence: Evidence, signs: ShiftSigns | None
    ) -> dict[str, MetricEstimation]:
        """Metric -> headline, estimates, the reference's own value and the truth where rows are labelled."""
        plan, assume, out = self.plan.metrics, self.options.assume, {}
        if plan is None or COUNTS not in states:
            return {}
        # rows of a class that the model does not know are missing from the counts of classes
        truth = {} if states["truth"]["new"] else plan.truth(states)
        for metric in plan.metrics:
            said, reference = by_metric.get(metric.name, ()), plan.reference.get(metric.name)
            settled = plan.settled(metric, predicted_of(states)) if said else None
            if settled is not None:  # by the predicted classes: all methods then agree on the value
                value, why = settled
                lower, upper = median(e.lower for e in said), median(e.upper for e in said)
                interval = Interval(value, min(lower, value), max(upper, value), said[0].level, "exact")
                trust, assumes = "high" if upper - lower < 1 else "none", "nothing: the predicted classes settle it"
                headline = Headline(interval, "predicted classes", assumes, trust, why)
                made = MetricEstimation(headline, tuple(said), reference)
            else:
                base = metric.base
                if len(plan.support) == 2 and metric.at not in (None, plan.positive):
                    # of two classes, the recall of one is the specificity of the other
                    base = {"recall": "specificity", "specificity": "recall"}.get(base, base)
                told = MetricEvidence(evidence, signs, reference, metric.bounds, plan.errors.get(metric.name))
                answers = metric_answers(base, said, told, self.options.natural_shifts, assume)
                if answers is None:
                    continue
                made = MetricEstimation(answers[0], tuple(said), reference, assumptions=answers[1])
            headline = self.design.headline(made.headline, int(states["truth"]["rows"]))
            out[metric.name] = replace(made, headline=headline, truth=truth.get(metric.name))
        return out

    def truth(self, states: Mapping[str, Any]) -> Interval | None:
        """Accuracy of the labelled rows; of clusters with Clopper and Pearson's ends for as many independent rows."""
        known, correct = int(states["truth"]["known"]), int(states["truth"]["correct"])
        if not known:
            return None
        level, effect = self.options.level, self.design.effects[1]
        ends = clopper_pearson(correct / effect, known / effect, level)
        return Interval(correct / known, *ends, level, "exact" if effect == 1 else "asymptotic")

    def falls(self, answers: Sequence[_Answer]) -> list[tuple[Fall, Fall | None]]:
        """Whether the accuracy fell, of parts looked at together; where labels decide, by them, and without."""
        prior, margin, assume = self.options.natural_shifts, self.options.margin, self.options.assume
        chances, changes = [a.fell for a in answers], [a.changed for a in answers]
        if assume == "natural" and any(judges_alone(a.headline) for a in answers):
            assume = "judges"
        without = judged(prior, margin, chances, changes, assume)
        if not any(a.known for a in answers):
            return [(one, None) for one in without]
        reference = (self.correct / self.design.effects[0], self.rows / self.design.effects[0])
        for i, a in enumerate(answers):
            if a.known is not None:
                below = chance_by_labels(*a.known[:2], 0.0, reference)
                chances[i], changes[i] = chance_by_labels(*a.known[:2], -margin, reference), 2 * min(below, 1 - below)
        rows = [None if a.known is None else a.known[2] for a in answers]
        fell = judged(prior, margin, chances, changes, assume, rows)
        return [(one, None if a.known is None else other) for one, other, a in zip(fell, without, answers, strict=True)]

    def parts(self, state: State) -> list[tuple[Part, _Answer]]:
        """Slices in their natural order, or chunks in order of time or rows; whether they fell is judged of all."""
        plan, design = self.plan, self.design
        keys = sorted(k for k in state if k[0] == "every") or in_natural_order([k for k in state if k[0] == "by"])
        rows = [int(state[key]["truth"]["rows"]) for key in keys]
        usual = float(np.median(rows[:-1])) if len(rows) > 1 else 0.0
        metrics = None if plan.metrics is None else plan.metrics.lighter()
        places: list[Mapping[str, Any]] = []
        said, answers = [], []
        for (_, value), states, many in zip(keys, (state[key] for key in keys), rows, strict=True):
            if plan.every is None:
                place: Mapping[str, Any] = {"by": plan.by, "value": value}
            else:  # one of few rows at the end is not finished; what was finished keeps its number
                first, last = states["first"].time if "first" in states else None, len(places) + 1 == len(keys)
                place = plan.every.place(value, many, first, last and many < usual / 2)
            estimates, skipped = _estimates(plan.methods, states, lighter=True)
            if not estimates:
                raise InputError(
                    "rows that at least one method can use",
                    got=f"none applies ({'; '.join(f'{s.method}: {s.why}' for s in skipped)})",
                    column=", ".join(f"{key} {value}" for key, value in place.items()),
                    remedy="cut the target into larger parts, or ask for more methods",
                )
            places.append(place)
            said.append(estimates)
            answers.append(self.of(estimates, states, {} if metrics is None else metrics.estimates(states)[0]))
        out = []
        for i, (answer, (fell, without)) in enumerate(zip(answers, self.falls(answers), strict=True)):
            signs = {name: seen for name, seen in answer.signs.items() if name in ("moved", "unexplained")}
            wide, truth = tuple(design.wide(e, rows[i]) for e in said[i]), self.truth(state[keys[i]])
            part = Part(places[i], rows[i], answer.headline, wide, truth, fell, signs, answer.metrics, without)
            out.append((part, answer))
        return out


def _metric_warnings(
    estimation: EstimationPlan,
    answers: Mapping[str, MetricEstimation],
    skipped: Sequence[Skipped],
    options: EstimateJob,
    target: str | None,
) -> list[str]:
    """Warnings about metrics that nothing can be said of, with the reasons that ``skipped`` holds; `InputError` where
    an alarm is to be judged by one of them, or where all of them want something else than reference rows of a class.
    """
    plan = estimation.metrics
    if plan is None:
        return []
    why = {one.method: one.why for one in skipped}
    missing = [one.name for one in plan.metrics if one.name not in answers]
    for rule in options.alarm_rules:
        if rule.metric in missing and rule.metric in why:
            raise InputError(
                f"a reference that tells {rule.metric}, which an alarm asks for", got="none", remedy=why[rule.metric]
            )
    if missing and not answers and not any(name in why for name in missing):
        reasons = "; ".join(f"{s.method}: {s.why}" for s in plan.skipped) or "it is undefined on this target"
        raise InputError(
            f"a target of which {', '.join(missing)} can be estimated",
            got=f"none ({reasons})",
            remedy="`roc_auc` and `average_precision` need probabilities, the others predicted classes",
            file=target,
        )
    undefined = "it is undefined, or needs `probabilities`"
    return [f"{name} cannot be estimated here: {why.get(name, undefined)}" for name in missing]


def _alarms(
    whole: tuple[Part, _Answer], parts: Sequence[tuple[Part, _Answer]], options: EstimateJob, accuracy: float
) -> Alarms:
    """What the rules say of the target, or of the parts that it was cut into; ``accuracy`` is the reference's."""
    kind = "target" if not parts else "slice" if options.by is not None else "chunk"
    references = {"accuracy": accuracy}
    references |= {name: one.reference.value for name, one in whole[0].metrics.items() if one.reference is not None}
    watched = []
    for part, answer in parts or [whole]:
        place: dict[str, Any] = {"name": part.name}
        if "by" in part.place:
            place |= {"by": part.place["by"], "slice": part.place["value"]}
        place |= {key: part.place[key] for key in ("start", "end") if key in part.place}
        numbers = {"accuracy": part.headline.interval} | {n: one.headline.interval for n, one in part.metrics.items()}
        truths = {"accuracy": part.truth} | {name: one.truth for name, one in part.metrics.items()}
        known = {name: truth for name, truth in truths.items() if truth is not None}
        if part.by_labels:
            numbers |= known
        changed = None if part.fell is None else part.fell.changed
        watched.append(Watched(place, part.rows, numbers, {"accuracy": answer.chance}, changed, known))
    return judge_alarms(options.alarm_rules, watched, references, kind=kind, when=options.when)
