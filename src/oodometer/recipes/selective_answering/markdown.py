"""Markdown: the result as tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...metrics.failure_cases import LEAST
from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import cells, paper_tables, section, tables_page
from .findings import NAMES, SETS, case_claims, kendall_tau, partings, power_at
from .tables import EFFECTS

FORM = 3  # raise it where the figures change: then the step is done again
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_Chart = tuple[str, tuple[str, ...], dict[str, Any]]
"""Of what there is a row (curve, model, step), with which fields, and what the rows are drawn as."""
_CURVE = {"coverage": "x", "accuracy": "y", "confidence": "thresholds"}


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures, and the page of the comparison where reports can draw."""
    FIGURES.draw(workspace, progress)
    if "report.html" in FIGURES.files("report.html"):
        from ...reports import write_report

        write_report(workspace.read_json("compare.json"), workspace / "report.html")


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """The figures, a panel for each set; a model without DiSCA is left out of those that need it."""
    out = []
    for name, (title, caption, (of, fields, chart)) in _FIGURES.items():
        panels = [Panel(one, NAMES[one], chart, _rows(result, of, one, fields)) for one in SETS]
        out.append(Drawing(name, title, caption, panels))
    return out


def _rows(result: Mapping[str, Any], of: str, name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with the points of its curve as lists so that files stay small, or parts of its DiSCA.

    Or one for each model and tolerance.
    """
    if of == "curve":
        curves = {model["name"]: model[name]["curve"] for model in result["models"]}
        points = {one: {field: curve[_CURVE[field]] for field in fields} for one, curve in curves.items()}
        return [{"model": one, "order": list(range(len(curves[one]["x"]))), **points[one]} for one in curves]
    scores = {model["name"]: model[name]["disca"] for model in result["models"] if model[name]["disca"] is not None}
    if of == "model":
        return [{"model": one, **{field: score[field] for field in fields}} for one, score in scores.items()]
    out = []
    steps = [(one, row) for one, score in scores.items() for row in score["by_tolerance"]]
    for model, row in steps:
        if row["tolerance"] in _TOLERANCES:
            better = sum(o["value"] > row["value"] for _, o in steps if o["tolerance"] == row["tolerance"])
            values = {**row, "rank": 1 + better}
            out.append({"model": model, "tolerance": row["tolerance"], **{field: values[field] for field in fields}})
    return out


_FREE = {"zero": False}
_BACK = {"zero": False, "reverse": True, "nice": False}


def _by_tolerance(y: str, title: str, scale: Mapping[str, Any] = _FREE, **more: Any) -> _Chart:
    marks = {"values": [one / 10 for one in range(5, 11)], "format": ".1f"}
    across = plain.axis("tolerance", "accuracy tolerated", _BACK, axis=marks)
    order = {"field": "tolerance", "sort": "descending"}
    return "step", (y,), plain.lines(across, plain.axis(y, title, scale, **more), "model", order=order)


def _curve(x: str, y: str, scale: Mapping[str, Any] = _BACK) -> _Chart:
    made = plain.lines(plain.axis(x, x, scale), plain.axis(y, y, _FREE), "model")
    return "curve", (x, y), {"transform": [{"flatten": ["order", x, y]}], **made}


_A: _Chart = ("model", ("a",), plain.dots("model", plain.axis("a", "confidence a", _FREE)))
_BARS = plain.axis("fluctuations", "rises (bars)", {"zero": True})
_RISES: _Chart = (
    "model",
    ("fluctuations", "penalty"),
    plain.bars("model", _BARS, plain.axis("penalty", "penalty (marks)")),
)
_RANKS = _by_tolerance("rank", "rank by DiSCA", {"zero": False, "reverse": True}, axis={"tickMinStep": 1})
# Name -> title, caption, chart.
_FIGURES: dict[str, tuple[str, str, _Chart]] = {
    "figure-1-b": (
        "b by tolerance",
        "Confidence at which accuracy first falls below each tolerance (Figures 1, 7 and 13).",
        _by_tolerance("b", "confidence b"),
    ),
    "figure-2-a": ("a by model", "Confidence at which accuracy first falls below 100 % (Figure 2).", _A),
    "figure-3-fluctuations": (
        "Rises and their penalty",
        "Bars: how often accuracy rises; marks: the third term (Figure 3).",
        _RISES,
    ),
    "figure-4-coverage-by-accuracy": (
        "Answered at each accuracy",
        "Coverage at each point where accuracy changes (Figures 4 and 10).",
        _curve("accuracy", "coverage"),
    ),
    "figure-5-coverage-by-tolerance": (
        "Answered until a tolerance fails",
        "Coverage at the first point below each tolerance (Figures 5 and 11).",
        _by_tolerance("coverage", "coverage"),
    ),
    "figure-6-confidence-by-accuracy": (
        "Confidence at each accuracy",
        "Confidence of the last answered where accuracy changes (Figures 6 and 12).",
        _curve("accuracy", "confidence"),
    ),
    "figure-8-curves": (
        "Accuracy against coverage",
        "The curve under which AUC is the area (Figures 8 and 14).",
        _curve("coverage", "accuracy", {**_BACK, "reverse": False}),
    ),
    "figure-9-accuracy-by-tolerance": (
        "Accuracy where a tolerance fails",
        "Accuracy at the first point below each tolerance (Figures 9 and 15).",
        _by_tolerance("accuracy", "accuracy"),
    ),
    "figure-16-rankings": (
        "Rank by tolerance",
        "Rank by DiSCA for each tolerance of b, 1 is best (Figure 16).",
        _RANKS,
    ),
}

FIGURES = Figures(
    "Selective answering: figures",
    "The figures of Mishra, Arunkumar and Baral (2022) for the models of this run; how they were compared is on "
    "report.html",
    tuple(_FIGURES),
    drawings,
)


PAPER = "selective_answering"


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    models = result["models"]
    named = [{**one, "place_of": "itself" if one["name"] == one["stands_for"] else one["stands_for"]} for one in models]
    heads = [f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy, %", "AUC, %", "DiSCA")]
    row = " | ".join(f"{{{s}[accuracy]:percent}} | {{{s}[auc_coverage]:percent}} | {{{s}[disca]:number}}" for s in SETS)
    sizes, work = (f"{result['settings']['data'][s]['rows']:,} of {NAMES[s]}" for s in SETS), result["work"]
    words = f"**The models** ({' and '.join(sizes)} test rows; 95 % intervals). Training and prediction took "
    words += f"{work['seconds'] / 60:.0f} minutes ({work['cpu_seconds'] / 60:.0f} of processor time) on "
    words += f"{work['cores']} cores, {work['threads']} of them used."
    rows = cells(f"{{name}} | {{place_of}} | {row}", named)
    out = [section(words, ["model", "in place of", *heads], rows), *(_table_two(result, name) for name in SETS)]
    out += [_grids(models), _rankings(result), _partings(result), _cases(result), _costs(result)]
    return tables_page([*out, claims_table(result["claims"])])


def _table_two(result: Mapping[str, Any], name: str) -> str:
    """Table 2a or 2b: ours, and the paper's in brackets where it has the same model."""
    paper = paper_tables(PAPER)
    tolerances, theirs = paper["tolerances"], paper[name]
    rows = []
    scored = [m for m in result["models"] if m[name]["disca"] is not None]
    for model in sorted(scored, key=lambda m: -float(m[name]["disca"]["value"])):
        score = {round(row["tolerance"], 2): row for row in model[name]["disca"]["by_tolerance"]}
        row = [model["name"]]
        for tolerance, printed in zip(tolerances, theirs.get(model["name"], [None] * len(tolerances)), strict=True):
            text = f"{score[tolerance]['value']:.2f}" + ("" if printed is None else f" ({printed:.2f})")
            row.append(text if score[tolerance]["never_below"] else f"**{text}**")
        rows.append(row)
    ours = {model["name"] for model in result["models"]}
    alone = "; ".join(f"{one} {row[0]:.2f} to {row[-1]:.2f}" for one, row in theirs.items() if one not in ours)
    words = f"**Table 2{'a' if name == 'imdb' else 'b'}: DiSCA on {NAMES[name]}**, x = y = z = 0.33, by the accuracy "
    words += "below which b is read; ours (the paper's). Bold: our accuracy falls below the column's."
    after = f"In the paper alone: {alone}" if alone else ""
    return section(words, ["model", *(f"<{t:.2f}" for t in tolerances)], rows, after)


def _grids(models: Sequence[Mapping[str, Any]]) -> str:
    """The score at tolerance 0.95 on each grid: the paper does not state its own."""
    grids = ("coverage", "thresholds", "samples")
    row = " | ".join(f"{{{s}[disca][by_grid][{grid}]:.2f}}" for s in SETS for grid in grids)
    said = []
    for s in SETS:
        scores = {m["name"]: m[s]["disca"]["by_grid"] for m in models if m[s]["disca"] is not None}
        # An undefined score counts as 0
        first, *others = (sorted(scores, key=lambda name: -(scores[name].get(grid) or 0.0)) for grid in grids)
        if len(scores) > 1:
            said.append(f"{NAMES[s]} {' and '.join(f'{kendall_tau(first, other):.2f}' for other in others)}")
    words = "**DiSCA at 0.95 on other grids**: 100 steps of coverage, 100 steps of confidence, every sample. Kendall's "
    words += f"tau of the ranking by coverage with the other two: {'; '.join(said)}."
    heads = ["model", *(f"{NAMES[s]}, {grid}" for s in SETS for grid in grids)]
    return section(words, heads, cells(f"{{name}} | {row}", models))


def _rankings(result: Mapping[str, Any]) -> str:
    paper, rankings = paper_tables(PAPER), result["rankings"]
    orders = [
        order
        for s in SETS
        for order in (*(rankings[s][metric] for metric in ("accuracy", "auc_coverage", "disca")), list(paper[s]))
    ]
    heads = ["rank", *(f"{NAMES[s]} {what}" for s in SETS for what in ("accuracy", "AUC", "DiSCA", "DiSCA, paper"))]
    rows = [
        [str(place + 1), *(order[place] if place < len(order) else "-" for order in orders)]
        for place in range(len(result["models"]))
    ]
    return section("**Rankings**, best first.", heads, rows)


def _partings(result: Mapping[str, Any]) -> str:
    """Pairs on which AUC and DiSCA part firmly, with whom the third measure sides, and what that is worth, in words."""
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    heads = "set | AUC prefers | DiSCA prefers | in replicates, % | answered by AUC's, % | by DiSCA's, % | "
    row = "{name} | {auc} | {disca} | {share:.1f%} | {covered[0]:.1f%} | {covered[1]:.1f%} | {side} | {p_auc:.3f} | "
    told = [{**vars(one), "name": NAMES[one.name], "side": one.side} for one in firm]
    told = [
        {**row, "p_auc": one.look.refutes, "p_disca": one.look.supports} for row, one in zip(told, firm, strict=True)
    ]
    said = []
    for name in SETS:
        here = [one for one in found if one.name == name]
        sides = [f"{side} on {sum(one.side == side for one in here)}" for side in ("AUC", "DiSCA", "neither")]
        said.append(f"{NAMES[name]}: {len(here)} pairs, with {', '.join(sides)}")
    words = f"**Where AUC and DiSCA part**: the {len(firm)} firm pairs, of which `compare` speaks, and with which of "
    words += "the two the third measure sides, coverage at risk (the share of rows answered with at most 5 % of the "
    words += f"answers wrong). Of all pairs that they order differently: {'; '.join(said)}."
    auc, disca = (sum(one.side == side for one in firm) for side in ("AUC", "DiSCA"))
    verdict = next((one["verdict"] for one in result["claims"] if one["name"] == "disca_is_right"), "undecided")
    after = f"What this is worth: AUC and DiSCA order {len(found)} pairs differently, {len(firm)} of them firmly. On "
    after += f"{auc} of the {len(firm)} coverage at risk sides with AUC, on {disca} with DiSCA. So the two measures "
    after += f"differ; that DiSCA is right where AUC is wrong {'is undecided' if verdict == 'undecided' else verdict}"
    after += ", and no firm pair here speaks for it." if firm and not disca else "."
    heads += "coverage at risk sides with | p for AUC | p for DiSCA"
    return section(words, heads, cells(f"{row}{{p_disca:.3f}}", told), after)


def _cases(result: Mapping[str, Any]) -> str:
    """Each failure case: where it is seen, whether that is beyond chance, and how often a true one would be seen."""
    rows = []
    for one in case_claims(result):
        row = [one.claim, one.evidence, f"{one.look.supports:.3f} ({one.looks})", one.verdict]
        for power in (power_at(result, one.name, name, effect) for name in SETS for effect in EFFECTS):
            small = "*" if power["rise"] <= LEAST.get(one.name, 0.0) else ""
            lowest, highest = (100 * end(power["by_model"]) for end in (min, max))
            row.append(f"{100 * power['power']:.0f}{small} ({lowest:.0f} to {highest:.0f})")
        rows.append(row)
    heads = ["case", "seen by `compare`", "p for (looks)", "verdict"]
    heads += [f"power on {NAMES[name]} at {100 * effect:.0f} points, %" for name in SETS for effect in EFFECTS]
    words = "**Failure cases, and the power of the search for them**: how often `compare` would see a true inversion "
    words += f"of so many points, mean over the models (lowest to highest), {result['search']['samples']} simulated "
    words += "sets of rows for each. start, strong: the surest tenth of the rows is less accurate by that than the "
    words += "next tenth; middle: so is the tenth from 20 to 30 % coverage; end: the last tenth is more accurate than "
    words += "all rows before; often: every second hundredth of the surer half is less accurate than the next; tail: "
    words += "of two models the one ahead by 1 point of AUC is less accurate in the first fifth. *: too small, on "
    words += "average, to make the true curve show the case. A case that is not seen is undecided."
    return section(words, heads, rows)


def _costs(result: Mapping[str, Any]) -> str:
    weighings = [(score, form) for score in ("didma", "nidma") for form in ("parameters", "energy")]
    row = "{name} | {parameters:,} | {train_seconds:.0f} | {predict_seconds_per_1000:.2f} | {joules_per_text:.3f} | "
    row += " | ".join(f"{{didma_nidma[{form}][{score}]:.2f}}" for score, form in weighings)
    heads = ["model", "parameters", "seconds to train", "seconds for 1,000 texts", "J a text"]
    heads += [f"{ {'didma': 'DiDMA', 'nidma': 'NiDMA'}[score] } by {form}" for score, form in weighings]
    said = sorted({model["energy"]["words"] for model in result["models"] if model["energy"] is not None})
    words = "**Costs and what they do to the score** (p = q = u = v = 0.5; computation = "
    words += f"{result['settings']['optimal_parameters']:,} / parameters, or 1 / joules a text)."
    after = f"Energy: {said[0]}." if said else "Energy was not counted: the extra `energy` is not installed."
    return section(words, heads, cells(row, result["models"]), after)
