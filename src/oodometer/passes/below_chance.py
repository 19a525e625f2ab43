"""Below chance: an accuracy that guessing would beat, and the mistake in the labels that would explain it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..predictions import Predictions
from ..results import percent

FIELDS_NEEDED = ("label", "prediction", "probabilities", "members", "correct")
SUSPECT = 0.5  # accuracy above which nothing is looked for
_LEAST_ROWS = 20
_MOST_CLASSES = 2000  # whose confusion fits into memory beside everything else
_FAR = 0.8  # of what guessing gets right
_SIGMAS = 3.5
_GAIN = 0.1  # of accuracy, the least that an explanation must bring
_CLEARLY = 0.5  # accuracy that explains itself where the accuracy as it stands is not below chance
_TIMES = 3
_AS_GOOD = 0.02  # a simpler explanation is preferred if it loses no more
_MOST_MOVES = 3
_MANY_NUMBERS = 20  # different labels, up to which whole numbers are taken for classes
_NEAR, _NEAR_WITH_GAPS = 0.95, 0.5  # rank correlation of label and prediction where they differ


def label_warnings(who: str, records: Iterable[Predictions], accuracy: float) -> list[str]:
    """What is to be said of the labels of these batches, whose accuracy is known; most often nothing.

    >>> p = Predictions.from_classes([0, 1, 2] * 10, label=[1, 2, 0] * 10)
    >>> label_warnings("the reference", [p], p.accuracy)[0][:65]
    'the accuracy of the reference, 0.0 %, is far below chance, 33.3 %'
    """
    if not accuracy < SUSPECT:
        return []
    total: Array | None = None
    classes: Sequence[Any] = ()
    for record in records:
        counts = confusion(record)
        if counts is None:
            return []
        classes = record.classes or ()
        total = counts if total is None else total + counts
    said = None if total is None else below_chance(who, total, classes)
    return [] if said is None else [said]


def check_classes(record: Predictions, file: str | None) -> None:
    """`check_numbers` of a record's labels, where it has no probabilities, which only classes have."""
    if record.label is None or record.correct is not None or record.has("probabilities") or not record.has_prediction:
        return
    known = record.label >= 0
    check_numbers(record.classes or (), record.label[known], record.predicted[known], None, file)


def check_numbers(classes: Sequence[Any], label: Array, predicted: Array, rows: Array | None, file: str | None) -> None:
    """`InputError` for a regression: many whole numbers, and predictions that miss them by little.

    ``label`` and ``predicted`` are positions in ``classes``, shape (cell,), each of which stands for so many ``rows``
    (None: one). Where they differ the numbers of classes say nothing about each other; prices and counts do.

    >>> price = np.arange(100)
    >>> check_numbers(range(1000, 2000, 10), price, np.minimum(price + 1, 99), None, None)
    Traceback (most recent call last):
    oodometer.errors.InputError: column label: expected classes, got whole numbers that the predictions miss by ...
    """
    if not classes or isinstance(classes[0], str):
        return
    names = np.asarray(classes, dtype=np.float64)
    weight = np.ones(len(label)) if rows is None else rows.astype(np.float64)
    different = np.unique(label)
    wrong = label != predicted
    if len(different) <= _MANY_NUMBERS or weight[wrong].sum() < _LEAST_ROWS:
        return
    accuracy = 1 - weight[wrong].sum() / weight.sum()
    if accuracy >= SUSPECT and len(different) * 10 < weight.sum():
        return
    true, guess, w = label[wrong], predicted[wrong], weight[wrong] / weight[wrong].sum()  # positions are ranks
    true, guess = true - w @ true, guess - w @ guess
    spread = float(np.sqrt((w @ true**2) * (w @ guess**2)))
    gaps = np.ptp(names[different]) + 1 >= 2 * len(different)
    near = float(w @ (true * guess)) / spread if spread > 0 else 0.0
    if near <= (_NEAR_WITH_GAPS if gaps else _NEAR):
        return
    raise InputError(
        "classes",
        got=f"whole numbers that the predictions miss by little ({len(different)} different ones, right in "
        f"{percent(accuracy)} of the rows): a regression, which accuracy does not measure",
        remedy="write 1 where an error is small enough and 0 elsewhere into a column `correct`, in the place of "
        "`label` and `prediction`; if they are classes, put a letter before the numbers",
        file=file,
        column="label",
    )


def confusion(record: Predictions) -> Array | None:
    """Rows of each label (down) and predicted class (across); None where there is nothing to hold side by side."""
    k = record.num_classes
    if record.label is None or record.correct is not None or not 2 <= k <= _MOST_CLASSES:
        return None
    known = record.label >= 0
    codes = record.label[known].astype(np.int64) * k + record.predicted[known]
    out: Array = np.bincount(codes, minlength=k * k).reshape(k, k)
    return out


