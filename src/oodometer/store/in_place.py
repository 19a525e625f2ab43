"""In place: the batches of a source of known length, each copied at once to where it belongs in one record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Any, final

import numpy as np

from ..arrays import Array, Ragged
from ..fields import FIELDS
from ..kernels import Top
from ..predictions import Predictions


@final
class InPlace:
    """One record of ``rows`` rows, filled by several threads; less memory than batches that are joined at the end.

    A batch goes where its ``first_row`` says. The first one decides which fields, types and shapes there are; one
    that differs, or holds token sequences of several lengths, stays as it is. With ``rows`` None, or where
    ``wanted`` says no to the first batch, all stay as they are.

    >>> together = InPlace(3)
    >>> record = Predictions.from_classes([0, 1, 1])
    >>> [together.put(batch).prediction.tolist() for batch in record.batches(2)]
    [[0, 1], [1]]
    >>> together.whole().prediction.tolist()
    [0, 1, 1]
    """

    def __init__(self, rows: int | None, wanted: Callable[[Predictions], bool] | None = None) -> None:
        self._rows = rows
        self._wanted = wanted
        self._whole: Predictions | None = None
        self._lock = Lock()
        self._filled = 0

    def put(self, batch: Predictions) -> Predictions:
        """The same rows as a view of the whole record, or the batch itself where it has no place there."""
        with self._lock:
            if self._whole is None and self._rows is not None:
                self._whole = self._made_for(batch)
                self._rows = None if self._whole is None else self._rows
            whole = self._whole
        if whole is None:
            return batch
        start, stop = batch.first_row, batch.first_row + len(batch)
        if start < 0 or stop > len(whole):
            return batch
        piece = whole.slice(start, stop)
        for key in ("top", "verdicts"):
            if key in whole._cache and key in batch._cache and key not in piece._cache:
                piece._cache[key] = whole._cache[key][start:stop]
        places = _placed(_arrays(piece), _arrays(batch))
        if places is None:
            return batch
        for to, values in places:
            np.copyto(to, values)
        with self._lock:
            self._filled += len(batch)
            if batch.noted:
                piece._cache["noted"] = batch.noted
                whole._cache["noted"] = dict(Counter(whole.noted) + Counter(batch.noted))
        return piece

    def whole(self) -> Predictions | None:
        """The whole record; None where not every row has come to its place."""
        return self._whole if self._whole is not None and self._filled == len(self._whole) else None

    def _made_for(self, batch: Predictions) -> Predictions | None:
        rows = self._rows
        assert rows is not None
        if self._wanted is not None and not self._wanted(batch):
            return None
        if any(isinstance(value, Ragged) for value in _arrays(batch).values()):
            return None

        def room(value: Array, axis: int = 0) -> Array:
            return np.empty((*value.shape[:axis], rows, *value.shape[axis + 1 :]), dtype=value.dtype)

        fields: dict[str, Any] = {
            name: room(getattr(batch, name), known.sample)
            for name, known in FIELDS.items()
            if getattr(batch, name) is not None
        }
        cache: dict[str, Any] = {}
        if "top" in batch._cache:
            cache["top"] = Top(*(room(value) for value in batch._cache["top"]))
        if "verdicts" in batch._cache:
            cache["verdicts"] = room(batch._cache["verdicts"])
        columns = {name: room(value) for name, value in batch.columns.items()}
        return replace(batch, rows=rows, first_row=0, columns=columns, _cache=cache, **fields)


def _placed(there: dict[str, Array | Ragged], here: dict[str, Array | Ragged]) -> list[tuple[Array, Array]] | None:
    """Each array's place and the array; None where one has no place of its type and shape."""
    out = []
    for name, values in here.items():
        to = there.get(name)
        if not isinstance(values, np.ndarray) or not isinstance(to, np.ndarray):
            return None
        if (to.dtype, to.shape) != (values.dtype, values.shape):
            return None
        out.append((to, values))
    return out if len(out) == len(there) else None


def _arrays(record: Predictions) -> dict[str, Array | Ragged]:
    """Every array that a record holds or has worked out, by a name of its own."""
    out = {name: getattr(record, name) for name in FIELDS if getattr(record, name) is not None}
    out |= {f"column {name}": values for name, values in record.columns.items()}
    if "top" in record._cache:
        out |= zip(("best", "first", "second"), record._cache["top"], strict=True)
    if "verdicts" in record._cache:
        out["verdicts"] = record._cache["verdicts"]
    return out
