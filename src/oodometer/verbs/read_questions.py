"""What a log or a table can be asked, each question with its command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from ..results.reading import Question
from ..store.columns import as_options
from .costs import is_cost, is_of_errors
from .guessing import opened_raw
from .read_content import Content, files_in, plain_name

SURE = {
    "probabilities",
    "logits",
    "confidence",
    "candidate_scores",
    "token_logprobs",
    "votes",
    "members",
}
"""Fields that tell how sure a model is."""
_BESIDE = 10  # files that are looked at
_NEEDS = {
    "OTHER": "another run of the same questions",
    "TARGET": "the same model's answers to other data",
    "REFERENCE": "labelled answers of the same model",
    "JUDGED": "a table with the same ids, and a judge's verdicts in the column VERDICTS",
    "PREDICTED": "predictions of a model with the same ids",
}


def questions_of(content: Content, files: Sequence[str]) -> tuple[Question, ...]:
    """What a content can be asked, as it lies in these files, or, where none was written, in its own."""
    if content.about.agreed is not None:
        return tuple(_of_votes(content, files))
    needed = {
        theirs: ours for theirs, ours in content.renamed.items() if ours not in ("input", "output")
    }
    options, first = shlex.split(as_options(needed)), list(content.questions)
    if content.of_models:
        if not files:
            folder = f"{plain_name(Path(str(content.file)).stem)}-models/"
            words = ("read", content.about.log, "--out", folder)
            first.append(_question("A file for each model", *words))
            files = files_in(folder, content.parts)
            options = []
        file, other_files = files[0], list(files[1:])
    else:
        file = str(content.file)
        other_files = _alike_beside(Path(file))
    asking = _Asking(content, file, files, other_files, options)
    rest = [*asking.how_good(), *asking.of_judges(), *asking.of_confidence()]
    if not first and not rest:
        rest = list(asking.of_numbers())
    return (*first, *rest, *asking.of_texts())


def _of_votes(content: Content, files: Sequence[str]) -> Iterator[Question]:
    """What the votes of several raters are for."""
    file = files[0] if files else f"{plain_name(Path(content.about.log).stem)}-votes.parquet"
    if not files:
        yield _question("The vote on each", "read", content.about.log, "--out", file)
    if content.truth:
        words = ("JUDGED", "--judge", "VERDICTS", "--labels", file)
        yield _question("Is a judge right?", "audit", *words)
    else:
        yield _question("Is a model right?", "evaluate", "PREDICTED", "--labels", file)


def _question(asks: str, *words: str) -> Question:
    """A question with the words of its command."""
    needs = next((f"{word}: {_NEEDS[word]}" for word in words if word in _NEEDS), "")
    return Question(asks, shlex.join(["oodometer", *words]), needs)


def _alike_beside(path: Path) -> list[str]:
    """Files beside this one with the same columns, which may be other runs."""
    beside = sorted(path.parent.glob(f"*{path.suffix}"))[:_BESIDE] if path.is_file() else ()
    return [
        str(candidate)
        for candidate in beside
        if candidate.name != path.name and _head(candidate) == _head(path)
    ]


def _head(path: Path) -> Any:
    """The columns of a table, as far as its first line tells them."""
    if path.suffix not in (".csv", ".jsonl"):
        return getattr(opened_raw(str(path)), "columns", None)
    with path.open("rb") as stream, suppress(ValueError):
        line = stream.readline(1 << 16)
        return {*json.loads(line)} if path.suffix == ".jsonl" else line
    return None


@final
@dataclass(frozen=True)
class _Asking:
    """A content with the file that commands name, all files, others of the same columns, and options of renamings."""

    content: Content
    file: str
    files: Sequence[str]
    others: Sequence[str]
    options: Sequence[str]

    @property
    def _fields(self) -> set[str]:
        record = self.content.record
        return set() if record is None else {*record.fields}

    def how_good(self) -> Iterator[Question]:
        """Questions about the number, where the truth is known."""
        content, file, options = self.content, self.file, self.options
        if not content.truth:
            return
        one_file = len(self.files) < 2
        all_files = [file] if content.of_models or not self.files else self.files
        yield _question("How good is it?", "evaluate", *all_files, *options)
        if content.groups and not content.of_models and one_file:
            yield _question("By task", "evaluate", file, *options, "--by", "group")
        repeated = content.ids is not None and content.ids["most"] > 1
        if content.clusters and not repeated and (one_file or content.of_models):
            cluster = ("--cluster", content.clusters[0])
            yield _question("If rows depend", "evaluate", file, *options, *cluster)
        second = self.others[:1] or ["OTHER"]
        yield _question("Is another better?", "compare", file, *second, *options)
        if self.others and content.truth == "accuracy" and not options:
            yield _question("Which is the best?", "rank", file, *self.others[:4])

    def of_judges(self) -> Iterator[Question]:
        """Whether a judge is right, where people's labels stand beside its verdicts."""
        about = self.content.about
        if about.human and about.judges:
            words = ("--judge", about.judges[0], "--labels", about.human)
            yield _question("Is the judge right?", "audit", self.file, *words)

    def of_confidence(self) -> Iterator[Question]:
        """How good the model is on other data, or on these, where it says how sure it is."""
        if self._fields & SURE and self.content.truth == "accuracy":
            words = (self.file, "TARGET", *self.options)
            yield _question("How good elsewhere?", "estimate", *words)
        elif self._fields & SURE and not self.content.truth:
            words = ("REFERENCE", self.file, *self.options)
            yield _question("How good is it?", "estimate", *words)

    def _free_columns(self) -> dict[str, Any]:
        """Columns that judges wrote, or that are nothing yet, without those of errors, by name."""
        content, columns = self.content, self.content.columns
        free = {n: c for n, c in columns.items() if not is_of_errors(n)}
        judges = content.about.judges
        return {n: c for n, c in free.items() if n in judges or n not in content.taken}

    def of_numbers(self) -> Iterator[Question]:
        """Whether a column of verdicts is the truth, or one of numbers the score, where nothing else is known."""
        content = self.content
        if content.truth or content.about.human:
            return
        judges = content.about.judges
        free = self._free_columns()
        for name, cells in free.items():
            if cells.verdicts == "correct" and cells.distinct > 1:
                words = (self.file, *self.options, "--map", f"{name}=correct")
                yield _question(f"If {name} says what is right", "evaluate", *words)
        graded = [name for name in judges if "number" in content.columns[name].kind]
        numbers = [
            name  # whole numbers that all differ count the rows
            for name, cells in free.items()
            if "number" in cells.kind
            and not (is_cost(name) or cells.verdicts)
            and not (cells.kind == "whole number" and cells.most < 2)
        ]
        for name in (graded or ([] if judges else numbers))[:2]:
            words = (self.file, *self.options, "--map", f"{name}=score")
            yield _question(f"If {name} is the score", "evaluate", *words)

    def of_texts(self) -> Iterator[Question]:
        """Whether errors can be spotted by those who read the texts."""
        if {"input", "output"} <= self._fields and self.content.truth == "accuracy":
            everything = shlex.split(as_options({**self.content.renamed}))
            words = ("train", self.file, *everything, "--out", "judges")
            yield _question("Can errors be spotted?", "discriminate", *words)
