"""The reference as the verbs read it: whole where it fits, a seeded sample of it where it does not."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..arrays import Array, Ragged
from ..classes import DETOUR
from ..errors import InputError, MissingColumnsError
from ..fields import FIELDS
from ..inference.row_sample import (
    LAST_KEY,
    content_keys,
    counted_keys,
    key_bound,
    often_keys,
    seeded_keys,
)
from ..kernels import mix
from ..metrics.confusion import Confusion
from ..plain import Json, Plain, Strings
from ..predictions import Predictions
from ..results import percent
from ..store import InPlace, Part, RecordSource, Source
from ..store.base import rows_of
from .folding import Execution
from .slicing import column_of, rows_by_value

FIELDS_NEEDED = ("label", "prediction", "probabilities", "members", "correct")
_MOST_SUSPECT = 0.9  # accuracy above which the names of the classes are not doubted
READ_AGAIN_BELOW = 0.5  # accuracy below which a file is read once more to see why
_MOST_OF_REGRESSION = 0.5  # accuracy above which numbers that differ little are classes
_LEAST_ROWS = 20
_MOST_CLASSES = 2000  # whose confusion fits into memory beside everything else
_FAR = 0.8  # of what guessing gets right
_SIGMAS = 3.5
_GAIN = 0.05  # of accuracy, the least that an explanation must bring
_CLEARLY = 0.5  # accuracy that explains itself where the accuracy as it stands is not below chance
_TIMES = 3
_AS_GOOD = 0.02  # a simpler explanation is preferred if it loses no more
_MOST_MOVES = 3
_MANY_NUMBERS = 20  # different labels, up to which whole numbers are taken for classes
_NEAR, _NEAR_WITH_GAPS = 0.95, 0.5  # rank correlation of label and prediction where they differ


def label_warnings(
    who: str, records: Iterable[Predictions], accuracy: float, below: float = _MOST_SUSPECT
) -> list[str]:
    """What is to be said of the labels of these batches, whose accuracy is known; most often nothing. They are read
    only where it is ``below`` a bound.
    """
    total: Confusion | None = None
    for record in records if accuracy < below else ():
        if record.label is None or record.correct is not None or record.classes is None:
            return []
        counts = Confusion.of(record)
        total = counts if total is None else total + counts
    return [] if total is None else renaming_warnings(who, total)


def renaming_warnings(who: str, confusion: Confusion) -> list[str]:
    """`below_chance` of counts, where there are not too many classes."""
    if not 2 <= len(confusion.classes) <= _MOST_CLASSES:
        return []
    warning = below_chance(who, confusion.matrix(), confusion.classes)
    return [] if warning is None else [warning]


def check_classes(record: Predictions, file: str | None) -> None:
    """`check_numbers` of a record's labels, where it has no probabilities, which only classes have."""
    if (
        record.label is None
        or record.correct is not None
        or record.probabilities is not None
        or not record.has_prediction
    ):
        return
    labelled = record.label >= 0
    check_numbers(
        record.classes or (), record.label[labelled], record.predicted[labelled], None, file
    )


def check_numbers(
    classes: Sequence[Any], label: Array, predicted: Array, rows: Array | None, file: str | None
) -> None:
    """`InputError` for a regression: numbers that predictions miss by little; (cell,) positions in ``classes``."""
    if not classes or isinstance(classes[0], str):
        return
    names = np.asarray(classes, dtype=np.float64)
    weight = np.ones(len(label)) if rows is None else rows.astype(np.float64)
    different = np.unique(label)
    wrong = label != predicted
    if len(different) <= _MANY_NUMBERS or weight[wrong].sum() < _LEAST_ROWS:
        return
    accuracy = 1 - weight[wrong].sum() / weight.sum()
    if accuracy >= _MOST_OF_REGRESSION and len(different) * 10 < weight.sum():
        return
    # positions are ranks
    true, guess, w = (
        label[wrong],
        predicted[wrong],
        weight[wrong] / weight[wrong].sum(),
    )
    true, guess = true - w @ true, guess - w @ guess
    spread = float(np.sqrt((w @ true**2) * (w @ guess**2)))
    gaps = np.ptp(names[different]) + 1 >= 2 * len(different)
    near = float(w @ (true * guess)) / spread if spread > 0 else 0.0
    if near <= (_NEAR_WITH_GAPS if gaps else _NEAR):
        return
    got = f"whole numbers that the predictions miss by little ({len(different)} different ones, right in "
    got += f"{percent(accuracy)} of the rows): a regression, which accuracy does not measure"
    raise InputError("classes", got=got, remedy=DETOUR, file=file, column="label")


