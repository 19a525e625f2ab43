"""Reference parts: a reference read part by part on an engine, each part leaving its share of the sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from ..inference.row_sample import key_bound
from ..predictions import Predictions
from ..store import Part
from ..store.base import rows_of
from .folding import Execution
from .reference_sample import SLACK, Gathered, below, keys_of, labelled_rows, smallest

__all__ = ["gather_parts"]

_State = dict[str, Any]


@final
@dataclass(frozen=True)
class _Share:
    """The share that a part has in the sample: of its labelled rows those that can be among the ``limit`` smallest.

    ``rows_in_all`` labelled rows, at the least as many as there are, say below which number these lie; None: nobody
    knows how many there are, and a part keeps up to ``limit`` rows.
    """

    fields: tuple[str, ...] | None
    limit: int
    rows_in_all: int | None

    def __call__(self, part: Part) -> _State:
        bound = None if self.rows_in_all is None else key_bound(self.limit, self.rows_in_all)
        total: _State = {"kept": [], "rows": 0, "correct": 0, "unlabelled": 0}
        for batch in part.batches(self.fields):
            there, known = labelled_rows(batch)
            total["unlabelled"] += len(batch) - len(known)
            if not len(known):
                continue
            total["rows"] += len(known)
            total["correct"] += int(known.verdicts.sum())
            keys = keys_of(batch, there)
            if bound is not None:
                keys, known = below(keys, known, bound)
            total["kept"].append((keys, known))
        total["kept"] = _one(self._cut(total["kept"], 1.0))
        return total

    def merge(self, a: _State, b: _State) -> _State:
        """Two states as one."""
        out = {name: a[name] + b[name] for name in a}
        out["kept"] = self._cut(out["kept"], SLACK)
        return out

    def _cut(self, kept: list[Any], slack: float) -> list[Any]:
        held = sum(len(keys) for keys, _ in kept)
        return smallest(kept, self.limit)[1] if held > slack * self.limit else kept


def gather_parts(parts: Sequence[Part], fields: Iterable[str] | None, limit: int, execution: Execution) -> Gathered:
    """The reference of all parts, of which at most ``limit`` rows will be kept.

    Where many rows have no label, the shares turn out too small, and the parts are read once more.
    """
    share = _Share(None if fields is None else tuple(fields), limit, rows_of(parts))
    found = execution.fold(share, parts, share.merge)
    held = sum(len(keys) for keys, _ in found["kept"])
    if held < min(limit, found["rows"]):
        share = replace(share, rows_in_all=found["rows"])
        found = execution.fold(share, parts, share.merge)
    counts = (found["rows"], found["correct"], found["unlabelled"])
    return Gathered(tuple(found["kept"]), *counts, limit)


def _one(kept: list[Any]) -> list[Any]:
    """Rows of several batches as one record; joining copies them, so that no batch is held for a few of its rows."""
    if not kept:
        return []
    keys = np.concatenate([keys for keys, _ in kept])
    return [(keys, Predictions.concat([record for _, record in kept]))]
