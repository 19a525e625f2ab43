"""Few-shot ranking: the page in words and tables: the verdict, each two models, the evidence and what it says."""

from __future__ import annotations

from typing import Any

from ..results.ranking import NOT_RANDOM
from .attributions import MOST_EXAMPLES, drawn_examples, drawn_factors
from .charts.base import Result
from .charts.by_category import ranked_models
from .numbers import best, finite
from .references import reference
from .words import capital

SURE = 0.95  # of a pair, above which its cell is in bold
MOST_SUGGESTED = 50
GROUPS = {
    "labels": "the labelled rows",
    "pool": "labels and pool",
    "confidence": "confidence on the labelled rows",
    "estimate": "estimates without labels",
    "proxy": "accuracy proxies",
    "agreement": "agreement with the other models",
    "factor": "factors over attributions",
    "combined": "all together",
}


def _pairs(result: Result) -> dict[str, Any]:
    """P(row better than column), models in the order of the ranking."""
    rows = ranked_models(result)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in result.get("pairs") or []:
        a, b, p = str(one.get("a")), str(one.get("b")), finite(one.get("p_a_better"))
        if p is not None:
            told = {"differ": one.get("differ"), "only": (one.get("only_a"), one.get("only_b"))}
            found[a, b] = {"p": p, **told}
            found[b, a] = {"p": 1 - p, "differ": told["differ"], "only": told["only"][::-1]}
    grid = []
    for row in rows:
        cells = [found.get((str(row["model"]), str(other["model"]))) for other in rows]
        for cell in cells:
            if cell is not None:
                cell["shade"] = f"{abs(cell['p'] - 0.5) * 0.9:.3f}"
                cell["side"] = "for" if cell["p"] >= 0.5 else "against"
                cell["sure"] = max(cell["p"], 1 - cell["p"]) >= SURE
        grid.append({"name": row["short"], "cells": cells})
    return {"heads": [row["short"] for row in rows], "rows": grid}


def _evidence(result: Result) -> list[dict[str, Any]]:
    """Groups of evidence, each row with a cell for each model."""
    rows = ranked_models(result)
    short = {str(row["model"]): row["short"] for row in rows}
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in result.get("evidence") or []:
        cells = []
        for row in rows:
            interval = best((one.get("intervals") or {}).get(row["model"]))
            cells.append({"value": (one.get("values") or {}).get(row["model"]), "interval": interval})
        order = [short.get(str(name), str(name)) for name in one.get("order") or []]
        share = one.get("group") in ("labels", "pool", "estimate", "agreement", "confidence")
        cited = reference(str(one["citation"])) if one.get("citation") else None
        told = {**one, "cells": cells, "first": _first(one, order), "share": share, "reference": cited}
        groups.setdefault(str(one.get("group")), []).append(told)
    return [{"title": GROUPS.get(name, name), "rows": found} for name, found in groups.items()]


def _first(one: dict[str, Any], order: list[str]) -> str:
    """The model that a piece of evidence puts first; several that tie there."""
    named = [finite((one.get("values") or {}).get(name)) for name in one.get("order") or []]
    tied = sum(value is not None and value == named[0] for value in named)
    return ("" if not order else order[0]) if tied < 2 else f"{tied} tie" if tied < len(named) else "all tie"


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    examples = result.get("examples") or []
    return {
        "ranked": ranked_models(result),
        "pairs": _pairs(result),
        "evidence": _evidence(result),
        "examples": drawn_examples(result),
        "examples_left": max(len(examples) - MOST_EXAMPLES, 0),
        "factors": drawn_factors(result),
        "attribution": result.get("attribution") or {},
        "suggested": (result.get("suggested") or [])[:MOST_SUGGESTED],
        "not_random": capital(NOT_RANDOM),
    }
