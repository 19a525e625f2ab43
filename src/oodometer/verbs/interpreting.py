"""From estimates and states to what `estimate` says, of the whole target, its slices and its chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median
from typing import Any, cast

import numpy as np

from ..arrays import Array
from ..audits.judge import EVEN
from ..audits.labels import no_random_sample, of_state, said_of_labels, uneven
from ..diagnoses import Diagnosis
from ..diagnoses.text_likeness import UnlikeTexts
from ..errors import InputError, WorkError
from ..estimators import Estimator
from ..estimators.expected_classes import ClassMetric
from ..headline.alarms import Watched, judge_alarms
from ..headline.headline import (
    Evidence,
    TrialWeighting,
    make_headline,
    middle_methods,
    of_unlike_texts,
)
from ..headline.label_posterior import (
    LabelEvidence,
    LabelPosterior,
    cdf_without_labels,
    falls_by_labels,
    known_by,
)
from ..headline.metric_headline import WIDE, MetricEvidence, Scale, metric_answers
from ..headline.metric_shifts import packaged_metrics
from ..headline.natural_shifts import (
    NaturalShifts,
    ShiftSigns,
    chance_of_fall,
    contradicted,
    doubt_of,
    headline_under,
    judged,
    judges_alone,
    natural_headline,
    signs_of,
    under_assumptions,
    under_covariate_shift,
)
from ..headline.own_history import (
    HistoryPosterior,
    PastPeriod,
    Reading,
    Together,
    before,
    given_past,
    reading_of,
    together,
)
from ..headline.parts import SeenWhole, part_headline, seen_whole
from ..inference.domain_classifier import compared_once
from ..intervals import clopper_pearson
from ..kernels import one_thread, side_by_side
from ..notes import TARGET_LABELS, TRUST, Note
from ..passes.folding import Execution, enter_phase
from ..passes.metrics import COUNTS, MetricPlan, predicted_of
from ..passes.plan import EstimationPlan, State, checked_estimate
from ..passes.reference import has_column
from ..passes.slicing import MISSING, WHOLE, TimeChunks, column_of, in_natural_order, rows_by_value
from ..plain import Json, Plain
from ..registry import FAILURES, unless_failed, why_failed
from ..results import Estimate, Interval, Skipped
from ..results.alarms import Alarms, FailWhen, Fall
from ..results.estimation import (
    Assumed,
    Estimation,
    Headline,
    MetricEstimation,
    Part,
    PartReference,
)
from ..results.values import Curve
from ..store import Source
from .clusters import Design
from .estimate_job import EstimateJob
from .fitted import Fitted
from .learning import HISTOGRAM_BINS
from .opening import about_features
from .parts import AskedPart, asked_parts, said_of_references
from .past_periods import (
    distance_in_time,
    groups_left_out,
    known_truth,
    middle_time,
    periods_of_store,
    places_in_time,
    said_of_past,
)
from .target_plan import fit_to_target, none_applies

Chance = Callable[[float], float | None]  # how likely the accuracy lies below a bound
_ByMetric = Mapping[str, Sequence[Estimate]]
_PART_SIGNS = ("moved", "unexplained")


def estimates_of(
    methods: Mapping[str, Estimator], states: Plain, lighter: bool = False
) -> tuple[list[Estimate], list[Skipped]]:
    """What methods say by the states of the target or a part of it, and which of them can say nothing."""
    out, skipped = [], []
    for name, method in methods.items():
        if name not in states:
            continue  # left out of parts
        try:
            estimate = (method.lighter() if lighter else method).finish(unless_failed(states[name]))
            out.append(checked_estimate(method, estimate))
        except FAILURES as error:
            skipped.append(Skipped(name, why_failed(name, method, error)))
    return out, skipped


@dataclass(frozen=True)
class Conclusion:
    """What is said of the target or a part of it; ``cdf``: how it is distributed without labels (`cdf_without_labels`),
    ``posterior``: with them, ``without``: the headline before; ``whole``: what its parts share, None where they have
    nothing to; ``reference``: what a part is held against; ``is_unknown``: judges alone speak, of outputs in a form in
    which nobody knows how they err, so that no rule of an alarm is judged by the number.
    """

    headline: Headline
    assumptions: Mapping[str, Assumed]
    signs: Mapping[str, float]
    fell: float | None
    changed: float | None
    chance: Chance
    metrics: Mapping[str, MetricEstimation]
    cdf: Callable[[], Array | None] | None
    posterior: LabelPosterior | None = None
    without: Headline | None = None
    whole: SeenWhole | None = None
    reference: PartReference | None = None
    read: Callable[[], Reading | None] = lambda: None
    is_unknown: bool = False

    @cached_property
    def reading(self) -> Reading | None:
        """What own history is held against; worked out where there is some."""
        return self.read()

    @property
    def distribution(self) -> Array | None:
        """The distribution function of the accuracy at 1,001 even ones, with labels where these take part."""
        if self.posterior is not None:
            return self.posterior.distribution
        return None if self.cdf is None else self.cdf()


@dataclass(frozen=True)
class _PartStates:
    """A slice or chunk before anything is concluded: its ``key`` among the states, where it lies, what methods say."""

    key: tuple[str, Any]
    states: Plain
    place: Plain
    estimates: Sequence[Estimate]
    labels: LabelEvidence | None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.states["truth"]["rows"])


class Interpreter:
    """What is said by estimates and states, alike for target and parts.

    design : of clusters. picked : why labels are no random sample, where their file says so. past : periods whose truth
    is known. when : the middle of the target's times, where it is asked about as one. unlike_texts : how outputs that
    judges voted on differ from the reference's.
    """

    def __init__(
        self,
        fitted: Fitted,
        options: EstimateJob,
        design: Design,
        prior: NaturalShifts,
        picked: str | None = None,
        unlike_texts: UnlikeTexts | None = None,
    ) -> None:
        self.picked = picked
        self.past: list[PastPeriod] = [*fitted.past]
        self.when: np.datetime64 | None = None
        self.unit = "" if options.every is None else options.every.strip()
        self.fitted, self.plan, self.options = fitted, fitted.plan, options
        self.design, self.prior = design, prior
        self.correct, self.rows = fitted.reference.correct, fitted.reference.rows
        self.accuracy, trials = self.correct / self.rows, fitted.trials
        self.effects = design.effects
        self.output_effects = (design.reference.outputs, design.target.outputs)
        weighting = None
        if trials is not None:
            weighting = TrialWeighting(trials.trials, trials.methods, fitted.learnt_rows)
        self.evidence = Evidence(
            options.level,
            weighting,
            source=self.accuracy,
            reference_rows=self.rows,
            effects=self.effects,
            domain=options.domain,
            unlike_texts=unlike_texts,
        )

    # ------------------------------------------------------------------------------ the result

    def finish(
        self,
        state: State,
        figures: Callable[[], Plain | None],
        target: Source,
        label_evidence: LabelEvidence | None = None,
    ) -> Estimation:
        """The result from the states of the whole target, its slices and its chunks. ``label_evidence``: what
        labels of the whole say, where that is known already.
        """
        plan, options = self.plan, self.options
        target_state = state[WHOLE]
        rows = int(target_state["truth"]["rows"])
        estimates, late, diagnosis, by_metric = self._of_methods(target_state)
        diagnosis = self._diagnosed(diagnosis, target)
        skipped = [*self.fitted.skipped, *late]
        if not estimates:
            raise none_applies(skipped, target)
        curves = figures()
        cut = [states for key, states in state.items() if key[0] in ("by", "every")]
        evidence = label_evidence or self.labels_of(target_state, cut)
        conclusion = self.of(estimates, target_state, by_metric, diagnosis)
        if plan.every is None:
            conclusion = self.with_past(conclusion, None, self.when)
        conclusion = self.with_labels(conclusion, evidence)
        of_metrics = _metric_warnings(plan, conclusion.metrics, skipped, options, target.name)
        parts = self.parts(state, conclusion)
        composed = self._is_composed(parts, evidence)
        if composed:
            conclusion = self.composed(conclusion, parts)
        ((fell, without),) = self.falls([conclusion])
        truth = self._truth(evidence)
        as_part = _as_part(conclusion, rows, truth, fell, without)
        # labels of whole periods are no sample of all, and need be none where each period answers for itself
        not_random = None if evidence is None or composed else evidence.not_random
        doubt = self._doubt(conclusion) if len(estimates) > 1 else []
        untold = not_random if label_evidence is None else None
        results = tuple(part for part, _ in parts)
        slices, chunks = (results, ()) if plan.every is None else ((), results)
        return Estimation(
            reference=dict(self.design.about(self._about_reference())),
            target=_about_target(target.name, target_state["truth"], truth),
            headline=conclusion.headline,
            estimates=tuple(self.design.wide(estimate, rows) for estimate in estimates),
            skipped=tuple(skipped),
            warnings=(
                *self.fitted.warnings,
                *of_metrics,
                *doubt,
                *self._said_of_labels(conclusion, truth, untold, composed=composed),
                *self._missing_slices(results),
                *self.design.said(),
            ),
            level=options.level,
            seed=options.seed,
            calibration=self._about_calibration(),
            risk_coverage=_risk_coverage(plan, target_state),
            reliability=None if curves is None else curves["reliability"],
            confidence=_shares_of_confidence(target_state, curves),
            slices=slices,
            chunks=chunks,
            diagnosis=diagnosis,
            backtest=self._about_backtest(),
            assumptions=conclusion.assumptions,
            assume=options.assume,
            fell=fell,
            metrics=conclusion.metrics,
            alarms=_alarms((as_part, conclusion), parts, options, self.accuracy),
            fell_without_labels=without,
            headline_without_labels=conclusion.without,
            not_random=not_random,
            named=tuple(options.methods or ()),
        )

    def _diagnosed(self, diagnosis: Diagnosis | None, target: Source) -> Diagnosis | None:
        """The diagnosis with the features that it looked at; it is evidence for all that follows."""
        if diagnosis is not None:
            diagnosis = replace(diagnosis, features=about_features(target))
        self.evidence = replace(self.evidence, diagnosis=diagnosis)
        return diagnosis

    def _truth(self, evidence: LabelEvidence | None) -> Interval | None:
        """The accuracy by labels alone."""
        if evidence is None or not evidence.labelled:
            return None
        return evidence.alone(self.options.level)

    def _said_of_labels(
        self,
        conclusion: Conclusion,
        truth: Interval | None,
        not_random: str | None,
        *,
        composed: bool,
    ) -> list[str]:
        """What labels in the target itself were used for, and why labels can be no random sample."""
        lines = []
        if truth is not None and self.plan.labels is None:
            lines.append(_use_of_labels(composed, conclusion))
        if not_random is not None:
            lines.append(no_random_sample(not_random))
        return lines

    def _missing_slices(self, parts: Sequence[Part]) -> list[str]:
        """What is to be said of slices of which the reference has no rows."""
        if self.plan.by is None:
            return []
        references = {part.name: part.reference for part in parts if part.reference is not None}
        return said_of_references(self.fitted, references, self.plan.by)

    def _is_composed(
        self, parts: Sequence[tuple[Part, Conclusion]], evidence: LabelEvidence | None
    ) -> bool:
        """Whether the whole is the mean of its parts: some periods, or all slices, have an own history, and some rows
        have no label. Slices of which the reference has rows share its correction, and the whole with them.
        """
        if evidence is not None and evidence.complete:
            return False
        heard = [part.headline.history is not None for _, part in parts]
        return any(heard) if self.plan.by is None else bool(heard) and all(heard)

    def _doubt(self, conclusion: Conclusion) -> list[str]:
        """Why the number has no trust, where no label stands in its place."""
        has_labels = conclusion.posterior is not None and conclusion.without is None
        if conclusion.headline.trust != "none" or has_labels:
            return []
        return [Note(conclusion.headline.why, TRUST)]

    def _about_reference(self) -> Json:
        """Rows and accuracy of the reference, with an exact interval."""
        reference, level = self.fitted.reference, self.options.level
        low, high = clopper_pearson(reference.correct, reference.rows, level)
        doubt = {"doubt": self.fitted.doubt} if self.fitted.doubt else {}
        return {
            "name": self.fitted.name,
            "rows": reference.rows,
            "accuracy": self.accuracy,
            "lower": low,
            "upper": high,
            "level": level,
            "kind": "exact",
            "classes": reference.record.num_classes,
            **doubt,
        }

    def _about_calibration(self) -> Json:
        """The calibrator that was chosen, and why."""
        choice = self.plan.choice
        return {
            "name": None if choice.calibrator is None else choice.calibrator.name,
            "why": choice.why,
            "scores": choice.scores,
            "temperature": getattr(choice.calibrator, "temperature", None),
        }

    def _about_backtest(self) -> Json | None:
        """How many trials weighed the methods, and on how many rows: those that they read may be a sample."""
        trials = self.fitted.trials
        if trials is None:
            return None
        return {
            "trials": len(trials.trials),
            "rows": trials.reference.get("rows"),
            "families": trials.families,
            "methods": trials.methods,
        }

    # ------------------------------------------------------------------------------ methods

    def _of_methods(
        self, state: Plain
    ) -> tuple[list[Estimate], list[Skipped], Diagnosis | None, _ByMetric]:
        """What methods and diagnostician say of the whole target, the heavy ones side by side, and of other metrics."""
        plan = self.plan
        light = {name: method for name, method in plan.methods.items() if not method.traits.heavy}
        alone = [{name: method} for name, method in plan.methods.items() if method.traits.heavy]
        jobs: list[Callable[[], Any]] = [
            partial(estimates_of, methods, state) for methods in (*alone, light)
        ]
        if plan.diagnostician is not None:
            jobs.insert(0, partial(plan.diagnostician.finish, state["diagnosis"]))
        by_metric: _ByMetric = {}
        more: list[Skipped] = []
        # set once for all jobs: who asks inside pays nothing
        with compared_once(), one_thread():
            results = side_by_side([partial(copy_context().run, job) for job in jobs])
            if plan.metrics is not None:
                by_metric, more = plan.metrics.estimates(state)
        diagnosis: Diagnosis | None = None if plan.diagnostician is None else results.pop(0)
        order = {method.name: i for i, method in enumerate(plan.methods.values())}
        estimates = sorted(
            (e for group, _ in results for e in group),
            key=lambda e: order.get(e.method, len(order)),
        )
        late = sorted(
            (s for _, group in results for s in group),
            key=lambda s: list(plan.methods).index(s.method),
        )
        late += [s for s in more if s.method not in {skipped.method for skipped in late}]
        return estimates, late, diagnosis, by_metric

    def of(
        self,
        estimates: Sequence[Estimate],
        states: Plain,
        by_metric: _ByMetric,
        diagnosis: Diagnosis | None = None,
        part: AskedPart | None = None,
        whole: Conclusion | None = None,
    ) -> Conclusion:
        """What is said where the methods say this; a ``diagnosis`` is of the whole target. A ``part`` starts from what
        it shares with the others, and from what is said of the ``whole``.
        """
        options, rows = self.options, int(states["truth"]["rows"])
        evidence = self._evidence_of(states, part, is_whole=diagnosis is not None)
        still = make_headline(estimates, evidence) if part is None else _start_of(part)
        assert still is not None  # there is at least one estimate
        signs = signs_of(still, {e.method: e for e in estimates}, evidence)
        if diagnosis is None and signs is not None:
            # a part may be another than the whole, which was diagnosed
            signs = replace(signs, separation=None)
        natural = self._natural(estimates, still, signs, evidence, part, whole, rows)
        assumptions = under_assumptions(natural, still, estimates, diagnosis)
        if part is not None and part.reference.share is not None:
            assumptions |= {"none": Assumed(part.seen.unchanged(options.level), "source")}
        natural = contradicted(natural, assumptions["label"], diagnosis)
        headline = headline_under(options.assume, natural, assumptions)
        error = evidence.error_of_clusters(headline.interval.value, rows)
        judges = judges_alone(still)
        assumed = headline.interval if judges or options.assume != "natural" else None
        chance = self._chance(still, signs, part, assumed, error)
        baseline = self.accuracy if part is None else part.reference.pooled
        fell = chance(baseline - options.margin)
        unlike = evidence.unlike_texts
        if unlike is not None and headline.method.startswith("votes"):
            fell, headline = None, of_unlike_texts(headline, unlike)
        else:
            unlike = None
        headline = self._doubted(headline, signs)
        return Conclusion(
            headline=self.design.headline(headline, rows),
            assumptions=_widened(assumptions, self.design, rows),
            signs=evidence.shift_statistics,
            fell=fell,
            changed=self._changed(states, part, whole),
            chance=chance,
            metrics=self._metrics(by_metric, states, evidence, signs),
            cdf=self._distribution(signs, part, assumed, error, by_judges=judges),
            whole=None if part is not None else self._shared(natural, signs, evidence),
            reference=None if part is None else part.reference,
            read=partial(self._reading, None if judges else signs, estimates),
            is_unknown=unlike is not None,
        )

    def _evidence_of(self, states: Plain, part: AskedPart | None, *, is_whole: bool) -> Evidence:
        """The evidence of the whole target, or of a part of it. A chunk's number is of its own rows alone: what came
        after it, and moved the diagnosis, leaves it as it was.
        """
        is_diagnosed = is_whole or self.plan.every is None
        diagnosis = self.evidence.diagnosis if is_diagnosed else None
        moves = self._moves(states, part)
        return replace(self.evidence, shift_statistics=moves, diagnosis=diagnosis)

    def _doubted(self, headline: Headline, signs: ShiftSigns | None) -> Headline:
        """The headline, without high trust where something speaks against it, without any where the labels may be other
        classes than they are called.
        """
        if self.fitted.doubt:
            return replace(headline, trust="none", why=self.fitted.doubt)
        if signs is None or headline.trust != "high":
            return headline
        doubt = doubt_of(signs, self.evidence)
        return replace(headline, trust="low", why=doubt) if doubt else headline

    def _distribution(
        self,
        signs: ShiftSigns | None,
        part: AskedPart | None,
        assumed: Interval | None,
        error: float,
        *,
        by_judges: bool,
    ) -> Callable[[], Array | None] | None:
        """How the accuracy is distributed without labels, worked out where it is asked for; None where judges alone
        were heard: how these err, nobody knows.
        """
        if part is not None and assumed is None:
            return partial(part.seen.distribution, EVEN, error)
        if by_judges and self.options.assume == "natural":
            return None
        return partial(cdf_without_labels, self.prior, signs, assumed, error)

    def _shared(
        self, natural: Headline, signs: ShiftSigns | None, evidence: Evidence
    ) -> SeenWhole | None:
        """What the parts of the target share, where it is cut into some."""
        is_cut = self.plan.by is not None or self.plan.every is not None
        if not is_cut or signs is None or natural.method.startswith("votes"):
            return None
        return seen_whole(natural.value, signs, evidence, self.prior)

    def _reading(self, signs: ShiftSigns | None, estimates: Sequence[Estimate]) -> Reading | None:
        """The reading of a target or a part of it, if there is any."""
        return None if signs is None else reading_of(signs, estimates, self.prior)

    def _moves(self, states: Plain, part: AskedPart | None) -> Mapping[str, float]:
        """How far the outputs moved: a part's own, or those of the whole target."""
        if part is not None:
            return part.moves
        statistics = self.plan.shift_statistics
        if statistics is None:
            return {}
        return statistics.finish(states["shift_statistics"], self.output_effects)

    def _natural(
        self,
        estimates: Sequence[Estimate],
        still: Headline,
        signs: ShiftSigns | None,
        evidence: Evidence,
        part: AskedPart | None,
        whole: Conclusion | None,
        rows: int,
    ) -> Headline:
        """The headline if the shift resembles public ones."""
        if part is not None and whole is not None:
            error = evidence.error_of_clusters(part.seen.value, rows)
            return part_headline(part.seen, part.own, whole.headline, self.options.level, error)
        middle = middle_methods({e.method: e for e in estimates})
        inputs = under_covariate_shift(estimates)
        return natural_headline(still, signs, evidence, self.prior, inputs, middle)

    def _chance(
        self,
        still: Headline,
        signs: ShiftSigns | None,
        part: AskedPart | None,
        assumed: Interval | None,
        error: float,
    ) -> Chance:
        """How likely the accuracy lies below a bound, without labels."""

        def chance(bound: float) -> float | None:
            if still.method == "votes":  # nobody knows how these judges err
                return None
            if part is not None and assumed is None:
                return part.seen.chance_below(bound, error)
            source = self.accuracy
            return chance_of_fall(self.prior, signs, source - bound, assumed, source, error)

        return chance

    def _changed(
        self, states: Plain, part: AskedPart | None, whole: Conclusion | None
    ) -> float | None:
        """The p value of outputs that are distributed as in the reference; None where that cannot be seen."""
        statistics = self.plan.shift_statistics
        if statistics is None:
            return None
        beside = None if part is None else part.outputs
        changed = statistics.p_value(
            states["shift_statistics"], self.options.seed, self.output_effects, beside
        )
        if part is None or whole is None or self.plan.by is None or beside is not None:
            return changed
        # beside the whole reference a slice differs in composition, whatever happened: the whole must have changed,
        # and the slice must not be like the reference
        return None if changed is None or whole.changed is None else max(changed, whole.changed)

    # ------------------------------------------------------------------------------ own history

    def recall(self, past: Sequence[Source], target: Source, execution: Execution) -> list[str]:
        """Take in what a store and sources of the past tell, and when the target is; gives what is to be said of it."""
        options, recorder = self.options, self.options.recorder
        lines: list[str] = []
        if recorder is not None:
            from ..histories.labelled_parts import labelled_parts

            try:
                parts = labelled_parts(
                    recorder.store, recorder.job_of(options.reference, self.fitted.name)
                )
            except (
                InputError,
                WorkError,
            ) as error:
                # a store that fails costs its history, and no answer
                lines.append(
                    f"the past runs could not be read, so the number knows nothing of them: {error}"
                )
            else:
                self.past += periods_of_store(
                    parts, options.chunks, self.unit, target.name, self.prior
                )
        if self.fitted.past and options.chunks is None:
            self.when = middle_time(target)
        return [*lines, *self.remember(past, execution)]

    def remember(self, past: Sequence[Source], execution: Execution) -> list[str]:
        """Take in the periods of labelled sources, the oldest first; gives what is to be said of those that tell
        nothing.
        """
        if not past:
            return []
        phase_execution = Execution(progress=enter_phase(execution.progress, "history"))
        chunks, left_out = self.options.chunks, []
        for i, source in enumerate(past):
            learnt, parts = fit_to_target(
                self.fitted, source, phase_execution, None, replace(self.options, by=None)
            )
            state = learnt.plan.read(parts, phase_execution, source.name)
            keys = (
                sorted(key for key in state if key[0] == "every") if chunks is not None else [WHOLE]
            )
            for key, at in zip(keys, places_in_time(chunks, keys, i, len(past)), strict=True):
                states = state[key]
                rows = int(states["truth"]["rows"])
                name = source.name if source.path is not None else f"history {i + 1}"
                if chunks is not None:
                    name = str(chunks.place(key[1], rows, None)["name"])
                estimates, _ = estimates_of(learnt.plan.methods, states, lighter=True)
                reading = self.of(estimates, states, {}).reading if estimates else None
                if not self._learn_from(name, at, reading, states, self.labels_of(states)):
                    left_out.append(name)
        return said_of_past(left_out)

    def _learn_from(
        self,
        name: str,
        at: float,
        reading: Reading | None,
        states: Plain,
        evidence: LabelEvidence | None,
    ) -> bool:
        """Whether a period tells anything: then it is behind those that come after it."""
        truth = known_truth(states, evidence)
        if truth is None or reading is None or evidence is None:
            return False
        period = PastPeriod(name, at, reading, *truth, labelled=evidence.labelled, unit=self.unit)
        self.past = [
            earlier
            for earlier in self.past
            if (earlier.kind, earlier.unit, earlier.at) != (period.kind, period.unit, at)
        ]
        self.past.append(period)
        return True

    def with_past(
        self, answer: Conclusion, at: float | None, when: np.datetime64 | None
    ) -> Conclusion:
        """What is said of a period at this place in time (None: after all), given those before it; without any the
        same. ``when`` it was: what the reference alone tells holds for times that are not too far from it.
        """
        if not self.past:
            return answer
        past, at = before(self.past, at, self.unit)
        far = 0.0
        if past and all(period.kind == "inside the reference" for period in past):
            distance = distance_in_time(self.fitted.reference.record, when)
            if distance is None:
                return answer
            at, far = at + distance[0], distance[1]
        if (
            not past
            or answer.reading is None
            or answer.cdf is None
            or self.options.assume != "natural"
        ):
            return answer
        public = answer.cdf()
        if public is None:
            return answer
        return self.by_history(answer, given_past(past, answer.reading, at, public, far))

    def by_history(self, answer: Conclusion, posterior: HistoryPosterior) -> Conclusion:
        """What is said of a period or group by own history."""
        baseline = self.accuracy if answer.reference is None else answer.reference.pooled

        def ends(level: float) -> tuple[float, float]:
            interval = posterior.interval(level)
            return interval.lower, interval.upper

        shared = answer.whole
        if shared is not None:  # what slices share is the whole as it is said now
            value = posterior.interval(self.options.level).value
            shared = replace(shared, value=value, interval=ends, quantile=posterior.quantile)
        return replace(
            answer,
            whole=shared,
            headline=posterior.headline(answer.headline, self.options.level),
            fell=posterior.below(baseline - self.options.margin),
            chance=posterior.below,
            cdf=lambda: posterior.cdf,
        )

    def with_groups(self, answer: Conclusion) -> Conclusion:
        """What is said of a slice of which the reference has no rows, given the groups that it has; the same without
        enough of these.
        """
        public = None if answer.cdf is None else answer.cdf()
        if self.options.assume != "natural" or not self.groups:
            return answer
        if answer.reading is None or public is None:
            return answer
        posterior = given_past(self.groups, answer.reading, 0.0, public)
        return self.by_history(answer, posterior)

    @cached_property
    def groups(self) -> list[PastPeriod]:
        """The groups of the reference by the column of slices, each left out of it once."""
        plan, options, reference = self.plan, self.options, self.fitted.reference
        record, by = reference.record, plan.by
        if by is None or reference.by != by or not has_column(record, by):
            return []
        named = zip(*rows_by_value(column_of(record, by)), strict=True)
        places = {str(name): rows for name, rows in named if name != MISSING}
        return groups_left_out(
            record,
            [*places],
            [*places.values()],
            self.prior,
            options.methods,
            options.level,
            options.seed,
        )

    def composed(self, answer: Conclusion, parts: Sequence[tuple[Part, Conclusion]]) -> Conclusion:
        """The whole as its periods have it, some by their labels and some by own history: the mean of them."""
        distributions = [conclusion.distribution for _, conclusion in parts]
        if any(cdf is None for cdf in distributions):
            return answer
        cdf = together(
            [cdf for cdf in distributions if cdf is not None], [part.rows for part, _ in parts]
        )
        mixture = Together(cdf, [conclusion.headline for _, conclusion in parts])

        def chance(bound: float) -> float | None:
            return mixture.below(bound)

        return replace(
            answer,
            headline=mixture.headline(answer.without or answer.headline, self.options.level),
            fell=mixture.below(self.accuracy - self.options.margin),
            chance=chance,
            cdf=lambda: cdf,
            posterior=None,
            without=None,
        )

    # ------------------------------------------------------------------------------ labels

    def labels_of(
        self, states: Plain, parts: Sequence[Plain] | None = None
    ) -> LabelEvidence | None:
        """What the labels of a part of the target say; None without any. ``parts``: those that the whole of it was cut
        into.
        """
        rows, labelled, correct = (
            int(states["truth"][name]) for name in ("rows", "known", "correct")
        )
        if not labelled:
            return None
        # a slice may well be of one class; a period that is was most often not reported yet
        sliced = parts is None and self.plan.by is not None
        seen = None if sliced else said_of_labels(self.fitted.reference.record)
        spread = [(int(part["truth"]["known"]), int(part["truth"]["rows"])) for part in parts or ()]
        picked = of_state(states.get("labelled"), seen)
        not_random = self.picked or (uneven(spread) if picked is None else picked.why)
        by_outcome = self.picked is None and picked is not None and picked.by == "label"
        effect = self.effects[1]
        return LabelEvidence(
            correct / effect,
            labelled / effect,
            labelled,
            rows,
            not_random=not_random,
            by_outcome=by_outcome,
        )

    def with_labels(self, answer: Conclusion, evidence: LabelEvidence | None) -> Conclusion:
        """What is said with labels that can be a random sample, or of every row; else the same as without."""
        if evidence is None or not evidence.usable:
            return answer
        cdf = None if answer.cdf is None else answer.cdf()
        still = answer.headline
        basis = known_by(self.prior, self.options.assume, still)
        posterior = LabelPosterior(cdf, evidence, basis, by_history=still.history is not None)
        headline = posterior.headline(answer.headline, self.options.level)
        without = None if evidence.complete else answer.headline
        return replace(
            answer, headline=headline, chance=posterior.below, posterior=posterior, without=without
        )

    # ------------------------------------------------------------------------------ metrics

    def _metrics(
        self,
        by_metric: _ByMetric,
        states: Plain,
        evidence: Evidence,
        signs: ShiftSigns | None,
    ) -> dict[str, MetricEstimation]:
        """Metric -> headline, estimates, the reference's own value and the truth where rows are labelled."""
        plan, out = self.plan.metrics, {}
        if plan is None or COUNTS not in states:
            return {}
        # rows of a class that the model does not know are missing from the counts of classes
        truth = {} if states["truth"]["new"] else plan.truth(states)
        for metric in plan.metrics:
            estimates = tuple(by_metric.get(metric.name, ()))
            settled = plan.settled(metric, predicted_of(states)) if estimates else None
            if settled is not None:
                estimation: MetricEstimation | None = MetricEstimation(
                    _by_predicted_classes(*settled, estimates),
                    estimates,
                    plan.reference.get(metric.name),
                )
            else:
                estimation = self._metric(plan, metric, estimates, evidence, signs)
            if estimation is None:
                continue
            wide = self.design.headline(estimation.headline, int(states["truth"]["rows"]))
            out[metric.name] = replace(estimation, headline=wide, truth=truth.get(metric.name))
        return out

    def _metric(
        self,
        plan: MetricPlan,
        metric: ClassMetric,
        estimates: tuple[Estimate, ...],
        evidence: Evidence,
        signs: ShiftSigns | None,
    ) -> MetricEstimation | None:
        """A metric that the predicted classes do not settle; None where no method answers."""
        base = metric.base
        if len(plan.support) == 2 and metric.at not in (None, plan.positive):
            # of two classes, the recall of one is the specificity of the other
            base = {"recall": "specificity", "specificity": "recall"}.get(base, base)
        reference, error = plan.reference.get(metric.name), plan.errors.get(metric.name)
        rests = MetricEvidence(evidence, signs, reference, Scale.of(*metric.bounds), error)
        priors = self.prior.metrics or packaged_metrics()
        answers = metric_answers(base, estimates, rests, priors, self.options.assume)
        if answers is None:
            return None
        headline, assumptions = answers
        return MetricEstimation(headline, estimates, reference, assumptions=assumptions)

    # ------------------------------------------------------------------------------ falls and parts

    def falls(self, answers: Sequence[Conclusion]) -> list[tuple[Fall, Fall | None]]:
        """Whether the accuracy fell, of parts looked at together; with labels where these take part, and without."""
        prior, margin, assume = self.prior, self.options.margin, self.options.assume
        chances, changes = [a.fell for a in answers], [a.changed for a in answers]
        if assume == "natural" and any(judges_alone(a.without or a.headline) for a in answers):
            assume = "judges"
        if any(a.reference is not None for a in answers):
            prior = replace(prior, verdicts=())  # those are of whole targets
        assumes = [assume if a.headline.history is None else "history" for a in answers]
        without = judged(prior, margin, chances, changes, assumes)
        fell = self._fell_by_labels(answers, changes, assume)
        return [
            (before, None) if by_labels is None else (by_labels, before)
            for by_labels, before in zip(fell, without, strict=True)
        ]

    def _fell_by_labels(
        self, answers: Sequence[Conclusion], changes: Sequence[float | None], assume: str
    ) -> Sequence[Fall | None]:
        """Whether the accuracy fell, of those in which labels take part."""
        posteriors = [a.posterior for a in answers]
        if not any(posteriors):
            return [None] * len(answers)
        references = [self._reference_counts(a.reference) for a in answers]
        return falls_by_labels(posteriors, changes, self.options.margin, references, assume)

    def _reference_counts(self, part: PartReference | None) -> tuple[float, float]:
        """Correct rows and rows that an accuracy is held against: those of the reference, or of a part in it."""
        rows = self.rows / self.effects[0]
        if part is None or part.share is None:
            return (self.correct / self.effects[0] if part is None else part.pooled * rows), rows
        # pooled as if so many rows had been seen: its own, and those that stand for the reference as a whole
        rows = min(part.rows / max(part.share, 1e-9) / self.effects[0], rows)
        return part.pooled * rows, rows

    def parts(self, state: State, whole: Conclusion) -> list[tuple[Part, Conclusion]]:
        """Slices in their natural order, or chunks in order of time or rows; whether they fell is judged of all."""
        cut = self._cut(state)
        if not cut:
            return []
        shared_parts: Sequence[AskedPart | None] = [None] * len(cut)
        if whole.whole is not None:
            values = [piece.key[1] for piece in cut]
            estimates, states = [piece.estimates for piece in cut], [piece.states for piece in cut]
            effects = self.output_effects
            shared_parts = (
                asked_parts(self.fitted, values, estimates, states, whole.whole, effects)
                or shared_parts
            )
        concluded = [
            self._of_part(piece, ask, whole) for piece, ask in zip(cut, shared_parts, strict=True)
        ]
        every = zip(cut, concluded, self.falls(concluded), strict=True)
        return [
            (self._part(piece, conclusion, *fell), conclusion) for piece, conclusion, fell in every
        ]

    def _cut(self, state: State) -> list[_PartStates]:
        """The slices or chunks in their order, with what methods say of them; `InputError` where none says anything."""
        plan, keys = self.plan, sorted(k for k in state if k[0] == "every")
        if plan.by is not None:
            keys = in_natural_order([k for k in state if k[0] == "by"])
        out = []
        for i, key in enumerate(keys):
            states = state[key]
            if plan.every is None:
                place: Plain = {"by": plan.by, "value": key[1]}
            else:
                latest = state[WHOLE].get("latest") if i + 1 == len(keys) else None
                place = plan.every.place(key[1], int(states["truth"]["rows"]), latest)
            estimates, skipped = estimates_of(plan.methods, states, lighter=True)
            if not estimates:
                raise InputError(
                    "rows that at least one method can use",
                    got=f"none applies ({'; '.join(f'{s.method}: {s.why}' for s in skipped)})",
                    column=", ".join(f"{name} {value}" for name, value in place.items()),
                    remedy="cut the target into larger parts, or ask for more methods",
                )
            out.append(_PartStates(key, states, place, estimates, self.labels_of(states)))
        return out

    def _of_part(
        self, part: _PartStates, shared: AskedPart | None, whole: Conclusion
    ) -> Conclusion:
        """What is said of a slice or chunk, by own history and by labels where there are any."""
        every, metrics = self.plan.every, self.metrics_of_parts
        by_metric = {} if metrics is None else metrics.estimates(part.states)[0]
        conclusion = self.of(part.estimates, part.states, by_metric, part=shared, whole=whole)
        if every is not None:
            number = part.key[1]
            when = every.begins(int(number)) if isinstance(every, TimeChunks) else None
            conclusion = self.with_past(conclusion, float(number), when)
            name = str(part.place["name"])
            self._learn_from(name, float(number), conclusion.reading, part.states, part.labels)
        elif shared is not None and shared.reference.share is None:
            conclusion = self.with_groups(conclusion)
        return self.with_labels(conclusion, part.labels)

    @cached_property
    def metrics_of_parts(self) -> MetricPlan | None:
        """What else is estimated of parts."""
        return None if self.plan.metrics is None else self.plan.metrics.lighter()

    def _part(
        self, part: _PartStates, conclusion: Conclusion, fell: Fall, without: Fall | None
    ) -> Part:
        """A slice or chunk as the result holds it."""
        signs = {name: conclusion.signs[name] for name in conclusion.signs if name in _PART_SIGNS}
        return Part(
            place=part.place,
            rows=part.rows,
            headline=conclusion.headline,
            estimates=tuple(self.design.wide(estimate, part.rows) for estimate in part.estimates),
            truth=self._truth(part.labels),
            fell=fell,
            signs=signs,
            metrics=conclusion.metrics,
            fell_without_labels=without,
            headline_without_labels=conclusion.without,
            reference=conclusion.reference,
        )


