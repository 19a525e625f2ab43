"""Markdown: the result as tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .findings import NAMES, SETS, kendall_tau

__all__ = ["markdown"]

_PAPER = Path(__file__).with_name("paper_tables.json")
_HOLDS = {True: "holds", False: "does not hold", None: "cannot be said"}
_UNDECIDED = "undecided: may be chance"


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    parts = [
        _models(result),
        *(_table_two(result, name) for name in SETS),
        _grids(result),
        _rankings(result),
        _costs(result),
        _claims(result),
    ]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _percent(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    return f"{100 * one['value']:.1f} [{100 * one['lower']:.1f}, {100 * one['upper']:.1f}]"


def _number(one: Mapping[str, Any] | None) -> str:
    return "-" if one is None else f"{one['value']:.2f} [{one['lower']:.2f}, {one['upper']:.2f}]"


def _models(result: Mapping[str, Any]) -> str:
    heads = [
        "model",
        "in place of",
        *(f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy, %", "AUC, %", "DiSCA")),
    ]
    rows = [
        [
            model["name"],
            "itself" if model["name"] == model["stands_for"] else model["stands_for"],
            *(cell for s in SETS for cell in (
                _percent(model[s]["accuracy"]), _percent(model[s]["auc_coverage"]), _number(model[s]["disca"])
            )),
        ]
        for model in result["models"]
    ]  # fmt: skip
    sizes = " and ".join(f"{result['settings']['data'][s]['rows']:,} of {NAMES[s]}" for s in SETS)
    work = result["work"]
    spent = (
        f"Training and prediction took {work['seconds'] / 60:.0f} minutes ({work['cpu_seconds'] / 60:.0f} of "
    )
    spent += f"processor time) on {work['cores']} cores, {work['threads']} of them used."
    return f"**The models** ({sizes} test rows; 95 % intervals). {spent}\n\n{_table(heads, rows)}"


def _table_two(result: Mapping[str, Any], name: str) -> str:
    """Table 2a or 2b: ours, and the paper's in brackets where it has the same model."""
    paper = json.loads(_PAPER.read_text(encoding="utf-8"))
    tolerances = paper["tolerances"]
    rows = []
    scored = [m for m in result["models"] if m[name]["disca"] is not None]
    for model in sorted(scored, key=lambda m: -float(m[name]["disca"]["value"])):
        score = {round(row["tolerance"], 2): row for row in model[name]["disca"]["by_tolerance"]}
        theirs = paper[name].get(model["name"])
        cells = []
        for i, tolerance in enumerate(tolerances):
            row = score[tolerance]
            text = f"{row['value']:.2f}" + ("" if theirs is None else f" ({theirs[i]:.2f})")
            cells.append(text if row["never_below"] else f"**{text}**")
        rows.append([model["name"], *cells])
    left = [m for m in paper[name] if m not in {model["name"] for model in result["models"]}]
    letter = "a" if name == "imdb" else "b"
    text = f"**Table 2{letter}: DiSCA on {NAMES[name]}**, x = y = z = 0.33, by the accuracy below which b is read; ours"
    text += " (the paper's). Bold: our accuracy falls below the column's."
    table = _table(["model", *(f"<{t:.2f}" for t in tolerances)], rows)
    if left:
        table += "\n\nIn the paper alone: " + "; ".join(
            f"{one} {paper[name][one][0]:.2f} to {paper[name][one][-1]:.2f}" for one in left
        )
    return f"{text}\n\n{table}"


def _grids(result: Mapping[str, Any]) -> str:
    """The score at tolerance 0.95 on each grid: the paper does not state its own."""
    grids = ("coverage", "thresholds", "samples")
    heads = ["model", *(f"{NAMES[s]}, {grid}" for s in SETS for grid in grids)]
    rows = []
    for model in result["models"]:
        cells = []
        for s in SETS:
            score = model[s]["disca"]
            found = {} if score is None else score["by_grid"]
            cells += ["-" if found.get(grid) is None else f"{found[grid]:.2f}" for grid in grids]
        rows.append([model["name"], *cells])
    text = "**DiSCA at 0.95 on other grids**: 100 steps of coverage, 100 steps of confidence, every sample."
    said = []
    for s in SETS:
        scores = {m["name"]: m[s]["disca"]["by_grid"] for m in result["models"] if m[s]["disca"] is not None}
        orders = {grid: _order(scores, grid) for grid in grids}
        if len(scores) > 1:
            said.append(
                f"{NAMES[s]} {kendall_tau(orders['coverage'], orders['thresholds']):.2f} and "
                f"{kendall_tau(orders['coverage'], orders['samples']):.2f}"
            )
    text += f" Kendall's tau of the ranking by coverage with the other two: {'; '.join(said)}."
    return f"{text}\n\n{_table(heads, rows)}"


def _order(scores: Mapping[str, Mapping[str, float | None]], grid: str) -> list[str]:
    """Models by their score on a grid, best first; an undefined score counts as 0."""
    return sorted(scores, key=lambda name: -(scores[name].get(grid) or 0.0))


def _rankings(result: Mapping[str, Any]) -> str:
    paper = json.loads(_PAPER.read_text(encoding="utf-8"))
    orders = {
        (s, metric): result["rankings"][s][metric]
        for s in SETS
        for metric in ("accuracy", "auc_coverage", "disca")
    }
    heads = ["rank"]
    for s in SETS:
        heads += [f"{NAMES[s]} accuracy", f"{NAMES[s]} AUC", f"{NAMES[s]} DiSCA", f"{NAMES[s]} DiSCA, paper"]
    rows = []
    for place in range(len(result["models"])):
        row = [str(place + 1)]
        for s in SETS:
            row += [
                orders[s, m][place] if place < len(orders[s, m]) else "-"
                for m in ("accuracy", "auc_coverage", "disca")
            ]
            row.append(list(paper[s])[place])
        rows.append(row)
    return f"**Rankings**, best first.\n\n{_table(heads, rows)}"


def _costs(result: Mapping[str, Any]) -> str:
    heads = ["model", "parameters", "seconds to train", "seconds for 1,000 texts", "J a text", "DiDMA by parameters",
             "DiDMA by energy", "NiDMA by parameters", "NiDMA by energy"]  # fmt: skip

    def cell(value: float | None, form: str = "{:.2f}") -> str:
        return "-" if value is None else form.format(value)

    rows = []
    for model in result["models"]:
        weighed = model["didma_nidma"]
        rows.append(
            [
                model["name"], f"{model['parameters']:,}", f"{model['train_seconds']:.0f}",
                cell(model["predict_seconds_per_1000"]), cell(model["joules_per_text"], "{:.3f}"),
                *(cell(weighed[form][score]) for score in ("didma", "nidma") for form in ("parameters", "energy")),
            ]
        )  # fmt: skip
    said = sorted({model["energy"]["words"] for model in result["models"] if model["energy"] is not None})
    text = "**Costs and what they do to the score** (p = q = u = v = 0.5; computation = "
    text += f"{result['settings']['optimal_parameters']:,} / parameters, or 1 / joules a text)."
    how = (
        f"\n\nEnergy: {said[0]}."
        if said
        else "\n\nEnergy was not counted: the extra `energy` is not installed."
    )
    return f"{text}\n\n{_table(heads, rows)}{how}"


def _claims(result: Mapping[str, Any]) -> str:
    rows = [
        [one["claim"], _UNDECIDED if one["undecided"] else _HOLDS[one["holds"]], one["evidence"]]
        for one in result["claims"]
    ]
    return f"**The paper's findings here**\n\n{_table(['the paper says', 'here', 'what was seen'], rows)}"
