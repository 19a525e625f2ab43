"""The verb `audit`: a few labels on the target in, a valid interval out, and whether the label-free one can be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from ..audits.result import Audit, noticeable, strata
from ..audits.suggestion import COUNTS, expected_widths, suggest
from ..audits.worksheet import Worksheet, check_worksheet, write_worksheet
from ..errors import NotApplicable, UsageError
from ..headline.alarms import alarm_rules
from ..headline.label_posterior import LabelEvidence, audited, decide_by_labels, posterior_of_result
from ..headline.natural_shifts import check_margin, packaged_prior
from ..inference.betting import SampledRows
from ..options import verb
from ..passes.folding import Execution
from ..passes.reference import label_warnings, read_reference
from ..predictions import Predictions
from ..results.alarms import AlarmRule
from ..store import refuse_clashes
from ..store.where import parse_where
from .clusters import clustered_labels
from .estimate import estimated
from .estimate_job import EstimateJob
from .opening import executing, opener_for, with_classes_of_all, with_features
from .options import AuditOptions

__all__ = ["Audit", "audit"]

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
    given = [options.reference, options.target]
    refuse_clashes({"out": options.out}, flat((*given, options.labels)))
    if options.judge:
        from .judging import audit_judges

        return audit_judges(options)
    if options.target is None:
        one = "with one file name the column of a judge, --judge COLUMN, and that of people's verdicts, --labels COLUMN"
        raise UsageError(f"audit needs REFERENCE and TARGET; {one}")
    with executing(
        "audit", options, reference=options.reference, target=options.target
    ) as execution:
        run = lambda classes: _audit(replace(options, classes=classes), execution)  # noqa: E731
        return with_classes_of_all(run, given, options)


def _audit(options: AuditJob, execution: Execution) -> Audit:
    level, seed = options.level, options.seed
    opener = opener_for(options)
    sources = opener.references(options.reference, options.classes)
    target = opener.target(options.target, where=options.where)
    if target.where and options.out is not None and options.key is None and not target.holds(KEY):
        why = (
            "rows that are suggested beside --where are known by a key, since others were left out"
        )
        raise UsageError(f"{why}; name it with --key")
    given = options.labels if isinstance(options.labels, (list, tuple)) else [options.labels]
    told = [open_labels(data, opener.labels) for data in given if data is not None]
    opener.check()
    quiet = execution.heard_by(None)
    read = Predictions.concat(
        [read_reference(s, execution=quiet, seed=seed).record for s in sources]
    )
    judges = None
    if "votes" in target.fields:
        first = next(iter(target.batches(["votes"], rows=1)), None)
        judges = None if first is None or first.votes is None else len(first.votes)
    proxy = choose_proxy(read, target.fields, judges, seed)
    slope = proxy.slope
    merge = lambda a, b: tuple(own + more for own, more in zip(a, b, strict=True))  # noqa: E731
    scores, classes, truths = quiet.fold(_Rows(proxy), target.parts(each=quiet.each), merge)
    score, correct = np.concatenate(scores), np.concatenate(truths)
    predicted = (
        np.concatenate(classes) if len(classes) == len(scores) else None
    )  # none where some batch tells no class
    parts = [read_labels(source, target, predicted, len(score), options.key) for source in told]
    if not told and (correct >= 0).any():
        absent = np.full(len(score), np.nan)
        parts = [LabelledRows(target.name, np.arange(len(score)), correct, absent, absent)]
    if not parts and not options.suggest:
        remedy = "give --labels FILE, or ask which rows to label with --suggest N --out FILE"
        raise UsageError(f"there are no labels: {remedy}")
    sampled = collect(parts, score, seed) if parts else None
    # faults of the labels have been told by now, before the work that takes long
    homes, away = with_features(sources, target, options.features, [options.key])
    how: dict[str, Any] = {
        name: getattr(options, name) for name in ("methods", "level", "cluster", "seed", "margin")
    }
    how |= {"fail_below": options.fail_below, "fail_drop": options.fail_drop}
    counted, clustered, biased, evidence = (
        sampled,
        None,
        None,
        LabelEvidence(0.0, 0.0, 0, len(score)),
    )
    if sampled is not None:
        biased = _biased(sampled, parts, score, predicted, read)
        fitted = getattr(sources[0], "fitted", None)
        known = None if fitted is None else fitted.options.get("cluster")
        clustered = clustered_labels(sampled, target, options.cluster or known, level, known)
        counted = sampled if clustered is None else clustered[0]
        evidence = LabelEvidence.of_sample(counted, score, len(sampled), biased)
    estimation = estimated(EstimateJob(homes, away, **how), execution, evidence)
    headline = estimation.headline_without_labels or estimation.headline
    answered = (
        "the target holds labels",
        "do not decide",
        *(("label some target rows",) if parts else ()),
    )
    warnings = [w for w in estimation.warnings if not any(words in w for words in answered)]
    warnings += [*opener.notes, *(line for part in parts for line in part.said)]
    about: dict[str, Any] = {"labels": 0, "intervals": ()}
    about |= dict.fromkeys(("estimate", "label_only", "effective_labels", "p_value"))
    posterior = posterior_of_result(estimation, evidence, packaged_prior())
    bets = None if sampled is None else (sampled, score, slope)
    reference = float(estimation.reference["accuracy"])
    bounds = [rule.bound(reference) for rule in options.alarm_rules] or [reference - options.margin]
    decisions = tuple(decide_by_labels(posterior, bound, bets) for bound in bounds)
    about |= {"alarms": estimation.alarms, "fell": estimation.fell, "decisions": decisions}
    today = headline.interval
    if sampled is not None and counted is not None:
        claim = (headline.interval.lower, headline.interval.upper)
        judgement = judge(counted, score, slope, level, seed)
        if biased is None:
            power = (
                None if counted.weighted else noticeable(len(counted), len(score), *claim, level)
            )
            about |= {"p_value": refutes(counted, score, slope, *claim, level), "noticeable": power}
        about |= {
            "labels": len(sampled),
            "correct": int(sampled.correct.sum()),
            "weighted": sampled.weighted,
        }
        if clustered is not None:
            worth, own, line = clustered
            warnings.append(line)
            judgement = Judgement(own, own, (own,), float(len(worth)), judgement.warnings)
        if biased is not None:
            warnings.append(no_random_sample(biased))
            judgement = judgement.conditional(
                "the labelled rows stand for all rows, which a test contradicts"
            )
        about |= {name: value for name, value in vars(judgement).items() if name != "warnings"}
        today = judgement.estimate.interval
        warnings += judgement.warnings
        labels = [part for part in parts if part.label is not None]
        if (
            told and predicted is not None and labels
        ):  # of the target's own labels the estimate has spoken
            rows = np.concatenate([part.row for part in labels])
            truth = np.concatenate([np.asarray(part.label) for part in labels])
            record = Predictions(len(rows), target.classes, label=truth, prediction=predicted[rows])
            warnings += label_warnings("the audited rows", [record], record.accuracy)
    suggestion = None
    if options.suggest:
        done = [part.row[part.correct >= 0] for part in parts]
        labelled = np.unique(np.concatenate(done)) if done else None
        share = 1.0 if options.suggest_by == "random" else None
        suggestion = suggest(
            score, slope, options.suggest, level, labelled=labelled, share=share, seed=seed
        )
        if options.out is not None:
            sheet = Worksheet.of(
                suggestion, target, predicted=predicted, key=target_key(options.key, target)
            )
            feeds = getattr(getattr(sources[0], "layout", None), "feeds", {})
            question = options.question or sheet.question(
                feeds["label"].columns[0] if "label" in feeds else "label"
            )
            write_worksheet(sheet, options.out, title=Path(target.name).name, question=question)
    expected = None
    if options.expected_widths:
        # planned for half a hit among one label more, so that no errors among few labels do not promise a point
        many = about["labels"]
        accuracy = today.value if not many else (many * today.value + 0.5) / (many + 1)
        counts = (*COUNTS, many) if many <= COUNTS[-1] else COUNTS
        expected = expected_widths(score, slope, level, accuracy, today, counts, seed)
    none = np.zeros(0, dtype=np.int64)
    row, right = (none, none) if sampled is None else (sampled.row, sampled.correct)
    # the share of a label's variance that is taken away, 1 - var(Y - slope f) / var(Y), where Y is 1 with chance f
    mean = float(score.mean())
    second = float(
        np.mean(score * np.square(1 - slope * score) + (1 - score) * np.square(slope * score))
    )
    whole = mean * (1 - mean)
    explained = 1 - (second - (mean * (1 - slope)) ** 2) / whole if whole > 0 else 0.0
    about |= {
        "rows": len(score),
        "headline": headline,
        "level": level,
        "seed": seed,
        "warnings": tuple(warnings),
    }
    about |= {
        "suggestion": suggestion,
        "suggest_by": options.suggest_by,
        "expected_widths": expected,
    }
    believed = audited(estimation, posterior)
    about |= {"target": {"name": target.name}, "believed": believed, "not_random": biased}
    about |= {"slope": slope, "proxy": proxy.name, "explained": explained}
    about["reference"] = {
        k: estimation.reference[k] for k in _REFERENCE if k in estimation.reference
    }
    about["strata"] = strata(score, row, right, None if suggestion is None else suggestion.row)
    return Audit(**about)


def _biased(
    sampled: SampledRows,
    parts: Sequence[LabelledRows],
    score: Array,
    predicted: Array | None,
    reference: Predictions,
) -> str | None:
    """Why the labelled rows can hardly be a random sample; None where nothing says so."""
    drawn, others = np.zeros(len(score), dtype=bool), np.ones(len(score), dtype=bool)
    even = sampled.row[sampled.share >= 1]
    drawn[even], others[even], others[sampled.row] = True, False, False
    cell = np.unique(score, return_inverse=True)[1]
    labels = [part.label[np.isin(part.row, even)] for part in parts if part.label is not None]
    label = (
        np.concatenate(labels) if labels and predicted is not None else np.zeros(0, dtype=np.int64)
    )
    codes = cell * 0 if predicted is None else np.maximum(predicted, 0)
    classes = max(int(label.max(initial=0)), int(codes.max())) + 1

    def counts(codes: Array, least: int) -> Array:
        return np.stack([np.bincount(codes[rows], minlength=least) for rows in (drawn, others)])

    by_cell, by_class = counts(cell, int(cell.max()) + 1), counts(codes, classes)
    seen = None if predicted is None else said_of_labels(reference)
    picked = unlike(by_cell, by_class, np.bincount(label[label >= 0], minlength=classes), seen)
    return None if picked is None else picked.why


def flat(given: Any) -> list[Any]:
    """Everything in a nest of lists, in order."""
    if isinstance(given, (list, tuple)):
        return [item for some in given for item in flat(some)]
    return [given]