def _about_target(name: str, counts: Plain, truth: Interval | None) -> Json:
    """Rows of the target, those with a label, and the accuracy by these."""
    return {
        "name": name,
        "rows": int(counts["rows"]),
        "labelled": int(counts["known"]),
        "accuracy": None if truth is None else truth.to_dict(),
    }


def _risk_coverage(plan: EstimationPlan, state: Plain) -> Curve | None:
    """The curve of risk by coverage, where it was asked for."""
    return None if plan.curve is None else plan.curve.finish(state["risk_coverage"])


def _as_part(
    conclusion: Conclusion, rows: int, truth: Interval | None, fell: Fall, without: Fall | None
) -> Part:
    """The whole target in the form of a part, as rules of alarms see it."""
    return Part(
        place={"value": "target"},
        rows=rows,
        headline=conclusion.headline,
        estimates=(),
        truth=truth,
        fell=fell,
        metrics=conclusion.metrics,
        fell_without_labels=without,
        headline_without_labels=conclusion.without,
    )


def _start_of(part: AskedPart) -> Headline:
    """What a part starts from: its own estimate."""
    return Headline(part.own.interval, part.own.method, part.own.assumes, "low", "")


def _widened(assumptions: Mapping[str, Assumed], design: Design, rows: int) -> dict[str, Assumed]:
    """The answers under each assumption, with what clusters add to their intervals."""
    return {
        name: answer
        if answer.interval is None
        else replace(answer, interval=design.wide(answer.interval, rows))
        for name, answer in assumptions.items()
    }


