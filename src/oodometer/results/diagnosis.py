"""Diagnosis: what kind of shift the target shows, and what each look at it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..plain import Json, Plain, Strings
from .values import Interval, Record, percent, signed_points
from .view import INTERVAL, Grid, Maker, Named, Shown, Table, View, cell, ends, p_text, shows

ColumnKind = Literal["number", "category", "text"]
_NAMED = 3


@dataclass(frozen=True, slots=True)
class UserColumn(Record):
    """A column of a file, and where it stands among the columns of `features`.

    name : as in the file. kind : "number", "category" or "text". first : place of its first feature. labels : of a
    category, its values, the most frequent one first; that one has no feature of its own. Of a text, the figures that
    are taken of it. center, scale : of each number, feature = (number - center) / scale. encoded : whether features for
    "other" (categories) and "missing" follow those of the labels, as in columns that `--features` encoded; plain
    features are numbers as they are.
    """

    name: str
    kind: ColumnKind
    first: int
    labels: Strings = ()
    center: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    encoded: bool = True

    @property
    def width(self) -> int:
        """Number of features."""
        if self.kind == "category":
            return len(self.labels) - 1 + 2
        return len(self.center) + self.encoded

    def features(self) -> Strings:
        """A name for each feature."""
        name = self.name
        if self.kind == "category":
            return (
                *(f"{name}={label}" for label in self.labels[1:]),
                f"{name}: other",
                f"{name}: missing",
            )
        names = (
            tuple(f"{name}: {label}" for label in self.labels) if self.kind == "text" else (name,)
        )
        return (*names, f"{name}: missing") if self.encoded else names


@dataclass(frozen=True)
class ColumnChange(Record):
    """How one column of the user moved, and what that explains.

    name, kind : of the column. distance : Jensen-Shannon distance (0 alike, 1 without overlap) between its
    distributions in reference and target, over deciles of a number, over values of a category. psi : population
    stability index over the same cells. p_value : of no change, adjusted after Holm for the number of columns. moved :
    whether that is below 0.05. explains : by how much the accuracy would change if this column alone were distributed
    as in the target and the accuracy within each of its cells were that of the reference; the interval is corrected for
    the number of columns. says : what changed, in a few words. missing, unseen : shares (reference, target) of empty
    cells, and of values that the reference hardly or never had.
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
    details: Plain = field(default_factory=dict)

    @property
    def matters(self) -> bool:
        """Whether it moved, and 0 is not among what it may explain."""
        item = self.explains
        return self.moved and item is not None and (item.lower > 0 or item.upper < 0)

    def to_dict(self) -> Json:
        """Return a plain mapping, ready for JSON."""
        return {**super().to_dict(), "matters": self.matters}


@dataclass(frozen=True)
class ColumnPeriod(Record):
    """How far the user's columns are from the reference in one chunk of the target.

    name, start, end : of the chunk. rows : in it. distances : column -> Jensen-Shannon distance, as in `ColumnChange`;
    of few rows it is above 0 by chance. moved : the columns that moved beyond chance, after Holm in the chunk.
    """

    name: str
    start: str | int
    end: str | int
    rows: int
    distances: Mapping[str, float]
    moved: Strings


def most_moved(changes: Sequence[Plain]) -> str:
    """One line on the columns that moved most, in their order, from their mappings; empty without columns."""
    moved = [change for change in changes if change["moved"]]
    if not changes:
        return ""
    if not moved:
        return (
            f"None of the {len(changes)} columns moved"
            if len(changes) > 1
            else f"{changes[0]['name']} did not move"
        )
    names = [
        item["name"]
        + (f" (explains {signed_points(item['explains']['value'])})" if item["matters"] else "")
        for item in moved[:_NAMED]
    ]
    more = len(moved) - len(names)
    return f"Most moved: {', '.join(names)}" + (
        f" and {more} of {len(changes)} columns more" if more else ""
    )


