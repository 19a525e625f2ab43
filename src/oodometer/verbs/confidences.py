"""Confidences of a source: columns that say how sure the model was, and what repeated answers to a question tell."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from hashlib import blake2b
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from ..arrays import Array, refuse
from ..audits.joining import KEY
from ..errors import InputError, OodometerError
from ..inference.clusters import EPOCH_OF_ID
from ..options import reword
from ..predictions import Predictions
from ..results.view import READ
from ..scores import answer_agreement, normalized_answer, stated_confidence
from ..store import Source, source_beside
from ..store.columns import bare_name, usual_field
from ..store.memory import ChangedSource

# of repeated answers, as `scores.answer_agreement` gives them
REPEATS = (
    "answer_agreement",
    "answer_certainty",
)
_PERPLEXITY = re.compile(r"(.*_)?(perplexity|ppl)")
_STATED = re.compile(
    r"verbali[sz]ed.*|p_?true|(semantic_)?negentropy|non_?contradiction|self_?consistency|normalized_probability|"
    rf"min_probability|{_PERPLEXITY.pattern}"
)
_SAMPLES = re.compile(
    r"((re)?sampled|multiple|repeated)_(responses|answers|outputs|generations)|samples|generations"
)
_MEANING = re.compile(r"semantic_(ids?|sets?|clusters?|cluster_ids?)|meanings?")
_LONG = 64  # characters of an answer or a prompt; of longer ones a digest is kept


def as_read(what: str) -> str:
    """A line that says what was read under names of a user's own, and how to change that."""
    sentence = OodometerError(f"read {what}; --map {READ}")
    reword(sentence, ("mapping",))  # which Python calls it
    return str(sentence)


def is_stated(column: str) -> bool:
    """Whether a column of this name is a confidence among others."""
    return usual_field(column) == "confidence" or _STATED.fullmatch(bare_name(column)) is not None


def with_confidences(
    source: Source, named: Iterable[str] | None = None
) -> tuple[Source, tuple[str, ...], list[str]]:
    """The source with a further column for each confidence that it can tell, their names, and lines on what was done;
    ``named``: these, of which none may be missing, the first as the field `confidence`.
    """
    values: dict[str, Array] = {}
    lines: list[str] = []
    for name in [c for c in source.own_columns if is_stated(c)] if named is None else named:
        try:
            if name not in REPEATS:
                values[name], done = _stated(source, name)
                lines += [as_read(f"{name} {done}")] if done else []
        except InputError as error:
            if named is not None:
                raise error.at(file=source.path) from None
            lines.append(f"{error.at()}; {name} is not compared")
    if named is None or {*named} & {*REPEATS}:
        values |= _repeats(source)
    if named is None:
        record = Predictions(len(next(iter(values.values()), ())), columns=values)
        return (source_beside(source, record, values) if values else source), tuple(values), lines
    (name,) = named
    if name not in values:
        expected = (
            "several answers to a question: rows that share an `id`, or a column of lists `samples`"
        )
        remedy = "give `id` and `output` (or `answer`) of every repeat, or another confidence"
        raise InputError(expected, got="none", column=name, file=source.path, remedy=remedy)
    unknown = np.isnan(values[name])
    if unknown.any():
        row = int(np.argmax(unknown)) + 1
        got = "a question that was asked once" if name in REPEATS else "an empty cell"
        remedy = (
            f"drop such rows ({int(unknown.sum())} of {len(unknown)}), or take another confidence"
        )
        raise InputError(
            "a confidence in every row",
            got=got,
            row=row,
            column=name,
            file=source.path,
            remedy=remedy,
        )
    return source_beside(source, Predictions.from_confidence(values[name], source=name)), (), lines


def read_from(source: Any) -> str:
    """The column that the field `confidence` of a source is read from."""
    while isinstance(source, ChangedSource):
        beside = getattr(source.change, "record", None)
        if beside is not None and beside.has("confidence"):
            return str(beside.source)
        source = source.inner
    feed = source.layout.feeds.get("confidence") if hasattr(source, "layout") else None
    return "confidence" if feed is None else feed.columns[0]


def needs_reading(source: Source, renamed: bool) -> bool:
    """Whether the column `confidence` holds texts such as "85 %", or, ``renamed`` to it by hand, percents."""
    if not hasattr(source, "layout") or "confidence" not in source.layout.feeds:
        return False
    with closing(cast(Any, source.raw(["confidence"]))) as batches:
        cells = next(batches).column(0)
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return renamed and bool(np.nanmax(numbers, initial=0) > 1)
    return bool(
        pt.is_string(cells.type) or pt.is_large_string(cells.type) or pt.is_dictionary(cells.type)
    )


