"""Answers: how sure a model was, from repeated answers to a question and from what it says of itself, as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..arrays import Array
from ..classes import is_null
from ..errors import InputError
from ..fields import check_length

_NUMBER = re.compile(r"[-+]?[$€£]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?%?")
_SIGNS = re.compile(r"(?<=\d),(?=\d{3})|(?<!\d)\.|\.(?!\d)|(?<!\s)-|-(?!\d)|[^\w\s.-]")


def normalized_answer(answer: Any) -> str:
    """An answer as SQuAD's script compares it: small letters, no punctuation, no articles, single blanks.

    Numbers keep their sign and decimals, and 1,000 is 1000.0; a letter "A" alone is an option, not an article. "" for
    null. Source: Rajpurkar et al. (2016).

    >>> [normalized_answer(x) for x in ("The  Eiffel Tower.", "A.", "$1,000", "-3.50", "it is 3.5", None)]
    ['eiffel tower', 'a', '1000', '-3.5', 'it is 3.5', '']
    """
    if is_null(answer):
        return ""
    text = str(answer).strip().lower()
    number = text.rstrip(".")
    if any(map(str.isdigit, number)) and _NUMBER.fullmatch(number):
        return repr(float(re.sub(r"[^\d.+-]", "", number))).removesuffix(
            ".0"
        ) + "%" * number.endswith("%")
    bare = " ".join(_SIGNS.sub("", " " + text).split())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split()) or bare or text


def answer_agreement(
    answers: Sequence[Any], questions: Sequence[Any], same: Callable[[Any, Any], bool] | None = None
) -> tuple[Array, Array]:
    """For each answer the share of all answers to its question, itself among them, that are the same; and 1 - H / log n
    of the question, H the entropy of its different answers: 1 where all n agree, 0 where all differ. Both (sample,).

    answers : texts or other values, one a sample.
    questions : what each answers, of the same length; equal ones are one question. `InputError` where the lengths
        differ.
    same : ``same(a, b)`` says whether two answers are the same, and is asked of each answer and the first of each group
        so far; None: where `normalized_answer` is.

    An empty answer agrees with none: its share is 0. NaN for a question that was asked once. Sources: Wang et al.
    (2023); Farquhar et al. (2024), whose entropy over groups of one meaning it is.

    >>> share, sure = answer_agreement(["Paris", "paris.", "Rome", "", "4"], ["q1", "q1", "q1", "q1", "q2"])
    >>> share.tolist(), sure.round(2).tolist()
    ([0.5, 0.5, 0.25, 0.0, nan], [0.25, 0.25, 0.25, 0.25, nan])
    """
    check_length(len(answers), len(questions), "questions")
    code_of: dict[Any, int] = {}
    place_of: dict[Any, int] = {}
    question = np.array(
        [place_of.setdefault(value, len(place_of)) for value in questions], dtype=np.int64
    )
    normalized = {
        value: normalized_answer(value)
        for value in {value for value in answers if isinstance(value, str)}
    }
    bare = [
        normalized[value] if isinstance(value, str) else normalized_answer(value)
        for value in answers
    ]
    code = np.array(
        [
            -1 - row if not value else code_of.setdefault(value, len(code_of))
            for row, value in enumerate(bare)
        ]
    )
    if same is not None:
        firsts: dict[int, list[int]] = {}
        for row in np.flatnonzero(code >= 0).tolist():
            group = firsts.setdefault(int(question[row]), [])
            alike = next((first for first in group if same(answers[row], answers[first])), row)
            group += [row] * (alike == row)
            code[row] = alike
    width = 2 * len(answers) + 1
    pairs, at, count = np.unique(
        question * width + code + len(answers), return_inverse=True, return_counts=True
    )
    size = np.bincount(question).astype(np.float64)
    share = count / size[pairs // width]
    entropy = np.bincount(pairs // width, -share * np.log(share))
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = np.clip(1 - entropy / np.log(size), 0, 1)
    alone = size[question] < 2
    agreement = np.where(code < 0, 0.0, share[at])
    return np.where(alone, np.nan, agreement), np.where(alone, np.nan, sure[question])


def semantic_entropy(
    clusters: Sequence[Any], questions: Sequence[Any], log_probabilities: Any = None
) -> Array:
    """For each answer the entropy, in nats, of the meanings of all answers to its question, shape (sample,).

    H = -sum_c p(c) log p(c). Without probabilities p(c) is the share of the answers that mean c; with those of the
    answers p(c) is the sum of those that mean c, over that of all. An answer is the likelier right the lower it is.

    clusters : what each answer means, equal values for one meaning: ids that a model of entailment gave, or answers
        after `normalized_answer`.
    questions : what each answers, of the same length; equal ones are one question. `InputError` where lengths differ.
    log_probabilities : of each whole answer, at most 0, or its mean over tokens, to divide by its length.

    Sources: Kuhn et al. (2023), with probabilities; Farquhar et al. (2024), with shares.

    >>> semantic_entropy(["paris", "paris", "rome", "4"], ["q1", "q1", "q1", "q2"]).round(3).tolist()
    [0.637, 0.637, 0.637, 0.0]
    >>> semantic_entropy([0, 0, 1], [0, 0, 0], np.log([0.3, 0.3, 0.2])).round(3).tolist()  # 3/4 and 1/4
    [0.562, 0.562, 0.562]
    """
    check_length(len(clusters), len(questions), "questions")
    logs = np.zeros(len(clusters)) if log_probabilities is None else np.asarray(log_probabilities)
    check_length(len(clusters), len(logs), "log_probabilities")
    if not (np.isfinite(logs) & (logs <= 0)).all():
        raise InputError(
            "finite log-probabilities, at most 0", got="others", remedy="leave such answers out"
        )
    at: dict[Any, int] = {}
    question = np.array([at.setdefault(value, len(at)) for value in questions], dtype=np.int64)
    top = np.full(len(at), -np.inf)
    np.maximum.at(top, question, logs)
    weight = np.exp(logs - top[question])
    share = weight / np.bincount(question, weight)[question]
    meanings: dict[Any, int] = {}
    pairs = zip(question.tolist(), clusters, strict=True)
    meaning = np.array([meanings.setdefault(pair, len(meanings)) for pair in pairs], dtype=np.int64)
    p = np.bincount(meaning, share)[meaning]  # of each answer's meaning
    return np.bincount(question, -share * np.log(np.maximum(p, 5e-324)))[question]


_WORDS = {
    "very low": 0.1,
    "low": 0.3,
    "medium": 0.5,
    "moderate": 0.5,
    "high": 0.7,
    "very high": 0.9,
}
_STATED = re.compile(
    r"(?:confidence *[:=]? *)?(\d+(?:\.\d+)?|\.\d+) *(%|percent|(?:/|out of) *(\d+))?\.?"
)
_UNKNOWN = {"", "na", "n/a", "nan", "none", "null", "unknown"}


def stated_confidence(cells: Iterable[Any], column: str = "confidence") -> tuple[Array, str]:
    """Confidences that a model stated, as fractions, NaN where a cell is empty, shape (sample,); and what was done.

    cells : texts or numbers, one a sample. 0.85 stays; "85 %", "85/100" and "85 out of 100" are divided; bare numbers
        are percents where one is above 10, none above 100, and none but 0 and 1 a fraction; of low, medium, high (very
        low, very high) each word is a number, 0.3, 0.5, 0.7 (0.1, 0.9), which orders answers and is no probability.
    column : their name in errors.

    Raises `InputError` naming the row for other texts, and where bare numbers leave two readings. Source: Tian et al.
    (2023).

    >>> stated_confidence(["85 %", "0.6", None, "high"])
    (array([0.85, 0.6 , nan, 0.7 ]), 'with percents divided by 100 and words taken as low 0.3, medium 0.5, high 0.7')
    >>> stated_confidence([85, 100, 1])
    (array([0.85, 1.  , 0.01]), 'with percents divided by 100')
    """
    texts = ["" if is_null(cell) else str(cell).strip().lower() for cell in cells]
    stated: dict[str, _Stated] = {}
    for row, text in enumerate(texts):
        if text not in stated:
            stated[text] = _read_stated(text, row + 1, column)
    bare = [read.value for read in stated.values() if read.kind == "bare"]
    percents = max(bare, default=0) > 1
    for text, read in stated.items():
        in_percent = percents and read.kind == "bare"
        unclear = in_percent and (max(bare) <= 10 or 0 < read.value < 1)
        _check_stated(text, read, 100 if in_percent else 1, unclear, column)
    kinds = {read.kind for read in stated.values()}
    scale = {"bare": 100 if percents else 1}
    values = np.array([stated[text].value / scale.get(stated[text].kind, 1) for text in texts])
    return values, _what_was_done(percents or "share" in kinds, "word" in kinds)


def _what_was_done(percents: bool, words: bool) -> str:
    """How percents and words became fractions, "" where there are none."""
    done = ["percents divided by 100"] * percents
    done += ["words taken as low 0.3, medium 0.5, high 0.7"] * words
    return "with " + " and ".join(done) if done else ""


def _check_stated(text: str, read: _Stated, limit: float, unclear: bool, column: str) -> None:
    """`InputError` for what is no confidence, or leaves two readings."""
    outside = read.kind != "none" and not 0 <= read.value <= limit
    if outside or unclear:
        expected = "a confidence between 0 and 1, or percents"
        expected = "fractions or percents alone" if unclear else expected
        remedy = "write percents with a %, tenths as 8/10, or divide the column"
        raise InputError(expected, got=text[:60], row=read.row, column=column, remedy=remedy)


class _Stated(NamedTuple):
    """What a cell states, and the first row that does."""

    value: float
    kind: Literal["none", "word", "share", "bare"]  # bare numbers may be percents
    row: int


def _read_stated(text: str, row: int, column: str) -> _Stated:
    match = _STATED.fullmatch(text)
    if text in _UNKNOWN:
        return _Stated(np.nan, "none", row)
    if (word := text.removesuffix(" confidence").rstrip(".")) in _WORDS:
        return _Stated(_WORDS[word], "word", row)
    if match is None:
        expected, got = "a confidence", repr(text[:60])
        remedy = (
            "write 0.85, 85 %, or low, medium, high; leave the cell empty where none was stated"
        )
        raise InputError(expected, got=got, row=row, column=column, remedy=remedy)
    number, unit, of = match.groups()
    if not unit:
        return _Stated(float(number), "bare", row)
    return _Stated(float(number) / (float(of or 100) or np.nan), "share", row)
