"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import cells, paper_tables, section, tables_page
from .findings import NAMES, Found
from .study import BINS, METHODS, METRICS

_GROUPS = {
    "uw": ("figure-2-unknown-words", "Unknown words", "ratio of exchanged words"),
    "ic": ("figure-2-deleted-turns", "Deleted turns", "share of deleted turns"),
    "kw": ("known-words", "Known words", "ratio of exchanged words"),
    "sr": ("short-contexts", "Contexts that really are short", "turns"),
    "importance": ("figure-d1-importance", "Words by importance", "fifth by importance"),
}
_ESTIMATE = "estimate-beside-truth"


def drawings(result: Found) -> list[Drawing]:
    """One figure for each kind of shift, and one for the estimates."""
    size: dict[str, Any] = {"width": 260, "height": 220, "columns": 3}
    caption = "Mean over the rankers, the band one standard deviation; one ensemble of all. Points: what was asked."
    out, estimates = [], []
    for group, (name, title, across) in _GROUPS.items():
        chart = _curves(across)
        panels = [Panel(one, NAMES[one], chart, _rows_drawn(result, group, one)) for one in METRICS]
        out.append(Drawing(name, title, caption, panels, **size))
        rows = []
        for order, one in enumerate(o for o in result["estimators"]["conditions"] if o["group"] == group):
            rows.append(_row_drawn(one["label"], order, "truth", one["truth"]))
            said = _row_drawn(one["label"], order, "estimate", one["methods"]["headline"]["said"])
            rows.append({**said, "lower": one["lower"], "upper": one["upper"]})
        estimates.append(Panel(group, title, chart, rows))
    caption = "R@1 with its spread over the rankers, and what `estimate` says of it without labels, with its interval."
    return [*out, Drawing(_ESTIMATE, "Estimate beside truth", caption, estimates, **size)]


def _row_drawn(label: Any, order: int, what: str, one: Found) -> dict[str, Any]:
    spread = one["sd"] or 0.0
    ends = {"lower": one["mean"] - spread, "upper": one["mean"] + spread}
    return {"what": what, "severity": str(label), "order": order, "value": one["mean"], **ends}


def _rows_drawn(result: Found, group: str, metric: str) -> list[dict[str, Any]]:
    """A row for each method and severity; the unshifted test instances stand first where that is the mildest one."""
    first = ["test"] if group in ("uw", "kw", "importance") else []
    labels = first + [one["condition"] for one in result["conditions"] if one["group"] == group]
    return [
        _row_drawn(row["label"], labels.index(row["condition"]), row["method"], row[metric])
        for row in result["rows"]
        if row["method"] in METHODS and row["condition"] in labels and len(labels) > len(first)
    ]


def _curves(across: str) -> dict[str, Any]:
    """A line with its band for each of ``what``, the severities in their order."""
    x = {"field": "severity", "type": "ordinal", "title": across, "sort": {"field": "order"}, "axis": {"labelAngle": 0}}
    up = {"type": "quantitative", "title": None, "scale": {"zero": False}}
    colour: dict[str, Any] = {"field": "what", "type": "nominal", "title": None, "sort": None}
    colour |= {"scale": {"scheme": "tableau10"}, "legend": {"symbolOpacity": 1}}
    line = plain.lines(x, {"field": "value", **up}, "what")
    line["encoding"]["color"] = colour
    band = {"x": x, "y": {"field": "lower", **up}, "y2": {"field": "upper"}, "color": colour}
    return {"layer": [{"mark": {"type": "area", "opacity": 0.15}, "encoding": band}, line]}


FIGURES = Figures(
    "Dialogue shift: figures",
    "The shifts of Lee et al. (2021) as this run has them; numbers and claims are in result.md",
    (*(name for name, _, _ in _GROUPS.values()), _ESTIMATE),
    drawings,
)


