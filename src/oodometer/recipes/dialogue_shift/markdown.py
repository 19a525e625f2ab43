"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import paper_tables, section, tables_page
from .study import BINS, METHODS, METRICS

_AXES = {"accuracy": "R@1", "brier": "Brier score", "ece": "ECE"}
_GROUPS = {
    "uw": ("figure-2-unknown-words", "Unknown words", "ratio of exchanged words"),
    "ic": ("figure-2-deleted-turns", "Deleted turns", "share of deleted turns"),
    "kw": ("known-words", "Known words", "ratio of exchanged words"),
    "sr": ("short-contexts", "Contexts that really are short", "turns"),
    "importance": ("figure-d1-importance", "Words by importance", "fifth by importance"),
}
_ESTIMATE = "estimate-beside-truth"


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """One figure for each kind of shift, and one for the estimates."""
    size: dict[str, Any] = {"width": 260, "height": 220, "columns": 3}
    caption = "Mean over the rankers, the band one standard deviation; one ensemble of all. Points: what was asked."
    out = []
    for group, (name, title, across) in _GROUPS.items():
        panels = [
            Panel(metric, _AXES[metric], _curves(across), _rows_drawn(result, group, metric)) for metric in METRICS
        ]
        out.append(Drawing(name, title, caption, panels, **size))
    caption = "R@1 with its spread over the rankers, and what `estimate` says of it without labels, with its interval."
    panels = [Panel(group, title, _curves(across), _estimates_drawn(result, group))
              for group, (_, title, across) in _GROUPS.items()]  # fmt: skip
    return [*out, Drawing(_ESTIMATE, "Estimate beside truth", caption, panels, **size)]


def _row_drawn(label: str, order: int, what: str, one: Mapping[str, Any]) -> dict[str, Any]:
    spread = one["sd"] or 0.0
    ends = {"lower": one["mean"] - spread, "upper": one["mean"] + spread}
    return {"what": what, "severity": label, "order": order, "value": one["mean"], **ends}


def _rows_drawn(result: Mapping[str, Any], group: str, metric: str) -> list[dict[str, Any]]:
    """A row for each method and severity; the unshifted test instances stand first where that is the mildest one."""
    first = ["test"] if group in ("uw", "kw", "importance") else []
    labels = first + [one["condition"] for one in result["conditions"] if one["group"] == group]
    return [
        _row_drawn(str(row["label"]), labels.index(row["condition"]), row["method"], row[metric])
        for row in result["rows"]
        if row["method"] in METHODS and row["condition"] in labels and len(labels) > len(first)
    ]


def _estimates_drawn(result: Mapping[str, Any], group: str) -> list[dict[str, Any]]:
    """A row for the truth and for the headline at each severity."""
    found = [one for one in result["estimators"]["conditions"] if one["group"] == group]
    out = []
    for order, one in enumerate(found):
        out.append(_row_drawn(str(one["label"]), order, "truth", one["truth"]))
        said = _row_drawn(str(one["label"]), order, "estimate", one["methods"]["headline"]["said"])
        out.append({**said, "lower": one["lower"], "upper": one["upper"]})
    return out


def _curves(across: str) -> dict[str, Any]:
    """A line with its band for each of ``what``, the severities in their order."""
    x = {"field": "severity", "type": "ordinal", "title": across, "sort": {"field": "order"}, "axis": {"labelAngle": 0}}
    up = {"type": "quantitative", "title": None, "scale": {"zero": False}}
    colour: dict[str, Any] = {
        "field": "what",
        "type": "nominal",
        "title": None,
        "sort": None,
        "scale": {"scheme": "tableau10"},
    }
    colour["legend"] = {"symbolOpacity": 1}
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
_OVER = (
    "Tests draw whole conversations, the same for all methods and conditions, and look at the mean over the rankers; "
    "where rankers are compared with themselves, a t test over their trainings must say the same."
)
_TABLES = {
    "uw": "Table B.1: unknown words",
    "ic": "Table B.2: deleted turns",
    "kw": "Table C.1: known words",
    "sr": "Table C.2: contexts that really are short",
    "importance": "Table D.2: unknown words by importance",
}
_SHIFTS = {"uw": "unknown words", "kw": "known words", "kw-5000": "known words, over 5,000 times"}
Found = Mapping[str, Any]