def _shares_of_confidence(state: Plain, curves: Plain | None) -> Json | None:
    """Shares of rows by bins of confidence, of reference and target, where there are curves."""
    if curves is None:
        return None
    counts = state["confidence"]["counts"].reshape(HISTOGRAM_BINS, -1).sum(axis=1)
    return {
        "edges": np.linspace(0, 1, HISTOGRAM_BINS + 1),
        "reference": curves["shares"],
        "target": counts / counts.sum(),
        "score": curves["score"],
    }


def _use_of_labels(composed: bool, conclusion: Conclusion) -> str:
    """What labels that stand in the target itself were used for."""
    used = "for the truth only, not for any estimate"
    if composed:
        used = "chunk by chunk: for the truth there, and as the history of what follows"
    elif conclusion.without is not None:
        used = "as those of a random sample"
    return Note(f"the target holds labels; they were used {used}", TARGET_LABELS)


def _by_predicted_classes(value: float, why: str, estimates: Sequence[Estimate]) -> Headline:
    """The headline of a metric whose value the predicted classes settle: all methods agree on it."""
    lower, upper = median(e.lower for e in estimates), median(e.upper for e in estimates)
    interval = Interval(value, min(lower, value), max(upper, value), estimates[0].level, "exact")
    trust = "high" if upper - lower <= WIDE else "low" if upper - lower < 1 else "none"
    assumes = "nothing: the predicted classes settle it"
    return Headline(interval, "predicted classes", assumes, trust, why)


