"""Few-shot ranking: the page in words and tables: the verdict, each two models, the evidence and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .charts.base import Result
from .numbers import finite

MOST_EXAMPLES = 20
MOST_WORDS = 300  # of an example; longer ones would swell the page
STRONGEST = 0.72  # opacity of the largest attribution: the ink on it stays readable


def drawn_examples(result: Result) -> list[dict[str, Any]]:
    """The first examples, each with a line for each model, in the order of the ranking."""
    order = [str(item.get("model")) for item in result.get("ranking") or []]
    factors = [name for name, _ in drawn_factors(result)]
    out = []
    for example in (result.get("examples") or [])[:MOST_EXAMPLES]:
        models = example.get("models") or {}
        numbers = [n for model in models.values() for n in (*(model.get("values") or ()), model.get("separator"))]
        largest = max((abs(v) for n in numbers if (v := finite(n)) is not None), default=0.0)
        lines = [_line(example, name, models[name], largest, factors) for name in order if name in models]
        out.append({"id": example.get("id"), "label": example.get("label"), "lines": lines, "largest": largest})
    return out


def drawn_factors(result: Result) -> list[tuple[str, str]]:
    """Factors that have words in any example: name, and the heuristic that they measure."""
    listed = (result.get("attribution") or {}).get("factors") or []
    seen = {
        name
        for example in result.get("examples") or []
        for model in (example.get("models") or {}).values()
        for name, factor in (model.get("factors") or {}).items()
        if factor.get("words")
    }
    return [(str(item["name"]), str(item.get("heuristic") or "")) for item in listed if item.get("name") in seen]


def _line(
    example: Mapping[str, Any], name: str, result: Mapping[str, Any], largest: float, factors: Sequence[str]
) -> dict[str, Any]:
    """One model's line: for each part the pieces of its text in order, words with their shade."""
    positions, values = list(example.get("places") or []), list(result.get("values") or [])
    marked = {
        number: set((result.get("factors") or {}).get(factor, {}).get("words") or [])
        for number, factor in enumerate(factors)
    }
    parts = []
    for part, text in enumerate(example.get("parts") or []):
        pieces: list[dict[str, Any]] = []
        end = shown = 0
        for index, ((mine, start, stop), value) in enumerate(zip(positions, values, strict=True)):
            if mine != part:
                continue
            shown += 1
            if shown > MOST_WORDS:
                pieces.append({"gap": " … (cut here)"})
                break
            pieces.append({"gap": text[end:start], **_word(text[start:stop], value, largest)})
            pieces[-1]["marks"] = " ".join(f"w{number}" for number, some in marked.items() if index in some)
            end = stop
        else:
            pieces.append({"gap": text[end:]})
        parts.append(pieces)
    separator = finite(result.get("separator"))
    out: dict[str, Any] = {"model": name, "target": result.get("target"), "probability": result.get("probability")}
    out |= {"right": result.get("target") == example.get("label"), "parts": parts}
    out |= {"separator": None if separator is None or len(parts) < 2 else _word("│", separator, largest)}
    return out | {"factors": {factor: match.get("value") for factor, match in (result.get("factors") or {}).items()}}


def _word(text: str, value: float, largest: float) -> dict[str, Any]:
    """A word with its colour: for or against the class, and how strongly, of the largest in the example."""
    shade = 0.0 if not largest else min(abs(value) / largest, 1) * STRONGEST
    sentence = f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")
    side = "for" if value > 0 else "against"
    return {"word": text, "side": side, "shade": f"{shade:.3f}", "title": f"{text}: {sentence}"}


def context(result: Result) -> dict[str, Any]:
    """Names for the template."""
    examples = result.get("examples") or []
    out: dict[str, Any] = {"examples": drawn_examples(result), "examples_left": max(len(examples) - MOST_EXAMPLES, 0)}
    return out | {"factors": drawn_factors(result), "attribution": result.get("attribution") or {}}
