"""Markdown: the result as the paper's tables, ours beside the paper's, and the claims with what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...reports import drawings as plain
from ...reports.drawings import Drawing, Panel
from ..kit.claims import claims_table
from ..kit.publish import Figures
from ..kit.tables import bare, paper_tables, percent, section, table, tables_page
from .findings import BASELINES, ENOUGH, PROCEDURES, Fare, Faring, fares, farings, left_out, sets_of, trainings


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """One figure of all data sets, and two with a panel for each of them."""
    bounds = "Bar: lower to upper bound; dark mark: their mean; orange: gold; grey: baselines."
    half = "The same of the judges alone, which accept at P ≥ 0.5, as in the paper."
    judges = "The same of the judges alone, each at its threshold."
    every = "mixed" if sets_of(result, at="mixed") else "thresholds"
    if every == "mixed":
        bounds = f"Judges, parsers of halves and confidence at thresholds; one may disagree. {bounds}"
    samples = "Bounds (blue) and gold (orange) in samples of the test set (Figure 4)."
    agreement = "Width of the bounds and share of the samples that hold the truth."
    sets = sets_of(result)
    places = [f"{one['task']}-{one['name']}".replace(".", "-") for one in sets]

    size = {"width": 300, "height": 220, "columns": 3}

    def each(make: Any) -> list[Panel]:
        return [make(one, place) for one, place in zip(sets, places, strict=True)]

    return [
        Drawing("bounds", "Bounds and truth", bounds, [_bounds_drawn(result, every)], width=520),
        Drawing(
            "bounds-of-judges", "Bounds and truth, judges", judges, [_bounds_drawn(result, "thresholds")], width=520
        ),
        Drawing("bounds-at-half", "Bounds and truth, P ≥ 0.5", half, [_bounds_drawn(result, "half")], width=520),
        Drawing("figure-4-samples", "Samples of every size", samples, each(_samples_drawn), **size),
        Drawing("k-of-n", "Fewer judges that must agree", agreement, each(_agreement_drawn), **size),
    ]


def _bounds_drawn(result: Mapping[str, Any], at: str) -> Panel:
    """A row for each data set: the bar of its bounds, and marks."""
    bars, marks = [], []
    for one in sets_of(result, at=at):
        told = {name: row["value"]["value"] for name, row in one["by_method"].items()}
        bars.append({"data": one["title"], "lower": told["lower"], "upper": told["upper"]})
        said = {"gold": one["gold"]["value"], "mean": told["mean"]}
        said |= {BASELINES[name]: told[name] for name in BASELINES if name in told}
        marks += [{"data": one["title"], "what": name, "value": value} for name, value in said.items()]
    kinds = ["gold", "mean", *BASELINES.values()]
    return Panel("all", "", plain.bounds("data", bars, marks, kinds, "accuracy"))


def _samples_drawn(one: Mapping[str, Any], place: str) -> Panel:
    """Mean and span of the draws of every size, of the bounds and of the truth."""
    kinds = ("lower", "upper", "gold")
    rows = [
        {"rows": row["rows"], "what": name, **{end: row[name][end] for end in ("value", "lower", "upper")}}
        for row in one["subsets"]
        for name in kinds
    ]
    marks = {"values": [row["rows"] for row in one["subsets"]], "labelOverlap": True}
    across = plain.axis("rows", "rows drawn", {"type": "log", "nice": False}, axis=marks)
    return Panel(place, one["title"], plain.bands(across, "accuracy", list(kinds)), rows)


def _agreement_drawn(one: Mapping[str, Any], place: str) -> Panel:
    """Width and reliability for every k, a line for each size of sample."""
    picked = [one["subsets"][i] for i in sorted({0, len(one["subsets"]) // 2, len(one["subsets"]) - 1})]
    rows = []
    for row in picked:
        for bound in row["bounds"]:
            agree = {"agree": f"{bound['agree']} of {one['judges']}", "order": bound["agree"]}
            shares = {name: bound[name]["value"] for name in ("width", "reliability")}
            rows.append({"rows drawn": str(row["rows"]), **agree, **shares})
    across = plain.axis("width", "width of the bounds", **plain.PERCENT)
    up = plain.axis("reliability", "samples with gold inside", {"domain": [0, 1]}, **plain.PERCENT)
    chart = plain.lines(across, up, "rows drawn", few=True, more=("agree",))
    return Panel(place, one["title"], chart, rows)


FIGURES = Figures(
    "Correctness discriminators: figures",
    "The tasks of Yao and Koller (2024) as this run has them; numbers and claims are in result.md",
    ("bounds", "bounds-of-judges", "bounds-at-half", "figure-4-samples", "k-of-n"),
    drawings,
)


PAPER = "correctness_discriminators"
_FAMILIES = {
    "semantic": "Table 2: semantic parsing",
    "tagging": "Table 3: tagging",
    "parsing": "Table 4: constituency parsing",
}
# Rows of the paper's Tables 2 to 4: its key in paper_tables.json, ours in a study, and the name that is shown.
_ROWS = (
    ("max_prob", "max-prob", "MaxProb"),
    ("ac", "ac", "AC"),
    ("atc", "atc", "ATC"),
    ("oracle_upper", "max-prob-oracle-upper", "MaxProb oracle, upper"),
    ("oracle_lower", "max-prob-oracle-lower", "MaxProb oracle, lower"),
    ("oracle_mean", "max-prob-oracle-mean", "MaxProb oracle, mean"),
    ("single", "single", "one judge"),
    ("upper", "upper", "upper bound"),
    ("lower", "lower", "lower bound"),
    ("mean", "mean", "mean of bounds"),
)


_PROCEDURES = {"half": "judges at P ≥ 0.5", "thresholds": "judges at thresholds", "mixed": "all voters at thresholds"}


def markdown(result: Mapping[str, Any]) -> str:
    """All tables of a result, one after the other."""
    if not result["tasks"]:
        return "No task is finished yet.\n"
    # Truth and bounds by type, for the sets whose types are generalisations or genres
    out = []
    for one in sets_of(result, "out"):
        if len(one["types"]) < 2:
            continue
        held = sum(row["inside"] for row in one["types"])
        heads = ["type", "rows", "gold", "lower", "upper", "mean", "gold inside"]
        rows = []
        for row in one["types"]:
            cells = [percent(row["gold"]), *(bare(row[name]) for name in ("lower", "upper", "mean"))]
            rows.append([row["type"].replace("_", " "), str(row["rows"]), *cells, _yes(row["inside"])])
        text = f"**{one['title']} by type, with thresholds, %**: gold lies inside the bounds on "
        text += f"{held} of {len(rows)} types"
        out.append(section(text, heads, rows))
    parts = [
        _work(result),
        _table_one(result),
        *(_accuracies(result, family) for family in _FAMILIES),
        _procedures(result),
        choices_table(result),
        seeds_table(result),
        later_table(result),
        _agreement(result),
        _samples(result),
        *out,
        *_self_training(result),
        *_metric(result),
        claims_table(result["claims"], _over(result)),
    ]
    return tables_page(parts)


def _work(result: Mapping[str, Any]) -> str:
    heads = ["task", "training rows", "parser, judge: parameters", "checkpoints: step (right, %)"]
    heads += ["pairs to judge: right, wrong", "judges", "accuracy in distribution (dev), %", "minutes"]
    text = "**The runs** (95 % intervals; minutes of processor time for parsers, mistakes, judges and predictions; "
    text += "unseen: mistakes on sentences that a parser of a half has not seen)."
    if result["missing"]:
        text += f" Not run: {', '.join(result['missing'])}."
    return section(text, heads, [_run(task) for task in result["tasks"].values()])


def _run(task: Mapping[str, Any]) -> list[str]:
    """The run of a task as a row."""
    pairs, panel = task["examples"]["train"], task["panel"]
    negatives = f"{panel['incorrect']:,}" + (f" ({panel['unseen']:,} unseen)" if panel["unseen"] else "")
    steps = [(one["name"].removeprefix("step-").lstrip("0"), one["accuracy"]) for one in pairs["checkpoints"]]
    row = [task["title"], f"{task['data']['train']['rows']:,}"]
    row.append(f"{task['parser']['parameters']:,}, {panel['parameters']:,}")
    row.append(", ".join(f"{step} ({100 * accuracy:.0f})" for step, accuracy in steps))
    row.append(f"{panel['correct']:,}, {negatives}")
    row += [f"{panel['judges']} ({panel['kind']})", percent(task["dev_accuracy"])]
    return [*row, f"{sum(task['cpu_seconds'].values()) / 60:.0f}"]


def _counterpart(one: Mapping[str, Any]) -> str | None:
    """The paper's data set of the same name, or the one in whose place ours stands."""
    name: str | None = one["paper"] or one["resembles"]
    return name