def markdown(result: Found) -> str:
    """All tables of a result, one after the other."""
    # Table 2, and the contexts by number of turns
    counts = result["counts"]
    paper, ours = paper_tables(PAPER)["counts"]["importance"], counts["shifts"]["importance"]
    rows = [[one, _counted(found), _counted(paper.get(one))] for one, found in ours.items()]
    turns = ", ".join(f"{many} of {n}" for n, many in counts["turns"].items())
    most = max(map(int, counts["turns"]))
    after = f"Contexts by number of turns: {turns}; {counts['at_least']:,} of at least {most} (the paper: 2,370). "
    after += f"{counts['also_in_train']} instances belong to conversations that also stand in the training split."
    return tables_page(
        [
            _about(result),
            _counts(result["counts"]),
            section("**Table 2: the same by importance.**", ["fifth", "ours", "paper"], rows, after),
            _performance(result, "source", "Where nothing is shifted"),
            *(_performance(result, group, title) for group, title in _TABLES.items()),
            _common(result["common"]),
            _types(result),
            _estimates(result),
            claims_table(result["claims"], _OVER),
        ]
    )


def _about(result: Found) -> str:
    sizes, data = result["sizes"], result["data"]
    network = ", ".join(f"{name} {value}" for name, value in sizes["network"].items())
    training = sizes["training"]
    rows = "all" if sizes["train_rows"] is None else f"{sizes['train_rows']:,}"
    text = f"**The run.** Scale `{result['scale']}`: {sizes['members']} rankers ({network}), trained for "
    text += f"{training['epochs']} epoch on {rows} instances of {data['train']['conversations']:,} conversations with "
    text += f"{sizes['train_candidates']} candidates, {training['batch_size']} instances a step, learning rate "
    text += f"{training['learning_rate']:g}, asked with {sizes['candidates']} candidates. The seed of a ranker "
    text += "sets the order of its batches, its dropout and what of its head is drawn; all learn from the same "
    text += "instances. "
    text += f"± is the standard deviation over the rankers. Dropout: {sizes['dropout_passes']} passes of "
    text += f"{sizes['dropout_members']} of the rankers. The ensembles of {sizes['ensemble']} are all choices of so "
    text += "many rankers, which share members: their spread is too small. Temperatures, fitted on dev: "
    text += ", ".join(f"{one:.2f}" for one in result["temperatures"])
    apart = max((abs(a - b) for a, b in _accuracies(result)), default=0.0)
    text += f". Accuracies of vanilla and temperature scaling differ by at most {apart:.4f}. ECE has {BINS} buckets."
    cut = {one["condition"]: one for one in result["conditions"]}.get("test")
    if cut is not None and cut["kept"]:
        text += f" Of {cut['kept']} test instances {cut['truncated']} are longer than the network reads."
    return text


def _accuracies(result: Found) -> Iterator[tuple[float, float]]:
    """Accuracies of each ranker as it is and scaled, on every condition."""
    found = {(row["condition"], row["method"]): row["accuracy"]["by_model"] for row in result["rows"]}
    for (condition, method), values in found.items():
        if method == "vanilla":
            yield from zip(values, found[condition, "temperature"], strict=True)


def _counted(one: Sequence[float] | None) -> str:
    return "-" if one is None else f"{one[0]:,} of {one[1]:.2f}"


def _counts(counts: Found) -> str:
    """Table 1."""
    paper, ours = paper_tables(PAPER)["counts"], counts["shifts"]
    heads = ["ratio", *(f"{_SHIFTS[one]}{what}" for one in ("uw", "kw") for what in ("", ", paper"))]
    heads.append(_SHIFTS["kw-5000"])
    rows = []
    for ratio in ours["uw"]:
        cells = [_counted(of[one].get(ratio)) for one in ("uw", "kw") for of in (ours, paper)]
        rows.append([ratio, *cells, _counted(ours["kw-5000"].get(ratio))])
    words = f"**Table 1: contexts that can be shifted, of words changed in each**, of all {counts['contexts']:,} test "
    words += "contexts (the paper: 6,639)."
    return section(words, heads, rows)


