"""The verb `audit`: a few labels on the target in, a valid interval out, and whether the label-free one can be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...audits.believed import Believed
from ...audits.betting import SampledRows
from ...audits.joining import KEY, target_key
from ...audits.judge import Judgement, judge, refutes
from ...audits.labels import LabelledRows, collect, open_labels, read_labels, unlike
from ...audits.proxy import Proxy, choose_proxy
from ...audits.result import Audit, Noticeable, Stratum, noticeable, strata
from ...audits.suggestion import COUNTS, ExpectedWidths, Suggestion, expected_widths, suggest
from ...audits.worksheet import Worksheet, check_worksheet, write_worksheet
from ...errors import NotApplicable, UsageError
from ...headline.natural_headline import with_labels
from ...headline.natural_shifts import check_margin
from ...options import verb
from ...passes.folding import Execution
from ...passes.reference import label_warnings, read_reference
from ...predictions import Predictions
from ...results.estimation import Headline
from ...store import Source, refuse_clashes
from ...store.where import parse_where
from ..clusters import clustered_labels
from ..estimate import estimated
from ..estimate.options import EstimateJob
from ..features import with_features
from ..opening import executing, opener_for, renamings, with_classes_of_all
from ..options import AuditOptions

SUGGEST_BY = ("random", "confidence")  # how `--suggest` draws rows


class AuditJob(AuditOptions):
    """What `audit` was asked and where it works; `UsageError` for options that make no sense together."""

    execution: Execution = field(default_factory=Execution)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        check_margin(self.margin)
        parse_where(self.where)  # refused before the work
        if self.suggest < 0:
            raise UsageError(f"expected a number of rows to suggest, 1 or more, got {self.suggest}")
        if self.suggest_by not in SUGGEST_BY:
            raise UsageError(f"unknown way to suggest rows {self.suggest_by!r}; known: {', '.join(SUGGEST_BY)}")
        if self.out is not None and not self.suggest:
            raise UsageError("an output file is for suggested rows: say how many with --suggest")
        if self.out is not None:
            check_worksheet(self.out, self.key)

    @property
    def label_files(self) -> list[Any]:
        """The labels that were given, file by file."""
        if self.labels is None:
            return []
        return list(self.labels) if isinstance(self.labels, (list, tuple)) else [self.labels]


_Kept = tuple[list[Array], list[Array], list[Array]]


@dataclass(frozen=True)
class TargetRows:
    """Of every target row f and the predicted class, (sample,), and the labels that the target itself holds.

    predicted : None where some batch tells no class. own : None where no label is known.
    """

    score: Array
    predicted: Array | None
    own: LabelledRows | None


@dataclass(frozen=True)
class _RowsOf:
    """The pass: f, predicted classes and verdicts of the batches of a part, in their order."""

    proxy: Proxy

    def __call__(self, part: Any) -> _Kept:
        scores: list[Array] = []
        classes: list[Array] = []
        truths: list[Array] = []
        for batch in part.batches():
            scores.append(self.proxy(batch))
            try:
                classes.append(batch.predicted)
                truths.append(batch.verdicts)
            except NotApplicable:  # neither classes nor probabilities
                unknown = np.full(len(batch), -1, dtype=np.int8)
                truths.append(unknown if batch.correct is None else batch.correct)
        return scores, classes, truths


def _joined(a: _Kept, b: _Kept) -> _Kept:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def read_target(target: Source, proxy: Proxy, execution: Execution) -> TargetRows:
    """What an audit keeps of the target's rows, read on any engine."""
    scores, classes, truths = execution.fold(_RowsOf(proxy), target.parts(each=execution.each), _joined)
    score, correct = np.concatenate(scores), np.concatenate(truths)
    own = None
    if (correct >= 0).any():
        absent = np.full(len(score), np.nan)
        own = LabelledRows(target.name, np.arange(len(score)), correct, absent, absent)
    return TargetRows(score, np.concatenate(classes) if len(classes) == len(scores) else None, own)


_UNLIKE = "the labelled rows stand for all rows, which a test speaks against"
_REFERENCE = ("name", "rows", "accuracy", "lower", "upper", "level", "kind")


@verb(AuditOptions)
def audit(options: AuditOptions) -> Audit:
    """Judge a model on the target by a few labels: an interval valid at any number of them, and a test of the estimate.

    The estimate is exact: whatever the model and the shift, it holds the accuracy of the target's rows with probability
    ``level`` if the labelled rows were sampled as said. Beside it stands what to believe if the shift is like public
    ones (`believed`, of kind "empirical"), which is narrower and promises less. Raises `InputError` for labels that do
    not fit the target, `UsageError` for a call that makes no sense. Source: Waudby-Smith and Ramdas (2024);
    Angelopoulos, Duchi and Zrnic (2023).

    >>> p = [[0.6 + i / 300, 0.4 - i / 300] for i in range(100)]
    >>> few = {"row": list(range(0, 100, 10)), "label": [1] * 10}
    >>> reference = {"probabilities": p, "label": [0, 1, 0, 0] * 25}
    >>> found = audit(reference, {"probabilities": p}, labels=few, methods=["ac"])
    >>> found.labels, found.refuted, found.estimate.upper < 0.4
    (10, True, True)
    """
    job = AuditJob.of(options)
    refuse_clashes({"out": job.out}, flat((job.reference, job.target, job.labels)))
    with executing("audit", job, reference=job.reference, target=job.target) as execution:
        return with_classes_of_all(
            lambda classes: _audit(replace(job, execution=execution, classes=classes)),
            [job.reference, job.target], opener_for(job), job.classes,
        )  # fmt: skip


