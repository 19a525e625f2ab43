"""Kernels: the few passes over memory that many methods share, written so that the hardware likes them.

Each room holds a pass in plain numpy and, where `passes.c` was compiled, hands the work to it (`compiled`).
"""

from __future__ import annotations

from .bins import (
    LOG_ODDS_BINS,
    cell_sums,
    count_passed,
    equal_bin,
    grow_tree,
    half_bin,
    log_odds_bin,
    log_odds_centres,
    off_diagonal_counts,
    pool_adjacent,
    tally,
)
from .threads import (
    by_chunks,
    concatenated,
    cores,
    is_compiled,
    later,
    limited_to,
    one_thread,
    pool,
    side_by_side,
)
from .top import (
    FEW_CLASSES,
    RowStatistics,
    Top,
    entropy_sums,
    look_over,
    mix,
    row_hash,
    row_statistics,
    row_sums,
    top_into,
    top_two,
)

__all__ = [
    "FEW_CLASSES",
    "LOG_ODDS_BINS",
    "RowStatistics",
    "Top",
    "by_chunks",
    "cell_sums",
    "concatenated",
    "cores",
    "count_passed",
    "entropy_sums",
    "equal_bin",
    "grow_tree",
    "half_bin",
    "is_compiled",
    "later",
    "limited_to",
    "log_odds_bin",
    "log_odds_centres",
    "look_over",
    "mix",
    "off_diagonal_counts",
    "one_thread",
    "pool",
    "pool_adjacent",
    "row_hash",
    "row_statistics",
    "row_sums",
    "side_by_side",
    "tally",
    "top_into",
    "top_two",
]
