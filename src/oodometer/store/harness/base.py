"""Base: what is asked of a log, and what every reader of logs gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LogOptions:
    """What is taken from a log.

    metric : the metric or scorer that says what is right, ``NAME>=X`` for a score that counts from X on. filter : the
    filter of lm-evaluation-harness whose answers are taken. keep_input : whether the prompts are kept.
    """

    metric: str | None = None
    filter: str | None = None
    keep_input: bool = False


@dataclass
class Answers:
    """What one log holds.

    Parameters
    ----------
    file : the log.
    task : name of the task.
    model : who answered; None where the log does not say.
    ids : a name for each row.
    columns : field of a record -> one value a row.
    metric : the metric that says what is right, as the harness names it, with its filter where there are several.
    label_decides : whether label == prediction was checked against the log's own metric in each row.
    skipped : rows without an answer, each with its name and the reason.
    warnings : what a reader should know.
    """

    file: str
    task: str
    model: str | None = None
    ids: list[str] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    metric: str = ""
    label_decides: bool = False
    skipped: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any) -> None:
        """Add the value of one row to a column."""
        self.columns.setdefault(name, []).append(value)