def _texts(source: Source, column: str, change: Callable[[str], str]) -> list[str]:
    """The changed texts of a column, of long ones a digest, "" where null: no more is held of outputs and prompts."""
    out: list[str] = []
    for batch in source.raw([column]):
        cells = batch.column(0).cast(pa.large_string()).fill_null("").dictionary_encode()
        texts = [change(text) for text in cells.dictionary.to_pylist()]
        short = [
            t if len(t) <= _LONG else f"h{blake2b(t.encode(), digest_size=16).hexdigest()}"
            for t in texts
        ]
        out += [short[index] for index in cells.indices.to_pylist()]
    return out


def _stated(source: Source, column: str) -> tuple[Array, str]:
    """The numbers of one column as fractions, NaN where empty, and what was done to them."""
    cells = pa.chunked_array([batch.column(0) for batch in source.raw([column])])
    perplexity = _PERPLEXITY.fullmatch(bare_name(column)) is not None
    try:
        numbers = cells.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not perplexity:
            return stated_confidence(cells.to_pylist(), column)
        raise InputError(
            "numbers", got="other cells", column=column, remedy="leave the column out"
        ) from None
    if perplexity:
        below, remedy = numbers < 1, "it is exp(-mean log-probability of the tokens)"
        refuse(below, column, "a perplexity, at least 1", lambda at: f"{numbers[at]:.6g}", remedy)
        return 1 / numbers, f"as 1 / {column}"
    are_fractions = np.nanmin(numbers, initial=0) >= 0 and np.nanmax(numbers, initial=0) <= 1
    return (numbers, "") if are_fractions else stated_confidence(numbers.tolist(), column)


def _question_keys(source: Source) -> list[str]:
    return _texts(source, KEY, lambda text: EPOCH_OF_ID.sub("", text))


def _samples(source: Source) -> str | None:
    return next((c for c in source.columns if _SAMPLES.fullmatch(bare_name(c))), None)


def _meaning(source: Source) -> str | None:
    """The column that tells answers of one meaning by an id, which somebody's model of entailment gave."""
    return next((c for c in source.columns if _MEANING.fullmatch(bare_name(c))), None)


def _meanings(source: Source) -> list[list[Any]] | None:
    """What the samples of each row mean, where that column holds lists."""
    column = _meaning(source)
    return None if column is None else _lists(source, column)


def may_repeat(source: Source) -> bool:
    """Whether there are several answers to some question: lists of samples, or ids that repeat."""
    if not any(map(source.holds, ("answer", "output"))) and not all(
        map(source.holds, ("epoch", "prediction"))
    ):
        return False
    has_lists = _samples(source) is not None or _meanings(source) is not None
    if has_lists or not source.holds(KEY):
        return has_lists
    keys = _question_keys(source)
    return len({*keys}) < len(keys)


def _repeats(source: Source) -> dict[str, Array]:
    """Agreement and certainty of repeated answers, by name; nothing where no question was asked twice."""
    if not may_repeat(source):
        return {}
    if (lists := _meanings(source)) is not None:
        asked = np.repeat(np.arange(len(lists)), [*map(len, lists)])
        sure = np.full(len(lists), np.nan)
        sure[asked] = answer_agreement([value for ids in lists for value in ids], asked.tolist())[1]
        return {REPEATS[1]: sure}
    meaning, samples = _meaning(source), _samples(source)
    if meaning is None:
        column = next(name for name in ("answer", "prediction", "output") if source.holds(name))
        answers = _texts(source, column, normalized_answer)
        lists = None if samples is None else _lists(source, samples)
    else:
        answers = _texts(source, meaning, str)
    if lists is not None:
        texts = [*answers, *(text for sampled in lists for text in sampled)]
        sizes = [*map(len, lists)]
        rows = [*range(len(lists)), *np.repeat(np.arange(len(lists)), sizes).tolist()]
        both = answer_agreement(texts, rows)
        return {name: values[: len(answers)] for name, values in zip(REPEATS, both, strict=True)}
    if not source.holds(KEY):
        return {}
    keys = [
        _question_keys(source),
        *(_texts(source, name, str) for name in ("group", "input") if source.holds(name)),
    ]
    both = answer_agreement(answers, [*zip(*keys, strict=True)])
    return {} if np.isnan(both[0]).all() else dict(zip(REPEATS, both, strict=True))


def _lists(source: Source, column: str) -> list[list[Any]] | None:
    """The lists of samples in a column, as logs and as CSV have them; None where some cell holds none."""
    lists = [cell for batch in source.raw([column]) for cell in batch.column(0).to_pylist()]
    for parse in (json.loads, ast.literal_eval):
        if all(isinstance(entry, str) for entry in lists):
            with suppress(ValueError, SyntaxError):
                lists = [parse(entry) for entry in lists]
    return lists if all(isinstance(entry, list) for entry in lists) else None
