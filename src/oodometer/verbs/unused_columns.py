"""Unused columns: what is said of a user's columns that change no number, though they might be meant to: weights of
rows, names of whom several rows are of, and of models whose answers stand in one file.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array
from ..audits.joining import KEY, question_column
from ..errors import InputError, OodometerError
from ..store import Source
from ..store.columns import bare_name, columns_called
from ..store.encoding import raw_numbers
from ..store.where import equal_to

_WEIGHT = re.compile(r"((sample|sampling|case|row|survey|instance|observation|example)_?)?weights?")
_SIZE = re.compile(r"height|bmi|age|length|width")  # beside which a weight is one in kilograms
_WHO = re.compile(
    r"(customer|client|account|acct|user|member|patient|subject|person|participant|respondent|visitor|session|group|"
    r"team|household|family|student|player|conversation|dialogue|thread|passage|document|doc|cluster|prompt|question|problem|"
    r"query|instruction)"
    r"(_?(id|uuid|no|nr|number|key|code|name))?"
)
_FEWEST = 10  # values; fewer are categories
_SPLIT = re.compile(
    r"((data|dataset|sample|row)_?)?(split|subset|partition|set|role|stage)(_?(name|type))?"
)
_IN_TRAINING = re.compile(r"(in_?|is_?|was_?|for_?)(train(ing|ed)?|fit)(_?(set|row|sample|data))?")
_TRAINING = {"train", "training", "fit", "development"}
_HELD_OUT = {
    "test",
    "testing",
    "holdout",
    "hold_out",
    "val",
    "valid",
    "validation",
    "eval",
    "oot",
    "oos",
}
MODEL = re.compile(r"model(_?name)?|system|generator")  # columns that tell models apart
# and those that may, where the rows of each value answer the same questions
_MAY_BE_MODEL = re.compile(
    r"(model|classifier|algorithm|algo|estimator|learner|method|llm|engine|checkpoint|version|variant|arm|provider|"
    r"deployment|endpoint|annotator|rater|labell?er|coder|grader|reviewer)(_?(name|id|version|type|key|tag))?"
)
_PROMPT = re.compile(r"(question|prompt|instruction|task|item|input|query|problem)(_?(hash|text))?")
_RATER = re.compile(r"(annotator|rater|labell?er|coder|grader|reviewer).*")
MOST_MODELS = 50
_FEWEST_LISTS = 20  # rows that show an order
_MOST_ROWS = 200_000  # that are looked at for models


def said_of_unused(
    source: Source, named: Collection[str], *, offers_cluster: bool, offers_weight: bool = False
) -> dict[str, str]:
    """Column -> what is to be said of it, for columns that no option has ``named``; ``offers_cluster``: the verb takes
    a column of rows that depend on each other, and none was given; ``offers_weight``: likewise one of weights.
    """
    columns = [name for name in source.own_columns if name not in named]
    sizes = [name for name in columns if _SIZE.fullmatch(bare_name(name))]
    weights = [name for name in columns if _WEIGHT.fullmatch(bare_name(name))]
    weights = [
        name
        for name in weights
        if not (sizes and bare_name(name) == "weight") and _is_weight(source, name)
    ]
    out = {
        name: f"{name} is not used: every row counts alike"
        + f"; count each by it with --weight {shlex.quote(name)}" * offers_weight
        for name in weights[:1]
    }
    out |= _said_of_training(source, columns)
    if not offers_cluster:
        return out
    fields = [name for name in ("group",) if source.holds(name) and name not in (*named, *columns)]
    repeats = {
        name: count for name in (*columns, *fields) if (count := _values_of_rows(source, name))
    }
    # rows of one id are clusters without a word
    if not repeats or (source.holds(KEY) and _repeats(source, KEY)):
        return out
    name = min(repeats, key=lambda column: repeats[column])
    text = (
        f"{repeats[name]:,} values of {name} repeat: where rows of one {name} depend on each other"
    )
    return {**out, name: f"{text}, --cluster {shlex.quote(name)} widens the intervals"}


def _said_of_training(source: Source, columns: Collection[str]) -> dict[str, str]:
    """A warning where rows that a model learnt from stand beside those held out, as a column of splits says."""
    for name in columns:
        if not (_SPLIT.fullmatch(bare_name(name)) or _IN_TRAINING.fullmatch(bare_name(name))):
            continue
        values = [str(value) for value in _values(source, name)]
        if _IN_TRAINING.fullmatch(bare_name(name)):
            words = {"true", "yes", "1"}, {"false", "no", "0"}
        else:
            words = _TRAINING, _HELD_OUT
        learnt, held_out = ([v for v in values if bare_name(v) in kind] for kind in words)
        if learnt and held_out:
            where = shlex.quote(equal_to(name, held_out[0]))
            text = f"rows that the model learnt from count alike ({name} is {learnt[0]})"
            return {name: f"{text}: --where {where} leaves those held out"}
    return {}


def said_of_sorted_lists(source: Source) -> list[str]:
    """A warning where lists of probabilities that name no classes fall from the first entry to the last in every row,
    as the likeliest answers of a model do: then the first entry is not the first class.
    """
    feed = source.layout.feeds.get("probabilities") if hasattr(source, "layout") else None
    if feed is None or not all(name.isdecimal() for name in feed.suffixes or ()):
        return []
    p = _first_probabilities(source)
    are_many = len(p) >= _FEWEST_LISTS and p.shape[1] > 2 and len(np.unique(p[:, 0])) > 2
    if not are_many or (np.diff(p, axis=1) > 0).any():
        return []
    what = f"{feed.columns[0]} falls from the first entry to the last in every row"
    if feed.wide:
        what = f"{feed.columns[0]}, {feed.columns[1]}, ... fall from the first to the last in every row"
    why = "if that is the order of rank and not of the classes, the accuracy is wrong"
    return [f"{what}: {why}; name the class of each entry"]


def said_of_contradicted(source: Source) -> list[str]:
    """A warning where `correct` is false in rows whose label is the prediction, as that of a column of errors is."""
    feeds = source.layout.feeds if hasattr(source, "layout") else {}
    if not {"label", "prediction", "correct"} <= {*feeds}:
        return []
    with (
        suppress(OodometerError),
        closing(cast(Any, source.batches(("label", "prediction", "correct")))) as batches,
    ):
        first = next(batches, None)
        if first is not None:
            alike = (first.label == first.predicted) & (first.label >= 0)
            wrong = alike & (first.correct == 0)
            what = f"{feeds['correct'].columns[0]} is false in {int(wrong.sum()):,} of"
            text = f"{what} {int(alike.sum()):,} rows whose label is the prediction"
            return [f"{text}; accuracy is that of the former"] if wrong.any() else []
    return []


def _first_probabilities(source: Source) -> Array:
    """Probabilities of the first rows, (sample, class), where their classes only count entries; else none."""
    with (
        suppress(OodometerError),
        closing(cast(Any, source.batches(("probabilities",)))) as batches,
    ):
        first = next(batches, None)
        if first is not None and all(isinstance(name, int) for name in first.classes or ()):
            return np.asarray(first.probabilities)
    return np.zeros((0, 1))


def refuse_several_models(source: Source, named: Collection[str]) -> None:
    """`InputError` for rows of several models, each of which answered the same ids: no number is of all of them.

    ``source`` is without the rows that conditions leave out; columns that options have ``named`` tell no models apart.
    """
    told = models_told_apart(source, named)
    if told is None:
        return
    column, names = told
    remedy = f"--where {shlex.quote(equal_to(column, names[0]))} leaves those of one"
    is_of_people = _RATER.fullmatch(bare_name(column)) is not None
    if source.path is not None and is_of_people:
        remedy = f"`oodometer read {shlex.quote(source.path)}` says how far they agree; {remedy}"
    elif source.path is not None:
        folder = f"{re.sub('[^A-Za-z0-9._-]+', '_', Path(source.path).stem)}-models/"
        read = f"oodometer read {shlex.quote(source.path)} --out {folder}"
        remedy = f"write a file for each: `{read}`; {remedy}"
    raise InputError(
        "labels of one person" if is_of_people else "answers of one model",
        got=f"{len(names)} in column {column}: {', '.join(names[:3])}",
        file=source.path,
        remedy=remedy,
    )


def models_told_apart(source: Source, named: Collection[str] = ()) -> tuple[str, list[str]] | None:
    """The column that tells rows of several models apart, and its values, each of which answered the same questions: by
    the ids that repeat, or their texts, or, without ids, by truths that stand in one order. None where no column does.
    """
    key = KEY if source.holds(KEY) else question_column(source)
    keys = [key] if key is not None else columns_called(_PROMPT, source.columns)
    columns = columns_called(MODEL, source.own_columns)
    columns = columns or columns_called(_MAY_BE_MODEL, source.own_columns)
    truth = source.layout.feeds.get("label") if hasattr(source, "layout") else None
    for column in columns:
        if column in named or column in keys:
            continue
        found = (_models_of_ids(source, column, key) for key in keys)
        names = next(filter(None, found), [])
        if key is None and truth is not None:
            names = names or _models_in_order(source, column, truth.columns[0])
        if len(names) > 1:
            return column, names
    return None


def _models_of_ids(source: Source, column: str, key: str) -> list[str]:
    """The values of a column where most ids have a row of several, each of them once, or one of each; else none."""
    pairs = _cells_beside(source, key, column)
    names = list(dict.fromkeys(str(name) for _, name in pairs if name is not None))
    if not 1 < len(names) <= MOST_MODELS:
        return []
    several = sum(count > 1 for count in Counter(key for key, _ in pairs).values())
    is_each_once = len({*pairs}) == len(pairs) and several > len(pairs) / len(names) / 2
    of_ids = Counter(key for key, _ in {*pairs})
    is_of_each = sum(count == len(names) for count in of_ids.values()) > len(of_ids) / 2
    return names if is_each_once or is_of_each else []


def _models_in_order(source: Source, column: str, truth: str) -> list[str]:
    """The values of a column whose rows hold the same truths in the same order, enough of them; else none."""
    truths: dict[str | None, list[str | None]] = {}
    for label, name in _cells_beside(source, truth, column):
        truths.setdefault(name, []).append(label)
    first, *others = [*truths.values()] or [[]]
    is_alike = all(labels == first for labels in others)
    is_enough = len(first) >= _FEWEST_LISTS and len({*first}) > 1
    return [*map(str, truths)] if others and is_alike and is_enough else []


def _cells_beside(source: Source, *columns: str) -> list[tuple[str | None, str | None]]:
    """Cells of two columns, row by row; none of tables that are too long, or whose cells are no texts."""
    with suppress(InputError):
        cells = [source.keys(name) for name in columns]
        if len(cells[0]) <= _MOST_ROWS:
            return list(zip(*(column.to_pylist() for column in cells), strict=True))
    return []


def _is_weight(source: Source, name: str) -> bool:
    """Whether the first rows are numbers from 0 on that vary."""
    with suppress(InputError), closing(cast(Any, source.raw([name]))) as batches:
        batch = next(batches, None)
        if batch is not None:
            numbers = raw_numbers(batch.column(0), name, source.raw_text, source.decimal_comma)
            finite = numbers[np.isfinite(numbers)]
            return bool(len(finite) and finite.min() >= 0 and finite.min() < finite.max())
    return False


def _values_of_rows(source: Source, name: str) -> int:
    """How many values a column has that is called as who rows are of, where they repeat as such names do; else 0."""
    if not _WHO.fullmatch(bare_name(name)):
        return 0
    counts = _counts(source, name)
    rows = int(counts.sum())
    is_who = max(_FEWEST, rows**0.5 / 2) <= len(counts) <= rows / 2
    return len(counts) if is_who else 0


def _repeats(source: Source, name: str) -> bool:
    counts = _counts(source, name)
    return bool(len(counts) and counts.max() > 1)


def _counts(source: Source, name: str) -> Array:
    """How often each value stands in the first rows; none where they are no single values."""
    return _counted(source, name)[1]


def _values(source: Source, name: str) -> list[Any]:
    """The different values in the first rows; none where they are no single values."""
    return _counted(source, name)[0]


def _counted(source: Source, name: str) -> tuple[list[Any], Array]:
    """The values in the first rows, without empty cells, and how often each stands there."""
    from ..store.cells import key_cells, numbers_of

    with suppress(InputError), closing(cast(Any, source.raw([name]))) as batches:
        batch = next(batches, None)
        if batch is not None:
            cells = batch.column(0)
            cells = cells.cast(pa.string()) if pt.is_boolean(cells.type) else cells
            counted = key_cells(cells, name).drop_null().value_counts()
            return counted.field("values").to_pylist(), numbers_of(counted.field("counts"), 0)
    return [], np.zeros(0, dtype=np.int64)
