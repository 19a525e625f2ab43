"""Columns of costs, times and tokens beside answers: which they are, and what an answer takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as pt

from ..arrays import Array
from ..audits.joining import KEY
from ..fields import FIELDS
from ..inference.amounts import amount_mean, amount_quantile
from ..inference.clusters import cluster_keys
from ..results.evaluation import Cost
from ..store import Source
from ..store.columns import bare_name

# Names of columns, as words of small letters.
_MONEY = r"(total|api|inference|request)?_?(cost|price|spend)(_(usd|eur|dollars?|cents?))?"
_TIMED = "total|wall|inference|generation|response|working|elapsed|run"
_SPAN = rf"latency|duration|elapsed|runtime|seconds|(({_TIMED})_time)"
_TIME = rf"(total_|wall_)?({_SPAN})(_(s|secs?|seconds|ms|millis|milliseconds|minutes))?"
_TOKENS = (
    r"((num|n|total|input|output|prompt|completion|reasoning|generated)_)*tokens(_(used|total))?"
)
_STEPS = r"(num_|n_)(steps|turns|tool_calls|calls)"
_COST = re.compile(f"{_MONEY}|{_TIME}|{_TOKENS}|{_STEPS}")
# Columns whose yes is no praise, and whose larger number is none.
_OF_ERRORS = re.compile(
    r"(.*_)?(hallucinat\w*|errors?|wrong|incorrect|mistakes?|fail(ed|ures?|s)?|violat\w*|toxic\w*|unsafe|refus\w*|"
    r"wer|cer|ter|loss|nll|mae|mse|rmse|mape|perplexity|ppl|distances?|edit_distance|residuals?|deviations?)(_.*)?"
)
_HIGH = 0.95  # the quantile that is shown beside the median


def is_cost(name: str) -> bool:
    """Whether a column is named like what an answer takes, such as ``latency_ms`` or ``usage.total_tokens``."""
    return any(_COST.fullmatch(bare_name(part)) for part in (name, name.rpartition(".")[2]))


def is_of_errors(name: str) -> bool:
    """Whether a column is named like what goes wrong, of which less is better: ``wer``, ``val_loss``, ``failed``."""
    return _OF_ERRORS.fullmatch(bare_name(name)) is not None


def said_of_score(source: Source) -> list[str]:
    """A warning where what is read as the score is called like errors or costs: of a score more is better."""
    feed = source.layout.feeds.get("score") if hasattr(source, "layout") else None
    name = "" if feed is None else feed.columns[0]
    if not (name and (is_of_errors(name) or is_cost(name))):
        return []
    return [
        f"{name} is read as a score, of which more is better; if less is, what is called better is worse"
    ]


def cost_columns(source: Source) -> list[str]:
    """Columns named like what an answer takes (cost, latency_ms, total_tokens, ...), fields of ours aside."""
    return [
        name
        for name in source.columns
        if name not in FIELDS and source.holds(name) and is_cost(name)
    ]


def amounts(source: Source, names: Sequence[str]) -> dict[str, Array]:
    """The columns as numbers, (row,), NaN where a cell is empty; without those that hold anything else, or amounts
    below 0.
    """
    pieces = [
        {name: _numbers(batch.column(name)) for name in names} for batch in source.raw(list(names))
    ]
    out = {}
    for name in names:
        parts = [piece[name] for piece in pieces]
        known = [part for part in parts if part is not None]
        if parts and len(known) == len(parts):
            values: Array = np.concatenate(known)
            if np.isfinite(values).any() and not (values < 0).any() and not np.isinf(values).any():
                out[name] = values
    return out


def _numbers(cells: Any) -> Array | None:
    """Cells as numbers, NaN for empty ones; None where one is no number."""
    if pt.is_integer(cells.type) or pt.is_floating(cells.type) or pt.is_null(cells.type):
        return np.array(pc.cast(cells, "float64").to_numpy(zero_copy_only=False), dtype=np.float64)
    if not (pt.is_string(cells.type) or pt.is_large_string(cells.type)):
        return None
    texts = [(cell or "").strip() for cell in cells.to_pylist()]
    if not all(not text or _NUMBER.fullmatch(text) for text in texts):
        return None
    return np.array([float(text) if text else np.nan for text in texts])


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[nN]a[nN]")


def costs_of(source: Source, cluster: str | None, level: float, seed: int) -> tuple[Cost, ...]:
    """What an answer takes by each such column: mean, median and 95 % quantile, each with its interval, by clusters
    where one is named or ids repeat; columns that are empty, alike in all rows, or of fewer than 10 clusters are left
    out.
    """
    names = cost_columns(source)
    if not names:
        return ()
    column = cluster or (KEY if source.holds(KEY) else None)
    keys = None
    if column is not None:
        cells = source.keys(column).to_pylist()
        keys = cluster_keys(np.array(["" if cell is None else cell for cell in cells], object))
    out = []
    for name, values in amounts(source, names).items():
        known = np.isfinite(values)
        groups = None if keys is None else keys[known]
        if groups is not None and len(np.unique(groups)) == len(groups):
            groups = None
        mean = amount_mean(values[known], groups, level=level, seed=seed)
        if mean is not None:
            median, high = (
                amount_quantile(values[known], share, groups, level=level) for share in (0.5, _HIGH)
            )
            out.append(Cost(name, int(known.sum()), mean, median, high))
    return tuple(out)