def _table_one(result: Mapping[str, Any]) -> str:
    """Table 1: recalls and accuracy of one judge and of both bounds."""
    paper = paper_tables(PAPER)["table_1"]
    kinds = ("single", "upper", "lower")
    heads = ["", *(f"{kind} {what}" for kind in kinds for what in ("CR", "IR", "Acc")), "gold"]
    rows = []
    for one in sets_of(result, at="half"):
        cells = []
        for kind in kinds:
            row = one["by_method"][kind]
            cells += [bare(row["correct_recall"]), bare(row["incorrect_recall"]), percent(row["value"])]
        rows.append([f"{one['title']} ({_DOMAINS[one['domain']]})", *cells, percent(one["gold"])])
        name = _counterpart(one)
        if name is not None:
            theirs = [f"*{value:.1f}*" for kind in kinds for value in paper[name][kind]]
            rows.append([f"*{_paper_title(one)}*", *theirs, f"*{paper[name]['gold']:.1f}*"])
    text = "**Table 1: what the judges recall, and the accuracy that they predict, %.** CR, IR: recall of Correct and "
    text += "of Incorrect. Judges accept at P ≥ 0.5. In italics the paper's numbers: for the same data, or for data in "
    text += "whose place ours stand."
    return section(text, heads, rows)


