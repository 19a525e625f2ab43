"""Columns: what the user's own columns are, and how each of them moved from the reference to the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .values import Interval, Record, percent, plain, signed_points

ColumnKind = Literal["number", "category", "text"]
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class UserColumn(Record):
    """A column of a file, and where it stands among the columns of `features`.

    Parameters
    ----------
    name : as in the file.
    kind : "number", "category" or "text".
    first : place of its first feature.
    labels : of a category, its values, the most frequent one first; that one has no feature of its own. Of a text, the
        figures that are taken of it.
    center, scale : of each number, feature = (number - center) / scale.
    encoded : whether features for "other" (categories) and "missing" follow those of the labels, as in columns that
        `--features` encoded; plain features are numbers as they are.
    """

    name: str
    kind: ColumnKind
    first: int
    labels: tuple[str, ...] = ()
    center: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    encoded: bool = True

    @property
    def width(self) -> int:
        """Number of features.

        >>> UserColumn("colour", "category", 0, ("red", "blue")).width  # blue, other, missing
        3
        """
        if self.kind == "category":
            return len(self.labels) - 1 + 2
        return len(self.center) + self.encoded

    def features(self) -> tuple[str, ...]:
        """A name for each feature.

        >>> UserColumn("colour", "category", 0, ("red", "blue")).features()
        ('colour=blue', 'colour: other', 'colour: missing')
        """
        name = self.name
        if self.kind == "category":
            return (*(f"{name}={label}" for label in self.labels[1:]), f"{name}: other", f"{name}: missing")
        own = tuple(f"{name}: {label}" for label in self.labels) if self.kind == "text" else (name,)
        return (*own, f"{name}: missing") if self.encoded else own


@dataclass(frozen=True)
class ColumnChange:
    """How one column of the user moved, and what that explains.

    Parameters
    ----------
    name, kind : of the column.
    distance : Jensen-Shannon distance (0 alike, 1 without overlap) between its distributions in reference and target,
        over deciles of a number, over values of a category.
    psi : population stability index over the same cells.
    p_value : of no change, adjusted after Holm for the number of columns.
    moved : whether that is below 0.05.
    explains : by how much the accuracy would change if this column alone were distributed as in the target and the
        accuracy within each of its cells were that of the reference; the interval is corrected for the number of
        columns.
    says : what changed, in a few words.
    missing, unseen : shares (reference, target) of empty cells, and of values that the reference hardly or never had.
    """

    name: str
    kind: ColumnKind
    distance: float
    psi: float
    p_value: float
    moved: bool
    explains: Interval | None
    says: str
    missing: tuple[float, float] = (0.0, 0.0)
    unseen: tuple[float, float] = (0.0, 0.0)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def matters(self) -> bool:
        """Whether it moved, and 0 is not among what it may explain."""
        if not self.moved or self.explains is None:
            return False
        return self.explains.lower > 0 or self.explains.upper < 0

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"name": self.name, "kind": self.kind, "distance": plain(self.distance)}
        out |= {"psi": plain(self.psi), "p_value": plain(self.p_value), "moved": self.moved}
        out |= {"matters": self.matters, "explains": None if self.explains is None else self.explains.to_dict()}
        out |= {"says": self.says, "missing": list(self.missing), "unseen": list(self.unseen)}
        return out | {"details": plain(self.details)}


def most_moved(changes: Sequence[Mapping[str, Any]]) -> str:
    """One line on the columns that moved most, in their order, from their mappings; empty without columns.

    >>> most_moved([ColumnChange("age", "number", 0.2, 0.1, 1e-9, True, None, "older").to_dict()])
    'Most moved: age'
    """
    if not changes:
        return ""
    moved = [one for one in changes if one["moved"]]
    if not moved:
        many = len(changes)
        return f"None of the {many} columns moved" if many > 1 else f"{changes[0]['name']} did not move"
    names = [
        one["name"] + (f" (explains {signed_points(one['explains']['value'])})" if one["matters"] else "")
        for one in moved[:_SHOWN]
    ]
    more = len(moved) - len(names)
    return f"Most moved: {', '.join(names)}" + (f" and {more} of {len(changes)} columns more" if more else "")


def shares_text(name: str, before: float, after: float) -> str:
    """How a share changed.

    >>> shares_text("red", 0.25, 0.4)
    'red 25 % -> 40 %'
    """
    return f"{name} {percent(before, 0)} -> {percent(after, 0)}"


def explained_text(change: Mapping[str, Any]) -> str:
    """What a column explains of a change of accuracy, with its interval; a dash where it did not move.

    >>> explains = Interval(-0.02, -0.03, -0.01, 0.95, "asymptotic")
    >>> explained_text(ColumnChange("age", "number", 0.2, 0.1, 1e-9, True, explains, "older").to_dict())
    '-2.0 points [-3.0, -1.0]'
    """
    one = change["explains"]
    if one is None:
        return ""
    if not change["moved"]:
        return "-"
    ends = ", ".join(signed_points(one[end]).split()[0] for end in ("lower", "upper"))
    return f"{signed_points(one['value'])} [{ends}]"