def below_chance(who: str, counts: Array, classes: Sequence[Any]) -> str | None:
    """A warning where guessing does better, or where other labels would: moved by one, two exchanged, any renaming."""
    rows, k = int(counts.sum()), len(counts)
    if rows < _LEAST_ROWS:
        return None
    right = int(np.trace(counts))
    accuracy = right / rows
    if not accuracy < _MOST_SUSPECT:
        return None
    shuffled, spread = agreement_by_chance(counts)
    low = right < shuffled - _SIGMAS * spread and right < _FAR * shuffled
    guessed = rows / k
    low |= right < guessed - _SIGMAS * math.sqrt(guessed * (1 - 1 / k)) and right < _FAR * guessed
    if not low and float(counts.max(axis=1).sum()) / rows < accuracy + _GAIN:
        return None  # no renaming can be that right
    renaming = _renaming(counts, classes, max(accuracy, shuffled / rows))
    if not low and (renaming is None or not renaming.is_clear):
        return None
    text = f"the accuracy of {who}, {percent(accuracy)}"
    if low:
        text += f", is far below chance, {percent(max(shuffled / rows, 1 / k))}"
    elif accuracy < _CLEARLY:
        text += ", is low"
    if renaming is None:
        check = "check that labels and predictions are of the same rows"
        return f"{text}; no renaming of the classes explains it: {check}"
    text += f"; {renaming.said} it would be {percent(renaming.accuracy)}"
    return f"{text}: check how the classes are numbered and named"


def agreement_by_chance(counts: Array) -> tuple[float, float]:
    """How many rows would be right if the labels were shuffled: mean and standard deviation over all orders."""
    n = float(counts.sum())
    labels, predicted = counts.sum(axis=1).astype(float), counts.sum(axis=0).astype(float)
    both = float(labels @ predicted)
    square = (
        both - float(labels @ predicted**2) / n - float(predicted @ labels**2) / n + (both / n) ** 2
    )
    return both / n, math.sqrt(max(square, 0.0) / max(n - 1, 1.0))


@dataclass(frozen=True)
class _Renaming:
    """Labels read otherwise: as words, the accuracy then, and that of the renamed classes, before and then."""

    said: str
    accuracy: float
    of_renamed_before: float
    of_renamed: float

    @property
    def is_clear(self) -> bool:
        """Whether the renamed classes are mostly right then and mostly wrong before, which no honest model is."""
        return self.of_renamed >= max(_CLEARLY, _TIMES * self.of_renamed_before)


def _renaming(counts: Array, classes: Sequence[Any], floor: float) -> _Renaming | None:
    """The simplest reading of the labels that makes clearly more rows right; found on half of them, and held
    against the others.
    """
    from scipy.optimize import linear_sum_assignment

    k = len(counts)
    half = np.random.default_rng(0).binomial(counts, 0.5)
    other_half = counts - half
    chosen = linear_sum_assignment(half, maximize=True)[1]
    index = np.arange(k)
    other_rows = max(float(other_half.sum()), 1.0)
    best = float(other_half[index, chosen].sum()) / other_rows
    noise = _SIGMAS * math.sqrt(0.25 / other_rows)
    if best < floor + max(_GAIN, noise):
        return None
    enough = float(counts[index, chosen].sum()) - _AS_GOOD * float(counts.sum())
    for step in (1, -1):
        moved_by_one = (index + step) % k
        if float(counts[index, moved_by_one].sum()) >= enough:
            return _renamed(counts, moved_by_one, _said_of_step(step, k))
    return _renamed(counts, chosen, _said_of_order(counts, chosen, classes))


def _renamed(counts: Array, chosen: Array, said: str) -> _Renaming:
    """The renaming of each label to its chosen class."""
    index = np.arange(len(counts))
    moved = chosen != index
    rows = max(float(counts[moved].sum()), 1.0)
    return _Renaming(
        said=said,
        accuracy=float(counts[index, chosen].sum()) / float(counts.sum()),
        of_renamed_before=float(np.diagonal(counts)[moved].sum()) / rows,
        of_renamed=float(counts[index, chosen][moved].sum()) / rows,
    )


def _said_of_step(step: int, num_classes: int) -> str:
    """Labels that are moved by one, as a part of a sentence."""
    if num_classes == 2:
        return "with the two classes of the labels exchanged"
    if step == 1:
        return "with label + 1 in place of label (after the last class comes the first)"
    return "with label - 1 in place of label (before the first class comes the last)"