def _metric_warnings(
    estimation: EstimationPlan,
    answers: Mapping[str, MetricEstimation],
    skipped: Sequence[Skipped],
    options: EstimateJob,
    target: str | None,
) -> list[str]:
    """Warnings about metrics that nothing can be said of; `InputError` where an alarm asks for one, or none is left."""
    plan = estimation.metrics
    if plan is None:
        return []
    why = {skip.method: skip.why for skip in skipped}
    missing = [metric.name for metric in plan.metrics if metric.name not in answers]
    for rule in options.alarm_rules:
        if rule.metric in missing and rule.metric in why:
            expected = f"a reference that tells {rule.metric}, which an alarm asks for"
            raise InputError(expected, got="none", remedy=why[rule.metric])
    if missing and not answers and not any(name in why for name in missing):
        reasons = (
            "; ".join(f"{s.method}: {s.why}" for s in plan.skipped)
            or "it is undefined on this target"
        )
        expected = f"a target of which {', '.join(missing)} can be estimated"
        remedy = (
            "`roc_auc` and `average_precision` need probabilities, the others predicted classes"
        )
        raise InputError(expected, got=f"none ({reasons})", remedy=remedy, file=target)
    undefined = "it is undefined, or needs `probabilities`"
    return [f"{name} cannot be estimated here: {why.get(name, undefined)}" for name in missing]