def _audit(options: AuditJob) -> Audit:
    opener = opener_for(options)
    sources = opener.references(options.reference, options.classes)
    target = opener.target(options.target, where=options.where)
    if target.where and options.out is not None and options.key is None and not target.holds(KEY):
        raise UsageError(
            "rows that are suggested beside --where are known by a key, since others were left out; name it with --key"
        )
    told = [open_labels(data, opener.target) for data in options.label_files]
    opener.check()
    quiet = options.execution.heard_by(None)
    read = (read_reference(s, execution=quiet, seed=options.seed).record for s in sources)
    learnt = _proxy(Predictions.concat(list(read)), target, options.seed)
    rows = read_target(target, learnt, quiet)
    parts = [read_labels(source, target, rows.predicted, len(rows.score), options.key) for source in told]
    if not told and rows.own is not None:
        parts = [rows.own]
    if not parts and not options.suggest:
        raise UsageError(
            "there are no labels: give --labels FILE, or ask which rows to label with --suggest N --out FILE"
        )
    sampled = collect(parts, rows.score, options.seed) if parts else None
    # faults of the labels have been told by now, before the work that takes long
    homes, away = with_features(sources, target, options.features, [options.key])
    how = {name: getattr(options, name) for name in ("methods", "level", "cluster", "seed", "execution")}
    found = estimated(EstimateJob(homes, away, **how))
    warnings = [w for w in found.warnings if "the target holds labels" not in w and "do not decide" not in w]
    warnings += [*opener.notes, *(line for part in parts for line in part.said)]
    biased = None if sampled is None else _selected(sampled, parts, rows)
    kept = getattr(sources[0], "fitted", None)
    cluster = options.cluster or (None if kept is None else kept.options.get("cluster"))
    clustered = None if sampled is None else clustered_labels(sampled, target, cluster, options.level)
    counted = sampled if clustered is None else clustered[0]
    said = None if counted is None else _said(counted, rows.score, learnt.slope, found.headline, options)
    if said is not None and sampled is not None and clustered is not None:
        worth, audited, line = clustered
        warnings.append(line)
        judgement = replace(said.judgement, estimate=audited, label_only=audited, intervals=(audited,))
        judgement = replace(judgement, effective_labels=float(len(worth)))
        said = replace(said, sampled=sampled, judgement=judgement)
    if said is not None and biased is not None:
        warnings.append(
            f"the labelled rows are no random sample (tests at the level 0.1 %), so no interval is exact: {biased}"
        )
        said = replace(said, judgement=said.judgement.conditional(_UNLIKE))
    if said is not None:
        warnings += said.judgement.warnings
        if told:  # of the target's own labels the estimate has spoken
            warnings += _label_warnings(parts, rows.predicted, target)
    suggestion = _suggested(rows, learnt.slope, parts, target, options) if options.suggest else None
    expected = (
        _expected_widths(rows.score, learnt.slope, found.headline, said, options) if options.expected_widths else None
    )
    return Audit(
        **_of_labels(said),
        rows=len(rows.score),
        headline=found.headline,
        level=options.level,
        seed=options.seed,
        warnings=tuple(warnings),
        suggestion=suggestion,
        suggest_by=options.suggest_by,
        reference={k: found.reference[k] for k in _REFERENCE if k in found.reference},
        target={"name": target.name},
        slope=learnt.slope,
        proxy=learnt.name,
        explained=_explained(rows.score, learnt.slope),
        strata=_strata(rows.score, sampled, suggestion),
        expected_widths=expected,
        not_random=biased,
        believed=with_labels(found, counted, rows.score, margin=options.margin)
        if biased is None
        else Believed(None, why="the labelled rows are no random sample of the target"),
    )


@dataclass(frozen=True)
class _Said:
    """What labelled rows say: of the accuracy, and of the label-free interval."""

    sampled: SampledRows
    judgement: Judgement
    p_value: float
    power: Noticeable | None


def _said(sampled: SampledRows, score: Array, slope: float, headline: Headline, options: AuditJob) -> _Said:
    level, claim = options.level, (headline.interval.lower, headline.interval.upper)
    power = None if sampled.weighted else noticeable(len(sampled), len(score), *claim, level)
    judgement = judge(sampled, score, slope, level, options.seed)
    return _Said(sampled, judgement, refutes(sampled, score, slope, *claim, level), power)


