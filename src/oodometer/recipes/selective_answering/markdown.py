"""Markdown: the result as tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...metrics.failure_cases import LEAST
from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import number, paper_tables, percent, section, tables_page
from .findings import NAMES, SETS, case_claims, kendall_tau, partings, power_at, tested
from .search import EFFECTS

FORM = 3  # raise it where the figures change: then the step is done again
_TOLERANCES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_Rows = Callable[[Mapping[str, Any], str, Sequence[str]], list[dict[str, Any]]]
_Chart = tuple[_Rows, tuple[str, ...], dict[str, Any]]
"""What makes the rows of a set, with which fields, and what they are drawn as."""
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
    for name, (title, caption, (rows, fields, chart)) in _FIGURES.items():
        panels = [Panel(one, NAMES[one], chart, rows(result, one, fields)) for one in SETS]
        out.append(Drawing(name, title, caption, panels))
    return out


def _curves(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with the points of its curve as lists, so that the files stay small."""
    out = []
    for model in result["models"]:
        curve = model[name]["curve"]
        points = {field: curve[_CURVE[field]] for field in fields}
        out.append({"model": model["name"], "order": list(range(len(curve["x"]))), **points})
    return out


def _parts(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model, with parts of its DiSCA."""
    scored = [model for model in result["models"] if model[name]["disca"] is not None]
    return [{"model": one["name"], **{field: one[name]["disca"][field] for field in fields}} for one in scored]


def _steps(result: Mapping[str, Any], name: str, fields: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each model and tolerance."""
    scored = [model for model in result["models"] if model[name]["disca"] is not None]
    rows = [(one["name"], row) for one in scored for row in one[name]["disca"]["by_tolerance"]]
    out = []
    for model, row in rows:
        if row["tolerance"] in _TOLERANCES:
            same = [other["value"] for _, other in rows if other["tolerance"] == row["tolerance"]]
            values = {**row, "rank": 1 + sum(value > row["value"] for value in same)}
            found = {field: values[field] for field in fields}
            out.append({"model": model, "tolerance": row["tolerance"], **found})
    return out


_FREE = {"zero": False}
_BACK = {"zero": False, "reverse": True, "nice": False}


def _by_tolerance(y: str, title: str, scale: Mapping[str, Any] = _FREE, **more: Any) -> _Chart:
    marks = {"values": [one / 10 for one in range(5, 11)], "format": ".1f"}
    across = plain.axis("tolerance", "accuracy tolerated", _BACK, axis=marks)
    order = {"field": "tolerance", "sort": "descending"}
    return _steps, (y,), plain.lines(across, plain.axis(y, title, scale, **more), "model", order=order)


def _curve(x: str, y: str, scale: Mapping[str, Any] = _BACK) -> _Chart:
    made = plain.lines(plain.axis(x, x, scale), plain.axis(y, y, _FREE), "model")
    return _curves, (x, y), {"transform": [{"flatten": ["order", x, y]}], **made}


def _by_model() -> tuple[_Chart, _Chart]:
    """a, and rises with their penalty."""
    rises = plain.axis("fluctuations", "rises (bars)", {"zero": True})
    both = plain.bars("model", rises, plain.axis("penalty", "penalty (marks)"))
    dots = plain.dots("model", plain.axis("a", "confidence a", _FREE))
    return (_parts, ("a",), dots), (_parts, ("fluctuations", "penalty"), both)


_A, _RISES = _by_model()
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
    two = (_table_two(result, name) for name in SETS)
    rest = (_grids(result), _rankings(result), _partings(result), _cases(result), _costs(result))
    return tables_page((_models(result), *two, *rest, claims_table(result["claims"])))


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


def _partings(result: Mapping[str, Any]) -> str:
    """Pairs on which AUC and DiSCA part firmly, and with whom the third measure sides on all."""
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    heads = ["set", "AUC prefers", "DiSCA prefers", "in replicates, %", "answered by AUC's, %", "by DiSCA's, %"]
    heads += ["coverage at risk sides with", "p for AUC", "p for DiSCA"]
    rows = []
    for one in firm:
        shares = (f"{100 * share:.1f}" for share in (one.share, *one.covered))
        tests = (f"{p:.3f}" for p in (one.look.refutes, one.look.supports))
        rows.append([NAMES[one.name], one.auc, one.disca, *shares, one.side, *tests])
    said = []
    for name in SETS:
        here = [one for one in found if one.name == name]
        sides = [f"{side} on {sum(one.side == side for one in here)}" for side in ("AUC", "DiSCA", "neither")]
        said.append(f"{NAMES[name]}: {len(here)} pairs, with {', '.join(sides)}")
    text = (
        f"**Where AUC and DiSCA part**: the {len(firm)} firm pairs, of which `compare` speaks, and with which of "
        "the two the third measure sides, coverage at risk (the share of rows answered with at most 5 % of the answers "
        "wrong). "
    )
    return section(f"{text}Of all pairs that they order differently: {'; '.join(said)}.", heads, rows, _worth(result))


def _worth(result: Mapping[str, Any]) -> str:
    """What the disagreement of AUC and DiSCA is worth, in words."""
    found = partings(result)
    firm = [one for one in found if one.is_firm]
    sides = {side: sum(one.side == side for one in firm) for side in ("AUC", "DiSCA")}
    verdict = next((one["verdict"] for one in result["claims"] if one["name"] == "disca_is_right"), "undecided")
    text = f"What this is worth: AUC and DiSCA order {len(found)} pairs differently, {len(firm)} of them firmly. On "
    text += (
        f"{sides['AUC']} of the {len(firm)} coverage at risk sides with AUC, on {sides['DiSCA']} with DiSCA. So the "
    )
    text += "two measures differ; that DiSCA is right where AUC is wrong "
    text += {"holds": "holds", "does not hold": "does not hold"}.get(verdict, "is undecided")
    if firm and not sides["DiSCA"]:
        text += ", and no firm pair here speaks for it"
    return f"{text}."


def _cases(result: Mapping[str, Any]) -> str:
    """Each failure case: where it is seen, whether that is beyond chance, and how often a true one would be seen."""
    heads = ["case", "seen by `compare`", "p for (looks)", "verdict"]
    heads += [f"power on {NAMES[name]} at {100 * effect:.0f} points, %" for name in SETS for effect in EFFECTS]
    rows = []
    for one, tested_row in zip(case_claims(result), tested(case_claims(result)), strict=True):
        cells = [power_at(result, one.name, name, effect) for name in SETS for effect in EFFECTS]
        rows.append([*tested_row, *(_spread(cell) for cell in cells)])
    many = result["search"]["samples"]
    text = (
        "**Failure cases, and the power of the search for them**: how often `compare` would see a true inversion of "
        f"so many points, mean over the models (lowest to highest), {many} simulated sets of rows for each. start, "
        "strong: the surest tenth of the rows is less accurate by that than the next tenth; middle: so is the tenth "
        "from 20 to 30 % coverage; end: the last tenth is more accurate than all rows before; often: every second "
        "hundredth of the surer half is less accurate than the next; tail: of two models the one ahead by 1 point of "
        "AUC is less accurate in the first fifth. *: too small, on average, to make the true curve show the case. A "
        "case that is not seen is undecided."
    )
    return section(text, heads, rows)


def _spread(one: Mapping[str, Any]) -> str:
    small = "*" if one["rise"] <= LEAST.get(one["name"], 0.0) else ""
    lowest, highest = (100 * end(one["by_model"]) for end in (min, max))
    return f"{100 * one['power']:.0f}{small} ({lowest:.0f} to {highest:.0f})"


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
