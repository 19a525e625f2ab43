"""Integrations: a result into a run of MLflow or of Weights & Biases, in one call; libraries load when they are used.

found = oodometer.estimate(reference, target, every="7d")
found.log_to("mlflow")                       # or: oodometer.integrations.mlflow.log(found)
found.log_to("wandb", project="monitoring")  # or: oodometer.integrations.wandb.log(found, project="monitoring")
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..errors import MissingExtraError, UsageError
from ..outputs.frames import bare_table, table_of
from ..plain import Json, Plain
from ..results.view import Table

__all__ = ["TRACKERS", "log"]

TRACKERS = ("mlflow", "wandb")
_ENDS = (
    "value",
    "lower",
    "upper",
    "truth",
    "reference",
    "fell_p",
    "alarm",
    "p_best",
    "error",
    "p_value",
)
_NAMED_BY = ("number", "model", "domain", "look", "finding", "method", "metric")
# The table of a result that holds its numbers, where that is not the first one.
_NUMBERS = {
    "Estimation": "headline",
    "Evaluation": "metrics",
    "Evaluations": "metrics",
    "Backtest": "methods",
}
_LONGEST = 500  # characters of an option; trackers refuse long ones


def log(result: Any, tracker: str, **options: Any) -> str:
    """Log a result to a tracker by its name, and return the id of the run; see `Shown.log_to`.

    result : what a verb found.
    tracker : "mlflow" or "wandb".
    options : those of its own function, `mlflow.log` or `wandb.log` here.

    Raises `UsageError` for another tracker, `MissingExtraError` where its library is absent.
    """
    if tracker not in TRACKERS:
        raise UsageError(f"expected a tracker, one of {', '.join(TRACKERS)}; got {tracker!r}")
    run: str = importlib.import_module(f".{tracker}", __package__).log(result, **options)
    return run


@dataclass(frozen=True)
class Step:
    """The numbers of one chunk. ``time`` : where it begins, in seconds since 1970; None where it has no date."""

    number: int
    name: str
    time: float | None
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Entries:
    """What is logged. ``files`` : name -> text. ``table`` : the one that `to_frame` gives first."""

    command: str
    numbers: Mapping[str, float]
    steps: tuple[Step, ...]
    options: Mapping[str, str]
    table: Table
    files: Mapping[str, str]


def entries_of(result: Any, page: bool | None = None) -> Entries:
    """What a tracker keeps of a result. Names of numbers say what they are of: ``accuracy``, ``accuracy.lower``,
    ``chunk.accuracy`` by step, ``slice.<name>.accuracy``. ``page``: whether the page of charts is among the files; by
    default where its libraries are installed, else the card of notebooks.
    """
    mapping = result.to_dict()
    command = str(mapping.get("command", type(result).__name__.lower()))
    table = table_of(result)
    parts = table if "part" in table.columns else Table((), [])
    numbers = _numbers(result)
    for row in parts.rows:
        if row["part"] == "slice":
            numbers |= _ends(row, f"slice.{_name(row['slice'])}.{row['metric']}")
    flat: Json = {
        k: mapping.get(k) for k in ("version", "level", "seed", "assume", "argv", "kind", "refuted")
    }
    for side in ("reference", "target"):
        about = mapping.get(side)
        if isinstance(about, Mapping):
            flat |= {f"{side}.{key}": about.get(key) for key in ("name", "rows", "labelled")}
    headline = mapping.get("headline")
    if isinstance(headline, Mapping):
        flat |= {key: headline.get(key) for key in ("method", "trust", "kind")}
    options = {key: str(value)[:_LONGEST] for key, value in flat.items() if value is not None}
    from ..outputs.files import json_text
    from ..outputs.markdown import markdown_of
    from ..outputs.notebook import page_of

    return Entries(
        command,
        numbers,
        _steps(parts),
        options,
        table,
        {
            f"{command}.json": json_text(mapping),
            f"{command}.md": markdown_of(result),
            f"{command}.html": _page(result, mapping, page) or page_of(result),
        },
    )


def _numbers(result: Any) -> dict[str, float]:
    what = next(
        (_NUMBERS[cls.__name__] for cls in type(result).__mro__ if cls.__name__ in _NUMBERS), None
    )
    table = bare_table(result, what if what in result.frames() else None)
    keys = [name for name in _NAMED_BY if name in table.columns]
    if what == "headline":
        keys = ["metric"]  # its method is an option, and differs from night to night
    elif "number" in keys:
        keys = ["number"]
    if len({row.get("name") for row in table.rows}) > 1:
        keys = ["name", *keys]
    out: dict[str, float] = {}
    for row in table.rows:
        names = [row[key] for key in keys if row.get(key) is not None]
        names += [row["method"]] if row.get("number") == "another" else []
        out |= _ends(row, ".".join(map(_name, names)))
    return out


def _ends(row: Plain, name: str) -> dict[str, float]:
    """The numbers of a row that are there and finite; the value goes by the bare name."""
    return {
        name if end == "value" else f"{name}.{end}": float(cell)
        for end in _ENDS
        if (cell := row.get(end)) is not None and math.isfinite(float(cell))
    }


def _steps(parts: Table) -> tuple[Step, ...]:
    """One step for each chunk, in their order; further metrics of a chunk are numbers of its step."""
    steps: dict[str, Step] = {}
    for row in parts.rows:
        if row["part"] != "chunk":
            continue
        name, time = str(row["chunk"]), None
        if isinstance(row["start"], str):  # else the number of a row
            with suppress(ValueError):
                start = datetime.fromisoformat(row["start"])
                time = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
        step = steps.get(name) or Step(len(steps), name, time, {"chunk.rows": float(row["rows"])})
        numbers = {**step.numbers, **_ends(row, f"chunk.{row['metric']}")}
        steps[name] = Step(step.number, name, step.time, numbers)
    return tuple(steps.values())


def _name(value: Any) -> str:
    """A name that every tracker takes: letters, digits, blanks and - _ .; what is left out is marked."""
    return re.sub(r"[^\w\-. ]", "_", str(value), flags=re.ASCII)[:120].strip() or "_"


def _page(result: Any, mapping: Plain, page: bool | None) -> str | None:
    if page is False:
        return None
    from ..reports import check_report_libraries, render
    from ..reports.sections import section_of

    if section_of(mapping.get("command")) is None:
        return None
    try:
        check_report_libraries()
    except MissingExtraError:
        if page:
            raise
        return None
    return render(mapping, result)
