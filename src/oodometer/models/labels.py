"""Labels: the truth of the data matched to the class names of the model, by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import InputError

_WHOLE = re.compile(r"-?\d+\.0+")


def matched(
    labels: Sequence[Any],
    classes: Sequence[int | str],
    *,
    file: str | None,
    first_row: int,
    column: str,
    images: Sequence[str] = (),
    remedy: str = "name its classes in the words of the labels, in their order, with --classes a,b,c",
) -> list[int | str | None]:
    """Labels as class names of the model; a cell of text, 1, and a number, 1 or 1.0, are the same name.

    Empty cells are unknown, None. ``images`` are the paths of images whose folders are the labels: of nested ones,
    ``2024/cat``, the one that is a class. ``remedy`` is what a message advises. Raises `InputError` naming the row
    where a label is none of the classes.

    >>> matched(["1", None, "0"], (0, 1), file=None, first_row=0, column="label")
    [1, None, 0]
    >>> matched(["2024/cat"], ("cat", "dog"), file=None, first_row=0, column="label", images=["2024/cat/1.png"])
    ['cat']
    """
    names = {_key(one): one for one in classes}
    out: list[int | str | None] = []
    for row, one in enumerate(labels, first_row + 1):
        plain = one.item() if hasattr(one, "item") else one
        if plain is None or plain == "" or plain != plain:
            out.append(None)
            continue
        key = _key(plain)
        if key not in names and images:
            inner = {part for part in key.split("/") if part in names}
            if len(inner) != 1:
                raise InputError(
                    f"a folder named like one of the model's classes, {', '.join(list(names)[:8])}",
                    got=repr(plain),
                    file=images[row - first_row - 1],
                    remedy="name the model's classes in the words of the folders, in their order, with "
                    "--classes a,b,c, or leave labels out with --unlabelled",
                )
            key = inner.pop()
        if key not in names:
            expected = f"one of the model's classes, {', '.join(list(names)[:8])}"
            raise InputError(expected, got=repr(plain), file=file, row=row, column=column, remedy=remedy)
        out.append(names[key])
    return out


def _key(label: Any) -> str:
    """A label as a name: 1, 1.0, "1.0" and true are one."""
    if isinstance(label, str) and _WHOLE.fullmatch(label):
        return label.partition(".")[0]
    if isinstance(label, bool) or (isinstance(label, float) and label.is_integer()):
        return str(int(label))
    return str(label)
