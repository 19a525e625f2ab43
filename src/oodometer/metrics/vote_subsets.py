"""Vote subsets: how bounds and truth move, and how often the bounds hold, when fewer rows are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..results import Interval
from .spread import generator
from .vote_counts import VoteCounts, share
from .vote_rules import agreements, check_agree

_FEWEST = 20
_STEPS = (1, 2, 5)


def default_sizes(rows: int) -> tuple[int, ...]:
    """Numbers of rows to draw: 20, 50, 100, 200, 500, ... below the number there are, and all of them.

    >>> default_sizes(300), default_sizes(7)
    ((20, 50, 100, 200, 300), (7,))
    """
    series = [step * 10**power for power in range(1, 10) for step in _STEPS]
    return (*(size for size in series if _FEWEST <= size < rows), rows)


def check_draws(sizes: Sequence[int] | None, draws: int, rows: int) -> tuple[int, ...]:
    """The sizes, rising and each once; `UsageError` for one that is no number of rows, or for no draw."""
    if draws < 1:
        raise UsageError(f"expected at least one draw of each size, got {draws}; 50 are usual")
    wanted = default_sizes(rows) if sizes is None else tuple(sorted(set(sizes)))
    if not wanted or wanted[0] < 1 or wanted[-1] > rows:
        given = ", ".join(map(str, wanted)) or "none"
        raise UsageError(f"expected sizes from 1 to {rows}, the labelled rows with votes, got {given}")
    return wanted


def draw_subsets(table: Array, size: int, draws: int, rng: np.random.Generator) -> Array:
    """Counts of so many rows drawn without replacement, int64, shape (draw, *cells).

    Rows of one cell are alike to every count, so that drawing cells (multivariate hypergeometric) is drawing rows, at a
    cost that does not grow with their number.

    >>> draw_subsets(np.array([[5, 0], [1, 4]]), 10, 2, np.random.default_rng(0)).tolist()
    [[[5, 0], [1, 4]], [[5, 0], [1, 4]]]
    """
    flat = rng.multivariate_hypergeometric(table.ravel(), size, size=draws, method="marginals")
    out: Array = flat.reshape(draws, *table.shape)
    return out


def vote_subsets(
    counts: VoteCounts,
    sizes: Sequence[int] | None = None,
    draws: int = 50,
    level: float = 0.95,
    seed: int = 0,
    agree: int | None = None,
) -> list[dict[str, Any]]:
    """One mapping for each size: rows, draws, and what chance makes of the truth and of the bounds in so many rows.

    ``gold``, ``single``, ``lower``, ``upper`` and ``mean`` (``agree`` judges agreeing, None: all) are the mean over the
    draws with the central ``level`` of the draws around it; ``bounds`` has, for every k of k-of-n voting, the
    ``reliability``: the share of draws whose accuracy lies within their own bounds (exact interval for so many draws of
    these rows), and the ``width`` of the bounds, mean and central draws. `UsageError` for sizes that cannot be drawn.
    Source: Yao and Koller (2024), Figure 4: 50 draws, 95 %.

    >>> from ..predictions import Predictions
    >>> p = Predictions.from_arrays(votes=[[1, 1, 0, 0] * 25, [1, 0, 0, 0] * 25], correct=[1, 1, 0, 0] * 25)
    >>> rows = vote_subsets(VoteCounts.of(p), sizes=[20, 100])
    >>> [r["rows"] for r in rows], rows[1]["gold"].value, rows[1]["bounds"][0]["reliability"].value
    ([20, 100], 0.5, 1.0)
    """
    rng, least = generator(seed, "votes"), check_agree(agree, counts.judges)
    return [
        _row(draw_subsets(counts.table, size, draws, rng), size, level, least)
        for size in check_draws(sizes, draws, counts.rows)
    ]


def _row(drawn: Array, size: int, level: float, least: int) -> dict[str, Any]:
    """What the draws of one size say; drawn has axes (draw, verdict, first judge's vote, count)."""
    judges = drawn.shape[-1] - 1
    reached = drawn.sum(axis=(1, 2))[:, ::-1].cumsum(axis=1)[:, ::-1]  # (draw, at least so many votes)
    gold = drawn[:, 1].sum(axis=(1, 2))
    every, some = reached[:, least], reached[:, judges - least + 1]
    out: dict[str, Any] = {"rows": size, "draws": len(drawn)}
    series = {
        "gold": gold,
        "single": drawn[:, :, 1].sum(axis=(1, 2)),
        "lower": every,
        "upper": some,
        "mean": (every + some) / 2,
    }
    out |= {name: _spread(values / size, level) for name, values in series.items()}
    out["bounds"] = []
    for agree in agreements(judges):
        low, high = reached[:, agree], reached[:, judges - agree + 1]
        held = int(((low <= gold) & (gold <= high)).sum())
        width = _spread((high - low) / size, level)
        out["bounds"].append({"agree": agree, "reliability": share(held, len(drawn), level), "width": width})
    return out


def _spread(values: Array, level: float) -> Interval:
    """Mean of the draws and their central part."""
    mean = float(values.mean())
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(mean, min(low, mean), max(high, mean), level, "empirical")