def shares_text(name: str, before: float, after: float) -> str:
    """How a share changed."""
    return f"{name} {percent(before, 0)} -> {percent(after, 0)}"


def explained_text(change: Plain) -> str:
    """What a column explains of a change of accuracy, with its interval; a dash where it did not move."""
    item = change["explains"]
    if item is None:
        return ""
    if not change["moved"]:
        return "-"
    ends = ", ".join(signed_points(item[end]).split()[0] for end in ("lower", "upper"))
    return f"{signed_points(item['value'])} [{ends}]"


_SHOWN = 8
ShiftKind = Literal["none", "label", "covariate", "support", "unknown"]


@dataclass(frozen=True)
class Finding(Record):
    """One look at the shift.

    name : what was looked at.
    says : the finding in a sentence.
    statistic, p_value : of its test, where there is one.
    power : chance that the test sees what it looks for.
    supports, refutes : names of the methods whose assumption it speaks for or against.
    strength : "strong", "weak" or "none" (nothing found, or nothing could have been).
    details : further figures of this look by name, such as both means of a confidence that moved.
    """

    name: str
    says: str
    statistic: float | None = None
    p_value: float | None = None
    power: float | None = None
    supports: Strings = ()
    refutes: Strings = ()
    strength: Literal["strong", "weak", "none"] = "none"
    details: Plain = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown, Record, Named[Finding]):
    """What kind of shift the target shows, as far as data without labels can tell.

    kind : "none"; "label" (a change of the class prior explains it); "covariate" (other inputs, within what the
        reference holds); "support" (inputs unlike the reference's, or models that no longer agree: no re-weighting of
        the reference explains it); "unknown" (too little to tell).
    findings : what each look at the shift found.
    why : the reason for the kind, in a sentence.
    signs : name -> figure of how far the outputs moved (`ShiftStatistics`); empty where it has none.
    columns : how each of the user's columns moved, those that explain most first (`ColumnChange`); empty without
        features.
    features : which of them were taken and which were not ("taken", "left_out").
    periods : the same of each chunk along time (`ColumnPeriod`); empty without ``every``.
    warnings : what `diagnose` has to say of how the files were read.

    At a prompt and in a notebook it shows what each look found.

    >>> Diagnosis("none", (), "nothing moved").to_dict()["kind"]
    'none'
    """

    kind: ShiftKind
    findings: tuple[Finding, ...]
    why: str
    signs: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[ColumnChange, ...] = ()
    features: Plain = field(default_factory=dict)
    periods: tuple[ColumnPeriod, ...] = ()
    warnings: Strings = ()
    _first = "kind why findings signs warnings features"
    _spare = frozenset({"features", "columns", "periods"})
    _noun, _entries = "finding", ("findings", "name")

    def frames(self) -> dict[str, Maker]:
        """A row for each finding; ``columns``, a row for each of the user's, and what it alone would change."""
        first = (
            "finding",
            "says",
            "statistic",
            "p_value",
            "power",
            "strength",
            "supports",
            "refutes",
        )
        findings = []
        for item in self.findings:
            findings.append(
                {name: getattr(item, name) for name in first[1:6]}
                | {
                    "finding": item.name,
                    "supports": ", ".join(item.supports),
                    "refutes": ", ".join(item.refutes),
                }
            )
        then = ("column", "type", "distance", "psi", "p_value", "moved", *INTERVAL, "says")
        columns = [
            {**vars(column), "column": column.name, "type": column.kind, **ends(column.explains)}
            for column in self.columns
        ]
        makers: dict[str, Maker] = {"findings": lambda: Table(first, findings, named="finding")}
        makers |= {"columns": lambda: Table(then, columns)} if columns else {}
        along = [
            {**vars(period), "column": name, "distance": x, "moved": name in period.moved}
            for period in self.periods
            for name, x in period.distances.items()
        ]
        chunk = ("name", "start", "end", "rows", "column", "distance", "moved")
        return makers | ({"periods": lambda: Table(chunk, along)} if along else {})


