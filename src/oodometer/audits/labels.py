"""Labels: those that a person gave, matched with the target's rows, and whether these look drawn at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..arrays import Array, present
from ..errors import InputError
from ..inference.betting import SampledRows
from ..predictions import Predictions
from ..results import percent
from ..store import Source, as_source
from .joining import check_length, matched_labels

LEVEL = 0.001  # below which p-value labelled rows are said to be no random sample
_LEAST = 5.0  # labelled rows of a class to expect; rarer ones are taken together
_LEAST_LABELS = 10


class Picked(NamedTuple):
    """Why labelled rows can hardly be a random sample: by what they were picked, and that in words."""

    by: Literal["confidence", "prediction", "label"]
    why: str


def unlike(
    confidence: Array, predicted: Array, labels: Array | None = None, seen: Array | None = None
) -> Picked | None:
    """Why the labelled rows can hardly be a random sample, or None. Counts of labelled rows and of others by confidence
    (2, cell; a rank test) and by predicted class (2, class; chi-squared), labels (class,); each test has a third of
    `LEVEL`. Where no others are left, labels of one class are held against ``seen``, the reference's rows by class and
    those of them that were predicted so (2, class): for what nobody reported yet, a default may stand in every row.
    """
    reasons: list[tuple[float, Picked]] = []
    (n, m), total = confidence.sum(axis=1).astype(float), confidence.sum(axis=0).astype(float)
    if n >= _LEAST_LABELS and m:
        rows = n + m
        rank = np.cumsum(total) - (total - 1) / 2
        spread = n * m / 12 * (rows + 1 - float((total**3 - total).sum()) / (rows * (rows - 1)))
        z = (
            (float(confidence[0] @ rank) - n * (rows + 1) / 2) / math.sqrt(spread)
            if spread > 0
            else 0.0
        )
        than = "higher" if z > 0 else "lower"
        p = math.erfc(abs(z) / math.sqrt(2))
        why = f"their confidence is {than} than that of the other rows (rank test, {_SHOWN})"
        reasons.append((p, Picked("confidence", why)))
    n, m = predicted.sum(axis=1).astype(float)
    expected = predicted.sum(axis=0) * n / max(n + m, 1)
    rare = expected < _LEAST
    cells = np.column_stack([predicted[:, ~rare], predicted[:, rare].sum(axis=1)])
    cells = cells[:, cells.sum(axis=0) > 0].astype(float)
    if n >= _LEAST_LABELS and m and cells.shape[1] > 1:
        from scipy.special import chdtrc

        expected_cells = np.outer([n, m], cells.sum(axis=0)) / (n + m)
        if expected_cells.min() >= 1:
            p = float(
                chdtrc(
                    cells.shape[1] - 1,
                    float(((cells - expected_cells) ** 2 / expected_cells).sum()),
                )
            )
            why = f"other classes are predicted for them than for the other rows (chi-squared test, {_SHOWN})"
            reasons.append((p, Picked("prediction", why)))
    if labels is not None and labels.sum() >= _LEAST_LABELS and np.count_nonzero(labels) == 1:
        only, all_rows = int(np.argmax(labels)), float(predicted.sum())
        so = float(predicted[:, only].sum())
        reason = f"all of them are of one class, as is predicted for {100 * so / max(all_rows, 1):.0f} % of all rows"
        if m:
            share = (so + 1) / (all_rows + 2)
            reasons.append((share ** float(labels.sum()), Picked("label", reason)))
        elif (
            seen is not None
            and labels.sum() == n
            and only < seen.shape[1]
            and 0 < seen[0, only] < seen[0].sum()
        ):
            from scipy.special import bdtrc

            wrong = (seen[0, only] - seen[1, only] + 1) / (seen[0, only] + 2)
            p = float(bdtrc(int(all_rows - so) - 1, int(all_rows), wrong)) if so < all_rows else 1.0
            usual = f"and for {100 * (1 - wrong):.0f} % of such reference rows: others may not be known yet"
            reasons.append((p, Picked("label", f"{reason}, {usual} (binomial test, {_SHOWN})")))
    p, picked = min(reasons, default=(1.0, None))
    return picked if p < LEVEL / 3 else None


_SHOWN = "p < 0.001"


def uneven(parts: Sequence[tuple[int, int]]) -> str | None:
    """Why labels can hardly be a random sample of a target in parts, from (labelled rows, rows) of each; or None."""
    labelled, rows = np.array(parts, dtype=np.float64).reshape(-1, 2).T
    n, m = labelled.sum(), (rows - labelled).sum()
    if len(parts) < 2 or n < _LEAST_LABELS or not m:
        return None
    from scipy.special import chdtrc

    share = n / (n + m)
    few = rows * min(share, 1 - share) < _LEAST
    labelled, rows = (np.append(counts[~few], counts[few].sum()) for counts in (labelled, rows))
    labelled, rows = labelled[rows > 0], rows[rows > 0]
    if len(rows) < 2:
        return None
    p = float(
        chdtrc(
            len(rows) - 1,
            float((np.square(labelled - rows * share) / (rows * share * (1 - share))).sum()),
        )
    )
    return (
        f"some parts have more of them than others (chi-squared test, {_SHOWN})"
        if p < LEVEL
        else None
    )


def by_confidence(source: Source) -> str | None:
    """Why labels that a suggestion drew are no random sample, where some rows were more likely to be drawn; or None."""
    if not source.holds("share"):
        return None
    cells = source.read(["label", "correct"]).columns["share"].tolist()
    share = np.array(
        [float(str(cell).replace(",", ".")) for cell in cells if cell not in (None, "")]
    )
    text = "they were drawn by confidence, more where the model is unsure: `oodometer audit` weighs them"
    return text if (share < 1).any() else None


def said_of_labels(reference: Predictions) -> Array | None:
    """Reference rows by true class, and those of them that were predicted so, (2, class); None without classes."""
    if (
        reference.label is None
        or not reference.num_classes
        or not (reference.has_prediction and reference.has_classes)
    ):
        return None
    label = reference.label[reference.label >= 0]
    right = reference.label[(reference.label >= 0) & (reference.predicted == reference.label)]
    return np.stack(
        [np.bincount(classes, minlength=reference.num_classes) for classes in (label, right)]
    )


def of_state(state: Any, seen: Array | None = None) -> Picked | None:
    """`unlike` of the counts of a pass; None where there are none."""
    return (
        None if state is None else unlike(state["confidence"], state["said"], state["labels"], seen)
    )


def no_random_sample(why: str) -> str:
    """The warning about such labels."""
    text = f"the labelled rows are no random sample (tests at the level 0.1 %): {why}"
    return f"{text}; so they tell of themselves alone, no interval is exact, and nothing is refuted"


_EXTRA = ("row", "draw", "probability", "share")
_TOLERANCE = 0.02  # of a chance that was written down against the one worked out again


@dataclass(frozen=True)
class LabelledRows:
    """What one file says: target rows in the order of drawing, whether the model was right (-1 unknown), chances of a
    suggestion.
    """

    name: str
    row: Array
    correct: Array
    share: Array
    probability: Array
    label: Array | None = None
    said: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.row)


def open_labels(data: Any, open_source: Callable[..., Source]) -> Source:
    """A source of labels, with the columns that a suggestion wrote; ``open_source`` knows about renamed columns."""
    source = open_source(data)
    extra = [name for name in _EXTRA if source.holds(name)]
    return open_source(data, extra_columns=extra) if extra else source


def read_labels(
    data: Any, target: Source, predicted: Array | None, rows: int, key: str | None = None
) -> LabelledRows:
    """Labels of target rows, joined as `matched_rows` has it and held against ``predicted``, codes (sample,)."""
    source = (
        data
        if isinstance(data, Source)
        else open_labels(data, partial(as_source, axes=target.axes))
    )
    if not {"label", "correct"} & set(source.fields):
        remedy = "give the truth of each row that you labelled"
        raise InputError(
            "a column `label` or `correct`",
            got=", ".join(source.columns),
            file=source.path,
            remedy=remedy,
        )
    record, number, row, warnings = matched_labels(source, target, key, columns=_EXTRA, rows=rows)
    if row is None:
        check_length(len(record), rows, "target rows", source.path, "label")
        row = np.arange(rows)
    elif (row < 0).any():
        matched = np.flatnonzero(row >= 0)
        number = {name: values[matched] for name, values in number.items()}
        record, row = record.take(matched), row[matched]
    correct = record.correct
    if correct is None:  # 1, 0 or -1 for each labelled row
        if predicted is None:
            remedy = "the target holds no predicted classes to hold labels against"
            raise InputError(
                "a column `correct`", got="`label`", file=source.path, column="label", remedy=remedy
            )
        truth = present(record.label)
        correct = np.where(truth == -1, -1, truth == predicted[row]).astype(np.int8)
    order = np.argsort(number["draw"], kind="stable") if "draw" in number else np.arange(len(row))
    absent = np.full(len(row), np.nan)
    share, chance = number.get("share", absent), number.get("probability", absent)
    label = None if record.label is None or record.correct is not None else record.label[order]
    return LabelledRows(
        source.name, row[order], correct[order], share[order], chance[order], label, warnings
    )


def collect(parts: Sequence[LabelledRows], score: Array, seed: int = 0) -> SampledRows:
    """All labels as one sequence of draws: a row counts once, even draws in random order, passed ones are gaps."""
    seen: dict[tuple[str, int], int] = {}
    draws_of_parts: list[SampledRows] = []
    for part in parts:
        _refuse_contradictions(part, seen)
        before = (
            np.concatenate([draws.row for draws in draws_of_parts])
            if draws_of_parts
            else np.zeros(0)
        )
        draws_of_parts.append(_new_draws(part, before, seed))
    if not seen:
        raise InputError(
            "at least one known label",
            got=f"{sum(map(len, parts))} rows, all unknown",
            file=parts[0].name if parts else None,
            remedy="fill in `label` (or `correct`)",
        )
    sampled = SampledRows(
        *(
            np.concatenate([getattr(d, f) for d in draws_of_parts])
            for f in SampledRows.__dataclass_fields__
        )
    )
    sampled = replace(sampled, gaps=np.setdiff1d(sampled.gaps, sampled.row))
    _check_chances(sampled, score, parts[-1].name)
    return sampled


def _refuse_contradictions(part: LabelledRows, seen: dict[tuple[str, int], int]) -> None:
    """Raise `InputError` where a row has another truth than before; ``seen`` learns what the part says."""
    labelled = np.flatnonzero(part.correct >= 0)
    for kind, truths in (("correct", part.correct), ("label", part.label)):
        if truths is None:
            continue
        for row, truth in zip(part.row[labelled].tolist(), truths[labelled].tolist(), strict=True):
            if seen.setdefault((kind, row), truth) != truth:
                raise InputError(
                    f"one truth for target row {row}",
                    got="two that disagree",
                    file=part.name,
                    column="row",
                    remedy="drop the wrong one",
                )


def _new_draws(part: LabelledRows, before: Array, seed: int) -> SampledRows:
    """The draws of one file, without rows that an earlier one gave (``before``) and without repetitions."""
    labelled = np.flatnonzero(part.correct >= 0)
    _, first = np.unique(part.row[labelled], return_index=True)
    position = labelled[np.sort(first)]
    position = position[~np.isin(part.row[position], before)]
    suggested = np.isfinite(part.share)
    random, chosen = position[~suggested[position]], position[suggested[position]]
    even = SampledRows.evenly(part.row[random], part.correct[random], seed)
    last = int(chosen.max()) if len(chosen) else -1
    passed = np.flatnonzero(suggested & (part.correct < 0) & (np.arange(len(part)) < last))
    return SampledRows(
        row=np.concatenate([even.row, part.row[chosen]]),
        correct=np.concatenate([even.correct, part.correct[chosen]]),
        share=np.concatenate([even.share, part.share[chosen]]),
        probability=np.concatenate([even.probability, part.probability[chosen]]),
        gaps=np.setdiff1d(part.row[passed], before).astype(np.int64),
    )


def _check_chances(sampled: SampledRows, score: Array, file: str) -> None:
    """Raise `InputError` where the chances that a file tells are not those that these scores give."""
    written = np.isfinite(sampled.probability)
    if not written.any() or len(sampled.gaps):  # with gaps the chances are worked out without them
        return
    off = np.abs(sampled.chances(score) / sampled.probability - 1)[written].max()
    if off > _TOLERANCE:
        remedy = "give the files in the order in which they were labelled, with the reference and target that "
        raise InputError(
            "chances that this reference and target give",
            got=f"others, {percent(off, 0)} off",
            column="probability",
            file=file,
            remedy=f"{remedy}--suggest was given",
        )