def _selected(sampled: SampledRows, parts: Sequence[LabelledRows], rows: TargetRows) -> str | None:
    """Why the labelled rows can hardly be a random sample; None where nothing says so, or all rows are labelled."""
    chosen = sampled.row[sampled.share >= 1]
    known = np.zeros(len(rows.score), dtype=bool)
    known[chosen] = True
    others = ~known
    others[sampled.row] = False
    if not others.any():
        return None
    cell = np.unique(rows.score, return_inverse=True)[1]
    said = cell * 0 if rows.predicted is None else rows.predicted
    labels = [part.label[np.isin(part.row, chosen)] for part in parts if part.label is not None]
    label = np.concatenate(labels) if labels and rows.predicted is not None else np.zeros(0, dtype=np.int64)
    counts = [
        np.stack([np.bincount(codes[one], minlength=int(codes.max()) + 1) for one in (known, others)])
        for codes in (cell, np.maximum(said, 0))
    ]
    classes = max(int(label.max(initial=0)) + 1, counts[1].shape[1])
    said_of = np.pad(counts[1], ((0, 0), (0, classes - counts[1].shape[1])))
    return unlike(counts[0], said_of, np.bincount(label[label >= 0], minlength=classes))


def _of_labels(said: _Said | None) -> dict[str, Any]:
    """The fields of the result that need labels."""
    if said is None:
        named = ("estimate", "label_only", "effective_labels", "p_value")
        return {"labels": 0, "intervals": (), **dict.fromkeys(named)}
    judgement, sampled = said.judgement, said.sampled
    return {
        **{name: getattr(judgement, name) for name in ("estimate", "label_only", "intervals", "effective_labels")},
        "labels": len(sampled),
        "correct": int(sampled.correct.sum()),
        "weighted": sampled.weighted,
        "p_value": said.p_value,
        "noticeable": said.power,
    }


def flat(given: Any) -> list[Any]:
    """Everything in a nest of lists, in order.

    >>> flat(("a", ["b", ("c",)]))
    ['a', 'b', 'c']
    """
    if isinstance(given, (list, tuple)):
        return [one for some in given for one in flat(some)]
    return [given]


def _explained(score: Array, slope: float) -> float:
    """1 - var(Y - slope f)/var(Y), as predicted where Y is 1 with chance f."""
    mean = float(score.mean())
    second = float(np.mean(score * np.square(1 - slope * score) + (1 - score) * np.square(slope * score)))
    whole = mean * (1 - mean)
    return 1 - (second - (mean * (1 - slope)) ** 2) / whole if whole > 0 else 0.0


def _strata(score: Array, sampled: SampledRows | None, suggestion: Suggestion | None) -> tuple[Stratum, ...]:
    none = np.zeros(0, dtype=np.int64)
    row, correct = (none, none) if sampled is None else (sampled.row, sampled.correct)
    return strata(score, row, correct, None if suggestion is None else suggestion.row)


def _expected_widths(
    score: Array, slope: float, headline: Headline, said: _Said | None, options: AuditJob
) -> ExpectedWidths:
    """Planned for half a hit among one label more, so that no errors among few labels do not promise a point."""
    today = headline.interval if said is None else said.judgement.estimate.interval
    labels = 0 if said is None else len(said.sampled)
    accuracy = today.value if not labels else (labels * today.value + 0.5) / (labels + 1)
    counts = (*COUNTS, labels) if labels <= COUNTS[-1] else COUNTS
    ends = {"accuracy": accuracy, "lower": today.lower, "upper": today.upper}
    return expected_widths(score, slope, options.level, **ends, labels=counts, seed=options.seed)


def _label_warnings(parts: Sequence[LabelledRows], predicted: Array | None, target: Source) -> list[str]:
    """What is to be said of labels that stand against what the model said of the same rows."""
    told = [part for part in parts if part.label is not None]
    if predicted is None or not told:
        return []
    rows = np.concatenate([part.row for part in told])
    label = np.concatenate([np.asarray(part.label) for part in told])
    record = Predictions(len(rows), target.classes, label=label, prediction=predicted[rows])
    return label_warnings("the audited rows", [record], record.accuracy)


def _proxy(reference: Predictions, target: Source, seed: int) -> Proxy:
    """What is to stand for the labels that are missing."""
    judges = None
    if "votes" in target.fields:
        first = next(iter(target.batches(["votes"], rows=1)), None)
        judges = None if first is None or first.votes is None else len(first.votes)
    return choose_proxy(reference, target.fields, judges, seed)


def _suggested(
    rows: TargetRows, slope: float, parts: Sequence[LabelledRows], target: Source, options: AuditJob
) -> Suggestion:
    """The rows to label next, written where a file was named."""
    done = [p.row[p.correct >= 0] for p in parts]
    labelled = np.unique(np.concatenate(done)) if done else None
    share = 1.0 if options.suggest_by == "random" else None
    found = suggest(
        rows.score, slope, options.suggest, options.level, labelled=labelled, share=share, seed=options.seed
    )
    if options.out is not None:
        sheet = Worksheet.of(found, target, predicted=rows.predicted, key=target_key(options.key, target))
        write_worksheet(sheet, options.out, title=Path(target.name).name)
    return found
