"""What every source of examples is: columns that are named, batches of a data set, faults that name their place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import InputError
from ..base import Dataset, Modality
from ..images import HELD, LateImages, decode_image

TEXTS = ("text", "sentence", "input")
IMAGES = ("image", "img")


@dataclass(frozen=True)
class Columns:
    """Which columns, or arrays, of the data are what.

    Parameters
    ----------
    inputs : what the model reads; two texts are a pair. None where the names are usual ones: ``text``, ``sentence`` or
        ``input``; ``image`` or ``img``; for a model that reads tables every column but the others named here.
    label : the true class; None: ``label`` where there is such a column.
    id : a name for each row; None: ``id`` where there is such a column.
    keep : further columns to carry along.
    """

    inputs: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive examples, with what stands beside them.

    data : inputs, targets where there is a label, ids. first_row : position of the first row in the source, from 0.
    columns : further columns, name -> array. skipped : what could not be read: its name, and why.
    """

    data: Dataset
    first_row: int
    columns: dict[str, Array] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()
    read: int = 0


class Examples(ABC):
    """A source of examples that can be read again and again in batches."""

    name: str
    file: str | None = None
    modality: Modality
    rows: int | None = None
    labels_are_folders = False

    @abstractmethod
    def batches(self, rows: int, *, skip: bool = False, first: int = 0) -> Iterator[Batch]:
        """Batches of at most ``rows`` examples; ``skip`` leaves out images that do not decode, else `InputError`.

        Those before the ``first``, counted from 0, are passed over.
        """

    @property
    @abstractmethod
    def stamp(self) -> Any:
        """What tells these examples from others in the same place, ready for JSON; None where nothing can."""


def check_found(wanted: Sequence[str], held: Any, file: str | None, what: str, option: str) -> tuple[str, ...]:
    """The names that are wanted; `InputError` where one is not there: it says which there are."""
    for name in wanted:
        if name not in held:
            raise InputError(
                what,
                got=f"no {name!r}; there are {', '.join(list(held)[:12])}",
                file=file,
                remedy=f"name one of them with {option}",
            )
    return tuple(wanted)


def check_modality(modality: Modality, reads: Sequence[Modality], file: str | None) -> None:
    """Raise `InputError` where a model does not read what the data hold."""
    if modality not in reads:
        raise InputError(
            f"data of the kind {' or '.join(reads)}, which the model reads",
            got=modality,
            remedy="name another model or other columns (--input)",
            file=file,
        )


def decoded(
    images: Sequence[Any], names: Sequence[str], skip: bool, file: str | None, first: int
) -> tuple[Any, list[int], tuple[tuple[str, str], ...]]:
    """Pixels of images, positions of those that decode, and the others with the reason.

    Those that do not fit into `HELD` bytes are only looked at here, and decoded again when they are asked for.
    """
    makers: list[Callable[[], Array]] = []
    sizes, there, skipped, found, total = [], [], [], [], 0
    for place, image in enumerate(images):
        try:
            pixels = decode_image(image)
        except ValueError as error:
            if not skip:
                in_file = {"file": str(image)} if file is None else {"file": file, "row": first + place + 1}
                raise InputError(
                    "an image",
                    got=str(error),
                    remedy="mend it, make it smaller if it has too many pixels, or leave such images out with "
                    "--on-error skip",
                    **in_file,
                ) from error
            skipped.append((names[place], str(error)))
        else:
            there.append(place)
            total += pixels.nbytes
            sizes.append(pixels.nbytes)
            if total <= HELD:
                found.append(pixels)
            makers.append(partial(np.asarray, pixels) if total <= HELD else partial(decode_image, image))
    if total > HELD:
        return LateImages(makers, sizes), there, tuple(skipped)
    same = found and len({one.shape for one in found}) == 1
    return np.stack(found) if same else tuple(found), there, tuple(skipped)


def objects(cells: list[Any]) -> Array:
    """Cells of any type as an array of objects, shape (row,)."""
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out
