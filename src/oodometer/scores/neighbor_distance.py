"""Nearest-neighbour distance: minus the mean distance to the nearest reference features."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, present
from ..errors import NotApplicable
from ..kernels import by_chunks, mix, one_thread
from ..predictions import Predictions
from ..registry import register
from .base import Score

_NEIGHBORS, _LARGEST_REFERENCE = 25, 4_000
# the neighbours' share of the reference: that of 25 among 20,000 rows
_LEAST_SHARE = _NEIGHBORS / 20_000
_ROUNDING = 1e-6
_FEW_COLUMNS = 15  # above, a tree looks at most rows anyhow


@register("score")
class NeighborDistance(Score):
    """Score -(mean Euclidean distance to the 25 nearest reference features), shape (sample,), at most 0.

    Needs `features` and a fit on the reference. Of more than 4,000 rows a seeded sample of 4,000 is kept, and of it as
    many neighbours as have the same share (13 of 8,000 rows, never fewer than 5), so that a row's region is as large as
    in the whole reference. A reference row does not count itself as a neighbour when scored with `leave_one_out`.
    `NotApplicable` before the fit, without features, or when their number differs. Source: Sun et al. (2022);
    Roschewitz and Glocker (2023).

    >>> reference = Predictions.from_arrays(features=[[0.0], [1.0], [2.0]], prediction=[0, 0, 0])
    >>> near, far = NeighborDistance().fit(reference)(Predictions.from_arrays(features=[[1.0], [9.0]]))
    >>> bool(near > far)
    True
    """

    name = "neighbor_distance"
    needs = ("features",)
    citation = "sun2022"

    _index: Any = None  # before the fit
    _width = 0
    _neighbors = _NEIGHBORS

    def _fit(self, reference: Predictions) -> None:
        if reference.features is None or not len(reference):
            return
        features = reference.features
        share = max(_NEIGHBORS / len(features), _LEAST_SHARE)
        if len(features) > _LARGEST_REFERENCE:
            key = mix(np.arange(len(features)).astype(np.uint64))
            features = features[
                np.sort(np.argpartition(key, _LARGEST_REFERENCE)[:_LARGEST_REFERENCE])
            ]
        self._neighbors = min(math.ceil(share * len(features)), _NEIGHBORS, len(features))
        self._width = features.shape[1]
        self._index = _Tree(features) if features.shape[1] <= _FEW_COLUMNS else _All(features)

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record does not suffice, or None."""
        why = super().why_not(record)
        if why is not None or self._index is None or record.features is None:
            return why
        if record.features.shape[1] != self._width:
            return f"needs features of {self._width} numbers as in the reference, got {record.features.shape[1]}"
        return None

    def _score(self, record: Predictions) -> Array:
        return np.asarray(-self._distances(record, self._neighbors).mean(axis=1))

    def _distances(self, record: Predictions, count: int) -> Array:
        if self._index is None:
            raise NotApplicable("needs a fit on a reference with `features`")
        distances: Array = self._index(present(record.features), min(count, len(self._index)))
        return distances

    def leave_one_out(self, reference: Predictions) -> Array:
        """Scores of the reference's own rows, without each row's zero distance to itself."""
        distances = self._distances(reference, self._neighbors + 1)
        if distances.shape[1] > 1:
            # distances of many features come from a matrix product: a row's own is not exactly 0
            is_self = distances[:, 0] <= _ROUNDING * np.linalg.norm(
                present(reference.features), axis=1
            )
            distances = np.where(is_self[:, None], distances[:, 1:], distances[:, :-1])
        return np.asarray(-distances.mean(axis=1))


class _Tree:
    """Distances to the nearest rows, ascending, axes (sample, neighbour)."""

    def __init__(self, features: Array) -> None:
        self._rows = features.astype(np.float64)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, features: Array, count: int) -> Array:
        return np.asarray(self._tree.query(features.astype(np.float64), np.arange(1, count + 1))[0])


class _All(_Tree):
    """The same from a matrix product, |x - y|^2 = |x|^2 + |y|^2 - 2 x.y, as in scikit-learn, which loads longer."""

    def __init__(self, features: Array) -> None:
        super().__init__(features)
        self._half = np.square(self._rows).sum(axis=1) / 2

    def __call__(self, features: Array, count: int) -> Array:
        out = np.empty((len(features), count))

        def work(start: int, stop: int) -> None:
            part = features[start:stop].astype(np.float64)
            half = self._half - part @ self._rows.T
            half.partition(count - 1, axis=1)
            squares = 2 * half[:, :count] + np.square(part).sum(axis=1, keepdims=True)
            out[start:stop] = np.sort(np.sqrt(np.maximum(squares, 0)), axis=1)

        with one_thread():  # pieces go to the cores, not products
            by_chunks(work, len(features), len(self._rows))
        return out
