"""The binned map: from a probability to the observed rate, isotonic over log-odds bins, from counts alone.

Counts are a small state that merges, so that a map is learnt in one pass, cross-validated from counts by
fold, and re-drawn in a bootstrap without the samples. Isotonic calibration, CBPE and label-free risk-coverage
all stand on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Array
from ..inference.row_sample import FOLDS
from ..kernels import LOG_ODDS_BINS, log_odds_bin, log_odds_centres, pool_adjacent, tally

_ENOUGH_ROWS = 100  # of one class, before it gets a map of its own
_MANY_CLASSES, _COARSE = 16, 8
_DEALINGS, _CELLS = 5, 10_000  # at most; cells in all of them

Form = Literal["raw", "pooled", "classwise"]


def bins_for(classes: int) -> int:
    """Number of bins a class: fine for few classes, two an octave for many, so that the state stays small."""
    return LOG_ODDS_BINS if classes <= _MANY_CLASSES else LOG_ODDS_BINS // _COARSE


def bin_numbers(probability: Array, classes: int) -> Array:
    """Bin of each probability at the resolution of `bins_for`; intp."""
    bins = log_odds_bin(probability)
    return bins if classes <= _MANY_CLASSES else bins // _COARSE


def count_verdicts(bins: Array, verdicts: Array, width: int) -> tuple[Array, Array]:
    """Samples and correct samples (verdict 1) in each cell, shape (cell,), in one counting pass."""
    table = tally(bins, width, verdicts=verdicts)[0]
    return table.sum(axis=1), table[:, 1]


def centres(classes: int) -> Array:
    """A representative probability of each bin, at the resolution of `bins_for`."""
    bins, fine = bins_for(classes), log_odds_centres()
    return fine if bins == len(fine) else fine.reshape(bins, -1).mean(axis=1)


def count_bins(kind: Array, bins: Array, classes: int) -> Array:
    """Number of samples in each cell, axes (class, bin), of samples given by class and bin."""
    return tally(bins.ravel(), bins_for(classes), kinds=kind.ravel(), of=classes)[:, :, 0]


def deal_into_folds(counts: Array, *seed: int) -> Array:
    """Counts with axes (fold, class, bin): each sample of a cell, which are exchangeable, goes to a random fold."""
    rng = np.random.default_rng([*seed, FOLDS])
    dealt = np.zeros((counts.size, FOLDS), dtype=np.int64)
    filled = np.flatnonzero(counts.ravel())
    dealt[filled] = rng.multinomial(
        counts.ravel()[filled].astype(np.int64), np.full(FOLDS, 1 / FOLDS)
    )
    return np.moveaxis(dealt, 1, 0).reshape(FOLDS, *counts.shape)


@dataclass(frozen=True)
class BinnedMap:
    """A map (class, bin) -> rate, with what is needed for its sampling error.

    rate : shape (class, bin).
    block : shape (class, bin), number of the isotonic block that a cell belongs to.
    block_rows : shape (block,), reference rows in each block.
    form : "raw" (the probability itself), "pooled" (one map for all classes) or "classwise".
    scores : cross-validated Brier score of each form that was tried.
    """

    rate: Array
    block: Array
    block_rows: Array
    form: Form
    scores: Mapping[Form, float]

    def variance(self, weights: Array) -> float:
        """Variance of sum_cells weights * rate that comes from the reference: sum_blocks w^2 r(1-r)/n."""
        return float(self.variances(weights[None])[0])

    def variances(self, weights: Array) -> Array:
        """`variance` of each of many weights, shape (piece, class, bin)."""
        if self.form == "raw":
            return np.zeros(len(weights))
        block, rows = self.block.ravel(), self.block_rows
        hits = np.zeros(len(rows))
        hits[block] = self.rate.ravel()
        smooth = (hits * rows + 0.5) / (rows + 1)
        shares = (
            np.bincount(block, weights=weight.ravel(), minlength=len(rows)) for weight in weights
        )
        return np.array(
            [np.sum(np.square(w) * smooth * (1 - smooth) / np.maximum(rows, 1)) for w in shares]
        )

    def redraw(self, rng: np.random.Generator, replicates: int) -> Array:
        """The rates as other references of the same size might have given them, shape (replicate, class, bin)."""
        if self.form == "raw":
            return np.broadcast_to(self.rate, (replicates, *self.rate.shape))
        rate = np.zeros(len(self.block_rows))
        rate[self.block.ravel()] = self.rate.ravel()
        hits = rate * self.block_rows
        redrawn = rng.beta(hits + 0.5, self.block_rows - hits + 0.5, size=(replicates, len(hits)))
        return redrawn[:, self.block]


def nearest(filled: Array) -> Array:
    """For each bin the filled one next to it in its row, the later of two as near; bool and intp, shape (row, bin).
    Rows without a filled bin have no meaning.
    """
    width = filled.shape[1]
    every = np.arange(width)
    before = np.maximum.accumulate(np.where(filled, every, -width), axis=1)
    after = np.minimum.accumulate(np.where(filled, every, 2 * width)[:, ::-1], axis=1)[:, ::-1]
    return np.where(every - before < after - every, before, after)


def _isotonic(rows: Array, hits: Array) -> tuple[Array, Array, Array]:
    """Rate and block number of each bin along each row of bins, shape (piece, bin), and rows in each block; empty bins
    follow their neighbours. Blocks are numbered through all pieces; a piece without rows is one of rate 0.5.
    """
    filled = rows > 0
    filled[~filled.any(axis=1), 0] = True
    piece, _ = np.nonzero(filled)
    starts, block_rows, block_hits = pool_adjacent(rows[filled], hits[filled], piece)
    block = np.zeros(rows.shape, dtype=np.intp)
    block[filled] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(piece)))
    block = np.take_along_axis(block, nearest(filled), axis=1)
    rate = np.where(block_rows > 0, block_hits / np.maximum(block_rows, 1), 0.5)
    return rate[block], block, block_rows


def _make(rows: Array, hits: Array, form: Form) -> BinnedMap:
    """A map of one form from counts with axes (class, bin)."""
    if form == "raw":
        raw = np.broadcast_to(centres(len(rows)), rows.shape)
        return BinnedMap(raw, np.zeros(rows.shape, dtype=np.intp), np.ones(1), form, {})
    apart = _classes_apart(rows[None], form)[0]
    rate, block, block_rows = _isotonic(
        np.concatenate([rows.sum(axis=0)[None], rows[apart]]),
        np.concatenate([hits.sum(axis=0)[None], hits[apart]]),
    )
    rates, blocks = (np.tile(values[0], (len(rows), 1)) for values in (rate, block))
    rates[apart], blocks[apart] = rate[1:], block[1:]
    return BinnedMap(rates, blocks, block_rows, form, {})


def _classes_apart(rows: Array, form: Form) -> Array:
    """Which classes of each piece, counts with axes (piece, class, bin), have a map of their own; (piece, class)."""
    enough = rows.sum(axis=2) >= _ENOUGH_ROWS
    return enough if form == "classwise" else np.zeros_like(enough)


def _rates(rows: Array, hits: Array, forms: Sequence[Form]) -> dict[Form, Array]:
    """Rates of the calibrated ``forms`` from each of many counts, axes (piece, class, bin), all in one regression."""
    pieces, _, bins = rows.shape
    apart = _classes_apart(rows, "classwise" if "classwise" in forms else "pooled")
    rate, _, _ = _isotonic(
        np.concatenate([rows.sum(axis=1), rows[apart]]),
        np.concatenate([hits.sum(axis=1), hits[apart]]),
    )
    pooled = np.broadcast_to(rate[:pieces, None], (*apart.shape, bins))
    classwise = pooled.copy()
    classwise[apart] = rate[pieces:]
    made: dict[Form, Array] = {"pooled": pooled, "classwise": classwise}
    return {form: made[form] for form in forms}


def _brier(rows: Array, hits: Array, rate: Array) -> Array:
    """Sum over samples of (rate - hit)^2, from counts with axes (piece, class, bin); shape (piece,)."""
    error = rows * np.square(rate) - 2 * rate * hits + hits
    return np.asarray(error.reshape(len(error), -1).sum(axis=1))


def fit_map(
    rows: Array,
    hits: Array,
    forms: tuple[Form, ...] = ("raw", "pooled", "classwise"),
    seed: int = 0,
) -> BinnedMap:
    """The form with the lowest cross-validated Brier score, fitted on all folds.

    rows, hits : samples in each cell, and those where the event happened; whole numbers, shape (class, bin).
    forms : what to choose from: "raw" (the probability itself), "pooled" (one map for all classes), "classwise". The
        last is tried only with two classes or more, one of them of 100 samples.
    seed : of the folds.

    A calibrated form is used only where five-fold cross-validation, the mean of up to five ways to deal out the
    samples, says that it helps.

    >>> rows = np.zeros((1, LOG_ODDS_BINS), dtype=int); hits = rows.copy()
    >>> high = int(log_odds_bin(np.array([0.95]))[0])
    >>> rows[0, high] = 500; hits[0, high] = 300
    >>> m = fit_map(rows, hits)
    >>> m.form, float(m.rate[0, high].round(3))
    ('pooled', 0.6)
    """
    tried = [
        f
        for f in forms
        if f != "classwise" or (len(rows) > 1 and (rows.sum(axis=1) >= _ENOUGH_ROWS).any())
    ]
    total = max(float(rows.sum()), 1.0)
    scores: dict[Form, float] = dict.fromkeys(tried, 0.0)
    if "raw" in tried:  # whatever the folds
        scores["raw"] = float(_brier(rows[None], hits[None], centres(len(rows)))[0]) / total
    calibrated = [form for form in tried if form != "raw"]
    dealings = min(max(_CELLS // max(int(np.count_nonzero(rows)), 1), 1), _DEALINGS)
    for dealing in range(dealings):
        salt = [seed, dealing] if seed or dealing else []
        hit_folds = deal_into_folds(hits, *salt, 1)
        miss_folds = deal_into_folds(rows - hits, *salt, 2)
        held_rows = hit_folds + miss_folds
        trained = _rates(rows - held_rows, hits - hit_folds, calibrated)
        for form, rate in trained.items():
            for error in _brier(held_rows, hit_folds, rate):
                scores[form] += float(error) / (total * dealings)
    best = min(scores, key=lambda form: scores[form])
    fitted = _make(rows, hits, best)
    return BinnedMap(fitted.rate, fitted.block, fitted.block_rows, best, dict(scores))


BLOCK = 10  # rows of a block: more would tie samples that the score can tell apart
_ENOUGH_FOR_RATES = 5  # of one class, before it gets rates of its own
_UNSEEN = 5  # of a kind: with fewer, another sample may well hold some where this one holds none


@dataclass(frozen=True, eq=False)
class BlockRates:
    """Rates by (class, bin), the ``block`` of each cell, and of each block its ``rows``, ``hits`` and ``group`` of
    rows.
    """

    block: Array
    rows: Array
    hits: Array
    group: Array

    @property
    def rate(self) -> Array:
        """The rates, shape (class, bin)."""
        return (self.hits / np.maximum(self.rows, 1))[self.block]

    def redraw(self, replicates: int, rng: np.random.Generator) -> Array:
        """The rates as other samples of the same size might have given them, shape (replicate, class, bin)."""
        hits = rng.poisson(self.hits, (replicates, len(self.hits))).astype(np.float64)
        redrawn_rows = hits + rng.poisson(self.rows - self.hits, hits.shape)
        rate = np.where(
            redrawn_rows > 0,
            hits / np.maximum(redrawn_rows, 1),
            self.hits / np.maximum(self.rows, 1),
        )
        all_rows = np.maximum(np.bincount(self.group, weights=self.rows), 1)
        all_hits = np.bincount(self.group, weights=self.hits)
        # of fewer than five of a kind as many again as an equal sample might hold (Poisson, of an exponential mean 1)
        for seen, event in ((all_rows - all_hits, 0.0), (all_hits, 1.0)):
            unseen = rng.poisson(rng.exponential(size=(replicates, len(seen)))) * (seen < _UNSEEN)
            share = np.minimum(unseen / all_rows, 1)[:, self.group]
            rate += share * (event - rate)
        return rate[:, self.block]


def _blocks(rows: Array) -> Array:
    """Number of the block of each bin, from 0: blocks of about `BLOCK` rows; an empty bin joins the one next to it."""
    filled = rows > 0
    if not filled.any():
        return np.zeros(len(rows), dtype=np.intp)
    before = np.cumsum(rows) - rows
    block = np.zeros(len(rows), dtype=np.intp)
    block[filled] = np.unique(before[filled] // BLOCK, return_inverse=True)[1]
    return np.asarray(block[nearest(filled[None])[0]])


def fit_block_rates(rows: Array, hits: Array, least_hits: int = 0) -> BlockRates:
    """Rates from counts (class, bin); a class of fewer than 5 rows, or ``least_hits`` hits, takes those of all
    together.
    """
    enough = np.flatnonzero(
        (rows.sum(axis=1) >= _ENOUGH_FOR_RATES) & (hits.sum(axis=1) >= least_hits)
    )
    pooled = _blocks(rows.sum(axis=0))
    block = np.tile(pooled, (len(rows), 1))
    sizes = [int(pooled.max()) + 1]
    counted = [(pooled, rows.sum(axis=0), hits.sum(axis=0))]
    for k in enough:
        mine = _blocks(rows[k])
        counted.append((mine, rows[k], hits[k]))
        block[k] = mine + sum(sizes)
        sizes.append(int(mine.max()) + 1)
    every, hit = (
        np.concatenate([np.bincount(each[0], weights=each[i]) for each in counted]) for i in (1, 2)
    )
    return BlockRates(block, every, hit, np.repeat(np.arange(len(sizes)), sizes))
