"""Reading: what a log or a table holds, how good the answers in it are, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..plain import Plain, Strings
from .prediction import Prediction
from .values import Interval, Record, counted, listed, percent, shortened
from .view import INTERVAL, Grid, Maker, Table, View, cells_of, ends, interval_of, shows

METRIC_NAME = "name of the metric"  # what a column is taken for whose words are metrics
WIN_RATE = "win rate"
"""Of a model in battles with others: the share that it won, ties as a half."""
# clusters and the like that are named at first; lines that a screen has for all
_SHOWN, _SCREEN = (
    3,
    18,
)


@dataclass(frozen=True)
class ColumnRead(Record):
    """A column: what its cells are, how many rows have one, how many of them differ, and what it is taken for."""

    name: str
    kind: str
    known: int
    distinct: int
    taken: str = ""


@dataclass(frozen=True)
class TaskRead(Record):
    """A task, or a model of a table with several: rows whose truth is known, and accuracy or mean score of them."""

    name: str
    rows: int
    number: Interval | None


@dataclass(frozen=True)
class RaterRead(Record):
    """A rater: how many items were rated, and how often as the vote of the others has it."""

    name: str
    rated: int
    number: Interval | None


@dataclass(frozen=True)
class Agreed(Record):
    """How far raters agree.

    alpha : Krippendorff's, on ``scale`` (nominal, ordinal or interval). with_vote : how often a rating is what the vote
    of the others is. items : those with two ratings or more. tied : votes that are ties. others : alpha on the other
    scales, where ratings are numbers.
    """

    scale: str
    alpha: Interval
    with_vote: Interval
    items: int
    raters: tuple[RaterRead, ...]
    tied: int
    others: Mapping[str, Interval]


@dataclass(frozen=True)
class Question(Record):
    """What can be asked, and the command for it; ``needs`` says what stands for a word in capitals in it."""

    asks: str
    command: str
    needs: str = ""


@dataclass(frozen=True, repr=False)
class Reading(Prediction):
    """What `read` found.

    log, format : what was read, and what wrote it. metrics : those that tell how good an answer is. columns : each one.
    labelled : rows whose truth is known. score : the mean score, where the truth is a number. tasks : each with its
    number. macro : mean over tasks. ids : their column, how many there are and how often the most frequent one comes.
    clusters : columns whose values repeat. judges : columns of verdicts; human : that of people's labels. questions :
    what can be asked. files : what was written. left_out : columns that not all tasks have. notes : what was chosen
    where a log leaves a choice. truth : what the numbers are of: accuracy, score, or "" where no truth is known.
    agreed : how far raters agree, where the file holds what several people said.
    """

    log: str = ""
    format: str = ""
    metrics: Strings = ()
    columns: tuple[ColumnRead, ...] = ()
    labelled: int = 0
    score: Interval | None = None
    tasks: tuple[TaskRead, ...] = ()
    macro: Interval | None = None
    ids: Plain | None = None
    clusters: Strings = ()
    judges: Strings = ()
    human: str | None = None
    questions: tuple[Question, ...] = ()
    files: Strings = ()
    left_out: Strings = ()
    notes: Strings = ()
    truth: str = ""
    agreed: Agreed | None = None
    _command, _noun = "read", "number"

    def entries(self) -> Mapping[str, Any]:
        """The number of each task, else the accuracy, the score or how far raters agree, where one is known."""
        if self.tasks:
            return {task.name: task for task in self.tasks}
        agreed = None if self.agreed is None else self.agreed.alpha
        numbers = {"accuracy": self.accuracy, "score": self.score, "alpha": agreed}
        return {name: number for name, number in numbers.items() if number is not None}

    def frames(self) -> dict[str, Maker]:
        """``tasks`` where there are several, else ``numbers``: rows and their accuracy or mean score."""
        rows = [{"task": task.name, "rows": task.rows, **ends(task.number)} for task in self.tasks]
        tasks = partial(Table, ("task", "rows", *INTERVAL), rows, (), "task")
        return ({"tasks": tasks} if rows else {}) | super().frames()


@shows(Reading)
def reading_view(result: Plain) -> View:
    """What a reading says, from the mapping that JSON holds: the number, what was found, then what can be asked."""
    score, accuracy = interval_of(result["score"]), interval_of(result["accuracy"])
    number = accuracy or score
    is_score = score is not None or result.get("truth") == "score"
    share = not is_score or WIN_RATE in result["metrics"]
    title, value_text = "Read", counted(result["rows"], "row")
    if number is not None:
        title = "Accuracy" if share else "Mean score"
        value_text = percent(number.value) if share else f"{number.value:.4f}"
    agreed = result.get("agreed")
    if agreed:
        number, share = interval_of(agreed["alpha"]), False
        title, value_text = "Krippendorff's alpha", f"{agreed['alpha']['value']:.3f}"
    lines = [
        _source(result),
        "; ".join(filter(None, _facts(result))),
        *_agreed(agreed),
        *_judges(result),
        *_left_out(result),
    ]
    question_lines = _asked(result["questions"])
    warned = min(len(result["warnings"]), _SHOWN)
    room = max(_SCREEN - len(lines) - len(question_lines) - 2 * warned, _SHOWN)
    tasks = _tasks_grid(result, share)
    written = f"Written: {listed(result['files'][:_SHOWN])}"
    written += ", ..." if len(result["files"]) > _SHOWN else ""
    return View(
        title,
        value_text,
        number,
        f"by {', '.join(result['metrics'])}" if result["metrics"] else "",
        share=share,
        sentences=tuple(lines),
        details=tuple(result["notes"]),
        grids=(
            _raters_grid(agreed),
            tasks,
            _columns_grid(result["columns"], None if tasks.rows else room),
        ),
        notes=(
            *([written] if result["files"] else ()),
            *(question_lines if result["questions"] else ()),
        ),
        warnings=tuple(result["warnings"]),
        cells={"rows": result["rows"]},
    )


def _source(result: Plain) -> str:
    """How many rows of which file, of which model, in which format."""
    model = f", model {result['model']}" if result["model"] else ""
    rows = counted(result["rows"], "row")
    return f"{rows} of {result['data'] or result['log']}{model}: {result['format']}"


def _facts(result: Plain) -> list[str]:
    """How many rows have a truth, how often each id stands, and what may be clusters."""
    facts, labelled, ids = [], result["labelled"], result["ids"]
    if result.get("agreed"):
        rated = sum(rater["rated"] for rater in result["agreed"]["raters"])
        facts.append(counted(rated, "rating"))
    elif labelled != result["rows"]:
        is_apart = any(column["taken"] == METRIC_NAME for column in result["columns"])
        none = "" if is_apart else "no row has a label or a score"
        facts += [f"truth of {labelled:,} rows" if labelled else none]
    if ids is not None:
        each = f"each up to {ids['most']} times" if ids["most"] > 1 else "each once"
        facts.append(f"{ids['distinct']:,} ids ({ids['column']}), {each}")
    if result["clusters"]:
        facts.append(f"may be clusters: {listed(result['clusters'][:_SHOWN])}")
    return facts


def _judges(result: Plain) -> list[str]:
    """Which columns are verdicts of judges, and which one people's labels."""
    if not result["judges"]:
        return []
    named = {
        column["name"]: f"{column['name']} ({column['known']:,} rows)"
        for column in result["columns"]
    }
    human = f"; people's labels: {named[result['human']]}" if result["human"] else ""
    judges = listed([named[name] for name in result["judges"][:_SHOWN]])
    return [f"Verdicts of judges: {judges}{human}"]


