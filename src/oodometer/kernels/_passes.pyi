"""The compiled passes of passes.c: what each takes and writes into the arrays it is given.

Arrays are C-contiguous; "float" stands for float32 or float64, the same in all arguments of a call. `TypeError` for
another type, `ValueError` for another shape or a number that is none of the classes there are.
"""

from ..arrays import Array

def row_statistics(
    values: Array, best: Array, first: Array, second: Array, /
) -> tuple[float, float]:
    """float (sample, class) -> int32, float, float (sample,); returns the lowest value and the largest gap."""

def negative_entropy(values: Array, out: Array, /) -> None:
    """float (sample, class) -> float (sample,)."""

def log_odds_bin(values: Array, out: Array, /) -> None:
    """float (sample,) -> int64 (sample,)."""

def count_off_diagonal(
    values: Array, predicted: Array, counts: Array, mass: Array, halves: int, /
) -> None:
    """float (sample, class), int32 (sample,); adds to int64 (class, bin) and float64 (class, class)."""

def cell_sums(
    codes: Array, rows: Array, gradient: Array, curvature: Array, cells: Array, /
) -> None:
    """int32 (sample, column), int64 (row,), float64 (sample,) twice; adds to float64 (column, bin, 3)."""

def grow_tree(
    codes: Array,
    gradient: Array,
    curvature: Array,
    cells: Array,
    rule: Array,
    split: Array,
    value: Array,
    odds: Array,
    /,
) -> None:
    """int32 (sample, column), float64 (sample,) twice, the root's float64 (column, bin, 3), which is overwritten, rule
    (6,): the four numbers of `bins.grow_tree` and the root's sums of gradient and curvature; writes int32 (node, 2) and
    float64 (node,), adds to float64 (sample,).
    """

def pool_adjacent(
    rows: Array, hits: Array, piece: Array, first: Array, weight: Array, right: Array, /
) -> int:
    """float64 (bin,) twice; writes int64 and float64 twice (bin,) of the blocks and returns how many these are."""
