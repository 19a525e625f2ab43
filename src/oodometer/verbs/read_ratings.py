"""Ratings in a table for the verb `read`: what several people said of the same items, how far they agree, and
their vote.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ..arrays import Array
from ..classes import TRUTH, verdict_number
from ..errors import InputError, NotApplicable
from ..inference.agreement import Ratings, Scale, agreement, vote
from ..intervals import clopper_pearson
from ..plain import Strings
from ..predictions import Predictions
from ..results import Interval
from ..results.reading import Agreed, RaterRead
from ..store.columns import bare_name
from ..store.documents import table_of_rows
from ..store.harness.join import LOG_NAMES, file_kind
from ..store.harness.shaped import ratings_of
from ..store.shapes import SHAPES
from .guessing import opened_raw
from .options import ReadOptions
from .read_content import About, Cells, Content

_RATER = re.compile(
    r"(rater|annotator|coder|labell?er|reviewer|worker|expert|user|crowd_?worker)(_?(id|name))?"
)
_ITEM = re.compile(
    r"(id|item|unit|doc|document|text|question|sample|example|task|record|subject)(_?(id|index|name))?"
)
_WIDE = re.compile(r"(rater|annotator|coder|labell?er|reviewer|worker|expert|human)_?\w+")
_RATING = re.compile(
    r"(.*_)?(ratings?|labels?|scores?|grades?|verdicts?|values?|annotations?|choices?|category|class|sentiment|correct|"
    r"judge?ment|answer|response)(_.*)?"
)
_NO_RATING = re.compile(r"(.*_)?(id|ids|index|at|time|date|uuid)")
_MODEL_SAID = ("prediction", "confidence", "probabilities", "logits")
_FEW_ITEMS = 10  # the fewest whose intervals of alpha were tried (benchmarks/results/agreement.md)
_MOST_GRADES = 11  # of raters in columns of their own
_MOST_VALUES = 50  # of a rating; of more, and of no numbers, it is a text


@final
class _Table(NamedTuple):
    """What people said: names of items and raters, and the cells by rater and item, None for none."""

    question: str
    items: list[str]
    raters: list[str]
    cells: list[list[Any]]
    taken: Mapping[str, str]


def ratings_content(path: Any, options: ReadOptions) -> Content | None:
    """What a file of ratings by several people holds; None for any other file."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return None
    name, kind = os.fspath(path), file_kind(path)
    shape = SHAPES.get(kind or "")
    if kind is not None and (shape is None or not shape.rater):
        return None
    form = LOG_NAMES[kind] if kind else f"a table ({os.path.splitext(name)[1][1:]})"
    data = name if shape is None else table_of_rows(ratings_of(shape, name), name)
    source = opened_raw(data, options.mapping)
    if not _may_be_rated(source):
        return None
    rows = _arrow(source)
    columns = {column: Cells(rows.column(column), source.raw_text) for column in rows.column_names}
    requested = options.metric if isinstance(options.metric, str) else None
    found = _long(rows, columns, requested, is_export=shape is not None) or _wide(rows, columns)
    return None if found is None else _content(name, form, columns, found)


def _may_be_rated(source: Any) -> bool:
    """Whether names of columns tell of raters, and none of a model; the rows are not read."""
    if source is None or not hasattr(source, "layout") or source.first.form == "npz":
        return False
    names = [bare_name(name) for name in source.layout.columns]
    is_long = any(map(_RATER.fullmatch, names))
    is_wide = len([*filter(_WIDE.fullmatch, names)]) > 1
    return (is_long or is_wide) and not set(_MODEL_SAID) & {*source.fields}


def _arrow(source: Any) -> Any:
    """All rows of a source as one Arrow table."""
    import pyarrow as pa

    return pa.Table.from_batches(list(source.raw([*source.layout.columns])))


def _first_named(columns: Mapping[str, Cells], pattern: re.Pattern[str], but: Strings) -> str:
    """The first column whose name has the pattern, "" for none."""
    names = (name for name in columns if name not in but)
    return next((name for name in names if pattern.fullmatch(bare_name(name))), "")


