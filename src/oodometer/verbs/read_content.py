"""What a log or a table holds: the cells of its columns, the number, tasks and clusters, and the result of it all."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from ..arrays import Array
from ..classes import TRUTH, verdict_number
from ..errors import InputError, NotApplicable, UsageError
from ..inference.clusters import CLUSTER, Clusters, cluster_keys, clustered_share
from ..inference.means import mean_of_means
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import create
from ..results import Interval
from ..results.reading import Agreed, ColumnRead, Question, TaskRead
from ..store import write_predictions
from ..store.cells import plain
from ..store.columns import bare_name
from ..store.nested import PERCENT

# Names of columns, as words of small letters.
_CLUSTER = re.compile(
    r".*(passage|context|paragraph|document|chat|dialog|conversation|session|user|topic|cluster).*"
)
_MOST_GRADES, _MOST_TASKS, _TASK_ROWS, _CLUSTERS = 11, 12, 30, 10


def split_record(record: Predictions, values: Any) -> dict[str, Predictions]:
    """The rows of each task or model."""
    cells = np.asarray(values, dtype=object).astype(str)
    return {
        name: record.take(np.flatnonzero(cells == name)) for name in dict.fromkeys(cells.tolist())
    }


def plain_name(name: str) -> str:
    """A name that a file may have anywhere, and that needs no quotes."""
    return re.sub("[^A-Za-z0-9._-]+", "_", name)


def files_in(folder: Any, names: Collection[str]) -> list[str]:
    """A file for each name in a folder."""
    plain_names = list(map(plain_name, names))
    stems = [
        name if plain_names.count(name) == 1 else f"{name}-{i}"
        for i, name in enumerate(plain_names, 1)
    ]
    return [os.path.join(folder, f"{stem}.parquet") for stem in stems]


@final
class Cells:
    """What the cells of a column are: their kind, how many are known, how many of these differ, how often the most
    frequent one comes, and the field, ours, that they are verdicts for ("" for none).
    """

    def __init__(self, cells: Any, text: bool) -> None:
        cells = plain(cells, coded=False)
        self.verdicts = ""
        if pt.is_nested(cells.type):
            self.kind, self.most = "list", 1
            self.known = self.distinct = len(cells) - cells.null_count
            return
        counts = _counts(cells)
        self.known, self.distinct = sum(counts.values()), len(counts)
        self.most = max(counts.values(), default=0)
        words: list[str] = []
        if self.distinct <= _MOST_GRADES:
            words = sorted({str(value).strip().lower() for value in counts})
        is_few = self.distinct <= 20 and 2 * self.distinct <= self.known
        if words:
            self.verdicts = _field_of_verdicts(words, is_few)
        self.kind = _kind_of_type(cells.type) or _kind_of_values(counts, words, is_few, text)


def _counts(cells: Any) -> dict[Any, int]:
    """How often each value comes, but empty cells and NaN."""
    if pt.is_timestamp(cells.type):  # Python's times have no nanoseconds
        cells = cells.cast(pa.string())
    counts = pc.value_counts(cells)
    pairs = zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)
    return {value: count for value, count in pairs if value not in (None, "") and value == value}


def _field_of_verdicts(words: Collection[str], is_few: bool) -> str:
    """The field, ours, that these words are verdicts for, "" for none."""
    says = {verdict_number(word) for word in words}
    if None in says:
        return ""
    if {*words} <= TRUTH.keys():  # which any command reads as they are
        return "correct"
    if not is_few:
        return ""
    return "words" if says <= {0, 0.5, 1} else "score"


def _kind_of_type(arrow_type: Any) -> str:
    """The kind of cells that their type tells, "" for none."""
    if pt.is_boolean(arrow_type):
        return "true or false"
    return "time" if pt.is_temporal(arrow_type) else ""


def _kind_of_values(
    values: Collection[Any], words: Collection[str], is_few: bool, text: bool
) -> str:
    """The kind of cells with these distinct values; ``text``: numbers are written as text."""
    if not values:
        return "empty"
    numbers = _numbers(values, text)
    if numbers is not None:
        is_whole = np.isfinite(numbers).all() and not (numbers % 1).any()
        return "whole number" if is_whole else "number"
    named = ", ".join(words) if 0 < len(words) <= 3 else f"{len(values)} words"
    return named if is_few and len(named) <= 24 and named.isprintable() else "text"


def _numbers(values: Collection[Any], text: bool) -> Array | None:
    """Values as numbers, percents as shares of 1, None where they are none; Arrow's cast would load pandas."""
    if all(isinstance(value, str) and PERCENT.fullmatch(value) for value in values):
        return np.array([float(value.strip(" %").replace(",", ".")) / 100 for value in values])
    if not text and isinstance(next(iter(values)), str):
        return None
    try:
        return np.array([float(value) for value in values])
    except (TypeError, ValueError):
        return None


@final
@dataclass(frozen=True)
class About:
    """What is told of a log or a table beside its cells; the fields are those of the result."""

    data: str
    log: str
    format: str
    model: str = ""
    warnings: Strings = ()
    judges: Strings = ()
    human: str | None = None
    metrics: Strings = ()
    notes: Strings = ()
    skipped: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    left_out: Strings = ()
    agreed: Agreed | None = None


