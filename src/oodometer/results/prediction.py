"""Prediction: what a model was asked, where its predictions are, and what of the data could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..plain import Json, Plain, Strings
from .values import Interval, Record, counted, percent
from .view import INTERVAL, Maker, Named, Shown, Table, View, interval_of, shows


@dataclass(frozen=True, repr=False)
class Prediction(Shown, Record, Named[Any]):
    """A predictions file, or record, and how it came about.

    model : what was asked. data : what it was asked about. out : the file that was written; None where the record
    stayed in memory. rows : rows that were predicted. classes : class names in the order of the probabilities. fields :
    fields of the record. accuracy : with an exact interval, where labels are known. skipped : number of inputs that
    could not be read, or have no answer in a log, and were left out. examples : the first of them, each with its name
    and the reason. truncated : number of inputs that were too long and were cut. record : the predictions, where no
    file was written. warnings : what a reader should know.
    """

    version: str
    model: str
    data: str
    out: str | None
    rows: int
    classes: tuple[int | str, ...]
    fields: Strings
    accuracy: Interval | None = None
    skipped: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    truncated: int = 0
    warnings: Strings = ()
    record: Any = field(default=None, repr=False)
    _command, _untold, _noun = "predict", frozenset({"record"}), "number"

    def entries(self) -> Mapping[str, Any]:
        """The accuracy, where labels tell it."""
        return {} if self.accuracy is None else {"accuracy": self.accuracy}

    def frames(self) -> dict[str, Maker]:
        """``numbers``: the accuracy and the rows that were predicted."""
        return {"numbers": lambda: Table(("result", "rows", *INTERVAL), [], named="result")}

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        return super().to_dict() | {
            "examples": [{"name": name, "why": why} for name, why in self.examples]
        }


@shows(Prediction)
def prediction_view(result: Plain) -> View:
    """What a prediction says, from the mapping that JSON holds: the accuracy if labels tell it, what was left out."""
    accuracy, rows, lines = interval_of(result["accuracy"]), counted(result["rows"], "row"), []
    if result["truncated"]:
        lines.append(f"{counted(result['truncated'], 'input')} cut, longer than the model reads")
    if result["skipped"]:
        named = "; ".join(f"{example['name']}: {example['why']}" for example in result["examples"])
        lines.append(
            f"{counted(result['skipped'], 'input')} left out, unreadable or without an answer ({named})"
        )
    lines.insert(0, f"{rows} of {result['data']} predicted by {result['model']}")
    notes = () if result["out"] is None else (f"Predictions: {result['out']}",)
    return View(
        "Predicted" if accuracy is None else "Accuracy",
        rows if accuracy is None else percent(accuracy.value),
        accuracy,
        sentences=tuple(lines),
        notes=notes,
        warnings=tuple(result["warnings"]),
        cells={"rows": result["rows"]},
    )
