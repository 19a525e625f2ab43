"""Shifting: which shifted copies of images, texts or dialogues were written, what was left out of them, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oodometer.results.values import Record, counted
from oodometer.results.view import Named, Shown, View, shows

_WHAT = {"shift image": "images", "shift text": "texts", "shift dialogue": "contexts of dialogues"}


@dataclass(frozen=True)
class ShiftedCopy(Record):
    """One shifted copy: kind and severity of the shift, the file or folder, and the manifest that tells how."""

    kind: str
    severity: int | str
    out: str
    manifest: str


@dataclass(frozen=True)
class ShiftedTexts(ShiftedCopy):
    """One shifted copy of texts or dialogues.

    rows : texts or dialogues in the copy. dropped : reason -> how many were left out. words : mean number of words and
    punctuation marks (of turns where turns are deleted) before the shift. targets : mean number of them that the shift
    touched. counts : what such a target is.
    """

    rows: int
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None
    counts: str


@dataclass(frozen=True, repr=False)
class Shifting(Shown, Record, Named[ShiftedCopy]):
    """What `shift` wrote.

    command : "shift image", "shift text" or "shift dialogue". data : what was shifted. seed : of the draws. rows :
    images in each copy; texts, or contexts of dialogues, that were read. copies : one for each kind and severity.
    refused : reason -> rows of the file that hold none. skipped : images that could not be read and were left out, each
    with its name and the reason. notes : what differs from the published form of a kind.
    """

    version: str
    command: str
    data: str
    seed: int
    rows: int
    copies: tuple[ShiftedCopy, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    _noun = "copy"

    def entries(self) -> Mapping[str, ShiftedCopy]:
        """The copies, by kind and severity as folders have them."""
        return {f"{copy.kind}-{copy.severity}": copy for copy in self.copies}

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON; of images what was skipped, of texts what was refused."""
        result = super().to_dict() | {
            "skipped": [{"name": name, "why": why} for name, why in self.skipped]
        }
        del result["refused" if self.command == "shift image" else "skipped"]
        return result


@shows(Shifting)
def shifting_view(result: Mapping[str, Any]) -> View:
    """What shifting wrote, from the mapping that JSON holds: each copy, what it touched, and what was left out."""
    copies, skipped = result["copies"], result.get("skipped") or ()
    lines = [f"{result['rows']:,} {_WHAT[result['command']]} of {result['data']}"]
    lines += [
        f"{counted(count, 'row')} without one: {why}"
        for why, count in (result.get("refused") or {}).items()
    ]
    for copy in copies:
        name, rows = f"{copy['kind']}, severity {copy['severity']}", ""
        if "rows" in copy:
            touched = (
                ""
                if copy["targets"] is None
                else f", {copy['targets']:.2f} {copy['counts']} in each"
            )
            rows = f"{copy['rows']:,}{touched}: "
        lines.append(f"{name}: {rows}{copy['out']}")
        lines += [
            f"{name}: {count:,} left out: {why}"
            for why, count in (copy.get("dropped") or {}).items()
        ]
    if skipped:
        named = "; ".join(f"{item['name']}: {item['why']}" for item in skipped[:3])
        lines.append(f"{len(skipped)} could not be read and were left out ({named})")
    headline = "1 copy" if len(copies) == 1 else f"{len(copies)} copies"
    return View("Shifted", headline, sentences=tuple(lines), notes=tuple(result["notes"]))