def _long(
    rows: Any, columns: Mapping[str, Cells], requested: str | None, *, is_export: bool
) -> _Table | None:
    """A row for each rating: columns of the item, of the rater and of what was said."""
    rater = _first_named(columns, _RATER, ())
    item = _first_named(columns, _ITEM, (rater,))
    if not rater or not item or columns[item].most < 2:
        return None
    rated = [
        name
        for name in columns
        if name not in (rater, item)
        and _is_rating(columns[name])
        and not _NO_RATING.fullmatch(bare_name(name))
    ]
    if not is_export:
        rated = [name for name in rated if _RATING.fullmatch(bare_name(name))] or rated
    if not rated or not 1 < columns[rater].distinct < columns[rater].known:
        return None
    if requested is not None and requested not in rated:
        raise InputError(
            "a column of ratings",
            got=repr(requested),
            remedy=f"name one: --metric {' or --metric '.join(map(shlex.quote, rated[:3]))}",
        )
    question = requested or max(rated, key=lambda name: columns[name].known)
    items, raters = (list(map(str, rows.column(name).to_pylist())) for name in (item, rater))
    cells = _cells_by_rater(items, raters, rows.column(question).to_pylist())
    if cells is None:
        return None
    taken = dict.fromkeys(rated, "another rating")
    taken |= {item: "item", rater: "rater", question: "rating"}
    return _Table(question, [*dict.fromkeys(items)], [*dict.fromkeys(raters)], cells, taken)


def _cells_by_rater(
    items: Sequence[str], raters: Sequence[str], cells: Sequence[Any]
) -> list[list[Any]] | None:
    """The ratings by rater and item, in their order; None where a rater said two things of an item."""
    said = dict[tuple[str, str], Any]()
    for item, rater, cell in zip(items, raters, cells, strict=True):
        if cell is not None and said.setdefault((rater, item), cell) != cell:
            return None
    keys = [*dict.fromkeys(items)]
    return [[said.get((rater, item)) for item in keys] for rater in dict.fromkeys(raters)]


def _wide(rows: Any, columns: Mapping[str, Cells]) -> _Table | None:
    """A column for each rater; a judge's verdicts beside them are looked at elsewhere."""
    names = [
        name for name in columns if _WIDE.fullmatch(bare_name(name)) and _is_rating(columns[name])
    ]
    raters = [name for name in names if _is_like(rows, name, names[0])]
    if len(raters) < 2 or columns[raters[0]].distinct > _MOST_GRADES:
        return None
    item = _first_named(columns, _ITEM, tuple(raters))
    keys = rows.column(item).to_pylist() if item else range(len(rows))
    items = [*map(str, keys)]
    if len({*items}) < len(items):
        return None
    cells = [rows.column(name).to_pylist() for name in raters]
    taken = dict.fromkeys(raters, "rater") | ({item: "item"} if item else {})
    return _Table("vote", items, raters, cells, taken)


def _is_rating(cells: Cells) -> bool:
    """Whether a column may hold ratings: numbers, or few words."""
    is_few = cells.distinct <= _MOST_VALUES and 2 * cells.distinct <= max(cells.known, 4)
    return cells.known > 1 and (cells.kind in ("number", "whole number") or is_few)


def _is_like(rows: Any, name: str, first: str) -> bool:
    """Whether two raters say the same kind of thing: half of the values of one are those of the other."""
    values, others = ({*rows.column(each).to_pylist()} - {None, ""} for each in (name, first))
    return 2 * len(values & others) >= max(len(values), len(others))


def _content(name: str, form: str, columns: Mapping[str, Cells], found: _Table) -> Content | None:
    """The agreement, the vote as a record, and what can be asked with it."""
    numbers, words = _numbers(found.cells)
    try:
        ratings = Ratings.of(numbers)
    except NotApplicable:
        return None
    scale = _scale_of(ratings.values, words)
    first = agreement(ratings, scale)
    winners, shares = vote(numbers)
    rated = np.isfinite(numbers).sum(axis=0)
    tied = int((np.isnan(winners) & (rated > 0)).sum())
    others: dict[Scale, Interval] = {}
    if words is None:
        scales: tuple[Scale, ...] = ("nominal", "ordinal", "interval")
        others = {other: agreement(ratings, other).alpha for other in scales if other != scale}
    agreed = Agreed(
        scale=scale,
        alpha=first.alpha,
        with_vote=first.with_vote,
        items=int(ratings.items.sum()),
        raters=tuple(_rater(who, k, numbers) for k, who in enumerate(found.raters)),
        tied=tied,
        others={str(other): interval for other, interval in others.items()},
    )
    about = About(
        data=os.path.basename(name),
        log=name,
        format=f"ratings of {len(found.raters)} people, {form}",
        warnings=_warnings(found, tied, int(ratings.items.sum())),
        agreed=agreed,
    )
    record = _votes(found, winners, shares, rated, words)
    return Content(record, columns, {**found.taken}, about, file=name)