PAPER = "dialogue_shift"
_OVER = "Tests draw whole conversations, the same for all methods and conditions, and look at the mean over the "
_OVER += "rankers; where rankers are compared with themselves, a t test over their trainings must say the same."
_TABLES = {
    "source": "Where nothing is shifted",
    "uw": "Table B.1: unknown words",
    "ic": "Table B.2: deleted turns",
    "kw": "Table C.1: known words",
    "sr": "Table C.2: contexts that really are short",
    "importance": "Table D.2: unknown words by importance",
}


def markdown(result: Found) -> str:
    """All tables of a result, one after the other."""
    counts, printed = result["counts"], paper_tables(PAPER)
    paper, ours = printed["counts"], counts["shifts"]
    row = "{0} | {1[uw]:counted} | {2[uw]:counted} | {1[kw]:counted} | {2[kw]:counted} | {1[kw-5000]:counted}"
    ratios = [
        (one, *({name: found.get(one) for name, found in some.items()} for some in (ours, paper))) for one in ours["uw"]
    ]
    words = f"**Table 1: contexts that can be shifted, of words changed in each**, of all {counts['contexts']:,} test "
    heads = "ratio | unknown words | unknown words, paper | known words | known words, paper | "
    heads += "known words, over 5,000 times"
    out = [_about(result), section(f"{words}contexts (the paper: 6,639).", heads, cells(row, ratios, counted=_counted))]
    fifths = [(one, found, paper["importance"].get(one)) for one, found in ours["importance"].items()]
    turns = ", ".join(f"{many} of {n}" for n, many in counts["turns"].items())
    after = f"Contexts by number of turns: {turns}; {counts['at_least']:,} of at least "
    after += f"{max(map(int, counts['turns']))} (the paper: 2,370). {counts['also_in_train']} instances belong to "
    after += "conversations that also stand in the "
    rows = cells("{0} | {1:counted} | {2:counted}", fifths, counted=_counted)
    out.append(section("**Table 2: the same by importance.**", "fifth | ours | paper", rows, f"{after}training split."))
    heads = "condition | n | method | R@1 | paper | Brier | paper | ECE | paper | ECE, all candidates"
    row = "{0[label]} | {0[rows]} | {0[method]} | {0[accuracy]:spread} | {1[0]:.3f} | {0[brier]:spread} | {1[1]:.3f} | "
    row += "{0[ece]:spread} | {1[2]:.3f} | {0[ece_all]:spread}"
    for group, title in _TABLES.items():
        found = [
            (one, printed["rows"].get(one["condition"], {}).get(one["method"]) if one["method"] in METHODS else None)
            for one in result["rows"]
            if one["group"] == group
        ]
        out.append(section(f"**{title}.**", heads, cells(row, found, spread=_spread)) if found else "")
    words = "**The same instances at every ratio**: those whose contexts all ratios of unknown and of known words kept "
    words += f"({result['common']['rows']}); vanilla."
    row = "{0} | {1[accuracy]:spread} | {1[brier]:spread} | {1[ece]:spread}"
    rows = cells(row, result["common"]["conditions"].items(), spread=_spread)
    out.append(section(words, "condition | R@1 | Brier | ECE", rows) if rows else "")
    return tables_page([*out, _types(result), _estimates(result), claims_table(result["claims"], _OVER)])


def _counted(one: Sequence[float] | None) -> str:
    return "-" if one is None else f"{one[0]:,} of {one[1]:.2f}"


def _spread(one: Found | None) -> str:
    return "-" if one is None else f"{one['mean']:.3f}" + ("" if one["sd"] is None else f" ± {one['sd']:.3f}")


