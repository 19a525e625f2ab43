"""The verb `evaluate`: how good were these predictions, now that the truth is known? One pass, small states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..audits.joining import Joined, labelled, question_column, wrong_where_unseen
from ..errors import UsageError
from ..metrics import Confidences, about_class, ordered_by, with_payoff
from ..metrics.reliability import SHORT
from ..notes import about, file_name, notes_on
from ..options import verb_of_several
from ..passes.evaluating import NamedColumns, finish_evaluation, plan_evaluation, read_evaluation
from ..passes.folding import Execution
from ..plain import Strings
from ..predictions import FIELDS
from ..registry import FAILURES, broken, create, find, named, names, why_failed
from ..results import Skipped
from ..results.evaluation import Evaluation, Evaluations
from ..store import Source, decided_source
from ..vectors import given_pair, index_key, is_bare
from .confidences import read_from, with_confidences
from .costs import costs_of
from .guessing import Guessing
from .metric_names import metric_names, refuse_metrics
from .opening import (
    Opener,
    columns_named,
    executing,
    in_name_order,
    positive_class,
    refuse_class_unnamed,
    renamings,
    with_unseen_labels,
)
from .options import EvaluateOptions

__all__ = ["Evaluation", "Evaluations", "evaluate"]


@verb_of_several(EvaluateOptions, Evaluation, Evaluations)
def evaluate(sources: tuple[Any, ...], options: EvaluateOptions) -> Evaluation | Evaluations:
    """Judge labelled predictions by every metric that the data can feed; several sources are judged one by one.

    Sources are files, frames, dicts of arrays or `Predictions`; `confidence` and `correct` are enough.

    Rows of unknown truth are left out and counted in a warning. Raises `InputError` for input that cannot become a
    number, and where no row is labelled; `UsageError` for a call that makes no sense. A metric that does not apply is
    skipped with its reason.

    >>> found = evaluate({"confidence": [0.9, 0.8, 0.7], "correct": [True, False, True]})
    >>> found.rows, round(found["accuracy"].value, 3), round(found["aurc"].value, 3)
    (3, 0.667, 0.278)
    >>> next(one.why for one in found.skipped if one.method == "f1")
    'needs label and prediction; the record has confidence, correct'
    """
    if not sources:
        raise UsageError("give at least one set of predictions")
    sources = _tables_of(sources, options)
    chosen, unable = _chosen(options.metrics, options.score, options.payoff)
    done = []
    with executing("evaluate", options, predictions=sources) as execution:
        opener = Opener(
            renamings(options.mapping, options.positive),
            guessing=Guessing(
                (),
                options.labels is None,
                decided=options.threshold is not None,
                classes=options.classes,
            ),
            named=columns_named(options),
            offers_cluster=options.cluster is None,
            offers_weight=options.weight is None,
        )
        joined = _with_truth(sources, options, opener)
        opener.check()
        job = _Job(options, chosen, opener, execution)
        for source, lines in joined:
            refuse_class_unnamed(source, options.positive)
            evaluation, lines = job.of(source, lines)
            files = {file_name(source.name), file_name(str(options.labels))}
            notes = [line for line in opener.notes if about(line) in files]
            warnings = (*notes, *lines, *evaluation.warnings)
            done.append(
                replace(evaluation, skipped=(*evaluation.skipped, *unable), warnings=warnings)
            )
    return done[0] if len(done) == 1 else Evaluations(tuple(done))


def _tables_of(sources: tuple[Any, ...], options: EvaluateOptions) -> tuple[Any, ...]:
    """The sources; labels, and what each model says of their rows, become tables of one model each."""
    if len(sources) < 2 or not any(map(is_bare, sources[:2])):
        return sources
    y, first, *others = sources if is_bare(sources[0]) else (sources[1], sources[0])
    return tuple(given_pair(y, p, options.classes, options.positive) for p in (first, *others))


def _with_truth(sources: Sequence[Any], options: EvaluateOptions, opener: Opener) -> list[Joined]:
    """The sources, opened, decided by the threshold and joined with the labels of a file of their own."""
    extra = [
        name
        for name in (options.by, options.cluster, options.weight)
        if name is not None and name not in FIELDS
    ]
    opened = [
        opener.with_ids(data, options.cluster, options.classes, extra, where=options.where)
        for data in sources
    ]
    if options.threshold is not None:
        opened = [
            decided_source(source, options.threshold, positive_class(source, options.positive))
            for source in opened
        ]
    if options.labels is None:
        return [Joined(source, ()) for source in opened]
    keys = [index_key(options.labels, data, options.key) for data in sources]
    return [
        labelled(options.labels, source, key, opener.labels)
        for source, key in zip(opened, keys, strict=True)
    ]


@dataclass(frozen=True)
class _Job:
    """One source after another judged by the same metrics."""

    options: EvaluateOptions
    metrics: Sequence[Any]
    opener: Opener
    execution: Execution

    def of(self, source: Source, lines: Strings) -> tuple[Evaluation, Strings]:
        """The evaluation of a source, and what is to be said of it; labels of classes that the model does not know are
        its errors, where nobody names the classes.
        """

        def run(unseen: bool) -> tuple[Evaluation, Strings]:
            judged, said = wrong_where_unseen(source) if unseen else (source, lines)
            return self._judged(judged), said

        return with_unseen_labels(run, self.options.classes)

    def _judged(self, source: Source) -> Evaluation:
        options = self.options
        by, cluster, is_whole = options.by, options.cluster, options.metrics is None
        metrics = about_class(self.metrics, positive_class(source, options.positive))
        source = in_name_order(source)
        if {"score", "correct"} & {*source.fields} and by is None:
            refuse_metrics(metric_names(source), source.path)
        for compared in (metric for metric in metrics if isinstance(metric, Confidences)):
            compared.confidence = read_from(source)
            source, compared.columns, lines = with_confidences(source)
            self.opener.notes += notes_on(source.name, lines)
        by_question = cluster is None and question_column(source) == by
        plan, skipped = plan_evaluation(
            source,
            metrics,
            NamedColumns(by, by if by_question else cluster, options.weight),
            asked=not is_whole,
            level=options.level,
            seed=options.seed,
            scale=options.ends_of_scale,
        )
        read = read_evaluation(source, plan, self.execution)
        evaluation = finish_evaluation(source, *read, skipped)
        # what an answer takes is not weighted, and never stands unweighted beside what is
        costs = (
            costs_of(source, cluster, options.level, options.seed)
            if is_whole and options.weight is None
            else ()
        )
        return replace(evaluation, costs=costs)


def _chosen(
    metrics: Sequence[str] | None, score: str | None, payoff: Any
) -> tuple[list[Any], list[Skipped]]:
    """The metrics asked for, by default all, with their options; and those that could not be made."""
    metric_names = _together(dict.fromkeys(named("metric", name) for name in metrics or ()))
    if metric_names and payoff is not None and "expected_value" not in metric_names:
        metric_names.append("expected_value")
    candidates: list[Any] = [create("metric", name) for name in metric_names]
    for name in names("metric") if not metric_names else ():
        try:
            candidates.append(create("metric", name))
        except FAILURES as error:  # a plugin that could not even be made
            candidates.append(Skipped(name, why_failed(name, find("metric", name), error)))
    unable = [metric for metric in candidates if isinstance(metric, Skipped)]
    if not metric_names:
        unable += [Skipped(name, why) for name, why in broken("metric").items()]
    chosen = ordered_by([metric for metric in candidates if not isinstance(metric, Skipped)], score)
    with_payoff(chosen, payoff)
    return chosen, unable


def _together(metric_names: Iterable[str]) -> list[str]:
    """The names, several k of one curve as one: pass_at_k:1 and pass_at_k:8 are pass_at_k:1,8."""
    heads: dict[str, list[str]] = {}
    for name in metric_names:
        head, _, argument = name.partition(":")
        heads.setdefault(head if head in SHORT else name, []).append(argument)
    return [
        f"{name}:{','.join(k or '1' for k in several)}" if name in SHORT and any(several) else name
        for name, several in heads.items()
    ]
