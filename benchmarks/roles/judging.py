"""Sets what came against what is right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .asking import Numbers, Reply, ask, quiet_environment
from .base import Right, Table
from .catalogue import tables
from .forms import FORMS

CLOSE = 0.006  # a number that differs by more is another one
SAME = 1e-9  # between the forms of one table


class Verdict(StrEnum):
    """What came of a table."""

    RIGHT = "right at once"
    REMEDY = "right after the printed remedy"
    REFUSED = "refused, the cause named"
    UNCLEAR = "refused for another cause"
    TOLD = "another number, the cause told"
    WRONG = "WRONG"
    WRONG_REMEDY = "WRONG after the remedy"
    CRASH = "CRASH"


SILENT = (Verdict.WRONG, Verdict.WRONG_REMEDY, Verdict.CRASH)
REFUSALS = (Verdict.REFUSED, Verdict.UNCLEAR)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict on a table in one form, and what was asked and said."""

    form: str
    verdict: Verdict
    numbers: Numbers
    asked: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """A table of the result: what is right, and what came in each form."""

    name: str
    tool: str
    trap: str
    right: Right
    forms: Sequence[Judged]
    apart: str

    @property
    def first(self) -> Judged:
        return self.forms[0]

    @property
    def silent(self) -> list[str]:
        """The forms in which a number is wrong without a word, or nothing comes at all."""
        return [one.form for one in self.forms if one.verdict in SILENT]

    def to_dict(self) -> dict[str, Any]:
        first = asdict(self.first)
        others = {one.form: one.verdict for one in self.forms[1:]}
        return {"tool": self.tool, "name": self.name, "trap": self.trap, "right": asdict(self.right), **first,
            "others": others, "apart": self.apart, "silent": self.silent}  # fmt: skip


def faults(numbers: Numbers, right: Right) -> list[str]:
    """The numbers that are not the right ones, or that should not be there; accuracy has to come where it is known."""
    expected: Mapping[str, float | None] = {"accuracy": right.accuracy, "roc_auc": right.roc_auc}
    found = []
    for name, value in numbers.items():
        wanted = expected.get(name)
        if wanted is None:
            found.append(f"{name} {value:.4f}, for none")
        elif abs(value - wanted) > CLOSE:
            found.append(f"{name} {value:.4f}, for {wanted:.4f}")
    if right.accuracy is not None and "accuracy" not in numbers:
        found.append(f"no accuracy, for {right.accuracy:.4f}")
    return found


# Lines that name columns without a word about what is the matter with them.
_NAMES_ALONE = re.compile(
    r"[^\n]*: read [^\n]* changes it|expected columns of a predictions file .*?, got [^;\n]*"
)


def names(cause: str, said: str) -> bool:
    """Whether what was said names the cause, in more than a list of the columns or of what they were read as."""
    return bool(cause) and re.search(cause, _NAMES_ALONE.sub("", said), re.IGNORECASE) is not None


def verdict_on(replies: Sequence[Reply], right: Right, cause: str) -> Verdict:
    """What the replies to one table come to; ``cause`` is the words by which a message names the table's trap."""
    last, after = replies[-1], len(replies) > 1
    if last.crashed:
        return Verdict.CRASH
    if last.refused:
        return Verdict.REFUSED if names(cause, last.said) else Verdict.UNCLEAR
    if not faults(last.numbers, right):
        return Verdict.REMEDY if after else Verdict.RIGHT
    if names(cause, last.said):
        return Verdict.TOLD
    return Verdict.WRONG_REMEDY if after else Verdict.WRONG


def difference(one: Judged, other: Judged) -> str:
    """How the other form of a table came out otherwise; nothing where it did not.

    CSV has no types: there a number may take another way, as long as it is the same one. Refusals are alike.
    """
    if one.verdict in REFUSALS and other.verdict in REFUSALS:
        return ""
    if one.numbers.keys() != other.numbers.keys():
        return f"{other.form}: {other.verdict}"
    for name, value in one.numbers.items():
        if abs(value - other.numbers[name]) > SAME:
            return f"{other.form}: {name} {other.numbers[name]:.4f} for {value:.4f}"
    untyped = "csv" in (one.form, other.form) and bool(one.numbers)
    return "" if untyped or one.verdict == other.verdict else f"{other.form}: {other.verdict}"


def judge(table: Table, forms: Sequence[str] = FORMS) -> Row:
    """Ask about a table in each form."""
    files = table.files()
    found = []
    for form in forms:
        with TemporaryDirectory() as folder:
            replies = ask(files, form, Path(folder))
        last = replies[-1]
        verdict = verdict_on(replies, files.right, table.cause)
        found.append(
            Judged(
                form=form, verdict=verdict, numbers=last.numbers, asked=last.asked, said=last.said
            )
        )
    apart = [difference(found[0], other) for other in found[1:]]
    return Row(
        name=table.name,
        tool=table.tool,
        trap=str(table.trap),
        right=files.right,
        forms=found,
        apart="; ".join(text for text in apart if text),
    )


def judge_at(place: int) -> Row:
    """Ask about the table at this place of the catalogue, as a process of its own does."""
    quiet_environment()
    return judge(tables()[place])
