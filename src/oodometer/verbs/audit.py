"""The verb `audit`: a few labels on the target in, a valid interval out, and whether the label-free one can be true."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments import checked
from ..arrays import Array
from ..audits.drawn import Drawn
from ..audits.joining import by_position
from ..audits.judge import Judgement, judge, refutes
from ..audits.labels import LabelledRows, collect, open_labels, read_labels
from ..audits.outlook import COUNTS, Outlook
from ..audits.outlook import outlook as look_ahead
from ..audits.power import Noticeable, noticeable
from ..audits.proxy import Proxy, choose_proxy
from ..audits.result import Audit
from ..audits.strata import Stratum, strata
from ..audits.suggestion import Suggestion
from ..audits.suggestion import suggest as draw_rows
from ..errors import NotApplicable, UsageError
from ..intervals import check_level
from ..passes.below_chance import label_warnings
from ..predictions import Predictions
from ..results.estimation import Headline
from ..store import Source, refuse_clashes, write_predictions
from .estimate import estimate
from .opening import Opener
from .reference import read_reference

__all__ = ["Audit", "audit"]

_REFERENCE = ("name", "rows", "accuracy", "lower", "upper", "level", "kind")


@checked()
def audit(
    reference: Any,
    target: Any,
    *,
    labels: Any = None,
    key: str | None = None,
    suggest: int = 0,
    out: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    methods: Sequence[str] | None = None,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    workers: int | None = None,
    seed: int = 0,
    outlook: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Judge a model on the target by a few labels: an interval valid at any number of them, and a test of the estimate.

    Parameters
    ----------
    reference, target, methods, classes, mapping, workers, progress :
        As in `estimate`, which makes the label-free headline.
    labels :
        A file, a frame or a mapping, or a list of them in the order of labelling, with `label` or `correct`: joined by
        `id` where both hold it, by a column `row` (target rows counted from 0), else one row for each target row (null
        where unknown). Unless a suggestion wrote the rows, they must have been drawn at random from the target. By
        default the target's own labels.
    key :
        Another column to join the labels by, in both files.
    suggest, out :
        How many rows to label next, and the file (.csv, .parquet, .jsonl, ...) to write them to.
    level, seed :
        Nominal coverage; seed of the order of bets and of the suggestion.
    outlook :
        Whether to work out the width to expect of 10 to 1,000 labels, which takes seconds; a page draws it.

    The estimate is exact: whatever the model and the shift, it holds the accuracy of the target's rows with probability
    ``level`` if the labelled rows were drawn as said. Raises `InputError` for labels that do not fit the target,
    `UsageError` for a call that makes no sense. Source: Waudby-Smith and Ramdas (2024); Angelopoulos, Duchi and Zrnic
    (2023).

    >>> p = [[0.6 + i / 300, 0.4 - i / 300] for i in range(100)]
    >>> few = {"row": list(range(0, 100, 10)), "label": [1] * 10}
    >>> reference = {"probabilities": p, "label": [0, 1, 0, 0] * 25}
    >>> found = audit(reference, {"probabilities": p}, labels=few, methods=["ac"])
    >>> found.labels, found.refuted, found.estimate.upper < 0.4
    (10, True, True)
    """
    check_level(level)
    if suggest < 0:
        raise UsageError(f"expected a number of rows to suggest, 1 or more, got {suggest}")
    if out is not None and not suggest:
        raise UsageError("an output file is for suggested rows: say how many with --suggest")
    refuse_clashes({"out": out}, flat((reference, target, labels)))
    opener = Opener(mapping)
    sources = opener.references(reference, classes)
    goal = opener.target(target)
    given = [] if labels is None else list(labels) if isinstance(labels, (list, tuple)) else [labels]
    told = [open_labels(data, opener.target) for data in given]
    opener.check()
    learnt = _proxy(Predictions.concat([read_reference(s).record for s in sources]), goal)
    score, predicted, own = _survey(goal, learnt)
    parts = [read_labels(source, goal, predicted, len(score), key) for source in told]
    if not given and own is not None:
        parts = [own]
    if not parts and not suggest:
        raise UsageError(
            "there are no labels: give --labels FILE, or ask which rows to label with --suggest N --out FILE"
        )
    drawn = collect(parts, score, seed) if parts else None
    # faults of the labels have been told by now, before the work that takes long
    found = estimate(
        sources, goal, methods=methods, level=level, workers=workers, seed=seed, progress=progress
    )
    warnings = [w for w in found.warnings if "the target holds labels" not in w]
    warnings += [line for source in told if (line := by_position(source, goal, key)) is not None]
    judgement: Judgement | None = None
    p_value: float | None = None
    power: Noticeable | None = None
    slope = learnt.slope
    if drawn is not None:
        judgement = judge(drawn, score, slope, level, seed)
        claim = found.headline.interval
        p_value = refutes(drawn, score, slope, claim.lower, claim.upper, level)
        if not drawn.weighted:
            power = noticeable(len(drawn), len(score), claim.lower, claim.upper, level)
        warnings += judgement.warnings
        if given:  # of the target's own labels the estimate has spoken
            warnings += _label_warnings(parts, predicted, goal)
    suggestion = None
    if suggest:
        suggestion = _suggest(score, slope, suggest, level, parts, seed)
        if out is not None:
            _write(suggestion, goal, predicted is not None, out)
    return Audit(
        labels=0 if drawn is None else len(drawn),
        rows=len(score),
        headline=found.headline,
        estimate=None if judgement is None else judgement.estimate,
        label_only=None if judgement is None else judgement.label_only,
        intervals=() if judgement is None else judgement.intervals,
        effective_labels=None if judgement is None else judgement.effective_labels,
        p_value=p_value,
        level=level,
        seed=seed,
        warnings=tuple(warnings),
        suggestion=suggestion,
        reference={k: found.reference[k] for k in _REFERENCE if k in found.reference},
        target={"name": goal.name},
        correct=None if drawn is None else int(drawn.correct.sum()),
        weighted=drawn is not None and drawn.weighted,
        slope=slope,
        proxy=learnt.name,
        explained=_explained(score, slope),
        noticeable=power,
        strata=_strata(score, drawn, suggestion),
        outlook=_outlook(score, slope, level, found.headline, drawn, judgement, seed) if outlook else None,
    )


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


