"""Tables of a comparison: every metric of every model in each domain, and each two models."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.comparison import Comparison

__all__ = ["tables"]

_PAIR = ("domain", "metric", "a", "b", *INTERVAL, "p_a_better", "undecided")


def tables(found: Comparison) -> dict[str, Maker]:
    """``models``: a row for each model, domain and metric; ``pairs``: a row for each two models, a minus b."""
    return {"models": partial(_models, found), "pairs": partial(_pairs, found)}


def _models(found: Comparison) -> Table:
    rows: list[dict[str, Any]] = []
    for model in found.models:
        numbers: dict[str, dict[str, Any]] = {"in_domain": dict(model.in_domain.metrics)}
        if model.out_of_domain is not None:
            numbers["out_of_domain"] = dict(model.out_of_domain.metrics)
        if model.target:
            numbers["target"] = {n: v for n, v in model.target.items() if ends(v)["value"] is not None}
        costs = {n: one for n, one in (("didma", model.didma), ("nidma", model.nidma)) if one is not None}
        numbers["in_domain"] |= costs
        for domain, some in numbers.items():
            for metric, one in some.items():
                rank = _ranks(found, domain, metric).get(model.name)
                rows.append({"model": model.name, "domain": domain, "metric": metric, **ends(one), "rank": rank})
    return Table(("model", "domain", "metric", *INTERVAL, "rank"), rows)


def _ranks(found: Comparison, domain: str, metric: str) -> dict[str, int]:
    ranked = found.rankings.get(domain, {}).get(metric, [])
    return {row["model"]: row["rank"] for row in ranked}


def _pairs(found: Comparison) -> Table:
    return Table(_PAIR, [{**pair, **ends(pair["difference"])} for pair in found.pairs])
