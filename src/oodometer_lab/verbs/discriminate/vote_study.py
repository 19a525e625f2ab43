"""The verb `vote_study`: what judges' votes said of a labelled data set, beside the truth and what confidence said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import (
    AverageConfidence,
    AverageThresholdedConfidence,
    MaxProb,
    max_prob_oracle,
)
from oodometer.estimators.threshold import ScoreThreshold, credit
from oodometer.intervals import check_level
from oodometer.metrics import Votes
from oodometer.metrics.votes import (
    MEASURES,
    VoteCounts,
    absolute,
    check_agree,
    check_draws,
    discrimination,
    paired_gap,
)
from oodometer.predictions import Predictions
from oodometer.results import Interval, Skipped, plain
from oodometer.results.values import Record
from oodometer.scores import natural_confidence
from oodometer.store import as_source
from oodometer.version import __version__

_BASELINES = ("max-prob", "ac", "atc", "max-prob-oracle")
_READ = (
    "votes",
    "correct",
    "label",
    "prediction",
    "probabilities",
    "logits",
    "confidence",
    "token_logprobs",
    "members",
)


@dataclass(frozen=True)
class StudyRow(Record):
    """One line of the paper's tables: what a method says of the accuracy, and how far it is off.

    value : with its interval. error : |accuracy - value|, from the differences row by row (kind asymptotic, or
    conditional where a threshold was fitted); None for a bound, which is no point. measures : recall and precision of
    Correct and Incorrect, where the method judges row by row.
    """

    method: str
    value: Interval
    error: Interval | None = None
    measures: Mapping[str, Interval | None] = field(default_factory=dict)
    _untold = frozenset({"measures"})

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return super().to_dict() | plain(self.measures)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VoteStudy(Record):
    """What `vote_study` found; ``study["mean"]`` is one of its rows.

    rows, judges : labelled rows and judges. gold : the accuracy, exact. methods : single, lower, upper, mean, and the
    baselines. inside : whether the truth lies between the bounds (reliability); width : upper - lower (tightness).
    tables : everything of the metric `votes` (rules, ladder, by_judge, bounds, by_number, subsets). skipped : baselines
    that could not answer, and why.
    """

    name: str
    rows: int
    judges: int
    gold: Interval
    methods: tuple[StudyRow, ...]
    inside: bool
    width: Interval
    tables: Mapping[str, Any]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    _untold = frozenset({"tables"})

    def __getitem__(self, method: str) -> StudyRow:
        for row in self.methods:
            if row.method == method:
                return row
        why = next((s.why for s in self.skipped if s.method == method), "it is no row of the study")
        raise UsageError(f"there is no {method!r}: {why}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        about = {"command": "vote_study", "version": __version__, **super().to_dict()}
        return about | {name: plain(table) for name, table in self.tables.items()}


def vote_study(
    record: Any,
    *,
    reference: Any = None,
    sizes: Sequence[int] | None = None,
    draws: int = 50,
    agree: int | None = None,
    gamma: float = 0.5,
    level: float = 0.95,
    seed: int = 0,
) -> VoteStudy:
    """Everything that the tables and the figure of Yao and Koller (2024) say of one data set, from a labelled record.

    record : Predictions with `votes` and the truth (`correct`, or `label`), and `confidence` or `token_logprobs` for
        the baselines: a `Predictions`, a file, a frame or a mapping.
    reference : Labelled predictions of the same model on known ground, which ATC needs for its threshold.
    sizes, draws : Numbers of rows to draw, by default 20, 50, 100, ... and all, and the draws of each.
    agree : How many judges must agree on a bound, a majority of them; None for all, as in the paper.
    gamma : Level of confidence of the baseline MaxProb.
    level, seed : Nominal coverage of every interval; seed of the draws.

    lower = share that all judges accept, upper = share that some judge accepts (with ``agree`` = k of n: that at least
    k, and at least n - k + 1, accept), mean their middle, single the first judge's share; error = |accuracy - value|.
    The baselines are `max-prob`, `ac`, `atc`, and the bounds of `max_prob_oracle` matched to the recalls of the judges'
    bounds. Rows of unknown truth are left out. Raises `InputError` without votes or truth, `UsageError` for sizes that
    cannot be drawn and for ``agree`` that is no majority.

    >>> votes = [[1, 1, 1, 0] * 25, [1, 1, 0, 0] * 25]
    >>> study = vote_study({"votes": votes, "correct": [1, 1, 0, 0] * 25, "confidence": [0.9, 0.8, 0.7, 0.2] * 25})
    >>> study["lower"].value.value, study["upper"].value.value, study.gold.value, study.inside
    (0.5, 0.75, 0.5, True)
    >>> study["mean"].error.value, study["ac"].error.value.__round__(3), study.skipped[0].method
    (0.125, 0.15, 'atc')
    """
    check_level(level)
    source = as_source(record)
    every = source.read(_READ)
    if every.votes is None:
        expected, got = (
            "a column `votes` (or vote_<name>), one verdict of every judge",
            ", ".join(every.fields),
        )
        raise InputError(
            expected, file=source.name, got=got, remedy="let judges vote: `oodometer discriminate`"
        )
    why = Votes.missing(every)
    labelled = every.take([]) if why is not None else every.known()
    if not len(labelled):
        expected = "at least one row of known truth: `correct`, or `label` with a prediction"
        remedy = "a study is for labelled rows; without labels there is `oodometer estimate`"
        raise InputError(expected, got="none", file=source.name, remedy=remedy)
    check_draws(sizes, draws, len(labelled))
    counts = VoteCounts.of(labelled)
    tables = Votes(sizes=sizes, draws=draws, agree=agree).finish(counts, level, seed)
    needed, gold = check_agree(agree, counts.judges), tables["accuracy"]
    low, high = tables["ladder"][needed - 1], tables["ladder"][counts.judges - needed]
    both = tables["bounds"][counts.judges - needed]
    first = next(row for row in tables["rules"] if row["rule"] == "single")
    assert labelled.votes is not None
    error = _error(labelled.verdicts, labelled.votes[0] > 0, level)
    rows = [StudyRow("single", first["accepted"], error, _measured(first))]
    rows += [
        StudyRow(end, both[end], None, _measured(row))
        for end, row in (("lower", low), ("upper", high))
    ]
    rows.append(StudyRow("mean", both["mean"], both["error"]))
    recalls = high["correct_recall"], low["incorrect_recall"]
    more, skipped = _baselines(labelled, reference, recalls, gamma, level, seed)
    unlabelled = len(every) - len(labelled)
    warnings = [f"{unlabelled} rows have no known truth and were left out"] if unlabelled else []
    if counts.judges == 1:
        warnings.append(
            "there is one judge: both bounds are its share, and no width is left to hold the truth"
        )
    if not 0 < gold.value < 1:
        which = "right" if gold.value else "wrong"
        warnings.append(f"every row is {which}: one of the recalls has nothing to recall")
    tables = {
        name: table for name, table in tables.items() if name not in ("judges", "rows", "accuracy")
    }
    covered, width, methods, notes = both["inside"], both["width"], (*rows, *more), tuple(warnings)
    name, judges, left_out = source.name, counts.judges, tuple(skipped)
    return VoteStudy(
        name,
        counts.rows,
        judges,
        gold,
        methods,
        covered,
        width,
        tables,
        left_out,
        notes,
        level,
        seed,
    )


def _measured(row: Mapping[str, Any]) -> dict[str, Interval | None]:
    return {name: row[name] for name in MEASURES}


def _error(verdicts: Array, points: Array, level: float, fitted: bool = False) -> Interval:
    gap = verdicts - np.asarray(points, dtype=np.float64)
    error = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), level))
    return (
        Interval(error.value, error.lower, error.upper, level, "conditional") if fitted else error
    )


def _baselines(
    labelled: Predictions,
    reference: Any,
    recalls: tuple[Any, Any],
    gamma: float,
    level: float,
    seed: int,
) -> tuple[list[StudyRow], list[Skipped]]:
    """The rows from confidence, and those that could not be made; ``recalls``: of the judges' upper and lower bound."""
    try:
        scores = natural_confidence(labelled)(labelled)
    except NotApplicable as error:
        return [], [Skipped(name, str(error)) for name in _BASELINES]
    right, accepted_rows, skipped = labelled.verdicts > 0, scores > gamma, []
    accepted = np.array(
        [[np.count_nonzero(accepted_rows & ~right), np.count_nonzero(accepted_rows & right)]]
    )
    of_verdict = np.array([np.count_nonzero(~right), np.count_nonzero(right)])
    measures = _measured(discrimination(accepted, of_verdict, level)[0])
    max_prob, mean = (
        method.fit(labelled).estimate(labelled).interval
        for method in (
            MaxProb(gamma=gamma, level=level, seed=seed),
            AverageConfidence(level=level, seed=seed),
        )
    )
    rows = [
        StudyRow("max-prob", max_prob, _error(labelled.verdicts, accepted_rows, level), measures)
    ]
    rows.append(StudyRow("ac", mean, _error(labelled.verdicts, scores, level)))
    if reference is None:
        skipped.append(
            Skipped("atc", "needs a labelled reference with confidences: give reference=...")
        )
    else:
        try:  # its threshold comes from the reference
            atc = AverageThresholdedConfidence(level=level, seed=seed)
            estimate = atc.fit(
                as_source(reference, axes=as_source(labelled).axes).read(_READ)
            ).estimate(labelled)
            threshold = float(scores.dtype.type(estimate.details["threshold"]))
            cut = ScoreThreshold(threshold, float(estimate.details["share_of_ties"]))
            gap = _error(labelled.verdicts, credit(scores, cut), level, fitted=True)
            rows.append(StudyRow("atc", estimate.interval, gap))
        except NotApplicable as error:
            skipped.append(Skipped("atc", str(error)))
    correct, incorrect = recalls
    if correct is None or incorrect is None:
        return rows, [*skipped, Skipped("max-prob-oracle", "needs right rows and wrong ones")]
    try:  # thresholds that recall as much as the judges' bounds do
        oracle = max_prob_oracle(
            scores, labelled.verdicts, correct.value, incorrect.value, level=level
        )
    except NotApplicable as error:
        return rows, [*skipped, Skipped("max-prob-oracle", str(error))]
    rows += [StudyRow(f"max-prob-oracle-{end}", getattr(oracle, end)) for end in ("lower", "upper")]
    return [*rows, StudyRow("max-prob-oracle-mean", oracle.mean, oracle.error)], skipped
