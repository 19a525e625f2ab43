"""The verb `audit`: a few labels on the target in, a valid interval out, and whether the label-free one can be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY, target_key
from ..audits.judge import Judgement, judge, refutes
from ..audits.labels import (
    LabelledRows,
    collect,
    no_random_sample,
    open_labels,
    read_labels,
    said_of_labels,
    unlike,
)
from ..audits.proxy import Proxy, choose_proxy
from ..audits.result import Audit, Noticeable, noticeable, strata
from ..audits.suggestion import COUNTS, ExpectedWidths, Suggestion, expected_widths, suggest
from ..audits.worksheet import Worksheet, check_worksheet, write_worksheet
from ..errors import NotApplicable, UsageError
from ..headline.alarms import alarm_rules
from ..headline.label_posterior import LabelEvidence, audited, decide_by_labels, posterior_of_result
from ..headline.natural_shifts import check_margin, packaged_prior
from ..inference.betting import SampledRows
from ..notes import TARGET_LABELS, TRUST, kind_of
from ..options import verb
from ..passes.folding import Execution
from ..passes.reference import label_warnings, read_reference
from ..predictions import Predictions
from ..results import Estimate, Interval
from ..results.alarms import AlarmRule
from ..store import Source, refuse_clashes
from ..store.where import parse_where
from ..vectors import several
from .clusters import clustered_labels
from .estimate import estimated
from .estimate_job import EstimateJob
from .opening import Opener, executing, opener_for, with_classes_of_all, with_features
from .options import AuditOptions, SuggestOptions

__all__ = ["Audit", "audit", "suggest_rows"]

SUGGEST_BY = ("random", "confidence")  # how `--suggest` draws rows


class AuditJob(AuditOptions):
    """What `audit` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_margin(self.margin)
        _ = self.alarm_rules
        if self.alarm_rules and self.judge:
            raise UsageError(
                "--fail-below and --fail-drop are about an estimate; beside --judge there is none"
            )
        parse_where(self.where)  # refused before the work
        if self.by is not None and not self.judge:
            raise UsageError(
                "--by gives rates of groups beside --judge; slices of an estimate are those of `estimate`"
            )
        if self.suggest < 0:
            raise UsageError(f"expected a number of rows to suggest, 1 or more, got {self.suggest}")
        if self.suggest_by not in SUGGEST_BY:
            raise UsageError(
                f"unknown way to suggest rows {self.suggest_by!r}; known: {', '.join(SUGGEST_BY)}"
            )
        if self.out is not None and not self.suggest:
            raise UsageError("an output file is for suggested rows: say how many with --suggest")
        if self.out is not None:
            check_worksheet(self.out, self.key)

    @property
    def alarm_rules(self) -> tuple[AlarmRule, ...]:
        """What must not be undercut: the accuracy alone is audited."""
        return alarm_rules(self.fail_below, self.fail_drop)


@dataclass(frozen=True)
class _Rows:
    """The pass: f, predicted classes and verdicts of the batches of a part, in their order."""

    proxy: Proxy

    def __call__(self, part: Any) -> tuple[list[Array], list[Array], list[Array]]:
        scores, classes, truths = list[Array](), list[Array](), list[Array]()
        for batch in part.batches():
            scores.append(self.proxy(batch))
            try:
                classes.append(batch.predicted)
                truths.append(batch.verdicts)
            except NotApplicable:  # neither classes nor probabilities
                unknown = np.full(len(batch), -1, dtype=np.int8)
                truths.append(unknown if batch.correct is None else batch.correct)
        return scores, classes, truths


_REFERENCE = ("name", "rows", "accuracy", "lower", "upper", "level", "kind")


