"""A table of results for the verb `read_log`: which column is what, and what it then holds."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa

from ..audits.joining import looking_like_keys
from ..classes import verdict_number
from ..errors import InputError
from ..fields import FIELDS
from ..predictions import Predictions
from ..results.reading import Question
from ..store import as_source
from ..store.columns import Layout, as_options, bare_name
from ..store.files import translated
from ..store.harness import json_rows, log_kind, read_command
from ..store.record_table import as_table
from .guessing import Asked, guess, opened_raw
from .read_content import About, Cells, Content, split_record
from .read_questions import SURE

# Names of columns, as words of small letters.
_HUMAN = re.compile(
    r"(.*_)?(human|annotators?|experts?|manual|reviewers?|people|gold_(verdict|grade|score))(_.*)?"
)
_JUDGE = re.compile(
    r"(.*_)?(judges?|judged|judgement|grader?|grades?|verdicts?|autorater|ratings?|preferences?|preferred|pass(ed)?|win|"
    r"winner|outcome|correct|right|(llm|gpt|claude|gemini)\w*)(_.*)?"
)
_MODEL = re.compile(r"model(_?name)?|system|generator")
_ELSEWHERE = {
    "response": "output",
    "prompt": "input",
    "question": "input",
    "user_input": "input",
    "task": "group",
}
_MOST_MODELS = 50
_TRUTH = {"label", "correct", "score"}


@final
@dataclass
class _Table:
    """A table as it was opened: the source, what is read (a path, or rows in memory), its rows and columns, and the
    renamings so far, theirs -> ours.
    """

    source: Any
    given: Any
    rows: Any
    columns: dict[str, Cells]
    renamed: dict[str, str]

    @property
    def fields(self) -> set[str]:
        """Fields that some column stands for."""
        return {*self.source.layout.feeds, *self.renamed.values()}

    @cached_property
    def fed(self) -> dict[str, str]:
        """The field of each column that is called as ours."""
        return _fed(self.source.layout)

    def is_free(self, name: str) -> bool:
        """Whether a column is nothing yet."""
        return name not in self.fed and name not in self.renamed


@final
class _Guessed(NamedTuple):
    """Renamings that were guessed, whether they hold or are in doubt, and what is to be said of them."""

    renamings: Mapping[str, str]
    doubtful: bool
    warnings: tuple[str, ...]


@final
class _Verdicts(NamedTuple):
    """Columns of verdicts with the field that they are for; those of judges, and those of people."""

    field_of: Mapping[str, str]
    judges: list[str]
    humans: list[str]


@final
class _Models(NamedTuple):
    """The rows of each model of a table, and what the columns that tell them apart are taken for."""

    parts: Mapping[str, Predictions]
    taken: Mapping[str, str]


def table_content(path: str, mapping: Mapping[str, str], error: InputError) -> Content:
    """What a table of results holds; ``error`` where it is none."""
    table = _open_table(path, mapping, error)
    guessed = _take_guesses(table, mapping)
    verdicts = _find_verdicts(table)
    judges, humans = verdicts.judges, verdicts.humans
    if len(judges) == 1 and not humans and not table.fields & _TRUTH:
        table.renamed[judges[0]] = verdicts.field_of[judges[0]]  # what it says is the verdict
        judges = []
    _take_usual_names(table)
    words = _score_words(table)
    record, fed = _read_record(table, words)
    keys = [name for name in looking_like_keys(table.source) if name in table.columns][:1]
    taken = dict.fromkeys(judges, "judge") | dict.fromkeys(humans[:1], "people's labels")
    taken |= dict.fromkeys(keys, "id") | fed | dict.fromkeys(words, "score (1, 0.5, 0)")
    models = _Models({}, {})
    if keys and not (humans or fed or guessed.renamings):
        models = _models_by_columns(table, keys[0], verdicts)
    if models.parts:
        judges, record = [], next(iter(models.parts.values()))
    elif record is not None:
        models = _models_by_rows(table, record, taken)
    taken |= models.taken
    in_file = isinstance(table.given, str)
    questions = []
    if guessed.doubtful:
        taken |= {column: f"{ours}?" for column, ours in guessed.renamings.items()}
        command = f"oodometer evaluate {shlex.quote(path)} {as_options({**guessed.renamings})}"
        questions.append(Question("If that is right", command))
    about = About(
        data=os.path.basename(os.path.normpath(path)),
        log=path,
        format=f"a table ({table.source.first.form if in_file else 'json'})",
        warnings=guessed.warnings,
        judges=tuple(judges),
        human=next(iter(humans), None),
    )
    renamed = {theirs: ours for theirs, ours in table.renamed.items() if theirs in table.columns}
    return Content(
        record,
        table.columns,
        taken,
        about,
        file=path if in_file else None,
        renamed=renamed if in_file else {},
        parts=models.parts,
        of_models=bool(models.parts),
        questions=questions,
    )


def _open_table(path: str, mapping: Mapping[str, str], error: InputError) -> _Table:
    """The table at a path; ``error``, or what is wrong with it, where it is none."""
    if os.path.isdir(path) and any(map(log_kind, Path(path).rglob("*"))):
        raise error  # logs that do not go together
    given = _json_table(path) if path.endswith(".json") and os.path.isfile(path) else path
    source: Any = opened_raw(given, mapping)
    if not hasattr(source, "layout"):
        if path.lower().endswith((".eval.xz", ".eval.gz", ".eval.zst", ".eval.bz2")):
            raise InputError(
                "a log of inspect as it was written",
                got="a packed one",
                remedy="unpack it first",
                file=path,
            )
        if os.path.isfile(path) and os.path.getsize(path):
            as_source(path)  # which says what is wrong
        raise error
    if source.first.form == "npz":
        rows = as_table(source.read(source.fields))
    else:
        rows = pa.Table.from_batches(list(source.raw([*source.layout.columns])))
    columns = {name: Cells(rows.column(name), source.raw_text) for name in rows.column_names}
    return _Table(source, given, rows, columns, dict(mapping))


def _json_table(path: str) -> Any:
    """The rows of a JSON array as a table, any other file by its path; totals alone are refused."""
    whole: Any = None
    with suppress(OSError, ValueError, RecursionError):
        whole = json.loads(Path(path).read_bytes())
    if isinstance(whole, dict) and not FIELDS.keys() & whole:
        beside = sorted(
            map(
                str,
                (
                    *Path(path).parent.rglob("samples_*.jsonl"),
                    *Path(path).parent.rglob("details_*"),
                ),
            )
        )
        remedy = "run the harness again with the samples logged, or name the file that holds a row for each answer"
        remedy = f"read the samples beside it: `{read_command(beside[0])}`" if beside else remedy
        raise InputError("answers, a row each", got="totals alone", remedy=remedy, file=path)
    with translated(path, "JSON"):
        return (
            pa.Table.from_pylist([row for _, row in json_rows(path)])
            if isinstance(whole, list) and whole
            else path
        )


def _fed(layout: Layout) -> dict[str, str]:
    """The field of each column that a layout uses."""
    return {column: name for name, feed in layout.feeds.items() for column in feed.columns}


def _take_guesses(table: _Table, mapping: Mapping[str, str]) -> _Guessed:
    """Guess what columns are, and rename them where that is sure and tells of an answer."""
    guessed, fields = guess(table.source, asked=Asked(taken=mapping)), table.fields
    answers = {*SURE, "prediction"}
    has_truth = fields & {"correct", "score"} or ("label" in fields and fields & answers)
    new = {} if has_truth else guessed.renamings
    if new and guessed.doubt:
        return _Guessed(new, True, (f"not sure: {guessed.doubt}",))
    of_new = {ours.split("_")[0] for ours in new.values()}
    if not (fields | of_new) & {*answers, "prob", "correct"}:
        return _Guessed(new, False, ())
    table.renamed |= new
    read = (f"{table.source.name}: {guessed.line}",) if new else ()
    return _Guessed(new, False, (*read, *guessed.notes))


def _find_verdicts(table: _Table) -> _Verdicts:
    """Columns of verdicts: people's and judges' by name; beside judges those with gaps are people's, too."""
    columns = table.columns
    field_of = {
        name: cells.verdicts
        for name, cells in columns.items()
        if cells.verdicts and table.is_free(name)
    }
    humans = [name for name in field_of if _HUMAN.fullmatch(bare_name(name))]
    judges = [name for name in field_of if name not in humans and _JUDGE.fullmatch(bare_name(name))]
    if judges and not humans:
        rows = len(table.rows)
        humans = [name for name in field_of if columns[name].known < rows and name not in judges]
    return _Verdicts(field_of, judges, humans)


