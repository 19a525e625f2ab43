"""Shift: the kind of shift says what is shifted, images, texts or dialogues, and which options hold."""

from __future__ import annotations

from pathlib import Path

from ...datasets.dialogues import TURNS
from ...errors import UsageError
from ...options import Options, declared, spelt, verb
from ...registry import find
from ...results.shifting import Shifting
from ...shifts import ImageShift, TextShift
from ..model_options import ShiftOptions
from .image import ALL, shift_images
from .text import LINES, TEXT, Rows, shift_texts


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
    severity = options.severity
    names = list(dict.fromkeys([options.kind] if isinstance(options.kind, str) else options.kind))
    levels = list(severity) if isinstance(severity, (list, tuple, range)) else [severity]
    if not names or not levels:
        raise UsageError(
            "expected a kind of shift and a severity; name both, such as --kind fog --severity 3 for images, or --kind "
            "casing --severity 0.2 for texts"
        )
    modality = options.modality or _modality(options, names[0])
    refuse_others(options, modality)
    if modality == "image":
        return shift_images(options, names, levels)
    return shift_texts(options, names, levels, dialogues=modality == "dialogue")


def refuse_others(options: Options, modality: str) -> None:
    """Raise `UsageError` for an option of texts where images are shifted, or the other way round."""
    other = "Texts and dialogues" if modality == "image" else "Images"
    for name, field, about in declared(type(options)):
        value = getattr(options, name)
        plain = value is None or (isinstance(value, (str, int, list)) and value in (field.default, []))
        if about.group == other and not plain:
            spelling = spelt(name, about)[0] if about.flag != "" else name
            raise UsageError(f"{spelling} is of {other.lower()}, and what is shifted here is {modality}s; leave it out")


def _modality(options: ShiftOptions, name: str) -> str:
    """What the kind of shift is of; where that is texts and dialogues, what the first row of the data holds."""
    kind = None if name == ALL else find("shift", name)
    if kind is None or issubclass(kind, ImageShift):
        return "image"
    if issubclass(kind, TextShift) and kind.for_dialogues:
        return "dialogue"
    rows = Rows(Path(options.data))
    if rows.ending not in LINES:
        return "text"
    _, row = next(iter(rows))
    columns = [options.column] if options.column is not None else [] if {*TEXT} & {*row} else TURNS
    return "dialogue" if any(isinstance(row.get(column), list) for column in columns) else "text"