@verb(AuditJob)
def audit(options: AuditJob) -> Audit:
    """Judge a model on the target by a few labels: an interval valid at any number of them, and a test of the estimate.

    The estimate is exact: whatever the model and the shift, it holds the accuracy of the target's rows with probability
    ``level`` if the labelled rows were sampled as said. Beside it stands what to believe if the shift is like public
    ones (`believed`, of kind "empirical"), which is narrower and promises less. Raises `InputError` for labels that do
    not fit the target, `UsageError` for a call that makes no sense. Source: Waudby-Smith and Ramdas (2024);
    Angelopoulos, Duchi and Zrnic (2023).

    >>> p = [[0.6 + i / 300, 0.4 - i / 300] for i in range(100)]
    >>> few = {"row": list(range(0, 100, 5)), "label": [1] * 18 + [0] * 2}
    >>> reference = {"probabilities": p, "label": [0, 1, 0, 0] * 25}
    >>> found = audit(reference, {"probabilities": p}, labels=few, methods=["ac"])
    >>> found.labels, found.refuted, found.estimate.upper < 0.4
    (20, True, True)
    """
    inputs = [options.reference, options.target]
    refuse_clashes({"out": options.out}, flat((*inputs, options.labels)))
    if options.judge:
        from .judging import audit_judges

        return audit_judges(options)
    if options.target is None:
        remedy = (
            "with one file name the column of a judge, --judge COLUMN, "
            "and that of people's verdicts, --labels COLUMN"
        )
        raise UsageError(f"audit needs REFERENCE and TARGET; {remedy}")
    with executing(
        "audit", options, reference=options.reference, target=options.target
    ) as execution:
        run = lambda classes: _audit(replace(options, classes=classes), execution)  # noqa: E731
        return with_classes_of_all(run, inputs, options)


@verb(SuggestOptions)
def suggest_rows(options: SuggestOptions) -> Suggestion:
    """Draw rows of the target to label next, which is what `audit` does with ``suggest``, without its estimate.

    Returns a `Suggestion`: the numbers of the rows in the order of drawing, and the chance and weight of each. Rows
    whose truth is known, in ``labels`` or else in the target, are left out. Raises as `audit` does. Source: Neyman
    (1934); Farquhar, Gal and Rainforth (2021).

    >>> p = [[0.6 + i / 300, 0.4 - i / 300] for i in range(100)]
    >>> reference = {"probabilities": p, "label": [0, 1, 0, 0] * 25}
    >>> found = suggest_rows(reference, {"probabilities": p}, 10, labels={"row": [0, 1], "label": [0, 0]})
    >>> len(found.row), {0, 1} & set(found.row.tolist()), found.share
    (10, set(), 1.0)
    """
    job = AuditJob.of(options, suggest=options.number, suggest_by=options.by, by=None)
    inputs = [job.reference, job.target]
    refuse_clashes({"out": job.out}, flat((*inputs, job.labels)))
    with executing("suggest_rows", job, reference=job.reference, target=job.target) as execution:

        def drawn(classes: Any) -> Suggestion:
            read = _read(replace(job, classes=classes), execution)
            return _suggest(read.scored, read.parts, read.sources[0], job)

        return with_classes_of_all(drawn, inputs, job)


@final
class _Read(NamedTuple):
    """What an audit has read before it says anything."""

    opener: Opener
    sources: list[Source]
    reference: Predictions
    scored: _Scored
    files: list[Source]
    parts: list[LabelledRows]


def _read(options: AuditJob, execution: Execution) -> _Read:
    """The reference, the target in one pass, and the labelled rows."""
    opener = opener_for(options)
    sources = opener.references(options.reference, options.classes)
    target = opener.target(options.target, where=options.where)
    _check_key(target, options)
    given = [] if options.labels is None else several(options.labels)
    files = [open_labels(data, opener.labels) for data in given if data is not None]
    opener.check()
    quiet = execution.heard_by(None)
    reference = Predictions.concat(
        [read_reference(source, execution=quiet, seed=options.seed).record for source in sources]
    )
    scored = _score(target, reference, options.seed, quiet)
    return _Read(opener, sources, reference, scored, files, _read_parts(files, scored, options))


@final
class _Scored(NamedTuple):
    """The target as one pass shows it: what stands for labels that are missing, f of each row, its verdict where the
    target holds labels (-1 for none), its class, None where some batch tells none.
    """

    source: Source
    proxy: Proxy
    score: Array
    correct: Array
    predicted: Array | None


