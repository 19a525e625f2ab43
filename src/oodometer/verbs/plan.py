"""The verb `plan`: before a run, how many questions, epochs and human labels show a difference, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ..audits.judged_pairs import paired_rates
from ..errors import UsageError
from ..inference.power import (
    Answers,
    Components,
    Setting,
    components,
    design_effect,
    labels_for,
    power_of,
    questions_for,
    smallest_difference,
    verdicts_of,
)
from ..intervals import normal_quantile
from ..options import verb
from ..plain import Json, Strings
from ..results import Interval
from ..results.plan import Plan, PlannedRun
from .compare import scores_of
from .compare_job import CompareJob
from .judged_difference import common_rows, paired_runs
from .judging import opened, read_judged
from .opening import executing
from .options import PlanOptions

__all__ = ["Plan", "plan"]

_EPOCHS = (1, 2, 4)
_QUESTIONS = (100, 300, 1_000, 3_000)  # looked at where nothing says which


@dataclass(frozen=True)
class _Known:
    """What is known before the run: of the answers, of the pilots, and what to say; ``effects``: design effects of the
    difference on the same questions, and on questions of one's own, where rows depend on each other.
    """

    answers: Answers
    pilot: Components | None = None
    names: Strings = ()
    notes: Strings = ()
    correlation: Interval | None = None
    effects: tuple[float, float] = (1.0, 1.0)


@verb(PlanOptions)
def plan(options: PlanOptions) -> Plan:
    """Say how many questions, epochs and human labels show a difference of two systems, with which power and cost.

    From a pilot, a file of a few answers of one system, or from two on the same questions, which tell the correlation
    of their answers and so what asking both the same saves; or from numbers. Without a difference: the smallest one
    that the questions can show. Raises `InputError` for a pilot that cannot be read, `UsageError` for numbers that no
    two systems can have. Source: Miller (2024).

    >>> found = plan(accuracy=0.7, correlation=0.5, difference=0.03)
    >>> found.needed["paired"], found.needed["unpaired"]
    (1840, 3600)
    """
    known = _known(options)
    answers, difference, level = known.answers, options.difference, options.level
    needed: dict[str, int | None] = {}
    if difference is not None:
        _check(answers, difference)
        needed = _needed(known, difference, options)
    if options.fail_drop is not None:
        needed["gate"] = _needed_by_gate(known, options)
    runs = tuple(_planned(known, setting, options) for setting in _settings(known, needed, options))
    assumed: Json = {
        "mean": answers.mean,
        "variance": answers.variance,
        "within": answers.within,
        "correlation": answers.correlation,
        "correlation_interval": known.correlation,
        "judge": answers.judge,
        "span": answers.span,
        "design_effect": known.effects[0],
    }
    pilot = known.pilot
    return Plan(
        runs=runs,
        difference=difference,
        power=options.power,
        level=level,
        needed=needed,
        needed_labels=_needed_labels(answers, runs, options),
        assumed=assumed,
        pilot={}
        if pilot is None
        else {"names": known.names, "questions": pilot.questions, "epochs": pilot.epochs},
        warnings=known.notes,
        drop=options.fail_drop,
    )


def _known(options: PlanOptions) -> _Known:
    """What pilots or numbers tell."""
    if not options.pilots:
        within, correlation = options.within or 0.0, options.correlation
        if correlation is not None and correlation > 1 - within + 1e-9:
            raise UsageError(
                f"expected --correlation of at most {1 - within:g}: answers share no more than what is between "
                f"questions (1 - {within:g}), got {correlation:g}"
            )
        return _Known(
            Answers(
                float(options.accuracy or 0.0),
                within=within,
                correlation=correlation,
                judge=options.judge_correlation,
            )
        )
    return _of_judged_pilots(options) if options.judge else _of_pilots(options)


def _of_pilots(options: PlanOptions) -> _Known:
    """The answers of one pilot, or of two on the same questions."""
    job = CompareJob.of(options, models=list(options.pilots))
    with executing("plan", job, models=options.pilots) as execution:
        domain, notes = scores_of(job, execution)
    if domain.rows is None:
        raise UsageError(
            f"the pilots answer other questions: {domain.why}; give both a column id, or one pilot alone with "
            "--correlation"
        )
    scores, span, clusters = domain.rows.scores, domain.rows.span, domain.rows.clusters
    # a column that was named holds questions that depend on each other; repeated ids are epochs of one question
    are_named = options.cluster is not None and clusters is not None
    found = components(scores, None if are_named else clusters)
    variance = None if domain.rows.binary and span == 1 else float(np.mean(found.variance))
    known = _of_components(options, found, variance, span, tuple(domain.models), tuple(notes))
    if not are_named or clusters is None:
        return known
    own = float(np.mean([design_effect(score, clusters) for score in scores]))
    paired = design_effect(scores[1] - scores[0], clusters) if len(scores) == 2 else own
    return replace(known, effects=(paired, own))


def _of_judged_pilots(options: PlanOptions) -> _Known:
    """The labels of two pilots on the same rows, and what their judge tells of the difference."""
    if len(options.pilots) != 2:
        raise UsageError("a judge is looked at by two pilots with its verdicts; give two")
    sources = [opened(data, options) for data in options.pilots]
    first, second = (read_judged(source, options) for source in sources)
    pair = paired_runs(first, second, *common_rows(first, second, options), options)
    scores = np.stack([pair.truth(run, pair.both) for run in range(2)])
    judged, bare = (
        paired_rates(*pair.runs, "system", leaning=leaning) for leaning in (True, False)
    )
    if judged.spread is None or bare.spread is None:
        raise UsageError(
            f"{len(pair.both)} rows have people's labels in both pilots, too few to judge the judge; label 10 or more"
        )
    found = components(scores, None)
    variance = None if np.isin(scores, (0, 1)).all() else float(np.mean(found.variance))
    low, high = first.scale or (0.0, 1.0)
    known = _of_components(
        options,
        replace(found, mean=tuple(low + (high - low) * mean for mean in found.mean)),
        None if variance is None else variance * (high - low) ** 2,
        high - low,
        tuple(source.name.rpartition("/")[2] for source in sources),
        tuple(pair.notes),
    )
    told = math.sqrt(max(1 - judged.spread / bare.spread, 0.0))
    return replace(known, answers=replace(known.answers, judge=told))


def _of_components(
    options: PlanOptions,
    found: Components,
    variance: float | None,
    span: float,
    names: Strings,
    notes: Strings,
) -> _Known:
    """What is known by pilots, with the options that complete it."""
    told = options.within is not None or (found.correlation is not None and options.correlation)
    if told:
        raise UsageError("the pilots tell it; leave --within and --correlation out")
    correlation, interval = options.correlation, None
    if found.correlation is not None:
        correlation = found.correlation
        interval = _fisher(correlation, found.questions, options.level)
    within = float(np.mean(found.within))
    most = 1 - within  # answers share no more than what is between questions
    if correlation is not None and correlation > most:
        correlation = most
    if interval is not None and correlation is not None:
        interval = replace(
            interval,
            value=correlation,
            lower=min(interval.lower, correlation),
            upper=max(min(interval.upper, most), correlation),
        )
    answers = Answers(
        found.mean[0],
        variance=variance,
        within=within,
        correlation=correlation,
        judge=options.judge_correlation,
        span=span,
    )
    return _Known(answers, found, names, notes, interval)


def _fisher(correlation: float, questions: int, level: float) -> Interval:
    """Fisher's interval of a correlation from so many questions."""
    middle = math.atanh(correlation * (1 - 1e-12))
    half = normal_quantile(level) / math.sqrt(max(questions - 3, 1))
    low, high = math.tanh(middle - half), math.tanh(middle + half)
    return Interval(correlation, min(low, correlation), max(high, correlation), level, "asymptotic")