def _about(result: Found) -> str:
    sizes, data = result["sizes"], result["data"]
    network, training = ", ".join(f"{name} {value}" for name, value in sizes["network"].items()), sizes["training"]
    rows = "all" if sizes["train_rows"] is None else f"{sizes['train_rows']:,}"
    accuracy = {(row["condition"], row["method"]): row["accuracy"]["by_model"] for row in result["rows"]}
    apart = [
        abs(a - b)
        for (condition, method), values in accuracy.items()
        if method == "vanilla"
        for a, b in zip(values, accuracy[condition, "temperature"], strict=True)
    ]
    text = f"**The run.** Scale `{result['scale']}`: {sizes['members']} rankers ({network}), trained for "
    text += f"{training['epochs']} epoch on {rows} instances of {data['train']['conversations']:,} conversations with "
    text += f"{sizes['train_candidates']} candidates, {training['batch_size']} instances a step, learning rate "
    text += f"{training['learning_rate']:g}, asked with {sizes['candidates']} candidates. The seed of a ranker sets "
    text += "the order of its batches, its dropout and what of its head is drawn; all learn from the same instances. ± "
    text += f"is the standard deviation over the rankers. Dropout: {sizes['dropout_passes']} passes of "
    text += f"{sizes['dropout_members']} of the rankers. The ensembles of {sizes['ensemble']} are all choices of so "
    text += "many rankers, which share members: their spread is too small. Temperatures, fitted on dev: "
    text += f"{', '.join(f'{one:.2f}' for one in result['temperatures'])}. Accuracies of vanilla and temperature "
    text += f"scaling differ by at most {max(apart, default=0.0):.4f}. ECE has {BINS} buckets."
    cut = {one["condition"]: one for one in result["conditions"]}.get("test")
    if cut is not None and cut["kept"]:
        text += f" Of {cut['kept']} test instances {cut['truncated']} are longer than the network reads."
    return text


def _types(result: Found) -> str:
    """With and without the conversations that also stand in training."""
    found = {(row["condition"], row["type"]): row for row in result["types"]}
    whole = {row["condition"]: row for row in result["rows"] if row["method"] == "vanilla"}
    rows = []
    for name in dict.fromkeys(row["condition"] for row in result["types"]):
        new, seen = (found.get((name, kind)) or {"rows": 0} for kind in ("new", "also in train"))
        row = "{0} | {1[accuracy]:spread} | {1[rows]} | {2[accuracy]:spread} | {2[rows]} | {3[accuracy]:spread} | "
        rows += cells(
            f"{row}{{3[rows]}} | {{2[brier]:spread}} | {{2[ece]:spread}}",
            [(name, whole[name], new, seen)],
            spread=_spread,
        )
    heads = "condition | R@1 | n | R@1, new | n | R@1, also in train | n | Brier, new | ECE, new"
    words = "**With and without the test conversations that also stand in the training split**; vanilla."
    return section(words, heads, rows) if rows else ""


def _estimates(result: Found) -> str:
    """What is said without labels beside the truth; the error of every estimator."""
    found = result["estimators"]
    conditions = found["conditions"]
    if not conditions:
        return ""
    names = [name for name in conditions[0]["methods"] if all(name in one["methods"] for one in conditions)]
    errors = {name: [float(one["methods"][name]["error"]["mean"]) for one in conditions] for name in names}
    order = sorted(names, key=lambda name: sum(errors[name]) / len(conditions))
    heads = ["condition", "R@1", "headline", "held the truth", "width", *(f"`{one}`" for one in order)]
    row = "{condition} | {truth:spread} | {methods[headline][said]:spread} | {inside:.0f%} % | {width:.3f}"
    told = cells(row, [{**one, "width": one["upper"] - one["lower"]} for one in conditions], spread=_spread)
    rows = [[one, *(f"{errors[name][at]:.3f}" for name in order)] for at, one in enumerate(told)]
    rows.append(["mean | - | - | - | -", *(f"{sum(errors[name]) / len(conditions):.3f}" for name in order)])
    words = "**Beyond the paper: R@1 estimated without labels**, dev being the reference: what the headline says, how "
    words += f"often its {100 * found['level']:.0f} % interval held the truth, and the absolute error of every "
    words += "estimator that applies to candidates (mean over the rankers), the best first."
    return section(words, heads, rows)