def _said_of_order(counts: Array, chosen: Array, classes: Sequence[Any]) -> str:
    """Labels that are other classes, the most frequent first, as a part of a sentence."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    moved = [int(i) for i in order if chosen[i] != i and counts[i].any()]
    if len(moved) == 2 and chosen[moved[0]] == moved[1]:
        a, b = sorted(moved)
        return f"with the labels {classes[a]!r} and {classes[b]!r} exchanged"
    renamed = ", ".join(f"{classes[i]!r} as {classes[chosen[i]]!r}" for i in moved[:_MOST_MOVES])
    more = f" and {len(moved) - _MOST_MOVES} more" if len(moved) > _MOST_MOVES else ""
    return f"with the labels read otherwise ({renamed}{more})"


_PART_ROWS = 1 << 17
FEW_ROWS = 200
MOST_ROWS = 1_000_000
SLACK = 1.25  # how far the limit may be passed before rows are dropped
_ENOUGH_TO_SEE = 1 << 14  # rows of a batch, from which on contents that many rows have stand out
MOST_VALUES = 52_000_000  # numbers kept of a reference: 208 MB of float32

Keyed = tuple[Array | None, Predictions]
"""Rows and the numbers by which they are drawn; None where no row need be dropped."""


Verdicts = dict[tuple[Any, bool], int]
"""Labelled rows by (value of a column, whether they are right)."""


def added(several: Iterable[Mapping[tuple[Any, bool], int]]) -> Verdicts:
    """The sum of some counts, as a plain mapping, which a run folder and a fitted file can hold."""
    total: Counter[tuple[Any, bool]] = Counter()
    for counts in several:
        total.update(counts)
    return dict(total)


def verdicts_by(record: Predictions, column: str | None) -> Verdicts:
    """How many labelled rows of each value of a column are right and wrong; empty without the column.

    >>> p = Predictions.from_classes([0, 1, 1], label=[0, 1, 0], columns={"site": ["a", "a", "b"]})
    >>> sorted(verdicts_by(p, "site").items())
    [(('a', True), 2), (('b', False), 1)]
    """
    out: Verdicts = {}
    if column is None or not has_column(record, column):
        return out
    right = record.verdicts == 1
    names, places = rows_by_value(column_of(record, column))
    for name, rows in zip(names, places, strict=True):
        hits = int(right[rows].sum())
        for verdict, count in ((True, hits), (False, len(rows) - hits)):
            if count:
                out[name, verdict] = count
    return out


def has_column(record: Predictions, column: str) -> bool:
    """Whether a record can be sliced by a column: one of its own, or a field with one value a row."""
    if column in record.columns or (column == "prediction" and record.has_prediction):
        return True
    value = getattr(record, column, None) if column in FIELDS else None
    return isinstance(value, np.ndarray) and value.ndim == 1


@dataclass(frozen=True)
class Reference:
    """A labelled record to fit on, which may be ``sampled``, and the exact counts of all its rows; those of the values
    of the column ``by``, too, where it was asked for and the reference has it.
    """

    record: Predictions
    rows: int
    correct: int
    unlabelled: int
    sampled: bool
    by: str | None = None
    verdicts: Mapping[tuple[Any, bool], int] = dataclasses.field(default_factory=dict)


def most(record: Predictions, rows: int = MOST_ROWS, values: int = MOST_VALUES) -> int:
    """Rows like those of a record that are kept of a reference, at least one."""
    return max(min(rows, values // width(record)), 1)


def width(record: Predictions) -> int:
    """Numbers a row: those of fields with several, and one for all others together."""
    total = 1
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if isinstance(value, Ragged):
            total += len(value.values) // max(record.rows, 1)
        elif value is not None and len(field.axes) > 1:
            total += value.size // max(record.rows, 1)
    return total


def labelled_rows(batch: Predictions) -> tuple[Array, Predictions]:
    """Which rows of a batch are labelled, bool, shape (sample,), and these rows."""
    mask = batch.verdicts >= 0 if batch.can_be_judged else np.zeros(batch.rows, dtype=bool)
    return mask, batch if mask.all() else batch.take(mask)


def smallest(parts: Sequence[Keyed], limit: int, bound: Any) -> tuple[Any, list[Keyed]]:
    """The lowest number that is not kept, of those below ``bound``, and the (at most) ``limit`` rows below it."""
    keyed = [below(k, r, bound) for k, r in parts if k is not None]
    bound = _first_left_out(np.concatenate([k for k, _ in keyed]), limit, bound) if keyed else bound
    return bound, [below(k, r, bound) for k, r in keyed]


def below(keys: Array, record: Predictions, highest: Any) -> tuple[Array, Predictions]:
    """The rows whose key is below the highest that is kept."""
    keep = keys < highest
    return (keys, record) if keep.all() else (keys[keep], record.take(keep))


class ReferenceSource(RecordSource):
    """A reference that was read before, for verbs that take a source: not all of its rows need be in the record."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(reference.record)
        self.reference = reference


