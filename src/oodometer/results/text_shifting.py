"""Text shifting: which shifted copies of texts or dialogues were written, what was left out of each, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ShiftedTexts:
    """One shifted copy.

    Parameters
    ----------
    kind, severity : of the shift. out, manifest : the file, and the one that tells how it was made.
    rows : texts or dialogues in the copy. dropped : reason -> how many were left out.
    words : mean number of words and punctuation marks (of turns where turns are deleted) before the shift.
    targets : mean number of them that the shift touched. counts : what such a target is.
    """

    kind: str
    severity: str
    out: str
    manifest: str
    rows: int
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None
    counts: str

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "out": self.out,
            "manifest": self.manifest,
            "rows": self.rows,
            "dropped": dict(self.dropped),
            "words": self.words,
            "targets": self.targets,
            "counts": self.counts,
        }


@dataclass(frozen=True)
class TextShifting:
    """What `shift_text` or `shift_dialogue` wrote.

    Parameters
    ----------
    command : "shift text" or "shift dialogue". data : what was shifted. seed : of the draws.
    rows : texts, or contexts of dialogues, that were read. refused : reason -> rows of the file that hold none.
    copies : one for each kind and severity. notes : what differs from the published form of a kind.
    """

    version: str
    command: str
    data: str
    seed: int
    rows: int
    refused: Mapping[str, int]
    copies: tuple[ShiftedTexts, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "version": self.version,
            "command": self.command,
            "data": self.data,
            "seed": self.seed,
            "rows": self.rows,
            "refused": dict(self.refused),
            "copies": [one.to_dict() for one in self.copies],
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """What was written, in a few lines."""
        what = "texts" if self.command == "shift text" else "contexts of dialogues"
        lines = [f"{self.rows:,} {what} of {self.data}"]
        lines += [f"{many:,} rows hold none: {why}" for why, many in self.refused.items()]
        for one in self.copies:
            targets = "" if one.targets is None else f", {one.targets:.2f} {one.counts} in each"
            lines.append(f"{one.kind}, severity {one.severity}: {one.rows:,}{targets}: {one.out}")
            lines += [f"  {many:,} left out: {why}" for why, many in one.dropped.items()]
        lines += [f"note: {one}" for one in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()