@final
class _Labels(NamedTuple):
    """Labelled rows; what they are worth where rows depend on each other, the interval then and
    what to say; why they can hardly be a random sample.
    """

    sampled: SampledRows
    clustered: tuple[SampledRows, Estimate, str] | None
    biased: str | None

    @property
    def counted(self) -> SampledRows:
        """The rows as independent ones."""
        return self.sampled if self.clustered is None else self.clustered[0]


@final
@dataclass(frozen=True)
class _Judged:
    """What labels say: intervals, the test of the label-free one, accuracies at which it would speak; nothing without
    labels.
    """

    labels: int = 0
    correct: int | None = None
    weighted: bool = False
    not_random: str | None = None
    estimate: Estimate | None = None
    label_only: Estimate | None = None
    intervals: tuple[Estimate, ...] = ()
    effective_labels: float | None = None
    p_value: float | None = None
    noticeable: Noticeable | None = None
    warnings: tuple[str, ...] = ()


def _audit(options: AuditJob, execution: Execution) -> Audit:
    level, seed = options.level, options.seed
    opener, sources, reference, scored, files, parts = _read(options, execution)
    target, score, slope = scored.source, scored.score, scored.proxy.slope
    sampled = collect(parts, score, seed) if parts else None
    # faults of the labels have been told by now, before the work that takes long
    homes, away = with_features(sources, target, options.features, [options.key])
    labels, bets, evidence = None, None, LabelEvidence(0.0, 0.0, 0, len(score))
    if sampled is not None:
        biased = _biased(sampled, parts, score, scored.predicted, reference)
        clustered = _clustered(sampled, target, sources[0], options)
        labels, bets = _Labels(sampled, clustered, biased), (sampled, score, slope)
        evidence = LabelEvidence.of_sample(labels.counted, score, len(sampled), biased)
    job = EstimateJob(
        homes,
        away,
        methods=options.methods,
        level=level,
        cluster=options.cluster,
        seed=seed,
        margin=options.margin,
        fail_below=options.fail_below,
        fail_drop=options.fail_drop,
    )
    estimation = estimated(job, execution, evidence)
    headline = estimation.headline_without_labels or estimation.headline
    posterior = posterior_of_result(estimation, evidence, packaged_prior())
    accuracy = float(estimation.reference["accuracy"])
    bounds = [rule.bound(accuracy) for rule in options.alarm_rules] or [accuracy - options.margin]
    judged = _Judged()
    if labels is not None:
        judged = _judge(labels, scored, headline.interval, level, seed)
    # of the target's own labels the estimate has spoken
    of_truth = _said_of_truth(parts, scored) if files else []
    suggestion = _suggest(scored, parts, sources[0], options) if options.suggest else None
    today = judged.estimate or headline
    none = np.zeros(0, dtype=np.int64)
    row, right = (none, none) if sampled is None else (sampled.row, sampled.correct)
    return Audit(
        labels=judged.labels,
        rows=len(score),
        headline=headline,
        estimate=judged.estimate,
        label_only=judged.label_only,
        intervals=judged.intervals,
        effective_labels=judged.effective_labels,
        p_value=judged.p_value,
        level=level,
        seed=seed,
        warnings=(
            *_unanswered(estimation.warnings, labels is not None),
            *opener.notes,
            *(line for part in parts for line in part.said),
            *judged.warnings,
            *of_truth,
        ),
        suggestion=suggestion,
        reference={k: estimation.reference[k] for k in _REFERENCE if k in estimation.reference},
        target={"name": target.name},
        correct=judged.correct,
        weighted=judged.weighted,
        slope=slope,
        explained=_explained(score, slope),
        noticeable=judged.noticeable,
        strata=strata(score, row, right, None if suggestion is None else suggestion.row),
        expected_widths=_expected(scored, judged.labels, today.interval, options),
        proxy=scored.proxy.name,
        believed=audited(estimation, posterior),
        suggest_by=options.suggest_by,
        not_random=judged.not_random,
        fell=estimation.fell,
        alarms=estimation.alarms,
        decisions=tuple(decide_by_labels(posterior, bound, bets) for bound in bounds),
    )


