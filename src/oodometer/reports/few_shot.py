"""Few-shot ranking: the page in words and tables: the verdict, each two models, the evidence and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..results.ranking import NOT_RANDOM
from .charts.base import Result
from .charts.by_category import ranked_models
from .numbers import best, capital, finite
from .references import reference

MOST_EXAMPLES = 20
MOST_WORDS = 300  # of an example; longer ones would swell the page
STRONGEST = 0.72  # opacity of the largest attribution: the ink on it stays readable


def drawn_examples(result: Result) -> list[dict[str, Any]]:
    """The first examples, each with a line for each model, in the order of the ranking."""
    order = [str(one.get("model")) for one in result.get("ranking") or []]
    factors = [name for name, _ in drawn_factors(result)]
    out = []
    for one in (result.get("examples") or [])[:MOST_EXAMPLES]:
        models = one.get("models") or {}
        numbers = [n for told in models.values() for n in (*(told.get("values") or ()), told.get("separator"))]
        largest = max((abs(v) for n in numbers if (v := finite(n)) is not None), default=0.0)
        lines = [_line(one, name, models[name], largest, factors) for name in order if name in models]
        out.append({"id": one.get("id"), "label": one.get("label"), "lines": lines, "largest": largest})
    return out


def drawn_factors(result: Result) -> list[tuple[str, str]]:
    """Factors that have words in any example: name, and the heuristic that they measure."""
    told = (result.get("attribution") or {}).get("factors") or []
    seen = {
        name
        for one in result.get("examples") or []
        for model in (one.get("models") or {}).values()
        for name, found in (model.get("factors") or {}).items()
        if found.get("words")
    }
    return [(str(one["name"]), str(one.get("heuristic") or "")) for one in told if one.get("name") in seen]


def _line(
    example: Mapping[str, Any], name: str, told: Mapping[str, Any], largest: float, factors: Sequence[str]
) -> dict[str, Any]:
    """One model's line: for each part the pieces of its text in order, words with their shade."""
    places, values = list(example.get("places") or []), list(told.get("values") or [])
    marked = {
        number: set((told.get("factors") or {}).get(factor, {}).get("words") or [])
        for number, factor in enumerate(factors)
    }
    parts = []
    for part, text in enumerate(example.get("parts") or []):
        pieces: list[dict[str, Any]] = []
        end = shown = 0
        for place, ((mine, start, stop), value) in enumerate(zip(places, values, strict=True)):
            if mine != part:
                continue
            shown += 1
            if shown > MOST_WORDS:
                pieces.append({"gap": " … (cut here)"})
                break
            pieces.append({"gap": text[end:start], **_word(text[start:stop], value, largest)})
            pieces[-1]["marks"] = " ".join(f"w{number}" for number, some in marked.items() if place in some)
            end = stop
        else:
            pieces.append({"gap": text[end:]})
        parts.append(pieces)
    separator = finite(told.get("separator"))
    out: dict[str, Any] = {"model": name, "target": told.get("target"), "probability": told.get("probability")}
    out |= {"right": told.get("target") == example.get("label"), "parts": parts}
    out |= {"separator": None if separator is None or len(parts) < 2 else _word("│", separator, largest)}
    return out | {"factors": {factor: found.get("value") for factor, found in (told.get("factors") or {}).items()}}


def _word(text: str, value: float, largest: float) -> dict[str, Any]:
    """A word with its colour: for or against the class, and how strongly, of the largest in the example.

    >>> _word("no", -0.2, 0.4)
    {'word': 'no', 'side': 'against', 'shade': '0.360', 'title': 'no: −0.200'}
    """
    shade = 0.0 if not largest else min(abs(value) / largest, 1) * STRONGEST
    said = f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")
    side = "for" if value > 0 else "against"
    return {"word": text, "side": side, "shade": f"{shade:.3f}", "title": f"{text}: {said}"}


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
        named = [finite((one.get("values") or {}).get(name)) for name in one.get("order") or []]
        tied = sum(value is not None and value == named[0] for value in named)
        told = {
            **one,
            "cells": cells,
            "first": (
                ("" if not order else order[0]) if tied < 2 else f"{tied} tie" if tied < len(named) else "all tie"
            ),
            "share": share,
            "reference": cited,
        }
        groups.setdefault(str(one.get("group")), []).append(told)
    return [{"title": GROUPS.get(name, name), "rows": found} for name, found in groups.items()]


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    examples = result.get("examples") or []
    # P(row better than column), models in the order of the ranking
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
    out: dict[str, Any] = {"ranked": ranked_models(result)}
    out |= {"pairs": {"heads": [row["short"] for row in rows], "rows": grid}, "evidence": _evidence(result)}
    out |= {"examples": drawn_examples(result), "examples_left": max(len(examples) - MOST_EXAMPLES, 0)}
    out |= {"factors": drawn_factors(result), "attribution": result.get("attribution") or {}}
    return out | {"suggested": (result.get("suggested") or [])[:MOST_SUGGESTED], "not_random": capital(NOT_RANDOM)}