def _cell(one: Found) -> str:
    spread = "" if one["sd"] is None else f" ± {one['sd']:.3f}"
    return f"{one['mean']:.3f}{spread}"


def _performance(result: Found, group: str, title: str) -> str:
    """Every method on the conditions of a group, beside the paper's numbers."""
    paper = paper_tables(PAPER)["rows"]
    heads = ["condition", "n", "method", "R@1", "paper", "Brier", "paper", "ECE", "paper", "ECE, all candidates"]
    rows = []
    for row in result["rows"]:
        if row["group"] != group:
            continue
        theirs = paper.get(row["condition"], {}).get(row["method"]) if row["method"] in METHODS else None
        cells = [str(row["label"]), str(row["rows"]), row["method"]]
        for place, metric in enumerate(METRICS):
            cells += [_cell(row[metric]), "-" if theirs is None else f"{theirs[place]:.3f}"]
        rows.append([*cells, _cell(row["ece_all"])])
    return section(f"**{title}.**", heads, rows) if rows else ""


def _common(common: Found) -> str:
    rows = [[name, *(_cell(one[metric]) for metric in METRICS)] for name, one in common["conditions"].items()]
    words = "**The same instances at every ratio**: those whose contexts all ratios of unknown and of known words kept "
    words += f"({common['rows']}); vanilla."
    return section(words, ["condition", "R@1", "Brier", "ECE"], rows) if rows else ""


def _types(result: Found) -> str:
    """With and without the conversations that also stand in training."""
    found = {(row["condition"], row["type"]): row for row in result["types"]}
    whole = {row["condition"]: row for row in result["rows"] if row["method"] == "vanilla"}
    rows = []
    for name in dict.fromkeys(row["condition"] for row in result["types"]):
        cells = [name]
        for one in (whole[name], found.get((name, "new")), found.get((name, "also in train"))):
            cells += ["-", "0"] if one is None else [_cell(one["accuracy"]), str(one["rows"])]
        new = found.get((name, "new"))
        cells += ["-", "-"] if new is None else [_cell(new[metric]) for metric in ("brier", "ece")]
        rows.append(cells)
    heads = ["condition", "R@1", "n", "R@1, new", "n", "R@1, also in train", "n", "Brier, new", "ECE, new"]
    words = "**With and without the test conversations that also stand in the training split**; vanilla."
    return section(words, heads, rows) if rows else ""


def _estimates(result: Found) -> str:
    """What is said without labels beside the truth; the error of every estimator."""
    found = result["estimators"]
    conditions = found["conditions"]
    if not conditions:
        return ""
    names = [name for name in conditions[0]["methods"] if all(name in one["methods"] for one in conditions)]

    def error(name: str) -> float:
        return float(sum(one["methods"][name]["error"]["mean"] for one in conditions)) / len(conditions)

    order = sorted(names, key=error)
    heads = ["condition", "R@1", "headline", "held the truth", "width", *(f"`{one}`" for one in order)]
    rows = []
    for one in conditions:
        cells = [one["condition"], _cell(one["truth"]), _cell(one["methods"]["headline"]["said"])]
        cells += [f"{100 * one['inside']:.0f} %", f"{one['upper'] - one['lower']:.3f}"]
        rows.append([*cells, *(f"{one['methods'][name]['error']['mean']:.3f}" for name in order)])
    rows.append(["mean", "-", "-", "-", "-", *(f"{error(name):.3f}" for name in order)])
    words = "**Beyond the paper: R@1 estimated without labels**, dev being the reference: what the headline says, how "
    words += f"often its {100 * found['level']:.0f} % interval held the truth, and the absolute error of every "
    words += "estimator that applies to candidates (mean over the rankers), the best first."
    return section(words, heads, rows)