def read_reference(
    source: Source,
    fields: Iterable[str] | None = None,
    *,
    most_rows: int = MOST_ROWS,
    most_values: int = MOST_VALUES,
    execution: Execution | None = None,
    in_parts: bool = False,
    seed: int = 0,
    by: str | None = None,
) -> Reference:
    """Read a reference in one pass; of a larger one a seeded sample is kept, the same however rows are batched. It runs
    here, or by the engine or folder of an ``execution`` where more rows are there than are kept, and with ``in_parts``
    always. ``by``: a column whose values are counted in the same pass, where there is one.
    """
    if isinstance(source, ReferenceSource):
        return source.reference
    bounds, rows = (most_rows, most_values), source.rows
    in_memory = isinstance(source, RecordSource)
    uncut = _uncut_reference(source, bounds, by)
    if uncut is not None:
        return uncut
    execution = Execution() if execution is None else execution
    share = _Share(None if fields is None else tuple(fields), seed, bounds, by=by)
    state: Json | None = None
    record: Predictions | None = None
    if not in_memory and (in_parts or rows is not None) and not execution.is_plain:
        state = _read_elsewhere(source, share, execution, None if in_parts else rows)
    if state is None:
        together = InPlace(
            None if in_memory else rows,
            lambda record: rows is not None and rows <= most(record, *bounds),
        )
        state = _read_here(source, replace(share, rows=rows, together=together), execution)
        record = None if state["unlabelled"] else together.whole()
    if not state["rows"]:
        raise _no_labels(source, state["unlabelled"])
    if record is None:
        record = _kept_record(state)
    check_classes(record, source.name)
    return Reference(
        record,
        rows=state["rows"],
        correct=state["correct"],
        unlabelled=state["unlabelled"],
        sampled=record.rows < state["rows"],
        by=by,
        verdicts=state["verdicts"],
    )


def _no_labels(source: Source, unlabelled: int) -> MissingColumnsError:
    """The error for a reference without a labelled row."""
    expected = "a labelled reference: `label` with `prediction` or `probabilities`, or `correct`"
    got = f"{unlabelled} rows of unknown correctness; fields: {', '.join(source.fields) or 'none'}"
    return MissingColumnsError(
        expected,
        got=got,
        remedy="give the file with the truth first, REFERENCE then TARGET",
        naming="rename columns with --map theirs=ours",
        file=source.name,
    )


def _kept_record(state: Plain) -> Predictions:
    """The rows that a `_Share` kept, as one record."""
    parts = state["kept"]
    if any(keys is not None for keys, _ in parts):
        parts = smallest(parts, state["limit"], state["bound"])[1]
    return Predictions.concat([record for _, record in parts if record.rows])


def _uncut_reference(source: Source, bounds: tuple[int, int], by: str | None) -> Reference | None:
    """The reference in memory, where it need not be cut."""
    if not isinstance(source, RecordSource) or not source.record.can_be_judged:
        return None
    labelled = source.record.known()
    if not 0 < labelled.rows <= most(labelled, *bounds):
        return None
    check_classes(labelled, source.name)
    return Reference(
        labelled,
        rows=labelled.rows,
        correct=int(labelled.verdicts.sum()),
        unlabelled=source.record.rows - labelled.rows,
        sampled=False,
        by=by,
        verdicts=verdicts_by(labelled, by),
    )


def _read_elsewhere(
    source: Source, share: _Share, execution: Execution, rows: int | None
) -> Json | None:
    """What the engine or folder of an execution keeps of a source; None where it has so few ``rows`` that none need be
    dropped, which is not asked where ``rows`` is None.
    """
    parts = source.parts(_PART_ROWS, execution.each)
    limit = next(
        (most(batch, *share.bounds) for part in parts for batch in part.batches(share.fields)), 1
    )
    if rows is not None and rows <= limit:
        return None
    share = replace(share, limit=limit, rows_in_all=rows_of(parts))
    state: Json = execution.fold(share, parts, share.merge)
    few = sum(len(keys) for keys, _ in state["kept"]) < min(limit, state["rows"])
    if few and state["rows"] < (share.rows_in_all or 0):
        share = replace(share, rows_in_all=state["rows"])
        state = execution.fold(share, parts, share.merge)
    return state


