"""SQuAD: ``{id: text}`` predictions beside the data set that they answer; exact match and F1 of the official script."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import InputError, OodometerError
from ...fields import FIELDS
from .base import Answers, LogOptions, json_rows, read_json
from .graded import Graded, graded

_PAIR = rb'\s*"(?:[^"\\]|\\.)*"\s*:\s*"(?:[^"\\]|\\.)*"\s*[,}]'
_ANSWERS = re.compile(rb"\{" + _PAIR + rb"(" + _PAIR + rb")*")
_DATA = re.compile(rb'"(paragraphs|qas|answers)"\s*:')


def is_answers(file: str, start: bytes) -> bool:
    """Whether a file is one mapping from ids to texts, and no row of a table."""
    try:
        whole = read_json(file) if _ANSWERS.match(start) else None
    except OodometerError:
        return False
    return isinstance(whole, dict) and all(isinstance(v, str) for v in whole.values()) and not FIELDS.keys() & whole


def normalized(text: str) -> str:
    """Small letters without punctuation, articles and repeated blanks, as the official script compares answers.

    >>> normalized("The  Eiffel-Tower!")
    'eiffeltower'
    """
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def exact_match(said: str, golds: Sequence[str]) -> float:
    """1 where the answer is one of the right ones after normalising, else 0; no right one means: no answer."""
    return float(normalized(said) in {normalized(gold) for gold in golds or [""]})


def f1(said: str, golds: Sequence[str]) -> float:
    """Harmonic mean of the precision and recall of words, of the right answer where it is largest (Rajpurkar et al.
    2016); where either has no words 1 if both have none, else 0.

    >>> round(f1("the red fox", ["red fox cub", "dog"]), 3)
    0.8
    """
    best, words = 0.0, normalized(said).split()
    for gold in [normalized(gold).split() for gold in golds or [""]]:
        same = sum((Counter(words) & Counter(gold)).values())
        best = max(best, 2 * same / (len(words) + len(gold)) if words and gold else float(words == gold))
    return best


def read_squad(file: str, options: LogOptions) -> Answers:
    """Predictions, graded by the data set in the same folder that has their ids; ``passage`` is the paragraph, of which
    several questions are: a cluster.
    """
    said = read_json(file)
    folder, out = Path(file).parent, Answers(file, Path(file).stem)
    best, questions = "", dict[str, tuple[list[str], str, int]]()
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.jsonl"))):
        with path.open("rb") as stream:
            is_data = path.name != Path(file).name and _DATA.search(stream.read(1 << 16))
        if is_data:
            with suppress(OodometerError, AttributeError, TypeError, KeyError):  # another file
                asked_in = {name: (golds, asked, passage) for name, golds, asked, passage in _questions(str(path))}
                if len(said.keys() & asked_in) > len(said.keys() & questions):
                    best, questions = str(path), asked_in
    if missing := [name for name in said if name not in questions]:
        got = f"{best} without {missing[0]}" if best else f"none beside it that has {missing[0]}"
        remedy = "put the data set (data, paragraphs, qas, answers) into its folder; it holds the right answers"
        raise InputError("the data set that these answers are of", got=got, file=file, remedy=remedy)
    out.task = Path(best).stem
    rows = []
    for row, (name, text) in enumerate(said.items(), 1):
        golds, asked, passage = questions[name]
        scores = {"exact_match": exact_match(text, golds), "f1": f1(text, golds)}
        rows.append(Graded(row, name, scores, text, asked, more={"passage": passage}))
    graded(out, rows, options, ("exact_match",))
    if absent := len(questions) - len(said):
        out.warnings.append(
            f"{file}: {absent} questions of {best} have no answer; the official script counts them as 0"
        )
    return out


def _questions(file: str) -> Iterator[tuple[str, list[str], str, int]]:
    """Id, right answers, question and number of the paragraph of each question."""
    if file.endswith(".jsonl"):
        entries: Any = [entry for _, entry in json_rows(file)]
    else:
        whole = read_json(file)
        entries = whole.get("data", []) if isinstance(whole, Mapping) else whole
    passages: dict[str, int] = {}
    for entry in entries:
        for paragraph in entry.get("paragraphs", [entry]):
            passage = passages.setdefault(str(paragraph.get("context")), len(passages))
            for question in paragraph.get("qas", [paragraph]):
                answers = question["answers"]  # a list of texts, or their columns, as on the hub
                texts = answers["text"] if isinstance(answers, Mapping) else [answer["text"] for answer in answers]
                golds = [text for text in texts if normalized(text)]
                yield str(question["id"]), golds, str(question.get("question", "")), passage