_DOMAINS = {"in": "in distribution", "out": "out"}


def _paper_title(one: Mapping[str, Any]) -> str:
    return f"paper: {one['paper']}" if one["paper"] else f"paper: {one['resembles']}, other data"


def _accuracies(result: Mapping[str, Any], family: str) -> str:
    """Table 2, 3 or 4: every method's predicted accuracy and its distance from the truth."""
    paper = paper_tables(PAPER)["tables_2_to_4"]
    sets = [one for one in sets_of(result, at="half") if one["family"] == family]
    if not sets:
        return ""
    heads = ["method"]
    for one in sets:
        heads += [f"{one['title']} ({_DOMAINS[one['domain']]}) Acc", "AE"]
        if _counterpart(one):
            heads += [f"*{_paper_title(one)}* Acc", "*AE*"]
    rows = []
    for key, method, name in _ROWS:
        cells = [name]
        for one in sets:
            row = one["by_method"].get(method)
            cells += [percent(None if row is None else row["value"]), bare(None if row is None else row["error"])]
            theirs = paper.get(_counterpart(one) or "")
            if theirs is not None:
                error = theirs["ae"].get(key)
                cells += [f"*{theirs[key]:.1f}*", "-" if error is None else f"*{error:.1f}*"]
        rows.append(cells)
    last = ["gold"]
    for one in sets:
        theirs = paper.get(_counterpart(one) or "")
        last += [percent(one["gold"]), "0.0", *([f"*{theirs['gold']:.1f}*", "*0.0*"] if theirs else [])]
    rows.append(last)
    text = f"**{_FAMILIES[family]}, predicted accuracy (Acc) and its distance from gold (AE), %**; judges accept at "
    text += "P ≥ 0.5"
    return section(text, heads, rows)


def _procedures(result: Mapping[str, Any]) -> str:
    """The bounds of each procedure, side by side."""
    shown = {at: {(one["task"], one["name"]): one for one in sets_of(result, at=at)} for at in _PROCEDURES}
    shown = {at: found for at, found in shown.items() if found}
    rows = []
    for place, one in shown["half"].items():
        cells = [f"{one['title']} ({_DOMAINS[one['domain']]})", percent(one["gold"])]
        for found in shown.values():
            told = found[place]["by_method"]
            cells += [f"{bare(told['lower']['value'])} to {bare(told['upper']['value'])}", _yes(found[place]["inside"])]
            cells.append(bare(told["mean"]["error"]))
        rows.append([*cells, *(bare((one["by_method"].get(key) or {}).get("error")) for key in BASELINES)])
    heads = ["data", "gold"]
    for at in shown:
        heads += [f"{_PROCEDURES[at]}: bounds", "gold inside", "AE of the mean"]
    heads += [f"AE of {name}" for name in BASELINES.values()]
    text = (
        "**What thresholds and other voters change, %.** Thresholds are set on the development set's outputs so that "
    )
    text += "each voter accepts as often as the parser is right there. Of judges all agree on a bound; of all voters, "
    text += "judges, parsers of halves and the parser's confidence, one may disagree."
    return section(text, heads, rows)