def _read_here(source: Source, share: _Share, execution: Execution) -> Json:
    """What this process keeps of a source."""
    parts = source.parts(_PART_ROWS)
    if len(parts) == 1:
        return share(parts[0])
    state: Json = Execution(progress=execution.progress).fold(share, parts, share.merge)
    return state


def _as_one_record(parts: list[Keyed]) -> list[Keyed]:
    """Numbered rows of several batches as one record: joining copies, so that no batch is held for few of its rows."""
    if not parts or parts[0][0] is None:
        return parts
    numbers = [keys for keys, _ in parts if keys is not None]
    return [(np.concatenate(numbers), Predictions.concat([record for _, record in parts]))]


@final
@dataclass(frozen=True)
class _Share:
    """The share that a part has in the sample: labelled rows among the ``limit`` smallest numbers (0: the first batch
    tells).
    """

    fields: Strings | None
    seed: int
    bounds: tuple[int, int]
    limit: int = 0
    rows_in_all: int | None = None
    rows: int | None = None
    together: InPlace | None = None
    by: str | None = None

    def __call__(self, part: Part) -> Json:
        """What is kept of a part, and its counts."""
        bound: Any = LAST_KEY
        if self.rows_in_all is not None:
            bound = key_bound(self.limit, self.rows_in_all) or LAST_KEY
        parts: list[Keyed] = []
        limit, rows, correct, unlabelled = self.limit, 0, 0, 0
        verdicts: list[Verdicts] = []
        for batch in part.batches(self.fields):
            limit = limit or most(batch, *self.bounds)
            if self.together is not None:
                # what the truth of its rows needs is worked out here, on this core; joining records keeps it
                _ = (
                    batch.probabilities is not None and batch.top,
                    batch.can_be_judged and batch.verdicts,
                )
                batch = self.together.put(batch)
            mask, labelled = labelled_rows(batch)
            unlabelled += batch.rows - labelled.rows
            if not labelled.rows:
                continue
            rows, correct = rows + labelled.rows, correct + int(labelled.verdicts.sum())
            verdicts.append(verdicts_by(labelled, self.by))
            if self.rows is not None and self.rows <= limit:
                parts.append((None, labelled))
                continue
            # by what they hold, so that order, batches, files and machines give the same sample
            keys = seeded_keys(content_keys(labelled), self.seed)
            parts.append(
                below(_spread_keys(keys, batch.first_row + np.flatnonzero(mask)), labelled, bound)
            )
            if sum(record.rows for _, record in parts) > SLACK * limit:
                bound, parts = smallest(parts, limit, bound)
        return {
            "kept": _as_one_record(parts),
            "rows": rows,
            "correct": correct,
            "unlabelled": unlabelled,
            "verdicts": added(verdicts),
            "limit": limit,
            "bound": bound,
        }

    def merge(self, a: Json, b: Json) -> Json:
        """Two states as one."""
        counts = {name: a[name] + b[name] for name in ("kept", "rows", "correct", "unlabelled")}
        out = counts | {"limit": a["limit"] or b["limit"], "bound": min(a["bound"], b["bound"])}
        out["verdicts"] = added((a["verdicts"], b["verdicts"]))
        keys = [keys for keys, _ in out["kept"] if keys is not None]
        if keys and sum(map(len, keys)) > SLACK * out["limit"]:
            out["bound"], out["kept"] = smallest(out["kept"], out["limit"], out["bound"])
        return out


def _spread_keys(keys: Array, places: Array) -> Array:
    """The keys, but each row's own where a content fills a thousandth of the rows: all of them or none would be no fair
    sample, and which of them are kept shows in their labels alone.
    """
    often = (
        often_keys(keys, counted_keys(keys), len(keys))
        if len(keys) >= _ENOUGH_TO_SEE
        else np.zeros(1, dtype=bool)
    )
    return np.where(often, mix(keys ^ mix(places)), keys) if often.any() else keys


def _first_left_out(keys: Array, limit: int, bound: Any) -> Any:
    """The lowest key of which no row is kept: below ``bound``, and of equal keys all or none within the limit."""
    return bound if len(keys) <= limit else min(bound, np.partition(keys, limit)[limit])