def _warnings(found: _Table, tied: int, items: int) -> Strings:
    """What is to be said of items with one rating, of ties, and of other questions."""
    lines = []
    if once := len(found.items) - items:
        lines.append(f"{once:,} of {len(found.items):,} items have fewer than two ratings")
    if items < _FEW_ITEMS:
        text = f"only {items:,} items have two ratings or more"
        lines.append(f"{text}: of fewer than {_FEW_ITEMS} nothing says how often intervals hold")
    if tied:
        lines.append(f"{tied:,} votes are ties; they are unknown in the file of votes")
    others = [name for name, ours in found.taken.items() if ours == "another rating"]
    if others:
        named = " or ".join(f"--metric {shlex.quote(name)}" for name in others[:3])
        lines.append(f"the ratings are those of {found.question}; {named} takes another")
    return tuple(lines)


def _numbers(cells: Sequence[Sequence[Any]]) -> tuple[Array, list[str] | None]:
    """Ratings as numbers by rater and item, NaN for none; words by their place among all words, which come beside."""
    known = [cell for row in cells for cell in row if cell not in (None, "")]
    try:
        numbers = [[np.nan if cell in (None, "") else float(cell) for cell in row] for row in cells]
    except (TypeError, ValueError):
        words = sorted({str(cell) for cell in known})
        place = {word: float(k) for k, word in enumerate(words)}
        coded = [[place.get(str(cell), np.nan) for cell in row] for row in cells]
        return np.array(coded, dtype=float), words
    return np.array(numbers, dtype=float), None


def _scale_of(values: Array, words: list[str] | None) -> Scale:
    """The scale of ratings: of words and of two values nominal, of whole grades ordinal, of other numbers interval."""
    if words is not None or len(values) < 3:
        return "nominal"
    return "ordinal" if not (values % 1).any() else "interval"


def _rater(who: str, number: int, ratings: Array) -> RaterRead:
    """How often a rater says what the others' vote says; items on which they tie are left out."""
    others = np.delete(ratings, number, axis=0)
    winners, _ = (
        vote(others) if np.isfinite(others).any() else (np.full(ratings.shape[1], np.nan),) * 2
    )
    both = np.isfinite(winners) & np.isfinite(ratings[number])
    rated, compared = int(np.isfinite(ratings[number]).sum()), int(both.sum())
    if not compared:
        return RaterRead(who, rated, None)
    agrees = int((ratings[number] == winners)[both].sum())
    ends = clopper_pearson(agrees, compared, 0.95)
    return RaterRead(who, rated, Interval(agrees / compared, *ends, 0.95, "exact"))


def _votes(
    found: _Table, winners: Array, shares: Array, rated: Array, words: list[str] | None
) -> Predictions:
    """The vote on each item: whether it is right where the words are verdicts, a score of numbers, else a label."""
    beside = {"id": np.array(found.items, dtype=object), "rated": rated, "agreed": shares}
    known = np.isfinite(winners)
    if words is None:
        values = np.unique(winners[known])
        if {*values.tolist()} <= {0.0, 1.0}:
            return Predictions.from_arrays(correct=winners, columns=beside)
        return Predictions.from_arrays(score=winners, columns=beside)
    said = [words[int(winner)] if ok else None for winner, ok in zip(winners, known, strict=True)]
    if {word.strip().lower() for word in words} <= TRUTH.keys():
        verdicts = [None if word is None else verdict_number(word) for word in said]
        return Predictions.from_arrays(correct=verdicts, columns=beside)
    if not known.any():
        raise InputError("one vote that is no tie", got="none", remedy="ask another rater")
    return Predictions.from_arrays(label=said, columns=beside)
