"""A table of results for the verb `read`: which column is what, and what it then holds."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa

from ..audits.joining import looking_like_keys, question_column
from ..classes import ABSTAINED, verdict_number
from ..errors import InputError, OodometerError
from ..fields import FIELDS
from ..metrics.abstention import ANSWERED
from ..metrics.mean_score import FAILED_GRADE
from ..notes import file_name
from ..passes.reference import check_classes, label_warnings
from ..plain import Strings
from ..predictions import Predictions
from ..results.reading import METRIC_NAME, WIN_RATE, Question
from ..store import as_source
from ..store.columns import LOGPROB, Layout, as_options, bare_name
from ..store.documents import read_document
from ..store.harness import log_kind
from ..store.harness.shaped import battles_of_shape
from ..store.record_table import as_table
from ..store.shapes import SHAPES
from .confidences import needs_reading, with_confidences
from .guessing import Asked, Guessing, guess, opened_raw
from .metric_names import MetricNames, metric_names, refuse_metrics, where_option
from .opening import Opener
from .read_battles import BattleRows, Battles, battle_rows, battles_of
from .read_content import About, Cells, Content, split_record
from .read_questions import SURE
from .unused_columns import MODEL, MOST_MODELS, models_told_apart

# Names of columns, as words of small letters.
_HUMAN = re.compile(
    r"(.*_)?(human|annotators?|experts?|manual|reviewers?|people|gold_(verdict|grade|score))(_.*)?"
)
_JUDGE = re.compile(
    r"(.*_)?(judges?|judged|judgement|grader?|grades?|verdicts?|autorater|ratings?|preferences?|preferred|pass(ed)?|win|"
    r"winner|outcome|correct|right|status|rewards?|success|solved|resolved|(llm|gpt|claude|gemini)\w*)(_.*)?"
)
_ELSEWHERE = {
    "response": "output",
    "prompt": "input",
    "question": "input",
    "user_input": "input",
    "task": "group",
}
_METRIC = re.compile(
    r"(acc(uracy)?|em|exact_match|f1|mc[12]|mcq|pass_at_\d+|pass_\d+|resolved|(quasi|prefix|strict|flexible|inst|prompt)_"
    r"(\w+_)?(match|acc|em))(_(norm|bytes|char|mutual_info|stderr|strict|loose|none))?"
)
_ANSWERS = ("answer", "gold", "target", "correct_answer", "answer_key", "gt")
_RESPONSES = ("response", "model_answer", "choice", "chosen", "pred", "output")
_LETTER = re.compile(r"[A-Za-z]")
_PROMPT = re.compile(r"(question|prompt|instruction|task|item)(_?(id|uid|hash|text))?")
_TRUTH = {"label", "correct", "score"}


@final
@dataclass
class _Table:
    """A table as it was opened: the source, what is read (a path, or rows in memory), its rows and columns, and the
    renamings so far, theirs -> ours. notes : where in a JSON document its rows stand.
    """

    source: Any
    given: Any
    rows: Any
    columns: dict[str, Cells]
    renamed: dict[str, str]
    notes: Strings = ()

    @property
    def fields(self) -> set[str]:
        """Fields that some column stands for."""
        return {*self.source.layout.feeds, *self.renamed.values()}

    @cached_property
    def fed(self) -> dict[str, str]:
        """The field of each column that is called as ours."""
        return _fed(self.source.layout)

    @property
    def is_file(self) -> bool:
        """Whether the other commands can read it as it is, and not only rows in memory."""
        return isinstance(self.given, str)

    @property
    def renamed_for_others(self) -> dict[str, str]:
        """The renamings that the other commands need: `id` they take by themselves, and what they guess alike."""
        if not self.is_file:
            return {}
        needed = {c: ours for c, ours in self.renamed.items() if c in self.columns and ours != "id"}
        texts = {c: ours for c, ours in needed.items() if ours in ("input", "output")}
        others = {c: ours for c, ours in needed.items() if c not in texts}
        return texts if others and self._is_guessed(others) else needed

    def _is_guessed(self, renamings: Mapping[str, str]) -> bool:
        """Whether commands that are given the file alone read it as with these renamings, or as such a reference."""
        sources: list[Any] = [as_source(self.given, mapping=dict(renamings))]
        try:
            for shared in (False, True):
                opener = Opener(None, guessing=Guessing(shared=shared))
                sources.append(opener.open(self.given))
        except OodometerError:
            return False
        # that of confidences in percents stands around the source of the file
        layouts = (getattr(source, "inner", source).layout for source in sources)
        wanted, *read = ({*layout.feeds.values()} for layout in layouts)
        return all(feeds == wanted for feeds in read)

    def is_free(self, name: str) -> bool:
        """Whether a column is nothing yet."""
        return name not in self.fed and name not in self.renamed


@final
class _Guessed(NamedTuple):
    """Renamings that were guessed, whether they hold or are in doubt, and what is to be said of them."""

    renamings: Mapping[str, str]
    doubtful: bool
    warnings: tuple[str, ...]
    remedy: str = ""

    def questions(self, path: str) -> list[Question]:
        """How to read the table at a path as was guessed, where that is in doubt and no other remedy mends it."""
        if not self.doubtful or self.remedy:
            return []
        command = f"oodometer evaluate {shlex.quote(path)} {as_options({**self.renamings})}"
        return [Question("If that is right", command)]


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
    keys = _take_id(table)
    battles = battles_of(table.rows, table.columns, keys[0] if keys else None)
    if battles is not None:
        return _content_of_battles(path, table, battles, keys)
    if metrics := metric_names(table.source):
        return _content_of_metrics(path, table, metrics)
    _take_choices(table)
    guessed = _take_guesses(table, mapping)
    verdicts = _find_verdicts(table, guessed)
    other_metrics = _take_first_metric(table, verdicts)
    humans = verdicts.humans
    judges = [] if _take_only_judge(table, verdicts) else verdicts.judges
    _take_usual_names(table)
    words, abstained = _score_words(table)
    record, fed, stated = _read_record(table, words)
    record, failed = _without_failed_grades(record, table.source.name)
    taken = dict.fromkeys(judges, "judge") | dict.fromkeys(humans[:1], "people's labels")
    taken |= dict.fromkeys(keys, "id") | fed | dict.fromkeys(other_metrics, "another metric")
    taken |= dict.fromkeys(words, "correct" if "correct" in table.fields else "score (1, 0.5, 0)")
    models = _Models({}, {})
    if keys and not (humans or fed or guessed.renamings):
        models = _models_by_columns(table, keys[0], verdicts)
    if models.parts:
        judges, record = [], next(iter(models.parts.values()))
    elif record is not None:
        models = _models_by_rows(table, record, taken)
    taken |= models.taken
    if guessed.doubtful:
        taken |= {column: f"{ours}?" for column, ours in guessed.renamings.items()}
    about = About(
        data=os.path.basename(os.path.normpath(path)),
        log=path,
        format=f"a table ({'json' if path.endswith('.json') else table.source.first.form})",
        warnings=(
            *table.notes,
            *guessed.warnings,
            *abstained,
            *failed,
            *stated,
            *_said_of_labels(record, models, path),
            *_said_of_metrics(table, other_metrics),
        ),
        judges=tuple(judges),
        human=next(iter(humans), None),
    )
    return Content(
        record,
        table.columns,
        taken,
        about,
        file=path if table.is_file else None,
        renamed=table.renamed_for_others,
        parts=models.parts,
        of_models=bool(models.parts),
        questions=guessed.questions(path),
    )


def _open_table(path: str, mapping: Mapping[str, str], error: InputError) -> _Table:
    """The table at a path; ``error``, or what is wrong with it, where it is none."""
    if os.path.isdir(path) and any(map(log_kind, Path(path).rglob("*"))):
        raise error  # logs that do not go together
    document = read_document(path) if path.endswith(".json") else None
    source: Any = opened_raw(path if document is None else document.table, mapping)
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
    notes = () if document is None else document.notes
    return _Table(source, path, rows, columns, dict(mapping), notes)


def _fed(layout: Layout) -> dict[str, str]:
    """The field of each column that a layout uses."""
    return {column: name for name, feed in layout.feeds.items() for column in feed.columns}


def _take_guesses(table: _Table, mapping: Mapping[str, str]) -> _Guessed:
    """Guess what columns are, and rename them where that is sure and tells of an answer."""
    guessed, fields = guess(table.source, asked=Asked(taken=mapping)), table.fields
    answers = {*SURE, "prediction"}
    grades = {"correct"} if guessed.takes_no_grade else {"correct", "score"}
    has_truth = fields & grades or ("label" in fields and fields & answers)
    new = {} if has_truth else guessed.renamings
    if new and guessed.doubt:
        remedy = f"; {guessed.remedy}" if guessed.remedy else ""
        return _Guessed(new, True, (f"not sure: {guessed.doubt}{remedy}",), guessed.remedy)
    of_new = {ours.split("_")[0] for ours in new.values()}
    if not (fields | of_new) & {*answers, "prob", "logit", LOGPROB, "correct"}:
        return _Guessed(new, False, ())
    table.renamed |= new
    read = (f"{table.source.name}: {guessed.line}",) if new else ()
    return _Guessed(new, False, (*read, *guessed.notes))


def _find_verdicts(table: _Table, guessed: _Guessed) -> _Verdicts:
    """Columns of verdicts: people's and judges' by name; beside judges those with gaps are people's, too. A column that
    may be the truth, as good and bad are of a loan, is no verdict.
    """
    columns, asked = table.columns, guessed.renamings if guessed.doubtful else {}
    field_of = {
        name: cells.verdicts
        for name, cells in columns.items()
        if cells.verdicts and table.is_free(name) and name not in asked
    }
    humans = [name for name in field_of if _HUMAN.fullmatch(bare_name(name))]
    judges = [name for name in field_of if name not in humans and _JUDGE.fullmatch(bare_name(name))]
    if judges and not humans:
        rows = len(table.rows)
        humans = [name for name in field_of if columns[name].known < rows and name not in judges]
    return _Verdicts(field_of, judges, humans)


def _take_only_judge(table: _Table, verdicts: _Verdicts) -> bool:
    """Read what the only judge says as the verdict where nothing else tells it; whether that was done."""
    if len(verdicts.judges) != 1 or verdicts.humans or table.fields & _TRUTH:
        return False
    (name,) = verdicts.judges
    table.renamed[name] = verdicts.field_of[name]
    return True


def _take_usual_names(table: _Table) -> None:
    """Rename columns that are usually called otherwise, such as a prompt, where nothing else is that."""
    for name in table.columns:
        ours = _ELSEWHERE.get(bare_name(name))
        if ours and table.is_free(name) and ours not in table.fields:
            table.renamed[name] = ours


def _content_of_metrics(path: str, table: _Table, metrics: MetricNames) -> Content:
    """Rows that are each of one metric: each is asked for by itself; `InputError` for their totals."""
    if metrics.totals:
        refuse_metrics(metrics, path)
    numbers = [
        name
        for name, cells in table.columns.items()
        if "number" in cells.kind and (name == "score" or table.is_free(name)) and cells.most > 1
    ]
    score = next((name for name in numbers if name in ("score", "value")), next(iter(numbers), ""))
    renamed = table.renamed | ({} if score in ("", "score") else {score: "score"})
    options = as_options({theirs: ours for theirs, ours in renamed.items() if ours != "id"})
    questions = [
        Question(
            f"How good is {metric}?",
            " ".join(
                filter(
                    None,
                    (
                        f"oodometer evaluate {shlex.quote(path)}",
                        options,
                        f"--where {where_option(metrics, metric)}",
                    ),
                )
            ),
        )
        for metric in (metrics.names if score else ())
    ]
    about = About(
        data=os.path.basename(os.path.normpath(path)),
        log=path,
        format=f"a table, a row for each of {len(metrics.names)} metrics of an answer",
        warnings=(
            *table.notes,
            f"{metrics.column} says which metric a row is of: each is one by itself",
        ),
    )
    taken = {metrics.column: METRIC_NAME} | ({score: "score"} if score else {})
    return Content(None, table.columns, taken, about, file=path, questions=questions)


def _take_id(table: _Table) -> list[str]:
    """The column that is taken for the id: the first that is named so, unless its values repeat and it is named as no
    question's. One of a question under another name becomes `id`.
    """
    keys = [name for name in looking_like_keys(table.source) if name in table.columns]
    question = question_column(table.source)
    if question in table.columns and "id" not in table.renamed.values():
        table.renamed[str(question)] = "id"
        return [str(question)]
    key = next(iter(keys), None)
    is_id = key is not None and (key == "id" or table.columns[key].most <= 1)
    return [str(key)] if is_id else []


def _take_choices(table: _Table) -> None:
    """Letters of choices that are called `answer` and `response`, the truth and what the model chose."""
    names = {bare_name(name): name for name in table.columns if table.is_free(name)}
    truth = next((names[name] for name in _ANSWERS if name in names), None)
    chosen = next((names[name] for name in _RESPONSES if name in names), None)
    if truth is None or chosen is None or table.fields & {*_TRUTH, "prediction"}:
        return
    letters, responses = (
        {
            str(cell).strip()
            for cell in table.rows.column(name).to_pylist()
            if cell not in (None, "")
        }
        for name in (truth, chosen)
    )
    if letters and all(_LETTER.fullmatch(cell) for cell in letters | responses):
        table.renamed |= {truth: "label", chosen: "prediction"}


def _take_first_metric(table: _Table, verdicts: _Verdicts) -> list[str]:
    """Columns of 0 and 1 that are called as metrics are, of one model: the first says what is right; the others."""
    names = [
        name
        for name, ours in verdicts.field_of.items()
        if ours == "correct" and _METRIC.fullmatch(bare_name(name))
    ]
    if not names or table.fields & _TRUTH or verdicts.judges:
        return []
    table.renamed[names[0]] = "correct"
    return names[1:]


def _said_of_metrics(table: _Table, metrics: Sequence[str]) -> list[str]:
    """What further metrics of the same rows say."""
    lines = []
    for name in metrics:
        says = [verdict_number(cell) for cell in table.rows.column(name).to_pylist()]
        mean = np.nanmean(np.array(says, dtype=float))
        text = f"{name} is another metric of the same rows, {100 * mean:.1f} %"
        lines.append(f"{text}: --map {name}=correct reads it")
    return lines


def _content_of_battles(path: str, table: _Table, battles: Battles, keys: Sequence[str]) -> Content:
    """What a table of two models a row holds: the score of each model, 1 where it won."""
    about = About(
        data=os.path.basename(os.path.normpath(path)),
        log=path,
        format="a table of two models a row, scored 1 for the one that won, 0.5 for a tie",
        warnings=battles.warnings,
        metrics=(WIN_RATE,),
    )
    taken = {**dict.fromkeys(keys, "id"), **battles.taken}
    record = next(iter(battles.parts.values()))
    strongest = Question("Which is the strongest?", f"oodometer rank {shlex.quote(path)}")
    return Content(
        record,
        table.columns,
        taken,
        about,
        parts=battles.parts,
        of_models=True,
        questions=[strongest],
    )


def _score_words(table: _Table) -> tuple[list[str], list[str]]:
    """Columns of verdicts in words, which no other command knows: what the first says becomes whether an answer is
    correct, or, with ties, the score; and what is to be said of answers that were not given.
    """
    words = [name for name, ours in table.renamed.items() if ours == "words"]
    if not words:
        return [], []
    cells = table.rows.column(words[0]).to_pylist()
    says = np.array([verdict_number(cell) for cell in cells], dtype=float)
    ours = "score" if (says == 0.5).any() else "correct"
    table.given = table.rows.append_column(ours, pa.array(says, pa.float64(), from_pandas=True))
    rest = {theirs: field for theirs, field in table.renamed.items() if field != "words"}
    table.renamed = rest | {ours: ours}
    abstained = np.array([str(cell).strip().lower() in ABSTAINED for cell in cells])
    answered = says[~abstained & np.isfinite(says)]
    if not abstained.any() or not len(answered):
        return words, []
    table.given = table.given.append_column(ANSWERED, pa.array(~abstained))
    share = f"{100 * answered.mean():.1f} % of the {len(answered):,} that were given are right"
    return words, [f"{abstained.sum():,} answers were not given and count as wrong; {share}"]


def _without_failed_grades(
    record: Predictions | None, file: str
) -> tuple[Predictions | None, list[str]]:
    """The record without scores of -1 where all others are grades from 0 on, and what is to be said of them."""
    score: Any = None if record is None else record.score
    if record is None or score is None:
        return record, []
    failed = score == FAILED_GRADE
    rest = score[~failed & np.isfinite(score)]
    if not failed.any() or not len(rest) or rest.min() < 0 or rest.max() < 2 or (rest % 1).any():
        return record, []
    text = f"{failed.sum():,} scores of {file_name(file)} are -1, as graders write a grade that they could not"
    note = (
        f"{text} give; they are left out here, and `--where 'score>=0'` leaves them out elsewhere"
    )
    return replace(record, score=np.where(failed, np.nan, score)), [note]


def _read_record(
    table: _Table, words: Sequence[str]
) -> tuple[Predictions | None, dict[str, str], list[str]]:
    """The record of what is known, None where nothing is; the field of each column that it was read from; and what is
    to be said of confidences that are stated in percents or words.
    """
    data, renamed = table.given, table.renamed
    layout = Layout.parse(getattr(data, "column_names", [*table.columns]), renamed)
    fed = {n: ours for n, ours in table.fed.items() if not (n in FIELDS or n in renamed)}
    fed |= _fed(layout)
    objects = {ours for column, ours in fed.items() if _holds_objects(table, column, ours)}
    fed = {column: ours for column, ours in fed.items() if ours not in objects}
    if not fed:
        return None, fed, []
    used = {*fed, *renamed, *words}
    opened = as_source(data, mapping=renamed or None, extra_columns=_further(table, used, words))
    notes: list[str] = []
    if opened.holds("confidence") and needs_reading(opened, "confidence" in renamed.values()):
        stated = next((theirs for theirs, ours in renamed.items() if ours == "confidence"), None)
        opened, _, notes = with_confidences(opened, [stated or "confidence"])
    return opened.read([name for name in opened.fields if name not in objects]), fed, notes


def _further(table: _Table, used: Collection[str], words: Sequence[str]) -> Strings:
    """Columns that go with the record although no field reads them, but for lists."""
    plain = (name for name, cells in table.columns.items() if cells.kind != "list")
    further = [name for name in plain if name not in used]
    further += ["id"] if "id" in table.renamed.values() else []
    further += [ANSWERED] if words and ANSWERED in table.given.column_names else []
    return tuple(further)


def _holds_objects(table: _Table, column: str, field: str) -> bool:
    """Whether the cells of a field of texts are none, as messages of an input: no other command asks for them."""
    cells = table.columns.get(column)
    return cells is not None and cells.kind == "list" and FIELDS[field].cell == "text"


def _said_of_labels(record: Predictions | None, models: _Models, path: str) -> list[str]:
    """What is to be said of labels that most answers of one model miss, as `evaluate` has it; `InputError` for a
    regression.
    """
    if record is None or models.parts or not record.has_prediction:
        return []
    check_classes(record, path)
    return label_warnings("these predictions", [record], record.accuracy)


def _models_by_columns(table: _Table, key: str, verdicts: _Verdicts) -> _Models:
    """Models with a column of verdicts each, where there are several and nothing else is known. Yes and no answer
    other questions as often, and columns of two values beside numbers describe the rows.
    """
    names = [
        name
        for name, ours in verdicts.field_of.items()
        if ours == "correct" and table.columns[name].kind != "no, yes"
    ]
    beside = [
        cells.kind
        for name, cells in table.columns.items()
        if table.is_free(name) and name != key and name not in verdicts.field_of
    ]
    if len(names) < 2 or {"number", "whole number"} & {*beside}:
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
        several = name not in taken and 1 < cells.distinct <= MOST_MODELS
        if several and MODEL.fullmatch(bare_name(name)):
            return _Models(split_record(record, record.columns[name]), {name: "model"})
    told = models_told_apart(table.source, taken)
    if told is None:
        return _Models({}, {})
    return _Models(split_record(record, record.columns[told[0]]), {told[0]: "model"})


@final
@dataclass(frozen=True)
class BattleTable:
    """A table of battles: these, the column that tells the prompt (None where none does), and its Arrow rows."""

    rows: BattleRows
    key: str | None
    table: Any

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self.table.column_names
        return names

    def cells(self, column: str) -> list[Any]:
        """A column as texts, "" where a cell is empty."""
        values = self.table.column(column).to_pylist()
        return ["" if value is None else str(value) for value in values]


def battle_table(data: Any, mapping: Mapping[str, str]) -> BattleTable | None:
    """The battles in a file, or in a frame, dict or record; None where it holds none. `InputError` for a file that is
    no table. Verdicts on one prompt depend on each other: a column that is named as the id of a question, or as its
    text, and whose values repeat tells it, else the one of ids.
    """
    kind = log_kind(data) if isinstance(data, str) else None
    if kind in SHAPES and SHAPES[str(kind)].opponent:
        rows = pa.Table.from_pylist(battles_of_shape(SHAPES[str(kind)], str(data)))
        columns = {name: Cells(rows.column(name), False) for name in rows.column_names}
        battles = battle_rows(rows, columns)
        return None if battles is None else BattleTable(battles, "id", rows)
    if isinstance(data, str):
        unread = InputError("battles", got="no table", file=data, remedy="give a table of them")
        table = _open_table(data, mapping, unread)
    else:
        source = opened_raw(data, mapping)
        if not hasattr(source, "layout"):
            return None
        rows = pa.Table.from_batches(list(source.raw([*source.layout.columns])))
        columns = {name: Cells(rows.column(name), source.raw_text) for name in rows.column_names}
        table = _Table(source, data, rows, columns, dict(mapping))
    found = battle_rows(table.rows, table.columns)
    if found is None:
        return None
    prompts = [
        name
        for name, cells in table.columns.items()
        if _PROMPT.fullmatch(bare_name(name)) and cells.distinct < cells.known
    ]
    key = next(iter([*prompts, *_take_id(table)]), None)
    return BattleTable(found, key, table.rows)
