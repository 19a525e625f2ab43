"""Clusters: rows that depend on each other (epochs of a question, questions of a passage), and what they are worth."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from ..arrays import Array
from ..classes import is_null
from ..intervals import clopper_pearson, normal_quantile
from ..kernels.top import mix, row_hash

CLUSTER = (
    "cluster of the row"  # a column of keys, uint64, in batches whose rows depend on each other
)
MOST_CLUSTERS = 1 << 16  # of which sums are kept; of more, an even sample of whole clusters
_LONG_TEXT = 64
EPOCH = "epoch"  # the column in which a log that holds several numbers them
# how `predict` names the repeats of a question in its `id`
EPOCH_OF_ID = re.compile(r"_epoch_\d+$")


def cluster_keys(values: Any, first_row: int = 0) -> Array:
    """A 64-bit key of each row's cluster, the same for equal cells anywhere; an empty cell is a cluster of its own."""
    cells = np.asarray(values)
    short: Any = cells
    if cells.dtype.kind not in "iub":  # a digest stands for a long text
        full_texts = [v if type(v) is str else "" if is_null(v) else str(v) for v in cells.tolist()]
        cells = np.array(full_texts, dtype=object)
        short = [
            v if len(v) <= _LONG_TEXT else blake2b(v.encode(), digest_size=16).hexdigest()
            for v in full_texts
        ]
        short = [EPOCH_OF_ID.sub("", v) if "_epoch_" in v else v for v in short]
    texts = np.array(short, dtype=str)
    codes = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
    keys = row_hash(codes) if codes.shape[1] else np.zeros(len(texts), dtype=np.uint64)
    empty = np.flatnonzero(cells == "")
    keys[empty] = mix(~(first_row + empty).astype(np.uint64))
    return keys


def named_repeats(
    ids: Sequence[str], epochs: Sequence[Any] | None = None, every: bool = False
) -> list[str]:
    """Ids, those that repeat (or ``every`` one) with their epoch, else with their number among equal ones from 1 on."""
    times, seen, out = Counter(ids), Counter[str](), []
    for row, name in enumerate(ids):
        seen[name] += 1
        number = seen[name] if epochs is None else epochs[row]
        out.append(f"{name}_epoch_{number}" if every or times[name] > 1 else name)
    return out


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sums by cluster of a number in [0, 1], such as correctness; states merge and grow with the clusters alone.

    keys : uint64, ascending, shape (cluster,). sums : rows, sum and sum of squares of each, shape (3, cluster).
    bits : only clusters whose scrambled key ends in so many zero bits are kept: beyond `MOST_CLUSTERS` an even sample.
    """

    keys: Array
    sums: Array
    bits: int = 0

    @classmethod
    def of(cls, keys: Array, values: Array) -> Clusters:
        """State of rows with these keys and numbers, shape (sample,)."""
        x = np.asarray(values, dtype=np.float64)
        return cls.of_sums(keys, np.stack([np.ones_like(x), x, x * x]))

    @classmethod
    def of_sums(cls, keys: Array, sums: Array, bits: int = 0) -> Clusters:
        """State of sums (3, part) of parts of clusters with these keys."""
        distinct, at = np.unique(keys, return_inverse=True)
        return cls(
            distinct, np.stack([np.bincount(at, row, len(distinct)) for row in sums])
        )._bounded(bits)

    def __add__(self, other: Clusters) -> Clusters:
        both = np.concatenate([self.sums, other.sums], axis=1)
        return Clusters.of_sums(
            np.concatenate([self.keys, other.keys]), both, max(self.bits, other.bits)
        )

    def _bounded(self, bits: int = 0) -> Clusters:
        sampled = np.ones(len(self.keys), dtype=bool)
        while True:
            if bits:
                sampled = mix(self.keys) & np.uint64((1 << bits) - 1) == 0
            if sampled.sum() <= MOST_CLUSTERS:
                return Clusters(self.keys[sampled], self.sums[:, sampled], bits)
            bits += 1

    @property
    def count(self) -> int:
        """Clusters whose sums are kept."""
        return len(self.keys)

    @property
    def rows(self) -> int:
        """Rows in them."""
        return int(self.sums[0].sum())

    @property
    def repeated(self) -> int:
        """Clusters of more than one row."""
        return int((self.sums[0] > 1).sum())

    @cached_property
    def value(self) -> float:
        """Mean of the number over the rows."""
        return float(self.sums[1].sum() / self.sums[0].sum())

    @cached_property
    def variance(self) -> float:
        """Of the mean, by the jackknife: (G - 1) / G sum_g (mean without cluster g - mean)^2; infinite for one."""
        sizes, total, _ = self.sums
        without = (total.sum() - total) / np.maximum(sizes.sum() - sizes, 1e-9)
        count = len(sizes)
        return (
            float((count - 1) / count * np.square(without - self.value).sum())
            if count > 1
            else np.inf
        )

    @property
    def worth(self) -> float:
        """Kish's number of clusters, (sum of sizes)^2 / sum of squared sizes: fewer where sizes are uneven."""
        return float(self.sums[0].sum() ** 2 / np.square(self.sums[0]).sum())

    def effect(self, level: float) -> float:
        """The design effect: rows are worth 1 / effect as many independent ones, see `effective_rows`."""
        spread = max(float(self.sums[2].sum()) / self.rows - self.value**2, 0.0)
        return self.rows / effective_rows(self.rows, self.worth, spread, self.variance, level)


def student_quantile(level: float, degrees: float) -> float:
    """The t with P(|T| <= t) = level, T of Student's law with these degrees of freedom, not below 1."""
    from scipy.special import stdtrit

    return float(stdtrit(max(degrees, 1.0), 0.5 + level / 2))


def effective_rows(
    rows: float, clusters: float, spread: float, variance: float, level: float
) -> float:
    """Independent rows that give a mean as uncertain as rows in clusters do, with the jackknife (Korn and Graubard
    1998).
    """
    if variance <= 0:
        return rows if spread > 0 else clusters
    shrink = (normal_quantile(level) / student_quantile(level, clusters - 1)) ** 2
    return min(max(spread / variance * shrink, clusters, 1.0), rows)


def cells_effect(keys: Array, cells: Array) -> float:
    """The design effect of a test on shares of cells: Rao and Scott's (1981) first correction; keys and cells
    (sample,).
    """
    group, cell = (
        np.unique(side, return_inverse=True)[1].astype(np.int64) for side in (keys, cells)
    )
    share, sizes = np.bincount(cell) / max(len(cell), 1), np.bincount(group)
    if min(len(share), len(sizes)) < 2:
        return 1.0
    filled, rows = np.unique(group * len(share) + cell, return_counts=True)
    spread = float((rows**2 / share[filled % len(share)]).sum() - np.square(sizes).sum())
    return max(len(sizes) / (len(sizes) - 1) * spread / (len(cell) * (len(share) - 1)), 1.0)


def clustered_error(effects: tuple[float, float], *samples: tuple[float, int]) -> float:
    """Standard error that clusters add: sqrt(sum (d - 1) a (1 - a) / n), a and n of the reference and the target."""
    return math.sqrt(
        sum(
            (d - 1) * max(a * (1 - a), 0) / max(n, 1)
            for d, (a, n) in zip(effects, samples, strict=True)
        )
    )


def clustered_share(sums: Clusters, rows: int, value: float, level: float) -> tuple[float, float]:
    """Ends for a share of rows in clusters: Clopper and Pearson's for as many independent rows as they are worth."""
    worth = rows / sums.effect(level)
    low, high = clopper_pearson(value * worth, worth, level)
    return min(low, value), max(high, value)