def _agreed(agreed: Plain | None) -> list[str]:
    """On which scale raters agree, and how often a rating is what the others' vote is."""
    if not agreed:
        return []
    share = interval_of(agreed["with_vote"])
    ends = f"{percent(share.lower)} to {percent(share.upper)}" if share else ""
    vote = (
        f"A rating is what the vote of the others is {percent(share.value)} ({ends})"
        if share
        else ""
    )
    others = [f"{name} {number['value']:.3f}" for name, number in agreed["others"].items()]
    scale = f"The scale is {agreed['scale']}" + (f" ({', '.join(others)})" if others else "")
    return [f"{vote} of the time, on {agreed['items']:,} items; ties count in parts", scale]


def _raters_grid(agreed: Plain | None) -> Grid:
    """How often each rater says what the vote of the others says."""
    rows = [
        [rater["name"], f"{rater['rated']:,}", *cells_of(rater["number"], share=True)]
        for rater in (agreed or {}).get("raters", ())
    ]
    columns = ["rater", "rated", "as the others", "lower", "upper"]
    return Grid("By rater", columns, rows, noun="rater")


def _left_out(result: Plain) -> list[str]:
    """Rows without an answer, and columns that not all tasks have."""
    lines = []
    if result["skipped"]:
        named = "; ".join(f"{example['name']}: {example['why']}" for example in result["examples"])
        rows = counted(result["skipped"], "row")
        lines.append(f"{rows} without an answer or a score left out ({named})")
    if columns := result["left_out"]:
        named = shortened(columns, _SHOWN)
        lines.append(f"Not in the file, as not all tasks have it: {named}; --out FOLDER/ has all")
    return lines


def _asked(questions: Sequence[Plain]) -> list[str]:
    """What can be asked, each with its command, then what these need."""
    wide = max((len(question["asks"]) for question in questions), default=0)
    needs = dict.fromkeys(question["needs"] for question in questions if question["needs"])
    return [
        "What can be asked:",
        *(f"  {question['asks']:<{wide}}  {question['command']}" for question in questions),
        *(f"  {need}" for need in needs),
    ]


def _tasks_grid(result: Plain, share: bool) -> Grid:
    """The number of each task, or of each model, and their mean over tasks first."""
    macro = interval_of(result["macro"])
    rows = [
        [task["name"], f"{task['rows']:,}", *cells_of(task["number"], share=share)]
        for task in result["tasks"]
    ]
    if macro is not None:
        rows.insert(0, ["mean over tasks", f"{result['rows']:,}", *cells_of(macro, share=share)])
    by = "model" if result["tasks"] and macro is None else "task"
    number = "accuracy" if share else "mean score"
    number = WIN_RATE if WIN_RATE in result["metrics"] else number
    columns = [by, "rows", number, "lower", "upper"]
    return Grid(f"By {by}", columns, rows, noun="task" if len(rows) > 13 else "row")


def _columns_grid(columns: Sequence[Plain], room: int | None) -> Grid:
    """The columns, at first those with a meaning as far as there is room; all wait where there is none."""
    rows = [
        [c["name"], c["kind"], f"{c['known']:,}", f"{c['distinct']:,}", c["taken"] or "-"]
        for c in columns
    ]
    first = sorted(sorted(range(len(columns)), key=lambda i: not columns[i]["taken"])[:room])
    return Grid(
        "Columns",
        ["column", "kind", "rows", "distinct", "taken for"],
        rows,
        noun="column",
        few=None if room is None else first,
        detail=room is None,
    )