def below_chance(who: str, counts: Array, classes: Sequence[Any]) -> str | None:
    """A warning where fewer rows are right than by guessing, or where other labels would make far more of them right.

    Chance is the larger of 1/K and what the same predictions get right of shuffled labels. ``counts`` has axes
    (label, predicted class). The explanation is the simplest of: every label one place on or back, two classes
    exchanged, any renaming (an assignment, found on one half of the rows and judged on the other).

    >>> counts = np.array([[0, 90, 10], [10, 0, 90], [90, 10, 0]])
    >>> print(below_chance("the reference", counts, (0, 1, 2)))
    the accuracy of the reference, 0.0 %, is far below chance, 33.3 %; with label + 1 in place of label (after the \
last class comes the first) it would be 90.0 %: check how the classes are numbered and named
    >>> below_chance("the reference", counts.T[::-1].copy(), (0, 1, 2)) is None
    True
    """
    rows, k = int(counts.sum()), len(counts)
    if rows < _LEAST_ROWS:
        return None
    right = int(np.trace(counts))
    accuracy = right / rows
    if not accuracy < SUSPECT:
        return None
    shuffled, spread = _shuffled(counts)
    low = right < shuffled - _SIGMAS * spread and right < _FAR * shuffled
    guessed = rows / k
    low |= right < guessed - _SIGMAS * math.sqrt(guessed * (1 - 1 / k)) and right < _FAR * guessed
    chance = max(shuffled / rows, 1 / k)
    clearly = max(_CLEARLY, _TIMES * accuracy)
    if not low and float(counts.max(axis=1).sum()) / rows < clearly:
        return None  # no renaming can be that right
    told, better = _explained(counts, classes, max(accuracy, shuffled / rows))
    if not low and not (told and better >= clearly):
        return None
    found = f"is far below chance, {percent(chance)}" if low else "is low"
    text = f"the accuracy of {who}, {percent(accuracy)}, {found}"
    if told:
        return f"{text}; {told} it would be {percent(better)}: check how the classes are numbered and named"
    return f"{text}; no renaming of the classes explains it: check that labels and predictions are of the same rows"


def _shuffled(counts: Array) -> tuple[float, float]:
    """How many rows would be right if the labels were shuffled: mean and standard deviation over all orders."""
    n = float(counts.sum())
    labels, said = counts.sum(axis=1).astype(float), counts.sum(axis=0).astype(float)
    both = float(labels @ said)
    square = both - float(labels @ said**2) / n - float(said @ labels**2) / n + (both / n) ** 2
    return both / n, math.sqrt(max(square, 0.0) / max(n - 1, 1.0))


def _explained(counts: Array, classes: Sequence[Any], floor: float) -> tuple[str, float]:
    """The simplest reading of the labels that makes clearly more rows right, and their share; else "" and 0."""
    from scipy.optimize import linear_sum_assignment

    n, k = float(counts.sum()), len(counts)
    half = np.random.default_rng(0).binomial(counts, 0.5)
    held = counts - half
    chosen = linear_sum_assignment(half, maximize=True)[1]
    place = np.arange(k)
    best = float(held[place, chosen].sum()) / max(float(held.sum()), 1.0)
    noise = _SIGMAS * math.sqrt(0.25 / max(float(held.sum()), 1.0))
    if best < floor + max(_GAIN, noise):
        return "", 0.0
    for step, text in ((1, "label + 1"), (-1, "label - 1")):
        share = float(counts[place, (place + step) % k].sum()) / n
        if share >= best - _AS_GOOD:
            if k == 2:
                return "with the two classes of the labels exchanged", share
            what = "after the last class comes the first" if step == 1 else "before the first class comes the last"
            return f"with {text} in place of label ({what})", share
    share = float(counts[place, chosen].sum()) / n
    moved = [int(i) for i in np.argsort(-counts.sum(axis=1), kind="stable") if chosen[i] != i and counts[i].any()]
    if len(moved) == 2 and chosen[moved[0]] == moved[1]:
        a, b = sorted(moved)
        return f"with the labels {classes[a]!r} and {classes[b]!r} exchanged", share
    told = ", ".join(f"{classes[i]!r} as {classes[chosen[i]]!r}" for i in moved[:_MOST_MOVES])
    more = f" and {len(moved) - _MOST_MOVES} more" if len(moved) > _MOST_MOVES else ""
    return f"with the labels read otherwise ({told}{more})", share