def _strata(score: Array, drawn: Drawn | None, suggestion: Suggestion | None) -> tuple[Stratum, ...]:
    none = np.zeros(0, dtype=np.int64)
    row, correct = (none, none) if drawn is None else (drawn.row, drawn.correct)
    return strata(score, row, correct, None if suggestion is None else suggestion.row)


def _outlook(
    score: Array,
    slope: float,
    level: float,
    headline: Headline,
    drawn: Drawn | None,
    judgement: Judgement | None,
    seed: int,
) -> Outlook:
    """Planned for half a hit among one label more, so that no errors among few labels do not promise a point."""
    today = headline.interval if judgement is None else judgement.estimate.interval
    labels = 0 if drawn is None else len(drawn)
    accuracy = today.value if not labels else (labels * today.value + 0.5) / (labels + 1)
    counts = (*COUNTS, labels) if labels <= COUNTS[-1] else COUNTS
    return look_ahead(score, slope, level, accuracy=accuracy, lower=today.lower, upper=today.upper,
                      labels=counts, seed=seed)  # fmt: skip


def _label_warnings(parts: Sequence[LabelledRows], predicted: Array | None, goal: Source) -> list[str]:
    """What is to be said of labels that stand against what the model said of the same rows."""
    told = [part for part in parts if part.label is not None]
    if predicted is None or not told:
        return []
    rows = np.concatenate([part.row for part in told])
    label = np.concatenate([np.asarray(part.label) for part in told])
    record = Predictions(len(rows), goal.classes, label=label, prediction=predicted[rows])
    return label_warnings("the audited rows", [record], record.accuracy)


def _proxy(reference: Predictions, goal: Source) -> Proxy:
    """What is to stand for the labels that are missing."""
    judges = None
    if "votes" in goal.fields:
        first = next(iter(goal.batches(["votes"], rows=1)), None)
        judges = None if first is None or first.votes is None else len(first.votes)
    return choose_proxy(reference, goal.fields, judges)


def _survey(goal: Source, learnt: Proxy) -> tuple[Array, Array | None, LabelledRows | None]:
    """f and the predicted class of every target row, and the labels that the target itself holds."""
    scores, classes, truths = [], [], []
    for batch in goal.batches():
        scores.append(learnt(batch))
        try:
            classes.append(batch.predicted)
            truths.append(batch.verdicts)
        except NotApplicable:  # neither classes nor probabilities
            truths.append(np.full(len(batch), -1, dtype=np.int8) if batch.correct is None else batch.correct)
    score, correct = np.concatenate(scores), np.concatenate(truths)
    own = None
    if (correct >= 0).any():
        absent = np.full(len(score), np.nan)
        own = LabelledRows(goal.name, np.arange(len(score)), correct, absent, absent)
    return score, np.concatenate(classes) if len(classes) == len(scores) else None, own


def _suggest(
    score: Array, slope: float, count: int, level: float, parts: Sequence[LabelledRows], seed: int
) -> Suggestion:
    done = [p.row[p.correct >= 0] for p in parts]
    labelled = np.unique(np.concatenate(done)) if done else None
    return draw_rows(score, slope, count, level, labelled=labelled, seed=seed)


def _write(found: Suggestion, goal: Source, by_class: bool, out: str | os.PathLike[str]) -> None:
    """The suggestion as a table to be filled in: `label` (or `correct`) is empty."""
    count = len(found.row)
    columns = {
        "draw": np.arange(count),
        "row": found.row,
        "stratum": found.stratum,
        "probability": found.probability,
        "weight": found.weight,
        "share": np.full(count, found.share),
    }
    empty: dict[str, Any] = (
        {"label": [None] * count} if by_class and goal.classes else {"correct": [None] * count}
    )
    names = goal.classes if by_class else None
    write_predictions(Predictions.from_arrays(classes=names, columns=columns, **empty), out)
