"""Hash: scrambled integers, so that folds and samples depend on what rows hold and not on their order."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def mix(bits: Array) -> Array:
    """A bijective scramble of 64-bit integers (the splitmix64 finalizer), so that low bits look random."""
    with np.errstate(over="ignore"):
        x = bits.astype(np.uint64)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return x


def row_hash(*columns: Array, seed: int = 0) -> Array:
    """A 64-bit hash of each sample's content, so that folds and samples do not depend on the order of rows. Arrays have
    the sample axis first; equal rows get equal hashes.
    """
    total = np.full(len(columns[0]), seed, dtype=np.uint64)
    salt = np.random.default_rng(20)
    with np.errstate(over="ignore"):
        for column in columns:
            flat = np.ascontiguousarray(column).reshape(len(column), -1)
            if flat.dtype.kind == "f":
                flat = flat.astype(np.float64, copy=False).view(np.uint64)
            else:
                flat = flat.astype(np.int64, copy=False).view(np.uint64)
            for k in range(flat.shape[1]):
                odd = np.uint64(salt.integers(1, 2**63, dtype=np.uint64) | np.uint64(1))
                total = total + (flat[:, k] ^ (flat[:, k] >> np.uint64(29))) * odd
            total = mix(total)
    return total