def _take_usual_names(table: _Table) -> None:
    """Rename columns that are usually called otherwise, such as a prompt, where nothing else is that."""
    for name in table.columns:
        ours = _ELSEWHERE.get(bare_name(name))
        if ours and table.is_free(name) and ours not in table.fields:
            table.renamed[name] = ours


def _score_words(table: _Table) -> list[str]:
    """Columns of verdicts in words, which no other command knows: the numbers of the first become the score."""
    words = [name for name, ours in table.renamed.items() if ours == "words"]
    if words:
        says = [verdict_number(cell) for cell in table.rows.column(words[0]).to_pylist()]
        score = pa.array(says, pa.float64(), from_pandas=True)
        table.given = table.rows.append_column("score", score)
        rest = {theirs: ours for theirs, ours in table.renamed.items() if ours != "words"}
        table.renamed = rest | {"score": "score"}
    return words


def _read_record(table: _Table, words: Sequence[str]) -> tuple[Predictions | None, dict[str, str]]:
    """The record of what is known, None where nothing is; and the field of each column that it was read from."""
    given, renamed = table.given, table.renamed
    layout = Layout.parse(getattr(given, "column_names", [*table.columns]), renamed)
    fed = {
        column: ours
        for column, ours in table.fed.items()
        if column not in FIELDS and column not in renamed
    }
    fed |= _fed(layout)
    if not fed:
        return None, fed
    used = {*fed, *renamed, *words}
    extra = tuple(
        name for name, cells in table.columns.items() if name not in used and cells.kind != "list"
    )
    opened = as_source(given, mapping=renamed or None, extra_columns=extra)
    return opened.read(opened.fields), fed


def _models_by_columns(table: _Table, key: str, verdicts: _Verdicts) -> _Models:
    """Models with a column of verdicts each, where there are several and nothing else is known."""
    names = [name for name, ours in verdicts.field_of.items() if ours == "correct"]
    if len(names) < 2:
        return _Models({}, {})
    ids = {"id": np.array(table.rows.column(key).to_pylist(), dtype=object)}
    parts = {
        name: Predictions.from_arrays(correct=table.rows.column(name).to_pylist(), columns=ids)
        for name in names
    }
    return _Models(parts, dict.fromkeys(names, "verdict on a model"))


def _models_by_rows(table: _Table, record: Predictions, taken: Mapping[str, str]) -> _Models:
    """Models whose rows a column tells apart."""
    for name, cells in table.columns.items():
        several = name not in taken and 1 < cells.distinct <= _MOST_MODELS
        if several and _MODEL.fullmatch(bare_name(name)):
            return _Models(split_record(record, record.columns[name]), {name: "model"})
    return _Models({}, {})
