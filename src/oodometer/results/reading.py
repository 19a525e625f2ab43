"""Reading: what a log or a table holds, how good the answers in it are, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .prediction import Prediction
from .values import Interval, Record, counted, listed, percent
from .view import Grid, View, cells_of, interval_of, shows

_SHOWN, _SCREEN = (
    3,
    18,
)  # clusters and the like that are named at first; lines that a screen has for all


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
class Question(Record):
    """What can be asked, and the command for it; ``needs`` says what stands for a word in capitals in it."""

    asks: str
    command: str
    needs: str = ""


@dataclass(frozen=True, repr=False)
class Reading(Prediction):
    """What `read_log` found.

    log, format : what was read, and what wrote it. metrics : those that tell how good an answer is. columns : each one.
    labelled : rows whose truth is known. score : the mean score, where the truth is a number. tasks : each with its
    number. macro : mean over tasks. ids : their column, how many there are and how often the most frequent one comes.
    clusters : columns whose values repeat. judges : columns of verdicts; human : that of people's labels. questions :
    what can be asked. files : what was written. left_out : columns that not all tasks have. notes : what was chosen
    where a log leaves a choice.
    """

    log: str = ""
    format: str = ""
    metrics: tuple[str, ...] = ()
    columns: tuple[ColumnRead, ...] = ()
    labelled: int = 0
    score: Interval | None = None
    tasks: tuple[TaskRead, ...] = ()
    macro: Interval | None = None
    ids: Mapping[str, Any] | None = None
    clusters: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    human: str | None = None
    questions: tuple[Question, ...] = ()
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    _command = "read"


@shows(Reading)
def reading_view(result: Mapping[str, Any]) -> View:
    """What a reading says, from the mapping that JSON holds: the number, what was found, then what can be asked."""
    score, rows, ids, labelled = (
        interval_of(result["score"]),
        result["rows"],
        result["ids"],
        result["labelled"],
    )
    model = f", model {result['model']}" if result["model"] else ""
    facts = (
        []
        if labelled == rows
        else [f"truth of {labelled:,} rows" if labelled else "no row has a label or a score"]
    )
    if ids is not None:
        each = f"each up to {ids['most']} times" if ids["most"] > 1 else "each once"
        facts.append(f"{ids['distinct']:,} ids ({ids['column']}), {each}")
    facts += [f"may be clusters: {listed(result['clusters'][:_SHOWN])}"] * bool(result["clusters"])
    source = (
        f"{counted(rows, 'row')} of {result['data'] or result['log']}{model}: {result['format']}"
    )
    lines = [source, "; ".join(facts)]
    if result["judges"]:
        known = {
            column["name"]: f"{column['name']} ({column['known']:,} rows)"
            for column in result["columns"]
        }
        human = f"; people's labels: {known[result['human']]}" if result["human"] else ""
        lines.append(
            f"Verdicts of judges: {listed([known[name] for name in result['judges'][:_SHOWN]])}{human}"
        )
    if result["skipped"]:
        named = "; ".join(f"{example['name']}: {example['why']}" for example in result["examples"])
        lines.append(
            f"{counted(result['skipped'], 'row')} without an answer or a score left out ({named})"
        )
    if left_out := result["left_out"]:
        named = ", ".join(left_out[:_SHOWN]) + ", ..." * (len(left_out) > _SHOWN)
        lines.append(f"Not in the file, as not all tasks have it: {named}; --out FOLDER/ has all")
    what = "accuracy" if score is None else "mean score"
    macro, share, number = (
        interval_of(result["macro"]),
        score is None,
        interval_of(result["accuracy"]) or score,
    )
    by_task = [
        [task["name"], f"{task['rows']:,}", *cells_of(task["number"], share=share)]
        for task in result["tasks"]
    ]
    by_task[:0] = (
        [] if macro is None else [["mean over tasks", f"{rows:,}", *cells_of(macro, share=share)]]
    )
    columns = result["columns"]
    cells = [
        [c["name"], c["kind"], f"{c['known']:,}", f"{c['distinct']:,}", c["taken"] or "-"]
        for c in columns
    ]
    by, questions = "model" if result["tasks"] and macro is None else "task", result["questions"]
    wide = max((len(question["asks"]) for question in questions), default=0)
    asked = [
        "What can be asked:",
        *(f"  {question['asks']:<{wide}}  {question['command']}" for question in questions),
    ]
    asked += [
        f"  {needs}"
        for needs in dict.fromkeys(question["needs"] for question in questions)
        if needs
    ]
    room = max(_SCREEN - len(lines) - len(asked) - 2 * min(len(result["warnings"]), _SHOWN), _SHOWN)
    few = sorted(sorted(range(len(columns)), key=lambda i: not columns[i]["taken"])[:room])
    shown: dict[str, Any] = {
        "noun": "column",
        "few": None if by_task else few,
        "detail": bool(by_task),
    }
    written = [
        f"Written: {listed(result['files'][:_SHOWN])}"
        + (", ..." if len(result["files"]) > _SHOWN else "")
    ]
    grids = [
        Grid(
            f"By {by}",
            [by, "rows", what, "lower", "upper"],
            by_task,
            noun=("row", "task")[len(by_task) > 13],
        )
    ]
    grids.append(
        Grid("Columns", ["column", "kind", "rows", "distinct", "taken for"], cells, **shown)
    )
    notes = (*(written if result["files"] else ()), *(asked if questions else ()))
    about: dict[str, Any] = {
        "share": share,
        "sentences": tuple(lines),
        "grids": tuple(grids),
        "notes": notes,
    }
    about |= {"details": tuple(result["notes"]), "warnings": tuple(result["warnings"])}
    method = f"by {', '.join(result['metrics'])}" if result["metrics"] else ""
    if number is None:
        return View("Read", counted(rows, "row"), number, method, **about)
    shown_number = percent(number.value) if share else f"{number.value:.4f}"
    return View("Accuracy" if share else "Mean score", shown_number, number, method, **about)
