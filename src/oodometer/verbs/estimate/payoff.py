"""The pay-off matrix: what a sample brings, by its true and its predicted class, read by class names."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...classes import ClassNames
from ...errors import InputError

__all__ = ["read_payoff"]

_REMEDY = 'write {"true class": {"predicted class": number, ...}, ...}, or a CSV of that shape with names on both sides'


def read_payoff(given: Any, classes: ClassNames) -> Array:
    """Pay-offs, axes (true class, predicted class), in the order of ``classes``.

    ``given`` is a mapping {true: {predicted: number}}, a JSON file of one, a CSV whose first row and column name the
    predicted and the true classes, or an array in the order of the classes. `InputError` where a pair is missing or no
    number, or where a class is unknown.

    >>> read_payoff({"no": {"no": 0, "yes": -1}, "yes": {"no": -5, "yes": 2}}, ("no", "yes")).tolist()
    [[0.0, -1.0], [-5.0, 2.0]]
    """
    file = None
    if isinstance(given, (str, os.PathLike)):
        file = str(given)
        given = _read(Path(given))
    if isinstance(given, Mapping):
        return _by_name(given, classes, file)
    found = np.asarray(given, dtype=np.float64)
    size = len(classes)
    if found.shape != (size, size) or not np.isfinite(found).all():
        raise InputError(
            f"a pay-off matrix of {size} by {size} numbers", got=f"shape {found.shape}", remedy=_REMEDY, file=file
        )
    return found


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            rows = [row for row in csv.reader(text.splitlines()) if row]
            return {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[1:]}
        plain = json.loads(text)
    except (OSError, ValueError, IndexError) as error:
        raise InputError(
            "a pay-off matrix, JSON or CSV", got=str(error) or type(error).__name__, remedy=_REMEDY, file=str(path)
        ) from None
    if not isinstance(plain, dict) or not all(isinstance(row, dict) for row in plain.values()):
        raise InputError("a pay-off matrix, JSON or CSV", got="JSON of another shape", remedy=_REMEDY, file=str(path))
    return plain


def _by_name(given: Mapping[Any, Any], classes: ClassNames, file: str | None) -> Array:
    names = [str(one) for one in classes]
    rows = {str(true).strip(): row for true, row in given.items()}
    out = np.full((len(names), len(names)), np.nan)
    for true, row in rows.items():
        for said, value in row.items():
            for one in (true, str(said).strip()):
                if one not in names:
                    raise InputError(
                        f"the classes {', '.join(names)}", got=f"the class {one!r}", remedy=_REMEDY, file=file
                    )
            out[names.index(true), names.index(str(said).strip())] = _number(value, true, str(said), file)
    if np.isnan(out).any():
        true, said = (names[i] for i in np.argwhere(np.isnan(out))[0])
        raise InputError(
            "a pay-off for each pair of classes", got=f"none for true {true!r}, predicted {said!r}",
            remedy=_REMEDY, file=file,
        )  # fmt: skip
    return out


def _number(value: Any, true: str, said: str, file: str | None) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or isinstance(value, bool):
        raise InputError(f"a number for true {true!r}, predicted {said!r}", got=repr(value), remedy=_REMEDY, file=file)
    return found
