"""Markdown: the result as tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kit.claims import claims_table
from ..kit.tables import number, paper_tables, percent, section, tables_page
from .findings import NAMES, SETS, kendall_tau

__all__ = ["PAPER", "markdown"]

PAPER = "selective_answering"


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    two = (_table_two(result, name) for name in SETS)
    rest = (_grids(result), _rankings(result), _costs(result), claims_table(result["claims"]))
    return tables_page((_models(result), *two, *rest))


def _models(result: Mapping[str, Any]) -> str:
    heads = [
        "model",
        "in place of",
        *(f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy, %", "AUC, %", "DiSCA")),
    ]
    rows = []
    for model in result["models"]:
        row = [model["name"], "itself" if model["name"] == model["stands_for"] else model["stands_for"]]
        for s in SETS:
            row += [percent(model[s]["accuracy"]), percent(model[s]["auc_coverage"])]
            row.append(number(model[s]["disca"]))
        rows.append(row)
    sizes = " and ".join(f"{result['settings']['data'][s]['rows']:,} of {NAMES[s]}" for s in SETS)
    work = result["work"]
    spent = f"Training and prediction took {work['seconds'] / 60:.0f} minutes ({work['cpu_seconds'] / 60:.0f} of "
    spent += f"processor time) on {work['cores']} cores, {work['threads']} of them used."
    return section(f"**The models** ({sizes} test rows; 95 % intervals). {spent}", heads, rows)


def _table_two(result: Mapping[str, Any], name: str) -> str:
    """Table 2a or 2b: ours, and the paper's in brackets where it has the same model."""
    paper = paper_tables(PAPER)
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
    alone = "; ".join(f"{one} {paper[name][one][0]:.2f} to {paper[name][one][-1]:.2f}" for one in left)
    heads = ["model", *(f"<{t:.2f}" for t in tolerances)]
    return section(text, heads, rows, f"In the paper alone: {alone}" if left else "")


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
    return section(text, heads, rows)


def _order(scores: Mapping[str, Mapping[str, float | None]], grid: str) -> list[str]:
    """Models by their score on a grid, best first; an undefined score counts as 0."""
    return sorted(scores, key=lambda name: -(scores[name].get(grid) or 0.0))


def _rankings(result: Mapping[str, Any]) -> str:
    paper = paper_tables(PAPER)
    orders = {
        (s, metric): result["rankings"][s][metric] for s in SETS for metric in ("accuracy", "auc_coverage", "disca")
    }
    heads = ["rank"]
    for s in SETS:
        heads += [f"{NAMES[s]} accuracy", f"{NAMES[s]} AUC", f"{NAMES[s]} DiSCA", f"{NAMES[s]} DiSCA, paper"]
    rows = []
    for place in range(len(result["models"])):
        row = [str(place + 1)]
        for s in SETS:
            row += [
                orders[s, m][place] if place < len(orders[s, m]) else "-" for m in ("accuracy", "auc_coverage", "disca")
            ]
            row.append(list(paper[s])[place])
        rows.append(row)
    return section("**Rankings**, best first.", heads, rows)


def _costs(result: Mapping[str, Any]) -> str:
    weighings = [(score, form) for score in ("didma", "nidma") for form in ("parameters", "energy")]
    names = {"didma": "DiDMA", "nidma": "NiDMA"}
    heads = ["model", "parameters", "seconds to train", "seconds for 1,000 texts", "J a text"]
    heads += [f"{names[score]} by {form}" for score, form in weighings]

    def cell(value: float | None, form: str = "{:.2f}") -> str:
        return "-" if value is None else form.format(value)

    rows = []
    for model in result["models"]:
        spent = [f"{model['parameters']:,}", f"{model['train_seconds']:.0f}"]
        spent += [cell(model["predict_seconds_per_1000"]), cell(model["joules_per_text"], "{:.3f}")]
        weighed = [cell(model["didma_nidma"][form][score]) for score, form in weighings]
        rows.append([model["name"], *spent, *weighed])
    said = sorted({model["energy"]["words"] for model in result["models"] if model["energy"] is not None})
    text = "**Costs and what they do to the score** (p = q = u = v = 0.5; computation = "
    text += f"{result['settings']['optimal_parameters']:,} / parameters, or 1 / joules a text)."
    how = said[0] if said else None
    absent = "Energy was not counted: the extra `energy` is not installed."
    return section(text, heads, rows, absent if how is None else f"Energy: {how}.")