def _agreement(result: Mapping[str, Any]) -> str:
    """k-of-n voting: what is won in width and lost in reliability by asking fewer judges to agree."""
    rows = []
    for one in sets_of(result):
        for row in one["bounds"]:
            cells = [percent(row["lower"]), percent(row["upper"]), bare(row["width"])]
            agree = f"{row['agree']} of {one['judges']}"
            rows.append([one["title"], agree, *cells, _yes(row["inside"]), bare(row["error"])])
    heads = ["data", "judges that must agree", "lower", "upper", "width", "gold inside", "AE of the mean"]
    return section("**k-of-n voting with thresholds, %** (the paper's bounds ask all judges to agree)", heads, rows)


def _samples(result: Mapping[str, Any]) -> str:
    """Figure 4 as a table: samples of each size."""
    heads = ["data", "rows drawn", "gold", "lower", "upper", "draws with gold inside, %"]
    rows = []
    for one in sets_of(result):
        for row in _thinned(one["subsets"]):
            cells = [row[name] for name in ("gold", "lower", "upper")] + [row["bounds"][0]["reliability"]]
            rows.append([one["title"], f"{row['rows']:,}", *map(percent, cells)])
    draws = max(row["draws"] for one in sets_of(result) for row in one["subsets"])
    text = f"**Figure 4 as a table: samples of the test sets**, with thresholds ({draws} draws of each size; mean, and "
    text += "the span of 95 % "
    return section(f"{text}of the draws)", heads, rows)