@shows(Diagnosis)
def diagnosis_view(result: Plain) -> View:
    """What a diagnosis says, from the mapping that JSON holds."""
    looks = result.get("findings") or []
    verdicts = [look for look in looks if look["supports"] or look["refutes"]]
    numbers = [
        [cell(look["statistic"], ".3g"), p_text(look["p_value"]), cell(look["power"], "%0")]
        for look in looks
    ]
    rows = [
        [look["name"], look["says"], *cells] for look, cells in zip(looks, numbers, strict=True)
    ]
    strong = frozenset((i, 0) for i, look in enumerate(looks) if look["strength"] == "strong")
    methods = [
        [look["name"], ", ".join(look["supports"]), ", ".join(look["refutes"])] for look in verdicts
    ]
    title = "Methods whose assumption a test supports or refutes"
    heads = ["test", "supports", "refutes"]
    tests = Grid(
        "What each test found", ["test", "result", "statistic", "p", "power"], rows, bold=strong
    )
    note = "No test can detect a change of the truth itself (P(y | x)): only labels do, see `oodometer audit`."
    return View(
        "Kind of shift",
        str(result["kind"]),
        caveat="whether the answers are still right, only labels show",
        sentences=(str(result["why"]), *column_sentences(result)),
        grids=(
            *columns_grid(result),
            *periods_grid(result),
            tests,
            Grid(title, heads, methods, noun="verdict", detail=True, slot="methods"),
        ),
        notes=(note,),
        warnings=tuple(result.get("warnings") or ()),
        seed=result.get("seed"),
        cells={"kind": result["kind"], "says": str(result["why"])},
    )


def column_sentences(result: Plain) -> list[str]:
    """Which columns moved most, and which were taken as features and which were not; nothing without features."""

    def few(names: Sequence[str]) -> str:
        more = len(names) - _SHOWN
        return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

    lines = [most_moved(result["columns"])] if result.get("columns") else []
    if result.get("features"):
        left_out = few([f"{name} ({why})" for name, why in result["features"]["left_out"].items()])
        taken = few([str(item["name"]) for item in result["features"]["taken"]])
        lines.append(f"features: {taken}" + (f"; left out: {left_out}" if left_out else ""))
    return lines


def columns_grid(result: Plain) -> tuple[Grid, ...]:
    """How the user's columns moved, those first that explain most of a change of accuracy; at first a few of them."""
    changes = result.get("columns") or []
    rows = [
        [o["name"], o["says"], f"{o['distance']:.3f}", p_text(o["p_value"]), explained_text(o)]
        for o in changes
    ]
    matter = [i for i, change in enumerate(changes) if change["matters"]]
    heads = ["column", "what changed", "distance", "p", "explains"]
    bold = frozenset((i, 0) for i in matter)
    return (
        (
            Grid(
                "Your columns",
                heads,
                rows,
                noun="column",
                few=matter[:_SHOWN],
                bold=bold,
                slot="columns",
            ),
        )
        if changes
        else ()
    )


def periods_grid(result: Plain) -> tuple[Grid, ...]:
    """How far each column is from the reference, chunk by chunk; bold where it moved beyond chance."""
    periods = result.get("periods") or []
    if not periods:
        return ()
    columns = [item["name"] for item in result["columns"]]
    rows = [
        [period["name"], f"{period['rows']:,}", *(f"{period['distances'][c]:.3f}" for c in columns)]
        for period in periods
    ]
    bold = frozenset(
        (i, 2 + j)
        for i, period in enumerate(periods)
        for j, column in enumerate(columns)
        if column in period["moved"]
    )
    title = "Distance of your columns from the reference, chunk by chunk"
    note = "Bold: moved beyond chance (5 % after Holm within the chunk)"
    return (
        Grid(
            title,
            ["chunk", "rows", *columns],
            rows,
            noun="",
            detail=True,
            bold=bold,
            notes=(note,),
            slot="columns over time",
        ),
    )