def _check(answers: Answers, difference: float) -> None:
    """Raise `UsageError` for answers that no two systems with this difference can give."""
    if answers.variance is not None:
        return
    new = answers.mean + difference
    if not 0 <= new <= 1:
        raise UsageError(
            f"a base with an accuracy of {answers.mean:.3g} cannot change by {difference:+g}; name a smaller "
            "--difference"
        )
    if _possible(answers, difference):
        return
    shares = (share / 100 for share in range(100, -101, -1))
    most = next(r for r in shares if _possible(replace(answers, correlation=r), difference))
    raise UsageError(
        f"answers with accuracies {answers.mean:.3g} and {new:.3g} have a correlation of at most {most:.2f}, got "
        f"{answers.correlation:.2f}; name a smaller --correlation or --difference"
    )


def _possible(answers: Answers, difference: float) -> bool:
    """Whether there are rows on which one alone is right for such a difference."""
    once = answers.of_question(difference, 1)
    return once + difference**2 >= abs(difference) - 1e-9


def _needed(known: _Known, difference: float, options: PlanOptions) -> dict[str, int | None]:
    """Questions for the difference with the power, asked once."""
    answers = known.answers

    def questions(paired: bool, correlation: float | None = answers.correlation) -> int | None:
        one = replace(answers, correlation=correlation)
        if paired and not (answers.variance is not None or _possible(one, difference)):
            return None
        setting = Setting(1, paired=paired)
        count = questions_for(one, setting, difference, options.level, options.power)
        effect = known.effects[0 if paired else 1]
        return None if count is None else math.ceil(count * effect)

    out = {"paired": None, "unpaired": questions(False)}
    if answers.correlation is not None:
        out["paired"] = questions(True)
    if known.correlation is not None:
        out["lower"] = questions(True, known.correlation.upper) or out["paired"]
        out["upper"] = questions(True, known.correlation.lower)
    return out