def _thinned(subsets: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The smallest, a middle one and the largest size."""
    return [subsets[i] for i in sorted({0, len(subsets) // 2, len(subsets) - 1})]


def _over(result: Mapping[str, Any]) -> str:
    """What the tests take for their sample."""
    seeds = [len(trainings(result, name)) for name in result["tasks"]]
    fewest, most = min(seeds), max(seeds)
    told = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    if most == 1:
        return "Tests are over rows: what another training would give they do not say."
    return f"Numbers are means over {told} trainings of a task, and their errors hold those of rows and of trainings."


def _yes(inside: bool) -> str:
    return "yes" if inside else "**no**"


def _self_training(result: Mapping[str, Any]) -> list[str]:
    out = []
    for name, task in result["tasks"].items():
        found = task.get("self_training")
        if not found:
            continue
        text = (
            f"**{task['title']}: one round of self-training.** Of {found['pool']:,} rows of the test set that nobody "
            f"had labelled, all judges accepted {found['kept']:,} ({percent(found['accepted'])} %); of those "
            f"{percent(found['precision'])} % are right, of all {percent(found['accuracy'])} %. The parser was "
            "trained again with them, and compared on rows that it did not see."
        )
        heads = ["rows", "seed", "number", "old", "with accepted outputs", "gain"]
        titles = {name: one["title"] for name, one in task["sets"].items()}
        keys = ("old", "new", "new_gain")
        runs = [(run.get("seed", 0), run["self_training"]) for run in trainings(result, name) if "self_training" in run]
        rows = [
            [titles[one["name"]], str(seed), f"{one['rows']:,}", *(percent(one[key]) for key in keys)]
            for seed, run in runs
            for one in run["sets"]
        ]
        ladder = [
            [f"at least {row['at_least']}", f"{row['kept']:,}", percent(row["precision"])] for row in found["ladder"]
        ]
        purity = table(["judges that accept", "rows", "of them right, %"], ladder)
        out.append(section(text, heads, rows, purity))
    return out


def _metric(result: Mapping[str, Any]) -> list[str]:
    out = []
    for task in result["tasks"].values():
        found = task.get("metric")
        if not found:
            continue
        heads = ["data", "rows", "true", "predicted", "error", "source mean", "its error"]
        heads.append("correlation of rows")
        keys = ("true", "predicted", "error", "source", "source_error")
        rows = [
            [one["title"], str(one["rows"]), *(percent(one[key]) for key in keys), f"{one['correlation']:.2f}"]
            for one in found["sets"]
        ]
        text = f"**{task['title']}: another metric than exact match, {found['metric']}, %**"
        out.append(section(text, heads, rows))
    return out


def choices_table(result: Mapping[str, Any]) -> str:
    """Every choice of voters, thresholds and agreement, and what choosing on other tasks gives."""
    found = fares(result)
    if not found:
        return ""
    rows, after, chosen = [_row(one) for one in found], "", left_out(result)
    if chosen is not None:
        rows.append(_row(chosen[0]))
        told = "; ".join(f"{task}: {choice}" for task, choice in chosen[1].items())
        after = "In the last row each task has the choice that was the narrowest of those with the truth inside on at "
        after += f"least {100 * ENOUGH:.0f} % of the sets of the OTHER tasks ({told})."
    heads = ["choice", "gold inside", "in distribution", "mean width", "AE of the mean", "out of distribution"]
    text = "**The bounds under each choice, %.** `confidence` is the parser's, thresholded as ATC does; parsers of "
    text += (
        "halves vote by how probable they find an output; slack: strict thresholds for the lower bound, lenient ones "
    )
    text += "for the upper, each off by what so few development rows leave open."
    return section(text, heads, rows, after)


def _row(one: Fare) -> list[str]:
    inside = [f"{one.inside} of {one.sets}", f"{one.inside_near} of {one.sets_near}"]
    return [one.name, *inside, *(f"{100 * value:.1f}" for value in (one.width, one.error, one.error_away))]


def seeds_table(result: Mapping[str, Any]) -> str:
    """Truth, bounds and error of the mean of every training; empty where each task has one."""
    rows = []
    for name, task in result["tasks"].items():
        runs = trainings(result, name)
        if len(runs) < 2:
            continue
        for key, first in task["sets"].items():
            cells = [first["title"]]
            told = [run["sets"][key] for run in runs if key in run["sets"]]
            cells.append("; ".join(map(_gold, told)))
            for found in (told, [one["mixed"] for one in told if "mixed" in one]):
                cells += ["; ".join(of(one) for one in found) or "-" for of in (_bounds, _error)]
            rows.append(cells)
    if not rows:
        return ""
    heads = ["data", "gold", "judges at thresholds: bounds", "AE of the mean", "all voters: bounds", "AE of the mean"]
    text = (
        "**Seeds, %.** The same rows, trained again from other seeds: parsers, their mistakes and judges; in the order "
    )
    return section(f"{text}of the seeds.", heads, rows)


def later_table(result: Mapping[str, Any]) -> str:
    """How each procedure fared on trainings after the first; empty where each task has one."""
    found = farings(result)
    if not found:
        return ""
    heads = ["procedure", "gold inside", "in distribution", "mean width", "AE of the mean, out of distribution"]
    heads += [f"{name}: AE, nearer than it on, p" for name in BASELINES.values()]
    text = (
        "**Trainings after the first, %.** Who votes was chosen on parsers of the first seed; these are parsers that "
    )
    text += "no choice had seen, on the same rows. Inside is counted for each training; errors are means over the "
    text += "trainings of a data set, and the paired test is over data sets (p: the mean of the bounds is nearer; for "
    text += "one look, not corrected)."
    return section(text, heads, [_later(one) for one in found])


def _later(one: Faring) -> list[str]:
    cells = [PROCEDURES[one.procedure], f"{one.inside} of {one.looks}", f"{one.inside_near} of {one.looks_near}"]
    cells += [f"{100 * one.width:.1f}", "-" if one.error is None else f"{100 * one.error:.1f}"]
    for key in BASELINES:
        told = one.beside.get(key)
        cells.append("-" if told is None else f"{100 * told[0]:.1f}, {told[1]} of {one.away}, {told[2]:.3f}")
    return cells


def _gold(one: Mapping[str, Any]) -> str:
    return f"{100 * one['gold']['value']:.1f}"


def _bounds(one: Mapping[str, Any]) -> str:
    ends = {row["method"]: row["value"]["value"] for row in one["methods"]}
    mark = "" if one["inside"] else " (**no**)"
    return f"{100 * ends['lower']:.1f} to {100 * ends['upper']:.1f}{mark}"


def _error(one: Mapping[str, Any]) -> str:
    return next(f"{100 * row['error']['value']:.1f}" for row in one["methods"] if row["method"] == "mean")
