"""The verb `vote_study`: what judges' votes said of a labelled data set, beside the truth and what confidence said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...errors import InputError, NotApplicable, UsageError
from ...estimators import AverageConfidence, AverageThresholdedConfidence, Estimator, MaxProb, max_prob_oracle
from ...estimators.threshold import ScoreThreshold, credit
from ...intervals import check_level
from ...metrics import Votes
from ...metrics.votes import MEASURES, VoteCounts, absolute, check_agree, check_draws, discrimination, paired_gap
from ...predictions import Predictions
from ...results import Interval, Skipped, plain
from ...results.values import Record
from ...scores import natural_confidence
from ...store import as_source
from ...version import __version__

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
        told = {"command": "vote_study", "version": __version__, **super().to_dict()}
        return told | {name: plain(table) for name, table in self.tables.items()}


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

    Parameters
    ----------
    record :
        Predictions with `votes` and the truth (`correct`, or `label`), and `confidence` or `token_logprobs` for the
        baselines: a `Predictions`, a file, a frame or a mapping.
    reference :
        Labelled predictions of the same model on known ground, which ATC needs for its threshold.
    sizes, draws :
        Numbers of rows to draw, by default 20, 50, 100, ... and all, and the draws of each.
    agree :
        How many judges must agree on a bound, a majority of them; None for all, as in the paper.
    gamma :
        Level of confidence of the baseline MaxProb.
    level, seed :
        Nominal coverage of every interval; seed of the draws.

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
    name, known, unlabelled = _labelled(record)
    check_draws(sizes, draws, len(known))
    counts = VoteCounts.of(known)
    tables = Votes(sizes=sizes, draws=draws, agree=agree).finish(counts, level, seed)
    ends = _Ends.of(tables, check_agree(agree, counts.judges))
    gold: Interval = tables["accuracy"]
    rows = _judged(tables, ends, known, level)
    more, skipped = _baselines(known, reference, ends, gamma, level, seed)
    warnings = [f"{unlabelled} rows have no known truth and were left out"] if unlabelled else []
    if counts.judges == 1:
        warnings.append("there is one judge: both bounds are its share, and no width is left to hold the truth")
    if not 0 < gold.value < 1:
        which = "right" if gold.value else "wrong"
        warnings.append(f"every row is {which}: one of the recalls has nothing to recall")
    return VoteStudy(
        name=name,
        rows=counts.rows,
        judges=counts.judges,
        gold=gold,
        methods=(*rows, *more),
        inside=ends.both["inside"],
        width=ends.both["width"],
        tables={k: v for k, v in tables.items() if k not in ("judges", "rows", "accuracy")},
        skipped=tuple(skipped),
        warnings=tuple(warnings),
        level=level,
        seed=seed,
    )


class _Ends(NamedTuple):
    """What is said of the rows that count for the lower bound, of those for the upper one, and of both bounds."""

    lower: Mapping[str, Any]
    upper: Mapping[str, Any]
    both: Mapping[str, Any]

    @classmethod
    def of(cls, tables: Mapping[str, Any], least: int) -> _Ends:
        """Those of k-of-n voting with k = ``least``."""
        ladder, judges = tables["ladder"], tables["judges"]
        return cls(ladder[least - 1], ladder[judges - least], tables["bounds"][judges - least])

    def measures(self, end: str) -> dict[str, Interval | None]:
        """Recall and precision of Correct and Incorrect of a bound, "lower" or "upper"."""
        return {name: getattr(self, end)[name] for name in MEASURES}


def _labelled(data: Any) -> tuple[str, Predictions, int]:
    """Name, the rows of known truth, and how many there are of unknown truth."""
    source = as_source(data)
    record = source.read(_READ)
    if record.votes is None:
        raise InputError(
            "a column `votes` (or vote_<name>), one verdict of every judge",
            file=source.name,
            got=", ".join(record.fields),
            remedy="let judges vote: `oodometer discriminate`",
        )
    why = Votes.missing(record)
    known = record.take([]) if why is not None else record.known()
    if not len(known):
        raise InputError(
            "at least one row of known truth: `correct`, or `label` with a prediction",
            got="none",
            file=source.name,
            remedy="a study is for labelled rows; without labels there is `oodometer estimate`",
        )
    return source.name, known, len(record) - len(known)


def _judged(tables: Mapping[str, Any], ends: _Ends, known: Predictions, level: float) -> list[StudyRow]:
    """The rows from votes: the first judge, the bounds, their mean."""
    first = next(row for row in tables["rules"] if row["rule"] == "single")
    assert known.votes is not None
    error = _error(known.verdicts, known.votes[0] > 0, level)
    return [
        StudyRow("single", first["accepted"], error, {name: first[name] for name in MEASURES}),
        StudyRow("lower", ends.both["lower"], None, ends.measures("lower")),
        StudyRow("upper", ends.both["upper"], None, ends.measures("upper")),
        StudyRow("mean", ends.both["mean"], ends.both["error"]),
    ]


def _error(verdicts: Array, said: Array, level: float, fitted: bool = False) -> Interval:
    """|mean (right - said)| with its interval from the differences row by row."""
    gap = verdicts - np.asarray(said, dtype=np.float64)
    found = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), level))
    return Interval(found.value, found.lower, found.upper, level, "conditional") if fitted else found


def _baselines(
    known: Predictions, reference: Any, ends: _Ends, gamma: float, level: float, seed: int
) -> tuple[list[StudyRow], list[Skipped]]:
    """The rows from confidence, and those that could not be made."""
    options: dict[str, Any] = {"level": level, "seed": seed}
    methods = {"max-prob": MaxProb(gamma=gamma, **options), "ac": AverageConfidence(**options)}
    try:
        scores = natural_confidence(known)(known)
    except NotApplicable as error:
        return [], [Skipped(name, str(error)) for name in _BASELINES]
    rows = []
    skipped = []
    for name, method in methods.items():
        value = method.fit(known).estimate(known).interval
        said = scores > gamma if name == "max-prob" else scores
        measures = _measures(known.verdicts, said, level) if name == "max-prob" else {}
        rows.append(StudyRow(name, value, _error(known.verdicts, said, level), measures))
    try:
        rows.append(_thresholded(AverageThresholdedConfidence(**options), known, reference, scores, level))
    except NotApplicable as error:
        skipped.append(Skipped("atc", str(error)))
    try:
        rows += _oracle(known, ends, scores, level)
    except NotApplicable as error:
        skipped.append(Skipped("max-prob-oracle", str(error)))
    return rows, skipped


def _measures(verdicts: Array, said: Array, level: float) -> dict[str, Interval | None]:
    right = verdicts > 0
    accepted = np.array([[np.count_nonzero(said & ~right), np.count_nonzero(said & right)]])
    of_verdict = np.array([np.count_nonzero(~right), np.count_nonzero(right)])
    found = discrimination(accepted, of_verdict, level)[0]
    return {k: v for k, v in found.items() if k != "accepted"}


def _thresholded(method: Estimator, known: Predictions, reference: Any, scores: Array, level: float) -> StudyRow:
    """ATC with its threshold from the reference."""
    if reference is None:
        raise NotApplicable("needs a labelled reference with confidences: give reference=...")
    found = method.fit(as_source(reference, axes=as_source(known).axes).read(_READ)).estimate(known)
    cut = ScoreThreshold(float(scores.dtype.type(found.details["threshold"])), float(found.details["share_of_ties"]))
    return StudyRow("atc", found.interval, _error(known.verdicts, credit(scores, cut), level, fitted=True))


def _oracle(known: Predictions, ends: _Ends, scores: Array, level: float) -> list[StudyRow]:
    """The bounds of thresholds that recall as much as the judges' bounds do, and their mean."""
    correct, incorrect = ends.upper["correct_recall"], ends.lower["incorrect_recall"]
    if correct is None or incorrect is None:
        raise NotApplicable("needs right rows and wrong ones")
    found = max_prob_oracle(scores, known.verdicts, correct.value, incorrect.value, level=level)
    return [
        StudyRow("max-prob-oracle-lower", found.lower),
        StudyRow("max-prob-oracle-upper", found.upper),
        StudyRow("max-prob-oracle-mean", found.mean, found.error),
    ]
