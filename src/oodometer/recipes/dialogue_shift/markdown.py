"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..kit.claims import claims_table
from ..kit.tables import paper_tables, section, tables_page
from .scores import BINS, METHODS, METRICS

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
    return tables_page(
        [
            _about(result),
            _counts(result["counts"]),
            _importance_counts(result["counts"]),
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


def _importance_counts(counts: Found) -> str:
    """Table 2, and the contexts by number of turns."""
    paper, ours = paper_tables(PAPER)["counts"]["importance"], counts["shifts"]["importance"]
    rows = [[one, _counted(found), _counted(paper.get(one))] for one, found in ours.items()]
    turns = ", ".join(f"{many} of {n}" for n, many in counts["turns"].items())
    most = max(map(int, counts["turns"]))
    after = f"Contexts by number of turns: {turns}; {counts['at_least']:,} of at least {most} (the paper: 2,370). "
    after += f"{counts['also_in_train']} instances belong to conversations that also stand in the training split."
    return section("**Table 2: the same by importance.**", ["fifth", "ours", "paper"], rows, after)


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
