"""Block rates: how often an event happens in each short stretch of probabilities, class by class, in any order.

Isotonic regression would be the wrong map for an AUC: it puts its own samples into the best order that a rising map
allows (the convex hull of the ROC curve), which flatters rare classes and every score that is not monotone. Rates of
short blocks keep the order that the samples had.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .binned_map import nearest

BLOCK = 10  # rows of a block: more would tie samples that the score can tell apart
_ENOUGH_ROWS = 5  # of one class, before it gets rates of its own
_UNSEEN = 5  # of a kind: with fewer, another sample may well hold some where this one holds none


@dataclass(frozen=True, eq=False)
class BlockRates:
    """Rates by (class, bin), with the counts they were learnt from.

    Parameters
    ----------
    block : shape (class, bin), number of the block that a cell belongs to.
    rows, hits : shape (block,), samples in each block, and those where the event happened.
    group : shape (block,), number of the set of rows (a class, or all together) that a block is part of.
    """

    block: Array
    rows: Array
    hits: Array
    group: Array

    @property
    def rate(self) -> Array:
        """The rates, shape (class, bin)."""
        out: Array = (self.hits / np.maximum(self.rows, 1))[self.block]
        return out

    def redraw(self, many: int, rng: np.random.Generator) -> Array:
        """The rates as other samples of the same size might have given them, shape (replicate, class, bin).

        Hits and misses of a block are Poisson. Where a group holds fewer than five of a kind, as many again as an equal
        sample might hold (Poisson, of an exponential mean 1) are spread over it.
        """
        hits = rng.poisson(self.hits, (many, len(self.hits))).astype(np.float64)
        drawn = hits + rng.poisson(self.rows - self.hits, hits.shape)
        rate = np.where(drawn > 0, hits / np.maximum(drawn, 1), self.hits / np.maximum(self.rows, 1))
        all_rows = np.maximum(np.bincount(self.group, weights=self.rows), 1)
        all_hits = np.bincount(self.group, weights=self.hits)
        for seen, event in ((all_rows - all_hits, 0.0), (all_hits, 1.0)):
            unseen = rng.poisson(rng.exponential(size=(many, len(seen)))) * (seen < _UNSEEN)
            share = np.minimum(unseen / all_rows, 1)[:, self.group]
            rate += share * (event - rate)
        out: Array = rate[:, self.block]
        return out


def _blocks(rows: Array) -> Array:
    """Number of the block of each bin, from 0: blocks of about `BLOCK` rows; an empty bin joins the one next to it."""
    full = np.flatnonzero(rows > 0)
    if not len(full):
        return np.zeros(len(rows), dtype=np.intp)
    before = np.cumsum(rows[full]) - rows[full]
    owner = np.unique(before // BLOCK, return_inverse=True)[1]
    out: Array = owner[nearest(full, len(rows))]
    return out


def fit_block_rates(rows: Array, hits: Array, least_hits: int = 0) -> BlockRates:
    """Rates from counts with axes (class, bin): samples, and those where the event happened.

    A class with fewer than 5 rows, or ``least_hits`` hits, takes the rates of all classes together.

    >>> rows, hits = np.array([[30, 0, 10], [0, 0, 0]]), np.array([[3, 0, 8], [0, 0, 0]])
    >>> fit_block_rates(rows, hits).rate.tolist()
    [[0.1, 0.8, 0.8], [0.1, 0.8, 0.8]]
    """
    own = np.flatnonzero((rows.sum(axis=1) >= _ENOUGH_ROWS) & (hits.sum(axis=1) >= least_hits))
    pooled = _blocks(rows.sum(axis=0))
    block = np.tile(pooled, (len(rows), 1))
    sizes = [int(pooled.max()) + 1]
    counted = [(pooled, rows.sum(axis=0), hits.sum(axis=0))]
    for k in own:
        mine = _blocks(rows[k])
        counted.append((mine, rows[k], hits[k]))
        block[k] = mine + sum(sizes)
        sizes.append(int(mine.max()) + 1)
    sums = [
        np.concatenate(
            [np.bincount(b, weights=part[i], minlength=size) for (b, *part), size in zip(counted, sizes, strict=True)]
        )
        for i in (0, 1)
    ]
    return BlockRates(block, sums[0], sums[1], np.repeat(np.arange(len(sizes)), sizes))