def _needed_by_gate(known: _Known, options: PlanOptions) -> int | None:
    """Questions after which the gate says what is true with the power, asked once."""
    is_paired = known.answers.correlation is not None
    difference, drop = options.difference or 0.0, options.fail_drop
    setting = Setting(1, paired=is_paired)
    count = questions_for(known.answers, setting, difference, options.level, options.power, drop)
    return None if count is None else math.ceil(count * known.effects[0 if is_paired else 1])


def _settings(
    known: _Known, needed: dict[str, int | None], options: PlanOptions
) -> Iterator[Setting]:
    """Runs to look at: as asked, else the questions at hand and those that are needed."""
    questions = list(options.questions)
    if not questions:
        at_hand = [] if known.pilot is None else [known.pilot.questions]
        wanted = [needed.get(name) for name in ("paired", "unpaired", "gate")]
        usual = [] if any(wanted) else [n for n in _QUESTIONS if n not in at_hand]
        questions = [*at_hand, *(n for n in wanted if n is not None), *usual]
    if options.human_labels:
        pairs = product(dict.fromkeys(questions), options.human_labels)
        yield from (Setting(n, labels=labels) for n, labels in pairs if labels <= n)
        return
    epochs = options.epochs or (_EPOCHS if known.answers.within else _EPOCHS[:1])
    yield from (Setting(n, times) for n, times in product(dict.fromkeys(questions), epochs))


def _planned(known: _Known, setting: Setting, options: PlanOptions) -> PlannedRun:
    """A run with its power and cost."""
    answers, level, difference = known.answers, options.level, options.difference
    is_paired = answers.correlation is not None
    paired, apart = (
        replace(setting, questions=max(round(setting.questions / effect), 2), paired=are_same)
        for effect, are_same in zip(known.effects, (setting.paired, False), strict=True)
    )
    power = unpaired = cost = None
    if difference is not None:
        power = power_of(answers, paired, difference, level) if is_paired else None
        unpaired = None
        if setting.labels is None:
            unpaired = power_of(answers, apart, difference, level)
    worse, not_worse, undecided = _of_gate(answers, paired if is_paired else apart, options)
    smallest = smallest_difference(answers, paired if is_paired else apart, level, options.power)
    if options.cost_question is not None or options.cost_label is not None:
        cost = setting.questions * setting.epochs * (options.cost_question or 0.0)
        cost += (setting.labels or 0) * (options.cost_label or 0.0)
    return PlannedRun(
        questions=setting.questions,
        epochs=setting.epochs,
        labels=setting.labels,
        power=power,
        unpaired=unpaired,
        smallest=smallest,
        cost=cost,
        worse=worse,
        not_worse=not_worse,
        undecided=undecided,
    )


def _of_gate(
    answers: Answers, setting: Setting, options: PlanOptions
) -> tuple[float | None, float | None, float | None]:
    """The chances that the gate says worse, not worse, and that it cannot be told; None without a gate."""
    if options.fail_drop is None:
        return None, None, None
    drop, difference = options.fail_drop, options.difference or 0.0
    verdicts = verdicts_of(answers, setting, difference, options.level, drop)
    return verdicts.worse, verdicts.not_worse, verdicts.undecided


def _needed_labels(
    answers: Answers, runs: tuple[PlannedRun, ...], options: PlanOptions
) -> dict[str, int | None]:
    """Labels that show the difference in the largest of the runs, with the judge and without."""
    if answers.judge is None or answers.correlation is None or options.difference is None:
        return {}
    questions = max((run.questions for run in runs), default=0)
    with_judge, alone = (
        labels_for(one, questions, options.difference, options.level, options.power)
        for one in (answers, replace(answers, judge=0.0))
    )
    return {"questions": questions, "with_judge": with_judge, "alone": alone}