@dataclass
class Content:
    """What a log or a table holds: the record of what is known, cells by column, what each column is taken for, and
    what else is told; the file that commands name, None where none is there yet, and the renamings that they need.
    """

    record: Predictions | None
    columns: Mapping[str, Cells]
    taken: dict[str, str]
    about: About
    file: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Predictions] = field(default_factory=dict)
    of_models: bool = False
    questions: list[Question] = field(default_factory=list)

    def written(self, out: Any) -> list[str]:
        """The files that were written: one, or one for each task or model in a folder."""
        record, path, parts = self.record, self.about.log, self.parts
        if record is None:
            raise InputError(
                "a column that tells of an answer",
                got=", ".join([*self.columns][:8]),
                file=path,
                remedy="name it: --map THEIRS=correct, score, label or confidence",
            )
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
        parts = parts or split_record(record, record.group)
        files = zip(parts.values(), files_in(out, parts), strict=True)
        return [str(write_predictions(part, file)) for part, file in files]

    @cached_property
    def known_rows(self) -> int:
        """Rows whose truth is known."""
        record = self.record
        if record is None or not (record.can_be_judged or record.score is not None):
            return 0
        return len(record.known())

    @property
    def truth(self) -> str:
        """What tells how good the answers are: accuracy, score, or "" where nothing is known."""
        if self.record is None or not self.known_rows:
            return ""
        return "accuracy" if self.record.can_be_judged else "score"

    @property
    def labelled(self) -> int:
        """Rows whose truth is known, else those with people's labels."""
        human = self.about.human
        return self.known_rows or (self.columns[human].known if human else 0)

    def number(self) -> tuple[Interval | None, Strings]:
        """The accuracy or mean score of all rows, not of several models or votes, and a warning where ids repeat."""
        if self.record is None or not self.truth or self.of_models or self.about.agreed:
            return None, ()
        return known_number(self.record)

    @cached_property
    def groups(self) -> Mapping[str, Predictions]:
        """The rows of each task, or model; none where there are so many that they are clusters."""
        if self.of_models or self.record is None or self.record.group is None:
            return self.parts if self.of_models else {}
        distinct = len(set(self.record.group.tolist()))
        few = 1 < distinct <= _MOST_TASKS or (
            distinct > 1 and len(self.record) >= _TASK_ROWS * distinct
        )
        return split_record(self.record, self.record.group) if few else {}

    @cached_property
    def tasks(self) -> tuple[TaskRead, ...]:
        """Each task, or model, with its number; none where no truth is known."""
        return tuple(
            TaskRead(name, len(part), known_number(part)[0])
            for name, part in (self.groups if self.truth else {}).items()
        )

    @property
    def macro(self) -> Interval | None:
        """The mean over tasks."""
        numbers = [task.number for task in self.tasks if task.number is not None]
        if not numbers or self.of_models:
            return None
        ends = [(number.value, number.lower, number.upper) for number in numbers]
        return Interval(*mean_of_means(ends), 0.95, "asymptotic")

    @cached_property
    def ids(self) -> Json | None:
        """The column of ids, how many there are, and how often a model was asked about the most frequent one."""
        key = next((name for name, ours in self.taken.items() if ours == "id"), "")
        if key not in self.columns:
            return None
        cells = self.columns[key]
        models = len(self.parts) if "model" in self.taken.values() else 1
        return {"column": key, "distinct": cells.distinct, "most": -(-cells.most // models)}

    @cached_property
    def clusters(self) -> Strings:
        """Columns whose values repeat and which are nothing else; those with a name that says so alone, if any."""
        names = [name for name, ours in self.taken.items() if ours == "group" and not self.groups]
        names += [name for name in self.columns if name not in self.taken]
        if self.file == self.about.log:  # what is written calls a prompt otherwise
            names += [name for name, ours in self.taken.items() if ours == "input"]
        cells = {name: self.columns[name] for name in names if name in self.columns}
        repeated = {
            name: column
            for name, column in cells.items()
            if 1 < column.distinct <= column.known / 1.5 and column.kind not in ("list", "number")
        }
        named = [
            name
            for name in repeated
            if _CLUSTER.fullmatch(bare_name(name)) or self.taken.get(name) == "group"
        ]
        repeating = [
            name
            for name, column in repeated.items()
            if column.distinct >= _CLUSTERS and column.kind != "whole number"
        ]
        return tuple(name for name in named or repeating if cells[name].distinct > 2)

    def columns_read(self) -> tuple[ColumnRead, ...]:
        """Each column, and what it is taken for."""
        taken = {name: "task" if ours == "group" else ours for name, ours in self.taken.items()}
        clusters = [name for name in self.clusters if taken.get(name) != "input"]
        taken |= dict.fromkeys(clusters, "may be a cluster")
        return tuple(
            ColumnRead(name, cells.kind, cells.known, cells.distinct, taken.get(name, ""))
            for name, cells in self.columns.items()
        )


def known_number(record: Predictions) -> tuple[Interval | None, Strings]:
    """The accuracy, or the mean score, of rows whose truth is known, and a warning where rows of one id make its
    interval one of clusters.
    """
    labelled = record.known()
    rows, ids, number = len(labelled), labelled.columns.get("id"), None
    if not rows:
        return None, ()
    keys = np.arange(rows, dtype=np.uint64) if ids is None else cluster_keys(ids)
    sums = Clusters.of(keys, labelled.outcomes)
    name = "accuracy" if labelled.can_be_judged else "mean_score"
    columns = {**labelled.columns, CLUSTER: keys} if sums.repeated else labelled.columns
    with suppress(NotApplicable):
        number = create("metric", name).compute(replace(labelled, columns=columns))
        if sums.repeated and labelled.can_be_judged:
            ends = clustered_share(sums, rows, number.value, number.level)
            number = Interval(number.value, *ends, number.level, "asymptotic")
    text = f"ids repeat: the interval is that of {sums.count} ids, not of {rows} independent rows"
    return number, (text,) if sums.repeated else ()


def is_folder(out: Any) -> bool:
    """Whether a folder is to be written: it is one, or its name ends in a slash."""
    return str(out).endswith(("/", os.sep)) or os.path.isdir(out)
