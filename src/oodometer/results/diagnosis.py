"""Diagnosis: what kind of shift the target shows, and what each look at it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .columns import ColumnChange, most_moved
from .shown import Shown
from .values import aligned, plain

_SHOWN = 8
ShiftKind = Literal["none", "label", "covariate", "support", "unknown"]


@dataclass(frozen=True)
class Finding:
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

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "name": self.name,
            "says": self.says,
            "statistic": plain(self.statistic),
            "p_value": plain(self.p_value),
            "power": plain(self.power),
            "supports": list(self.supports),
            "refutes": list(self.refutes),
            "strength": self.strength,
            "details": plain(self.details),
        }


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

    def __repr__(self) -> str:
        looks = aligned(["look", "finding"], [[f.name, f.says] for f in self.findings])
        lines = [f"Kind of shift: {self.kind}", f"  {self.why}", *(f"  {line}" for line in column_lines(self))]
        said = (f"warning: {warning}" for warning in self.warnings)
        return "\n".join([*lines, *([looks] if self.findings else []), *said])

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "kind": self.kind,
            "why": self.why,
            "findings": [f.to_dict() for f in self.findings],
            "signs": plain(self.signs),
            "warnings": list(self.warnings),
            **({"features": plain(self.features)} if self.features else {}),
            **({"columns": [one.to_dict() for one in self.columns]} if self.columns else {}),
        }


def column_lines(found: Diagnosis) -> list[str]:
    """Which columns moved most, and which were taken as features and which were not; nothing without features.

    >>> told = {"taken": [{"name": "age", "kind": "number"}], "left_out": {"day": "times"}}
    >>> column_lines(Diagnosis("none", (), "", features=told))
    ['features: age; left out: day (times)']
    """
    lines = [most_moved(found.columns)] if found.columns else []
    if found.features:
        taken = [str(one["name"]) for one in found.features["taken"]]
        said = f"features: {_shown(taken)}"
        left = [f"{name} ({why})" for name, why in found.features["left_out"].items()]
        lines.append(said + (f"; left out: {_shown(left)}" if left else ""))
    return lines


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
