"""The verb `read_log`: a log, a folder of logs or a table of results: what it holds, and what can be asked of it."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from ..audits.joining import looking_like_keys
from ..classes import TRUTH, verdict_number
from ..errors import InputError, NotApplicable, UsageError
from ..fields import FIELDS
from ..inference.clusters import CLUSTER, Clusters, cluster_keys, clustered_share
from ..inference.means import mean_of_means
from ..options import verb
from ..predictions import Predictions
from ..registry import create
from ..results import Interval
from ..results.reading import ColumnRead, Question, Reading, TaskRead
from ..results.values import listed
from ..store import as_source, refuse_clashes, together, write_predictions
from ..store.cells import plain
from ..store.columns import Layout, as_options, bare_name
from ..store.files import translated
from ..store.harness import (
    LOG_NAMES,
    LogOptions,
    json_rows,
    log_files,
    log_kind,
    read_command,
    read_logs,
)
from ..store.record_table import as_table
from ..version import __version__
from .guessing import Asked, guess, opened_raw
from .model_options import ReadOptions

EXAMPLES = 3  # rows without an answer, which are named
_ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
# Names of columns, as words of small letters.
_HUMAN = re.compile(
    r"(.*_)?(human|annotators?|experts?|manual|reviewers?|people|gold_(verdict|grade|score))(_.*)?"
)
_JUDGE = re.compile(
    r"(.*_)?(judges?|judged|judgement|grader?|grades?|verdicts?|autorater|ratings?|preferences?|preferred|pass(ed)?|win|"
    r"winner|outcome|correct|right|(llm|gpt|claude|gemini)\w*)(_.*)?"
)
_CLUSTER = re.compile(
    r".*(passage|context|paragraph|document|chat|dialog|conversation|session|user|topic|cluster).*"
)
_MODEL = re.compile(r"model(_?name)?|system|generator")
_ELSEWHERE = {
    "response": "output",
    "prompt": "input",
    "question": "input",
    "user_input": "input",
    "task": "group",
}
_MOST_GRADES, _MOST_MODELS, _MOST_TASKS, _TASK_ROWS, _CLUSTERS = 11, 50, 12, 30, 10
_BESIDE = 10  # files that are looked at
_SURE = {
    "probabilities",
    "logits",
    "confidence",
    "candidate_scores",
    "token_logprobs",
    "votes",
    "members",
}
_NEEDS = {
    "OTHER": "another run of the same questions",
    "TARGET": "the same model's answers to other data",
}
_NEEDS |= {"REFERENCE": "labelled answers of the same model"}


@verb(ReadOptions)
def read_log(options: ReadOptions) -> Reading:
    """Read a log of an evaluation, a folder of logs, or a table of results: its columns and what each is taken for, how
    good the answers are where that is known, and what can be asked of it, with the commands; and write it to a file
    that every other command reads. Raises `InputError` for what cannot be read, with what to do with it, for a row that
    is damaged, and for logs that do not belong together.

    >>> import json, pathlib, tempfile
    >>> row = {"doc_id": 0, "doc": {}, "target": "4", "arguments": {}, "resps": [["4"]], "filtered_resps": ["4"]}
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "samples_sums.jsonl"
    >>> _ = path.write_text(json.dumps({**row, "exact_match": 1.0, "metrics": ["exact_match"]}))
    >>> result = read_log(path)
    >>> result.record.columns["id"].tolist(), [question.asks for question in result.questions][:2]
    (['0'], ['Write it for the others', 'How good is it?'])
    """
    logs, out = options.logs, options.out
    paths = logs if isinstance(logs, Sequence) and not isinstance(logs, str) else [logs]
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise UsageError(
            f"expected the path of a log or a table, or a list of logs, got {str(logs)[:60] or 'nothing'}"
        )
    refuse_clashes({"the file to write": out}, paths)
    check_out(out, folders=True)
    try:
        kinds = {str(kind) for _, kind in log_files(logs)[0]}
    except InputError as error:
        if len(paths) > 1:
            raise
        content = _table(os.fspath(paths[0]), options.mapping or {}, error)
    else:
        content = _logs(kinds, options)
    files: list[str] = []
    if out is not None:
        with together():
            files = content.written(out)
        content.file, content.renamed = files[0], {}
    elif content.file is None:  # nothing else reads it as it is
        name = re.sub(
            r"\.(jsonl?|eval|parquet|csv)(\.gz)?$", "", os.path.basename(os.path.abspath(paths[0]))
        )
        content.file = f"{_plain(name)}.parquet"
        metrics = [options.metric] if isinstance(options.metric, str) else options.metric or ()
        words = [
            "oodometer",
            "read",
            *map(os.fspath, paths),
            *(f"--metric={metric}" for metric in metrics),
        ]
        words += [f"--map={theirs}={ours}" for theirs, ours in (options.mapping or {}).items()]
        words += [f"--filter={options.filter}"] * (options.filter is not None) + [
            "--keep-input"
        ] * options.keep_input
        words += ["--out", content.file]
        content.questions.append(Question("Write it for the others", shlex.join(words)))
    return content.reading(None if out is None else str(out), tuple(files))


def _table(path: str, mapping: Mapping[str, str], error: InputError) -> _Content:
    """A table of results, or what it is instead."""
    if os.path.isdir(path) and any(
        map(log_kind, Path(path).rglob("*"))
    ):  # logs that do not go together
        raise error
    given = _json_table(path) if path.endswith(".json") and os.path.isfile(path) else path
    source: Any = opened_raw(given, mapping)
    if not hasattr(source, "layout"):
        if path.lower().endswith((".eval.xz", ".eval.gz", ".eval.zst", ".eval.bz2")):
            expected = "a log of inspect as it was written"
            raise InputError(expected, got="a packed one", remedy="unpack it first", file=path)
        if os.path.isfile(path) and os.path.getsize(path):
            as_source(path)  # which says what is wrong
        raise error
    is_npz, names = source.first.form == "npz", [*source.layout.columns]
    table = (
        as_table(source.read(source.fields))
        if is_npz
        else pa.Table.from_batches(list(source.raw(names)))
    )
    columns = {name: _Cells(table.column(name), source.raw_text) for name in table.column_names}
    guessed, renamed, warnings = (
        guess(source, asked=Asked(taken=mapping)),
        dict(mapping),
        list[str](),
    )
    fields = {*source.layout.feeds, *renamed.values()}
    has_truth = fields & {"correct", "score"} or (
        "label" in fields and fields & {*_SURE, "prediction"}
    )
    new = {} if has_truth else guessed.renamings
    doubtful = new if guessed.doubt else {}
    if doubtful:
        warnings.append(f"not sure: {guessed.doubt}")
    elif {*fields, *(ours.split("_")[0] for ours in new.values())} & {
        *_SURE,
        "prediction",
        "prob",
        "correct",
    }:
        renamed |= new
        warnings += [*((f"{source.name}: {guessed.line}",) if new else ()), *guessed.notes]
    fed = {column: name for name, feed in source.layout.feeds.items() for column in feed.columns}
    verdicts = {
        n: kind
        for n, cells in columns.items()
        if n not in {*fed, *renamed} and (kind := cells.verdicts)
    }
    humans = [name for name in verdicts if _HUMAN.fullmatch(bare_name(name))]
    judges = [name for name in verdicts if name not in humans and _JUDGE.fullmatch(bare_name(name))]
    partial = [name for name in verdicts if columns[name].known < len(table) and name not in judges]
    humans = humans or (partial if judges else [])
    fields = {*source.layout.feeds, *renamed.values()}
    if (
        len(judges) == 1 and not humans and not fields & {"label", "correct", "score"}
    ):  # what it says is the verdict
        renamed[judges[0]] = verdicts[judges[0]]
        judges = []
    for name in columns:
        ours = _ELSEWHERE.get(bare_name(name))
        if ours and name not in {*fed, *renamed} and ours not in {*fields, *renamed.values()}:
            renamed[name] = ours
    words = [name for name, ours in renamed.items() if ours == "words"]
    if words:  # that no other command knows
        says = [verdict_number(cell) for cell in table.column(words[0]).to_pylist()]
        given = table.append_column("score", pa.array(says, pa.float64(), from_pandas=True))
        renamed = {theirs: ours for theirs, ours in renamed.items() if ours != "words"} | {
            "score": "score"
        }
    layout, record = Layout.parse(getattr(given, "column_names", [*columns]), renamed), None
    fed = {
        column: ours
        for column, ours in fed.items()
        if column not in FIELDS and column not in renamed
    }
    fed |= {column: name for name, feed in layout.feeds.items() for column in feed.columns}
    if fed:
        extra = tuple(
            n for n in columns if n not in {*fed, *renamed, *words} and columns[n].kind != "list"
        )
        opened = as_source(given, mapping=renamed or None, extra_columns=extra)
        record = opened.read(opened.fields)
    keys = [name for name in looking_like_keys(source) if name in columns][:1]
    taken = (
        dict.fromkeys(judges, "judge")
        | dict.fromkeys(humans[:1], "people's labels")
        | dict.fromkeys(keys, "id")
    )
    taken |= fed | dict.fromkeys(words, "score (1, 0.5, 0)")
    wide = (
        []
        if humans or fed or new
        else [name for name, kind in verdicts.items() if kind == "correct" and keys]
    )
    models: dict[str, Predictions] = {}
    if len(wide) > 1:
        ids = {"id": np.array(table.column(keys[0]).to_pylist(), dtype=object)}
        cells = {name: table.column(name).to_pylist() for name in wide}
        models = {name: Predictions.from_arrays(correct=cells[name], columns=ids) for name in wide}
        judges, taken = [], taken | dict.fromkeys(wide, "verdict on a model")
        record = models[wide[0]]
    several = [
        n for n, cells in columns.items() if n not in taken and 1 < cells.distinct <= _MOST_MODELS
    ]
    model = next((name for name in several if _MODEL.fullmatch(bare_name(name))), None)
    if model and record is not None and not models:
        models, taken = _split(record, record.columns[model]), taken | {model: "model"}
    format = source.first.form if isinstance(given, str) else "json"
    name = os.path.basename(os.path.normpath(path))
    about: dict[str, Any] = {
        "data": name,
        "format": f"a table ({format})",
        "log": path,
        "warnings": tuple(warnings),
    }
    about |= {"judges": tuple(judges), "human": next(iter(humans), None)}
    content = _Content(record, columns, taken, about, parts=models, of_models=bool(models))
    if isinstance(given, str):
        content.file, content.renamed = (
            path,
            {theirs: ours for theirs, ours in renamed.items() if theirs in columns},
        )
    if doubtful:
        taken |= {column: f"{ours}?" for column, ours in doubtful.items()}
        command = f"oodometer evaluate {shlex.quote(path)} {as_options({**doubtful})}"
        content.questions.append(Question("If that is right", command))
    return content


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


def _logs(kinds: set[str], options: ReadOptions) -> _Content:
    """Logs as one record."""
    read = read_logs(options.logs, LogOptions(options.metric, options.filter, options.keep_input))
    table = as_table(read.record)
    columns = {name: _Cells(table.column(name), False) for name in table.column_names}
    taken = {
        c: name
        for name, field in FIELDS.items()
        for c in columns
        if c.startswith(field.prefix or name)
    }
    taken |= {name: name for name in (*FIELDS, "id", "epoch", "metric") if name in columns}
    logs = (
        options.logs
        if isinstance(options.logs, (str, os.PathLike))
        else Path(options.logs[0]).parent
    )
    about: dict[str, Any] = {
        "model": read.model or "",
        "log": os.fspath(logs),
        "metrics": read.metrics,
    }
    about |= {
        "data": listed(
            [*read.tasks[:3], *([f"{len(read.tasks) - 3} more"] if len(read.tasks) > 3 else ())]
        )
    }
    about |= {
        "format": listed(sorted(LOG_NAMES.get(kind, kind) for kind in kinds)),
        "notes": read.notes,
    }
    about |= {
        "skipped": len(read.skipped),
        "examples": read.skipped[:EXAMPLES],
        "left_out": tuple(read.left_out),
    }
    return _Content(
        read.record, columns, taken, about | {"warnings": read.warnings}, parts=read.parts
    )


def _split(record: Predictions, values: Any) -> dict[str, Predictions]:
    """The rows of each task or model."""
    cells = np.asarray(values, dtype=object).astype(str)
    return {
        name: record.take(np.flatnonzero(cells == name)) for name in dict.fromkeys(cells.tolist())
    }


def _plain(name: str) -> str:
    """A name that a file may have anywhere, and that needs no quotes."""
    return re.sub("[^A-Za-z0-9._-]+", "_", name)


def _files(folder: Any, names: Collection[str]) -> list[str]:
    """A file for each name in a folder."""
    plain = list(map(_plain, names))
    stems = [name if plain.count(name) == 1 else f"{name}-{i}" for i, name in enumerate(plain, 1)]
    return [os.path.join(folder, f"{stem}.parquet") for stem in stems]


class _Cells:
    """What the cells of a column are: their kind, how many are known, how many of these differ, how often the most
    frequent one comes, and the field, ours, that they are verdicts for ("" for none).
    """

    def __init__(self, cells: Any, text: bool) -> None:
        cells = plain(cells, coded=False)
        self.known, self.distinct, self.most, self.verdicts = (
            len(cells) - cells.null_count,
            0,
            1,
            "",
        )
        if pt.is_nested(cells.type):
            self.kind, self.distinct = "list", self.known
            return
        counts = pc.value_counts(cells)
        pairs = zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
        some = {
            value: count for value, count in pairs if value not in (None, "") and value == value
        }
        self.known, self.distinct, self.most = (
            sum(some.values()),
            len(some),
            max(some.values(), default=0),
        )
        words = (
            sorted({str(value).strip().lower() for value in some})
            if self.distinct <= _MOST_GRADES
            else []
        )
        is_few, numbers = self.distinct <= 20 and 2 * self.distinct <= self.known, None
        says = [verdict_number(word) for word in words]
        if words and None not in says and (is_few or {*words} <= TRUTH.keys()):
            is_plain = {*words} <= TRUTH.keys()  # which any command reads as they are
            self.verdicts = (
                "correct" if is_plain else "words" if {*says} <= {0, 0.5, 1} else "score"
            )
        with suppress(pa.ArrowException, TypeError, ValueError):
            if (
                some
                and (text or not isinstance(next(iter(some)), str))
                and not pt.is_temporal(cells.type)
            ):
                numbers = np.array(
                    [float(value) for value in some]
                )  # Arrow's cast would load pandas
        named = ", ".join(words) if 0 < len(words) <= 3 else f"{self.distinct} words"
        self.kind = (
            "empty"
            if not some
            else named
            if is_few and len(named) <= 24 and named.isprintable()
            else "text"
        )
        if pt.is_temporal(cells.type) or pt.is_boolean(cells.type):
            self.kind = "true or false" if pt.is_boolean(cells.type) else "time"
        elif numbers is not None:
            is_whole = np.isfinite(numbers).all() and not (numbers % 1).any()
            self.kind = "whole number" if is_whole else "number"


@dataclass
class _Content:
    """What a log or a table holds: the record of what is known, cells by column, what each column is taken for, and
    what else is told; the file that commands name, None where none is there yet, and the renamings that they need.
    """

    record: Predictions | None
    columns: Mapping[str, _Cells]
    taken: dict[str, str]
    about: dict[str, Any]
    file: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Predictions] = field(default_factory=dict)
    of_models: bool = False
    questions: list[Question] = field(default_factory=list)

    def written(self, out: Any) -> list[str]:
        """The files that were written: one, or one for each task or model in a folder."""
        record, path, parts = self.record, self.about["log"], self.parts
        if record is None:
            got, remedy = (
                ", ".join([*self.columns][:8]),
                "name it: --map THEIRS=correct, score, label or confidence",
            )
            raise InputError("a column that tells of an answer", got=got, file=path, remedy=remedy)
        if not is_folder(out):
            if self.of_models:
                raise UsageError(
                    f"{path} has answers of {len(parts)} models: name a folder for them, --out NAME/"
                )
            return [str(write_predictions(record, out))]
        if not parts and record.group is None:
            raise UsageError(
                f"{path} has no column of tasks or models, one file each; name a file with --out"
            )
        Path(out).mkdir(exist_ok=True)
        parts = parts or _split(record, record.group)
        files = zip(parts.values(), _files(out, parts), strict=True)
        return [str(write_predictions(part, file)) for part, file in files]

    @cached_property
    def groups(self) -> Mapping[str, Predictions]:
        """The rows of each task, or model; none where there are so many that they are clusters."""
        if self.of_models or self.record is None or self.record.group is None:
            return self.parts if self.of_models else {}
        distinct = len(set(self.record.group.tolist()))
        few = 1 < distinct <= _MOST_TASKS or (
            distinct > 1 and len(self.record) >= _TASK_ROWS * distinct
        )
        return _split(self.record, self.record.group) if few else {}

    def clusters(self) -> tuple[str, ...]:
        """Columns whose values repeat and which are nothing else; those with a name that says so alone, if any."""
        own = [name for name, ours in self.taken.items() if ours == "group" and not self.groups]
        own += [name for name in self.columns if name not in self.taken]
        cells = {name: self.columns[name] for name in own if name in self.columns}
        repeated = [
            n
            for n, c in cells.items()
            if 1 < c.distinct <= c.known / 1.5 and c.kind not in ("list", "number")
        ]
        named = [
            name
            for name in repeated
            if _CLUSTER.fullmatch(bare_name(name)) or self.taken.get(name) == "group"
        ]
        some = [
            n
            for n in repeated
            if cells[n].distinct >= _CLUSTERS and cells[n].kind != "whole number"
        ]
        return tuple(name for name in named or some if cells[name].distinct > 2)

    def reading(self, out: str | None, files: tuple[str, ...]) -> Reading:
        """The result: what is known of the columns, the number by task, and what can be asked."""
        record, number, repeated, labelled = self.record, None, tuple[str, ...](), 0
        if record is not None and (record.can_be_judged or record.score is not None):
            labelled = len(record.known())
            if not self.of_models:
                number, repeated = known_number(record)
        truth = (
            ""
            if record is None or not labelled
            else "accuracy"
            if record.can_be_judged
            else "score"
        )
        parts = self.groups if truth else {}
        tasks = [TaskRead(name, len(part), known_number(part)[0]) for name, part in parts.items()]
        ends = [(n.value, n.lower, n.upper) for task in tasks if (n := task.number) is not None]
        macro = (
            Interval(*mean_of_means(ends), 0.95, "asymptotic")
            if ends and not self.of_models
            else None
        )
        clusters, key = (
            self.clusters(),
            next((name for name, ours in self.taken.items() if ours == "id"), ""),
        )
        id_cells = self.columns.get(key)
        ids: dict[str, Any] | None = None
        if id_cells is not None:
            asked = (
                len(self.parts) if "model" in self.taken.values() else 1
            )  # each question by each model
            ids = {"column": key, "distinct": id_cells.distinct, "most": -(-id_cells.most // asked)}
        taken = {name: "task" if ours == "group" else ours for name, ours in self.taken.items()}
        taken |= dict.fromkeys(clusters, "may be a cluster")
        columns = [
            ColumnRead(n, c.kind, c.known, c.distinct, taken.get(n, ""))
            for n, c in self.columns.items()
        ]
        self._ask(truth, clusters, ids is not None and ids["most"] > 1, files)
        if (human := self.about.get("human")) and not labelled:
            labelled = self.columns[human].known
        rows = (
            max((column.known for column in columns), default=0) if record is None else len(record)
        )
        about = {
            "model": "",
            **self.about,
            truth or "accuracy": number,
            "record": record if out is None else None,
        }
        about["warnings"] += repeated
        fields = () if record is None else record.fields
        return Reading(
            __version__,
            about.pop("model"),
            about.pop("data"),
            out,
            rows,
            (),
            fields,
            columns=tuple(columns),
            ids=ids,
            labelled=labelled,
            tasks=tuple(tasks),
            macro=macro,
            clusters=clusters,
            questions=tuple(self.questions),
            files=files,
            **about,
        )

    def _ask(
        self, truth: str, clusters: Sequence[str], repeated: bool, files: Sequence[str]
    ) -> None:
        """Add what this file can be asked, with its commands; ``truth``: accuracy, score, or "" where none is known."""
        file, fields = str(self.file), {*(self.record.fields if self.record is not None else ())}
        everything = shlex.split(as_options({**self.renamed}))
        needed = {
            column: ours for column, ours in self.renamed.items() if ours not in ("input", "output")
        }
        options, human = shlex.split(as_options(needed)), self.about.get("human")

        def ask(asks: str, *words: str) -> None:
            needs = next((f"{word}: {_NEEDS[word]}" for word in words if word in _NEEDS), "")
            self.questions.append(Question(asks, shlex.join(["oodometer", *words]), needs))

        if self.of_models and not files:
            folder = f"{_plain(Path(file).stem)}-models/"
            self.questions.clear()
            ask("A file for each model", "read", self.about["log"], "--out", folder)
            files, options = _files(folder, self.parts), []
        others = list(files[1:])
        if self.of_models:
            file = files[0]
        else:  # files beside this one with the same columns may be other runs
            path = Path(file)
            beside = sorted(path.parent.glob(f"*{path.suffix}"))[:_BESIDE] if path.is_file() else ()
            others = [
                str(other)
                for other in beside
                if other.name != path.name and _head(other) == _head(path)
            ]
        if truth:
            ask(
                "How good is it?",
                "evaluate",
                *([file] if self.of_models or not files else files),
                *options,
            )
            if self.groups and not self.of_models and len(files) < 2:
                ask("By task", "evaluate", file, *options, "--by", "group")
            if clusters and not repeated and (len(files) < 2 or self.of_models):
                ask("If rows depend", "evaluate", file, *options, "--cluster", clusters[0])
            ask("Is another better?", "compare", file, *(others[:1] or ["OTHER"]), *options)
            if others and truth == "accuracy" and not options:
                ask("Which is the best?", "rank", file, *others[:4])
        if human and self.about["judges"]:
            ask(
                "Is the judge right?",
                "audit",
                file,
                "--judge",
                self.about["judges"][0],
                "--labels",
                human,
            )
        if fields & _SURE and truth == "accuracy":
            ask("How good elsewhere?", "estimate", file, "TARGET", *options)
        elif fields & _SURE and not truth:
            ask("How good is it?", "estimate", "REFERENCE", file, *options)
        numbers = [
            name
            for name, cells in self.columns.items()
            if name not in self.taken and "number" in cells.kind
        ]
        for name in () if truth or human or self.questions else numbers[:2]:
            ask(f"If {name} is the score", "evaluate", file, *options, "--map", f"{name}=score")
        if {"input", "output"} <= fields and truth == "accuracy":
            ask(
                "Can errors be spotted?",
                "discriminate",
                "train",
                file,
                *everything,
                "--out",
                "judges",
            )


def _head(path: Path) -> Any:
    """The columns of a table, as far as its first line tells them."""
    if path.suffix not in (".csv", ".jsonl"):
        return getattr(opened_raw(str(path)), "columns", None)
    with path.open("rb") as stream, suppress(ValueError):
        line = stream.readline(1 << 16)
        return {*json.loads(line)} if path.suffix == ".jsonl" else line
    return None


def known_number(record: Predictions) -> tuple[Interval | None, tuple[str, ...]]:
    """The accuracy, or the mean score, of rows whose truth is known, and a warning where rows of one id make its
    interval one of clusters.
    """
    known = record.known()
    rows, ids, number = len(known), known.columns.get("id"), None
    if not rows:
        return None, ()
    keys = np.arange(rows, dtype=np.uint64) if ids is None else cluster_keys(ids)
    sums, name = (
        Clusters.of(keys, known.outcomes),
        "accuracy" if known.can_be_judged else "mean_score",
    )
    columns = {**known.columns, CLUSTER: keys} if sums.repeated else known.columns
    with suppress(NotApplicable):
        number = create("metric", name).compute(replace(known, columns=columns))
        if sums.repeated and known.can_be_judged:
            ends = clustered_share(sums, rows, number.value, number.level)
            number = Interval(number.value, *ends, number.level, "asymptotic")
    text = f"ids repeat: the interval is that of {sums.count} ids, not of {rows} independent rows"
    return number, (text,) if sums.repeated else ()


def is_folder(out: Any) -> bool:
    """Whether a folder is to be written: it is one, or its name ends in a slash."""
    return str(out).endswith(("/", os.sep)) or os.path.isdir(out)


def check_out(out: str | Path | None, folders: bool = False) -> None:
    """Say before the work that the file, or the file a task in a folder, could not be written."""
    if out is None:
        return
    path, parent = Path(out), Path(out).parent
    why = "" if parent.is_dir() else f"there is no folder {parent}; make it first"
    if path.is_dir() and not folders:
        why = "it is a folder; name a file"
    elif not (folders and is_folder(out)) and path.suffix.lower() not in _ENDINGS:
        why = f"end the name in {', '.join(_ENDINGS)}" + (
            ", or in / for a file a task" if folders else ""
        )
    if why:
        raise UsageError(f"cannot write {out}: {why}")
