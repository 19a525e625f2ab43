"""Diagnosis: what kind of shift the target shows, and what each look at it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .columns import ColumnChange, explained_text, most_moved
from .values import Record, percent, plain
from .view import INTERVAL, Grid, Maker, Shown, Table, View, ends, p_text

_SHOWN = 8
ShiftKind = Literal["none", "label", "covariate", "support", "unknown"]


@dataclass(frozen=True)
class Finding(Record):
    """One look at the shift.

    Parameters
    ----------
    name : what was looked at.
    says : the finding in a sentence.
    statistic, p_value : of its test, where there is one. power : chance that the test sees what it looks for.
    supports, refutes : names of the methods whose assumption it speaks for or against.
    strength : "strong", "weak" or "none" (nothing found, or nothing could have been).
    """

    name: str
    says: str
    statistic: float | None = None
    p_value: float | None = None
    power: float | None = None
    supports: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()
    strength: Literal["strong", "weak", "none"] = "none"
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """What kind of shift the target shows, as far as data without labels can tell.

    kind : "none"; "label" (a change of the class prior explains it); "covariate" (other inputs, within what the
    reference holds); "support" (inputs unlike the reference's, or models that no longer agree: no re-weighting of the
    reference explains it); "unknown" (too little to tell).

    columns : how each of the user's columns moved, those that explain most first (`ColumnChange`); empty without
    features. features : which of them were taken and which were not ("taken", "left_out"). warnings : what `diagnose`
    has to say of how the files were read.

    At a prompt and in a notebook it shows what each look found.

    >>> Diagnosis("none", (), "nothing moved").to_dict()["kind"]
    'none'
    """

    kind: ShiftKind
    findings: tuple[Finding, ...]
    why: str
    signs: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[ColumnChange, ...] = ()
    features: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def view(self) -> View:
        """What it says; see `Shown`."""
        return diagnosis_view(self.to_dict())

    def frames(self) -> dict[str, Maker]:
        """A row for each finding; ``columns``, a row for each of the user's, and what it alone would change."""
        first = ("finding", "says", "statistic", "p_value", "power", "strength", "supports", "refutes")
        findings = [
            {
                **{name: getattr(one, name) for name in first[1:6]},
                "finding": one.name,
                "supports": ", ".join(one.supports),
                "refutes": ", ".join(one.refutes),
            }
            for one in self.findings
        ]
        then = ("column", "type", "distance", "psi", "p_value", "moved", *INTERVAL, "says")
        columns = [
            {
                "column": one.name,
                "type": one.kind,
                **ends(one.explains),
                **{name: getattr(one, name) for name in ("distance", "psi", "p_value", "moved", "says")},
            }
            for one in self.columns
        ]
        made: dict[str, Maker] = {"findings": lambda: Table(first, findings)}
        return made | ({"columns": lambda: Table(then, columns)} if columns else {})

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        out: dict[str, Any] = {"kind": self.kind, "why": self.why, "findings": [f.to_dict() for f in self.findings]}
        out |= {"signs": plain(self.signs), "warnings": list(self.warnings)}
        out |= {"features": plain(self.features)} if self.features else {}
        return out | ({"columns": [one.to_dict() for one in self.columns]} if self.columns else {})


def diagnosis_view(told: Mapping[str, Any]) -> View:
    """What a diagnosis says, from the mapping that JSON holds.

    >>> diagnosis_view({"kind": "none", "why": "nothing moved"}).sentences[0]
    'nothing moved'
    """
    looks = told.get("findings") or []
    verdicts = [one for one in looks if one["supports"] or one["refutes"]]
    rows = [
        [
            one["name"],
            one["says"],
            "" if one["statistic"] is None else f"{one['statistic']:.3g}",
            p_text(one["p_value"]),
            "" if one["power"] is None else percent(one["power"], 0),
        ]
        for one in looks
    ]
    strong = frozenset((i, 0) for i, one in enumerate(looks) if one["strength"] == "strong")
    methods = [[one["name"], ", ".join(one["supports"]), ", ".join(one["refutes"])] for one in verdicts]
    return View(
        "Kind of shift",
        str(told["kind"]),
        sentences=(str(told["why"]), *column_sentences(told)),
        grids=(
            *columns_grid(told),
            Grid("What each test sees", ["test", "result", "statistic", "p", "power"], rows, bold=strong),
            Grid(
                "Methods whose assumption a test supports or refutes",
                ["test", "supports", "refutes"],
                methods,
                noun="verdict",
                detail=True,
            ),
        ),
        notes=("No test here sees a change of the truth itself (P(y | x)): only labels do, see `oodometer audit`.",),
        warnings=tuple(told.get("warnings") or ()),
        seed=told.get("seed"),
    )


def column_sentences(told: Mapping[str, Any]) -> list[str]:
    """Which columns moved most, and which were taken as features and which were not; nothing without features.

    >>> told = {"taken": [{"name": "age", "kind": "number"}], "left_out": {"day": "times"}}
    >>> column_sentences({"features": told})
    ['features: age; left out: day (times)']
    """
    lines = [most_moved(told["columns"])] if told.get("columns") else []
    if told.get("features"):
        taken = [str(one["name"]) for one in told["features"]["taken"]]
        left = [f"{name} ({why})" for name, why in told["features"]["left_out"].items()]
        lines.append(f"features: {_few(taken)}" + (f"; left out: {_few(left)}" if left else ""))
    return lines


def _few(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def columns_grid(told: Mapping[str, Any]) -> tuple[Grid, ...]:
    """How the user's columns moved, those first that explain most of a change of accuracy; at first a few of them."""
    changes = told.get("columns") or []
    if not changes:
        return ()
    rows = [
        [one["name"], one["says"], f"{one['distance']:.3f}", p_text(one["p_value"]), explained_text(one)]
        for one in changes
    ]
    matter = [i for i, one in enumerate(changes) if one["matters"]]
    heads = ["column", "what changed", "distance", "p", "explains"]
    bold = frozenset((i, 0) for i in matter)
    return (Grid("Your columns", heads, rows, noun="column", few=matter[:_SHOWN], bold=bold),)
