"""What a table of the bed is: its columns, the trap in it, and the numbers that are right."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

Columns: TypeAlias = Mapping[str, Any]  # the cells of each, a list or an array


class Trap(StrEnum):
    """What may mislead a reader of the table."""

    NONE = ""
    BELOW_CHANCE = "worse than chance"
    CLASS_ORDER = "classes not in alphabetical order"
    LABEL_IS_ANSWER = "`label` is the model's answer"
    PLACEHOLDER = "a placeholder as truth of the target"
    LONE_CONFIDENCE = "a lone column is the confidence of the answer"
    PROBABILITY = "a probability called prediction"
    REGRESSION = "regression with decimals"
    RANKING = "a ranking score beside an outcome"
    UNLABELLED = "a word for not yet labelled"
    WEIGHTS = "rows have weights"
    UNICODE = "two Unicode forms of a class"
    PERCENT = "percents"
    INPUT = "an input between 0 and 1"
    RARE_POSITIVE = "the positive class is rare and first by name"
    OTHER_ID = "ids of another name beside the labels"
    SAME_NAME = "one name in submission and solution"
    MARGIN = "margins or logits"
    NO_TRUTH = "a target without labels"
    SECOND_MODEL = "a second model's answers"


@dataclass(frozen=True, kw_only=True)
class Right:
    """The right numbers; None where the table does not hold what a number is made of, so that none may come."""

    accuracy: float | None
    roc_auc: float | None = None


@dataclass(frozen=True, kw_only=True)
class Files:
    """The columns of the predictions, of a file of labels or of a target beside them, and what is right."""

    columns: Columns
    right: Right
    labels: Columns | None = None
    target: Columns | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: who writes such ones, its trap, and the words (a regular expression) by which a message names its cause.

    ``make`` draws its files; the same ones every time.
    """

    name: str
    tool: str
    trap: Trap
    cause: str
    make: Callable[[np.random.Generator], Files]

    def files(self) -> Files:
        """The columns and the right numbers, drawn with a seed that the name gives."""
        return self.make(np.random.default_rng(zlib.crc32(self.name.encode())))


TABLES: list[Table] = []
Make: TypeAlias = Callable[[np.random.Generator], Files]


def table(name: str, tool: str, trap: Trap = Trap.NONE, cause: str = "") -> Callable[[Make], Make]:
    """Register what the function makes as a table of the bed."""

    def register(make: Make) -> Make:
        TABLES.append(Table(name=name, tool=tool, trap=trap, cause=cause, make=make))
        return make

    return register
