"""Records: the checks that a record from a fitted file passes; passes over memory rely on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Ragged
from ...fields import FIELDS
from ...persistence import Damaged
from ...predictions import Predictions

__all__ = ["check_record"]

_KINDS = {"class": "i", "truth": "i", "number": "f", "time": "M"}


def check_record(record: Predictions) -> None:
    """Arrays of the right kind and as many rows as there should be, class numbers among the classes; else `Damaged`."""
    sizes: dict[str, int] = {"sample": record.rows}
    if record.classes is not None:
        sizes["class"] = len(record.classes)
    for name, field in FIELDS.items():
        value = getattr(record, name)
        if value is None:
            continue
        if isinstance(value, Ragged):
            _check_ragged(name, value, record.rows)
            continue
        if not isinstance(value, np.ndarray) or value.ndim != len(field.axes):
            raise Damaged(f"{name} is no array of its axes")
        if field.cell in _KINDS and value.dtype.kind != _KINDS[field.cell]:
            raise Damaged(f"{name} holds {value.dtype}")
        for axis, size in zip(field.axes, value.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise Damaged(f"{name} has {size} along {axis}")
        _check_range(name, field.cell, value, sizes.get("class") if record.classes is not None else None)


def _check_ragged(name: str, value: Ragged, rows: int) -> None:
    offsets: Any = value.offsets
    values: Any = value.values
    whole = isinstance(offsets, np.ndarray) and isinstance(values, np.ndarray)
    if not whole or offsets.dtype.kind != "i" or offsets.shape != (rows + 1,) or values.ndim != 1:
        raise Damaged(f"{name} is no ragged array of {rows} rows")
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] != len(values):
        raise Damaged(f"{name} has other rows than it says")


def _check_range(name: str, cell: str, value: Any, classes: int | None) -> None:
    if cell in ("class", "truth") and value.size:
        most = 2 if cell == "truth" else classes
        if value.min() < -1 or (most is not None and value.max() >= most):
            raise Damaged(f"{name} holds numbers of no class")
