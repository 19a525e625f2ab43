"""The verb `shift`: a data set in, shifted copies of it out, seeded, with a severity; the kind says of what data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oodometer.errors import UsageError
from oodometer.options import verb
from oodometer.registry import find

from ...datasets.dialogues import TURNS
from ...results.shifting import Shifting
from ...shifts import ImageShift, TextShift
from ..options import ShiftOptions
from .image import GROUPS, shift_images
from .text import LINES, TEXT, TEXT_GROUPS, Rows, refuse_others, shift_texts

__all__ = ["shift"]


@verb(ShiftOptions)
def shift(options: ShiftOptions) -> Shifting:
    """Write shifted copies of images, texts or dialogues, one for each kind and severity.

    Images of a folder keep their relative names. PNG, BMP, TIFF, PPM and WebP stay what they are, without loss; JPEG
    and GIF, which would lose some of the shift, become PNG. Texts that a shift cannot change so far are left out and
    counted, and so are dialogues that are empty or of a single turn. Each copy has a manifest in JSON. The result
    appears whole or not at all; several copies that were interrupted go on where they ended. Raises `InputError` for
    what cannot be read, `UsageError` for a kind or severity that there is not, an option of other data and a place
    that is taken.

    >>> import tempfile, numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"text": "Keep calm", "label": 1}')
    >>> result = shift(folder / "a.jsonl", kind="casing", severity=1, out=folder / "b.jsonl")
    >>> (folder / "b.jsonl").read_text()
    '{"text": "keep CALM", "label": 1, "source_row": 1}\\n'
    >>> np.savez(folder / "a.npz", image=np.full((4, 8, 8, 3), 100, np.uint8), label=np.arange(4))
    >>> result = shift(folder / "a.npz", kind="brightness", severity=2, out=folder / "b.npz")
    >>> with np.load(folder / "b.npz") as shifted:
    ...     shifted["image"].max(), shifted["label"].tolist()
    (np.uint8(125), [0, 1, 2, 3])
    """
    asked = [options.kind] if isinstance(options.kind, str) else options.kind
    if not asked:
        raise UsageError(
            "expected a kind of shift; name one, such as --kind fog --severity 3 for images, or --kind casing "
            "--severity 0.2 for texts"
        )
    first = asked[0].partition("=")[0]
    first = TEXT_GROUPS.get(first, (first,))[0]
    kind: Any = ImageShift if first in GROUPS else find("shift", first)
    modality = options.modality or _modality_of(kind, options)
    refuse_others(options, modality)
    if modality == "image":
        return shift_images(options)
    return shift_texts(options, dialogues=modality == "dialogue")


def _modality_of(kind: Any, options: ShiftOptions) -> str:
    """What a kind shifts; of one that shifts texts and dialogues what the first row of the data holds."""
    if issubclass(kind, ImageShift):
        return "image"
    if issubclass(kind, TextShift) and kind.for_dialogues:
        return "dialogue"
    rows = Rows(Path(options.data))
    if rows.ending not in LINES:
        return "text"
    _, row = next(iter(rows))
    columns: tuple[str, ...] = TURNS
    if options.column is not None:
        columns = (options.column,)
    elif {*TEXT} & {*row}:
        columns = ()
    holds_turns = any(isinstance(row.get(column), list) for column in columns)
    return "dialogue" if holds_turns else "text"
