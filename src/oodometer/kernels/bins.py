"""Bins: log-odds bins of probabilities, and equal bins over [0, 1]."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .compiled import passes, supports
from .threads import by_chunks

# Bins of equal width in the binary exponent and the leading mantissa bits of min(p, 1 - p): about log-odds. Computed
# with integer shifts, so that binning ten million probabilities costs a few passes and no logarithm.
_MANTISSA_BITS = 4
_OCTAVES = 30
_HALF = _OCTAVES << _MANTISSA_BITS
LOG_ODDS_BINS = 2 * _HALF
_SHIFT = 23 - _MANTISSA_BITS
_TOP_CODE = int(np.float32(0.5).view(np.int32)) >> _SHIFT


def log_odds_bin(probability: Array) -> Array:
    """Bin number of each probability on an almost-log-odds grid of `LOG_ODDS_BINS` bins, increasing; intp.

    Sixteen bins an octave, down to 2**-30 and up to 1 - 2**-30 (float64) or the last float32 below 1.

    >>> b = log_odds_bin(np.array([0.0, 1e-6, 0.3, 0.5, 0.7, 1.0]))
    >>> bool((np.diff(b) > 0).all()), int(b[0]), int(b[-1]) == LOG_ODDS_BINS - 1
    (True, 0, True)
    """
    flat = np.ascontiguousarray(probability).reshape(-1)
    out = np.empty(len(flat), dtype=np.intp)
    made: Array = out.reshape(probability.shape)
    if supports(flat):
        by_chunks(lambda a, b: passes.log_odds_bin(flat[a:b], out[a:b]), len(flat), 1, lock=False)
        return made

    def work(start: int, stop: int) -> None:
        p = flat[start:stop]
        upper = p >= 0.5
        tail = np.where(upper, 1 - p, p).astype(np.float32, copy=False)
        code = tail.view(np.int32)
        code >>= _SHIFT
        code -= _TOP_CODE - _HALF
        np.maximum(code, 0, out=code)
        np.minimum(code, _HALF - 1, out=code)
        out[start:stop] = np.where(upper, LOG_ODDS_BINS - 1 - code, code)

    by_chunks(work, len(flat), 1)
    return made


def half_bin(probability: Array, offset: Array | int = 0) -> Array:
    """`log_odds_bin` for probabilities of at most one half, plus an offset: a shift of the bits, no logarithm; intp.

    >>> p = np.array([0.0, 1e-6, 0.3, 0.4999])
    >>> bool((half_bin(p) == log_odds_bin(p)).all())
    True
    """
    single = np.ascontiguousarray(probability, dtype=np.float32)
    code = np.right_shift(single.view(np.int32), _SHIFT)
    np.maximum(code, _TOP_CODE - _HALF, out=code)
    np.minimum(code, _TOP_CODE - 1, out=code)
    out: Array = np.add(code, np.asarray(offset, dtype=np.intp) - (_TOP_CODE - _HALF), dtype=np.intp)
    return out


def log_odds_centres() -> Array:
    """A representative probability of each bin of `log_odds_bin`, shape (bin,), increasing.

    >>> c = log_odds_centres()
    >>> bool((log_odds_bin(c) == np.arange(LOG_ODDS_BINS)).all())
    True
    """
    codes = np.arange(_HALF) + (_TOP_CODE - _HALF)
    low = (codes << _SHIFT).astype(np.int32).view(np.float32).astype(np.float64)
    high = ((codes + 1) << _SHIFT).astype(np.int32).view(np.float32).astype(np.float64)
    tail = (low + high) / 2
    return np.concatenate([tail, 1 - tail[::-1]])


def equal_bin(values: Array, bins: int) -> Array:
    """Which of so many equal bins over [0, 1] each value lies in; what lies outside belongs to an end; intp.

    Values have shape (sample,), as has the result.

    >>> equal_bin(np.array([0.0, 0.55, 1.0]), 10).tolist()
    [0, 5, 9]
    """
    place = values * bins
    # in the bounds before it is a whole number: of what is not finite none could be made
    out: Array = np.fmin(np.fmax(place, 0), bins - 1).astype(np.intp)
    return out