def _check_key(target: Source, options: AuditJob) -> None:
    """Raise `UsageError` where rows that are suggested could not be found again."""
    if target.where and options.out is not None and options.key is None and not target.holds(KEY):
        why = (
            "rows that are suggested beside --where are known by a key, since others were left out"
        )
        raise UsageError(f"{why}; name it with --key")


def _clustered(
    sampled: SampledRows, target: Source, reference: Source, options: AuditJob
) -> tuple[SampledRows, Estimate, str] | None:
    """What labels of dependent rows are worth, by the column that is named here or in a fitted file."""
    fitted = getattr(reference, "fitted", None)
    fitted_column = None if fitted is None else fitted.options.get("cluster")
    return clustered_labels(
        sampled, target, options.cluster or fitted_column, options.level, fitted_column
    )


def _score(target: Source, reference: Predictions, seed: int, quiet: Execution) -> _Scored:
    """Read the target once."""
    judges = None
    if "votes" in target.fields:
        first = next(iter(target.batches(["votes"], rows=1)), None)
        judges = None if first is None or first.votes is None else len(first.votes)
    proxy = choose_proxy(reference, target.fields, judges, seed)
    merge = lambda a, b: tuple(values + more for values, more in zip(a, b, strict=True))  # noqa: E731
    scores, classes, truths = quiet.fold(_Rows(proxy), target.parts(each=quiet.each), merge)
    predicted = np.concatenate(classes) if len(classes) == len(scores) else None
    return _Scored(target, proxy, np.concatenate(scores), np.concatenate(truths), predicted)


def _read_parts(files: Sequence[Source], scored: _Scored, options: AuditJob) -> list[LabelledRows]:
    """The labelled rows of each file, without any those of the target itself; `UsageError` for none at all."""
    target, rows = scored.source, len(scored.score)
    parts = [read_labels(file, target, scored.predicted, rows, options.key) for file in files]
    if not files and (scored.correct >= 0).any():
        absent = np.full(rows, np.nan)
        parts = [LabelledRows(target.name, np.arange(rows), scored.correct, absent, absent)]
    if not parts and not options.suggest:
        remedy = "give --labels FILE, or ask which rows to label with --suggest N --out FILE"
        raise UsageError(f"there are no labels: {remedy}")
    return parts


def _unanswered(warnings: Sequence[str], labels: bool) -> list[str]:
    """Warnings of an estimate but those that an audit answers."""
    answered = {TARGET_LABELS, TRUST} if labels else {TARGET_LABELS}
    return [line for line in warnings if kind_of(line) not in answered]


def _judge(labels: _Labels, scored: _Scored, claim: Interval, level: float, seed: int) -> _Judged:
    """The intervals of labelled rows, and the test of the label-free interval where they may be a random sample."""
    counted, score, slope = labels.counted, scored.score, scored.proxy.slope
    judgement = judge(counted, score, slope, level, seed)
    p_value, power, warnings = None, None, list[str]()
    if labels.biased is None:
        ends = claim.lower, claim.upper
        p_value = refutes(counted, score, slope, *ends, level)
        if not counted.weighted:
            power = noticeable(len(counted), len(score), *ends, level)
    if labels.clustered is not None:
        worth, estimate, line = labels.clustered
        warnings.append(line)
        effective = float(len(worth))
        judgement = Judgement(estimate, estimate, (estimate,), effective, judgement.warnings)
    if labels.biased is not None:
        warnings.append(no_random_sample(labels.biased))
        judgement = judgement.conditional(
            "the labelled rows stand for all rows, which a test contradicts"
        )
    return _Judged(
        labels=len(labels.sampled),
        correct=int(labels.sampled.correct.sum()),
        weighted=labels.sampled.weighted,
        not_random=labels.biased,
        estimate=judgement.estimate,
        label_only=judgement.label_only,
        intervals=judgement.intervals,
        effective_labels=judgement.effective_labels,
        p_value=p_value,
        noticeable=power,
        warnings=(*warnings, *judgement.warnings),
    )


