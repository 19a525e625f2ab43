"""The table of judged outputs: bounds, middle, first judge and every judge, each a number with its interval."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...verbs.discriminate.judged import JudgedOutputs

__all__ = ["tables"]


def tables(found: JudgedOutputs) -> dict[str, Maker]:
    """``numbers``: what all judges say together, then each of them."""
    return {"numbers": partial(_numbers, found)}


def _numbers(found: JudgedOutputs) -> Table:
    about: dict[str, Any] = {"metric": found.metric, "rows": found.rows}
    named = [(name, getattr(found, name)) for name in ("estimate", "lower", "upper", "mean")]
    named += [(f"judge {name}", one) for name, one in zip(found.judges, found.by_judge, strict=True)]
    rows = [{"number": name, **about, **ends(one)} for name, one in named]
    return Table(("number", "metric", *INTERVAL, "rows"), rows)