def _alarms(
    target: tuple[Part, Conclusion],
    parts: Sequence[tuple[Part, Conclusion]],
    options: EstimateJob,
    accuracy: float,
) -> Alarms | None:
    """What the rules say of the target, or of the parts that it was cut into; ``accuracy`` is the reference's. None
    without rules.
    """
    if not options.alarm_rules:
        return None
    kind = "target" if not parts else "slice" if options.by is not None else "chunk"
    references = {"accuracy": accuracy}
    for name, metric in target[0].metrics.items():
        if metric.reference is not None:
            references[name] = metric.reference.value
    watched = [_watched(part, conclusion, options.level) for part, conclusion in parts or [target]]
    when = cast("FailWhen", options.fail_when)
    return judge_alarms(options.alarm_rules, watched, references, kind=kind, when=when)


def _watched(part: Part, conclusion: Conclusion, level: float) -> Watched:
    """What rules look at of the target or a part of it: the estimates, or the truth where every row has a label."""
    where: Json = {"name": part.name}
    if "by" in part.place:
        where |= {"by": part.place["by"], "slice": part.place["value"]}
    where |= {key: part.place[key] for key in ("start", "end", "timezone") if key in part.place}
    posterior = conclusion.posterior
    # labels may prove what judges cannot tell
    is_unknown = conclusion.is_unknown and posterior is None
    numbers = {} if is_unknown else {"accuracy": part.headline.interval}
    labelled = {}
    if part.truth is not None:
        labelled["accuracy"] = part.truth
    for name, metric in part.metrics.items():
        numbers[name] = metric.headline.interval
        if metric.truth is not None:
            labelled[name] = metric.truth
    if posterior is not None and posterior.evidence.complete:
        numbers |= {"accuracy": posterior.interval(level), **labelled}
    return Watched(
        where,
        part.rows,
        numbers,
        {"accuracy": conclusion.chance},
        None if part.fell is None else part.fell.changed,
        labelled,
        {} if posterior is None else {"accuracy": posterior.evidence.proof},
        references={} if part.reference is None else {"accuracy": part.reference.pooled},
    )