def _said_of_truth(parts: Sequence[LabelledRows], scored: _Scored) -> list[str]:
    """What the classes of labelled rows say of the column of labels, where classes are known."""
    labels = [(part.row, part.label) for part in parts if part.label is not None]
    if scored.predicted is None or not labels:
        return []
    rows = np.concatenate([row for row, _ in labels])
    truth = np.concatenate([np.asarray(label) for _, label in labels])
    record = Predictions(
        len(rows), scored.source.classes, label=truth, prediction=scored.predicted[rows]
    )
    return list(label_warnings("the audited rows", [record], record.accuracy))


def _suggest(
    scored: _Scored, parts: Sequence[LabelledRows], reference: Source, options: AuditJob
) -> Suggestion:
    """Rows to label next; they are written to the file that is named."""
    done = [part.row[part.correct >= 0] for part in parts]
    suggestion = suggest(
        scored.score,
        scored.proxy.slope,
        options.suggest,
        options.level,
        labelled=np.unique(np.concatenate(done)) if done else None,
        share=1.0 if options.suggest_by == "random" else None,
        seed=options.seed,
    )
    if options.out is not None:
        target = scored.source
        key = target_key(options.key, target)
        sheet = Worksheet.of(suggestion, target, predicted=scored.predicted, key=key)
        feeds = getattr(getattr(reference, "layout", None), "feeds", {})
        label = feeds["label"].columns[0] if "label" in feeds else "label"
        question = options.question or sheet.question(label)
        write_worksheet(sheet, options.out, title=Path(target.name).name, question=question)
    return suggestion


def _expected(
    scored: _Scored, labels: int, today: Interval, options: AuditJob
) -> ExpectedWidths | None:
    """Widths to expect of more labels, where so asked; planned for half a hit among one label more, so that no errors
    among few labels do not promise a point.
    """
    if not options.expected_widths:
        return None
    accuracy = today.value if not labels else (labels * today.value + 0.5) / (labels + 1)
    # four times the labels halve an interval, and nobody plans from ten to a thousand
    far = max(300, 8 * labels)
    counts = (
        {labels, *(count for count in COUNTS if count <= far)} if labels <= COUNTS[-1] else COUNTS
    )
    slope = scored.proxy.slope
    return expected_widths(
        scored.score, slope, options.level, accuracy, today, tuple(counts), options.seed
    )


def _explained(score: Array, slope: float) -> float:
    """The share of a label's variance that is taken away, 1 - var(Y - slope f) / var(Y), where Y is 1 with chance f."""
    mean = float(score.mean())
    second = float(
        np.mean(score * np.square(1 - slope * score) + (1 - score) * np.square(slope * score))
    )
    variance = mean * (1 - mean)
    return 1 - (second - (mean * (1 - slope)) ** 2) / variance if variance > 0 else 0.0


def _biased(
    sampled: SampledRows,
    parts: Sequence[LabelledRows],
    score: Array,
    predicted: Array | None,
    reference: Predictions,
) -> str | None:
    """Why the labelled rows can hardly be a random sample; None where nothing says so."""
    labelled, unlabelled = np.zeros(len(score), dtype=bool), np.ones(len(score), dtype=bool)
    even = sampled.row[sampled.share >= 1]
    labelled[even], unlabelled[even], unlabelled[sampled.row] = True, False, False
    cell = np.unique(score, return_inverse=True)[1]
    labels = [part.label[np.isin(part.row, even)] for part in parts if part.label is not None]
    label = (
        np.concatenate(labels) if labels and predicted is not None else np.zeros(0, dtype=np.int64)
    )
    codes = cell * 0 if predicted is None else np.maximum(predicted, 0)
    classes = max(int(label.max(initial=0)), int(codes.max())) + 1

    def counts(codes: Array, size: int) -> Array:
        return np.stack(
            [np.bincount(codes[rows], minlength=size) for rows in (labelled, unlabelled)]
        )

    by_cell, by_class = counts(cell, int(cell.max()) + 1), counts(codes, classes)
    seen = None if predicted is None else said_of_labels(reference)
    picked = unlike(by_cell, by_class, np.bincount(label[label >= 0], minlength=classes), seen)
    return None if picked is None else picked.why


def flat(nested: Any) -> list[Any]:
    """Everything in a nest of lists, in order."""
    if isinstance(nested, (list, tuple)):
        return [item for element in nested for item in flat(element)]
    return [nested]
