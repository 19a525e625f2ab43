"""Shifting: which shifted copies of a data set were written, and what of it could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShiftedCopy:
    """One shifted copy: kind and severity of the shift, the file or folder, and the manifest that tells how."""

    kind: str
    severity: int
    out: str
    manifest: str

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {"kind": self.kind, "severity": self.severity, "out": self.out, "manifest": self.manifest}


@dataclass(frozen=True)
class Shifting:
    """What `shift_image` wrote.

    Parameters
    ----------
    data : what was shifted.
    seed : of the draws.
    rows : examples in each copy.
    copies : one for each kind and severity.
    skipped : examples that could not be read and were left out, each with its name and the reason.
    notes : what differs from the published form of a kind.
    """

    version: str
    data: str
    seed: int
    rows: int
    copies: tuple[ShiftedCopy, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "version": self.version,
            "command": "shift image",
            "data": self.data,
            "seed": self.seed,
            "rows": self.rows,
            "copies": [one.to_dict() for one in self.copies],
            "skipped": [{"name": name, "why": why} for name, why in self.skipped],
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """What was written, in a few lines."""
        lines = [f"{self.rows} images of {self.data} shifted"]
        lines += [f"{one.kind}, severity {one.severity}: {one.out}" for one in self.copies]
        if self.skipped:
            named = "; ".join(f"{name}: {why}" for name, why in self.skipped[:3])
            lines.append(f"{len(self.skipped)} could not be read and were left out ({named})")
        lines += [f"note: {one}" for one in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()
